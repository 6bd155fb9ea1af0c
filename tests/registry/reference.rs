//! Does the guide say of manifests what the types say? The reference is made from them, as text.

use crate::support::house::project;
use hermes_runtime::adapter::plugin;
use hermes_runtime::registry::published;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;

const HEAD: &str = "# All fields of manifests\n\n\
    Made from the types that read them, by `UPDATE=1 cargo nextest run --workspace -E 'test(reference_of_manifests)'`. A field in \
    bold has to be there. An unknown key is a fault.\n";

/// Writes one table of a schema, and then those that it refers to and that were not written yet.
fn table(root: &Value, title: &str, schema: &Value, written: &mut BTreeSet<String>, text: &mut String) {
    let _ = write!(text, "\n## {title}\n");
    if let Some(what) = schema["description"].as_str().filter(|_| !title.contains(".toml")) {
        let _ = write!(text, "\n{}\n", cell(what));
    }
    let _ = write!(text, "\n| field | type | what it says |\n| --- | --- | --- |\n");
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut further = Vec::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let shown = if required.contains(&name.as_str()) { format!("**`{name}`**") } else { format!("`{name}`") };
        let type_ = type_of(root, property, &mut further);
        let mut what = cell(property["description"].as_str().unwrap_or_default());
        if let Some(default) = property.get("default").filter(|default| is_told(default)) {
            let _ = write!(what, " Without it: `{default}`.");
        }
        let _ = writeln!(text, "| {shown} | {type_} | {what} |");
    }
    for name in further {
        if written.insert(name.clone()) {
            table(root, &words(&name), &root["$defs"][&name], written, text);
        }
    }
}

/// Whether a default says more than that there is nothing.
fn is_told(default: &Value) -> bool {
    match default {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn type_of(root: &Value, schema: &Value, further: &mut Vec<String>) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        let meant = &root["$defs"][name];
        if meant.get("properties").is_some() {
            further.push(name.to_owned());
            return format!("[table](#{})", words(name).to_lowercase().replace(' ', "-"));
        }
        return type_of(root, meant, further);
    }
    if let Some(value) = schema.get("const") {
        return match schema["description"].as_str() {
            Some(what) => format!("`{value}` ({})", cell(what).trim_end_matches('.')),
            None => format!("`{value}`"),
        };
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    for union in ["oneOf", "anyOf"] {
        if let Some(parts) = schema[union].as_array() {
            let parts = parts.iter().filter(|part| part["type"] != "null");
            let mut parts: Vec<String> = parts.map(|part| type_of(root, part, further)).collect();
            parts.dedup();
            return parts.join(if union == "oneOf" { ", " } else { " or " });
        }
    }
    let named = match &schema["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any"),
        _ => "any",
    };
    match named {
        "array" => format!("list of {}", type_of(root, &schema["items"], further)),
        "object" => match schema.get("additionalProperties").filter(|inner| inner.is_object()) {
            Some(inner) => format!("table of {}", type_of(root, inner, further)),
            None => "table".into(),
        },
        name => name.into(),
    }
}

/// A type's name as words.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.trim_end_matches("Manifest").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
            words.extend(letter.to_lowercase());
        } else {
            words.push(letter);
        }
    }
    words
}

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[test]
fn the_reference_of_manifests_is_made_from_their_types() {
    let mut text = HEAD.to_owned();
    let (adapter, tool) = (plugin::schema(), published::schema());
    let name = "ToolManifest";
    let mut written = BTreeSet::from([name.to_owned()]);
    table(adapter, "adapter.toml", adapter, &mut written, &mut text);
    table(tool, "tools/NAME.toml, the table `tool`", &tool["$defs"][name], &mut written, &mut text);
    for word in ["**`component`**", "`profile`", "**`required_roles`**", "`grace_ms`", "`max_retries`", "`fuel`"] {
        let plain = word.trim_matches('*');
        assert!(text.contains(plain), "nothing of {word}");
    }
    let file = project().join("sdk/guide/src/manifest-reference.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == text, "the reference is behind; the file's first lines say how it is made");
}
