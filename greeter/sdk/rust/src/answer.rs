//! What does a tool answer with? Facts as JSON, and content in the order in which a reader should meet it.

use crate::bindings::exports::hermes::tool::tool_execution::Output;
use crate::bindings::hermes::tool::types::{Blob, Content, Link};
use crate::failure::{Failure, Kind, Result};
use serde::Serialize;
use serde_json::{Map, Value};

/// What a tool answers with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Facts: one JSON object, under whose keys a caller looks.
    pub facts: Option<Map<String, Value>>,
    /// The parts of the answer.
    pub parts: Vec<Part>,
    /// How the answer was made: what was skipped, what was cut, and why.
    pub notes: Option<Map<String, Value>>,
}

/// One part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text; the runtime cuts it on line borders.
    Text(String),
    /// JSON; it stays valid when it is cut.
    Json(Value),
    /// Bytes with a media type.
    Bytes(Vec<u8>, String),
    /// Where something can be read, and a name for it.
    Link(String, String),
}

impl Answer {
    /// An answer of one text.
    pub fn text(text: impl Into<String>) -> Answer {
        Answer { parts: vec![Part::Text(text.into())], ..Answer::default() }
    }

    /// With one more part.
    pub fn part(mut self, part: Part) -> Answer {
        self.parts.push(part);
        self
    }

    /// With a fact about how it was made.
    pub fn note(mut self, key: &str, value: impl Into<Value>) -> Answer {
        self.notes.get_or_insert_default().insert(key.to_owned(), value.into());
        self
    }
}

/// What a tool may return: an [`Answer`], or anything that serde can serialise, or a `Result` of one of them.
///
/// An object becomes the answer's facts, everything else its content.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a tool can return",
    label = "this is returned by a tool",
    note = "return something that serde can serialise (`#[derive(serde::Serialize)]`), an `Answer`, or a `Result` of one"
)]
pub trait IntoAnswer {
    /// The answer.
    fn into_answer(self) -> Result<Answer>;
}

impl<T: Serialize> IntoAnswer for T {
    fn into_answer(self) -> Result<Answer> {
        let value = serde_json::to_value(self).map_err(|error| {
            Failure::new(Kind::ToolFailed, format!("the answer cannot be written as JSON: {error}"))
        })?;
        Ok(match value {
            Value::Object(facts) => Answer { facts: Some(facts), ..Answer::default() },
            Value::String(text) => Answer::text(text),
            Value::Null => Answer::default(),
            other => Answer { parts: vec![Part::Json(other)], ..Answer::default() },
        })
    }
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Result<Answer> {
        Ok(self)
    }
}

impl From<Answer> for Output {
    fn from(answer: Answer) -> Output {
        let object = |object: Map<String, Value>| Value::Object(object).to_string();
        let content = |part: Part| match part {
            Part::Text(text) => Content::Text(text),
            Part::Json(value) => Content::Json(value.to_string()),
            Part::Bytes(data, media_type) => Content::Binary(Blob { data, media_type }),
            Part::Link(uri, name) => Content::Link(Link { uri, name, media_type: None, description: None }),
        };
        Output {
            data: answer.facts.map(object),
            content: answer.parts.into_iter().map(content).collect(),
            metadata: answer.notes.map(object),
        }
    }
}
