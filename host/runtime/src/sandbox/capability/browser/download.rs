//! Where does a file that a page gives go? Out of the browser's private folder into the one that the operator granted,
//! under a name that is no more than a name, never over another file.

use crate::sandbox::bindings::hermes::tool::files::{Expectation, Failure, Reason};
use crate::sandbox::capability::files::Files;
use rustix::fs::{AtFlags, Mode, OFlags, fstat, openat, unlinkat};
use std::io::Read;
use std::os::fd::OwnedFd;

/// Longest name, in bytes; the system's own limit is near.
const NAME: usize = 120;
/// How many names are tried when others are taken.
const TRIES: u32 = 100;

/// The name under which a file is kept: without folders, signs that are not shown or mean something to a shell, leading
/// dots and dashes.
pub(super) fn clean_name(suggested: &str) -> String {
    let last = suggested.rsplit(['/', '\\']).next().unwrap_or_default();
    let keep =
        |sign: char| sign.is_alphanumeric() || matches!(sign, '.' | '-' | '_' | ' ' | '(' | ')' | '+' | ',' | '=');
    let name: String = last.chars().map(|sign| if keep(sign) { sign } else { '_' }).collect();
    let name = name.trim_matches([' ', '.']).trim_start_matches(['-', '_', '.', ' ']);
    let (stem, end) = match name.rsplit_once('.') {
        Some((stem, end)) if end.len() <= 16 && !stem.is_empty() => (stem, format!(".{end}")),
        _ => (name, String::new()),
    };
    let mut cut = stem.len().min(NAME - end.len());
    while !stem.is_char_boundary(cut) {
        cut -= 1;
    }
    match stem[..cut].is_empty() {
        true => "download".into(),
        false => format!("{}{end}", &stem[..cut]),
    }
}

/// Moves a complete download to its place; returns its virtual path and size. Blocks.
pub(super) fn keep(
    from: &OwnedFd,
    guid: &str,
    files: &Files,
    folder: &str,
    name: &str,
    most: u64,
) -> Result<(String, u64), Failure> {
    let content = take(from, guid, most).map_err(|error| Failure { reason: Reason::Io, message: error.to_string() })?;
    files.make_folder(folder)?;
    let (stem, end) = name.rsplit_once('.').map_or((name, String::new()), |(stem, end)| (stem, format!(".{end}")));
    for number in 1..=TRIES {
        let path = match number {
            1 => format!("{folder}/{name}"),
            number => format!("{folder}/{stem} ({number}){end}"),
        };
        match files.put(&path, &content, &Expectation::Absent) {
            Ok(written) => return Ok((path, written.size)),
            Err(failure) if failure.reason == Reason::AlreadyExists => {}
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure { reason: Reason::AlreadyExists, message: format!("too many files are called `{name}`") })
}

/// Reads a file of the browser's folder and removes it. The browser could have put anything there, so only a regular
/// file of the size that was allowed counts.
fn take(from: &OwnedFd, guid: &str, most: u64) -> std::io::Result<Vec<u8>> {
    if guid.is_empty() || !guid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(std::io::Error::other("the browser names no file"));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(from, guid, flags, Mode::empty())?;
    let status = fstat(&file)?;
    let is_file = rustix::fs::FileType::from_raw_mode(status.st_mode).is_file();
    if !is_file || status.st_size as u64 > most {
        return Err(std::io::Error::other("the file is none that may be kept"));
    }
    let mut content = Vec::new();
    std::fs::File::from(file).take(most).read_to_end(&mut content)?;
    unlinkat(from, guid, AtFlags::empty())?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_more_than_a_name() {
        let check = |suggested: &str, expect: &str| assert_eq!(clean_name(suggested), expect, "{suggested:?}");
        check("report.csv", "report.csv");
        check("../../x.sh", "x.sh");
        check("..\\..\\x.sh", "x.sh");
        check("/etc/passwd", "passwd");
        check(".bashrc", "bashrc");
        check("-rf", "rf");
        check("a\u{202e}gpj.exe", "a_gpj.exe");
        check("a\0b\nc;$(d).txt", "a_b_c__(d).txt");
        check("..", "download");
        check("", "download");
        check("über (1).pdf", "über (1).pdf");
        assert!(clean_name(&"ä".repeat(500)).len() <= NAME);
    }
}
