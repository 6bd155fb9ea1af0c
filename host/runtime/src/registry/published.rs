//! Which JSON Schema does a manifest file have? Made from the type that reads it, so that it is never behind; and which
//! keys of a document does it not know? Must not read files.

use super::manifest::ManifestFile;
use super::places::escape;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// Unknown keys of one file that are told; who has more has another problem.
const MOST: usize = 50;

/// The schema of a manifest file (JSON Schema 2020-12).
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ManifestFile>();
        schema.insert("title".into(), "A tool's manifest of the Hermes Tool Dispatch Runtime".into());
        schema.to_value()
    })
}

/// A key that no manifest has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    /// Where it stands, as a JSON Pointer.
    pub(super) pointer: String,
    /// The key.
    pub(super) key: String,
    /// The keys that could stand there.
    pub(super) known: Vec<String>,
}

/// Every key that no manifest has, taken out of the document.
pub(super) fn take_unknown(document: &mut Value) -> Vec<Unknown> {
    let mut found = Vec::new();
    take("", document, schema(), &mut found);
    found
}

fn take(at: &str, value: &mut Value, schema: &Value, found: &mut Vec<Unknown>) {
    let alternatives = alternatives(schema);
    match value {
        Value::Object(members) => {
            let tables: Vec<&Map<String, Value>> =
                alternatives.iter().filter_map(|schema| schema.get("properties")?.as_object()).collect();
            let is_open = alternatives.iter().any(|schema| {
                let rest = schema.get("additionalProperties");
                schema.as_bool() == Some(true) || rest.map_or(is_any_object(schema), |rest| rest != &Value::Bool(false))
            });
            if !is_open && !tables.is_empty() {
                let known: Vec<String> = tables.iter().flat_map(|table| table.keys().cloned()).collect();
                members.retain(|key, _| {
                    let is_known = known.contains(key) || found.len() >= MOST;
                    if !is_known {
                        let pointer = format!("{at}/{}", escape(key));
                        found.push(Unknown { pointer, key: key.clone(), known: known.clone() });
                    }
                    is_known
                });
            }
            for (key, member) in members.iter_mut() {
                if let Some(schema) = tables.iter().find_map(|table| table.get(key)) {
                    take(&format!("{at}/{}", escape(key)), member, schema, found);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = alternatives.iter().find_map(|schema| schema.get("items")) {
                for (index, item) in items.iter_mut().enumerate() {
                    take(&format!("{at}/{index}"), item, schema, found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A schema that says of an object no more than that it is one.
fn is_any_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|type_| type_ == "object") && schema.get("properties").is_none()
}

/// What a schema can be, without its references and its choices.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    if let Some(target) = target.and_then(|target| self::schema().pointer(target)) {
        return alternatives(target);
    }
    let choices = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    match choices {
        Some(choices) => choices.iter().flat_map(alternatives).collect(),
        None => vec![schema],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_unknown_key_is_found_at_every_depth() {
        let mut document = json!({ "tool": {
            "nmae": "x", "name": "x", "input_schema": { "anything": 1 },
            "inputs": [{ "name": "a", "type": "string", "validation": { "max_lenght": 3 } }],
            "backend": [{ "type": "custom", "adapter": "a", "arguments": { "free": 1 } }, { "adaptor": "b" }],
            "health_check": { "interval": 5 },
        }, "tools": {} });
        let found: Vec<String> = take_unknown(&mut document).into_iter().map(|unknown| unknown.pointer).collect();
        let expected = [
            "/tools",
            "/tool/nmae",
            "/tool/inputs/0/validation/max_lenght",
            "/tool/backend/1/adaptor",
            "/tool/health_check/interval",
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(expected.iter().all(|pointer| found.iter().any(|found| found == pointer)), "{found:?}");
        assert_eq!(take_unknown(&mut document), []);
        assert_eq!(document["tool"]["input_schema"]["anything"], 1);
    }

    #[test]
    fn the_schema_says_yes_to_what_is_right_and_no_to_what_is_not() {
        let validator = jsonschema::validator_for(schema()).unwrap();
        let right = json!({ "tool": {
            "name": "x", "version": "1.0.0", "description": "x", "permissions": { "risk_level": "low" },
            "backend": { "type": "custom", "adapter": "a" },
        } });
        assert!(validator.is_valid(&right), "{:?}", validator.iter_errors(&right).collect::<Vec<_>>());
        let mut wrong = right.clone();
        wrong["tool"]["permissions"]["risk_level"] = "tiny".into();
        assert!(!validator.is_valid(&wrong));
        let mut wrong = right;
        wrong["tool"]["backend"]["adaptor"] = "b".into();
        assert!(!validator.is_valid(&wrong));
    }
}
