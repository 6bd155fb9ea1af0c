//! What can a component reach in the world? One file for each interface of `wit/`, one line each in `link`. Only this
//! folder touches the outside.

pub(crate) mod files;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod wasi;

use super::State;
use std::collections::BTreeSet;
use wasmtime::component::{HasSelf, Linker};

/// The names of all capabilities that a component can ask for.
pub(crate) const ALL: &[&str] = &[
    "files",
    #[cfg(all(feature = "process", target_os = "linux"))]
    "process",
];

/// Links what every component gets and the capabilities that one was granted.
pub(crate) fn link(linker: &mut Linker<State>, granted: &BTreeSet<String>) -> wasmtime::Result<()> {
    use super::bindings::hermes::tool;
    wasi::link(linker)?;
    tool::log::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    tool::progress::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    if granted.contains("files") {
        tool::files::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    }
    if granted.contains("process") {
        tool::process::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    }
    Ok(())
}
