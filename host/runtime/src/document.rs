//! How is a file that a person wrote read, and how is a mistake in it shown? TOML in, a typed value or a fault with
//! file, line, column and the nearest known key out. Must not know what the files mean.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::{Path, PathBuf};

/// A mistake in a file that a person can mend.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// Line, counted from 1; 0 when the whole file is meant.
    pub line: usize,
    /// Column, counted from 1 in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Fault {
    /// A fault of a whole file.
    pub fn whole(file: &Path, message: impl Into<String>) -> Fault {
        Fault { file: file.to_owned(), line: 0, column: 0, message: message.into(), hint: None }
    }

    /// The fault with a way out.
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// A fault at a byte of a text.
    pub fn at(file: &Path, text: &str, offset: usize, message: impl Into<String>) -> Fault {
        let before = &text[..floor_char_boundary(text, offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Fault {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
            hint: None,
        }
    }

    /// A fault at the place where a key first stands in a text, or of the whole file if it does not.
    pub fn at_key(file: &Path, text: &str, key: &str, message: impl Into<String>) -> Fault {
        let found = text.match_indices(key).find(|(start, _)| {
            let end = start + key.len();
            let is_key_char = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let line = text[..*start].rfind('\n').map_or(0, |newline| newline + 1);
            let is_comment = text[line..*start].contains('#');
            !is_comment && !text[..*start].ends_with(is_key_char) && !text[end..].starts_with(is_key_char)
        });
        match found {
            Some((start, _)) => Fault::at(file, text, start, message),
            None => Fault::whole(file, message),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

/// Many faults, so that all are mended at once.
#[derive(Clone, Debug, Serialize)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Faults {
        Faults(vec![fault])
    }
}

/// Largest file that a person writes for the runtime, in bytes.
const LARGEST: u64 = 4 << 20;

/// Reads a text file that a person wrote. Somebody else may have put it there, so links are not followed, pipes and
/// devices are not opened, and its size is bounded.
pub fn read_text(file: &Path) -> std::io::Result<String> {
    String::from_utf8(read_regular(file, LARGEST)?)
        .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads a regular file that is no larger than `limit`, without following a link or waiting on anything.
pub fn read_regular(file: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    use rustix::fs::{FileType, Mode, OFlags};
    use std::io::Read;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let open = match rustix::fs::open(file, flags, Mode::empty()) {
        Err(rustix::io::Errno::LOOP) => return Err(std::io::Error::other("it is a link, which is not followed")),
        other => other?,
    };
    let status = rustix::fs::fstat(&open)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    // Room for all of it and one more byte: it is read at once, and its end is found without growing.
    let size = u64::try_from(status.st_size).unwrap_or(0).min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    std::fs::File::from(open).take(limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(std::io::Error::other(format!("it has more than {limit} bytes"))),
        false => Ok(bytes),
    }
}

/// Parses TOML into a type that refuses unknown keys.
pub fn from_toml<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, Fault> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().trim().to_owned();
        let fault = match error.span() {
            Some(span) => Fault::at(file, text, span.start, message.clone()),
            None => Fault::whole(file, message.clone()),
        };
        match nearest_key(&message) {
            Some(key) => fault.hint(format!("did you mean `{key}`?")),
            None => fault,
        }
    })
}

/// The known key that is nearest to the unknown one which serde's message names first.
fn nearest_key(message: &str) -> Option<&str> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().filter(|_| message.starts_with("unknown "))?;
    nearest(unknown, quoted)
}

/// The one of some words that is most like another one, if any is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_many(word, known, 1).first().copied()
}

/// Up to `count` words that are like another one, the nearest first.
pub fn nearest_many<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    // A word this long is like no name, and comparing it would cost its length for each.
    if word.len() > 128 {
        return Vec::new();
    }
    let lower = word.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(score, _)| *score > 0.78)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.truncate(count);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The largest character border at or before a byte offset.
pub fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Text with control, invisible and bidirectional characters made visible, for messages and terminals.
pub fn printable(text: &str) -> String {
    if !text.chars().any(is_deceptive) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if is_deceptive(c) { c.escape_unicode().collect() } else { vec![c] }).collect()
}

/// Whether a character changes what a reader sees without being seen.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// `printable`, and no longer than `limit` bytes.
pub fn excerpt(text: &str, limit: usize) -> String {
    let cut = floor_char_boundary(text, limit);
    let ellipsis = if cut < text.len() { "…" } else { "" };
    format!("{}{ellipsis}", printable(&text[..cut]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Sample {
        colour: String,
        size: Option<u8>,
    }

    #[test]
    fn an_unknown_key_is_shown_with_its_place_and_the_nearest_one() {
        let fault = from_toml::<Sample>(Path::new("a.toml"), "size = 1\ncolor = \"red\"\n").unwrap_err();
        assert_eq!((fault.line, fault.column), (2, 1));
        assert_eq!(fault.hint.as_deref(), Some("did you mean `colour`?"));
    }

    #[test]
    fn what_deceives_a_reader_is_made_visible() {
        assert_eq!(printable("a\u{202e}b\x1b[2J"), "a\\u{202e}b\\u{1b}[2J");
    }

    #[test]
    fn an_excerpt_cuts_no_character() {
        assert_eq!(excerpt("ééé", 3), "é…");
    }
}
