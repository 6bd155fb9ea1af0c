//! How is a result read on of which a part was shown? By range or by words, from the whole that was kept. Pure; must
//! not know where wholes are kept.

use super::query::Query;
use super::relevance::Weights;
use super::truncate::{self, parts};
use crate::error::{Error, Kind, Problem, Step};
use serde::Deserialize;
use serde_json::{Value, json};

/// The tool's name.
pub const NAME: &str = "result_read";

/// The tool's manifest.
pub(crate) const MANIFEST: &str = r#"
[tool]
name = "result_read"
version = "0.1.0"
description = """
Read on in a result of which only a part was shown. `handle` is in its `metadata.truncation`. Give `path` (a JSON \
Pointer into the result, from `ranges`) with `from` and `to` for a range of lines, items, members or bytes, or `query` \
for what matters most to some words; without either, the beginning is read."""
category = "runtime"

[[tool.inputs]]
name = "handle"
type = "string"
required = true
description = "What `metadata.truncation.handle` says"
validation = { max_length = 100 }

[[tool.inputs]]
name = "path"
type = "string"
required = false
default = ""
description = "Where in the result, as a JSON Pointer such as `/text` or `/entries`"
validation = { max_length = 4096 }

[[tool.inputs]]
name = "unit"
type = "enum"
required = false
default = "parts"
allowed_values = ["parts", "bytes"]
description = "What `from` and `to` count: lines of a text, items or members, or bytes of a text"

[[tool.inputs]]
name = "from"
type = "integer"
required = false
default = 0
range = [0, 1000000000]
description = "The first one, from 0"

[[tool.inputs]]
name = "to"
type = "integer"
required = false
range = [0, 1000000000]
description = "The one after the last; 200 after `from` (16,384 bytes) if left out"

[[tool.inputs]]
name = "query"
type = "string"
required = false
description = "Words or paths; what fits them best is read instead of a range"
validation = { max_length = 2000, format = "text" }

[tool.permissions]
risk_level = "low"
requires_approval = true

[tool.effect]
kind = "read"
idempotent = true
open_world = false

[tool.backend]
type = "runtime"
adapter = "runtime"
"#;

/// Parts that one answer holds if nobody says how many.
const PARTS: usize = 200;
const BYTES: usize = 16 << 10;
/// Tokens of what a query finds.
const FOUND: u32 = 2000;

/// What is asked of a whole result.
#[derive(Debug, Deserialize)]
pub struct Asked {
    /// By what it is found.
    pub handle: String,
    /// Where in it.
    #[serde(default)]
    pub path: String,
    /// What `from` and `to` count.
    #[serde(default)]
    pub unit: Unit,
    /// The first one.
    #[serde(default)]
    pub from: usize,
    /// The one after the last.
    pub to: Option<usize>,
    /// Words instead of a range.
    pub query: Option<String>,
}

/// What a range counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Lines of a text, items of an array or members of an object.
    #[default]
    Parts,
    /// Bytes of a text.
    Bytes,
}

/// The part of a whole result that is asked for, as facts.
///
/// # Errors
/// `invalid_input` if the result has nothing at the path.
pub fn read(whole: &Value, asked: &Asked) -> Result<Value, Error> {
    let Some(value) = whole.pointer(&asked.path) else {
        return Err(wrong(whole, &asked.path));
    };
    if let Some(query) = asked.query.as_deref().filter(|query| !Query::of(query).is_empty()) {
        let mut found = value.clone();
        let weights = Weights::default();
        let measure = truncate::Measure { budget_tokens: FOUND, texts: &[query], weights: &weights };
        let ranges = truncate::truncate(&mut found, measure).map(|cut| cut.truncation.ranges).unwrap_or_default();
        return Ok(json!({ "path": asked.path, "query": query, "left_out": ranges, "found": found }));
    }
    Ok(range(value, asked))
}

