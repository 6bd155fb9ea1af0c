//! Which characters does a JSON string stand for? Pure.

/// Why a string cannot be read.
#[derive(Debug, PartialEq)]
pub(super) enum Broken {
    /// Half of a surrogate pair, at a byte.
    Surrogate { at: usize },
    /// Something else, at a byte.
    Other { at: usize, what: &'static str },
}

/// Bytes that are looked at in one go; the loop over them has no branch, so it becomes a few wide instructions.
const WIDE: usize = 32;

/// Reads the string whose opening quote stands at `open`. Gives its characters and where it ends.
pub(super) fn read(text: &str, open: usize) -> Result<(String, usize), Broken> {
    let start = open + 1;
    let plain = plain_until(text.as_bytes(), start);
    if text.as_bytes().get(plain) == Some(&b'"') {
        return Ok((text[start..plain].to_owned(), plain + 1));
    }
    let mut string = text[start..plain].to_owned();
    let mut at = plain;
    loop {
        match text.as_bytes().get(at) {
            Some(b'"') => return Ok((string, at + 1)),
            Some(b'\\') => {
                let (character, end) = escape(text, at)?;
                string.push(character);
                let plain = plain_until(text.as_bytes(), end);
                string.push_str(&text[end..plain]);
                at = plain;
            }
            Some(_) => return Err(Broken::Other { at, what: "a control character in text is written as an escape" }),
            None => return Err(Broken::Other { at, what: "the text has no closing quote" }),
        }
    }
}

/// Where the first byte is that is not simply a part of the string.
fn plain_until(bytes: &[u8], start: usize) -> usize {
    let is_special = |byte: u8| (byte == b'"') | (byte == b'\\') | (byte < 0x20);
    let mut at = start;
    while let Some(wide) = bytes.get(at..at + WIDE) {
        if wide.iter().fold(false, |found, byte| found | is_special(*byte)) {
            break;
        }
        at += WIDE;
    }
    bytes[at..].iter().position(|byte| is_special(*byte)).map_or(bytes.len(), |position| at + position)
}

/// The character of the escape at a backslash, and where it ends.
fn escape(text: &str, at: usize) -> Result<(char, usize), Broken> {
    let unknown = || Broken::Other { at, what: "there is no such escape" };
    let character = match text.as_bytes().get(at + 1).ok_or_else(unknown)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return four_digits(text, at),
        _ => return Err(unknown()),
    };
    Ok((character, at + 2))
}

fn four_digits(text: &str, at: usize) -> Result<(char, usize), Broken> {
    let unit = |at: usize| {
        let digits = text.get(at + 2..at + 6).filter(|_| text[at..].starts_with("\\u"))?;
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| all)
    };
    let high = unit(at).ok_or(Broken::Other { at, what: r"`\u` wants four hexadecimal digits" })?;
    if let Some(character) = char::from_u32(high) {
        return Ok((character, at + 6));
    }
    let low = text.get(at + 6..).and_then(|_| unit(at + 6));
    match low {
        Some(low @ 0xdc00..=0xdfff) if high < 0xdc00 => {
            let scalar = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            char::from_u32(scalar).map(|character| (character, at + 12)).ok_or(Broken::Surrogate { at })
        }
        _ => Err(Broken::Surrogate { at }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_read_or_named() {
        assert_eq!(read(r#""a\u00e9\ud83d\ude00\n\/" x"#, 0), Ok(("aé😀\n/".to_owned(), 25)));
        for half in [r#""\ud83d""#, r#""\ud83dx""#, r#""\ude00\ud83d""#, r#""\ud83d\ud83d""#, r#""\ud83d\u0041""#] {
            assert_eq!(read(half, 0), Err(Broken::Surrogate { at: 1 }), "{half}");
        }
        for wrong in [r#""\x""#, r#""\u12""#, r#""\u+123""#, r#""\u12é4""#, "\"a", "\"\\", "\"\\u", "\"a\nb\""] {
            assert!(matches!(read(wrong, 0), Err(Broken::Other { .. })), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_everybody_writes_is_read(string in "\\PC{0,80}", odd in "[\u{0}-\u{20}\"\\\\é😀]{0,40}") {
            let string = format!("{string}{odd}");
            let written = serde_json::to_string(&string).unwrap();
            prop_assert_eq!(read(&written, 0), Ok((string, written.len())));
        }
    }
}
