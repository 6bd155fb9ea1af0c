//! What may this component do with files? The capability as a trait, so that the tools run in native tests too.
//!
//! Knows no tool. The types are those of `wit/files.wit`.

use crate::bindings::hermes::tool::files::{self as host};
pub(crate) use crate::bindings::hermes::tool::files::{
    Entry, EntryKind, Expectation, Failure, Grant, Reason, Status, Written,
};

/// The most that one `read` of the interface returns, in bytes.
pub(crate) const READ_LIMIT: u32 = 4 * 1024 * 1024;

/// The most names that one `list-directory` returns.
pub(crate) const LIST_LIMIT: u32 = 10_000;

/// The granted directories: the host's in the component, a tree in memory in the tests.
pub(crate) trait Files {
    /// An open file.
    type Reader: Source;

    fn grants(&self) -> Vec<Grant>;
    fn stat(&self, path: &str) -> Result<Status, Failure>;
    fn open(&self, path: &str) -> Result<Self::Reader, Failure>;
    fn list(&self, path: &str, after: Option<&str>, limit: u32) -> Result<Vec<Entry>, Failure>;
    fn make_directory(&self, path: &str) -> Result<(), Failure>;
    fn write(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written, Failure>;
    fn append(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written, Failure>;
}

/// The bytes of one open regular file.
pub(crate) trait Source {
    fn size(&self) -> u64;
    /// Up to `length` bytes from `offset`; fewer only at the end of the file.
    fn read(&self, offset: u64, length: u32) -> Result<Vec<u8>, Failure>;
    fn digest(&self) -> Result<String, Failure>;
}

/// The host's directories.
pub(crate) struct Granted;

impl Files for Granted {
    type Reader = host::Reader;

    fn grants(&self) -> Vec<Grant> {
        host::grants()
    }

    fn stat(&self, path: &str) -> Result<Status, Failure> {
        host::stat(path)
    }

    fn open(&self, path: &str) -> Result<host::Reader, Failure> {
        host::open(path)
    }

    fn list(&self, path: &str, after: Option<&str>, limit: u32) -> Result<Vec<Entry>, Failure> {
        host::list_directory(path, after, limit)
    }

    fn make_directory(&self, path: &str) -> Result<(), Failure> {
        host::make_directory(path)
    }

    fn write(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written, Failure> {
        host::write(path, content, expect)
    }

    fn append(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written, Failure> {
        host::append(path, content, expect)
    }
}

impl Source for host::Reader {
    fn size(&self) -> u64 {
        host::Reader::size(self)
    }

    fn read(&self, offset: u64, length: u32) -> Result<Vec<u8>, Failure> {
        host::Reader::read(self, offset, length)
    }

    fn digest(&self) -> Result<String, Failure> {
        host::Reader::digest(self)
    }
}

/// The whole content of an open file, in as few reads as the interface allows. The caller has checked the size.
pub(crate) fn read_all(source: &impl Source) -> Result<Vec<u8>, Failure> {
    let mut content = source.read(0, READ_LIMIT)?;
    let mut block = content.len();
    while block == READ_LIMIT as usize {
        let more = source.read(content.len() as u64, READ_LIMIT)?;
        block = more.len();
        content.extend_from_slice(&more);
    }
    Ok(content)
}

/// The granted directories as entries of the virtual root.
pub(crate) fn list_root(files: &impl Files) -> Vec<Entry> {
    let entry = |grant: Grant| Entry {
        name: grant.name.trim_start_matches('/').to_owned(),
        kind: EntryKind::Directory,
        size: 0,
        modified_ms: 0,
        accessible: true,
    };
    files.grants().into_iter().map(entry).collect()
}

/// All names of a directory up to `most`, page by page, sorted by bytes.
pub(crate) fn list_all(files: &impl Files, path: &str, most: usize) -> Result<Vec<Entry>, Failure> {
    if path == "/" {
        return Ok(list_root(files));
    }
    let mut entries = files.list(path, None, LIST_LIMIT)?;
    let mut page = entries.len();
    while page == LIST_LIMIT as usize && entries.len() < most {
        let after = entries.last().map(|entry| entry.name.clone());
        let more = files.list(path, after.as_deref(), LIST_LIMIT)?;
        page = more.len();
        entries.extend(more);
    }
    Ok(entries)
}
