//! In which encoding is a file? Turns bytes into text and back, strictly: what is not text stays bytes.
//!
//! Knows no files and no tools.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A run of at least so many NUL bytes is a hole of a sparse file: holes are whole disk sectors.
const HOLE: usize = 512;

/// The encodings that a file can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "utf-16le")]
    Utf16Le,
    #[serde(rename = "utf-16be")]
    Utf16Be,
    #[serde(rename = "latin-1")]
    Latin1,
}

/// What the caller says about the encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Choice {
    /// By the byte order mark; UTF-8 without one.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "utf-16le")]
    Utf16Le,
    #[serde(rename = "utf-16be")]
    Utf16Be,
    #[serde(rename = "latin-1")]
    Latin1,
}

/// What the first bytes of a file and the caller's choice say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) encoding: Encoding,
    /// Length of the byte order mark, 0 without one. It belongs to the file and not to its text.
    pub(crate) mark: usize,
}

/// Text, or bytes that are none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    Text { text: String, encoding: Encoding, hints: Hints },
    Binary(Vec<u8>),
}

/// How far the text is not simply what the file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// The bytes are not UTF-8 and nobody said what they are; they were taken for Latin-1.
    pub(crate) guessed: bool,
    /// So many NUL bytes of holes were replaced by a remark.
    pub(crate) hole_bytes: u64,
}

impl Encoding {
    /// Bytes of the smallest unit of text.
    pub(crate) fn width(self) -> usize {
        match self {
            Encoding::Utf8 | Encoding::Latin1 => 1,
            Encoding::Utf16Le | Encoding::Utf16Be => 2,
        }
    }
}

/// The encoding of a file that begins with `head`.
pub(crate) fn form(choice: Choice, head: &[u8]) -> Form {
    let marked = match head {
        [0xEF, 0xBB, 0xBF, ..] => Some(Form { encoding: Encoding::Utf8, mark: 3 }),
        [0xFF, 0xFE, ..] => Some(Form { encoding: Encoding::Utf16Le, mark: 2 }),
        [0xFE, 0xFF, ..] => Some(Form { encoding: Encoding::Utf16Be, mark: 2 }),
        _ => None,
    };
    let encoding = match choice {
        Choice::Auto => {
            return marked.unwrap_or(Form { encoding: Encoding::Utf8, mark: 0 });
        }
        Choice::Utf8 => Encoding::Utf8,
        Choice::Utf16Le => Encoding::Utf16Le,
        Choice::Utf16Be => Encoding::Utf16Be,
        Choice::Latin1 => Encoding::Latin1,
    };
    // A mark of another encoding is content to a caller who insists on this one.
    marked.filter(|form| form.encoding == encoding).unwrap_or(Form { encoding, mark: 0 })
}

/// The byte order mark of an encoding.
pub(crate) fn mark(encoding: Encoding) -> &'static [u8] {
    match encoding {
        Encoding::Utf8 => &[0xEF, 0xBB, 0xBF],
        Encoding::Utf16Le => &[0xFF, 0xFE],
        Encoding::Utf16Be => &[0xFE, 0xFF],
        Encoding::Latin1 => &[],
    }
}

/// The text of bytes without a mark, or the bytes if they are not valid in the encoding.
pub(crate) fn decode(bytes: Vec<u8>, encoding: Encoding) -> Result<String, Vec<u8>> {
    match encoding {
        Encoding::Utf8 => String::from_utf8(bytes).map_err(|error| error.into_bytes()),
        Encoding::Utf16Le => decode_utf16(bytes, u16::from_le_bytes),
        Encoding::Utf16Be => decode_utf16(bytes, u16::from_be_bytes),
        Encoding::Latin1 => Ok(bytes.into_iter().map(char::from).collect()),
    }
}

fn decode_utf16(bytes: Vec<u8>, unit: fn([u8; 2]) -> u16) -> Result<String, Vec<u8>> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(bytes);
    }
    let text: Result<String, _> = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect();
    text.map_err(|_| bytes)
}

/// The bytes of a text, or the first character that the encoding does not have.
pub(crate) fn encode(text: &str, encoding: Encoding) -> Result<Cow<'_, [u8]>, char> {
    match encoding {
        Encoding::Utf8 => Ok(Cow::Borrowed(text.as_bytes())),
        Encoding::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        Encoding::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        Encoding::Latin1 => text.chars().map(|letter| u8::try_from(letter).map_err(|_| letter)).collect(),
    }
}

