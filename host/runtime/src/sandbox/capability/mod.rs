//! What can a component reach in the world? One file for each interface of `wit/`, one line each in `link`. Only this
//! folder touches the outside.

pub(crate) mod files;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod log;
#[cfg_attr(not(feature = "http"), path = "outbound_none.rs")]
pub(crate) mod outbound;
pub(crate) mod process;
pub(crate) mod progress;
#[cfg(feature = "http")]
pub(crate) mod secrets;
pub(crate) mod wasi;

use super::State;
use std::collections::BTreeSet;
use wasmtime::component::{HasSelf, Linker};

/// The names of all capabilities that a component can ask for.
pub(crate) const ALL: &[&str] = &[
    "files",
    #[cfg(all(feature = "process", target_os = "linux"))]
    "process",
    #[cfg(feature = "http")]
    "http",
    #[cfg(feature = "http")]
    "secrets",
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
    #[cfg(feature = "http")]
    {
        // As all of WASI, it is there for everybody and empty: only an adapter that asked for `http` can send.
        http::link(linker)?;
        if granted.contains("secrets") {
            tool::secrets::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
        }
    }
    Ok(())
}
