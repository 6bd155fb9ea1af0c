//! What is beneath a directory? Goes through a tree without following links, and notes what it could not look into.

use std::ops::ControlFlow;

use serde::Serialize;

use crate::failure;
use crate::files::{self, Entry, EntryKind, Failure, Files, LIST_LIMIT};
use crate::ignored::{self, Rules};
use crate::path;

/// How many skipped places are named; the rest is counted.
const NAMED: usize = 50;

/// How many names are looked at in all. It bounds time and the calls to the host.
const MOST_ENTRIES: u64 = 200_000;

/// How a tree is gone through.
pub(crate) struct Options {
    /// How many levels, if there is a limit; 1 is the directory alone.
    pub(crate) depth: Option<u32>,
    pub(crate) hidden: bool,
    pub(crate) gitignore: bool,
}

/// What was left out on the way.
#[derive(Default, Serialize)]
pub(crate) struct Notes {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<Skipped>,
    /// Places that could not be looked into: unreadable, or no regular file.
    pub(crate) skipped_count: u64,
    /// Names that `.gitignore` leaves out.
    pub(crate) ignored: u64,
    /// Hidden names that were left out.
    pub(crate) hidden: u64,
    /// Whether the tree has more names than are looked at.
    #[serde(skip)]
    pub(crate) cut: bool,
    #[serde(skip)]
    seen: u64,
}

#[derive(Serialize)]
struct Skipped {
    path: String,
    reason: &'static str,
    message: String,
}

/// One name of the tree.
pub(crate) struct Found<'a> {
    pub(crate) path: &'a str,
    pub(crate) entry: &'a Entry,
}

impl Notes {
    pub(crate) fn skip(&mut self, path: &str, reason: &'static str, message: &str) {
        self.skipped_count += 1;
        if self.skipped.len() < NAMED {
            self.skipped.push(Skipped { path: path.to_owned(), reason, message: message.to_owned() });
        }
    }

    pub(crate) fn skip_failed(&mut self, path: &str, failure: &Failure) {
        self.skip(path, failure::word(failure.reason), &failure.message);
    }
}

/// A directory that is still to be listed, and the rules that hold above it.
struct Pending {
    path: String,
    depth: u32,
    rules: Rules,
}

/// Shows every name beneath `start` to `visit`: those of a directory, sorted by bytes, then those of its directories.
/// Fails only if the start cannot be listed.
pub(crate) fn walk<F: Files>(
    files: &F,
    start: &str,
    options: &Options,
    notes: &mut Notes,
    mut visit: impl FnMut(&mut Notes, Found) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let rules = if options.gitignore { Rules::above(files, start) } else { Rules::default() };
    let mut stack = vec![Pending { path: start.to_owned(), depth: 1, rules }];
    while let Some(directory) = stack.pop() {
        let is_start = directory.depth == 1;
        let mut inner = Vec::new();
        match level(files, &directory, options, notes, &mut inner, &mut visit) {
            Ok(ControlFlow::Continue(())) => stack.extend(inner.into_iter().rev()),
            Ok(ControlFlow::Break(())) => return Ok(()),
            Err(failure) if is_start => return Err(failure),
            Err(failure) => notes.skip_failed(&directory.path, &failure),
        }
    }
    Ok(())
}

