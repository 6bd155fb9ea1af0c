//! Step 6 of 7: what of the output does the caller get, in which shape?

mod declared;
pub mod fence;
pub mod query;
pub mod read;
pub mod relevance;
pub mod secret;
pub mod truncate;
pub mod tune;

use crate::document::excerpt;
use crate::envelope::Truncation;
use crate::registry::Tool;
use crate::registry::running::Backend;
use crate::sandbox::{Content, Output};
use secret::Masks;
use serde_json::{Map, Value, json};
use truncate::{Cut, Measure};

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
    /// The whole result, masked, if something was left out.
    pub whole: Option<Value>,
    /// Masks that were made.
    pub masks: usize,
    /// Texts that imitate instructions and stand between marks.
    pub fences: usize,
    /// What the component says about how it made the answer.
    pub tool_metadata: Map<String, Value>,
    /// What the reader should know before using the answer.
    pub warnings: Vec<String>,
}

/// By what a result is shaped.
#[derive(Clone, Copy, Debug)]
pub struct Shaping<'a> {
    /// How much of it there may be, and for whom.
    pub measure: Measure<'a>,
    /// What is secret.
    pub masks: &'a Masks,
    /// Whether it is only what there was before a failure, so that nothing is missed in it.
    pub is_part: bool,
    /// Whether it came from outside the runtime.
    pub untrusted: bool,
    /// The call's id, which the marks around imitated instructions are made of.
    pub call_id: &'a str,
}

/// Shapes what a component returned. Never fails: what cannot be shaped is shown raw, with a warning.
///
/// An object of facts with one text gets the text under the key `text`; with other or more contents it gets them under
/// `content`. Without facts, one text is the data itself.
pub fn shape(tool: &Tool, backend: &Backend, output: Output, shaping: Shaping<'_>) -> Shaped {
    let Shaping { measure, masks, .. } = shaping;
    let mut shaped = Shaped::default();
    let mut facts = output.data.and_then(|text| object("data", &text, &mut shaped.warnings));
    if let Some(template) = &backend.result {
        facts = facts.map(|found| template.fill_facts(found));
    }
    shaped.tool_metadata =
        output.metadata.and_then(|text| object("metadata", &text, &mut shaped.warnings)).unwrap_or_default();
    shaped.data = merge(facts, output.content, &mut shaped.warnings);
    if !shaping.is_part {
        shaped.warnings.extend(declared::differences(tool, &shaped.data));
    }
    shaped.masks = masks.value(&mut shaped.data);
    if let Some(Cut { truncation, whole }) = truncate::truncate(&mut shaped.data, measure) {
        shaped.truncation = Some(truncation);
        shaped.whole = Some(whole);
    }
    shaped.shape_notes(shaping);
    if shaping.untrusted || shaped.says_untrusted() {
        shaped.fences = fence::fence(&mut shaped.data, shaping.call_id)
            + shaped.tool_metadata.values_mut().map(|note| fence::fence(note, shaping.call_id)).sum::<usize>()
            + shaped.warnings.iter_mut().map(|warning| fence_text(warning, shaping.call_id)).sum::<usize>();
    }
    shaped
}

/// A warning names keys of the output, which whoever wrote it chose.
fn fence_text(text: &mut String, call_id: &str) -> usize {
    let mut value = Value::String(std::mem::take(text));
    let fences = fence::fence(&mut value, call_id);
    if let Value::String(fenced) = value {
        *text = fenced;
    }
    fences
}

impl Shaped {
    /// Whether the output itself says that it came from outside. It can raise the mark and never take it away.
    pub fn says_untrusted(&self) -> bool {
        self.data.get("untrusted") == Some(&Value::Bool(true))
    }

    /// What the component says about its answer, masked and cut.
    fn shape_notes(&mut self, shaping: Shaping<'_>) {
        let mut notes = Value::Object(std::mem::take(&mut self.tool_metadata));
        self.masks += shaping.masks.value(&mut notes);
        let budget_tokens = shaping.measure.budget_tokens / METADATA_SHARE;
        if truncate::truncate(&mut notes, Measure { budget_tokens, ..shaping.measure }).is_some() {
            self.warnings.push("what the component says about its answer is cut".into());
        }
        if let Value::Object(notes) = notes {
            self.tool_metadata = notes;
        }
        for warning in &mut self.warnings {
            let (masked, count) = shaping.masks.text(warning);
            self.masks += count;
            *warning = masked.into_owned();
        }
    }
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
