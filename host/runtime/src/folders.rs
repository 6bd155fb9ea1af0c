//! Has anything changed in the folders of plugins and tools? Looks at names, sizes and times only. Must not know what is in
//! the files.
#![expect(clippy::disallowed_methods, reason = "looks at the operator's own folders of plugins and tools")]

use crate::call::Digest;
use crate::config::Config;
use crate::spread;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files and folders that are looked at; past that a change is not noticed by itself.
const MOST: usize = 200_000;
/// How deep folders are looked into: a folder of plugins, a plugin, its tools.
const DEEPEST: usize = 4;

/// What tells folders, and single files, from what they were.
pub(crate) fn fingerprint<'a>(places: impl IntoIterator<Item = &'a PathBuf>) -> Digest {
    let mut found: Vec<Vec<u8>> = places.into_iter().flat_map(|place| look(place, 0)).collect();
    found.sort_unstable();
    found.truncate(MOST);
    Digest::of_parts(found.iter().map(Vec::as_slice))
}

/// What tells the folders of plugins and tools from what they were.
pub(crate) fn of(config: &Config) -> Digest {
    fingerprint(config.plugin_folders.iter().chain(&config.tool_folders))
}

/// What is at a place and beneath it.
fn look(place: &Path, depth: usize) -> Vec<Vec<u8>> {
    let Ok(metadata) = place.symlink_metadata() else { return Vec::new() };
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
    if !metadata.is_dir() || depth == DEEPEST {
        return vec![part];
    }
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let beneath: Vec<PathBuf> = entries.take(MOST).map(|entry| entry.path()).collect();
    let looked = spread::over(&beneath, |place| look(place, depth + 1));
    std::iter::once(part).chain(looked.into_iter().flatten()).collect()
}
