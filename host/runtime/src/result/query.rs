//! What is a caller looking for? The words and paths of its task, ready to be found in a result. Must not know what a
//! result looks like.

use std::collections::HashMap;

/// Words of a task that count; further ones say little and cost time in every line.
const MOST_TERMS: usize = 64;
/// Paths of a task that count.
const MOST_PATHS: usize = 16;
/// Longest word that is looked at, in bytes. A longer one is data, not language.
const LONGEST: usize = 64;
/// Words that say nothing about what is looked for.
const STOP: &[&str] = &[
    "the",
    "and",
    "for",
    "with",
    "from",
    "that",
    "this",
    "are",
    "was",
    "were",
    "what",
    "which",
    "when",
    "where",
    "why",
    "how",
    "all",
    "any",
    "into",
    "its",
    "it",
    "is",
    "in",
    "on",
    "of",
    "to",
    "be",
    "by",
    "as",
    "at",
    "an",
    "or",
    "if",
    "do",
    "does",
    "not",
    "no",
    "we",
    "you",
    "me",
    "my",
    "our",
    "can",
    "should",
    "would",
    "please",
    "find",
    "out",
    "look",
    "see",
    "show",
    "get",
    "has",
    "have",
    "had",
    "there",
    "then",
    "than",
    "about",
    "under",
    "after",
    "before",
    "workspace",
    "file",
    "files",
    "true",
    "false",
    "null",
];

/// What a caller is looking for. Lifetime: the call.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Its words, each with its place among the terms.
    pub(super) terms: HashMap<u64, usize>,
    /// What each term counts: a root that a word shares says less than the word.
    pub(super) counts: Vec<f32>,
    /// Its paths as components joined by `/`, without the workspace's own name.
    pub(super) paths: Vec<String>,
}

impl Query {
    /// What a text looks for: its words, parts of names (`parseConfig`, `max_retries`) and its paths.
    pub fn of(text: &str) -> Query {
        let mut query = Query::default();
        query.add(text);
        query
    }

    /// The same of several texts.
    pub fn of_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> Query {
        let mut query = Query::default();
        texts.into_iter().for_each(|text| query.add(text));
        query
    }

    /// Whether it looks for anything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.paths.is_empty()
    }

    fn add(&mut self, text: &str) {
        for word in text.split(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>=".contains(c)) {
            if self.paths.len() < MOST_PATHS
                && let Some(path) = path(word).filter(|path| !self.paths.contains(path))
            {
                self.paths.push(path);
            }
        }
        words(text, |word, hash| {
            if !STOP.contains(&word) && (word.len() > 1 || !word.is_ascii()) {
                self.term(hash, 1.0);
                root(word).into_iter().for_each(|root| self.term(root, ROOT_COUNTS));
            }
        });
    }
}

impl Query {
    fn term(&mut self, hash: u64, counts: f32) {
        if self.counts.len() < MOST_TERMS && !self.terms.contains_key(&hash) {
            self.terms.insert(hash, self.counts.len());
            self.counts.push(counts);
        }
    }
}

/// The path that a word is, if it is one: it has a slash, or an ending as files have.
fn path(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| ".:!?*".contains(c));
    if word.contains("://") || word.len() > 512 {
        return None;
    }
    let word = word.strip_prefix("/workspace").unwrap_or(word);
    let components: Vec<&str> = word.split('/').filter(|part| !matches!(*part, "" | "." | ".." | "*" | "**")).collect();
    let has_ending = components.last().and_then(|name| name.rsplit_once('.')).is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic())
    });
    (components.len() > 1 || has_ending).then(|| components.join("/"))
}

/// Calls `found` for each word of a text in its simple form: lower case, without an English plural. A name of several
/// words (`parseConfig`, `max_retries`) is given as a whole and word by word.
pub(super) fn words(text: &str, mut found: impl FnMut(&str, u64)) {
    let (mut whole, mut part) = (Word::default(), Word::default());
    let mut parts = 0;
    let mut before = ' ';
    for c in text.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && before.is_lowercase() {
                parts += usize::from(part.end(&mut found));
            }
            whole.push(c);
            part.push(c);
        } else if c == '_' && whole.length > 0 {
            parts += usize::from(part.end(&mut found));
            whole.push(c);
        } else {
            finish(&mut whole, &mut part, &mut parts, &mut found);
        }
        before = c;
    }
    finish(&mut whole, &mut part, &mut parts, &mut found);
}

