//! `file_read`: what is in a file? Text whole or by lines, tail or bytes; binary content as bytes.

use serde::{Deserialize, Serialize};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::types::{Blob, Content};
use crate::encoding::{self, Choice, Decoded, Encoding, Form, Hints};
use crate::failure;
use crate::files::{Files, Source};
use crate::lines::{self, End, TEXT_LIMIT, Window};
use crate::{media, output, path};

/// Binary content up to this size is handed over; of more only facts are told.
const BINARY_LIMIT: u64 = 1024 * 1024;

/// Up to this size a digest costs less than the round trip that asks for it.
const DIGEST_LIMIT: u64 = 4 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
    tail: Option<u64>,
    byte_offset: Option<u64>,
    byte_length: Option<u32>,
    #[serde(default)]
    encoding: Choice,
    #[serde(default)]
    line_numbers: bool,
    #[serde(default)]
    with_digest: bool,
}

/// Which part is wanted.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Lines { first: u64, limit: Option<u64> },
    Tail(u64),
    Bytes { offset: u64, length: u32 },
}

/// The facts about an answer.
#[derive(Default, Serialize)]
struct Facts<'a> {
    path: &'a str,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<Encoding>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    byte_order_mark: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'static str>,
    truncated: bool,
    /// The first and the last line shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<[u64; 2]>,
    /// The bytes shown: the first, and the one after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_byte_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(crate) fn run(files: &impl Files, arguments: &Arguments) -> Result<Output, Error> {
    let part = part(arguments)?;
    let found = path::find(files, &arguments.path, |path| files.open(path))?;
    let source = &found.value;
    let size = source.size();
    // The digest comes first: if the file changes in between, a later write with it is refused and nothing is lost.
    let digest = if size <= DIGEST_LIMIT || arguments.with_digest {
        Some(source.digest().map_err(failure::reading)?)
    } else {
        None
    };
    let facts = Facts { path: &arguments.path, size, digest, ..Facts::default() };
    let mut answer = match part {
        Part::Whole => whole(source, arguments, facts)?,
        part => ranged(source, arguments, part, facts)?,
    };
    answer.metadata = output::on_disk(found.on_disk.as_deref());
    Ok(answer)
}

fn part(arguments: &Arguments) -> Result<Part, Error> {
    let lines = arguments.offset.is_some() || arguments.limit.is_some();
    let bytes = arguments.byte_offset.is_some() || arguments.byte_length.is_some();
    if u8::from(lines) + u8::from(bytes) + u8::from(arguments.tail.is_some()) > 1 {
        let hint = "give `offset` and `limit` for lines, or `tail`, or `byte_offset` and `byte_length`";
        return Err(failure::invalid("more than one kind of range is given", hint));
    }
    if arguments.line_numbers && (bytes || arguments.tail.is_some()) {
        let hint = "leave out `line_numbers`, or name lines by `offset` and `limit`";
        return Err(failure::invalid("line numbers are not known for a tail or a range of bytes", hint));
    }
    Ok(match arguments.tail {
        Some(lines) => Part::Tail(lines),
        None if bytes => Part::Bytes {
            offset: arguments.byte_offset.unwrap_or(0),
            length: arguments.byte_length.unwrap_or(TEXT_LIMIT as u32).min(BINARY_LIMIT as u32),
        },
        None if lines => Part::Lines { first: arguments.offset.unwrap_or(1).max(1), limit: arguments.limit },
        None => Part::Whole,
    })
}

