//! Files beneath the granted directories, by virtual path. No path leads out of a grant; the runtime sees to it.

use crate::bindings::hermes::tool::files as host;
pub use crate::bindings::hermes::tool::files::{Entry, EntryKind, Expectation, Grant, Status, Written};
use crate::call::{Call, Given};
use crate::failure::{Failure, Kind, Result};

/// Most bytes that one read of the interface returns.
const READ: u32 = 4 << 20;
/// Most names of one page of a directory.
const PAGE: u32 = 10_000;

/// The granted directories. A tool takes it as `&Files`; `adapter.toml` asks for `files`.
#[derive(Debug)]
pub struct Files(());

impl Given for Files {
    fn given(_: &Call) -> Files {
        Files(())
    }
}

/// An open file.
#[derive(Debug)]
pub struct Reader(imp::Reader);

impl Files {
    /// The granted directories, for a native test.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn for_test() -> Files {
        Files(())
    }

    /// The granted directories, sorted by name.
    pub fn grants(&self) -> Vec<Grant> {
        imp::grants()
    }

    /// What a path names.
    pub fn stat(&self, path: &str) -> Result<Status> {
        Ok(imp::stat(path)?)
    }

    /// Opens a regular file.
    pub fn open(&self, path: &str) -> Result<Reader> {
        Ok(Reader(imp::open(path)?))
    }

    /// The whole of a file that has at most `most` bytes.
    pub fn read(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        let reader = self.open(path)?;
        if reader.size() > most {
            let why = format!("`{path}` has {} bytes, and at most {most} are read", reader.size());
            return Err(Failure::new(Kind::TooLarge, why).reason("too_large"));
        }
        let mut content = Vec::new();
        loop {
            let piece = reader.read(content.len() as u64, READ)?;
            content.extend_from_slice(&piece);
            if piece.len() < READ as usize {
                return Ok(content);
            }
        }
    }

    /// The whole of a text file that has at most `most` bytes.
    pub fn read_text(&self, path: &str, most: u64) -> Result<String> {
        String::from_utf8(self.read(path, most)?)
            .map_err(|_| Failure::because("not_text", format!("`{path}` is no text in UTF-8")))
    }

    /// All names of a directory, sorted.
    pub fn list(&self, path: &str) -> Result<Vec<Entry>> {
        let mut entries = imp::list(path, None, PAGE)?;
        let mut page = entries.len();
        while page == PAGE as usize {
            let after = entries.last().map(|entry| entry.name.clone());
            let more = imp::list(path, after.as_deref(), PAGE)?;
            page = more.len();
            entries.extend(more);
        }
        Ok(entries)
    }

    /// Makes a directory and those above it.
    pub fn make_directory(&self, path: &str) -> Result<()> {
        Ok(imp::make_directory(path)?)
    }

    /// Replaces the whole content in one step, if what is there is as expected.
    pub fn write(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written> {
        imp::write(path, content, expect).map_err(changing)
    }

    /// Adds to the end of a file, if what is there is as expected.
    pub fn append(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written> {
        imp::append(path, content, expect).map_err(changing)
    }
}

impl Reader {
    /// The file's size when it was opened.
    pub fn size(&self) -> u64 {
        self.0.size()
    }

    /// Up to `length` bytes (at most 4 MiB) from `offset`; fewer only at the end.
    pub fn read(&self, offset: u64, length: u32) -> Result<Vec<u8>> {
        Ok(self.0.read(offset, length)?)
    }

    /// The digest of the whole content.
    pub fn digest(&self) -> Result<String> {
        Ok(self.0.digest()?)
    }
}

impl From<host::Failure> for Failure {
    fn from(failure: host::Failure) -> Failure {
        use host::Reason;
        let (kind, reason) = match failure.reason {
            Reason::NotFound => (Kind::ToolFailed, "not_found"),
            Reason::PathOutOfBounds => (Kind::Denied, "path_out_of_bounds"),
            Reason::ReadOnly => (Kind::Denied, "read_only"),
            Reason::PermissionDenied => (Kind::Denied, "permission_denied"),
            Reason::NotARegularFile => (Kind::ToolFailed, "not_a_regular_file"),
            Reason::NotADirectory => (Kind::ToolFailed, "not_a_directory"),
            Reason::IsADirectory => (Kind::ToolFailed, "is_a_directory"),
            Reason::AlreadyExists => (Kind::ToolFailed, "already_exists"),
            Reason::Changed => (Kind::Conflict, "changed"),
            Reason::TooLarge => (Kind::TooLarge, "too_large"),
            Reason::NoSpace => (Kind::ToolFailed, "no_space"),
            Reason::Io => (Kind::ToolFailed, "io"),
        };
        Failure::new(kind, failure.message).reason(reason)
    }
}

/// The interface undoes what it could not finish, except that a disk which fails or is full may have taken a part.
fn changing(failure: host::Failure) -> Failure {
    let partly = matches!(failure.reason, host::Reason::Io | host::Reason::NoSpace);
    let failure = Failure::from(failure);
    if partly { failure.sent() } else { failure }
}

#[cfg(target_arch = "wasm32")]
mod imp {
    pub(super) use super::host::{Reader, append, grants, list_directory as list, make_directory, open, stat, write};
}

#[cfg(not(target_arch = "wasm32"))]
use crate::native::files as imp;
