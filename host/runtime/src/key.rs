//! Which secrets does the runtime keep for itself? Keys in the state folder, made on first use, readable by their owner
//! alone, and part of no grant since the folder is part of none. Must not know what a key is for.
#![expect(clippy::disallowed_methods, reason = "keys lie beside the journal")]

use std::io::{Error, Read, Result, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Bytes of a key.
pub(crate) const KEY: usize = 32;

/// Reads a key, or makes it. Two processes that make it at once end with the same one.
pub(crate) fn read_or_make(folder: &Path, name: &str) -> Result<[u8; KEY]> {
    let path = folder.join(name);
    match read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => return other,
    }
    let mut key = [0; KEY];
    rustix::rand::getrandom(&mut key[..], rustix::rand::GetRandomFlags::empty())?;
    let draft = folder.join(format!(".{name}.{}", ulid::Ulid::generate()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(&key).and_then(|()| file.sync_all());
    // A link fails where the name is taken, which renaming would not.
    let linked = written.and_then(|()| std::fs::hard_link(&draft, &path));
    let _ = std::fs::remove_file(&draft);
    match linked {
        Ok(()) => std::fs::File::open(folder)?.sync_all()?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    read(&path)
}

/// Reads a key that is its owner's alone.
pub(crate) fn read(path: &Path) -> Result<[u8; KEY]> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let mut file = std::fs::OpenOptions::new().read(true).custom_flags(no_follow).open(path)?;
    let metadata = file.metadata()?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.permissions().mode() & 0o077 != 0 {
        return Err(Error::other("others than its owner could have read it"));
    }
    let mut key = [0; KEY];
    file.read_exact(&mut key)?;
    match file.read(&mut [0])? {
        0 => Ok(key),
        _ => Err(Error::other("it is longer than a key")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let made = read_or_make(folder.path(), "a.key").unwrap();
        assert_eq!(read_or_make(folder.path(), "a.key").unwrap(), made);
        let path = folder.path().join("a.key");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(read_or_make(folder.path(), "a.key").is_err(), "a key that others could read is none");
    }
}
