//! Step 6 of 7: what of the output does the caller get, in which shape?

pub mod query;
pub mod relevance;
pub mod secret;
pub mod truncate;

use crate::document::excerpt;
use crate::envelope::Truncation;
use crate::registry::Tool;
use crate::registry::manifest::{InputType, OutputField};
use crate::registry::running::Backend;
use crate::sandbox::{Content, Output};
use serde_json::{Map, Value, json};
use truncate::Measure;

/// Bytes of an output that is shown raw when it cannot be shaped.
const RAW: usize = 4096;

/// What a component says about its answer gets this part of the answer's budget.
const METADATA_SHARE: u32 = 8;

/// An output, shaped for a caller.
#[derive(Clone, Debug, Default)]
pub struct Shaped {
    /// The result itself.
    pub data: Value,
    /// What was left out.
    pub truncation: Option<Truncation>,
    /// What the component says about how it made the answer.
    pub tool_metadata: Map<String, Value>,
    /// What the reader should know before using the answer.
    pub warnings: Vec<String>,
}

/// Shapes what a component returned. Never fails: what cannot be shaped is shown raw, with a warning.
///
/// An object of facts with one text gets the text under the key `text`; with other or more contents it gets them under
/// `content`. Without facts, one text is the data itself.
pub fn shape(tool: &Tool, backend: &Backend, output: Output, measure: Measure<'_>) -> Shaped {
    let mut shaped = Shaped::default();
    let mut facts = output.data.and_then(|text| object("data", &text, &mut shaped.warnings));
    if let Some(template) = &backend.result {
        facts = facts.map(|found| template.fill_facts(found));
    }
    shaped.tool_metadata =
        output.metadata.and_then(|text| object("metadata", &text, &mut shaped.warnings)).unwrap_or_default();
    shaped.data = merge(facts, output.content, &mut shaped.warnings);
    shaped.warnings.extend(tool.outputs.iter().filter_map(|field| undeclared(field, &shaped.data)));
    shaped.truncation = truncate::truncate(&mut shaped.data, measure);
    let mut notes = Value::Object(std::mem::take(&mut shaped.tool_metadata));
    let share = Measure { budget_tokens: measure.budget_tokens / METADATA_SHARE, ..measure };
    if truncate::truncate(&mut notes, share).is_some() {
        shaped.warnings.push("what the component says about its answer is cut".into());
    }
    if let Value::Object(notes) = notes {
        shaped.tool_metadata = notes;
    }
    shaped
}

fn object(what: &str, text: &str, warnings: &mut Vec<String>) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Some(object),
        Ok(_) | Err(_) => {
            warnings.push(format!("the component's {what} is no JSON object; it is shown raw"));
            Some(Map::from_iter([("raw".to_owned(), Value::String(excerpt(text, RAW)))]))
        }
    }
}

fn merge(facts: Option<Map<String, Value>>, mut content: Vec<Content>, warnings: &mut Vec<String>) -> Value {
    match (facts, content.len()) {
        (None, 0) => Value::Null,
        (None, 1) => content.pop().map_or(Value::Null, |content| alone(content, warnings)),
        (None, _) => json!({ "content": blocks(content, warnings) }),
        (Some(facts), 0) => Value::Object(facts),
        (Some(mut facts), 1) if !facts.contains_key("text") && matches!(content[0], Content::Text(_)) => {
            if let Some(Content::Text(text)) = content.pop() {
                facts.insert("text".to_owned(), Value::String(text));
            }
            Value::Object(facts)
        }
        (Some(mut facts), _) => {
            facts.insert("content".to_owned(), Value::Array(blocks(content, warnings)));
            Value::Object(facts)
        }
    }
}

fn alone(content: Content, warnings: &mut Vec<String>) -> Value {
    match content {
        Content::Text(text) => Value::String(text),
        Content::Json(text) => parse_or_raw(text, warnings),
        other => json!({ "content": blocks(vec![other], warnings) }),
    }
}

fn blocks(content: Vec<Content>, warnings: &mut Vec<String>) -> Vec<Value> {
    content
        .into_iter()
        .map(|block| match block {
            Content::Text(text) => json!({ "type": "text", "text": text }),
            Content::Json(text) => json!({ "type": "json", "json": parse_or_raw(text, warnings) }),
            Content::Binary(blob) => {
                json!({ "type": "binary", "media_type": blob.media_type, "bytes": blob.data.len(), "base64": base64(&blob.data) })
            }
            Content::Link(link) => json!({
                "type": "link", "uri": link.uri, "name": link.name,
                "media_type": link.media_type, "description": link.description,
            }),
        })
        .collect()
}

fn parse_or_raw(text: String, warnings: &mut Vec<String>) -> Value {
    serde_json::from_str(&text).unwrap_or_else(|_| {
        warnings.push("a part of the output that says it is JSON is none; it is shown as text".into());
        Value::String(text)
    })
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A warning about a fact that the manifest declares and the output lacks or has in another type.
fn undeclared(field: &OutputField, data: &Value) -> Option<String> {
    let name = &field.name;
    let Some(value) = data.get(name) else {
        return Some(format!("the output lacks `{name}`, which the tool declares"));
    };
    let fits = match field.type_ {
        InputType::String | InputType::Enum => value.is_string(),
        InputType::Integer => value.is_i64() || value.is_u64(),
        InputType::Number => value.is_number(),
        InputType::Boolean => value.is_boolean(),
        InputType::Array => value.is_array(),
        InputType::Object => value.is_object(),
    };
    (!fits).then(|| format!("the output's `{name}` is not of the type that the tool declares"))
}
