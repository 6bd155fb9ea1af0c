//! Files beneath the granted directories. No path, link or race leads out of a grant; nothing that could make the
//! runtime wait is opened; what was checked is the open file itself, not its name.

mod place;
mod write;

use crate::call::Digest;
use crate::error::Kind;
use crate::permission::change::Glance;
use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::files::{
    Entry, EntryKind, Expectation, Failure, Grant, Host, HostReader, Reason, Status, Written,
};
use cap_std::fs::{FileType, FileTypeExt, Metadata};
pub(crate) use place::{Roots, Virtual};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use wasmtime::component::Resource;

/// Bytes that opening a file reads ahead, so that small files cost one hop to a thread that may block.
const AHEAD: usize = 128 << 10;
/// Bytes that a digest reads at a time.
const DIGEST: usize = 256 << 10;
/// Most bytes of one read.
const READ: usize = 4 << 20;
/// Most bytes of one write.
const WRITE: usize = 64 << 20;
/// Most entries of one page of a directory.
const PAGE: usize = 10_000;
/// Files that one attempt holds open at the same time; each costs a descriptor and what was read ahead.
const OPEN: u32 = 64;
/// Entries of one directory that are looked at, at most.
const DIRECTORY: usize = 200_000;
/// The system's number for links that never end; the standard library has no stable word for it.
const LOOP: i32 = rustix::io::Errno::LOOP.raw_os_error();
/// Threads that may be stuck in the kernel over a file, for all calls together.
pub(super) const THREADS: usize = 64;

/// Files of one attempt.
#[derive(Clone)]
pub(crate) struct Files {
    roots: Arc<Roots>,
    pub(crate) writable: bool,
    /// Set when nobody waits for the work any more; then nothing may change.
    over: Arc<AtomicBool>,
}

/// Tells a thread that works on files that its call is over.
struct OverOnDrop(Arc<AtomicBool>);

impl Drop for OverOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Files {
    pub(crate) fn new(roots: Arc<Roots>, writable: bool) -> Files {
        Files { roots, writable, over: Arc::default() }
    }

    /// Runs what may block on a thread that may. Dropping the future leaves the thread to end on its own, counted.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Files) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let stopped = |_| failure(Reason::Io, "the runtime is shutting down");
        let permit = self
            .roots
            .threads
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| failure(Reason::Io, "the runtime is shutting down"))?;
        let mut files = self.clone();
        files.over = Arc::default();
        let _over = OverOnDrop(files.over.clone());
        let done = tokio::task::spawn_blocking(move || {
            let result = work(&files);
            drop(permit);
            result
        });
        done.await.map_err(stopped)?
    }
}

/// Largest file whose text is compared with what a call would make of it, in bytes.
const GLANCE: u64 = 1 << 20;

impl Files {
    /// What a file has now. Who waits for it has no time of its own, so it is given up after a while.
    pub(crate) async fn glance(&self, path: String) -> Glance {
        const WAIT: Duration = Duration::from_secs(10);
        let looked = self.blocking(move |files| {
            let (file, size) = files.roots.open_file(&path)?;
            let io = |error: std::io::Error| from_io(&path, &error);
            let text = match size <= GLANCE {
                true => String::from_utf8(read_up_to(&file, 0, size as usize).map_err(io)?).ok(),
                false => None,
            };
            let digest = match &text {
                Some(text) => Digest::of(text.as_bytes()),
                None => digest_of(&file, &files.over).map_err(io)?,
            };
            Ok(Glance { digest, text, size: Some(size) })
        });
        let nothing = || Glance { digest: Digest::of_parts([]), text: None, size: None };
        tokio::time::timeout(WAIT, looked).await.ok().and_then(Result::ok).unwrap_or_else(nothing)
    }
}

/// An open regular file.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Reader {
    file: Arc<File>,
    size: u64,
    ahead: Vec<u8>,
    path: String,
}

fn failure(reason: Reason, message: impl Into<String>) -> Failure {
    Failure { reason, message: message.into() }
}

