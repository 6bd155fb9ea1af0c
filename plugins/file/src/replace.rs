//! How is a text replaced in another one? Finds it exactly, or in the file's line endings or Unicode form; everything
//! around it stays byte for byte.
//!
//! Knows no files.

use memchr::memmem;
use unicode_normalization::UnicodeNormalization;

/// How many places an error names.
const PLACES: usize = 10;

/// How many lines are compared for a hint, and how much of one is shown, in characters.
const HINT_LINES: usize = 100_000;
const HINT_LENGTH: usize = 200;

/// Below this likeness, in percent, a line is no hint.
const LIKENESS: usize = 50;

/// A text with its replacements made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) text: String,
    /// Where the replaced pieces were in the old text, in bytes.
    pub(crate) spans: Vec<(usize, usize)>,
    /// What took their place.
    pub(crate) new: String,
    /// The form in which the text was found, if not as it was given.
    pub(crate) matched: Option<&'static str>,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotFound { nearest: Option<String> },
    NotUnique { count: usize, lines: Vec<u64> },
}

/// Replaces `old`, which must occur just once unless `all` are meant.
pub(crate) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Edit, Refusal> {
    let new = in_line_endings_of(text, old, new);
    let Some((old, spans, matched)) = find(text, old) else {
        return Err(Refusal::NotFound { nearest: nearest(text, old) });
    };
    if spans.len() > 1 && !all {
        let lines = spans.iter().take(PLACES).map(|at| line_breaks(text, 0, *at) + 1).collect();
        return Err(Refusal::NotUnique { count: spans.len(), lines });
    }
    let mut edited = String::with_capacity(text.len() + spans.len() * new.len());
    let mut from = 0;
    for at in &spans {
        edited.push_str(text.get(from..*at).unwrap_or_default());
        edited.push_str(&new);
        from = at + old.len();
    }
    edited.push_str(text.get(from..).unwrap_or_default());
    let spans = spans.into_iter().map(|at| (at, at + old.len())).collect();
    Ok(Edit { text: edited, spans, new, matched })
}

/// The first form of `old` that occurs, where, and its name.
fn find(text: &str, old: &str) -> Option<(String, Vec<usize>, Option<&'static str>)> {
    let mut forms: Vec<(String, Option<&'static str>)> = Vec::new();
    // In a file with CRLF a bare LF would match half of a line ending.
    if !is_crlf(text) || old.contains('\r') {
        forms.push((old.to_owned(), None));
    }
    if text.contains("\r\n") && !old.contains('\r') {
        let crlf = with_crlf(old);
        let matched = (crlf != old).then_some("line_endings");
        forms.push((crlf, matched));
    }
    if !old.is_ascii() {
        let plain: Vec<String> = forms.iter().map(|(form, _)| form.clone()).collect();
        let others = plain.iter().flat_map(|form| [form.nfc().collect(), form.nfd().collect()]);
        forms.extend(others.map(|form: String| (form, Some("unicode_normal_form"))));
    }
    forms.into_iter().find_map(|(form, matched)| {
        let spans: Vec<usize> = memmem::find_iter(text.as_bytes(), &form).collect();
        (!spans.is_empty()).then_some((form, spans, matched))
    })
}

/// New lines end as the file's lines do, unless the caller wrote line endings out.
fn in_line_endings_of(text: &str, old: &str, new: &str) -> String {
    let spelled_out = old.contains('\r') || new.contains('\r');
    let crlf = is_crlf(text) || (old.contains('\n') && text.contains("\r\n") && !text.contains(old));
    if crlf && !spelled_out { with_crlf(new) } else { new.to_owned() }
}

/// Whether every line ends with CRLF, and there is one.
fn is_crlf(text: &str) -> bool {
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    breaks > 0 && breaks == memmem::find_iter(text.as_bytes(), "\r\n").count()
}

fn with_crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// How many line breaks there are between two positions.
pub(crate) fn line_breaks(text: &str, from: usize, to: usize) -> u64 {
    let between = text.as_bytes().get(from..to).unwrap_or_default();
    memchr::memchr_iter(b'\n', between).count() as u64
}

/// A hint at the line that is most like the first line looked for.
fn nearest(text: &str, old: &str) -> Option<String> {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty())?;
    let lines = (1..).zip(text.lines()).take(HINT_LINES);
    let scored = lines.map(|(number, line): (u64, &str)| (likeness(wanted, line.trim()), number, line));
    let (score, number, line) = scored.max_by_key(|(score, number, _)| (*score, std::cmp::Reverse(*number)))?;
    if score < LIKENESS {
        return None;
    }
    if score == 100 && old.lines().count() > 1 {
        return Some(format!(
            "the first line is there, at line {number}, but what follows or its white space differs; read from there"
        ));
    }
    let shown: String = line.trim_end().chars().take(HINT_LENGTH).collect();
    let differs = if score == 100 { " (white space differs)" } else { "" };
    Some(format!("the nearest is line {number}{differs}: `{shown}`"))
}

/// How much of two lines is the same at their beginnings and ends, in percent.
fn likeness(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let shorter = a.len().min(b.len());
    let front = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let back = a.iter().rev().zip(b.iter().rev()).take(shorter - front).take_while(|(a, b)| a == b).count();
    ((front + back) * 100).checked_div(a.len().max(b.len())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, old: &str, new: &str, all: bool, expect: &str, matched: Option<&str>) {
        let edit = replace(text, old, new, all).unwrap();
        assert_eq!((edit.text.as_str(), edit.matched), (expect, matched), "{text:?} {old:?} {new:?}");
    }

    #[test]
    fn replaces_exactly() {
        check("a b c", "b", "x$1", false, "a x$1 c", None);
        check("aaa", "a", "", true, "", None);
        check("a\nb\n", "a\n", "", false, "b\n", None);
    }

    #[test]
    fn keeps_line_endings() {
        check("a\r\nb\r\nc\r\n", "a\nb", "x\ny", false, "x\r\ny\r\nc\r\n", Some("line_endings"));
        check("a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", None);
        check("a\r\nb\r\n", "\r\n", "\n", true, "a\nb\n", None);
        check("a\r\nb\nc\n", "b\nc", "x\ny", false, "a\r\nx\ny\n", None);
        check("a\r\nb\nc\n", "a\nb", "x\ny", false, "x\r\ny\nc\n", Some("line_endings"));
        check("a\r\nb\r\n", "\n", "\n\n", true, "a\r\n\r\nb\r\n\r\n", Some("line_endings"));
    }

    #[test]
    fn finds_the_other_normal_form_and_leaves_the_rest() {
        let text = "e\u{301}te\u{301} re\u{301}sume\u{301}";
        check(text, "r\u{e9}sum\u{e9}", "x", false, "e\u{301}te\u{301} x", Some("unicode_normal_form"));
        check("\u{e9} e\u{301}", "\u{e9}", "x", false, "x e\u{301}", None);
    }

    #[test]
    fn refuses_with_a_way_on() {
        let check = |text, old, expect| assert_eq!(replace(text, old, "", false).unwrap_err(), expect);
        check("a\nb\na\n", "a", Refusal::NotUnique { count: 2, lines: vec![1, 3] });
        check("a\n", "zzz", Refusal::NotFound { nearest: None });
        let nearest = |hint: &str| Refusal::NotFound { nearest: Some(hint.to_owned()) };
        check("x\nlet a = 1;\n", "let a = 2;", nearest("the nearest is line 2: `let a = 1;`"));
        check("x\n\tif a {\n", "    if a {", nearest("the nearest is line 2 (white space differs): `\tif a {`"));
    }
}
