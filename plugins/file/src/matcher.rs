//! Does a line match the query? Plain text or a regular expression, also where the text has another Unicode form.
//!
//! Works on whole blocks of lines, since most lines of most files match nothing.

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::failure;
use crate::path;

/// The most memory that one compiled expression takes, in bytes.
const REGEX_LIMIT: usize = 4 * 1024 * 1024;

/// What the caller looks for.
pub(crate) struct Query<'a> {
    pub(crate) text: &'a str,
    pub(crate) regex: bool,
    pub(crate) case_sensitive: bool,
}

/// A compiled query.
pub(crate) struct Matcher {
    exact: Pattern,
    /// The composed form of a query that is not ASCII: only such a one can miss text because of its form.
    composed: Option<Composed>,
}

struct Composed {
    pattern: Pattern,
    /// Whether the query itself is in this form, so that composed text needs no second look.
    is_query: bool,
}

enum Pattern {
    Text(Box<Finder<'static>>),
    Regex {
        regex: Regex,
        /// The expression speaks of the ends of the text, which here are those of the line.
        by_line: bool,
    },
}

/// A line that matches, as positions in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The line without its line feed.
    pub(crate) line: (usize, usize),
    /// Where in the block the match is; the line's beginning if only its other form matches.
    pub(crate) at: (usize, usize),
    pub(crate) by_form: bool,
}

impl Matcher {
    pub(crate) fn new(query: &Query) -> Result<Matcher, Error> {
        if !query.regex && query.text.contains('\n') {
            return Err(failure::invalid("`query` has a line break", "search for one line at a time"));
        }
        let composed = path::composed(query.text);
        let is_query = composed == query.text;
        Ok(Matcher {
            exact: Pattern::new(query, query.text)?,
            composed: if query.text.is_ascii() {
                None
            } else {
                Some(Composed { pattern: Pattern::new(query, &composed)?, is_query })
            },
        })
    }

    /// The longest piece of text that the end of one block and the start of the next have to share.
    pub(crate) fn overlap(&self) -> usize {
        match &self.exact {
            Pattern::Text(finder) => finder.needle().len(),
            // A match across the border of two pieces of one overlong line may be missed beyond this.
            Pattern::Regex { .. } => 4096,
        }
    }

    /// The first line from `from`, which is a line's beginning, that matches.
    pub(crate) fn find(&self, block: &[u8], from: usize) -> Option<Hit> {
        let exact = self.exact.find(block, from);
        let Some(composed) = &self.composed else { return exact };
        // Only what is before the exact match can come first.
        let to = exact.map_or(block.len(), |hit| hit.line.0);
        let text = block.get(from..to)?;
        if text.is_ascii() || (composed.is_query && is_composed(text)) {
            return exact;
        }
        composed.find(text, from).or(exact)
    }
}

fn is_composed(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| is_nfc_quick(text.chars()) == IsNormalized::Yes)
}

impl Composed {
    fn find(&self, text: &[u8], offset: usize) -> Option<Hit> {
        let mut at = 0;
        while at < text.len() {
            let line = line_at(text, at);
            let bytes = text.get(line.0..line.1)?;
            let is_match = !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok_and(|line| self.matches(line));
            if is_match {
                let line = (offset + line.0, offset + line.1);
                return Some(Hit { line, at: (line.0, line.0), by_form: true });
            }
            at = line.1 + 1;
        }
        None
    }

    fn matches(&self, line: &str) -> bool {
        let composed: String = line.nfc().collect();
        self.pattern.find(composed.as_bytes(), 0).is_some()
    }
}

impl Pattern {
    fn new(query: &Query, text: &str) -> Result<Pattern, Error> {
        if !query.regex && query.case_sensitive {
            return Ok(Pattern::Text(Box::new(Finder::new(text).into_owned())));
        }
        let expression = if query.regex { text.to_owned() } else { regex::escape(text) };
        let regex = RegexBuilder::new(&expression)
            .multi_line(true)
            .crlf(true)
            .case_insensitive(!query.case_sensitive)
            .size_limit(REGEX_LIMIT)
            .dfa_size_limit(REGEX_LIMIT)
            .build()
            .map_err(|error| {
                let hint = "look-around and back-references are not known; with `regex: false` the query is plain text";
                failure::invalid(format!("not a regular expression: {error}"), hint)
            })?;
        let speaks_of_ends = [r"\A", r"\z"].iter().any(|ends| text.contains(ends));
        let by_line = query.regex && (speaks_of_ends || (text.contains("(?") && text.contains('-')));
        Ok(Pattern::Regex { regex, by_line })
    }

