//! `file_search`: where is a text, or a name? Goes through a tree and loses no match to a place it cannot read.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::types::Content;
use crate::failure;
use crate::files::{EntryKind, Failure, Files, Reason};
use crate::matcher::{Matcher, Query};
use crate::name::Glob;
use crate::scan::{self, Limits, Scanned};
use crate::walk::{self, Found, Notes};
use crate::{output, path};

/// How much text one answer holds, in bytes.
const OUTPUT_LIMIT: usize = 1024 * 1024;

/// How much is read in one search, in bytes, for plain text and for expressions: what the tool's fuel and time last
/// for, so that a search which goes too far ends with what it found. A narrower `path` or `name` gets further.
const TEXT_INPUT_LIMIT: u64 = 512 * 1024 * 1024;
const REGEX_INPUT_LIMIT: u64 = 256 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    query: Option<String>,
    name: Option<String>,
    #[serde(default = "workspace")]
    path: String,
    #[serde(default)]
    regex: bool,
    #[serde(default = "yes")]
    case_sensitive: bool,
    #[serde(default)]
    context: usize,
    #[serde(default = "two_hundred")]
    max_results: usize,
    #[serde(default)]
    include_hidden: bool,
    #[serde(default = "yes")]
    respect_gitignore: bool,
}

fn workspace() -> String {
    "/workspace".to_owned()
}

fn yes() -> bool {
    true
}

fn two_hundred() -> usize {
    200
}

#[derive(Serialize)]
struct Facts<'a> {
    path: &'a str,
    /// Lines that match, or names if there is no query.
    matches: usize,
    /// Files with a match.
    files: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_searched: Option<u64>,
    skipped: u64,
    paths: &'a [String],
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(flatten)]
    notes: &'a Notes,
    binary_files: u64,
    /// Lines that match only in their other Unicode form.
    #[serde(skip_serializing_if = "Option::is_none")]
    normalised_matches: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_disk_path: Option<&'a str>,
}

/// A search under way.
struct Search<'a, F> {
    files: &'a F,
    arguments: &'a Arguments,
    matcher: Option<Matcher>,
    glob: Option<Glob>,
    start: &'a str,
    text: String,
    paths: Vec<String>,
    matches: usize,
    searched: u64,
    bytes_read: u64,
    binary: u64,
    by_form: u64,
    cut: Option<&'static str>,
}

pub(crate) fn run(files: &impl Files, arguments: &Arguments) -> Result<Output, Error> {
    let matcher = matcher(arguments)?;
    let glob = arguments.name.as_deref().map(|name| Glob::new(name, arguments.case_sensitive)).transpose()?;
    let asked = path::normal(&arguments.path);
    let (kind, on_disk) = start(files, asked)?;
    let start = on_disk.as_deref().unwrap_or(asked);
    let mut search = Search {
        files,
        arguments,
        matcher,
        glob,
        start,
        text: String::new(),
        paths: Vec::new(),
        matches: 0,
        searched: 0,
        bytes_read: 0,
        binary: 0,
        by_form: 0,
        cut: None,
    };
    let mut notes = Notes::default();
    match kind {
        EntryKind::File => search.only_file(start)?,
        EntryKind::Directory => search.tree(&mut notes)?,
        EntryKind::Link | EntryKind::Other => {
            let message = format!("{start} is neither a file nor a directory");
            return Err(failure::reading(Failure { reason: Reason::NotARegularFile, message }));
        }
    }
    Ok(search.answer(asked, &notes, on_disk.as_deref()))
}

fn matcher(arguments: &Arguments) -> Result<Option<Matcher>, Error> {
    let query = arguments.query.as_deref().filter(|query| !query.is_empty());
    if query.is_none() && arguments.name.is_none() {
        let hint = "`query` is text to find in files, `name` a glob for names such as `*.rs` or `src/**/*.toml`";
        return Err(failure::invalid("neither `query` nor `name` is given", hint));
    }
    let (regex, case_sensitive) = (arguments.regex, arguments.case_sensitive);
    query.map(|text| Matcher::new(&Query { text, regex, case_sensitive })).transpose()
}

/// What the start is, and its name on disk if that differs. The virtual root is a directory.
pub(crate) fn start(files: &impl Files, path: &str) -> Result<(EntryKind, Option<String>), Error> {
    if path == "/" {
        return Ok((EntryKind::Directory, None));
    }
    let found = path::find(files, path, |path| files.stat(path))?;
    Ok((found.value.kind, found.on_disk))
}

