//! Where does a virtual path lead on this machine? Resolves beneath a directory that was opened at the start, and looks
//! at what was really opened: links inside a grant are followed, and a place that is kept from tools stays kept,
//! whatever name leads to it.

use super::{THREADS, failure, from_io};
use crate::config;
use crate::faults::FileFaults;
use crate::permission::target::path::{is_git_config, is_hook};
use crate::sandbox::bindings::hermes::tool::files::{Entry, EntryKind, Failure, Grant, Reason};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The granted directories, open. Lifetime: the runtime.
pub(crate) struct Roots {
    by_name: BTreeMap<String, Root>,
    protected: BTreeSet<PathBuf>,
    /// Threads that may be stuck in the kernel over a file.
    pub(super) threads: Arc<Semaphore>,
    pub(super) faults: FileFaults,
}

struct Root {
    directory: Dir,
    writable: bool,
}

/// What a virtual path names.
pub(crate) enum Virtual<'a> {
    /// The list of grants.
    Root,
    /// A place beneath one.
    Beneath(Place<'a>),
}

/// A place beneath a grant.
pub(crate) struct Place<'a> {
    pub(super) directory: &'a Dir,
    pub(super) writable: bool,
    /// The path beneath the grant; `.` for the grant itself.
    pub(super) rest: PathBuf,
}

/// A directory that was opened and found to be where it may be.
pub(super) struct OpenDirectory {
    pub(super) dir: Dir,
    pub(super) real: PathBuf,
}

impl Roots {
    /// Opens the granted directories. `protected` are host paths that no grant includes.
    pub(crate) fn open(
        grants: &BTreeMap<String, config::Grant>,
        protected: &BTreeSet<PathBuf>,
    ) -> Result<Roots, String> {
        let open = |(name, grant): (&String, &config::Grant)| {
            let directory = Dir::open_ambient_dir(&grant.path, cap_std::ambient_authority()).map_err(|error| {
                format!(
                    "the granted directory `{}` (`{name}`) cannot be opened: {error} (make it, or correct `grants.{name}`; `hermes-dispatch config show --origin` names the file)",
                    grant.path.display()
                )
            })?;
            let writable = grant.mode == config::Access::ReadWrite;
            Ok((name.clone(), Root { directory, writable }))
        };
        Ok(Roots {
            by_name: grants.iter().map(open).collect::<Result<_, String>>()?,
            protected: protected.iter().flat_map(|path| [path.clone(), config::real(path)]).collect(),
            threads: Arc::new(Semaphore::new(THREADS)),
            faults: FileFaults::default(),
        })
    }

    /// The same where something goes wrong.
    pub(crate) fn failing(self, faults: FileFaults) -> Roots {
        Roots { faults, ..self }
    }

    /// No directory at all.
    pub(crate) fn none() -> Roots {
        Roots {
            by_name: BTreeMap::new(),
            protected: BTreeSet::new(),
            threads: Arc::new(Semaphore::new(1)),
            faults: FileFaults::default(),
        }
    }

    /// The grants as a component sees them.
    pub(super) fn grants(&self, writable: bool) -> Vec<Grant> {
        let grant =
            |(name, root): (&String, &Root)| Grant { name: format!("/{name}"), writable: writable && root.writable };
        self.by_name.iter().map(grant).collect()
    }

    /// The grants as entries of the virtual root.
    pub(super) fn entries(&self, after: Option<&str>, limit: usize) -> Vec<Entry> {
        let names = self.by_name.keys().filter(|name| after.is_none_or(|after| name.as_str() > after));
        let entry = |name: &String| Entry {
            name: name.clone(),
            kind: EntryKind::Directory,
            size: 0,
            modified_ms: 0,
            accessible: true,
        };
        names.take(limit).map(entry).collect()
    }

