//! What does one look at a part of a result find? Words of the task, signs of failure, what it is like. Pure; must not
//! know what counts how much.

use crate::result::query::{Query, hash, root, words};
use aho_corasick::AhoCorasick;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What stands where something failed, in this spelling.
const FAILURES: &[&str] = &[
    "error:",
    "error[",
    "error TS",
    "Error:",
    "ERROR",
    "Errors:",
    "FAILED",
    "FAIL:",
    "FAIL ",
    "failed:",
    "Failed:",
    "Exception:",
    "Exception in",
    "panicked at",
    "Traceback (",
    "fatal:",
    "Fatal:",
    "FATAL",
    "CRITICAL",
    "EMERG",
    "not ok ",
    "undefined reference",
    "No such file",
    "ermission denied",
    "command not found",
    "Segmentation fault",
    "core dumped",
    "npm error",
    "npm ERR",
    "AssertionError",
    "assertion failed",
    "assertion `",
    "Caused by:",
    "ENOENT",
    "EACCES",
    "ECONNREFUSED",
    "CrashLoop",
    "OOMKilled",
    "BackOff",
    "status: failed",
    "status: error",
    "✗",
    "✖",
    "HTTP/1.1\" 5",
    "failures:",
    "must be replaced",
    "forces replacement",
    "rror(s)",
    "could not compile",
    "Could not",
];
/// Words that are used where something is wrong, and elsewhere.
const TROUBLES: &[&str] = &[
    "error",
    "fail",
    "failed",
    "failure",
    "fatal",
    "panic",
    "exception",
    "assert",
    "segfault",
    "abort",
    "undefined",
    "unresolved",
    "denied",
    "refused",
    "critical",
    "crash",
    "killed",
    "timeout",
    "unreachable",
    "cannot",
    "fehler",
    "mismatch",
    "mismatched",
    "conflict",
    "invalid",
    "unexpected",
    "missing",
    "unhealthy",
    "broken",
    "corrupt",
    "violation",
    "rejected",
    "negative",
    "giving",
];
const WARNINGS: &[&str] = &["warning", "warn", "deprecated", "deprecation", "skipped", "retrying"];
const SUMMARIES: &[&str] =
    &["summary", "total", "totals", "passed", "finished", "completed", "succeeded", "elapsed", "generated", "ran"];
/// What sums up, in this spelling.
const SUMS: &[&str] =
    &["test result:", "Done in", "exit code", "Plan:", "TOTAL", "files changed", "built in", "# fail"];
/// What a word stands for, by its hash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Trouble,
    Warning,
    Summary,
}

static SIGNS: LazyLock<HashMap<u64, Sign>> = LazyLock::new(|| {
    let mut signs = HashMap::new();
    for (list, sign) in [(SUMMARIES, Sign::Summary), (WARNINGS, Sign::Warning), (TROUBLES, Sign::Trouble)] {
        list.iter().for_each(|text| {
            words(text, |_, hash| {
                signs.insert(hash, sign);
            });
        });
    }
    signs
});

/// Failures first, then sums.
static PHRASES: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(FAILURES.iter().chain(SUMS)).expect("the phrases are few and short"));

/// What one look at a part finds.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) words: u32,
    /// The terms of the task in it, and how often.
    pub(super) terms: Vec<(u8, u16)>,
    pub(super) failure: bool,
    pub(super) trouble: bool,
    pub(super) warning: bool,
    pub(super) summary: bool,
    /// What it is like, whatever its numbers are.
    pub(super) shape: u64,
}

impl Seen {
    fn note(&mut self, term: u8) {
        match self.terms.iter_mut().find(|(known, _)| *known == term) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.terms.push((term, 1)),
        }
    }
}

/// Looks at a part once.
pub(super) fn look(text: &str, query: &Query) -> Seen {
    let signs = &*SIGNS;
    let mut seen = Seen { shape: shape(text), ..Seen::default() };
    for phrase in PHRASES.find_iter(text) {
        match phrase.pattern().as_usize() < FAILURES.len() {
            true => seen.failure |= !text[..phrase.start()].ends_with("0 ") && !text[phrase.end()..].starts_with(" 0"),
            false => seen.summary = true,
        }
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let mut before = 0;
    words(text, |word, hash| {
        seen.words += 1;
        match signs.get(&hash) {
            // `0 errors` and `no error` are none.
            Some(Sign::Trouble) if !NOTHING.contains(&before) => seen.trouble = true,
            Some(Sign::Warning) if !NOTHING.contains(&before) => seen.warning = true,
            Some(Sign::Summary) => seen.summary |= has_digit,
            Some(Sign::Trouble | Sign::Warning) | None => {}
        }
        if !query.terms.is_empty() {
            let found = query.terms.get(&hash).or_else(|| query.terms.get(&root(word)?));
            found.into_iter().for_each(|term| seen.note(*term as u8));
        }
        before = hash;
    });
    seen
}

/// Before a word of trouble these say that there is none.
const NOTHING: [u64; 3] = [hash(b"0"), hash(b"no"), hash(b"without")];

/// A text's shape: every word with a digit in it counts as the same sign.
fn shape(text: &str) -> u64 {
    const START: u64 = hash(b"");
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let (mut shape, mut word, mut has_digit) = (START, START, false);
    for byte in text.bytes().chain(std::iter::once(b' ')) {
        if byte.is_ascii_alphanumeric() {
            word = step(word, byte);
            has_digit |= byte.is_ascii_digit();
            continue;
        }
        shape = step(shape ^ if has_digit { 0 } else { word }, byte);
        (word, has_digit) = (START, false);
    }
    shape
}
