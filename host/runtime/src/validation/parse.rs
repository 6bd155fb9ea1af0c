//! Is the text one JSON object, read the way everybody would read it? Keys given twice, half surrogates, depth and
//! size are answered here, before anything looks at the arguments. Pure.

use crate::document::excerpt;
use crate::error::Problem;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

/// Deepest nesting inside arguments.
const DEPTH: usize = 120;
/// Longest arguments, in bytes.
const SIZE: usize = 16 << 20;
/// Most keys in all objects together.
const KEYS: usize = 100_000;

/// Reads arguments from text.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, Problem> {
    if text.len() > SIZE {
        return Err(problem("size", format!("at most {SIZE} bytes"), format!("{} bytes", text.len())));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = RefCell::new(None);
    let mut keys = 0;
    let seed = Strict { path: "", depth: 0, keys: &mut keys, found: &found };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    match (parsed, found.into_inner()) {
        (_, Some(problem)) => Err(problem),
        (Ok(Value::Object(object)), None) => Ok(object),
        (Ok(other), None) => Err(problem("type", "a JSON object".into(), kind_of(&other).into())),
        (Err(error), None) => Err(problem(
            "json",
            "valid JSON".into(),
            format!("{} at line {}, column {}", without_place(&error), error.line(), error.column()),
        )),
    }
}

/// Checks the depth of a value that an embedding program built.
pub(super) fn check_depth(value: &Value) -> Result<(), Problem> {
    fn deep(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left == 0 || items.iter().any(|item| deep(item, left - 1)),
            Value::Object(members) => left == 0 || members.values().any(|member| deep(member, left - 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    // The arguments themselves are the first level.
    if deep(value, DEPTH - 1) { Err(too_deep("")) } else { Ok(()) }
}

/// What a value is, in the words of JSON Schema.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn problem(rule: &str, expected: String, received: String) -> Problem {
    Problem { path: String::new(), rule: rule.into(), expected, received, hint: None }
}

fn too_deep(path: &str) -> Problem {
    Problem { path: path.into(), ..problem("depth", format!("at most {DEPTH} levels"), "more".into()) }
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

struct Strict<'a> {
    path: &'a str,
    depth: usize,
    keys: &'a mut usize,
    found: &'a RefCell<Option<Problem>>,
}

impl Strict<'_> {
    /// Keeps the problem, with its place, and stops the parser.
    fn stop<E: serde::de::Error>(&self, problem: Problem) -> E {
        self.found.borrow_mut().get_or_insert(problem);
        E::custom("refused")
    }

    fn enter<E: serde::de::Error>(&self) -> Result<usize, E> {
        match self.depth < DEPTH {
            true => Ok(self.depth + 1),
            false => Err(self.stop(too_deep(self.path))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is none"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.enter()?;
        let mut array = Vec::new();
        loop {
            let path = format!("{}/{}", self.path, array.len());
            let seed = Strict { path: &path, depth, keys: &mut *self.keys, found: self.found };
            match items.next_element_seed(seed)? {
                Some(item) => array.push(item),
                None => return Ok(Value::Array(array)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let depth = self.enter()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let path = pointer(self.path, &key);
            *self.keys += 1;
            if *self.keys > KEYS {
                return Err(self.stop(problem("size", format!("at most {KEYS} keys"), "more".into())));
            }
            if object.contains_key(&key) {
                let twice = Problem {
                    path,
                    rule: "duplicate_key".into(),
                    expected: "each key once".into(),
                    received: format!("`{}` twice", excerpt(&key, 80)),
                    hint: Some("send the one value that is meant".into()),
                };
                return Err(self.stop(twice));
            }
            let seed = Strict { path: &path, depth, keys: &mut *self.keys, found: self.found };
            let value = members.next_value_seed(seed)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// A JSON Pointer with one more key.
pub(super) fn pointer(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (String, String) {
        let problem = parse(text).unwrap_err();
        (problem.rule, problem.path)
    }

    #[test]
    fn what_parsers_disagree_on_is_refused_with_its_place() {
        assert_eq!(refusal(r#"{"a":{"b":1,"b":2}}"#), ("duplicate_key".into(), "/a/b".into()));
        assert_eq!(refusal(r#"{"a":"\ud83d"}"#).0, "json");
        assert_eq!(refusal(r#"{"a":1} x"#).0, "json");
        assert_eq!(refusal(r#"[1]"#).0, "type");
        assert_eq!(refusal(r#"{"a":1e999}"#).0, "json");
    }

    #[test]
    fn depth_is_counted_and_never_overflows() {
        let nested = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&nested(DEPTH - 1)).is_ok());
        assert_eq!(refusal(&nested(DEPTH)).0, "depth");
        assert_eq!(refusal(&nested(100_000)).0, "depth");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_arguments() {
        assert!(parse("\u{feff}{}").is_ok());
    }
}
