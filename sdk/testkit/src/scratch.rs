//! Where is a test's own folder, and who takes it away? The test, or, if it was ended, the next one.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// What the names of all these folders begin with.
const PREFIX: &str = "hermes-testkit-";
/// The file in each that is locked as long as its test runs.
const HELD: &str = ".held";

/// A folder that is gone with its test. Lifetime: the bench.
pub(crate) struct Scratch {
    folder: TempDir,
    _held: File,
}

impl Scratch {
    /// A folder where the machine has its temporary files.
    pub(crate) fn new() -> std::io::Result<Scratch> {
        Scratch::new_in(&std::env::temp_dir())
    }

    /// A folder in another one. Those that are there of tests that were ended are taken away, once for each process.
    pub(crate) fn new_in(place: &Path) -> std::io::Result<Scratch> {
        static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        if SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(place.to_owned()) {
            sweep(place)?;
        }
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        // It gets its name once it is locked, so that nobody takes a folder away that was just made.
        let (new, held) = (folder.path().join(".new"), folder.path().join(HELD));
        let file = File::create(&new)?;
        file.lock()?;
        std::fs::rename(&new, &held)?;
        Ok(Scratch { folder, _held: file })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn sweep(place: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(place)?.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // What cannot be opened is somebody else's.
        let Ok(held) = File::open(entry.path().join(HELD)) else { continue };
        match held.try_lock() {
            Ok(()) => drop(std::fs::remove_dir_all(entry.path())),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ended_test_left_is_gone_and_what_runs_is_not() {
        let place = tempfile::tempdir().unwrap();
        let running = Scratch::new_in(place.path()).unwrap();
        let ended = Scratch::new_in(place.path()).unwrap();
        // As if its process was killed: nobody holds it, and it is still there.
        let Scratch { folder, _held } = ended;
        let left = folder.keep();
        drop(_held);
        let other = place.path().join("somebody-else");
        std::fs::create_dir(&other).unwrap();
        sweep(place.path()).unwrap();
        assert!(running.path().is_dir() && other.is_dir());
        assert!(!left.exists());
    }
}
