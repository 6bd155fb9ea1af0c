//! Does a shape say what every right value is, and nothing else?

use super::*;
use serde_json::json;

fn at(schema: &Value, keys: &[&str]) -> Place {
    let shape = Shape::of(schema, &[], &[]);
    let id = keys.iter().fold(ROOT, |id, key| match key.parse() {
        Ok(index) => shape.item(id, index),
        Err(_) => shape.member(id, key),
    });
    shape.place(id).clone()
}

#[test]
fn a_place_has_the_kinds_that_all_its_schemas_take() {
    let check = |schema: Value, kinds: Kinds| assert_eq!(at(&schema, &[]).kinds, kinds, "{schema}");
    check(json!(true), Kinds::ALL);
    check(json!(false), Kinds::NONE);
    check(json!({ "type": "integer" }), Kinds::INTEGER);
    check(json!({ "type": ["integer", "null"] }), Kinds::INTEGER.or(Kinds::NULL));
    check(json!({ "enum": [1, "a"] }), Kinds::INTEGER.or(Kinds::STRING));
    check(json!({ "type": "number", "const": 3 }), Kinds::INTEGER);
    check(json!({ "allOf": [{ "type": "number" }, { "type": ["integer", "string"] }] }), Kinds::INTEGER);
    check(json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), Kinds::INTEGER.or(Kinds::NULL));
    check(json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "array" } } }), Kinds::ARRAY);
    check(json!({ "$ref": "elsewhere#/a" }), Kinds::ALL);
    check(json!({ "$schema": "urn:other", "type": "integer" }), Kinds::ALL);
    check(json!({ "if": { "type": "integer" } }), Kinds::ALL);
}

#[test]
fn a_schema_that_folds_into_itself_has_few_places() {
    let tree = json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "properties": {
        "value": { "type": "integer" }, "children": { "type": "array", "items": { "$ref": "#/$defs/node" } } } } } });
    assert_eq!(at(&tree, &["children", "7", "children", "0", "value"]).kinds, Kinds::INTEGER);
    assert!(Shape::of(&tree, &[], &[]).places.len() < 10);
}

#[test]
fn members_with_patterns_beside_them_say_nothing_of_the_others() {
    let schema = json!({ "additionalProperties": { "type": "integer" }, "properties": { "a": { "type": "string" } } });
    assert_eq!(at(&schema, &["a"]).kinds, Kinds::STRING);
    assert_eq!(at(&schema, &["b"]).kinds, Kinds::INTEGER);
    let schema = json!({ "additionalProperties": { "type": "integer" }, "patternProperties": { "^b": {} } });
    assert_eq!(at(&schema, &["b"]).kinds, Kinds::ALL);
}

#[test]
fn references_stay_within_their_resource() {
    let schema = json!({ "properties": { "a": { "$id": "http://x.test/a", "$ref": "#/$defs/n",
        "$defs": { "n": { "type": "integer" } } } }, "$defs": { "n": { "type": "string" } } });
    assert_eq!(at(&schema, &["a"]).kinds, Kinds::INTEGER);
}
