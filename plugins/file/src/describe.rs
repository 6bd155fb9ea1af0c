//! What does this component say about itself? The tools with the schemas of their arguments.
//!
//! The manifests in `tools/` are what counts at run time; a test keeps the schemas here equal to them.

use crate::bindings::exports::hermes::tool::tool_execution::Description;
use crate::bindings::hermes::tool::types::ToolDescription;

/// Name, description and schema of each tool.
const TOOLS: [(&str, &str, &str); 4] = [
    ("file_read", "Read a file, whole or a range of it", include_str!("schema/file_read.json")),
    ("file_write", "Create, overwrite, extend a file or replace text in it", include_str!("schema/file_write.json")),
    ("file_search", "Search a directory tree for text or names", include_str!("schema/file_search.json")),
    ("file_list", "List a directory", include_str!("schema/file_list.json")),
];

/// The adapter and its tools.
pub(crate) fn description() -> Description {
    let tool = |(name, description, schema): (&str, &str, &str)| ToolDescription {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: schema.trim_end().to_owned(),
    };
    Description {
        name: "file".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tools: TOOLS.into_iter().map(tool).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    const MANIFESTS: [(&str, &str); 4] = [
        ("file_read", include_str!("../tools/file_read.toml")),
        ("file_write", include_str!("../tools/file_write.toml")),
        ("file_search", include_str!("../tools/file_search.toml")),
        ("file_list", include_str!("../tools/file_list.toml")),
    ];

    /// The JSON Schema of the inputs of a manifest.
    fn schema(manifest: &str) -> Value {
        let manifest: toml::Table = toml::from_str(manifest).unwrap();
        let inputs = serde_json::to_value(&manifest["tool"]["inputs"]).unwrap();
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for input in inputs.as_array().unwrap() {
            let kind = if input["type"] == "enum" { json!("string") } else { input["type"].clone() };
            let mut property = json!({"type": kind, "description": input["description"]});
            for (key, value) in [
                ("default", &input["default"]),
                ("enum", &input["allowed_values"]),
                ("minimum", &input["range"][0]),
                ("maximum", &input["range"][1]),
                ("maxLength", &input["validation"]["max_length"]),
                ("pattern", &input["validation"]["pattern"]),
            ] {
                if !value.is_null() {
                    property[key] = value.clone();
                }
            }
            properties.insert(input["name"].as_str().unwrap().to_owned(), property);
            if input["required"] == true {
                required.push(input["name"].clone());
            }
        }
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    #[test]
    fn schemas_are_those_of_the_manifests() {
        for (name, _, described) in TOOLS {
            let (_, manifest) = MANIFESTS.into_iter().find(|(manifest, _)| *manifest == name).unwrap();
            let expect = schema(manifest);
            let described: Value = serde_json::from_str(described).unwrap();
            assert_eq!(described, expect, "src/schema/{name}.json should be:\n{expect}");
        }
    }

    #[test]
    fn arguments_are_those_of_the_manifests() {
        let check = |tool: &str, refusal: Option<serde_json::Error>| {
            let refusal = refusal.unwrap().to_string();
            let known: Vec<&str> = refusal.split('`').skip(3).step_by(2).collect();
            let (.., schema) = TOOLS.into_iter().find(|(name, ..)| *name == tool).unwrap();
            let schema: Value = serde_json::from_str(schema).unwrap();
            let mut expect: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            let mut known = known;
            known.sort_unstable();
            expect.sort_unstable();
            assert_eq!(known, expect, "{tool}");
        };
        // serde names all fields it knows when it meets another one.
        let other = r#"{"other": 1}"#;
        check("file_read", serde_json::from_str::<crate::read::Arguments>(other).err());
        check("file_write", serde_json::from_str::<crate::write::Arguments>(other).err());
        check("file_search", serde_json::from_str::<crate::search::Arguments>(other).err());
        check("file_list", serde_json::from_str::<crate::list::Arguments>(other).err());
    }
}
