//! Whose is the folder of a journal, and which processes use it? Must not know what is in the journal.
#![expect(clippy::disallowed_methods, reason = "the journal owns its folder")]

use std::path::Path;
use std::time::{Duration, Instant};

/// How long is waited for a process that looks whether it is alone.
const WAIT: Duration = Duration::from_secs(10);
/// How often it is looked whether it is done.
const STEP: Duration = Duration::from_micros(500);

/// Makes the folder, for its owner alone.
pub(crate) fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = std::fs::metadata(folder)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(std::io::Error::other("it belongs to another user"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// That a process uses a journal, seen by others as a lock on a file beside it. Lifetime: the journal.
pub(crate) struct Presence {
    _file: std::fs::File,
    pub(crate) alone: bool,
}

impl Presence {
    /// Whoever finds nobody else may close what earlier processes left open.
    ///
    /// # Errors
    /// If the lock cannot be had: without it a process that comes later would think that it is alone.
    pub(crate) fn announce(folder: &Path) -> std::io::Result<Presence> {
        Presence::announce_within(folder, WAIT)
    }

    fn announce_within(folder: &Path, wait: Duration) -> std::io::Result<Presence> {
        use rustix::fs::{FlockOperation, flock};
        use std::os::unix::fs::OpenOptionsExt;
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("journal.lock"))?;
        let alone = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !alone {
            // Somebody else looks whether it is alone at most for a moment.
            let until = Instant::now() + wait;
            while let Err(error) = flock(&file, FlockOperation::NonBlockingLockShared) {
                if Instant::now() >= until {
                    let why =
                        format!("another process has it to itself since {} s ({error}); try again", wait.as_secs());
                    return Err(std::io::Error::other(why));
                }
                std::thread::sleep(STEP);
            }
        }
        Ok(Presence { _file: file, alone })
    }

    /// Others may come from now on.
    pub(crate) fn share(&self) {
        if self.alone {
            let _ = rustix::fs::flock(&self._file, rustix::fs::FlockOperation::LockShared);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_say_that_it_is_there_does_not_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let first = Presence::announce_within(folder.path(), Duration::ZERO).unwrap();
        assert!(first.alone);
        let second = || Presence::announce_within(folder.path(), Duration::from_millis(5));
        assert!(second().is_err(), "the first one still looks whether it is alone");
        first.share();
        assert!(!second().unwrap().alone);
    }
}
