//! Which lines of a file match? Reads in blocks and keeps no more of the file than a block and the lines around it.

use crate::encoding::{self, Choice, Encoding};
use crate::files::{Failure, Source};
use crate::matcher::{Hit, Matcher, line_at};

/// How much is read at a time, in bytes. One read holds most files whole.
const BLOCK: usize = 256 * 1024;

/// A longer line is searched in pieces.
const LONG_LINE: usize = 1024 * 1024;

/// How many bytes of a line are shown, and how many of them before the match.
const SHOWN: usize = 400;
const SHOWN_BEFORE: usize = 100;

/// How far back lines before a match are kept, in bytes.
const CONTEXT_LIMIT: usize = 64 * 1024;

/// What is to be found and shown.
pub(crate) struct Limits {
    /// Lines shown before and after a match.
    pub(crate) context: usize,
    /// So many matches are taken; one more says that there are more.
    pub(crate) matches: usize,
    /// So many bytes of lines are taken.
    pub(crate) output: usize,
    /// So many bytes of the file are read.
    pub(crate) input: u64,
}

/// A line to show.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) text: String,
    pub(crate) is_match: bool,
}

/// What was found in one file.
#[derive(Default)]
pub(crate) struct Scanned {
    pub(crate) lines: Vec<Line>,
    pub(crate) matches: usize,
    pub(crate) by_form: u64,
    pub(crate) binary: bool,
    /// Which limit ended the search before the file did.
    pub(crate) cut: Option<&'static str>,
    pub(crate) bytes_read: u64,
}

/// The file's text as UTF-8, block by block.
struct Blocks<'a, S> {
    source: &'a S,
    at: u64,
    encoding: Encoding,
    /// The half character at the end of the last block.
    rest: Vec<u8>,
    ended: bool,
}

impl<S: Source> Blocks<'_, S> {
    fn next(&mut self) -> Result<Vec<u8>, Failure> {
        let mut bytes = self.source.read(self.at, BLOCK as u32)?;
        self.ended = bytes.len() < BLOCK;
        if self.at == 0 {
            let form = encoding::form(Choice::Auto, &bytes);
            self.encoding = form.encoding;
            self.at = bytes.len() as u64;
            bytes.drain(..form.mark);
        } else {
            self.at += bytes.len() as u64;
        }
        if self.encoding == Encoding::Utf8 {
            return Ok(bytes);
        }
        self.rest.extend_from_slice(&bytes);
        let half = encoding::half_characters(&self.rest, self.encoding).1;
        let rest = self.rest.split_off(self.rest.len() - half);
        let whole = std::mem::replace(&mut self.rest, rest);
        let unit = if self.encoding == Encoding::Utf16Be { u16::from_be_bytes } else { u16::from_le_bytes };
        let units = whole.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
        // A file with one bad pair is still worth a search.
        let letters = char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(letters.collect::<String>().into_bytes())
    }
}

/// Where the search is in the part of the file that is in memory.
struct Search<'a> {
    matcher: &'a Matcher,
    limits: &'a Limits,
    scanned: Scanned,
    shown_bytes: usize,
    /// From here on nothing has been searched; a line's beginning, except in an overlong line.
    from: usize,
    /// A position and the number of its line; lines are counted no further than they have to be.
    counted: (usize, u64),
    /// Up to here lines were shown.
    shown: usize,
    /// So many lines after the last match are still to be shown.
    after: usize,
    /// The rest of this overlong line is of no interest any more.
    skip_line: bool,
}

/// Searches a file. Binary content is told by a NUL byte, as git does.
pub(crate) fn scan(source: &impl Source, matcher: &Matcher, limits: &Limits) -> Result<Scanned, Failure> {
    let mut blocks = Blocks { source, at: 0, encoding: Encoding::Utf8, rest: Vec::new(), ended: false };
    let mut search = Search {
        matcher,
        limits,
        scanned: Scanned::default(),
        shown_bytes: 0,
        from: 0,
        counted: (0, 1),
        shown: 0,
        after: 0,
        skip_line: false,
    };
    let mut text = blocks.next()?;
    search.scanned.binary = memchr::memchr(0, &text).is_some();
    while !search.scanned.binary {
        let end = searchable(&text, search.from, blocks.ended);
        if let Some(end) = end {
            search.part(text.get(..end).unwrap_or_default());
        }
        if blocks.at >= limits.input && !blocks.ended {
            search.scanned.cut = search.scanned.cut.or(Some("bytes"));
        }
        if blocks.ended || search.scanned.cut.is_some() {
            break;
        }
        search.forget(&mut text);
        let block = blocks.next()?;
        text.extend_from_slice(&block);
    }
    search.scanned.bytes_read = blocks.at;
    Ok(search.scanned)
}

