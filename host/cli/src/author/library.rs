//! What else does a compiler need that makes its own library? A plugin's folder brings all crates that it is made of,
//! and then cargo looks nowhere else, also for the crates of the library. So the two are put together, by links.

use crate::failure::Failure;
use hermes_runtime::call::Digest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where a plugin's folder says its crates are.
pub(super) struct Vendored {
    /// The source's name in cargo's settings.
    pub(super) source: String,
    folder: PathBuf,
}

/// An archive without members. Debian keeps no compiled code in its sources, so the archive that one crate links is
/// missing; all that it has is a function for a feature that the library does not use.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// Where a plugin's crates are, if it brings them; `None` if cargo fetches them.
pub(super) fn vendored(folder: &Path) -> Result<Option<Vendored>, Failure> {
    let file = folder.join(".cargo/config.toml");
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
    let settings: toml::Table =
        text.parse().map_err(|error| Failure::usage(format!("`{}`: {error}", file.display())))?;
    let sources = settings.get("source").and_then(toml::Value::as_table);
    let value = |source: &str, key: &str| sources?.get(source)?.get(key)?.as_str().map(str::to_owned);
    let Some(source) = value("crates-io", "replace-with") else { return Ok(None) };
    Ok(value(&source, "directory").map(|directory| Vendored { source, folder: folder.join(directory) }))
}

/// A folder with a plugin's crates and those of the compiler's library, the same for the same crates, so that the
/// library is compiled once for all plugins.
pub(super) fn with_library(
    vendored: &Vendored,
    library: &Path,
    compiler: &str,
    cache: &Path,
) -> Result<PathBuf, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("the crates in `{}` cannot be used: {error}", vendored.folder.display()))
    };
    let mut files = BTreeMap::new();
    read(&vendored.folder, &vendored.folder, &mut files).map_err(failed)?;
    let known: Vec<&[u8]> =
        files.iter().flat_map(|(name, content)| [name.as_os_str().as_encoded_bytes(), content.as_slice()]).collect();
    let digest = Digest::of_parts(std::iter::once(compiler.as_bytes()).chain(known)).to_string();
    let whole = cache.join("crates").join(digest.rsplit(':').next().unwrap_or_default());
    if whole.is_dir() {
        return Ok(whole);
    }
    // Whole or not at all, whoever else builds at the same time.
    std::fs::create_dir_all(cache.join("crates")).map_err(failed)?;
    let made = tempfile::tempdir_in(cache.join("crates")).map_err(failed)?;
    for (name, content) in &files {
        put(&made.path().join(name), content).map_err(failed)?;
    }
    for crate_ in std::fs::read_dir(library.join("vendor")).into_iter().flatten().flatten() {
        let place = made.path().join(crate_.file_name());
        match crate_.path().join("build.rs").is_file() && crate_.path().join("src/rt").is_dir() {
            true => copy_completed(&crate_.path(), &place).map_err(failed)?,
            false => std::os::unix::fs::symlink(crate_.path(), place).map_err(failed)?,
        }
    }
    let made = made.keep();
    if std::fs::rename(&made, &whole).is_err() {
        // Somebody else was faster with the same.
        std::fs::remove_dir_all(&made).map_err(failed)?;
    }
    Ok(whole)
}

/// A copy of a crate with the archive that it links.
fn copy_completed(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut files = BTreeMap::new();
    read(from, from, &mut files)?;
    for (name, content) in &files {
        put(&to.join(name), content)?;
    }
    let archive = to.join("src/rt/libwit_bindgen_cabi.a");
    if archive.exists() { Ok(()) } else { put(&archive, EMPTY_ARCHIVE) }
}

fn put(file: &Path, content: &[u8]) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(file, content)
}

/// All files beneath a folder, by the path from `root`.
fn read(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, files)?;
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
            files.insert(name, std::fs::read(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugins_crates_and_those_of_the_library_stand_together() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        put(
            &at("plugin/.cargo/config.toml"),
            b"[source.crates-io]\nreplace-with = 'own'\n[source.own]\ndirectory = 'v'\n",
        )
        .unwrap();
        put(&at("plugin/v/serde/src/lib.rs"), b"// serde").unwrap();
        put(&at("library/vendor/gimli-1/src/lib.rs"), b"// gimli").unwrap();
        put(&at("library/vendor/bindings-1/src/rt/mod.rs"), b"// rt").unwrap();
        put(&at("library/vendor/bindings-1/build.rs"), b"fn main() {}").unwrap();
        let own = vendored(&at("plugin")).unwrap().unwrap();
        assert_eq!(own.source, "own");
        let whole = with_library(&own, &at("library"), "rustc 1", folder.path()).unwrap();
        for file in ["serde/src/lib.rs", "gimli-1/src/lib.rs", "bindings-1/src/rt/libwit_bindgen_cabi.a"] {
            assert!(whole.join(file).is_file(), "{file}");
        }
        assert_eq!(with_library(&own, &at("library"), "rustc 1", folder.path()).unwrap(), whole);
        assert_ne!(with_library(&own, &at("library"), "rustc 2", folder.path()).unwrap(), whole);
        std::fs::remove_file(at("plugin/.cargo/config.toml")).unwrap();
        assert!(vendored(&at("plugin")).unwrap().is_none());
    }
}
