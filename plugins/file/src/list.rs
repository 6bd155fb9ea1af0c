//! `file_list`: what is in a directory? Names with kind, size and time; the virtual root lists the grants.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::failure;
use crate::files::{Entry, EntryKind, Failure, Files, Reason};
use crate::name::Glob;
use crate::walk::{self, Found, Notes};
use crate::{output, path, search};

/// How many entries one answer holds.
const MOST_ENTRIES: usize = 2000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[serde(default = "workspace")]
    path: String,
    #[serde(default = "one")]
    depth: u32,
    glob: Option<String>,
    #[serde(default)]
    include_hidden: bool,
}

fn workspace() -> String {
    "/workspace".to_owned()
}

fn one() -> u32 {
    1
}

/// One entry as callers meet it.
#[derive(Serialize)]
struct Listed {
    /// The path beneath the listed directory.
    name: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writable: Option<bool>,
    /// The name is not UTF-8 on disk and is shown with U+FFFD; no tool can open it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inaccessible: bool,
}

#[derive(Serialize)]
struct Facts<'a> {
    path: &'a str,
    count: usize,
    truncated: bool,
    entries: &'a [Listed],
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(flatten)]
    notes: &'a Notes,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_disk_path: Option<&'a str>,
}

pub(crate) fn run(files: &impl Files, arguments: &Arguments) -> Result<Output, Error> {
    let glob = arguments.glob.as_deref().map(|glob| Glob::new(glob, true)).transpose()?;
    let asked = path::normal(&arguments.path);
    let (kind, on_disk) = search::start(files, asked)?;
    let start = on_disk.as_deref().unwrap_or(asked);
    if kind != EntryKind::Directory {
        let message = format!("{start} is not a directory");
        return Err(failure::reading(Failure { reason: Reason::NotADirectory, message }));
    }
    let options = walk::Options { depth: Some(arguments.depth), hidden: arguments.include_hidden, gitignore: false };
    let mut notes = Notes::default();
    let mut entries = Vec::new();
    let mut truncated = false;
    walk::walk(files, start, &options, &mut notes, |_, found| {
        if glob.as_ref().is_some_and(|glob| !glob.matches(start, found.path)) {
            return ControlFlow::Continue(());
        }
        if entries.len() == MOST_ENTRIES {
            truncated = true;
            return ControlFlow::Break(());
        }
        entries.push(listed(start, &found));
        ControlFlow::Continue(())
    })
    .map_err(failure::reading)?;
    mark_grants(files, start, &mut entries);
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    truncated |= notes.cut;
    let facts = Facts { path: asked, count: entries.len(), truncated, entries: &entries };
    let metadata = Metadata { notes: &notes, on_disk_path: on_disk.as_deref() };
    let remark = truncated.then(|| {
        format!("{} entries are shown and there are more; name a directory further down, or a `glob`", entries.len())
    });
    let output = output::with_note(Vec::new(), &facts, remark.as_deref());
    Ok(Output { metadata: output::json(&metadata), ..output })
}

fn listed(start: &str, found: &Found) -> Listed {
    let Entry { kind, size, modified_ms, accessible, .. } = found.entry;
    Listed {
        name: found.path.strip_prefix(start).unwrap_or(found.path).trim_start_matches('/').to_owned(),
        kind: match kind {
            EntryKind::File => "file",
            EntryKind::Directory => "directory",
            EntryKind::Link => "link",
            EntryKind::Other => "other",
        },
        size: (*kind == EntryKind::File).then_some(*size),
        modified: (*modified_ms > 0).then(|| timestamp(*modified_ms)),
        writable: None,
        inaccessible: !accessible,
    }
}

/// In the virtual root a caller learns which grants it may write to.
fn mark_grants(files: &impl Files, start: &str, entries: &mut [Listed]) {
    if start != "/" {
        return;
    }
    for grant in files.grants() {
        let name = grant.name.trim_start_matches('/');
        entries.iter_mut().filter(|entry| entry.name == name).for_each(|entry| entry.writable = Some(grant.writable));
    }
}

/// RFC 3339 in UTC, to the second.
fn timestamp(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date so many days after 1970-01-01, by the calendar arithmetic of Howard Hinnant (`civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::memory::{Node, Tree};

    fn list(tree: &Tree, arguments: Value) -> Result<Value, Error> {
        let output = run(tree, &serde_json::from_value(arguments).unwrap())?;
        Ok(serde_json::from_str(&output.data.unwrap()).unwrap())
    }

    fn names(tree: &Tree, arguments: Value) -> Vec<String> {
        let data = list(tree, arguments).unwrap();
        let entries = data["entries"].as_array().unwrap();
        entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn lists_with_facts() {
        let tree = Tree::new(&[("/workspace/a/b/c", b"12"), ("/workspace/.h", b""), ("/workspace/z.rs", b"1")]);
        tree.put("/workspace/pipe", Node::Pipe);
        assert_eq!(names(&tree, json!({})), ["a", "pipe", "z.rs"]);
        assert_eq!(names(&tree, json!({"include_hidden": true})), [".h", "a", "pipe", "z.rs"]);
        assert_eq!(names(&tree, json!({"depth": 3})), ["a", "a/b", "a/b/c", "pipe", "z.rs"]);
        assert_eq!(names(&tree, json!({"depth": 3, "glob": "c"})), ["a/b/c"]);
        let data = list(&tree, json!({"path": "/workspace/a/b/"})).unwrap();
        let entry = json!({"name": "c", "kind": "file", "size": 2, "modified": "2026-09-21T14:13:20Z"});
        assert_eq!(data, json!({"path": "/workspace/a/b", "count": 1, "truncated": false, "entries": [entry]}));
        let root = list(&tree, json!({"path": "/"})).unwrap();
        assert_eq!(root["entries"], json!([{"name": "workspace", "kind": "directory", "writable": true}]));
    }

    #[test]
    fn says_when_there_is_more() {
        let tree = Tree::new(&[]);
        (0..MOST_ENTRIES + 1).for_each(|n| tree.put(&format!("/workspace/{n}"), Node::File(Vec::new())));
        let data = list(&tree, json!({})).unwrap();
        assert_eq!((&data["count"], &data["truncated"]), (&json!(MOST_ENTRIES), &json!(true)));
    }

    #[test]
    fn refuses_what_is_no_directory() {
        let tree = Tree::new(&[("/workspace/f", b"")]);
        let reason = |path: &str| list(&tree, json!({ "path": path })).unwrap_err().reason;
        assert_eq!(reason("/workspace/f").as_deref(), Some("not_a_directory"));
        assert_eq!(reason("/workspace/none").as_deref(), Some("not_found"));
    }

    #[test]
    fn knows_the_calendar() {
        let check = |seconds: u64, expect| assert_eq!(timestamp(seconds * 1000), expect);
        check(1, "1970-01-01T00:00:01Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_767_225_599, "2025-12-31T23:59:59Z");
    }
}
