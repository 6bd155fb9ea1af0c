//! `file_write`: makes, overwrites, extends a file, or replaces a text in it, and loses nobody else's change.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::types::{Content, ErrorKind};
use crate::encoding::{self, Choice, Encoding};
use crate::files::{self, Expectation, Failure, Files, Reason, Source, Written};
use crate::replace::{self, Edit, Refusal};
use crate::{diff, failure, output, path};

/// The largest file in which text is replaced, in bytes: the old and the new content are in memory at once.
const REPLACE_LIMIT: u64 = 16 * 1024 * 1024;

/// How often a replacement is tried again on fresh content when somebody else was quicker.
const RETRIES: u32 = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    mode: Mode,
    content: Option<String>,
    old: Option<String>,
    new: Option<String>,
    #[serde(default)]
    all: bool,
    if_digest: Option<String>,
    #[serde(default)]
    encoding: Choice,
    #[serde(default = "yes")]
    make_directories: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Create,
    Overwrite,
    Append,
    Replace,
}

fn yes() -> bool {
    true
}

#[derive(Serialize)]
struct Facts<'a> {
    path: &'a str,
    size: u64,
    digest: &'a str,
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    replacements: Option<usize>,
    /// The form in which `old` was found, if not as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<&'static str>,
}

/// Where the file is, and under which name if it is not the one asked for.
struct Target<'a> {
    path: Cow<'a, str>,
    on_disk: bool,
}

pub(crate) fn run(files: &impl Files, arguments: &Arguments) -> Result<Output, Error> {
    check(arguments)?;
    if arguments.mode == Mode::Replace {
        return replace(files, arguments);
    }
    let target = target(files, &arguments.path);
    let content = arguments.content.as_deref().unwrap_or_default();
    let encoding = encoding_of(files, arguments, &target);
    let bytes = encode(content, encoding)?;
    let expect = match (&arguments.if_digest, arguments.mode) {
        (Some(digest), _) => Expectation::Digest(digest.clone()),
        (None, Mode::Create) => Expectation::Absent,
        (None, Mode::Overwrite | Mode::Append | Mode::Replace) => Expectation::Any,
    };
    let written = if arguments.mode == Mode::Append {
        append(files, &target.path, &bytes, &expect, arguments.make_directories)
    } else {
        put(files, &target.path, &bytes, &expect, arguments.make_directories)
    };
    let written = written.map_err(|failure| refused(arguments, failure))?;
    let said = match (arguments.mode, written.created) {
        (Mode::Append, false) => "appended",
        (_, true) => "created",
        (_, false) => "overwritten",
    };
    let text = format!("{}: {said}, {} bytes written, {} in all", arguments.path, bytes.len(), written.size);
    Ok(answer(arguments, &target, &written, text, None))
}

/// Which arguments belong to which mode.
fn check(arguments: &Arguments) -> Result<(), Error> {
    let is_replace = arguments.mode == Mode::Replace;
    let texts = arguments.old.is_some() || arguments.new.is_some() || arguments.all;
    if is_replace && (arguments.old.is_none() || arguments.new.is_none() || arguments.content.is_some()) {
        let hint = "`old` is the exact text to find, `new` is what takes its place (may be empty)";
        return Err(failure::invalid("mode `replace` takes `old` and `new`, and no `content`", hint));
    }
    if !is_replace && (arguments.content.is_none() || texts) {
        let hint = "to change a part of a file use mode `replace`";
        return Err(failure::invalid("this mode takes `content`, and neither `old`, `new` nor `all`", hint));
    }
    if is_replace && arguments.old.as_deref() == Some("") {
        return Err(failure::invalid("`old` is empty", "use mode `append` or `overwrite`"));
    }
    if is_replace && arguments.old == arguments.new {
        return Err(failure::invalid("`old` and `new` are the same", "nothing would change"));
    }
    if arguments.mode == Mode::Create && arguments.if_digest.is_some() {
        return Err(failure::invalid("mode `create` takes no `if_digest`", "use mode `overwrite`"));
    }
    Ok(())
}

