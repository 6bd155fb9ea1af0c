//! A disk that takes its time: from now on SQLite's syncs of this process wait so long before they are what they were.
#![allow(unsafe_code, reason = "SQLite's layer over the system is a table of C functions")]

use rusqlite::ffi::{SQLITE_IOERR, SQLITE_OK, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;
use std::time::Duration;

type Sync = unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int;

/// What SQLite has without this, and how long a sync takes more.
struct Below {
    layer: *mut sqlite3_vfs,
    more: Duration,
}

// SAFETY: SQLite's own layer is never changed and never freed.
unsafe impl Send for Below {}
// SAFETY: as above.
unsafe impl std::marker::Sync for Below {}

static BELOW: OnceLock<Below> = OnceLock::new();
static SYNC: OnceLock<Sync> = OnceLock::new();

/// Every file that is opened from now on is on such a disk.
pub(crate) fn syncs_take(more: Duration) {
    // SAFETY: the default layer is there for as long as the process, and so is the copy, which is leaked.
    unsafe {
        let layer = rusqlite::ffi::sqlite3_vfs_find(std::ptr::null());
        assert!(!layer.is_null() && BELOW.set(Below { layer, more }).is_ok());
        let slow = sqlite3_vfs { zName: c"slow".as_ptr(), xOpen: Some(open), pNext: std::ptr::null_mut(), ..*layer };
        assert_eq!(rusqlite::ffi::sqlite3_vfs_register(Box::into_raw(Box::new(slow)), 1), SQLITE_OK);
    }
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let Some(Below { layer, .. }) = BELOW.get() else { return SQLITE_IOERR };
    // SAFETY: what SQLite asked of the copy is passed on to the layer that it is a copy of, whose files are as large.
    unsafe {
        let Some(real) = (**layer).xOpen else { return SQLITE_IOERR };
        let opened = real(*layer, name, file, flags, out);
        if opened == SQLITE_OK && !(*file).pMethods.is_null() {
            let methods = *(*file).pMethods;
            if let Some(sync) = methods.xSync {
                SYNC.get_or_init(|| sync);
            }
            // A few files are opened in all, so a few tables are leaked.
            (*file).pMethods = Box::into_raw(Box::new(sqlite3_io_methods { xSync: Some(slow_sync), ..methods }));
        }
        opened
    }
}

unsafe extern "C" fn slow_sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    let (Some(Below { more, .. }), Some(sync)) = (BELOW.get(), SYNC.get()) else { return SQLITE_IOERR };
    std::thread::sleep(*more);
    // SAFETY: the file is one that the layer below has opened.
    unsafe { sync(file, flags) }
}
