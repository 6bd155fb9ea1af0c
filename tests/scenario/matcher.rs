//! Does an answer have what a scenario expects? What is expected is a part of what is there; tables whose key begins
//! with `$` ask for something else than equality. Pure.

use serde_json::Value;

/// All differences, each with its place.
pub(super) fn differences(expected: &Value, actual: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(expected, Some(actual), "", &mut found);
    found
}

fn compare(expected: &Value, actual: Option<&Value>, path: &str, found: &mut Vec<String>) {
    if let Some((word, wanted)) = question(expected) {
        if !answers(word, wanted, actual) {
            found.push(format!("{path}: {word} {wanted} does not hold for {}", shown(actual)));
        }
        return;
    }
    match (expected, actual) {
        (Value::Object(members), Some(Value::Object(there))) => {
            for (key, member) in members {
                compare(member, there.get(key), &format!("{path}/{key}"), found);
            }
        }
        (Value::Array(items), Some(Value::Array(there))) if items.len() == there.len() => {
            for (index, item) in items.iter().enumerate() {
                compare(item, there.get(index), &format!("{path}/{index}"), found);
            }
        }
        (Value::Number(a), Some(Value::Number(b))) if a.as_f64() == b.as_f64() => {}
        (expected, Some(actual)) if expected == actual => {}
        _ => found.push(format!("{path}: expected {expected}, found {}", shown(actual))),
    }
}

/// The question in `{ "$word" = wanted }`.
fn question(expected: &Value) -> Option<(&str, &Value)> {
    let members = expected.as_object().filter(|members| members.len() == 1)?;
    members.iter().next().filter(|(key, _)| key.starts_with('$')).map(|(key, wanted)| (key.as_str(), wanted))
}

fn answers(word: &str, wanted: &Value, actual: Option<&Value>) -> bool {
    let text = || actual.and_then(Value::as_str);
    let length = || match actual {
        Some(Value::Array(items)) => Some(items.len()),
        Some(Value::Object(members)) => Some(members.len()),
        Some(Value::String(text)) => Some(text.chars().count()),
        _ => None,
    };
    let wanted_text = wanted.as_str().unwrap_or_default();
    match word {
        "$absent" => actual.is_none(),
        "$contains" => match actual {
            Some(Value::Array(items)) => items.iter().any(|item| differences(wanted, item).is_empty()),
            _ => text().is_some_and(|text| text.contains(wanted_text)),
        },
        "$contains_all" => wanted.as_array().is_some_and(|all| all.iter().all(|one| answers("$contains", one, actual))),
        "$lacks" => actual.is_none_or(|actual| !actual.to_string().contains(wanted_text)),
        "$starts" => text().is_some_and(|text| text.starts_with(wanted_text)),
        "$ends" => text().is_some_and(|text| text.ends_with(wanted_text)),
        "$len" => length().map(|length| length as u64) == wanted.as_u64(),
        "$least" => number(actual).zip(wanted.as_f64()).is_some_and(|(there, least)| there >= least),
        "$most" => number(actual).zip(wanted.as_f64()).is_some_and(|(there, most)| there <= most),
        "$any" => wanted
            .as_array()
            .is_some_and(|all| all.iter().any(|one| actual.is_some_and(|actual| differences(one, actual).is_empty()))),
        other => panic!("no matcher is called `{other}`"),
    }
}

fn number(actual: Option<&Value>) -> Option<f64> {
    actual.and_then(Value::as_f64)
}

fn shown(actual: Option<&Value>) -> String {
    let text = actual.map_or("nothing".to_owned(), Value::to_string);
    text.chars().take(600).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_expected_is_a_part_of_what_is_there() {
        let check = |expected: Value, actual: Value, matches: bool| {
            assert_eq!(differences(&expected, &actual).is_empty(), matches, "{expected} {actual}");
        };
        check(json!({ "a": 1 }), json!({ "a": 1, "b": 2 }), true);
        check(json!({ "a": 1 }), json!({ "b": 2 }), false);
        check(json!({ "a": { "$absent": true } }), json!({ "b": 2 }), true);
        check(json!({ "a": { "$absent": true } }), json!({ "a": null }), false);
        check(json!([1]), json!([1, 2]), false);
        check(json!({ "$contains": "b" }), json!("abc"), true);
        check(json!({ "$contains": { "n": 2 } }), json!([{ "n": 1 }, { "n": 2, "m": 3 }]), true);
        check(json!({ "$contains": { "n": 3 } }), json!([{ "n": 1 }]), false);
        check(json!({ "$lacks": "b" }), json!({ "a": "abc" }), false);
        check(json!({ "$len": 2 }), json!([1, 2]), true);
        check(json!({ "$least": 2 }), json!(1), false);
        check(json!({ "$any": [1, 2] }), json!(3), false);
    }
}