/// The common case: one read, and the bytes become the text without a copy.
fn whole(source: &impl Source, arguments: &Arguments, mut facts: Facts) -> Result<Output, Error> {
    let mut bytes = source.read(0, TEXT_LIMIT as u32).map_err(failure::reading)?;
    let form = encoding::form(arguments.encoding, &bytes);
    let part = bytes.len() == TEXT_LIMIT && facts.size > TEXT_LIMIT as u64;
    if part {
        lines::cut_end(&mut bytes, form.encoding);
    }
    let head: [u8; 300] = first_bytes(&bytes);
    if form.mark > 0 {
        bytes.drain(..form.mark);
    }
    let length = bytes.len() as u64;
    match encoding::readable(bytes, form.encoding, arguments.encoding, part) {
        Decoded::Text { text, encoding, hints } => {
            note_form(&mut facts, form, encoding, hints);
            if part {
                let window = Shown { first: Some(1), from: form.mark as u64, length, end: End::Cut };
                note_window(&mut facts, &window, &text);
            } else if text.is_empty() {
                facts.note = Some("the file is empty".to_owned());
            }
            Ok(text_output(text, arguments.line_numbers.then_some(1), &facts))
        }
        Decoded::Binary(_) => binary(source, facts, &head),
    }
}

fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut head = [0; N];
    head.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    head
}

fn ranged(source: &impl Source, arguments: &Arguments, part: Part, mut facts: Facts) -> Result<Output, Error> {
    let head = source.read(0, 300).map_err(failure::reading)?;
    let form = encoding::form(arguments.encoding, &head);
    let (first, raw) = match part {
        Part::Whole => (Some(1), lines::range(source, form, 1, None)),
        Part::Lines { first, limit } => (Some(first), lines::range(source, form, first, limit)),
        Part::Tail(lines) => (None, lines::tail(source, form, lines)),
        Part::Bytes { offset, length } => (None, lines::bytes(source, form, offset, length)),
    };
    let Window { bytes, from, end } = raw.map_err(failure::reading)?;
    let mut shown = Shown { first, from, length: bytes.len() as u64, end };
    let is_bytes = matches!(part, Part::Bytes { .. });
    let bytes = if is_bytes { trim(bytes, form, &mut shown) } else { bytes };
    match encoding::readable(bytes, form.encoding, arguments.encoding, true) {
        Decoded::Text { text, encoding, hints } => {
            note_form(&mut facts, form, encoding, hints);
            note_window(&mut facts, &shown, &text);
            Ok(text_output(text, arguments.line_numbers.then_some(first).flatten(), &facts))
        }
        Decoded::Binary(_) if is_bytes => binary_range(source, facts, part, &head),
        Decoded::Binary(_) => {
            facts.media_type = Some(media::media_type(&arguments.path, &head));
            facts.truncated = true;
            facts.note = Some("these lines are not text; name bytes by `byte_offset` and `byte_length`".to_owned());
            Ok(output::with_note(Vec::new(), &facts, facts.note.as_deref()))
        }
    }
}

/// Leaves out halves of characters at the ends of a range of bytes, if that makes it text.
fn trim(mut bytes: Vec<u8>, form: Form, shown: &mut Shown) -> Vec<u8> {
    let (before, after) = encoding::half_characters(&bytes, form.encoding);
    let kept = bytes.len().saturating_sub(before + after);
    if kept == 0 && !bytes.is_empty() {
        return bytes;
    }
    bytes.truncate(before + kept);
    bytes.drain(..before);
    shown.from += before as u64;
    shown.length = kept as u64;
    bytes
}

/// Which piece of the file is shown.
struct Shown {
    first: Option<u64>,
    from: u64,
    length: u64,
    end: End,
}

fn note_form(facts: &mut Facts, form: Form, encoding: Encoding, hints: Hints) {
    facts.encoding = Some(encoding);
    facts.byte_order_mark = form.mark > 0;
    if hints.guessed {
        facts.note = Some("not valid UTF-8, shown as latin-1; pass `encoding` if it is another one".to_owned());
    }
    if hints.hole_bytes > 0 {
        facts.note = Some(format!("{} NUL bytes of holes are not shown", hints.hole_bytes));
    }
}