/// The name on disk that is meant: a file whose name differs only by its normal form must not get a twin.
fn target<'a>(files: &impl Files, asked: &'a str) -> Target<'a> {
    let as_asked = Target { path: Cow::Borrowed(asked), on_disk: false };
    if asked.is_ascii() || files.stat(asked).is_ok() {
        return as_asked;
    }
    let (parent, name) = path::split(asked);
    let real = path::equal_on_disk(files, asked).or_else(|| {
        let parent = path::equal_on_disk(files, parent).filter(|real| real != parent)?;
        Some(path::join(&parent, name))
    });
    real.map_or(as_asked, |real| Target { path: Cow::Owned(real), on_disk: true })
}

/// New content is UTF-8 unless the caller says otherwise; what is appended is in the file's own encoding.
fn encoding_of(files: &impl Files, arguments: &Arguments, target: &Target) -> Encoding {
    let head = if arguments.mode == Mode::Append && arguments.encoding == Choice::Auto {
        files.open(&target.path).and_then(|source| source.read(0, 4)).unwrap_or_default()
    } else {
        Vec::new()
    };
    encoding::form(arguments.encoding, &head).encoding
}

fn encode(text: &str, encoding: Encoding) -> Result<Cow<'_, [u8]>, Error> {
    encoding::encode(text, encoding).map_err(|letter| {
        let message = format!("the encoding has no `{}` (U+{:04X})", letter.escape_debug(), u32::from(letter));
        failure::invalid(message, "use encoding `utf-8`")
    })
}

/// Writes, making the directories above if they are missing and that is wanted.
fn put(
    files: &impl Files,
    path: &str,
    bytes: &[u8],
    expect: &Expectation,
    make_directories: bool,
) -> Result<Written, Failure> {
    match files.write(path, bytes, expect) {
        Err(failure) if failure.reason == Reason::NotFound && make_directories && may_create(expect) => {
            files.make_directory(path::split(path).0)?;
            files.write(path, bytes, expect)
        }
        result => result,
    }
}

fn may_create(expect: &Expectation) -> bool {
    !matches!(expect, Expectation::Digest(_))
}

/// Adds to a file, or makes it. If somebody else makes it meanwhile, adds to theirs.
fn append(
    files: &impl Files,
    path: &str,
    bytes: &[u8],
    expect: &Expectation,
    make_directories: bool,
) -> Result<Written, Failure> {
    match files.append(path, bytes, expect) {
        Err(failure) if failure.reason == Reason::NotFound && may_create(expect) => {}
        result => return result,
    }
    match put(files, path, bytes, &Expectation::Absent, make_directories) {
        Err(failure) if failure.reason == Reason::AlreadyExists => files.append(path, bytes, expect),
        result => result,
    }
}

fn refused(arguments: &Arguments, failure: Failure) -> Error {
    match failure.reason {
        // Whoever names a digest has seen the file; that it is gone is a change.
        Reason::NotFound if arguments.if_digest.is_some() => {
            failure::writing(Failure { reason: Reason::Changed, ..failure })
        }
        Reason::NotFound if !arguments.make_directories => {
            let mut error = failure::writing(failure);
            error.hint = Some("the directory is missing; pass `make_directories: true` to have it made".to_owned());
            error
        }
        _ => failure::writing(failure),
    }
}

