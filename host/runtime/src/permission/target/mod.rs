//! What does a call act on? Reads the argument that the manifest names, by the syntax that it declares. Pure.

pub mod command;
pub mod path;
mod shell;

use crate::call::Judged;
use crate::registry::Tool;
use crate::registry::manifest::{Effect, Target as Declared, TargetSyntax};
use command::Command;
use serde_json::Value;
use shell::Word;

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
    /// A command that is run.
    Command {
        /// On one line, by its plain name.
        text: String,
        /// Whether its form is one of those that only read.
        read_only: bool,
    },
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
            | Target::Command { text, .. }
            | Target::Unreadable(text) => text,
        }
    }
}

/// What a call does to what it acts on: what its tool does, or for a tool whose effect depends on the target, nothing
/// if every command only reads, and anything otherwise.
pub fn effect(tool: &Tool, targets: &[Target]) -> Effect {
    let only_reads = |target: &Target| matches!(target, Target::Command { read_only: true, .. });
    match tool.read_only.is_some() && !targets.is_empty() && targets.iter().all(only_reads) {
        true => Effect::Read,
        false => tool.effect.kind,
    }
}

/// What the arguments of a call act on; empty for a tool that declares no target.
pub fn of(tool: &Tool, judged: &Judged, places: &path::Places) -> Vec<Target> {
    tool.targets.iter().flat_map(|target| of_one(tool, target, judged, places)).collect()
}

fn of_one(tool: &Tool, target: &Declared, judged: &Judged, places: &path::Places) -> Vec<Target> {
    if target.syntax == TargetSyntax::Argv {
        return commands(tool, words(target, &judged.value).and_then(command::of_words), places);
    }
    let argument = judged.value.get(&target.argument);
    let texts = match argument {
        Some(Value::String(text)) => vec![text.as_str()],
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect()
        }
        None | Some(Value::Null) => return Vec::new(),
        Some(other) => return vec![Target::Unreadable(other.to_string())],
    };
    texts.into_iter().flat_map(|text| read(tool, target.syntax, text, places)).collect()
}

fn read(tool: &Tool, syntax: TargetSyntax, text: &str, places: &path::Places) -> Vec<Target> {
    match syntax {
        TargetSyntax::Path => vec![places.locate(text, tool.effect.kind != Effect::Read)],
        TargetSyntax::Name => vec![Target::Name(text.to_owned())],
        // Nobody reads these yet, and what is not read is not harmless.
        TargetSyntax::Url | TargetSyntax::Sql => vec![Target::Unreadable(text.to_owned())],
        TargetSyntax::Shell | TargetSyntax::Argv => commands(tool, command::of_text(text, 0), places),
    }
}

/// The words of a program's line: those that the manifest puts first, then those of the argument.
fn words(target: &Declared, args: &Value) -> Result<Vec<Word>, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| "an argument is no text".to_owned());
    let mut words = Vec::new();
    for word in &target.before {
        let name = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        words.push(match name {
            Some(name) => text(args.get(name).unwrap_or(&Value::Null))?,
            None => word.clone(),
        });
    }
    match args.get(&target.argument) {
        Some(Value::Array(items)) => words.extend(items.iter().map(text).collect::<Result<Vec<_>, _>>()?),
        Some(value @ Value::String(_)) => words.push(text(value)?),
        Some(Value::Null) | None => {}
        Some(_) => return Err("the arguments are no list of texts".into()),
    }
    Ok(words.into_iter().map(|text| Word { text, expands: false }).collect())
}

fn commands(tool: &Tool, found: Result<Vec<Command>, String>, places: &path::Places) -> Vec<Target> {
    let found = match found {
        Ok(found) => found,
        Err(why) => return vec![Target::Unreadable(format!("what cannot be judged: {why}"))],
    };
    let protected = found.iter().filter_map(|command| revision_of_protected(command, places));
    let protected: Vec<Target> = protected.map(Target::Protected).collect();
    let target = |command: &Command| Target::Command {
        text: command.text(),
        read_only: tool.read_only.as_ref().is_some_and(|forms| command.is_one_of(forms)),
    };
    protected.into_iter().chain(found.iter().map(target)).collect()
}

/// A place that is kept from tools, named as git names an old version of it. What is on disk is covered when a program
/// runs; what is in git's own store is not.
fn revision_of_protected(command: &Command, places: &path::Places) -> Option<String> {
    let paths = command.revisions();
    paths
        .map(|path| format!("{}/{path}", path::WORKSPACE))
        .find(|path| matches!(places.locate(path, false), Target::Protected(_)))
}