impl<F: Files> Search<'_, F> {
    fn tree(&mut self, notes: &mut Notes) -> Result<(), Error> {
        let hidden = self.arguments.include_hidden;
        let options = walk::Options { depth: None, hidden, gitignore: self.arguments.respect_gitignore };
        let (files, start) = (self.files, self.start);
        walk::walk(files, start, &options, notes, |notes, found| self.visit(notes, &found))
            .map_err(failure::reading)?;
        if notes.cut {
            self.cut = Some("entries");
        }
        Ok(())
    }

    fn visit(&mut self, notes: &mut Notes, found: &Found) -> ControlFlow<()> {
        if self.glob.as_ref().is_some_and(|glob| !glob.matches(self.start, found.path)) {
            return ControlFlow::Continue(());
        }
        if found.entry.kind == EntryKind::Other {
            notes.skip(found.path, failure::word(Reason::NotARegularFile), "not a regular file");
            return ControlFlow::Continue(());
        }
        if self.matcher.is_none() {
            return self.take_name(found.path, found.entry.kind);
        }
        if found.entry.kind == EntryKind::File && !found.entry.accessible {
            notes.skip(found.path, "name_not_utf8", "its name is not UTF-8");
        } else if found.entry.kind == EntryKind::File
            && let Err(failure) = self.file(found.path)
        {
            notes.skip_failed(found.path, &failure);
        }
        if self.cut.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn only_file(&mut self, path: &str) -> Result<(), Error> {
        let (parent, _) = path::split(path);
        if self.glob.as_ref().is_some_and(|glob| !glob.matches(parent, path)) {
            return Ok(());
        }
        if self.matcher.is_none() {
            let _ = self.take_name(path, EntryKind::File);
            return Ok(());
        }
        self.file(path).map_err(failure::reading)
    }

    fn take_name(&mut self, path: &str, kind: EntryKind) -> ControlFlow<()> {
        if self.matches >= self.arguments.max_results || self.text.len() >= OUTPUT_LIMIT {
            self.cut = Some(if self.text.len() >= OUTPUT_LIMIT { "output" } else { "max_results" });
            return ControlFlow::Break(());
        }
        self.matches += 1;
        self.text.push_str(path);
        self.text.push_str(if kind == EntryKind::Directory { "/\n" } else { "\n" });
        self.paths.push(path.to_owned());
        ControlFlow::Continue(())
    }

    fn file(&mut self, path: &str) -> Result<(), Failure> {
        let Some(matcher) = &self.matcher else { return Ok(()) };
        let source = self.files.open(path)?;
        let limits = Limits {
            context: self.arguments.context,
            matches: self.arguments.max_results - self.matches,
            output: OUTPUT_LIMIT.saturating_sub(self.text.len()),
            input: self.input_limit().saturating_sub(self.bytes_read),
        };
        let scanned = scan::scan(&source, matcher, &limits)?;
        self.searched += 1;
        self.bytes_read += scanned.bytes_read;
        self.binary += u64::from(scanned.binary);
        self.by_form += scanned.by_form;
        self.matches += scanned.matches;
        self.cut = scanned.cut;
        if self.bytes_read >= self.input_limit() {
            self.cut = self.cut.or(Some("bytes"));
        }
        if scanned.matches > 0 {
            self.paths.push(path.to_owned());
            self.write(path, &scanned);
        }
        Ok(())
    }

    fn input_limit(&self) -> u64 {
        let is_text = !self.arguments.regex && self.arguments.case_sensitive;
        if is_text { TEXT_INPUT_LIMIT } else { REGEX_INPUT_LIMIT }
    }

    /// `path:line: text` for a match and `path-line- text` for a line around it, as grep does.
    fn write(&mut self, path: &str, scanned: &Scanned) {
        let mut last = None;
        for line in &scanned.lines {
            let follows = last.is_some_and(|last| last + 1 == line.number);
            if self.arguments.context > 0 && !follows && !self.text.is_empty() {
                self.text.push_str("--\n");
            }
            let sign = if line.is_match { ':' } else { '-' };
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "{path}{sign}{}{sign} {}", line.number, line.text);
            last = Some(line.number);
        }
    }

    fn answer(self, asked: &str, notes: &Notes, on_disk_path: Option<&str>) -> Output {
        let with_query = self.matcher.is_some();
        let facts = Facts {
            path: asked,
            matches: self.matches,
            files: self.paths.len(),
            truncated: self.cut.is_some(),
            truncated_by: self.cut,
            files_searched: with_query.then_some(self.searched),
            skipped: notes.skipped_count,
            paths: &self.paths,
        };
        let metadata = Metadata {
            notes,
            binary_files: self.binary,
            normalised_matches: (self.by_form > 0).then_some(self.by_form),
            on_disk_path,
        };
        let remark = self.remark(notes);
        let text = (!self.text.is_empty()).then(|| Content::Text(self.text.clone()));
        let output = output::with_note(text.into_iter().collect(), &facts, remark.as_deref());
        Output { metadata: output::json(&metadata), ..output }
    }

    /// What a reader must know to judge the answer: that there is more, or why there is nothing.
    fn remark(&self, notes: &Notes) -> Option<String> {
        let mut left_out = BTreeMap::new();
        left_out.insert("unreadable or special places", notes.skipped_count);
        left_out.insert("names in .gitignore (see `respect_gitignore`)", notes.ignored);
        left_out.insert("hidden names (see `include_hidden`)", notes.hidden);
        left_out.insert("binary files", self.binary);
        let left_out: Vec<String> =
            left_out.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
        let left_out = if left_out.is_empty() { String::new() } else { format!("; left out: {}", left_out.join(", ")) };
        match self.cut {
            Some("max_results") => Some(format!(
                "the first {} matches are shown and there are more; narrow `path`, `name` or `query`",
                self.matches
            )),
            Some(limit) => Some(format!(
                "the search ended early at its limit of {limit}, after {} matches; narrow `path` or `name`",
                self.matches
            )),
            None if self.matches == 0 => Some(format!("no matches{left_out}")),
            None if notes.skipped_count > 0 => Some(format!("{} matches{left_out}", self.matches)),
            None => None,
        }
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
