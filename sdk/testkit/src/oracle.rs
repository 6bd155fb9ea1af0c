//! What must never happen, and did it? Judges one answer, two answers to the same call, and what calls leave behind.

use hermes_runtime::envelope::Envelope;
use hermes_runtime::error::{Kind, Step};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Oracle {
    /// The component breaks off.
    Trap,
    /// It does not end within its time.
    Hang,
    /// It uses more fuel than its manifest gives it.
    Fuel,
    /// It uses more memory than its manifest gives it.
    Memory,
    /// It recurses until the stack is full.
    Stack,
    /// It returns, logs or asks more than it may.
    Limit,
    /// What it returns is not what it declares, or is no JSON where it says so.
    Output,
    /// It reaches for something outside what was granted.
    OutsideGrant,
    /// The same input with the same clock and randomness gives another result.
    Nondeterminism,
    /// Each of many equal calls needs more than the one before, or leaves more behind.
    Leak,
}

impl Oracle {
    /// Its name, as it is printed and kept.
    pub fn name(self) -> &'static str {
        match self {
            Oracle::Trap => "trap",
            Oracle::Hang => "hang",
            Oracle::Fuel => "fuel",
            Oracle::Memory => "memory",
            Oracle::Stack => "stack",
            Oracle::Limit => "limit",
            Oracle::Output => "output",
            Oracle::OutsideGrant => "outside_grant",
            Oracle::Nondeterminism => "nondeterminism",
            Oracle::Leak => "leak",
        }
    }
}

/// What must not be, in one answer.
pub(crate) fn broken(envelope: &Envelope, args: &Value) -> Option<(Oracle, String)> {
    let undeclared = envelope.metadata.warnings.iter().find(|warning| {
        warning.contains("the tool declares") || warning.contains("is no JSON") || warning.contains("says it is JSON")
    });
    if let Some(warning) = undeclared {
        return Some((Oracle::Output, warning.clone()));
    }
    let error = envelope.error.as_ref()?;
    let oracle = match error.kind {
        Kind::Trap => Oracle::Trap,
        Kind::Timeout | Kind::AttemptTimeout if error.step == Step::Sandbox && error.reason.is_none() => Oracle::Hang,
        Kind::OutOfFuel => Oracle::Fuel,
        Kind::OutOfMemory => Oracle::Memory,
        Kind::StackOverflow => Oracle::Stack,
        Kind::TableLimit
        | Kind::InstanceLimit
        | Kind::HandleLimit
        | Kind::HostCallLimit
        | Kind::OutputLimit
        | Kind::LogLimit => Oracle::Limit,
        // What step 3 refuses never reached the component; a refusal by a capability did.
        Kind::Denied if error.step == Step::Sandbox && error.reason.as_deref() != Some("read_only") => {
            // A place or host that the arguments name was the caller's wish, not the component's.
            let texts = texts_of(args);
            let is_wish = |named: &str| {
                texts.iter().any(|text| text.contains(named) || (!text.is_empty() && named.ends_with(text.as_str())))
            };
            if error.message.split('`').skip(1).step_by(2).any(|named| !named.is_empty() && is_wish(named)) {
                return None;
            }
            Oracle::OutsideGrant
        }
        Kind::Internal => return Some((Oracle::Trap, format!("the runtime itself failed: {error}"))),
        _ => return None,
    };
    let insides = error.log.as_deref().map(|log| format!("\n{log}")).unwrap_or_default();
    Some((oracle, format!("{error}{insides}")))
}

/// All texts in a value.
fn texts_of(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts_of).collect(),
        Value::Object(members) => members.values().flat_map(texts_of).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

pub(crate) fn difference(first: &Envelope, again: &Envelope) -> Option<String> {
    let facts = |envelope: &Envelope| {
        let error = envelope.error.as_ref().map(|error| (error.kind, error.reason.clone(), error.message.clone()));
        (envelope.data.clone(), error)
    };
    let (first, again) = (facts(first), facts(again));
    (first != again).then(|| format!("first {first:?}, then {again:?}").chars().take(600).collect())
}

/// How much is in a folder. Links are not followed: a workspace may have ones that lead out of it.
pub(crate) fn entries(folder: &Path) -> usize {
    let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    inside.map(|entry| 1 + if is_folder(&entry) { entries(&entry.path()) } else { 0 }).sum()
}