    fn find(&self, block: &[u8], from: usize) -> Option<Hit> {
        match self {
            Pattern::Text(finder) => {
                let at = from + finder.find(block.get(from..)?)?;
                let line = line_at(block, at);
                Some(Hit { line, at: (at, at + finder.needle().len()), by_form: false })
            }
            Pattern::Regex { regex, by_line: true } => {
                let mut at = from;
                while at < block.len() {
                    let line = line_at(block, at);
                    if let Some(hit) = in_line(regex, block, line) {
                        return Some(hit);
                    }
                    at = line.1 + 1;
                }
                None
            }
            Pattern::Regex { regex, by_line: false } => find_in_block(regex, block, from),
        }
    }
}

/// A line's match is also one of the block, and the block's first match begins in no later line; so lines before
/// need no look. A match that leaves its line may hide a shorter one inside, which is then looked for.
fn find_in_block(regex: &Regex, block: &[u8], from: usize) -> Option<Hit> {
    let mut at = from;
    while at < block.len() {
        let found = regex.find_at(block, at)?;
        // Behind the last line feed there is no line.
        if found.start() >= block.len() && block.ends_with(b"\n") {
            return None;
        }
        let line = line_at(block, found.start());
        if found.end() <= line.1 {
            return Some(Hit { line, at: (found.start(), found.end()), by_form: false });
        }
        if let Some(hit) = in_line(regex, block, line) {
            return Some(hit);
        }
        at = line.1 + 1;
    }
    None
}

fn in_line(regex: &Regex, block: &[u8], line: (usize, usize)) -> Option<Hit> {
    let text = block.get(line.0..line.1)?;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let found = regex.find(text)?;
    Some(Hit { line, at: (line.0 + found.start(), line.0 + found.end()), by_form: false })
}

/// The line at a position, without its line feed.
pub(crate) fn line_at(block: &[u8], at: usize) -> (usize, usize) {
    let (before, after) = block.split_at(at.min(block.len()));
    let start = memchr::memrchr(b'\n', before).map_or(0, |found| found + 1);
    let end = memchr::memchr(b'\n', after).map_or(block.len(), |found| at + found);
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, query: &str, regex: bool, case_sensitive: bool) -> Vec<String> {
        let matcher = Matcher::new(&Query { text: query, regex, case_sensitive }).unwrap();
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(hit) = matcher.find(text.as_bytes(), from) {
            found.push(text[hit.line.0..hit.line.1].to_owned());
            from = hit.line.1 + 1;
            if from >= text.len() {
                break;
            }
        }
        found
    }

    #[test]
    fn finds_lines() {
        let check =
            |text, query, regex, expect: &[&str]| assert_eq!(lines(text, query, regex, true), expect, "{query}");
        check("one\ntwo\none two", "one", false, &["one", "one two"]);
        check("a.b\naxb\n", "a.b", false, &["a.b"]);
        check("a.b\naxb\n", "a.b", true, &["a.b", "axb"]);
        check("ab\nba\n", "^b", true, &["ba"]);
        check("ab\r\nba\r\n", "b$", true, &["ab\r"]);
        check("ab\nba\n", r"\Ab", true, &["ba"]);
        check("ab\nba\n", r"a\z", true, &["ba"]);
        check("a\n\nb\n", "^$", true, &[""]);
        check("a\nb\n", "x*", true, &["a", "b"]);
        check("foo \nbar\nfoo 1", r"foo\s+\w", true, &["foo 1"]);
        check("a\nb\n", r"a\s*", true, &["a"]);
        check("", "x*", true, &[]);
        assert_eq!(lines("ABC\nxabcx\n", "abc", false, false), ["ABC", "xabcx"]);
        assert_eq!(lines("\u{c4}X\n", "\u{e4}x", false, false), ["\u{c4}X"]);
    }

    #[test]
    fn finds_the_other_normal_form() {
        let (nfc, nfd) = ("r\u{e9}sum\u{e9}", "re\u{301}sume\u{301}");
        let text = format!("x\n{nfd} 1\n{nfc} 2\n");
        for query in [nfc, nfd] {
            assert_eq!(lines(&text, query, false, true).len(), 2, "{query}");
        }
        assert_eq!(lines(&text, "r\u{e9}s.m", true, true).len(), 2);
    }

    #[test]
    fn refuses_what_is_no_query() {
        for (text, regex) in [("(", true), ("a\nb", false), (r"\p{L}{1000}{1000}", true)] {
            assert!(Matcher::new(&Query { text, regex, case_sensitive: true }).is_err(), "{text}");
        }
    }
}
