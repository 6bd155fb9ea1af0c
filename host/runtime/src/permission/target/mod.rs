//! What does a call act on? Reads the argument that the manifest names, by the syntax that it declares. Pure.

pub mod command;
mod git;
mod named;
pub mod path;
mod shell;
mod sql;
pub mod url;

use crate::address::{Host, Reach};
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
    /// A place on the network.
    Url {
        /// In normal form.
        text: String,
        /// Its host, in the form in which it is looked up.
        host: String,
        /// Its port, if one is known.
        port: Option<u16>,
        /// Whether the host, as it stands there, is one of this machine or its network.
        private: bool,
    },
    /// A URL that leads to no host of the network.
    ForbiddenUrl(String),
    /// A statement of SQL.
    Statement {
        /// In normal form.
        text: String,
        /// Its first word, in small letters.
        verb: String,
        /// Every name that could be a table, in small letters.
        names: Vec<String>,
        /// Whether it only looks.
        reads: bool,
    },
    /// A command that is run.
    Command {
        /// On one line, by its plain name.
        text: String,
        /// Its words.
        command: Command,
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
            | Target::Url { text, .. }
            | Target::ForbiddenUrl(text)
            | Target::Statement { text, .. }
            | Target::Command { text, .. }
            | Target::Unreadable(text) => text,
        }
    }

    /// The syntax that it was read by, as a manifest names it.
    pub(super) fn syntax(&self) -> &'static str {
        match self {
            Target::Granted(_) | Target::Protected(_) | Target::OutOfBounds(_) => "path",
            Target::Name(_) => "name",
            Target::Url { .. } | Target::ForbiddenUrl(_) => "url",
            Target::Statement { .. } => "sql",
            Target::Command { .. } => "shell",
            Target::Unreadable(_) => "",
        }
    }

    /// All names by which it is known.
    pub(super) fn named(&self) -> Named {
        let one = |text: &str| vec![text.to_lowercase()];
        match self {
            Target::Granted(text) | Target::Protected(text) | Target::OutOfBounds(text) | Target::Name(text) => {
                Named { names: one(text), ..Named::default() }
            }
            Target::Url { text, host, .. } => {
                Named { names: vec![text.to_lowercase(), host.clone()], hosts: vec![host.clone()], ..Named::default() }
            }
            Target::Statement { verb, names, .. } => Named {
                names: names.clone(),
                tables: names.clone(),
                statements: vec![verb.clone()],
                ..Named::default()
            },
            Target::Command { command, .. } => {
                let programs = command.programs();
                let names = programs.iter().chain(&command.paths()).map(|name| name.to_lowercase()).collect();
                Named { names, programs, ..Named::default() }
            }
            Target::ForbiddenUrl(_) | Target::Unreadable(_) => Named::default(),
        }
    }
}

/// The names of a target: all in small letters, then those of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) names: Vec<String>,
    pub(super) hosts: Vec<String>,
    pub(super) tables: Vec<String>,
    pub(super) statements: Vec<String>,
    pub(super) programs: Vec<String>,
}

/// Whether a target lies beneath a grant, or is a command that sees nothing but grants, read-only.
pub(super) fn is_beneath_grants(target: &Target) -> bool {
    match target {
        Target::Granted(_) | Target::Command { read_only: true, .. } => true,
        Target::Protected(_)
        | Target::OutOfBounds(_)
        | Target::Name(_)
        | Target::Url { .. }
        | Target::ForbiddenUrl(_)
        | Target::Statement { .. }
        | Target::Command { .. }
        | Target::Unreadable(_) => false,
    }
}

/// Those of the targets that are URLs of hosts which are no public ones.
pub(super) fn private_urls(targets: &[Target]) -> Vec<String> {
    let url = |target: &Target| match target {
        Target::Url { text, private: true, .. } => Some(text.clone()),
        _ => None,
    };
    targets.iter().filter_map(url).collect()
}

/// An effect as policies and records name it.
pub(super) fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Destructive => "destructive",
    }
}

/// What a call does to what it acts on: what its tool does, or for a tool whose effect depends on the target, nothing
/// if there are commands or statements and every one only reads, and anything otherwise.
pub fn effect(tool: &Tool, targets: &[Target]) -> Effect {
    let reads = |target: &Target| match target {
        Target::Command { read_only, .. } => Some(*read_only),
        Target::Statement { reads, .. } => Some(*reads),
        Target::Unreadable(_) | Target::Url { .. } | Target::ForbiddenUrl(_) => Some(false),
        Target::Granted(_) | Target::Protected(_) | Target::OutOfBounds(_) | Target::Name(_) => None,
    };
    let mut reading = targets.iter().filter_map(reads).peekable();
    match tool.read_only.is_some() && reading.peek().is_some() && reading.all(|reads| reads) {
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
        let found = words(target, &judged.value).and_then(command::of_words);
        return commands(tool, found, |command| revision_of_protected(command, places));
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
        TargetSyntax::Url => vec![granted(url::read(text), places)],
        TargetSyntax::Sql => sql::read(text),
        TargetSyntax::Shell | TargetSyntax::Argv => {
            commands(tool, command::of_text(text, 0), |command| git::shows_protected(command, places))
        }
    }
}

/// A URL whose host is not public, but one that the operator lets tools reach, is as good as a public one.
fn granted(target: Target, places: &path::Places) -> Target {
    match target {
        Target::Url { text, host, port, private: true } => {
            let named = Host::parse(&host).zip(port);
            let reach = named.map(|(host, port)| places.hosts.reach(&host, port));
            Target::Url { text, host, port, private: reach != Some(Reach::Any) }
        }
        other => other,
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

/// `protected` names the place kept from tools that a command would show although it is covered.
fn commands(
    tool: &Tool,
    found: Result<Vec<Command>, String>,
    protected: impl Fn(&Command) -> Option<String>,
) -> Vec<Target> {
    let found = match found {
        Ok(found) => found,
        Err(why) => return vec![Target::Unreadable(format!("what cannot be judged: {why}"))],
    };
    let protected: Vec<Target> = found.iter().filter_map(protected).map(Target::Protected).collect();
    let target = |command: &Command| Target::Command {
        text: command.text(),
        command: command.clone(),
        read_only: tool.read_only.as_ref().is_some_and(|forms| command.is_one_of(forms)),
    };
    protected.into_iter().chain(found.iter().map(target)).collect()
}

/// A place that is kept from tools, named as git names an old version of it. What is on disk is covered when a program
/// runs; what is in git's own store is not. A tool with arguments of its own leaves out what is not named.
fn revision_of_protected(command: &Command, places: &path::Places) -> Option<String> {
    let paths = command.revisions();
    paths
        .map(|path| format!("{}/{path}", path::WORKSPACE))
        .find(|path| matches!(places.locate(path, false), Target::Protected(_)))
}