    /// Finds the grant of a path.
    pub(super) fn find(&self, path: &str) -> Result<Virtual<'_>, Failure> {
        let out = || {
            failure(Reason::PathOutOfBounds, format!("`{}` is beneath no grant", crate::document::excerpt(path, 200)))
        };
        let absolute = path.strip_prefix('/').ok_or_else(out)?;
        if absolute.is_empty() {
            return Ok(Virtual::Root);
        }
        let (name, rest) = absolute.split_once('/').unwrap_or((absolute, ""));
        let root = self.by_name.get(name).ok_or_else(out)?;
        if path.contains('\0') || rest.split('/').any(|part| part == "..") {
            return Err(out());
        }
        let rest = if rest.is_empty() { "." } else { rest };
        Ok(Virtual::Beneath(Place { directory: &root.directory, writable: root.writable, rest: rest.into() }))
    }

    /// Whether a path is beneath a grant, without looking at the disk.
    pub(crate) fn check(&self, path: &str) -> Result<(), Failure> {
        match self.find(path)? {
            Virtual::Beneath(_) => Ok(()),
            Virtual::Root => Err(failure(Reason::PathOutOfBounds, "`/` is beneath no grant")),
        }
    }

    /// Opens a regular file for reading, without waiting on anything, and says how large it is.
    pub(super) fn open_file(&self, path: &str) -> Result<(File, u64), Failure> {
        let Virtual::Beneath(place) = self.find(path)? else {
            return Err(failure(Reason::IsADirectory, "`/` is a directory"));
        };
        let io = |error: std::io::Error| from_io(path, &error);
        // Looked at before it is opened, since opening some devices has effects; looked at again when it is open.
        let before = place.directory.metadata(&place.rest).map_err(io)?;
        regular(path, before.is_file(), before.is_dir())?;
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags);
        let file = place.directory.open_with(&place.rest, &options).map_err(io)?.into_std();
        let metadata = file.metadata().map_err(io)?;
        regular(path, metadata.is_file(), metadata.is_dir())?;
        self.refuse_protected(path, &real_path(&file).map_err(io)?)?;
        Ok((file, metadata.len()))
    }

    /// Opens a directory for listing or for what is in it.
    pub(super) fn open_directory(&self, path: &str, place: &Place<'_>) -> Result<OpenDirectory, Failure> {
        let io = |error: std::io::Error| from_io(path, &error);
        if !place.directory.metadata(&place.rest).map_err(io)?.is_dir() {
            return Err(failure(
                Reason::NotADirectory,
                format!("`{}` is not a directory", crate::document::excerpt(path, 200)),
            ));
        }
        let dir = place.directory.open_dir(&place.rest).map_err(io)?;
        let real = real_path(&dir).map_err(io)?;
        self.refuse_protected(path, &real)?;
        Ok(OpenDirectory { dir, real })
    }

    pub(super) fn refuse_protected(&self, path: &str, real: &Path) -> Result<(), Failure> {
        match self.is_protected(real) {
            true => Err(failure(
                Reason::PathOutOfBounds,
                format!("`{}` is kept from every tool", crate::document::excerpt(path, 200)),
            )),
            false => Ok(()),
        }
    }

    /// The same for a place that is to be changed.
    pub(super) fn refuse_unchangeable(&self, path: &str, real: &Path) -> Result<(), Failure> {
        self.refuse_protected(path, real)?;
        match is_git_config(&real.to_string_lossy()) {
            true => {
                let shown = crate::document::excerpt(path, 200);
                Err(failure(
                    Reason::PathOutOfBounds,
                    format!("`{shown}` tells git what to run and is never changed by a tool"),
                ))
            }
            false => Ok(()),
        }
    }

    /// Whether a real path is kept from tools.
    pub(super) fn is_protected(&self, real: &Path) -> bool {
        self.protected.iter().any(|place| real.starts_with(place)) || is_hook(&real.to_string_lossy())
    }
}

fn regular(path: &str, is_file: bool, is_dir: bool) -> Result<(), Failure> {
    let shown = crate::document::excerpt(path, 200);
    match (is_file, is_dir) {
        (true, _) => Ok(()),
        (false, true) => Err(failure(Reason::IsADirectory, format!("`{shown}` is a directory"))),
        (false, false) => Err(failure(Reason::NotARegularFile, format!("`{shown}` is not a regular file"))),
    }
}

/// Where an open file really is, by the kernel's word.
pub(super) fn real_path(file: &impl AsFd) -> std::io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let target = rustix::fs::readlink(link, Vec::new())?;
    Ok(std::ffi::OsString::from_vec(target.into_bytes()).into())
}