/// What the system said about a path, as a component may see it: never with the host's path.
fn from_io(path: &str, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let shown = crate::document::excerpt(path, 200);
    // cap-std reports an escape as a refusal without a system's error number.
    let escapes = error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    let (reason, what) = match error.kind() {
        _ if escapes => (Reason::PathOutOfBounds, "leads out of its grant"),
        ErrorKind::NotFound => (Reason::NotFound, "does not exist"),
        ErrorKind::PermissionDenied => (Reason::PermissionDenied, "cannot be accessed: permission denied"),
        ErrorKind::NotADirectory => (Reason::NotADirectory, "is beneath something that is no directory"),
        ErrorKind::IsADirectory => (Reason::IsADirectory, "is a directory"),
        ErrorKind::AlreadyExists => (Reason::AlreadyExists, "exists already"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (Reason::NoSpace, "cannot be written: no space is left"),
        _ if error.raw_os_error() == Some(LOOP) => (Reason::PathOutOfBounds, "is a link that leads to itself"),
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput => (Reason::NotFound, "is no possible name"),
        ErrorKind::ReadOnlyFilesystem => (Reason::ReadOnly, "is on a read-only file system"),
        _ => (Reason::Io, "cannot be used"),
    };
    let detail = if reason == Reason::Io { format!(": {}", error.kind()) } else { String::new() };
    failure(reason, format!("`{shown}` {what}{detail}"))
}

fn kind_of(file_type: FileType) -> EntryKind {
    if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_dir() {
        EntryKind::Directory
    } else if file_type.is_symlink() {
        EntryKind::Link
    } else {
        debug_assert!(
            file_type.is_fifo() || file_type.is_socket() || file_type.is_char_device() || file_type.is_block_device()
        );
        EntryKind::Other
    }
}

fn size_of(metadata: &Metadata) -> u64 {
    if metadata.is_file() { metadata.len() } else { 0 }
}

fn modified_ms(metadata: &Metadata) -> u64 {
    let since = metadata.modified().ok().and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis() as u64)
}

impl Files {
    fn stat(&self, path: &str) -> Result<Status, Failure> {
        let place = match self.roots.find(path)? {
            Virtual::Root => {
                return Ok(Status { kind: EntryKind::Directory, size: 0, modified_ms: 0 });
            }
            Virtual::Beneath(place) => place,
        };
        let metadata = place.directory.metadata(&place.rest).map_err(|error| from_io(path, &error))?;
        Ok(Status {
            kind: kind_of(metadata.file_type()),
            size: size_of(&metadata),
            modified_ms: modified_ms(&metadata),
        })
    }

    fn open(&self, path: &str) -> Result<Reader, Failure> {
        let (file, size) = self.roots.open_file(path)?;
        let ahead = read_up_to(&file, 0, AHEAD.min(usize::try_from(size).unwrap_or(AHEAD)))
            .map_err(|error| from_io(path, &error))?;
        Ok(Reader { file: Arc::new(file), size, ahead, path: path.to_owned() })
    }

    fn list(&self, path: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>, Failure> {
        let place = match self.roots.find(path)? {
            Virtual::Root => return Ok(self.roots.entries(after, limit)),
            Virtual::Beneath(place) => place,
        };
        let directory = self.roots.open_directory(path, &place)?;
        let io = |error: std::io::Error| from_io(path, &error);
        // Names are sorted before anything is asked about them, so that a page costs no more than its own entries.
        let mut names = Vec::new();
        for entry in directory.dir.entries().map_err(io)? {
            names.push(entry.map_err(io)?.file_name());
            if names.len() > DIRECTORY {
                return Err(failure(Reason::TooLarge, format!("`{path}` has more than {DIRECTORY} entries")));
            }
        }
        names.retain(|name| after.is_none_or(|after| name.as_encoded_bytes() > after.as_bytes()));
        names.sort_unstable();
        names.truncate(limit);
        Ok(names.iter().filter_map(|name| self.entry(&directory, name)).collect())
    }

    /// One entry; `None` for one that vanished meanwhile or that no tool may see.
    fn entry(&self, directory: &place::OpenDirectory, name: &std::ffi::OsStr) -> Option<Entry> {
        if self.roots.is_protected(&directory.real.join(name)) {
            return None;
        }
        let metadata = directory.dir.symlink_metadata(name).ok()?;
        Some(Entry {
            name: name.to_string_lossy().into_owned(),
            kind: kind_of(metadata.file_type()),
            size: size_of(&metadata),
            modified_ms: modified_ms(&metadata),
            accessible: name.to_str().is_some(),
        })
    }
}

impl Reader {
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Failure> {
        read_up_to(&self.file, offset, length).map_err(|error| from_io(&self.path, &error))
    }

    /// Part of what was read ahead, if it has all that is asked for.
    fn read_ahead(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let whole = self.ahead.len() as u64 == self.size;
        let from = usize::try_from(offset).ok()?;
        let to = from.checked_add(length)?;
        match (whole, to <= self.ahead.len()) {
            (_, true) => Some(&self.ahead[from..to]),
            (true, false) => Some(self.ahead.get(from..).unwrap_or_default()),
            (false, false) => None,
        }
    }
}

/// Reads so many bytes, or fewer if the file ends before.
fn read_up_to(file: &File, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let at = offset + bytes.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), at) {
            Ok(0) => break,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The allocator may have given more room than was asked for.
    bytes.truncate(length);
    Ok(bytes)
}