/// Text for a reader: what has NUL in it or is not valid in the encoding is binary. `part` says that the bytes are a
/// piece of a larger file, in which holes are skipped, since the end of a sparse log has to be readable.
pub(crate) fn readable(bytes: Vec<u8>, encoding: Encoding, choice: Choice, part: bool) -> Decoded {
    let bytes = match decode(bytes, encoding) {
        Ok(text) if memchr::memchr(0, text.as_bytes()).is_none() => {
            return Decoded::Text { text, encoding, hints: Hints::default() };
        }
        Ok(text) if encoding.width() == 1 && encoding != Encoding::Latin1 => text.into_bytes(),
        // What was decoded to a copy is given back in its encoding, which cannot fail.
        Ok(text) => return Decoded::Binary(encode(&text, encoding).unwrap_or_default().into_owned()),
        Err(bytes) => bytes,
    };
    if memchr::memchr(0, &bytes).is_some() {
        return if part { readable_with_holes(bytes, encoding) } else { Decoded::Binary(bytes) };
    }
    if choice == Choice::Auto && encoding == Encoding::Utf8 && bytes.iter().all(|byte| is_printable(*byte)) {
        let text = bytes.into_iter().map(char::from).collect();
        let hints = Hints { guessed: true, hole_bytes: 0 };
        return Decoded::Text { text, encoding: Encoding::Latin1, hints };
    }
    Decoded::Binary(bytes)
}

/// Compressed and executable content is full of control characters; text in an old encoding has next to none.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B | 0x20..=0x7E | 0x80..)
}

fn readable_with_holes(bytes: Vec<u8>, encoding: Encoding) -> Decoded {
    let (rest, hole_bytes) = match without_holes(&bytes) {
        Some(found) => found,
        None => return Decoded::Binary(bytes),
    };
    match decode(rest, encoding) {
        Ok(text) => Decoded::Text { text, encoding, hints: Hints { guessed: false, hole_bytes } },
        Err(_) => Decoded::Binary(bytes),
    }
}

/// The bytes with each hole replaced by a remark, and the length of all holes; `None` if there is another NUL.
fn without_holes(bytes: &[u8]) -> Option<(Vec<u8>, u64)> {
    let mut kept = Vec::new();
    let mut holes = 0;
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(0, rest) {
        let (before, from) = rest.split_at(at);
        let run = from.iter().take_while(|byte| **byte == 0).count();
        if run < HOLE {
            return None;
        }
        kept.extend_from_slice(before);
        kept.extend_from_slice(format!("[{run} NUL bytes]").as_bytes());
        holes += run as u64;
        rest = from.split_at(run).1;
    }
    kept.extend_from_slice(rest);
    Some((kept, holes))
}

/// The part of a window that has no half characters at its ends: how many bytes to leave out before and after.
pub(crate) fn half_characters(bytes: &[u8], encoding: Encoding) -> (usize, usize) {
    match encoding {
        Encoding::Latin1 => (0, 0),
        Encoding::Utf8 => half_utf8(bytes),
        Encoding::Utf16Le => half_utf16(bytes, u16::from_le_bytes),
        Encoding::Utf16Be => half_utf16(bytes, u16::from_be_bytes),
    }
}

fn half_utf8(bytes: &[u8]) -> (usize, usize) {
    let is_inner = |byte: &&u8| **byte & 0xC0 == 0x80;
    let before = bytes.iter().take(3).take_while(is_inner).count();
    let inner = bytes.iter().rev().take(3).take_while(is_inner).count();
    let after = match bytes.iter().rev().nth(inner) {
        Some(0xC0..=0xDF) if inner < 1 => inner + 1,
        Some(0xE0..=0xEF) if inner < 2 => inner + 1,
        Some(0xF0..=0xF7) if inner < 3 => inner + 1,
        _ => 0,
    };
    (before, after)
}

