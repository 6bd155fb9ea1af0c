//! What do programs of the machine get? The operator's settings for the `process` capability.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What programs that tools start get. A project's file may not set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProcessSettings {
    /// The program that becomes the launcher: one that calls `helper_main` first. Without it, this program, if it has
    /// called that.
    pub helper: Option<PathBuf>,
    /// Further folders with programs and libraries, shown to programs where they are, read-only.
    pub system: Vec<PathBuf>,
    /// Folders that come first on the search path.
    pub path: Vec<PathBuf>,
    /// Processes and threads of one program at the same time.
    pub processes: u64,
    /// Memory of one process, in MiB.
    pub memory_mb: u64,
    /// The largest file that a program may write, in MiB.
    pub file_mb: u64,
    /// Each private folder for temporary files, in MiB. It lies in memory.
    pub temporary_mb: u64,
    /// How much of the disk one program may use up before it is ended, in MiB. It is looked at several times a second.
    pub disk_mb: u64,
}

impl Default for ProcessSettings {
    fn default() -> ProcessSettings {
        ProcessSettings {
            helper: None,
            system: Vec::new(),
            path: Vec::new(),
            processes: 256,
            memory_mb: 4096,
            file_mb: 1024,
            temporary_mb: 256,
            disk_mb: 2048,
        }
    }
}
