//! How does an input become another one that is nearly the same? Some places of it are changed, within what the schema
//! says of them as far as that is easily seen. The same seed makes the same change.

use crate::coverage::Words;
use crate::generate::{self, NUMBERS, Random};
use serde_json::{Map, Value, json};

/// Words that count as the last.
const LATEST: usize = 16;
/// Parts of a value that are looked at one by one.
const LEAVES: usize = 2000;

/// Arguments that are nearly `args`. `other` are ones of which a part may be taken.
pub(crate) fn mutated(schema: &Value, args: &Value, other: &Value, words: &Words, random: &mut Random) -> Value {
    let mut value = args.clone();
    let mut changing = Changing { root: schema, words, random };
    let changes = match changing.random.below(4) {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    };
    for _ in 0..changes {
        changing.change(&mut value, schema, other);
    }
    value
}

/// The value with one of its texts or numbers, each in turn, replaced by what `other` makes of it; at most so many.
pub(crate) fn replaced(value: &Value, other: &impl Fn(&Value) -> Vec<Value>, most: usize) -> Vec<Value> {
    let mut places = Vec::new();
    leaves(value, &mut String::new(), &mut places);
    let mut made = Vec::new();
    for (place, leaf) in places {
        for wanted in other(leaf) {
            if made.len() >= most {
                return made;
            }
            let mut changed = value.clone();
            if let Some(there) = changed.pointer_mut(&place) {
                *there = wanted;
                made.push(changed);
            }
        }
    }
    made
}

/// The first texts, numbers and other leaves in a value, and where they are.
fn leaves<'a>(value: &'a Value, place: &mut String, found: &mut Vec<(String, &'a Value)>) {
    let length = place.len();
    match value {
        _ if found.len() >= LEAVES => {}
        Value::Object(members) => {
            for (name, member) in members {
                place.push('/');
                place.push_str(&name.replace('~', "~0").replace('/', "~1"));
                leaves(member, place, found);
                place.truncate(length);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                place.push_str(&format!("/{at}"));
                leaves(item, place, found);
                place.truncate(length);
            }
        }
        leaf => found.push((place.clone(), leaf)),
    }
}

struct Changing<'a> {
    root: &'a Value,
    words: &'a Words,
    random: &'a mut Random,
}

impl Changing<'_> {
    fn change(&mut self, value: &mut Value, schema: &Value, other: &Value) {
        let schema = self.meant(schema, value);
        if schema.get("enum").is_some() || schema.get("const").is_some() {
            *value = self.made(&schema);
            return;
        }
        match value {
            Value::Object(members) => self.object(members, &schema, other),
            Value::Array(items) => self.array(items, &schema, other),
            Value::String(text) => *text = self.text(text, &schema, other),
            Value::Number(_) => *value = self.number(value, &schema),
            Value::Bool(bit) => *bit = !*bit,
            Value::Null => *value = self.made(&schema),
        }
    }

    /// What a schema says of one value: what it refers to, and of several choices the first for the value's type.
    fn meant(&self, schema: &Value, value: &Value) -> Value {
        let schema = generate::resolved(self.root, schema);
        let choices = ["oneOf", "anyOf"].into_iter().find_map(|union| schema.get(union)?.as_array());
        let Some(choices) = choices else { return schema };
        let mut choices = choices.iter().map(|choice| generate::resolved(self.root, choice));
        choices.find(|choice| is_of(choice, value)).unwrap_or_default()
    }

    fn made(&mut self, schema: &Value) -> Value {
        generate::value(self.root, schema, self.random)
    }

    fn object(&mut self, members: &mut Map<String, Value>, schema: &Value, other: &Value) {
        let properties = schema["properties"].as_object();
        let of = |name: &str| properties.and_then(|all| all.get(name)).cloned().unwrap_or_default();
        let name = match properties.filter(|all| !all.is_empty()) {
            Some(all) => all.keys().nth(self.random.below(all.len() as u64) as usize),
            None => members.keys().nth(self.random.below(members.len().max(1) as u64) as usize),
        };
        let Some(name) = name.cloned() else { return };
        let is_required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| *one == *name));
        match self.random.below(16) {
            0 if !is_required => drop(members.remove(&name)),
            1 => drop(members.insert(name.clone(), self.made(&of(&name)))),
            2 => {
                if let Some(taken) = other.get(&name) {
                    members.insert(name, taken.clone());
                }
            }
            _ => match members.get_mut(&name) {
                Some(member) => self.change(member, &of(&name), other.get(&name).unwrap_or(&Value::Null)),
                None => drop(members.insert(name.clone(), self.made(&of(&name)))),
            },
        }
    }

    fn array(&mut self, items: &mut Vec<Value>, schema: &Value, other: &Value) {
        let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
        let most = schema["maxItems"].as_u64().unwrap_or(1000) as usize;
        let of = schema.get("items").cloned().unwrap_or_default();
        let at = self.random.below(items.len().max(1) as u64) as usize;
        match self.random.below(6) {
            0 if items.len() > least => drop(items.remove(at)),
            1 if items.len() < most && !items.is_empty() => items.insert(at, items[at].clone()),
            2 if items.len() < most => items.insert(at.min(items.len()), self.made(&of)),
            _ => match items.get_mut(at) {
                Some(item) => self.change(item, &of, other.get(at).unwrap_or(&Value::Null)),
                None if most > 0 => items.push(self.made(&of)),
                None => {}
            },
        }
    }

    fn text(&mut self, text: &str, schema: &Value, other: &Value) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        let most = schema["maxLength"].as_u64().unwrap_or(100_000) as usize;
        let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
        let at = self.random.below(letters.len().max(1) as u64) as usize;
        let to = at + self.random.below(letters.len().saturating_sub(at).min(8) as u64 + 1) as usize;
        let letter = char::from(b' ' + self.random.below(95) as u8);
        let word = self.word();
        match self.random.below(12) {
            0 => letters.insert(at.min(letters.len()), letter),
            1 => drop(letters.drain(at.min(letters.len())..to.min(letters.len()))),
            2 => letters.extend_from_within(at.min(letters.len())..to.min(letters.len())),
            3 => letters = word,
            4 => drop(letters.splice(at.min(letters.len())..at.min(letters.len()), word)),
            5 | 6 => {
                let end = (at + word.len()).min(letters.len());
                drop(letters.splice(at.min(letters.len())..end, word));
            }
            7 => letters.truncate(self.random.below(9) as usize),
            8 => {
                let taken: Vec<char> = other.as_str().unwrap_or_default().chars().collect();
                letters.truncate(at);
                letters.extend(taken.into_iter().skip(at));
            }
            9 | 10 if !self.words.swaps.is_empty() => {
                if let Some([own, wanted]) = self.random.pick(&self.words.swaps) {
                    return self.swapped(text, own, wanted).chars().take(most).collect();
                }
            }
            _ => match letters.get_mut(at) {
                Some(old) => *old = letter,
                None => letters.push(letter),
            },
        }
        letters.resize(letters.len().max(least.min(1000)), 'a');
        letters.truncate(most);
        letters.into_iter().collect()
    }

    /// A text in which a part stands in another one's place, once.
    fn swapped(&mut self, text: &str, own: &str, wanted: &str) -> String {
        let places: Vec<usize> = text.match_indices(own).map(|(place, _)| place).collect();
        match self.random.pick(&places) {
            Some(place) => [&text[..*place], wanted, &text[place + own.len()..]].concat(),
            None => text.to_owned(),
        }
    }

    /// A word that the component compares with, one of the last more often than the others.
    fn word(&mut self) -> Vec<char> {
        let all = self.words.texts.as_slice();
        let from = if self.random.below(2) == 0 { all.len().saturating_sub(LATEST) } else { 0 };
        match self.random.pick(&all[from..]) {
            Some(word) => word.chars().collect(),
            None => vec!['a'; self.random.below(9) as usize],
        }
    }

    fn number(&mut self, value: &Value, schema: &Value) -> Value {
        let Some(number) = value.as_i64() else { return self.made(schema) };
        let near = self.random.below(35) as i64 + 1;
        let number = match self.random.below(8) {
            0 => number.wrapping_add(near),
            1 => number.wrapping_sub(near),
            2 => number ^ (1 << self.random.below(63)),
            3 => number.wrapping_mul(2),
            4 => *self.random.pick(NUMBERS).unwrap_or(&0),
            5 => number.wrapping_neg(),
            _ => *self.random.pick(&self.words.numbers).unwrap_or(&number),
        };
        let (least, most) = generate::bounds(schema);
        json!(number.clamp(least as i64, (most as i64).max(least as i64)))
    }
}