/// Goes through one directory, page by page, and collects the directories in it.
fn level<F: Files>(
    files: &F,
    directory: &Pending,
    options: &Options,
    notes: &mut Notes,
    inner: &mut Vec<Pending>,
    visit: &mut impl FnMut(&mut Notes, Found) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Failure> {
    let is_root = directory.path == "/";
    let mut page = if is_root { files::list_root(files) } else { files.list(&directory.path, None, LIST_LIMIT)? };
    let has_rules = options.gitignore && page.iter().any(|entry| entry.name == ignored::NAME);
    let rules = if has_rules { directory.rules.enter(files, &directory.path) } else { directory.rules.clone() };
    loop {
        for entry in &page {
            let path = path::join(&directory.path, &entry.name);
            if is_left_out(&path, entry, options, &rules, notes) {
                continue;
            }
            notes.seen += 1;
            if notes.seen > MOST_ENTRIES {
                notes.cut = true;
                return Ok(ControlFlow::Break(()));
            }
            if visit(notes, Found { path: &path, entry }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if goes_into(entry, directory.depth, options) {
                inner.push(Pending { path, depth: directory.depth + 1, rules: rules.clone() });
            }
        }
        if is_root || page.len() < LIST_LIMIT as usize {
            return Ok(ControlFlow::Continue(()));
        }
        let after = page.last().map(|entry| entry.name.clone());
        page = files.list(&directory.path, after.as_deref(), LIST_LIMIT)?;
    }
}

fn is_left_out(path: &str, entry: &Entry, options: &Options, rules: &Rules, notes: &mut Notes) -> bool {
    if !options.hidden && entry.name.starts_with('.') {
        notes.hidden += 1;
        return true;
    }
    let ignored = rules.ignores(path, entry.kind == EntryKind::Directory);
    notes.ignored += u64::from(ignored);
    ignored
}

/// The inside of `.git` is git's own: only who starts there wants to see it.
fn goes_into(entry: &Entry, depth: u32, options: &Options) -> bool {
    let is_deep = options.depth.is_some_and(|limit| depth >= limit);
    entry.kind == EntryKind::Directory && entry.accessible && entry.name != ".git" && !is_deep
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Node, Tree};

    fn tree() -> Tree {
        let tree = Tree::new(&[
            ("/workspace/.git/config", b""),
            ("/workspace/.gitignore", b"target\n"),
            ("/workspace/.hidden/x", b""),
            ("/workspace/a/1", b""),
            ("/workspace/a/b/2", b""),
            ("/workspace/target/out", b""),
            ("/workspace/z", b""),
        ]);
        tree.put("/workspace/locked", Node::Unreadable);
        tree.put("/workspace/a/link", Node::Link);
        tree
    }

    fn names(start: &str, options: &Options) -> (Vec<String>, Notes) {
        let (mut names, mut notes) = (Vec::new(), Notes::default());
        walk(&tree(), start, options, &mut notes, |_, found| {
            names.push(found.path.trim_start_matches("/workspace/").to_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
        (names, notes)
    }

    #[test]
    fn goes_through_a_tree() {
        let options = Options { depth: None, hidden: false, gitignore: true };
        let (found, notes) = names("/workspace", &options);
        assert_eq!(found, ["a", "locked", "z", "a/1", "a/b", "a/link", "a/b/2"]);
        assert_eq!((notes.skipped_count, notes.ignored, notes.hidden), (1, 1, 3));
        assert_eq!(notes.skipped[0].path, "/workspace/locked");
        let options = Options { depth: Some(1), hidden: true, gitignore: false };
        let (found, _) = names("/workspace", &options);
        assert_eq!(found, [".git", ".gitignore", ".hidden", "a", "locked", "target", "z"]);
        let options = Options { depth: None, hidden: true, gitignore: false };
        assert!(!names("/workspace", &options).0.contains(&".git/config".to_owned()));
        assert_eq!(names("/workspace/.git", &options).0, [".git/config"]);
        assert_eq!(names("/", &options).0.first().map(String::as_str), Some("/workspace"));
    }

    #[test]
    fn only_an_unreadable_start_fails() {
        let options = Options { depth: None, hidden: false, gitignore: true };
        let walked = walk(&tree(), "/workspace/locked", &options, &mut Notes::default(), |_, _| ControlFlow::Break(()));
        assert!(walked.is_err());
    }

    #[test]
    fn pages_through_large_directories() {
        let tree = Tree::new(&[]);
        (0..25_000).for_each(|n| tree.put(&format!("/workspace/{n}"), Node::File(Vec::new())));
        let mut count = 0;
        let options = Options { depth: None, hidden: false, gitignore: true };
        walk(&tree, "/workspace", &options, &mut Notes::default(), |_, _| {
            count += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(count, 25_000);
    }
}
