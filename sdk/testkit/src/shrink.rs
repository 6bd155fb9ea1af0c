//! What is the smallest value for which something still holds? Leaves things out and makes them simpler, step by step.

use serde_json::{Value, json};

/// Most values that are tried.
const TRIES: usize = 300;

/// The smallest value that was found for which `holds`.
pub(crate) fn smallest(value: Value, mut holds: impl FnMut(&Value) -> Result<bool, String>) -> Result<Value, String> {
    let mut best = value;
    let mut tries = 0;
    'again: loop {
        for candidate in simpler(&best) {
            tries += 1;
            if tries > TRIES {
                return Ok(best);
            }
            if holds(&candidate)? {
                best = candidate;
                continue 'again;
            }
        }
        return Ok(best);
    }
}

/// Values that are a little simpler, the simplest first. Each is smaller by some measure, so that this comes to an end.
fn simpler(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(members) => {
            let without = members.keys().map(|key| {
                let mut fewer = members.clone();
                fewer.remove(key);
                Value::Object(fewer)
            });
            let inside = members.iter().flat_map(|(key, member)| {
                simpler(member).into_iter().map(|member| {
                    let mut other = members.clone();
                    other.insert(key.clone(), member);
                    Value::Object(other)
                })
            });
            without.chain(inside).collect()
        }
        Value::Array(items) => {
            let halves = [items[..items.len() / 2].to_vec(), items[items.len() / 2..].to_vec()];
            let halves = halves.into_iter().filter(|half| half.len() < items.len()).map(Value::Array);
            let without = (0..items.len().min(20)).map(|index| {
                let mut fewer = items.clone();
                fewer.remove(index);
                Value::Array(fewer)
            });
            let inside = items.iter().take(20).enumerate().flat_map(|(index, item)| {
                simpler(item).into_iter().map(move |item| {
                    let mut other = items.clone();
                    other[index] = item;
                    Value::Array(other)
                })
            });
            halves.chain(without).chain(inside).collect()
        }
        Value::String(text) => {
            let letters: Vec<char> = text.chars().collect();
            let part = |letters: &[char]| Value::String(letters.iter().collect());
            let mut parts = Vec::new();
            if !letters.is_empty() {
                parts.extend([json!(""), part(&letters[..letters.len() / 2]), part(&letters[letters.len() / 2..])]);
                parts.extend([part(&letters[1..]), part(&letters[..letters.len() - 1])]);
            }
            parts.retain(|part| part != value);
            parts
        }
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(0), _) => Vec::new(),
            (Some(integer), _) => {
                let step = integer - integer.signum();
                let mut smaller = vec![json!(0), json!(integer / 2), json!(step)];
                smaller.retain(|smaller| smaller != value);
                smaller
            }
            (None, Some(float)) if float != 0.0 => vec![json!(0), json!(float.trunc() as i64)],
            _ => Vec::new(),
        },
        Value::Bool(true) => vec![json!(false)],
        Value::Bool(false) | Value::Null => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_gone() {
        let value = json!({ "a": ["x", "needle in hay", 5], "b": true, "c": { "d": 100 } });
        let small = smallest(value, |value| Ok(value.to_string().contains("needle"))).unwrap();
        assert_eq!(small, json!({ "a": ["needle"] }));
        let small = smallest(json!({ "n": 1000 }), |value| Ok(value["n"].as_i64().is_some_and(|n| n > 41))).unwrap();
        assert_eq!(small, json!({ "n": 42 }));
    }
}
