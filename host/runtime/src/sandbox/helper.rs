//! Which program of ours does the work that is kept out of this process? This very executable, started again: as the
//! launcher of a program, to compile one component, or to run one. Must not do any of it.

use super::{compile, worker};
use std::path::PathBuf;
use std::sync::OnceLock;

/// This program, once it has said that it can be the helper.
static HELPER: OnceLock<PathBuf> = OnceLock::new();

/// Becomes the helper if this process was started as one; otherwise notes that it can be. A program that embeds the
/// runtime calls this first in `main`, before it starts a thread. Without it, and without a helper in the
/// configuration, no component can be compiled and no program started.
pub fn helper_main() {
    let word = std::env::args_os().nth(1);
    let is = |name: &str| word.as_ref().is_some_and(|word| word == name);
    #[cfg(all(feature = "process", target_os = "linux"))]
    if is(super::capability::process::LAUNCH) {
        super::capability::process::launcher::main();
    }
    if is(compile::COMPILE) {
        std::process::exit(compile::serve());
    }
    if is(worker::WORK) {
        std::process::exit(worker::serve(std::env::args_os().nth(2).as_deref()));
    }
    if let Ok(program) = std::env::current_exe() {
        let _ = HELPER.set(program);
    }
}

/// A file that every program in a sandbox of ours sees, and that none can remove.
pub(crate) const MARK: &str = "/.hermes-sandbox";

/// Whether this process is a program of a tool, in a sandbox of ours. Nothing is granted there, whoever asks.
pub fn is_in_sandbox() -> bool {
    rustix::fs::lstat(MARK).is_ok()
}

/// Whether this program has said that it can be the helper.
pub fn is_helper() -> bool {
    HELPER.get().is_some()
}

/// The helper: the one that the configuration names, or this program if it can be.
pub(crate) fn named(configured: Option<&PathBuf>) -> Option<PathBuf> {
    configured.or_else(|| HELPER.get()).cloned()
}
