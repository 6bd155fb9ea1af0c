//! The file adapter: `file_read`, `file_write`, `file_search` and `file_list` on the directories that the host grants.
//!
//! This file maps calls to tools. What a path may reach is the host's business; nothing here can widen it.

mod describe;
mod diff;
mod encoding;
mod failure;
mod files;
mod ignored;
mod lines;
mod list;
mod matcher;
mod media;
#[cfg(test)]
mod memory;
mod name;
mod output;
mod path;
mod read;
mod replace;
mod scan;
mod search;
mod walk;
mod write;

/// What `wit/` says, as Rust.
mod bindings {
    wit_bindgen::generate!({ world: "file-tool", path: "../../wit" });
}

use bindings::exports::hermes::tool::tool_execution::{Call, Description, Error, Guest, Output};
use bindings::hermes::tool::types::ErrorKind;
use files::Granted;

struct Adapter;

impl Guest for Adapter {
    fn describe() -> Description {
        describe::description()
    }

    fn execute(call: Call) -> Result<Output, Error> {
        match call.tool.as_str() {
            "file_read" => read::run(&Granted, &arguments(&call.args)?),
            "file_write" => write::run(&Granted, &arguments(&call.args)?),
            "file_search" => search::run(&Granted, &arguments(&call.args)?),
            "file_list" => list::run(&Granted, &arguments(&call.args)?),
            tool => Err(failure::error(ErrorKind::InvalidInput, None, format!("no tool `{tool}` here"), None)),
        }
    }

    fn check_health() -> Result<(), Error> {
        Ok(())
    }
}

/// The arguments as the tool knows them. The host has checked them against the manifest, so that a mismatch means
/// that the manifest is not the one this component was built for.
fn arguments<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, Error> {
    serde_json::from_str(json).map_err(|error| {
        let message = format!("the arguments do not fit this component: {error}");
        failure::error(ErrorKind::InvalidInput, None, message, Some("compare the manifest with the adapter's own"))
    })
}

bindings::export!(Adapter with_types_in bindings);
