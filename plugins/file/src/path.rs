//! What does a virtual path name? Takes paths apart and finds names that differ only by their Unicode normal form.

use unicode_normalization::UnicodeNormalization;

use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::failure;
use crate::files::{self, Failure, Files, Reason};

/// How many names of one directory are compared when a name is looked for by its normal form.
const MOST_NAMES: usize = 50_000;

/// How many near names an error offers.
const NEAR_NAMES: usize = 3;

/// How different a near name may be: one edit in so many letters, and two in any case, since two letters that are
/// swapped are two edits.
const LETTERS_PER_EDIT: usize = 3;

/// The directory and the last name of a path: `/workspace/a/b` is `/workspace/a` and `b`.
pub(crate) fn split(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((parent, name)) => (parent, name),
        None => ("/", path),
    }
}

/// The path of a name in a directory.
pub(crate) fn join(parent: &str, name: &str) -> String {
    format!("{}/{name}", parent.trim_end_matches('/'))
}

/// Without slashes at the end, so that `/workspace/` and `/workspace` are one directory.
pub(crate) fn normal(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed,
    }
}

/// The composed form (NFC), in which models send text.
pub(crate) fn composed(text: &str) -> String {
    text.nfc().collect()
}

/// What an operation came to, and the name on disk if it is not the one that was asked for.
pub(crate) struct Found<T> {
    pub(crate) value: T,
    pub(crate) on_disk: Option<String>,
}

/// Does `operation` on the path; if nothing has that name, on the one name that is equal to it under NFC. An exact
/// name always wins, since it is tried first.
pub(crate) fn find<F: Files, T>(
    files: &F,
    path: &str,
    operation: impl Fn(&str) -> Result<T, Failure>,
) -> Result<Found<T>, Error> {
    let missing = match operation(path) {
        Ok(value) => return Ok(Found { value, on_disk: None }),
        Err(failure) if failure.reason == Reason::NotFound => failure,
        Err(failure) => return Err(failure::reading(failure)),
    };
    match equal_on_disk(files, path) {
        Some(real) => {
            let value = operation(&real).map_err(failure::reading)?;
            Ok(Found { value, on_disk: Some(real) })
        }
        None => Err(not_found(files, path, missing)),
    }
}

/// The path on disk that equals this one under NFC in every name, if there is just one such.
pub(crate) fn equal_on_disk(files: &impl Files, path: &str) -> Option<String> {
    // A plain ASCII name has one form only.
    if path.is_ascii() {
        return None;
    }
    let (parent, name) = split(path);
    if name.is_empty() {
        return None;
    }
    let (parent, entries) = match files::list_all(files, parent, MOST_NAMES) {
        Ok(entries) => (parent.to_owned(), entries),
        Err(_) => {
            let real = equal_on_disk(files, parent)?;
            let entries = files::list_all(files, &real, MOST_NAMES).ok()?;
            (real, entries)
        }
    };
    if entries.iter().any(|entry| entry.name == name) {
        return Some(join(&parent, name));
    }
    let wanted = composed(name);
    let mut equal = entries.iter().filter(|entry| entry.accessible && composed(&entry.name) == wanted);
    let first = equal.next()?;
    match equal.next() {
        // Two names that differ only by their form: which of them is meant, the caller has to say.
        Some(_) => None,
        None => Some(join(&parent, &first.name)),
    }
}

/// The error for a name that nothing has, with the nearest names that exist.
fn not_found(files: &impl Files, path: &str, missing: Failure) -> Error {
    let (parent, entries, name) = nearest_directory(files, path);
    let near = near_names(&name, entries.iter().map(|entry| entry.name.as_str()));
    let mut error = failure::reading(missing);
    error.hint = Some(if near.is_empty() {
        format!("there is no name like `{name}` in {parent}; list it with file_list")
    } else {
        let paths: Vec<String> = near.iter().map(|near| join(&parent, near)).collect();
        format!("near names: {}", paths.join(", "))
    });
    error
}

