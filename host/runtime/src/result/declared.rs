//! Is the output what the tool declares? Compares it with `outputs` or `output_schema`. What does not fit is said and never
//! left out: somebody who counts on a fact has to know that it is not there. Pure.

use crate::document::excerpt;
use crate::registry::Tool;
use crate::registry::manifest::{InputType, OutputField};
use crate::registry::schema::OutputSchema;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

/// Most warnings about one output; more only bury the first ones.
const MOST: usize = 5;
/// Longest part of a warning that the output or its schema wrote, in bytes.
const LONG: usize = 200;

/// A warning for each place at which an output is not what the tool declares.
pub(super) fn differences(tool: &Tool, data: &Value) -> Vec<String> {
    let fields = tool.outputs.iter().filter_map(|field| field_differs(field, data));
    let mut warnings: Vec<String> = fields.collect();
    if let Some(schema) = &tool.output_schema {
        warnings.extend(schema_differs(schema, data));
    }
    warnings
}

/// A fact that the manifest lists and the output lacks or has in another type.
fn field_differs(field: &OutputField, data: &Value) -> Option<String> {
    let name = &field.name;
    let Some(value) = data.get(name) else {
        return Some(format!("the output lacks `{name}`, which the tool declares"));
    };
    let (fits, declared) = match field.type_ {
        InputType::String | InputType::Enum => (value.is_string(), "a string"),
        InputType::Integer => (value.is_i64() || value.is_u64(), "an integer"),
        InputType::Number => (value.is_number(), "a number"),
        InputType::Boolean => (value.is_boolean(), "a boolean"),
        InputType::Array => (value.is_array(), "an array"),
        InputType::Object => (value.is_object(), "an object"),
    };
    (!fits).then(|| format!("the output's `{name}` is {}; the tool declares {declared}", kind(value)))
}

fn schema_differs(schema: &OutputSchema, data: &Value) -> Vec<String> {
    if schema.validator.is_valid(data) {
        return Vec::new();
    }
    if schema.is_explosive {
        // Looking for the places could take longer than the call.
        return vec!["the output does not fit the schema that the tool declares for it".into()];
    }
    let mut errors = schema.validator.iter_errors(data);
    let mut warnings: Vec<String> = errors.by_ref().take(MOST).map(|error| said(&error)).collect();
    if errors.next().is_some() {
        warnings.push("the output differs from its declared schema at further places".into());
    }
    warnings
}

/// Names the place and the rule. The value itself is in the output, and what is long or secret is not said twice.
fn said(error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Error;
    let path = error.instance_path().to_string();
    let at = if path.is_empty() { "the output".to_owned() } else { format!("the output's `{}`", excerpt(&path, LONG)) };
    match error.kind() {
        Error::Required { property } => {
            format!("{at} lacks `{}`, which the tool declares", excerpt(property.as_str().unwrap_or_default(), LONG))
        }
        Error::AdditionalProperties { unexpected } | Error::UnevaluatedProperties { unexpected } => {
            format!("{at} has `{}`, which the tool does not declare", excerpt(&unexpected.join("`, `"), LONG))
        }
        Error::Type { .. } => format!("{at} is {}, which the tool does not declare", kind(error.instance())),
        other => format!("{at} does not fit `{}` of the schema that the tool declares", excerpt(other.keyword(), LONG)),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tool;
    use serde_json::json;
    use std::path::Path;

    fn check(declared: &str, data: Value, expect: &[&str]) {
        let manifest = format!(
            "[tool]\nname = \"t\"\nversion = \"1.0.0\"\ndescription = \"d\"\ninput_schema = {{ type = \"object\" }}\n\
             {declared}\n[tool.permissions]\nrequired_roles = [\"Builder\"]\nrisk_level = \"low\"\n\
             [tool.backend]\ntype = \"custom\"\nadapter = \"a\"\n"
        );
        let tool = tool::parse(Path::new("t.toml"), &manifest, &tool::Surroundings::default()).unwrap();
        assert_eq!(differences(&tool, &data), expect, "{data}");
    }

    #[test]
    fn facts_that_are_listed_are_looked_for() {
        let two = "outputs = [{ name = \"n\", type = \"integer\" }, { name = \"s\", type = \"string\" }]";
        check(two, json!({ "n": 1, "s": "x", "more": true }), &[]);
        check(
            two,
            json!({ "n": 1.5 }),
            &[
                "the output's `n` is a number; the tool declares an integer",
                "the output lacks `s`, which the tool declares",
            ],
        );
    }

    #[test]
    fn a_schema_names_each_place_and_no_value() {
        let schema = "output_schema = { type = \"object\", required = [\"rows\"], additionalProperties = false, \
                      properties = { rows = { type = \"array\", items = { type = \"object\", required = [\"id\"], \
                      properties = { id = { type = \"integer\" }, name = { maxLength = 3 } } } } } }";
        check(schema, json!({ "rows": [{ "id": 1, "name": "abc" }] }), &[]);
        check(schema, json!({}), &["the output lacks `rows`, which the tool declares"]);
        check(schema, json!("text"), &["the output is a string, which the tool does not declare"]);
        check(
            schema,
            json!({ "rows": [{ "id": "ghp_secret" }] }),
            &["the output's `/rows/0/id` is a string, which the tool does not declare"],
        );
        check(
            schema,
            json!({ "rows": [{ "id": 1, "name": "abcd" }] }),
            &["the output's `/rows/0/name` does not fit `maxLength` of the schema that the tool declares"],
        );
        check(schema, json!({ "rows": [], "x": 1 }), &["the output has `x`, which the tool does not declare"]);
    }

    #[test]
    fn many_differences_are_not_all_said() {
        let schema = "output_schema = { items = { type = \"integer\" } }";
        let warnings = {
            let mut expect: Vec<String> = (0..MOST)
                .map(|n| format!("the output's `/{n}` is a string, which the tool does not declare"))
                .collect();
            expect.push("the output differs from its declared schema at further places".into());
            expect
        };
        let expect: Vec<&str> = warnings.iter().map(String::as_str).collect();
        check(schema, json!(vec!["x"; 100]), &expect);
    }
}
