//! Does each keyword of JSON Schema 2020-12 hold for an argument, and is what breaks it told with a hint? Cases of our
//! own; the public suite is run by `examples/json_schema_suite.rs`.

use crate::call::{Arguments, Judged};
use crate::registry::Tool;
use crate::registry::tool::{self, Surroundings};
use crate::{Error, error::Problem};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn load(schema: &Value, more: &str) -> Result<Tool, String> {
    let manifest = format!(
        "[tool]\nname = \"probe\"\nversion = \"0.1.0\"\ndescription = \"x\"\n{more}\ninput_schema = '''{schema}'''\n\
         permissions = {{ risk_level = \"low\" }}\nbackend = {{ type = \"custom\", adapter = \"probe\" }}\n"
    );
    tool::parse(Path::new("probe.toml"), &manifest, &Surroundings::default()).map_err(|faults| faults.to_string())
}

fn judge(tool: &Tool, args: &Value) -> Result<Judged, Error> {
    super::judge(tool, &Arguments::Json(args.to_string()), Duration::MAX)
}

/// The rules that a value of the argument `x` breaks.
fn broken(schema: &Value, x: &Value) -> Vec<String> {
    let whole = json!({ "properties": { "x": schema }, "$defs": { "n": { "type": "integer" } } });
    let tool = load(&whole, "").unwrap_or_else(|why| panic!("{schema}: {why}"));
    let problems = judge(&tool, &json!({ "x": x })).err().map(|error| error.problems.clone()).unwrap_or_default();
    assert!(problems.iter().all(|it| it.hint.is_some() && it.path.starts_with("/x")), "{schema} {x}: {problems:?}");
    problems.into_iter().map(|it| it.rule).collect()
}

fn check(schema: Value, right: Value, wrong: Value, rule: &str) {
    assert_eq!(broken(&schema, &right), Vec::<String>::new(), "{schema} takes {right}");
    assert_eq!(broken(&schema, &wrong).first().map(String::as_str), Some(rule), "{schema} refuses {wrong}");
}

