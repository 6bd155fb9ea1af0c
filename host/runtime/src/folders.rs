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
    let mut found = parts(places.into_iter().cloned().collect(), MOST);
    found.sort_unstable();
    Digest::of_parts(found.iter().map(Vec::as_slice))
}

/// What tells the folders of plugins and tools from what they were.
pub(crate) fn of(config: &Config) -> Digest {
    fingerprint(config.plugin_folders.iter().chain(&config.tool_folders))
}

/// What is at places and beneath them, level by level, `most` of it. Folders are listed one after the other, so that the
/// same is left out each time.
fn parts(mut level: Vec<PathBuf>, most: usize) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for depth in 0..=DEEPEST {
        let looked = spread::over(&level, |place| look(place));
        let folders = level.iter().zip(&looked).filter(|(_, looked)| matches!(looked, Some((_, true))));
        let lists = folders.flat_map(|(folder, _)| std::fs::read_dir(folder).into_iter().flatten().flatten());
        let left = most.saturating_sub(found.len() + level.len());
        let beneath = if depth < DEEPEST { lists.take(left).map(|entry| entry.path()).collect() } else { Vec::new() };
        found.extend(looked.into_iter().flatten().map(|(part, _)| part));
        level = beneath;
    }
    found
}

/// What is at a place, and whether it is a folder.
fn look(place: &Path) -> Option<(Vec<u8>, bool)> {
    let metadata = place.symlink_metadata().ok()?;
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
    Some((part, metadata.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_at_is_seen_to_a_depth_and_never_more_than_the_most() {
        let house = tempfile::tempdir().unwrap();
        let root = house.path().to_owned();
        std::fs::create_dir_all(root.join("1/2/3/4/5")).unwrap();
        for number in 0..10 {
            std::fs::write(root.join(format!("1/{number}.toml")), "").unwrap();
        }
        // The folder itself, four levels of folders, and ten files; not what is deeper.
        assert_eq!(parts(vec![root.clone()], MOST).len(), 15);
        assert_eq!(parts(vec![root.clone()], 7).len(), 7);
        assert_eq!(parts(vec![root.clone()], 7), parts(vec![root.clone()], 7));
        let before = fingerprint([&root]);
        assert_eq!(before, fingerprint([&root]));
        std::fs::write(root.join("1/2/new.toml"), "").unwrap();
        assert_ne!(before, fingerprint([&root]));
    }
}
