//! What do secrets look like? The rules of `rules.toml`, compiled when a text has one of their keywords. Must not know
//! what is done with what they find.

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde::Deserialize;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// Bytes around a keyword that a rule of one line looks at.
const AROUND: usize = 4096;
/// Bytes after a keyword that a rule of several lines looks at.
const LONGEST: usize = 32 << 10;

/// Bytes that two windows share, so that a secret on their border is seen whole.
const OVERLAP: usize = 512;

/// A range of a text that holds a secret, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    pub(super) rule: &'static str,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    rule: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    keywords: Vec<String>,
    pattern: String,
    #[serde(default)]
    entropy: f64,
    /// Whether it goes over several lines.
    #[serde(default)]
    lines: bool,
    /// Whether values that stand for one, such as `$TOKEN`, are let through.
    #[serde(default)]
    placeholders: bool,
    /// Whether only the name says that it is a secret, so that its value has to look like one.
    #[serde(default)]
    assigned: bool,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

struct Rules {
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// The rule of each keyword.
    owner: Vec<usize>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let rules = toml::from_str::<Written>(include_str!("rules.toml")).map(|written| written.rule).unwrap_or_default();
    let owner = rules.iter().enumerate().flat_map(|(index, rule)| rule.keywords.iter().map(move |_| index)).collect();
    let keywords = rules.iter().flat_map(|rule| &rule.keywords);
    let keywords = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(keywords)
        .expect("the keywords of the shipped rules are few and short");
    Rules { rules, keywords, owner }
});

/// The secrets of a text by their look, in no order; they may overlap.
pub(super) fn find(text: &str) -> Vec<Found> {
    let rules = &*RULES;
    let mut found = Vec::new();
    let mut looked = vec![0_usize; rules.rules.len()];
    for hit in rules.keywords.find_overlapping_iter(text) {
        let index = rules.owner[hit.pattern().as_usize()];
        let rule = &rules.rules[index];
        let window = match rule.lines {
            true => floor(text, hit.start().saturating_sub(AROUND))..ceil(text, (hit.end() + LONGEST).min(text.len())),
            false => line(text, hit.start(), hit.end()),
        };
        // Where it has looked before it does not look again, except for what may reach over the border.
        if window.end <= looked[index] {
            continue;
        }
        let from = floor(text, looked[index].saturating_sub(OVERLAP)).max(window.start);
        looked[index] = window.end;
        rule.find(text, from..window.end, &mut found);
    }
    found
}

/// Whether the value of a member of this name is a secret by its name alone.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    if name.len() > 64 || value.len() > 4096 || value.len() < 6 {
        return false;
    }
    let quoted = format!("{name}=\"{value}\"");
    RULES.rules.iter().filter(|rule| rule.assigned).any(|rule| {
        let mut found = Vec::new();
        rule.find(&quoted, 0..quoted.len(), &mut found);
        !found.is_empty()
    })
}

impl Rule {
    fn find(&'static self, text: &str, window: Range<usize>, found: &mut Vec<Found>) {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.pattern).ok());
        let Some(pattern) = compiled else { return };
        for captures in pattern.captures_iter(&text[window.clone()]) {
            let Some(secret) = captures.name("s").or_else(|| captures.get(0)) else { continue };
            let (value, quoted) = unquoted(secret.as_str());
            let start = window.start + secret.start() + usize::from(quoted);
            let fits = entropy(value) >= self.entropy
                && !(self.placeholders && is_placeholder(value))
                && (!self.assigned || looks_secret(value, quoted));
            if fits {
                found.push(Found { range: start..start + value.len(), rule: &self.id });
            }
        }
    }
}

fn unquoted(text: &str) -> (&str, bool) {
    for quote in ['"', '\'', '`'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return (inner, true);
        }
    }
    (text, false)
}

/// Bits for each character, by how often each occurs.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = text.len().max(1) as f64;
    let bits = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}

