//! What is on a disk when the power goes? SQLite's files on a disk of ours: what was written and not yet synced is lost,
//! kept or torn, piece by piece. Passes everything on to the real file system and keeps, beside it, what would be left.
//! Must not know what is written.
#![expect(unsafe_code, reason = "SQLite's interface to file systems exists only in C")]

use rusqlite::ffi;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A write or a cut that was not synced.
#[derive(Clone)]
enum Unsynced {
    Write(u64, Vec<u8>),
    Truncate(u64),
}

/// One file as it would be found.
#[derive(Clone, Default)]
struct Shadow {
    synced: Vec<u8>,
    since: Vec<Unsynced>,
}

/// What the disk has seen. Lifetime: the process.
#[derive(Default)]
pub(crate) struct Disk {
    files: BTreeMap<String, Shadow>,
    operations: u64,
    /// Whether syncing does nothing, which a disk may do that lies, and a careless setting.
    lies: bool,
    losses: Vec<Loss>,
    random: u64,
    /// What the outside was told so far; copied into each loss.
    pub(crate) told: Vec<String>,
    every: u64,
}

/// What is left after one loss of power, and what the outside had been told before it.
pub(crate) struct Loss {
    files: BTreeMap<String, Vec<u8>>,
    pub(crate) told: Vec<String>,
}

static DISK: Mutex<Option<Disk>> = Mutex::new(None);

/// The disk, locked.
pub(crate) fn disk() -> MutexGuard<'static, Option<Disk>> {
    DISK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that the outside was told something.
pub(crate) fn told(what: String) {
    if let Some(disk) = disk().as_mut() {
        disk.told.push(what);
    }
}

/// Takes what was lost so far.
pub(crate) fn losses() -> Vec<Loss> {
    disk().as_mut().map(|disk| std::mem::take(&mut disk.losses)).unwrap_or_default()
}

impl Loss {
    /// Puts the files of one folder, as they would be found, into another one.
    pub(crate) fn put(&self, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for (name, bytes) in &self.files {
            let name = Path::new(name).file_name().unwrap();
            std::fs::write(to.join(name), bytes).unwrap();
        }
    }
}

impl Disk {
    fn note(&mut self, name: &str, what: Unsynced) {
        self.files.entry(name.to_owned()).or_default().since.push(what);
        self.passed();
    }

    fn sync(&mut self, name: &str) {
        if !self.lies
            && let Some(shadow) = self.files.get_mut(name)
        {
            for what in std::mem::take(&mut shadow.since) {
                apply(&mut shadow.synced, &what);
            }
        }
        self.passed();
    }

    /// Between any two operations the power may go.
    fn passed(&mut self) {
        self.operations += 1;
        if self.operations.is_multiple_of(self.every) {
            let files = self.files.clone();
            let files = files.into_iter().map(|(name, shadow)| (name, self.left(shadow))).collect();
            let told = self.told.clone();
            self.losses.push(Loss { files, told });
        }
    }

    /// A file with each unsynced piece lost, kept or torn in the middle.
    fn left(&mut self, shadow: Shadow) -> Vec<u8> {
        let mut bytes = shadow.synced;
        for what in shadow.since {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            match (self.random % 3, what) {
                (0, _) => {}
                (1, Unsynced::Write(at, written)) => {
                    let half = written.len() / 2;
                    apply(&mut bytes, &Unsynced::Write(at, written[..half].to_vec()));
                }
                (_, what) => apply(&mut bytes, &what),
            }
        }
        bytes
    }
}

fn apply(bytes: &mut Vec<u8>, what: &Unsynced) {
    match what {
        Unsynced::Write(at, written) => {
            let end = *at as usize + written.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at as usize..end].copy_from_slice(written);
        }
        Unsynced::Truncate(length) => bytes.resize(*length as usize, 0),
    }
}

/// Puts the disk beneath every database that this process opens from now on. Power goes after each `every` operations.
pub(crate) fn install(every: u64, lies: bool) {
    *disk() = Some(Disk { every, lies, random: 0x2545_f491_4f6c_dd1d, ..Disk::default() });
    // SAFETY: the default file system lives as long as the process; the copy is leaked, so it does, too. Its functions
    // do not look at the pointer they are given but for constants that are copied.
    unsafe {
        let real = ffi::sqlite3_vfs_find(std::ptr::null());
        let mut ours = std::ptr::read(real);
        ours.pNext = std::ptr::null_mut();
        ours.zName = c"loses what was not synced".as_ptr();
        ours.szOsFile += size_of::<File>() as c_int;
        ours.xOpen = Some(open);
        let ours = Box::leak(Box::new(ours));
        REAL.store(real, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(ffi::sqlite3_vfs_register(ours, 1), ffi::SQLITE_OK);
    }
}

static REAL: std::sync::atomic::AtomicPtr<ffi::sqlite3_vfs> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());