/// The deepest directory on the way to the path that exists, its entries, and the name that is missing in it.
fn nearest_directory(files: &impl Files, path: &str) -> (String, Vec<files::Entry>, String) {
    let mut rest = path;
    loop {
        let (parent, name) = split(rest);
        if let Ok(entries) = files::list_all(files, parent, MOST_NAMES) {
            return (parent.to_owned(), entries, name.to_owned());
        }
        // The root can always be listed, so this ends.
        rest = parent;
    }
}

/// Up to three names at a small edit distance, nearest first.
fn near_names<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted: Vec<char> = composed(wanted).to_lowercase().chars().collect();
    let most = (wanted.len() / LETTERS_PER_EDIT).max(2).min(wanted.len().saturating_sub(1));
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let letters: Vec<char> = composed(name).to_lowercase().chars().collect();
            let edits = edit_distance(&wanted, &letters, most)?;
            Some((edits, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(NEAR_NAMES).map(|(_, name)| name).collect()
}

/// How many letters have to be added, taken away or changed, if at most `most`.
fn edit_distance(from: &[char], to: &[char], most: usize) -> Option<usize> {
    if from.len().abs_diff(to.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut best = left;
        for (cell, b) in row.iter_mut().skip(1).zip(to) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            left = changed.min(diagonal + 1).min(left + 1);
            *cell = left;
            best = best.min(left);
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        if best > most {
            return None;
        }
    }
    row.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Tree;

    #[test]
    fn splits_and_joins() {
        let check = |path, expect| assert_eq!(split(path), expect);
        check("/workspace/a/b", ("/workspace/a", "b"));
        check("/workspace", ("/", "workspace"));
        assert_eq!(join("/", "a"), "/a");
        assert_eq!(join("/a", "b"), "/a/b");
        assert_eq!((normal("/a/"), normal("/")), ("/a", "/"));
    }

    #[test]
    fn measures_edits() {
        let check = |a: &str, b: &str, most, expect| {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(edit_distance(&a, &b, most), expect);
        };
        check("main.rs", "main.rs", 2, Some(0));
        check("main.rs", "mian.rs", 2, Some(2));
        check("main.rs", "main.r", 2, Some(1));
        check("main.rs", "other.txt", 2, None);
        check("", "ab", 2, Some(2));
    }

    #[test]
    fn finds_names_in_another_normal_form() {
        let tree = Tree::new(&[("/workspace/cafe\u{301}/re\u{301}sume\u{301}.txt", b"x")]);
        let found = find(&tree, "/workspace/caf\u{e9}/r\u{e9}sum\u{e9}.txt", |path| tree.stat(path)).unwrap();
        assert_eq!(found.on_disk.as_deref(), Some("/workspace/cafe\u{301}/re\u{301}sume\u{301}.txt"));
    }

    #[test]
    fn exact_name_wins_over_an_equal_one() {
        let tree = Tree::new(&[("/workspace/cafe\u{301}", b"nfd"), ("/workspace/caf\u{e9}", b"nfc")]);
        for path in ["/workspace/cafe\u{301}", "/workspace/caf\u{e9}"] {
            assert_eq!(find(&tree, path, |path| tree.stat(path)).unwrap().on_disk, None);
        }
    }

    #[test]
    fn names_what_is_near() {
        let tree = Tree::new(&[("/workspace/src/main.rs", b""), ("/workspace/src/zebra.rs", b"")]);
        let check = |path: &str, expect: &str| {
            let error = find(&tree, path, |path| tree.stat(path)).map(|_| ()).unwrap_err();
            assert_eq!(error.reason.as_deref(), Some("not_found"));
            assert_eq!(error.hint.as_deref(), Some(expect), "{path}");
        };
        check("/workspace/src/mian.rs", "near names: /workspace/src/main.rs");
        check("/workspace/scr/main.rs", "near names: /workspace/src");
        check("/workspace/nothing", "there is no name like `nothing` in /workspace; list it with file_list");
        check("/workspac/src", "near names: /workspace");
    }
}