/// Beginnings of what stands for a secret.
const STANDS_FOR: &[&str] = &[
    "$",
    "{{",
    "${",
    "%(",
    "<",
    "***",
    "xxx",
    "...",
    "[masked",
    "process.env",
    "os.environ",
    "env.",
    "env(",
    "secrets.",
    "vault:",
    "config.",
    "self.",
    "this.",
    "settings.",
    "args.",
    "var.",
    "data.",
    "module.",
    "null",
    "none",
    "undefined",
    "example",
    "your",
    "changeme",
    "change_me",
    "placeholder",
    "redacted",
    "dummy",
    "todo",
    "@",
    "file:",
    "arn:",
    "ref:",
    "&",
    "//",
    "/",
    "./",
    "../",
    "http://",
    "https://",
    "%",
    "#",
];

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    STANDS_FOR.iter().any(|start| lower.starts_with(start))
        || ["example", "placeholder", "redacted", "changeme", "your_", "your-", "xxxx", "****"]
            .iter()
            .any(|part| lower.contains(part))
        || lower.contains("${")
}

/// Whether a value that has a secret's name looks like one: no word, no number, no name of a program.
fn looks_secret(value: &str, quoted: bool) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let digits = has(|c| c.is_ascii_digit());
    let letters = has(|c| c.is_alphabetic());
    let sign = has(|c| "!@#%^*+=/~?".contains(c));
    if has(char::is_whitespace) || !letters && !sign {
        return false;
    }
    // Names such as `user.api_token` or `getToken` stand for a value.
    let is_name = value.chars().all(|c| c.is_alphanumeric() || "_.-:".contains(c));
    let joined = value.contains(['_', '.', '-', ':']);
    let parts_are_words = value
        .split(['_', '.', '-', ':'])
        .all(|part| part.len() <= 12 && part.chars().filter(char::is_ascii_digit).count() * 3 <= part.len());
    let is_number_of_something = value.trim_end_matches(char::is_alphabetic).parse::<f64>().is_ok();
    if is_number_of_something || is_name && joined && parts_are_words && !(quoted && digits) {
        return false;
    }
    digits || sign || quoted && value.len() >= 16 && entropy(value) > 3.6 && !is_sentence_like(value)
}

/// Words in one, such as `invalidCredentials`.
fn is_sentence_like(value: &str) -> bool {
    let capitals = value.chars().filter(char::is_ascii_uppercase).count();
    value.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.')) && capitals * 4 < value.len()
}

fn line(text: &str, start: usize, end: usize) -> Range<usize> {
    let from = floor(text, start.saturating_sub(AROUND));
    let to = ceil(text, (end + AROUND).min(text.len()));
    let line_start = text[from..start].rfind('\n').map_or(from, |at| from + at + 1);
    let line_end = text[end..to].find('\n').map_or(to, |at| end + at);
    line_start..line_end
}

fn floor(text: &str, at: usize) -> usize {
    crate::document::floor_char_boundary(text, at)
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_used_and_needs_no_keyword_that_it_cannot_have() {
        assert!(RULES.rules.len() > 60);
        for rule in &RULES.rules {
            assert!(Regex::new(&rule.pattern).is_ok(), "{}", rule.id);
            assert!(!rule.keywords.is_empty(), "{}", rule.id);
        }
    }

    fn check(text: &str, expect: &[&str]) {
        let mut found: Vec<&str> = find(text).into_iter().map(|found| &text[found.range]).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn a_name_alone_makes_no_secret() {
        check("let token = parser.next_token();", &[]);
        check("max_tokens: 8000, token_count = 12345678", &[]);
        check("password: String, secret: Option<Secret>", &[]);
        check("export API_TOKEN=$CI_TOKEN", &[]);
        check("password = os.environ['DB_PASSWORD']", &[]);
        check("the token `file_read` and the secret are described in docs/secrets.md", &[]);
        check("DB_PASSWORD=hunter2-Xy9!", &["hunter2-Xy9!"]);
        check(r#"{"api_key": "9f8a7c6b5d4e3f2a1b0c"}"#, &["9f8a7c6b5d4e3f2a1b0c"]);
    }
}
