//! What does this component say about itself? The tools with the schemas of their arguments.
//!
//! The manifests in `tools/` are what counts at run time; a test keeps the schemas here equal to them.

use crate::bindings::exports::hermes::tool::tool_execution::Description;
use crate::bindings::hermes::tool::types::ToolDescription;

/// Name, description and schema of each tool.
const TOOLS: [(&str, &str, &str); 4] = [
    ("terminal", "Run one command line", include_str!("schema/terminal.json")),
    ("git", "Run one git subcommand", include_str!("schema/git.json")),
    ("program", "Run a program by a template of words", include_str!("schema/program.json")),
    ("pytest", "Run a project's tests and report them as data", include_str!("schema/pytest.json")),
];

/// The adapter and its tools.
pub(crate) fn description() -> Description {
    let tool = |(name, description, schema): (&str, &str, &str)| ToolDescription {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: schema.trim_end().to_owned(),
    };
    Description {
        name: "cli".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tools: TOOLS.into_iter().map(tool).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    const MANIFESTS: [(&str, &str); 3] = [
        ("terminal", include_str!("../tools/terminal.toml")),
        ("git", include_str!("../tools/git.toml")),
        ("pytest", include_str!("../tools/pytest.toml")),
    ];

    /// The JSON Schema of the inputs of a manifest.
    fn schema(manifest: &str) -> Value {
        let manifest: toml::Table = toml::from_str(manifest).unwrap();
        let inputs = serde_json::to_value(&manifest["tool"]["inputs"]).unwrap();
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for input in inputs.as_array().unwrap() {
            let is_array = input["type"] == "array";
            let mut property = json!({"type": input["type"], "description": input["description"]});
            let rules = &input["validation"];
            let items = if is_array { json!({"type": input["items"]}) } else { Value::Null };
            for (key, value) in [
                ("default", &input["default"]),
                ("items", &items),
                ("minimum", &input["range"][0]),
                ("maximum", &input["range"][1]),
                (if is_array { "minItems" } else { "minLength" }, &rules["min_length"]),
                (if is_array { "maxItems" } else { "maxLength" }, &rules["max_length"]),
                ("pattern", &rules["pattern"]),
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
        // `program` is the backend of manifests that declare their own arguments.
        for (name, _, described) in TOOLS.into_iter().filter(|(name, ..)| *name != "program") {
            let (_, manifest) = MANIFESTS.into_iter().find(|(manifest, _)| *manifest == name).unwrap();
            let expect = schema(manifest);
            let described: Value = serde_json::from_str(described).unwrap();
            assert_eq!(described, expect, "src/schema/{name}.json should be:\n{expect}");
        }
    }
}