/// Our file, with the real one behind it in the same piece of memory, which SQLite allocates by `szOsFile`.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    name: *mut String,
}

unsafe fn real(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: SQLite allocated room for both, one behind the other.
    unsafe { file.cast::<File>().add(1).cast() }
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const std::ffi::c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: as SQLite calls it; the real file system gets its own pointer and its own part of the memory.
    unsafe {
        let vfs = REAL.load(std::sync::atomic::Ordering::SeqCst);
        let ours = file.cast::<File>();
        (*ours).base.pMethods = std::ptr::null();
        (*ours).name = std::ptr::null_mut();
        let Some(open) = (*vfs).xOpen else { return ffi::SQLITE_CANTOPEN };
        let opened = open(vfs, name, real(file), flags, out);
        if opened == ffi::SQLITE_OK {
            if !name.is_null() {
                (*ours).name = Box::into_raw(Box::new(CStr::from_ptr(name).to_string_lossy().into_owned()));
            }
            (*ours).base.pMethods = &METHODS;
        }
        opened
    }
}

unsafe fn note(file: *mut ffi::sqlite3_file, what: impl FnOnce(&mut Disk, &str)) {
    // SAFETY: the name was leaked by `open` and is taken back by `close`.
    let name = unsafe { file.cast::<File>().as_ref().and_then(|file| file.name.as_ref()) };
    if let (Some(name), Some(disk)) = (name, disk().as_mut()) {
        what(disk, name);
    }
}

/// Calls the real file's method of that name.
macro_rules! pass {
    ($method:ident, $file:ident $(, $argument:expr)*) => {{
        let real = real($file);
        match (*(*real).pMethods).$method {
            Some(method) => method(real $(, $argument)*),
            None => ffi::SQLITE_IOERR,
        }
    }};
}

/// A method that only passes on.
macro_rules! passing {
    ($name:ident, $method:ident, $($argument:ident: $type:ty),*) => {
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: the real file behind ours, with SQLite's own arguments.
            unsafe { pass!($method, file $(, $argument)*) }
        }
    };
}

passing!(read, xRead, to: *mut c_void, count: c_int, at: ffi::sqlite3_int64);
passing!(file_size, xFileSize, size: *mut ffi::sqlite3_int64);
passing!(lock, xLock, level: c_int);
passing!(unlock, xUnlock, level: c_int);
passing!(reserved, xCheckReservedLock, out: *mut c_int);
passing!(control, xFileControl, what: c_int, with: *mut c_void);
passing!(sector, xSectorSize,);
passing!(shm_map, xShmMap, page: c_int, size: c_int, extend: c_int, out: *mut *mut c_void);
passing!(shm_lock, xShmLock, offset: c_int, count: c_int, flags: c_int);
passing!(shm_unmap, xShmUnmap, delete: c_int);

/// This disk promises nothing that spares a sync.
unsafe extern "C" fn device(_file: *mut ffi::sqlite3_file) -> c_int {
    0
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: the real file behind ours.
    unsafe {
        let real = real(file);
        if let Some(barrier) = (*(*real).pMethods).xShmBarrier {
            barrier(real);
        }
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once; the name is its own.
    unsafe {
        let ours = file.cast::<File>();
        if !(*ours).name.is_null() {
            drop(Box::from_raw((*ours).name));
            (*ours).name = std::ptr::null_mut();
        }
        pass!(xClose, file)
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    count: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite gives `count` bytes.
    unsafe {
        let bytes = std::slice::from_raw_parts(from.cast::<u8>(), count as usize).to_vec();
        note(file, |disk, name| disk.note(name, Unsynced::Write(at as u64, bytes)));
        pass!(xWrite, file, from, count, at)
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, length: ffi::sqlite3_int64) -> c_int {
    // SAFETY: as SQLite calls it.
    unsafe {
        note(file, |disk, name| disk.note(name, Unsynced::Truncate(length as u64)));
        pass!(xTruncate, file, length)
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: as SQLite calls it.
    unsafe {
        note(file, |disk, name| disk.sync(name));
        pass!(xSync, file, flags)
    }
}

/// Version 2: no memory-mapped files, which would pass by this disk.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector),
    xDeviceCharacteristics: Some(device),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};
