//! What does one line of a server say? Its outline is read without reading what the result holds: that goes to the
//! component byte for byte. Lines that are no message are noise. Must not know what was asked.

use rmcp::model::{RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What a line is.
#[derive(Debug)]
pub(super) enum Frame {
    /// The answer to a request, with its result as it was sent.
    Result(RequestId, Box<str>),
    /// Anything else that is a message: errors, notifications, the server's own requests.
    Message(Box<ServerJsonRpcMessage>),
    /// An answer that cannot be read, to this request.
    Broken(RequestId, String),
    /// No message at all.
    Noise,
}

#[derive(Deserialize)]
struct Outline<'a> {
    jsonrpc: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// Reads one line. `is_open` says whether a request is still waited for; an answer to any other is nobody's.
pub(super) fn read(line: &[u8], is_open: impl Fn(&RequestId) -> bool) -> Frame {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    let text = String::from_utf8_lossy(line);
    if !text.starts_with('{') {
        return Frame::Noise;
    }
    let text = mend(&text);
    let Ok(outline) = serde_json::from_str::<Outline>(&text) else { return Frame::Noise };
    if outline.jsonrpc != "2.0" {
        return Frame::Noise;
    }
    let id = outline.id.and_then(|id| serde_json::from_str::<RequestId>(id.get()).ok());
    match (id, outline.result) {
        (Some(id), Some(result)) if is_open(&id) => Frame::Result(id, result.get().into()),
        (id, _) => match (serde_json::from_str(&text), id) {
            (Ok(message), _) => Frame::Message(Box::new(message)),
            (Err(error), Some(id)) if is_open(&id) => Frame::Broken(id, error.to_string()),
            (Err(_), _) => Frame::Noise,
        },
    }
}

/// Half of a surrogate pair becomes U+FFFD: no strict reader of what is recorded or passed on would take it.
pub(super) fn mend(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut made: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        let start = at + found;
        let Some(unit) = unit(bytes, start) else {
            // Another escape, two bytes long; a second backslash is its own.
            at = (start + 2).min(bytes.len());
            continue;
        };
        let low = || unit_of(bytes, start + 6).filter(|low| (0xDC00..0xE000).contains(low));
        at = start + 6;
        match unit {
            0xD800..0xDC00 if low().is_some() => at = start + 12,
            0xD800..0xE000 => {
                let made = made.get_or_insert_with(|| String::with_capacity(text.len()));
                made.push_str(&text[copied..start]);
                made.push_str("\\ufffd");
                copied = at;
            }
            _ => {}
        }
    }
    match made {
        Some(mut made) => {
            made.push_str(&text[copied..]);
            Cow::Owned(made)
        }
        None => Cow::Borrowed(text),
    }
}

/// The code unit of an escape that begins at a backslash.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    (bytes.get(at + 1) == Some(&b'u')).then(|| unit_of(bytes, at)).flatten()
}

fn unit_of(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_pairs_are_replaced_and_nothing_else_is() {
        for (given, wanted) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uDE00x""#, r#""\ufffdx""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\\ud83d \u0000 \ufffe \n""#, r#""\\ud83d \u0000 \ufffe \n""#),
            (r#""\ud8"#, r#""\ud8"#),
            ("ä\\", "ä\\"),
        ] {
            assert_eq!(mend(given), wanted, "{given}");
        }
    }

    #[test]
    fn a_result_is_passed_as_it_is_however_deep() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{deep}}}");
        match read(line.as_bytes(), |_| true) {
            Frame::Result(id, result) => assert_eq!((id, &*result), (RequestId::Number(3), deep.as_str())),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_no_message_is_noise() {
        for line in
            ["Starting...", "", "{\"log\":1}", "\u{1b}[31mred", "[1]", "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":1}"]
        {
            assert!(matches!(read(line.as_bytes(), |_| true), Frame::Noise), "{line}");
        }
        let unasked = br#"{"jsonrpc":"2.0","id":9,"result":{"a":[[]]}}"#;
        assert!(!matches!(read(unasked, |_| false), Frame::Result(..)));
        let error = br#"{"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"x"}}"#;
        assert!(matches!(read(error, |_| true), Frame::Message(_)));
    }
}
