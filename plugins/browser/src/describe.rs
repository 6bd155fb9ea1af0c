//! What does this component say about itself? The tools with the schemas of their arguments.
//!
//! The manifests in `tools/` are what counts at run time; a test keeps the schemas here equal to them.

use crate::bindings::exports::hermes::tool::tool_execution::Description;
use crate::bindings::hermes::tool::types::ToolDescription;

/// Name, description and schema of each tool.
const TOOLS: [(&str, &str, &str); 12] = [
    (
        "browser_navigate",
        "Go to an address in a real browser and wait until the page is there",
        include_str!("schema/browser_navigate.json"),
    ),
    (
        "browser_back",
        "Go back, or forward, in a tab's history and wait until the page is there",
        include_str!("schema/browser_back.json"),
    ),
    ("browser_snapshot", "What a page shows, as an outline", include_str!("schema/browser_snapshot.json")),
    ("browser_screenshot", "A picture of a page as PNG", include_str!("schema/browser_screenshot.json")),
    (
        "browser_click",
        "Press an element of a page, and wait for what that leads to",
        include_str!("schema/browser_click.json"),
    ),
    (
        "browser_type",
        "Type a text into a field, in place of what is there, and wait for what that leads to",
        include_str!("schema/browser_type.json"),
    ),
    (
        "browser_select",
        "Choose options of a list, by value or by what they say",
        include_str!("schema/browser_select.json"),
    ),
    ("browser_press", "Press a key, on an element or where the focus is", include_str!("schema/browser_press.json")),
    (
        "browser_wait",
        "Wait until a page shows a text, or does not show it any more, or for some seconds",
        include_str!("schema/browser_wait.json"),
    ),
    (
        "browser_evaluate",
        "Run a script in a page, as one of the page's own, and get what it returns as JSON",
        include_str!("schema/browser_evaluate.json"),
    ),
    ("browser_tabs", "List the open tabs, or make one the current one", include_str!("schema/browser_tabs.json")),
    ("browser_close", "Close a tab, or the whole session with its cookies", include_str!("schema/browser_close.json")),
];

/// The adapter and its tools.
pub(crate) fn description() -> Description {
    let tool = |(name, description, schema): (&str, &str, &str)| ToolDescription {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: schema.trim_end().to_owned(),
    };
    Description {
        name: "browser".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tools: TOOLS.into_iter().map(tool).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    const MANIFESTS: [(&str, &str); 12] = [
        ("browser_navigate", include_str!("../tools/browser_navigate.toml")),
        ("browser_back", include_str!("../tools/browser_back.toml")),
        ("browser_snapshot", include_str!("../tools/browser_snapshot.toml")),
        ("browser_screenshot", include_str!("../tools/browser_screenshot.toml")),
        ("browser_click", include_str!("../tools/browser_click.toml")),
        ("browser_type", include_str!("../tools/browser_type.toml")),
        ("browser_select", include_str!("../tools/browser_select.toml")),
        ("browser_press", include_str!("../tools/browser_press.toml")),
        ("browser_wait", include_str!("../tools/browser_wait.toml")),
        ("browser_evaluate", include_str!("../tools/browser_evaluate.toml")),
        ("browser_tabs", include_str!("../tools/browser_tabs.toml")),
        ("browser_close", include_str!("../tools/browser_close.toml")),
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
        for (name, _, described) in TOOLS {
            let (_, manifest) = MANIFESTS.into_iter().find(|(manifest, _)| *manifest == name).unwrap();
            let expect = schema(manifest);
            let described: Value = serde_json::from_str(described).unwrap();
            assert_eq!(described, expect, "src/schema/{name}.json should be:\n{expect}");
        }
    }
}
