//! What can a component reach in the world? One file for each interface of `wit/`, one line each in `link`. Only this
//! folder touches the outside.

#[cfg(all(feature = "browser", target_os = "linux"))]
pub(crate) mod browser;
#[cfg(not(all(feature = "browser", target_os = "linux")))]
#[path = "no_browser.rs"]
pub(crate) mod browser;
pub(crate) mod embedder;
pub(crate) mod files;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod invoke;
pub(crate) mod log;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
#[cfg_attr(not(feature = "http"), path = "outbound_none.rs")]
pub(crate) mod outbound;
pub(crate) mod own;
pub(crate) mod process;
pub(crate) mod progress;
#[cfg(feature = "http")]
pub(crate) mod secrets;
mod taped;
pub(crate) mod wasi;

use super::State;
use serde_json::Value;
use std::collections::BTreeSet;
use taped::{ByTape, Taped};
use wasmtime::component::{HasSelf, Linker};

/// The names of all capabilities that a component can ask for.
pub(crate) const ALL: &[&str] = &[
    "files",
    "invoke",
    #[cfg(all(feature = "process", target_os = "linux"))]
    "process",
    #[cfg(feature = "http")]
    "http",
    #[cfg(feature = "http")]
    "secrets",
    #[cfg(feature = "mcp")]
    "mcp",
    #[cfg(all(feature = "browser", target_os = "linux"))]
    "browser",
];

/// One tool that a capability has found beyond this machine's manifests.
pub(crate) struct Offer {
    /// Where it is from, for messages.
    pub(crate) origin: String,
    /// Its manifest as JSON.
    pub(crate) manifest: Value,
}

/// What a capability has to offer to the adapter that serves it, and what of it is left out and why.
pub(super) fn offered(sandbox: &super::Sandbox, capability: &str, adapter: &str) -> (Vec<Offer>, Vec<String>) {
    match capability {
        #[cfg(feature = "mcp")]
        "mcp" => sandbox.servers.offered(adapter),
        _ => {
            let _ = (sandbox, adapter);
            (Vec::new(), vec![format!("the capability `{capability}` has no tools to list")])
        }
    }
}

/// Links what every component gets and the capabilities that one was granted.
pub(crate) fn link(linker: &mut Linker<State>, granted: &BTreeSet<String>) -> wasmtime::Result<()> {
    use super::bindings::hermes::tool;
    wasi::link(linker)?;
    tool::log::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    tool::progress::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    if granted.contains("files") {
        tool::files::add_to_linker::<State, ByTape>(linker, |state| Taped(state))?;
    }
    if granted.contains("invoke") {
        tool::invoke::add_to_linker::<State, ByTape>(linker, |state| Taped(state))?;
    }
    #[cfg(feature = "mcp")]
    if granted.contains("mcp") {
        tool::mcp::add_to_linker::<State, ByTape>(linker, |state| Taped(state))?;
    }
    if granted.contains("process") {
        tool::process::add_to_linker::<State, ByTape>(linker, |state| Taped(state))?;
    }
    #[cfg(feature = "http")]
    {
        // As all of WASI, it is there for everybody and empty: only an adapter that asked for `http` can send.
        http::link(linker)?;
        if granted.contains("secrets") {
            tool::secrets::add_to_linker::<State, ByTape>(linker, |state| Taped(state))?;
        }
    }
    #[cfg(all(feature = "browser", target_os = "linux"))]
    if granted.contains("browser") {
        tool::browser::add_to_linker::<State, ByTape>(linker, |state| Taped(state))?;
    }
    Ok(())
}
