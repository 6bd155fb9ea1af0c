//! How does a file change? In one step that others see whole or not at all, under a lock of its directory, with what
//! the caller expects checked in the same step.
#![expect(clippy::disallowed_methods, reason = "the mask for new files is read here")]

use super::place::{OpenDirectory, Virtual, real_path};
use super::{Digest, Files, WRITE, digest_of, failure, from_io, read_up_to, still_wanted};
use crate::document::excerpt;
use crate::sandbox::bindings::hermes::tool::files::{Expectation, Failure, Reason, Written};
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long a write waits for another one in the same directory.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Links in a row that a write follows inside a grant.
const LINKS: usize = 8;

/// A name in an open directory, found to be where it may be.
struct Spot {
    directory: OpenDirectory,
    name: OsString,
}

impl Files {
    /// Makes a directory and those above it.
    pub(super) fn make_directory(&self, path: &str) -> Result<(), Failure> {
        self.writable_place(path)?;
        let Virtual::Beneath(place) = self.roots.find(path)? else {
            return Ok(());
        };
        let mut made = PathBuf::new();
        for part in place.rest.components() {
            let above = if made.as_os_str().is_empty() { Path::new(".") } else { &made };
            let above = place.directory.open_dir(above).map_err(|error| from_io(path, &error))?;
            let real = real_path(&above).map_err(|error| from_io(path, &error))?;
            self.roots.refuse_unchangeable(path, &real.join(part.as_os_str()))?;
            made.push(part);
            match above.create_dir(part.as_os_str()) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(from_io(path, &error)),
            }
        }
        Ok(())
    }

    /// Makes a folder and those above it, for another capability. Blocks.
    #[cfg(feature = "browser")]
    pub(in crate::sandbox::capability) fn make_folder(&self, path: &str) -> Result<(), Failure> {
        self.make_directory(path)
    }

    /// Writes a whole file, for another capability. Blocks.
    #[cfg(feature = "browser")]
    pub(in crate::sandbox::capability) fn put(
        &self,
        path: &str,
        content: &[u8],
        expect: &Expectation,
    ) -> Result<Written, Failure> {
        self.replace(path, content, expect)
    }

    /// Replaces the whole content.
    pub(super) fn replace(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written, Failure> {
        let spot = self.spot_for(path, content)?;
        let io = |error: std::io::Error| from_io(path, &error);
        let _lock = lock(&spot.directory.dir, &self.over).map_err(io)?;
        let old = open_old(&spot, path)?;
        self.check(old.as_ref(), expect, path)?;
        let new = NewFile::make(&spot.directory.dir).map_err(io)?;
        new.fill(content, old.as_ref()).map_err(io)?;
        still_wanted(&self.over).map_err(io)?;
        new.put(&spot.name, old.is_none()).map_err(io)?;
        Ok(Written { size: content.len() as u64, digest: Digest::of(content).to_string(), created: old.is_none() })
    }

    /// Adds to the end of a file that exists.
    pub(super) fn append(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written, Failure> {
        let spot = self.spot_for(path, content)?;
        let io = |error: std::io::Error| from_io(path, &error);
        let _lock = lock(&spot.directory.dir, &self.over).map_err(io)?;
        let old = open_old(&spot, path)?
            .ok_or_else(|| failure(Reason::NotFound, format!("`{}` does not exist", excerpt(path, 200))))?;
        self.check(Some(&old), expect, path)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file: File = rustix::fs::openat(&spot.directory.dir, &spot.name, flags, Mode::empty())
            .map_err(|error| io(error.into()))?
            .into();
        let same = file.metadata().and_then(|now| Ok((now, old.metadata()?))).map_err(io)?;
        if (same.0.dev(), same.0.ino()) != (same.1.dev(), same.1.ino()) {
            return Err(failure(Reason::Changed, format!("`{}` was replaced meanwhile", excerpt(path, 200))));
        }
        if same.0.nlink() > 1 {
            return self.replace_with_more(&spot, &old, content).map_err(io);
        }
        let length = same.0.len();
        still_wanted(&self.over).map_err(io)?;
        if let Err(error) = file.write_all(content).and_then(|()| file.sync_data()) {
            let _ = file.set_len(length);
            return Err(io(error));
        }
        let size = length + content.len() as u64;
        // What was added stays added, whatever becomes of the digest.
        let digest = if size <= WRITE as u64 { digest_of(&file, &self.over).ok() } else { None };
        let digest = digest.map_or(String::new(), |digest| digest.to_string());
        Ok(Written { size, digest, created: false })
    }

    /// Whether what is there is what the caller expects.
    fn check(&self, old: Option<&File>, expect: &Expectation, path: &str) -> Result<(), Failure> {
        let shown = excerpt(path, 200);
        match (expect, old) {
            (Expectation::Any, _) | (Expectation::Absent, None) => Ok(()),
            (Expectation::Absent, Some(_)) => Err(failure(Reason::AlreadyExists, format!("`{shown}` exists already"))),
            (Expectation::Digest(_), None) => {
                Err(failure(Reason::Changed, format!("`{shown}` does not exist any more")))
            }
            (Expectation::Digest(digest), Some(file)) => {
                let now = digest_of(file, &self.over).map_err(|error| from_io(path, &error))?;
                match now.to_string() == *digest {
                    true => Ok(()),
                    false => Err(failure(Reason::Changed, format!("`{shown}` changed since it was read"))),
                }
            }
        }
    }

    /// Appending to a file that has other names would change what those name, perhaps outside the grant; so this name
    /// gets a file of its own.
    fn replace_with_more(&self, spot: &Spot, old: &File, more: &[u8]) -> std::io::Result<Written> {
        let length = usize::try_from(old.metadata()?.len()).unwrap_or(usize::MAX);
        if length.saturating_add(more.len()) > WRITE {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        let mut content = read_up_to(old, 0, length)?;
        content.extend_from_slice(more);
        let new = NewFile::make(&spot.directory.dir)?;
        new.fill(&content, Some(old))?;
        still_wanted(&self.over)?;
        new.put(&spot.name, false)?;
        Ok(Written { size: content.len() as u64, digest: Digest::of(&content).to_string(), created: false })
    }

    fn writable_place(&self, path: &str) -> Result<(), Failure> {
        let read_only = |why: &str| failure(Reason::ReadOnly, format!("`{}` {why}", excerpt(path, 200)));
        match self.roots.find(path)? {
            Virtual::Root => Err(read_only("is the list of grants and cannot be changed")),
            Virtual::Beneath(_) if !self.writable => Err(read_only("cannot be changed by a call that only reads")),
            Virtual::Beneath(place) if !place.writable => Err(read_only("is granted for reading only")),
            Virtual::Beneath(_) if self.roots.faults.full => {
                Err(from_io(path, &std::io::ErrorKind::StorageFull.into()))
            }
            Virtual::Beneath(_) => Ok(()),
        }
    }

    /// Finds where a write goes, following links that stay inside.
    fn spot_for(&self, path: &str, content: &[u8]) -> Result<Spot, Failure> {
        if content.len() > WRITE {
            return Err(failure(Reason::TooLarge, format!("one write has at most {WRITE} bytes")));
        }
        self.writable_place(path)?;
        let Virtual::Beneath(mut place) = self.roots.find(path)? else {
            return Err(failure(Reason::IsADirectory, "`/` is a directory"));
        };
        let io = |error: std::io::Error| from_io(path, &error);
        for _ in 0..LINKS {
            let (parent, name) = split(&place.rest)
                .ok_or_else(|| failure(Reason::IsADirectory, format!("`{}` is a directory", excerpt(path, 200))))?;
            let rest = std::mem::replace(&mut place.rest, parent);
            let directory = self.roots.open_directory(path, &place)?;
            match directory.dir.symlink_metadata(&name) {
                Ok(metadata) if metadata.is_symlink() => {
                    // A link that leads nowhere could lead out as soon as somebody makes what it names.
                    place.rest = place.directory.canonicalize(&rest).map_err(|error| match error.kind() {
                        std::io::ErrorKind::NotFound => failure(
                            Reason::PathOutOfBounds,
                            format!("`{}` is a link that leads to nothing inside its grant", excerpt(path, 200)),
                        ),
                        _ => from_io(path, &error),
                    })?;
                }
                Ok(_) | Err(_) => {
                    self.roots.refuse_unchangeable(path, &directory.real.join(&name))?;
                    return Ok(Spot { directory, name });
                }
            }
        }
        Err(io(rustix::io::Errno::LOOP.into()))
    }
}

fn split(path: &Path) -> Option<(PathBuf, OsString)> {
    let name = path.file_name()?.to_owned();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Some((parent.unwrap_or(Path::new(".")).to_owned(), name))
}

/// One write at a time in a directory, also among processes.
fn lock(directory: &Dir, over: &AtomicBool) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    let give_up = Instant::now() + LOCK_WAIT;
    loop {
        still_wanted(over)?;
        match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(fd),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens what has the name now, if it is a regular file.
fn open_old(spot: &Spot, path: &str) -> Result<Option<File>, Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let not_regular = || failure(Reason::NotARegularFile, format!("`{}` is not a regular file", excerpt(path, 200)));
    let status = rustix::fs::statat(&spot.directory.dir, &spot.name, AtFlags::SYMLINK_NOFOLLOW);
    let kind = match status {
        Ok(status) => rustix::fs::FileType::from_raw_mode(status.st_mode),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(from_io(path, &error.into())),
    };
    match kind {
        rustix::fs::FileType::RegularFile => {}
        rustix::fs::FileType::Directory => {
            return Err(failure(Reason::IsADirectory, format!("`{}` is a directory", excerpt(path, 200))));
        }
        _ => return Err(not_regular()),
    }
    let file: File = rustix::fs::openat(&spot.directory.dir, &spot.name, flags, Mode::empty())
        .map_err(|error| from_io(path, &error.into()))?
        .into();
    let is_file = file.metadata().map_err(|error| from_io(path, &error))?.is_file();
    if is_file { Ok(Some(file)) } else { Err(not_regular()) }
}

/// A file that is not yet seen under its name. Without any name where the file system can do that, so that a process
/// that is killed leaves nothing behind; else under one of ours, removed unless it is put in its place.
struct NewFile<'a> {
    directory: &'a Dir,
    name: std::cell::Cell<Option<String>>,
    file: File,
}

impl NewFile<'_> {
    fn make(directory: &Dir) -> std::io::Result<NewFile<'_>> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        if let Ok(file) = rustix::fs::openat(directory, ".", flags, mode) {
            return Ok(NewFile { directory, name: None.into(), file: file.into() });
        }
        let name = own_name()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, &name, flags, mode)?.into();
        Ok(NewFile { directory, name: Some(name).into(), file })
    }

    /// Gives the file a name if it has none.
    fn named(&self, name: &Path) -> rustix::io::Result<()> {
        let nameless = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(rustix::fs::CWD, nameless, self.directory, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Writes the content, with owner and mode of the file that it takes the place of.
    fn fill(&self, content: &[u8], old: Option<&File>) -> std::io::Result<()> {
        let mut out = &self.file;
        out.write_all(content)?;
        let mode = match old {
            Some(old) => {
                let metadata = old.metadata()?;
                let own = self.file.metadata()?;
                if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
                    // Only a privileged process can give files away; for others the file stays their own.
                    let owner = Some(Uid::from_raw(metadata.uid()));
                    let _ = rustix::fs::fchown(&self.file, owner, Some(Gid::from_raw(metadata.gid())));
                }
                // New content does not inherit the right to run as somebody else.
                metadata.mode() & 0o1777
            }
            None => 0o666 & !umask(),
        };
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode))?;
        self.file.sync_data()
    }

    fn put(self, name: &OsString, must_be_new: bool) -> std::io::Result<()> {
        let own = match self.name.take() {
            Some(own) => own,
            None if must_be_new => return Ok(self.named(Path::new(name))?),
            None => {
                // Only a rename takes another file's place, and it needs a name to start from.
                let own = own_name()?;
                self.named(Path::new(&own))?;
                own
            }
        };
        self.name.set(Some(own.clone()));
        let flags = if must_be_new { RenameFlags::NOREPLACE } else { RenameFlags::empty() };
        match rustix::fs::renameat_with(self.directory, &own, self.directory, name, flags) {
            // Some file systems know no flags; the lock still keeps our own writes apart.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                rustix::fs::renameat(self.directory, &own, self.directory, name)?;
            }
            other => other?,
        }
        self.name.set(None);
        Ok(())
    }
}

/// A name that nobody else has.
fn own_name() -> std::io::Result<String> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!(".hermes-{:016x}.tmp", u64::from_le_bytes(random)))
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = rustix::fs::unlinkat(self.directory, &name, AtFlags::empty());
        }
    }
}

/// The process's mask for new files. Linux shows it without changing it.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_killed_half_way_leaves_no_name_behind() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        let new = NewFile::make(&directory).unwrap();
        new.fill(b"half", None).unwrap();
        // As if the process had ended here: nothing of ours runs any more.
        std::mem::forget(new);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_new_file_does_not_take_the_place_of_one_that_came_first() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        let new = NewFile::make(&directory).unwrap();
        std::fs::write(folder.path().join("a"), "first").unwrap();
        let refused = new.put(&"a".into(), true).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
