//! What are the parts of a server's answer? Each block of content in the contract's terms; one that nobody knows is kept
//! as it is, and said.

use crate::bindings::exports::hermes::tool::tool_execution::Output;
use crate::bindings::hermes::tool::types::{Blob, Content, Link};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The parts of an answer, and what a reader should know about them.
#[derive(Default)]
pub(crate) struct Blocks {
    pub(crate) content: Vec<Content>,
    pub(crate) notes: Vec<String>,
}

impl Blocks {
    /// Reads the blocks of a list. What is no list is one block.
    pub(crate) fn of(content: Option<&Value>) -> Blocks {
        let mut blocks = Blocks::default();
        match content {
            Some(Value::Array(list)) => list.iter().for_each(|block| blocks.add(block)),
            None | Some(Value::Null) => {}
            Some(other) => blocks.unknown(other, "the content is no list"),
        }
        blocks
    }

    fn add(&mut self, block: &Value) {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") if text("text").is_some() => self.content.extend(text("text").map(part)),
            Some("image" | "audio") => self.bytes(block, text("data"), text("mimeType")),
            Some("resource_link") if text("uri").is_some() => {
                self.content.push(Content::Link(Link {
                    uri: text("uri").unwrap_or_default().to_owned(),
                    name: text("title").or(text("name")).unwrap_or_default().to_owned(),
                    media_type: text("mimeType").map(str::to_owned),
                    description: text("description").map(str::to_owned),
                }));
            }
            // A resource keeps its address only as the protocol writes it.
            Some("resource") => self.content.push(Content::Json(block.to_string())),
            Some(kind) => self.unknown(block, &format!("a part of the kind `{kind}` is passed on as it came")),
            None => self.unknown(block, "a part that does not say its kind is passed on as it came"),
        }
    }

    /// One content of a resource: text, or bytes in base64.
    pub(crate) fn resource(&mut self, resource: &Value) {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        match (text("text"), text("blob")) {
            (Some(words), _) => self.content.push(part(words)),
            (None, Some(data)) => self.bytes(resource, Some(data), text("mimeType")),
            (None, None) => self.unknown(resource, "a resource without content is passed on as it came"),
        }
    }

    fn bytes(&mut self, block: &Value, data: Option<&str>, media_type: Option<&str>) {
        match data.and_then(|data| STANDARD.decode(data).ok()) {
            Some(data) => {
                let media_type = media_type.unwrap_or("application/octet-stream").to_owned();
                self.content.push(Content::Binary(Blob { data, media_type }));
            }
            None => self.unknown(block, "a part whose bytes are no base64 is passed on as it came"),
        }
    }

    fn unknown(&mut self, block: &Value, note: &str) {
        self.content.push(Content::Json(block.to_string()));
        self.notes.push(note.to_owned());
    }

    /// All texts, one below the other.
    pub(crate) fn text(&self) -> String {
        let text = |content: &Content| match content {
            Content::Text(text) => Some(text.clone()),
            Content::Json(_) | Content::Binary(_) | Content::Link(_) => None,
        };
        self.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }

    /// The parts as an output with these facts.
    pub(crate) fn output(self, data: Option<Value>) -> Output {
        let metadata = (!self.notes.is_empty()).then(|| serde_json::json!({ "notes": self.notes }).to_string());
        Output { data: data.map(|data| data.to_string()), content: self.content, metadata }
    }
}

fn part(text: &str) -> Content {
    Content::Text(text.to_owned())
}