/// Replaces in what is there now; if that changes before it is written, replaces anew.
fn replace(files: &impl Files, arguments: &Arguments) -> Result<Output, Error> {
    let mut tries = 0;
    loop {
        let found = path::find(files, &arguments.path, |path| files.open(path))?;
        let on_disk = found.on_disk.is_some();
        let target = Target { path: found.on_disk.map_or(Cow::Borrowed(&*arguments.path), Cow::Owned), on_disk };
        let (bytes, edit, text, expect) = edited(&found.value, arguments)?;
        // A reader must not keep the old file open while it is replaced on systems that mind.
        drop(found.value);
        match files.write(&target.path, &bytes, &Expectation::Digest(expect)) {
            Ok(written) => {
                let diff = diff::unified(&arguments.path, &text, &edit.spans, &edit.new);
                return Ok(answer(arguments, &target, &written, diff, Some(&edit)));
            }
            Err(failure) if failure.reason == Reason::Changed && arguments.if_digest.is_none() && tries < RETRIES => {
                tries += 1;
            }
            Err(failure) => return Err(failure::writing(failure)),
        }
    }
}

/// The new content, how it came about, the old text, and the digest of the old content.
fn edited(source: &impl Source, arguments: &Arguments) -> Result<(Vec<u8>, Edit, String, String), Error> {
    let size = source.size();
    if size > REPLACE_LIMIT {
        let message = format!("{} has {size} bytes; text is replaced in at most {REPLACE_LIMIT}", arguments.path);
        return Err(failure::error(ErrorKind::TooLarge, Some("too_large"), message, None));
    }
    // The digest comes before the content: a change in between is then found when the result is written.
    let digest = source.digest().map_err(failure::reading)?;
    if arguments.if_digest.as_ref().is_some_and(|expect| *expect != digest) {
        let message = format!("{} is not what `if_digest` expects; it is {digest} now", arguments.path);
        return Err(failure::reading(Failure { reason: Reason::Changed, message }));
    }
    let mut bytes = files::read_all(source).map_err(failure::reading)?;
    let form = encoding::form(arguments.encoding, &bytes);
    bytes.drain(..form.mark);
    let text = encoding::decode(bytes, form.encoding).map_err(|_| {
        let message = format!("{} is not valid {}", arguments.path, name(form.encoding));
        let hint = "name the file's `encoding`, for example `latin-1`";
        failure::error(ErrorKind::ToolFailed, Some("not_text"), message, Some(hint))
    })?;
    let (old, new) = (arguments.old.as_deref().unwrap_or_default(), arguments.new.as_deref().unwrap_or_default());
    let edit = replace::replace(&text, old, new, arguments.all).map_err(|refusal| not_replaced(arguments, refusal))?;
    let mark = encoding::mark(form.encoding);
    let mut bytes = mark.get(..form.mark).unwrap_or_default().to_vec();
    bytes.extend_from_slice(&encode(&edit.text, form.encoding)?);
    Ok((bytes, edit, text, digest))
}

fn name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16Le => "utf-16le",
        Encoding::Utf16Be => "utf-16be",
        Encoding::Latin1 => "latin-1",
    }
}

fn not_replaced(arguments: &Arguments, refusal: Refusal) -> Error {
    let path = &arguments.path;
    match refusal {
        Refusal::NotFound { nearest } => {
            let message = format!("`old` is not in {path}");
            let hint = nearest.unwrap_or_else(|| "read the file and copy the text exactly".to_owned());
            failure::error(ErrorKind::ToolFailed, Some("text_not_found"), message, Some(&hint))
        }
        Refusal::NotUnique { count, lines } => {
            let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
            let message = format!("`old` is {count} times in {path}, first at lines {}", lines.join(", "));
            let hint = "add lines before or after to `old` until it is unique, or pass `all: true`";
            failure::error(ErrorKind::ToolFailed, Some("text_not_unique"), message, Some(hint))
        }
    }
}

fn answer(arguments: &Arguments, target: &Target, written: &Written, text: String, edit: Option<&Edit>) -> Output {
    let facts = Facts {
        path: &arguments.path,
        size: written.size,
        digest: &written.digest,
        created: written.created,
        replacements: edit.map(|edit| edit.spans.len()),
        matched: edit.and_then(|edit| edit.matched),
    };
    Output {
        data: output::json(&facts),
        content: vec![Content::Text(text)],
        metadata: output::on_disk(target.on_disk.then_some(&*target.path)),
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
