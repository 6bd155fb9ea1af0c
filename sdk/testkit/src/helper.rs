//! Which program compiles components and starts programs for a test, and where is compiled code kept?

use std::path::PathBuf;
use std::sync::OnceLock;

/// What [`use_helper`] was told.
static HELPER: OnceLock<PathBuf> = OnceLock::new();

/// Names the program that compiles components and starts programs: one that calls `helper_main` first in its `main`.
/// The first word counts, for the whole process.
pub fn use_helper(program: impl Into<PathBuf>) {
    let _ = HELPER.set(program.into());
}

/// The command, unless this program is a helper itself.
pub(crate) fn helper() -> Option<PathBuf> {
    if hermes_runtime::sandbox::is_helper() {
        return None;
    }
    let named = HELPER.get().cloned().or_else(|| std::env::var_os("HERMES_DISPATCH").map(PathBuf::from));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("hermes-dispatch"));
    named.or_else(|| found.find(|program| program.is_file()))
}

/// Where the command keeps compiled components.
pub(crate) fn kept() -> Option<PathBuf> {
    let set = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| Some(std::env::home_dir()?.join(".cache"))).map(|folder| folder.join("hermes-dispatch"))
}