fn half_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (usize, usize) {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let first = pairs.first().map(|pair| unit(*pair));
    let last = pairs.last().map(|pair| unit(*pair));
    let before = if first.is_some_and(|unit| (0xDC00..=0xDFFF).contains(&unit)) { 2 } else { 0 };
    let after = if last.is_some_and(|unit| (0xD800..=0xDBFF).contains(&unit)) { 2 } else { 0 };
    (before, after + rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn understands_marks() {
        let check = |choice, head: &[u8], encoding, mark| assert_eq!(form(choice, head), Form { encoding, mark });
        check(Choice::Auto, b"abc", Encoding::Utf8, 0);
        check(Choice::Auto, b"\xEF\xBB\xBFabc", Encoding::Utf8, 3);
        check(Choice::Auto, b"\xFF\xFEa\0", Encoding::Utf16Le, 2);
        check(Choice::Auto, b"\xFE\xFF\0a", Encoding::Utf16Be, 2);
        check(Choice::Utf16Le, b"\xFF\xFEa\0", Encoding::Utf16Le, 2);
        check(Choice::Utf16Le, b"a\0", Encoding::Utf16Le, 0);
        check(Choice::Latin1, b"\xEF\xBB\xBFabc", Encoding::Latin1, 0);
    }

    #[test]
    fn encodes_what_it_decodes() {
        for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be] {
            for text in ["", "a\nb", "r\u{e9}sum\u{e9} \u{1F600}\0"] {
                let bytes = encode(text, encoding).unwrap().into_owned();
                assert_eq!(decode(bytes, encoding).unwrap(), text, "{encoding:?}");
            }
        }
        assert_eq!(encode("caf\u{e9}", Encoding::Latin1).unwrap().as_ref(), b"caf\xE9");
        assert_eq!(encode("5\u{20AC}", Encoding::Latin1), Err('\u{20AC}'));
        assert!(decode(vec![0x3D, 0xD8], Encoding::Utf16Le).is_err());
        assert!(decode(vec![0x3D], Encoding::Utf16Le).is_err());
    }

    #[test]
    fn tells_text_from_bytes() {
        let check = |bytes: &[u8], choice, part, expect: Option<(&str, Encoding)>| {
            let encoding = form(choice, bytes).encoding;
            match (readable(bytes.to_vec(), encoding, choice, part), expect) {
                (Decoded::Text { text, encoding, .. }, Some(expect)) => assert_eq!((text.as_str(), encoding), expect),
                (Decoded::Binary(left), None) => assert_eq!(left, bytes),
                (got, expect) => panic!("{bytes:?}: got {got:?}, expected {expect:?}"),
            }
        };
        check("h\u{e9}".as_bytes(), Choice::Auto, false, Some(("h\u{e9}", Encoding::Utf8)));
        check(b"a\0b", Choice::Auto, false, None);
        check(b"h\xE9 ho", Choice::Auto, false, Some(("h\u{e9} ho", Encoding::Latin1)));
        check(b"h\xE9 ho", Choice::Utf8, false, None);
        check(b"\x89PNG\r\n\x1A\n\0", Choice::Auto, false, None);
        check(b"\x1F\x8B\x08\xFF", Choice::Auto, false, None);
        check(b"a\0b", Choice::Utf16Le, false, None);
        check(b"a\0\0\0", Choice::Utf16Le, false, None);
        check(&[0; 600], Choice::Auto, false, None);
        check(&[0; 600], Choice::Auto, true, Some(("[600 NUL bytes]", Encoding::Utf8)));
        check(&[&[0; 600][..], b"\nend"].concat(), Choice::Auto, true, Some(("[600 NUL bytes]\nend", Encoding::Utf8)));
        check(&[&[0; 600][..], b"a\0"].concat(), Choice::Auto, true, None);
    }

    #[test]
    fn cuts_no_character() {
        let smile = "a\u{1F600}b".as_bytes();
        let check = |bytes: &[u8], expect| assert_eq!(half_characters(bytes, Encoding::Utf8), expect, "{bytes:?}");
        check(smile, (0, 0));
        check(&smile[..2], (0, 1));
        check(&smile[..4], (0, 3));
        check(&smile[2..], (3, 0));
        check(&smile[3..], (2, 0));
        check("\u{e9}".as_bytes(), (0, 0));
        let wide = encode("a\u{1F600}", Encoding::Utf16Le).unwrap();
        assert_eq!(half_characters(&wide[..4], Encoding::Utf16Le), (0, 2));
        assert_eq!(half_characters(&wide[4..], Encoding::Utf16Le), (2, 0));
        assert_eq!(half_characters(&wide[..3], Encoding::Utf16Le), (0, 1));
    }
}
