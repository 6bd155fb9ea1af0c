//! What is now known, what changed, what is to be done next? One line for each call of a session, made from its records.
//! Must not know anything that is not written down.

use crate::error::Kind;
use crate::record::Record;
use serde::Serialize;
use std::fmt;

/// Lines that one answer holds, the newest.
pub const MOST: usize = 100;

/// What one call left to remember.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The call.
    pub call_id: String,
    /// Its tool.
    pub tool: String,
    /// What it acted on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// What is known since, or why nothing is.
    pub known: String,
    /// What it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// Whether what it says was written outside.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// What to do next, if anything is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The line of one outcome.
pub fn line(record: &Record) -> Line {
    let facts = &record.facts;
    let shown = facts.shown.as_ref();
    let known = match &record.error {
        None => shown.map(|shown| shown.gist.clone()).filter(|gist| !gist.is_empty()).unwrap_or_else(|| "done".into()),
        Some(error) => format!("{}: {}", error.kind.name(), crate::document::excerpt(&error.message, 160)),
    };
    let has_effect = facts.writes && record.error.is_none();
    let changed = has_effect.then(|| match facts.targets.is_empty() {
        true => "something, by this tool".to_owned(),
        false => facts.targets.join(", "),
    });
    Line {
        call_id: record.call_id.to_string(),
        tool: facts.tool.to_string(),
        on: facts.targets.iter().map(|target| crate::document::excerpt(target, 120)).collect(),
        known,
        changed,
        // What was refused before it ran has said nothing.
        untrusted: facts.usage.is_some() && shown.is_some_and(|shown| shown.untrusted),
        next: next(record),
    }
}

/// What is open after a call.
fn next(record: &Record) -> Option<String> {
    if let Some(error) = &record.error {
        let hint = error.hint.as_deref().map(|hint| crate::document::excerpt(hint, 160));
        return match error.kind {
            Kind::ApprovalPending => Some("ask again with the same arguments once a person has decided".into()),
            Kind::Denied | Kind::ApprovalDenied | Kind::SessionHalted => {
                Some("do not repeat it; find another way".into())
            }
            _ if error.reason.as_deref() == Some("outcome_unknown") => Some("look whether it had its effect".into()),
            _ => match (error.retry_after_ms, error.retryable) {
                (Some(wait), _) => Some(format!("ask again after {wait} ms")),
                (None, true) => Some("ask again".into()),
                (None, false) => hint,
            },
        };
    }
    let shown = record.facts.shown.as_ref()?;
    let handle = shown.handle.as_ref()?;
    let left = shown.total.saturating_sub(shown.kept);
    Some(format!("{left} bytes were not shown; read on with handle {handle}"))
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tool)?;
        if !self.on.is_empty() {
            write!(f, " {}", self.on.join(", "))?;
        }
        write!(f, " → {}", self.known)?;
        if let Some(changed) = &self.changed {
            write!(f, " · changed: {changed}")?;
        }
        match &self.next {
            Some(next) => write!(f, " · next: {next}"),
            None => Ok(()),
        }
    }
}

/// One line about what a result says: its small facts, or how much text there is and how it begins.
pub(crate) fn gist(data: &serde_json::Value) -> String {
    use serde_json::Value;
    const GIST: usize = 160;
    let said = match data {
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => data.to_string(),
        Value::String(text) => first_line(text),
        Value::Array(items) => counted(items.len(), "item"),
        Value::Object(members) => {
            let small = |(key, value): (&String, &Value)| match value {
                Value::Bool(_) | Value::Number(_) => Some(format!("{key}={value}")),
                Value::String(text) if text.len() <= 40 && !text.contains('\n') => Some(format!("{key}={text}")),
                Value::Array(items) => Some(format!("{key}: {}", counted(items.len(), "item"))),
                Value::String(text) if key == "text" => Some(counted(lines_of(text), "line")),
                Value::String(_) | Value::Null | Value::Object(_) => None,
            };
            members.iter().filter_map(small).take(8).collect::<Vec<_>>().join(" ")
        }
    };
    crate::document::excerpt(&said, GIST)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// As many as `str::lines` gives, without looking at each.
fn lines_of(text: &str) -> usize {
    let ended = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    ended + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

fn first_line(text: &str) -> String {
    let lines = lines_of(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if lines > 1 { format!("{lines} lines, “{}”", crate::document::excerpt(first, 80)) } else { first.to_owned() }
}

/// The manifest of the built-in tool that says what a session works on.
pub(crate) const SET_TASK: &str = r#"
[tool]
name = "set_task"
version = "0.1.0"
description = """
Say what you are working on, in a sentence with the words and paths that matter. Long results then show what fits it \
first. It changes no permission. An empty text takes it back."""
category = "runtime"

[[tool.inputs]]
name = "task"
type = "string"
required = true
description = "What you are working on"
validation = { max_length = 4096, format = "text" }

[tool.permissions]
risk_level = "low"

[tool.effect]
kind = "read"
idempotent = true
open_world = false

[tool.backend]
type = "runtime"
adapter = "runtime"
"#;

/// The manifest of the built-in tool that tells what a session has done.
pub(crate) const WORKING_MEMORY: &str = r#"
[tool]
name = "working_memory"
version = "0.1.0"
description = """
What this session has done so far, one line a call: what is now known, what changed, and what is open: the rest of a \
long result, a retry, a person to ask."""
category = "runtime"

[[tool.inputs]]
name = "last"
type = "integer"
required = false
default = 30
range = [1, 100]
description = "How many calls, the newest last"

[tool.permissions]
risk_level = "low"

[tool.effect]
kind = "read"
idempotent = true
open_world = false

[tool.backend]
type = "runtime"
adapter = "runtime"
"#;

#[cfg(test)]
mod tests {
    #[test]
    fn lines_are_counted_as_they_are_read() {
        for text in ["", "\n", "a", "a\n", "a\nb", "a\r\n\nb\n", "\n\n"] {
            assert_eq!(super::lines_of(text), text.lines().count(), "{text:?}");
        }
    }
}