/// The end of what can be searched now: of the last whole line, or of an overlong piece; `None` if more is needed.
fn searchable(text: &[u8], from: usize, ended: bool) -> Option<usize> {
    if ended {
        return Some(text.len());
    }
    let fresh = text.get(from..).unwrap_or_default();
    match memchr::memrchr(b'\n', fresh) {
        Some(at) => Some(from + at + 1),
        None => (fresh.len() >= LONG_LINE).then_some(text.len()),
    }
}

impl Search<'_> {
    /// Searches what is not searched yet.
    fn part(&mut self, text: &[u8]) {
        if self.skip_line {
            match memchr::memchr(b'\n', text.get(self.from..).unwrap_or_default()) {
                Some(at) => {
                    self.from += at + 1;
                    self.shown = self.from;
                    self.skip_line = false;
                }
                None => {
                    self.from = text.len();
                    return;
                }
            }
        }
        while let Some(hit) = self.hit(text) {
            if self.scanned.matches >= self.limits.matches {
                self.scanned.cut = Some("max_results");
                return;
            }
            if self.shown_bytes >= self.limits.output {
                self.scanned.cut = Some("output");
                return;
            }
            self.show(text, hit);
        }
        self.show_after(text, text.len());
        self.end_part(text);
    }

    fn hit(&self, text: &[u8]) -> Option<Hit> {
        if self.from < text.len() { self.matcher.find(text, self.from) } else { None }
    }

    fn end_part(&mut self, text: &[u8]) {
        if text.is_empty() || text.ends_with(b"\n") || self.skip_line {
            self.from = text.len();
        } else {
            // A piece of an overlong line, or the end of the file, where it does not matter.
            self.from = text.len().saturating_sub(self.matcher.overlap()).max(self.from);
        }
    }

    /// Shows a line that matches with those around it.
    fn show(&mut self, text: &[u8], hit: Hit) {
        self.show_after(text, hit.line.0);
        let number = self.number_at(text, hit.line.0);
        let mut before = Vec::new();
        let mut at = hit.line.0;
        while before.len() < self.limits.context && at > self.shown {
            let line = line_at(text, at - 1);
            let line = (line.0.max(self.shown), line.1);
            before.push(line);
            at = line.0;
        }
        let count = before.len() as u64;
        for (number, line) in (number.saturating_sub(count)..).zip(before.into_iter().rev()) {
            self.push(text, number, line, None);
        }
        self.push(text, number, hit.line, Some(hit.at));
        self.scanned.matches += 1;
        self.scanned.by_form += u64::from(hit.by_form);
        self.after = self.limits.context;
        // Behind an overlong piece there is no line feed, and the rest of that line is skipped.
        self.skip_line = hit.line.1 >= text.len();
        self.from = (hit.line.1 + 1).min(text.len());
        self.shown = self.from;
    }

    /// Shows the lines that are due after a match, up to a position.
    fn show_after(&mut self, text: &[u8], to: usize) {
        while self.after > 0 && self.shown < to {
            let line = line_at(text, self.shown);
            let number = self.number_at(text, line.0);
            self.push(text, number, line, None);
            self.after -= 1;
            self.shown = (line.1 + 1).min(text.len());
        }
    }

    fn push(&mut self, text: &[u8], number: u64, line: (usize, usize), at: Option<(usize, usize)>) {
        let shown = clip(text.get(line.0..line.1).unwrap_or_default(), at.map(|at| at.0 - line.0).unwrap_or(0));
        self.shown_bytes += shown.len();
        self.scanned.lines.push(Line { number, text: shown, is_match: at.is_some() });
    }

    fn number_at(&mut self, text: &[u8], at: usize) -> u64 {
        let (from, number) = self.counted;
        let breaks = memchr::memchr_iter(b'\n', text.get(from..at).unwrap_or_default()).count() as u64;
        self.counted = (at, number + breaks);
        number + breaks
    }

    /// Drops what is searched, less the lines that may be shown before the next match.
    fn forget(&mut self, text: &mut Vec<u8>) {
        let mut keep = self.from;
        for _ in 0..self.limits.context {
            if keep == 0 || self.from - keep >= CONTEXT_LIMIT {
                break;
            }
            keep = line_at(text, keep - 1).0;
        }
        self.number_at(text, keep.max(self.counted.0));
        // Lines between the kept ones and the count were counted already; the count must not lie before the text.
        let keep = keep.min(self.counted.0);
        text.drain(..keep);
        self.from -= keep;
        self.counted.0 -= keep;
        self.shown = self.shown.saturating_sub(keep);
    }
}

/// A line as text, without its carriage return, cut around the match if it is long.
fn clip(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= SHOWN {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = at.saturating_sub(SHOWN_BEFORE).min(line.len() - SHOWN);
    let piece = line.get(start..start + SHOWN).unwrap_or_default();
    let (before, after) = encoding::half_characters(piece, Encoding::Utf8);
    let piece = piece.get(before..piece.len() - after).unwrap_or_default();
    let front = if start > 0 { "…" } else { "" };
    let back = if start + SHOWN < line.len() { "…" } else { "" };
    format!("{front}{}{back}", String::from_utf8_lossy(piece))
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