/// Stops work for a call that is over.
fn still_wanted(over: &AtomicBool) -> std::io::Result<()> {
    match over.load(Ordering::SeqCst) {
        true => Err(std::io::Error::other("the call is over")),
        false => Ok(()),
    }
}

/// The digest of an open file, in bounded memory.
fn digest_of(file: &File, over: &AtomicBool) -> std::io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    loop {
        still_wanted(over)?;
        let part = read_up_to(file, offset, DIGEST)?;
        hasher.update(&part);
        offset += part.len() as u64;
        if part.len() < DIGEST {
            return Ok(Digest::from_bytes(*hasher.finalize().as_bytes()));
        }
    }
}

impl Host for State {
    fn grants(&mut self) -> wasmtime::Result<Vec<Grant>> {
        Ok(self.files.roots.grants(self.files.writable))
    }

    async fn stat(&mut self, path: String) -> wasmtime::Result<Result<Status, Failure>> {
        Ok(self.files.blocking(move |files| files.stat(&path)).await)
    }

    async fn open(&mut self, path: String) -> wasmtime::Result<Result<Resource<Reader>, Failure>> {
        if self.open_files >= OPEN {
            return Err(self.meter.stop(Kind::HandleLimit));
        }
        let opened = self.files.blocking(move |files| files.open(&path)).await;
        match opened {
            Ok(reader) => {
                self.open_files += 1;
                Ok(Ok(self.wasi.table.push(reader)?))
            }
            Err(failure) => Ok(Err(failure)),
        }
    }

    async fn list_directory(
        &mut self,
        path: String,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<Entry>, Failure>> {
        let limit = PAGE.min(limit as usize);
        Ok(self.files.blocking(move |files| files.list(&path, after.as_deref(), limit)).await)
    }

    async fn make_directory(&mut self, path: String) -> wasmtime::Result<Result<(), Failure>> {
        Ok(self.files.blocking(move |files| files.make_directory(&path)).await)
    }

    async fn write(
        &mut self,
        path: String,
        content: Vec<u8>,
        expect: Expectation,
    ) -> wasmtime::Result<Result<Written, Failure>> {
        self.meter.count_bytes(content.len());
        Ok(self.files.blocking(move |files| files.replace(&path, &content, &expect)).await)
    }

    async fn append(
        &mut self,
        path: String,
        content: Vec<u8>,
        expect: Expectation,
    ) -> wasmtime::Result<Result<Written, Failure>> {
        self.meter.count_bytes(content.len());
        Ok(self.files.blocking(move |files| files.append(&path, &content, &expect)).await)
    }
}

impl HostReader for State {
    fn size(&mut self, reader: Resource<Reader>) -> wasmtime::Result<u64> {
        Ok(self.wasi.table.get(&reader)?.size)
    }

    async fn read(
        &mut self,
        reader: Resource<Reader>,
        offset: u64,
        length: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        let length = length as usize;
        if length > READ {
            return Ok(Err(failure(Reason::TooLarge, format!("one read has at most {READ} bytes"))));
        }
        let reader = self.wasi.table.get(&reader)?;
        let length = self.files.roots.faults.readable(reader.size, offset, length);
        let read = match reader.read_ahead(offset, length) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => {
                let reader = reader.without_ahead();
                self.files.blocking(move |_| reader.read(offset, length)).await
            }
        };
        self.meter.count_bytes(read.as_ref().map_or(0, Vec::len));
        Ok(read)
    }

    async fn digest(&mut self, reader: Resource<Reader>) -> wasmtime::Result<Result<String, Failure>> {
        let reader = self.wasi.table.get(&reader)?;
        if reader.ahead.len() as u64 == reader.size {
            return Ok(Ok(Digest::of(&reader.ahead).to_string()));
        }
        let reader = reader.without_ahead();
        let digest =
            move |files: &Files| digest_of(&reader.file, &files.over).map_err(|error| from_io(&reader.path, &error));
        Ok(self.files.blocking(digest).await.map(|digest| digest.to_string()))
    }

    fn drop(&mut self, reader: Resource<Reader>) -> wasmtime::Result<()> {
        self.wasi.table.delete(reader)?;
        self.open_files -= 1;
        Ok(())
    }
}

impl Reader {
    fn without_ahead(&self) -> Reader {
        Reader { file: self.file.clone(), size: self.size, ahead: Vec::new(), path: self.path.clone() }
    }
}
