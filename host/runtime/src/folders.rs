//! Has anything changed in the folders of plugins and tools? Looks at names, sizes and times only. Must not know what is in
//! the files.
#![expect(clippy::disallowed_methods, reason = "looks at the operator's own folders of plugins and tools")]

use crate::call::Digest;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files and folders that are looked at; past that a change is not noticed by itself.
const MOST: usize = 200_000;
/// How deep folders are looked into: a folder of plugins, a plugin, its tools.
const DEEPEST: usize = 4;

/// What tells folders, and single files, from what they were.
pub(crate) fn fingerprint<'a>(places: impl IntoIterator<Item = &'a PathBuf>) -> Digest {
    let mut found = Vec::new();
    for place in places {
        look(place, 0, &mut found);
    }
    found.sort_unstable();
    Digest::of_parts(found.iter().map(Vec::as_slice))
}

fn look(place: &Path, depth: usize, found: &mut Vec<Vec<u8>>) {
    if found.len() >= MOST || depth > DEEPEST {
        return;
    }
    let Ok(metadata) = place.symlink_metadata() else { return };
    let mut part = place.as_os_str().as_encoded_bytes().to_vec();
    for number in [
        metadata.len(),
        metadata.ino(),
        metadata.mtime() as u64,
        metadata.mtime_nsec() as u64,
        metadata.ctime_nsec() as u64,
    ] {
        part.extend(number.to_le_bytes());
    }
    found.push(part);
    if metadata.is_dir() {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            look(&entry.path(), depth + 1, found);
        }
    }
}