fn range(value: &Value, asked: &Asked) -> Value {
    let end = |total: usize, usual: usize| asked.to.unwrap_or(asked.from.saturating_add(usual)).min(total);
    let facts = |unit: &str, to: usize, total: usize, found: Value| {
        let from = asked.from.min(to);
        json!({ "path": asked.path, "unit": unit, "from": from, "to": to, "total": total, "found": found })
    };
    match value {
        Value::String(text) if asked.unit == Unit::Bytes || !text.contains('\n') => {
            let to = end(text.len(), BYTES);
            let from = crate::document::floor_char_boundary(text, asked.from.min(to));
            let to = crate::document::floor_char_boundary(text, to);
            facts("bytes", to, text.len(), text[from..to].into())
        }
        Value::String(text) => {
            let total = text.split_inclusive('\n').count();
            let to = end(total, PARTS);
            let lines = text.split_inclusive('\n').take(to).skip(asked.from);
            facts("lines", to, total, lines.collect::<String>().into())
        }
        Value::Array(items) => {
            let to = end(items.len(), PARTS);
            facts("items", to, items.len(), items[asked.from.min(to)..to].into())
        }
        Value::Object(members) => {
            let to = end(members.len(), PARTS);
            let range = members.iter().take(to).skip(asked.from);
            let found = range.map(|(key, member)| (key.clone(), member.clone())).collect();
            facts("members", to, members.len(), Value::Object(found))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => facts("items", 1, 1, value.clone()),
    }
}

fn wrong(whole: &Value, path: &str) -> Error {
    let mut places = Vec::new();
    places_of(whole, "", &mut places);
    let problem = Problem {
        path: "/path".into(),
        rule: "pointer".into(),
        expected: format!("one of {}", places.join(", ")),
        received: crate::document::excerpt(path, 80),
        hint: None,
    };
    let mut error = Error::new(Step::Sandbox, Kind::InvalidInput, "the result has nothing at that path");
    error.problems = vec![problem];
    error
}

/// The places of a result that are large enough to be read in ranges.
fn places_of(value: &Value, path: &str, places: &mut Vec<String>) {
    const PLACES: usize = 12;
    if places.len() == PLACES {
        return;
    }
    places.push(if path.is_empty() { "`` (all of it)".into() } else { format!("`{path}`") });
    if let Value::Object(members) = value {
        for (key, member) in members.iter().filter(|(_, member)| parts::size(member) > 200) {
            places_of(member, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), places);
        }
    }
}

/// What is said about a handle that leads nowhere.
pub fn unknown(handle: &str) -> Error {
    let shown = crate::document::excerpt(handle, 60);
    Error::new(Step::Sandbox, Kind::InvalidInput, format!("no whole result of yours has the handle `{shown}`"))
        .reason("not_found")
        .hint("whole results are kept for some days and for the caller and role that got them; make the call again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(value: Value) -> Asked {
        let mut asked = json!({ "handle": "h" });
        asked.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        serde_json::from_value(asked).unwrap()
    }

    #[test]
    fn ranges_are_those_that_were_said_to_be_left_out() {
        let lines: Vec<String> = (0..500).map(|n| format!("line {n}")).collect();
        let whole = json!({ "text": lines.join("\n"), "entries": lines, "n": 1 });
        let read = |value| read(&whole, &asked(value));
        let found = read(json!({ "path": "/text", "from": 3, "to": 5 })).unwrap();
        assert_eq!((&found["found"], &found["total"]), (&json!("line 3\nline 4\n"), &json!(500)));
        assert_eq!(read(json!({ "path": "/entries", "from": 499 })).unwrap()["found"], json!(["line 499"]));
        assert_eq!(read(json!({ "path": "/text", "unit": "bytes", "from": 5, "to": 8 })).unwrap()["found"], "0\nl");
        assert_eq!(read(json!({ "path": "/entries", "from": 900, "to": 2 })).unwrap()["found"], json!([]));
        let error = read(json!({ "path": "/texts" })).unwrap_err();
        assert!(error.problems[0].expected.contains("`/text`"), "{error:?}");
    }

    #[test]
    fn words_find_what_fits_them() {
        let lines: Vec<String> = (0..5000).map(|n| format!("a line of no matter {n}")).collect();
        let whole = json!({ "text": format!("{}\nthe password policy\n{}", lines.join("\n"), lines.join("\n")) });
        let found = read(&whole, &asked(json!({ "path": "/text", "query": "password" }))).unwrap();
        assert!(found["found"].as_str().unwrap().contains("the password policy"));
    }
}
