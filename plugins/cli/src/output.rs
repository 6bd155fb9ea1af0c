//! What does a caller see of a program's output? Text whose middle may be left out, with what was left out. Pure.

use serde::Serialize;

/// One stream as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// The text; a line in brackets stands for what was left out.
    pub(crate) text: String,
    /// Bytes of the whole stream.
    pub(crate) total: u64,
    /// Bytes that were left out.
    pub(crate) omitted: u64,
    /// Whether all that is shown was UTF-8.
    pub(crate) is_utf8: bool,
}

impl Text {
    /// Puts head and tail together. They are decoded as wholes, so that a character which came in pieces is one; one
    /// that is cut by the gap is left out.
    pub(crate) fn new(mut head: Vec<u8>, tail: Vec<u8>, total: u64) -> Text {
        let kept = (head.len() + tail.len()) as u64;
        let mut omitted = total.saturating_sub(kept);
        if omitted == 0 {
            head.extend_from_slice(&tail);
            let (text, is_utf8) = decode(head);
            return Text { text, total, omitted, is_utf8 };
        }
        let whole = head.len() - unfinished(&head);
        let start = continued(&tail);
        omitted += (head.len() - whole + start) as u64;
        head.truncate(whole);
        let (mut text, head_is_utf8) = decode(head);
        let (end, tail_is_utf8) = decode(tail[start..].to_vec());
        text.push_str(&format!("\n[… {omitted} bytes left out …]\n"));
        text.push_str(&end);
        Text { text, total, omitted, is_utf8: head_is_utf8 && tail_is_utf8 }
    }
}

fn decode(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
    }
}

/// How many bytes at the end begin a character that they do not end.
fn unfinished(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let needs = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if needs > back { back } else { 0 };
    }
    0
}

/// How many bytes at the beginning belong to a character that began before.
fn continued(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| (0x80..=0xbf).contains(*byte)).count()
}

/// What is known of both streams besides their text, for the answer's metadata.
#[derive(Serialize)]
pub(crate) struct Streams {
    stdout: Stream,
    stderr: Stream,
}

#[derive(Serialize)]
struct Stream {
    bytes: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "is_zero")]
    omitted_bytes: u64,
    utf8: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'static str>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// What is known of both streams.
pub(crate) fn streams(out: &Text, err: &Text) -> Option<String> {
    let stream = |text: &Text| Stream {
        bytes: text.total,
        truncated: text.omitted > 0,
        omitted_bytes: text.omitted,
        utf8: text.is_utf8,
        policy: (text.omitted > 0).then_some("all was read; beginning and end were kept"),
    };
    json(&Streams { stdout: stream(out), stderr: stream(err) })
}

/// One JSON object. Only keys that are no text could make this fail, and there are none.
pub(crate) fn json(facts: &impl Serialize) -> Option<String> {
    serde_json::to_string(facts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_in_pieces_are_whole_again() {
        let text = Text::new("你".repeat(3).into_bytes(), Vec::new(), 9);
        assert_eq!((text.text.as_str(), text.is_utf8, text.omitted), ("你你你", true, 0));
    }

    #[test]
    fn a_gap_cuts_no_character() {
        let bytes = "€".as_bytes();
        let text = Text::new([b"a", &bytes[..2]].concat(), [&bytes[1..], b"z"].concat(), 100);
        assert_eq!(text.text, "a\n[… 98 bytes left out …]\nz");
        assert!(text.is_utf8);
    }

    #[test]
    fn bytes_that_are_no_text_lose_nothing_beside_them() {
        let text = Text::new(b"\xff\xfe\xe9ok".to_vec(), Vec::new(), 5);
        assert!(text.text.ends_with("ok") && !text.is_utf8);
    }
}