/// Whether a schema may be one for a value, by its type alone.
fn is_of(schema: &Value, value: &Value) -> bool {
    let name = match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
    };
    match &schema["type"] {
        Value::String(type_) => type_ == name || (type_ == "number" && name == "integer"),
        Value::Array(types) => types.iter().any(|type_| type_ == name),
        _ => name == "object" && schema.get("properties").is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_replaced_alone_and_not_too_often() {
        let value = json!({ "a/b": ["x", 1, "y"], "c": { "d~": "z" } });
        let upper = |leaf: &Value| leaf.as_str().map(|text| json!(text.to_uppercase())).into_iter().collect();
        let made = replaced(&value, &upper, 10);
        let wanted = [
            json!({ "a/b": ["X", 1, "y"], "c": { "d~": "z" } }),
            json!({ "a/b": ["x", 1, "Y"], "c": { "d~": "z" } }),
            json!({ "a/b": ["x", 1, "y"], "c": { "d~": "Z" } }),
        ];
        assert_eq!(made, wanted);
        assert_eq!(replaced(&value, &upper, 2).len(), 2);
    }

    #[test]
    fn changes_stay_within_what_the_schema_says_of_a_place() {
        let schema = json!({ "type": "object", "required": ["a", "e"], "properties": {
            "a": { "type": "string", "maxLength": 6, "minLength": 2 }, "n": { "type": "integer", "minimum": 1, "maximum": 9 },
            "e": { "enum": ["x", "y"] }, "l": { "type": "array", "maxItems": 3, "items": { "type": "boolean" } },
        } });
        let words = Words {
            texts: vec!["needle in hay".into()],
            numbers: vec![77],
            swaps: vec![["b".into(), "swapped".into()]],
        };
        let mut value = json!({ "a": "abc", "n": 3, "e": "x", "l": [true] });
        let mut random = Random::new(3);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..2000 {
            value = mutated(&schema, &value, &json!({ "a": "other", "l": [false] }), &words, &mut random);
            let length = value["a"].as_str().unwrap().chars().count();
            assert!((2..=6).contains(&length), "{value}");
            assert!(value.get("n").is_none_or(|n| (1..=9).contains(&n.as_i64().unwrap())), "{value}");
            assert!(value["e"] == "x" || value["e"] == "y", "{value}");
            assert!(value["l"].as_array().is_none_or(|items| items.len() <= 3), "{value}");
            seen.insert(value["a"].as_str().unwrap().to_owned());
        }
        assert!(seen.contains("needle"), "a word is put in its place");
        assert!(seen.len() > 200, "{}", seen.len());
    }
}