#[test]
fn each_keyword_holds() {
    check(json!({ "type": "string" }), json!("a"), json!(1), "type");
    check(json!({ "type": ["string", "integer"] }), json!(1), json!({}), "type");
    check(json!({ "enum": ["a", 1, null] }), json!(null), json!("b"), "enum");
    check(json!({ "const": { "a": 1 } }), json!({ "a": 1.0 }), json!({ "a": 2 }), "enum");
    check(json!({ "minimum": 1, "type": "number" }), json!(1), json!(0.5), "range");
    check(json!({ "maximum": 1 }), json!(1), json!(2), "range");
    check(json!({ "exclusiveMinimum": 1 }), json!(1.5), json!(1), "range");
    check(json!({ "exclusiveMaximum": 1 }), json!(0), json!(1), "range");
    check(json!({ "multipleOf": 0.01 }), json!(0.07), json!(0.075), "multiple_of");
    check(json!({ "minLength": 2 }), json!("😀😀"), json!("😀"), "length");
    check(json!({ "maxLength": 1 }), json!("😀"), json!("ab"), "length");
    check(json!({ "pattern": "^a+$" }), json!("aa"), json!("ab"), "pattern");
    check(json!({ "minItems": 1 }), json!([1]), json!([]), "length");
    check(json!({ "maxItems": 1 }), json!([1]), json!([1, 2]), "length");
    check(json!({ "uniqueItems": true }), json!([1, "1"]), json!([1, 1.0]), "unique_items");
    check(json!({ "items": { "type": "integer" } }), json!([1]), json!([1, "a"]), "type");
    check(
        json!({ "prefixItems": [{ "type": "string" }], "items": false }),
        json!(["a"]),
        json!(["a", 1]),
        "not_allowed",
    );
    check(json!({ "contains": { "const": 1 }, "maxContains": 1 }), json!([1, 2]), json!([2]), "contains");
    check(json!({ "contains": { "const": 1 }, "minContains": 2 }), json!([1, 1]), json!([1]), "contains");
    check(json!({ "required": ["a"] }), json!({ "a": 1 }), json!({}), "required");
    check(json!({ "properties": { "a": { "type": "boolean" } } }), json!({ "a": true }), json!({ "a": 1 }), "type");
    check(
        json!({ "patternProperties": { "^n": { "type": "null" } } }),
        json!({ "n": null }),
        json!({ "n": 1 }),
        "type",
    );
    check(
        json!({ "properties": { "b": true }, "additionalProperties": false }),
        json!({}),
        json!({ "a": 1 }),
        "unknown_key",
    );
    check(json!({ "propertyNames": { "maxLength": 1 } }), json!({ "a": 1 }), json!({ "ab": 1 }), "key");
    check(json!({ "minProperties": 1 }), json!({ "a": 1 }), json!({}), "length");
    check(json!({ "maxProperties": 1 }), json!({ "a": 1 }), json!({ "a": 1, "b": 2 }), "length");
    check(json!({ "dependentRequired": { "a": ["b"] } }), json!({ "b": 1 }), json!({ "a": 1 }), "required");
    check(
        json!({ "dependentSchemas": { "a": { "maxProperties": 1 } } }),
        json!({ "a": 1 }),
        json!({ "a": 1, "b": 1 }),
        "length",
    );
    check(json!({ "allOf": [{ "minimum": 1 }, { "maximum": 2 }] }), json!(2), json!(3), "range");
    check(json!({ "anyOf": [{ "type": "integer" }, { "type": "array" }] }), json!(1), json!({}), "type");
    check(json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 3 }] }), json!(0), json!(2), "one_of");
    check(json!({ "not": { "const": 1 } }), json!(2), json!(1), "not");
    check(
        json!({ "if": { "type": "integer" }, "then": { "minimum": 1 }, "else": { "type": "string" } }),
        json!("a"),
        json!(0),
        "range",
    );
    check(json!({ "$ref": "#/$defs/n" }), json!(1), json!("a"), "type");
    check(
        json!({ "$defs": { "a": { "$anchor": "a", "type": "integer" } }, "$ref": "#a" }),
        json!(1),
        json!("a"),
        "type",
    );
    check(
        json!({ "$id": "http://x.test/", "$dynamicRef": "#a", "$defs": { "a": { "$dynamicAnchor": "a", "type": "integer" } } }),
        json!(1),
        json!("a"),
        "type",
    );
    check(
        json!({ "allOf": [{ "properties": { "a": true } }], "unevaluatedProperties": false }),
        json!({ "a": 1 }),
        json!({ "b": 1 }),
        "unknown_key",
    );
    check(json!({ "prefixItems": [true], "unevaluatedItems": false }), json!([1]), json!([1, 2]), "length");
}

#[test]
fn formats_and_contents_only_describe_where_the_schema_is_the_authors() {
    for schema in [json!({ "format": "email" }), json!({ "contentEncoding": "base64" }), json!({ "description": "x" })]
    {
        assert_eq!(broken(&schema, &json!("?")), Vec::<String>::new(), "{schema}");
    }
}

#[test]
fn documents_that_the_manifest_brings_along_are_found_and_nothing_is_fetched() {
    let schema = json!({ "properties": { "x": { "$ref": "http://x.test/n.json#/$defs/n" } } });
    let document = r#"schemas = { "http://x.test/n.json" = '{ "$defs": { "n": { "enum": [null, 1] } } }' }"#;
    let tool = load(&schema, document).unwrap();
    assert!(judge(&tool, &json!({ "x": 1 })).is_ok());
    assert_eq!(judge(&tool, &json!({ "x": 2 })).unwrap_err().problems[0].path, "/x");
    for address in ["http://127.0.0.1:9/x.json", "file:///etc/passwd", "#/$defs/missing", "other.json"] {
        let why = load(&json!({ "properties": { "x": { "$ref": address } } }), "").unwrap_err();
        assert!(why.contains("schema is wrong"), "{address}: {why}");
    }
}