fn note_window(facts: &mut Facts, shown: &Shown, text: &str) {
    let to = shown.from + shown.length;
    facts.bytes = Some([shown.from, to]);
    let line_breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    let ends_line = text.ends_with('\n');
    if let Some(first) = shown.first.filter(|_| !text.is_empty()) {
        let last = first + line_breaks - u64::from(ends_line);
        facts.lines = Some([first, last]);
        facts.next_offset = (ends_line && to < facts.size).then_some(last + 1);
    }
    // Where a line was cut, only a byte says where to go on.
    facts.next_byte_offset = (facts.next_offset.is_none() && to < facts.size && !text.is_empty()).then_some(to);
    let note = match shown.end {
        End::Complete => return,
        End::Cut if shown.first.is_none() => {
            facts.truncated = true;
            format!("only the last {} bytes are shown; go back with `byte_offset` and `byte_length`", shown.length)
        }
        End::Cut => {
            facts.truncated = true;
            let next = match (facts.next_offset, facts.next_byte_offset) {
                (Some(line), _) => format!("offset={line}"),
                (None, byte) => format!("byte_offset={}", byte.unwrap_or(to)),
            };
            let (from, size) = (shown.from, facts.size);
            format!("bytes {from} to {to} of {size} are shown; go on with {next}, or take the end with `tail`")
        }
        End::Beyond { lines } if shown.first.is_some() => {
            format!("the range is past the end: the file has {lines} lines and {} bytes", facts.size)
        }
        End::Beyond { .. } => format!("the range is past the end: the file has {} bytes", facts.size),
        End::OutOfReach { lines } => {
            facts.truncated = true;
            format!(
                "the first {} bytes have only {lines} line breaks and lines are not looked for beyond; the file has \
                 {} bytes: use `tail`, or `byte_offset` and `byte_length`",
                shown.from, facts.size
            )
        }
    };
    facts.note = Some(match facts.note.take() {
        Some(before) => format!("{before}; {note}"),
        None => note,
    });
}

/// A whole binary file if it is small, else what is known of it.
fn binary(source: &impl Source, mut facts: Facts, head: &[u8]) -> Result<Output, Error> {
    let media_type = media::media_type(facts.path, head);
    facts.media_type = Some(media_type);
    if facts.size > BINARY_LIMIT {
        facts.truncated = true;
        facts.note = Some(format!(
            "a binary file of {} bytes ({media_type}), too large to show; `byte_offset` and `byte_length` take a piece",
            facts.size
        ));
        return Ok(output::with_note(Vec::new(), &facts, facts.note.as_deref()));
    }
    // As much as may be shown and no more, should the file have grown meanwhile.
    let data = source.read(0, BINARY_LIMIT as u32).map_err(failure::reading)?;
    Ok(output::with_note(vec![blob(data, media_type)], &facts, None))
}

fn binary_range(source: &impl Source, mut facts: Facts, part: Part, head: &[u8]) -> Result<Output, Error> {
    let (offset, length) = match part {
        Part::Bytes { offset, length } => (offset, length),
        Part::Whole | Part::Lines { .. } | Part::Tail(_) => (0, BINARY_LIMIT as u32),
    };
    let data = source.read(offset, length).map_err(failure::reading)?;
    let to = offset + data.len() as u64;
    facts.media_type = Some(media::media_type(facts.path, head));
    facts.bytes = Some([offset, to]);
    facts.next_byte_offset = (to < facts.size).then_some(to);
    // A piece of an image is no image.
    Ok(output::with_note(vec![blob(data, media::UNKNOWN)], &facts, None))
}

fn blob(data: Vec<u8>, media_type: &str) -> Content {
    Content::Binary(Blob { data, media_type: media_type.to_owned() })
}

fn text_output(text: String, first_line: Option<u64>, facts: &Facts) -> Output {
    let text = match first_line {
        Some(first) => numbered(&text, first),
        None => text,
    };
    output::with_note(vec![Content::Text(text)], facts, facts.note.as_deref())
}

fn numbered(text: &str, first: u64) -> String {
    let mut numbered = String::with_capacity(text.len() + text.len() / 4);
    for (number, line) in (first..).zip(text.split_inclusive('\n')) {
        numbered.push_str(&format!("{number:>6}\t{line}"));
    }
    numbered
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