fn finish(whole: &mut Word, part: &mut Word, parts: &mut usize, found: &mut impl FnMut(&str, u64)) {
    if std::mem::take(parts) > 0 {
        part.end(&mut *found);
    }
    (part.length, part.too_long) = (0, false);
    whole.end(found);
}

/// A word that grows. Fixed, so that looking through a large text allocates nothing.
struct Word {
    bytes: [u8; LONGEST],
    length: usize,
    too_long: bool,
}

impl Default for Word {
    fn default() -> Word {
        Word { bytes: [0; LONGEST], length: 0, too_long: false }
    }
}

impl Word {
    fn push(&mut self, c: char) {
        let mut put = |c: char| {
            let mut buffer = [0; 4];
            let encoded = c.encode_utf8(&mut buffer).as_bytes();
            match self.bytes.get_mut(self.length..self.length + encoded.len()) {
                Some(place) => {
                    place.copy_from_slice(encoded);
                    self.length += encoded.len();
                }
                None => self.too_long = true,
            }
        };
        if c.is_ascii() { put(c.to_ascii_lowercase()) } else { c.to_lowercase().for_each(put) }
    }

    /// Gives the word, if there is one, and begins a new one.
    fn end(&mut self, found: impl FnOnce(&str, u64)) -> bool {
        let (length, too_long) = (self.length, self.too_long);
        (self.length, self.too_long) = (0, false);
        if length == 0 || too_long {
            return false;
        }
        match std::str::from_utf8(&self.bytes[..length]) {
            Ok(word) => {
                let stem = stem(word);
                found(stem, hash(stem.as_bytes()));
                true
            }
            Err(_) => false,
        }
    }
}

/// How much of a word two words have in common that mean about the same, in bytes: `deploy` and `deployment`.
const ROOT: usize = 6;
/// What a shared root counts beside a shared word.
const ROOT_COUNTS: f32 = 0.6;

/// The beginning that a word shares with others of its root.
pub(super) fn root(word: &str) -> Option<u64> {
    // The byte in front keeps a root apart from the word that is spelt like it.
    (word.len() >= ROOT && word.is_ascii()).then(|| word.as_bytes()[..ROOT].iter().fold(hash(b"^"), step))
}

/// `files` and `file` are one word, `class` and `status` stay what they are.
fn stem(word: &str) -> &str {
    if word.len() > 4 && word.ends_with("ies") {
        return &word[..word.len() - 3];
    }
    if let Some(stem) = word.strip_suffix("es").filter(|stem| stem.ends_with(['s', 'x', 'z']) || stem.ends_with("ch")) {
        return stem;
    }
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with(['s', 'u', 'i']) => stem,
        // `retry` and `retries`, but not `deploy`.
        _ => word
            .strip_suffix('y')
            .filter(|stem| stem.len() > 3 && !stem.ends_with(['a', 'e', 'o', 'u']))
            .unwrap_or(word),
    }
}

/// FNV-1a. Only for finding words again within one call; two words with one hash would rank a line wrongly, no more.
pub(super) const fn hash(bytes: &[u8]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut at = 0;
    while at < bytes.len() {
        hash = step(hash, &bytes[at]);
        at += 1;
    }
    hash
}

const fn step(hash: u64, byte: &u8) -> u64 {
    (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let mut found = Vec::new();
        words(text, |word, _| found.push(word.to_owned()));
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn names_are_words_and_wholes() {
        check("parseConfig", &["parse", "config", "parseconfig"]);
        check("max_retries, Files!", &["max", "retr", "max_retr", "file"]);
        check("class status", &["class", "status"]);
        check("Größe 12", &["größe", "12"]);
    }

    #[test]
    fn paths_are_found_among_the_words() {
        assert_eq!(
            Query::of("fix the handlers in `src/api`, see ./lib/a.rs and main.py.").paths,
            ["src/api", "lib/a.rs", "main.py"]
        );
        assert_eq!(Query::of("version 1.2 of https://a.example/x").paths, Vec::<String>::new());
        assert_eq!(Query::of("/workspace/src/api").paths, ["src/api"]);
    }
}