#[test]
fn a_tree_is_read_to_its_leaves() {
    let schema = json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "required": ["value"],
        "properties": { "value": { "type": "integer" }, "children": { "type": "array", "items": { "$ref": "#/$defs/node" } } } } } });
    let tool = load(&schema, "").unwrap();
    let tree = |leaf: Value| json!({ "value": 1, "children": [{ "value": 2, "children": [{ "value": 3 }, leaf] }] });
    let judged = judge(&tool, &tree(json!({ "value": "4" }))).unwrap();
    assert_eq!((judged.repairs[0].path.as_str(), judged.repairs.len()), ("/children/0/children/1/value", 1));
    let problems = judge(&tool, &tree(json!({ "value": "four" }))).unwrap_err().problems.clone();
    assert_eq!(problems[0].path, "/children/0/children/1/value");
    assert!(
        load(
            &json!({ "properties": { "x": { "$ref": "#/$defs/a" } }, "$defs": {
        "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
            ""
        )
        .is_err()
    );
}

fn problems(schema: Value, args: Value) -> Vec<Problem> {
    judge(&load(&schema, "").unwrap(), &args).unwrap_err().problems.clone()
}

fn forms() -> Value {
    json!({ "properties": { "shape": { "oneOf": [
        { "type": "object", "properties": { "kind": { "const": "circle" }, "radius": { "type": "number" } },
          "required": ["kind", "radius"], "additionalProperties": false },
        { "type": "object", "properties": { "kind": { "const": "box" }, "width": { "type": "number" }, "height": { "type": "number" } },
          "required": ["kind", "width", "height"], "additionalProperties": false },
        { "type": "null" },
    ] } } })
}

#[test]
fn a_union_is_explained_by_the_branch_that_was_meant() {
    let told = |args: Value| -> Vec<(String, String)> {
        problems(forms(), args).into_iter().map(|it| (it.path, it.rule)).collect()
    };
    let pair = |path: &str, rule: &str| (path.to_owned(), rule.to_owned());
    assert_eq!(told(json!({ "shape": { "kind": "circle", "radius": "wide" } })), [pair("/shape/radius", "type")]);
    assert_eq!(
        told(json!({ "shape": { "kind": "box", "width": 1, "heigth": 2 } })),
        [pair("/shape/height", "required"), pair("/shape/heigth", "unknown_key")]
    );
    assert_eq!(told(json!({ "shape": { "radius": 1 } })), [pair("/shape/kind", "required")]);
    let problem = &problems(forms(), json!({ "shape": "circle" }))[0];
    assert_eq!((problem.path.as_str(), problem.expected.as_str()), ("/shape", "object or null"));
}

/// Without a bound the errors of this value would double at each of its levels, to about 2^100.
#[test]
fn what_folds_into_itself_is_explained_in_bounded_time() {
    let branch = |name: &str| json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/n" }, "name": { "type": name } } });
    let schema = json!({ "properties": { "x": { "$ref": "#/$defs/n" } },
        "$defs": { "n": { "anyOf": [branch("integer"), branch("boolean"), { "type": "null" }] } } });
    let mut value = json!("wrong");
    for _ in 0..100 {
        value = json!({ "next": value });
    }
    let problems = problems(schema, json!({ "x": value }));
    assert!(!problems.is_empty() && problems.iter().all(|it| it.hint.is_some()), "{problems:?}");
}

#[test]
fn no_value_that_looks_secret_is_said_back() {
    let schema = json!({ "properties": { "password": { "maxLength": 3 }, "login": { "writeOnly": true, "type": "integer" },
        "note": { "type": "integer" }, "deep": { "properties": { "api_key": { "const": "x" } } } }, "additionalProperties": false });
    let secret = "hunter2hunter2";
    let token = "ghp_0123456789abcdefghij";
    let args = json!({ "password": secret, "login": secret, "note": token, token: 1, "deep": { "api_key": secret } });
    let told = serde_json::to_string(&problems(schema, args)).unwrap();
    assert!(!told.contains(secret) && !told.contains(token), "{told}");
}

#[test]
fn look_around_is_bounded_and_what_cannot_be_is_refused_at_load() {
    let tool = load(&json!({ "properties": { "x": { "pattern": "^(?!.*evil)(a|a)*$" } } }), "").unwrap();
    assert!(judge(&tool, &json!({ "x": "aa" })).is_ok());
    let problem = |text: String| judge(&tool, &json!({ "x": text })).unwrap_err().problems.remove(0);
    assert_eq!(problem("a".repeat(60) + "!").rule, "pattern");
    assert!(problem("a".repeat(5000)).hint.unwrap().contains("at most 4096 bytes"));
    for pattern in ["(", "a{1000}{1000}{1000}"] {
        assert!(
            load(&json!({ "properties": { "x": { "pattern": pattern } } }), "").unwrap_err().contains("cannot be used"),
            "{pattern}"
        );
    }
    assert!(load(&json!({ "patternProperties": { "^(?!a)": true } }), "").is_err());
}

#[test]
fn a_text_in_one_megabyte_is_held_against_linear_patterns_only() {
    let tool = load(&json!({ "properties": { "x": { "pattern": "^(a+)+$" } } }), "").unwrap();
    let text = "a".repeat(1 << 20) + "!";
    assert_eq!(judge(&tool, &json!({ "x": text })).unwrap_err().problems[0].rule, "pattern");
}

#[test]
fn twenty_problems_are_told_and_all_are_counted() {
    let args: Value = (0..50).map(|n| (format!("k{n}"), Value::from(n))).collect::<serde_json::Map<_, _>>().into();
    let tool = load(&json!({ "properties": { "a": true }, "additionalProperties": false }), "").unwrap();
    let error = judge(&tool, &args).unwrap_err();
    assert_eq!((error.problems.len(), error.problems.is_sorted()), (20, true));
    assert!(error.message.contains("have 50 problems; the first 20 are told"), "{}", error.message);
}

#[test]
fn texts_that_a_reader_goes_by_are_strict_wherever_they_stand() {
    let schema = json!({ "properties": {
        "name": { "format": "name" }, "hosts": { "items": { "format": "host" } }, "id": { "pattern": "a" },
        "any": { "anyOf": [{ "type": "string", "format": "url" }, { "type": "null" }] },
        "kind": { "enum": ["a", "b\u{0}"] }, "text": { "format": "text", "pattern": "a" }, "plain": {} } });
    let tool = load(&schema, "").unwrap();
    let odd = "a\u{202e}\u{200b}\u{0}";
    for (args, path) in [
        (json!({ "name": odd }), "/name"),
        (json!({ "hosts": ["x", odd] }), "/hosts/1"),
        (json!({ "id": odd }), "/id"),
        (json!({ "any": odd }), "/any"),
        (json!({ "kind": odd }), "/kind"),
    ] {
        let problem = judge(&tool, &args).unwrap_err().problems.remove(0);
        assert_eq!((problem.rule.as_str(), problem.path.as_str()), ("characters", path));
    }
    let judged = judge(&tool, &json!({ "text": odd, "plain": odd, "kind": "b\u{0}" })).unwrap();
    assert_eq!((&judged.value["text"], &judged.value["plain"]), (&json!(odd), &json!(odd)));
}

#[test]
fn paths_have_one_form_in_lists_and_objects_too() {
    let path = json!({ "type": "string", "format": "path" });
    let schema = json!({ "properties": { "files": { "type": "array", "items": path }, "copy": { "properties": { "to": path } } } });
    let judged =
        judge(&load(&schema, "").unwrap(), &json!({ "files": ["./a/../b", "/x//y"], "copy": { "to": "c/." } }))
            .unwrap();
    assert_eq!(*judged.value, json!({ "files": ["/workspace/b", "/x/y"], "copy": { "to": "/workspace/c" } }));
}

#[test]
fn numbers_are_what_was_written_where_they_have_to_be() {
    let schema = json!({ "properties": { "n": { "type": "number" }, "i": { "type": "integer" }, "any": {} } });
    let tool = load(&schema, "").unwrap();
    let ask = |args: &str| super::judge(&tool, &Arguments::Json(args.to_owned()), Duration::MAX);
    assert!(ask(r#"{"n":18446744073709551616}"#).is_ok());
    assert!(ask(r#"{"n":3.141592653589793238}"#).is_ok());
    assert!(ask(r#"{"i":18446744073709551615}"#).is_ok());
    for wrong in [
        r#"{"i":18446744073709551616}"#,
        r#"{"any":18446744073709551616}"#,
        r#"{"any":0.1000000000000000055}"#,
        r#"{"i":9007199254740993.0}"#,
        r#"{"i":1e17}"#,
        r#"{"n":1e400}"#,
        r#"{"other":{"x":[18446744073709551616]}}"#,
    ] {
        let problems = ask(wrong).unwrap_err().problems.clone();
        assert_eq!((problems.len(), problems[0].rule.as_str()), (1, "number"), "{wrong}: {problems:?}");
    }
}
