//! What does a call act on? Reads the argument that the manifest names, by the syntax that it declares. Pure.

pub mod path;

use crate::call::Judged;
use crate::registry::Tool;
use crate::registry::manifest::{Effect, TargetSyntax};
use serde_json::Value;

/// One thing that a call acts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A place beneath a grant.
    Granted(String),
    /// A place that no tool may touch, though a grant surrounds it.
    Protected(String),
    /// A path beneath no grant.
    OutOfBounds(String),
    /// A name without structure.
    Name(String),
    /// Something that cannot be read as what it should be.
    Unreadable(String),
}

impl Target {
    /// The target as text, for records.
    pub fn text(&self) -> &str {
        match self {
            Target::Granted(text)
            | Target::Protected(text)
            | Target::OutOfBounds(text)
            | Target::Name(text)
            | Target::Unreadable(text) => text,
        }
    }
}

/// What the arguments of a call act on; empty for a tool that declares no target.
pub fn of(tool: &Tool, judged: &Judged, places: &path::Places) -> Vec<Target> {
    let Some(target) = &tool.target else { return Vec::new() };
    let argument = judged.value.get(&target.argument);
    let texts = match argument {
        Some(Value::String(text)) => vec![text.as_str()],
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect()
        }
        None | Some(Value::Null) => return Vec::new(),
        Some(other) => return vec![Target::Unreadable(other.to_string())],
    };
    texts.into_iter().map(|text| read(target.syntax, text, places, tool.effect.kind != Effect::Read)).collect()
}

fn read(syntax: TargetSyntax, text: &str, places: &path::Places, changes: bool) -> Target {
    match syntax {
        TargetSyntax::Path => places.locate(text, changes),
        TargetSyntax::Name => Target::Name(text.to_owned()),
    }
}
