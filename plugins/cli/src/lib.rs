//! The cli adapter: `terminal`, `git`, `pytest` and what a manifest declares by a template of words, each a program that
//! the host runs in its sandbox.
//!
//! This file maps calls to tools. What a program may see and do is the host's business; nothing here can widen it.

mod argv;
mod describe;
mod failure;
mod git;
mod output;
mod program;
mod pytest;
mod report;
mod terminal;
mod words;

/// What `wit/` says, as Rust.
mod bindings {
    wit_bindgen::generate!({ world: "process-tool", path: "../../wit" });
}

use bindings::exports::hermes::tool::tool_execution::{Call, Description, Error, Guest, Output};
use bindings::hermes::tool::types::ErrorKind;

struct Adapter;

impl Guest for Adapter {
    fn describe() -> Description {
        describe::description()
    }

    fn execute(call: Call) -> Result<Output, Error> {
        match call.tool.as_str() {
            "terminal" => terminal::run(&arguments(&call.args)?),
            "git" => git::run(&arguments(&call.args)?),
            "program" => argv::run(&arguments(&call.args)?),
            "pytest" => pytest::run(&arguments(&call.args)?),
            tool => Err(failure::error(ErrorKind::InvalidInput, None, format!("no tool `{tool}` here"), None)),
        }
    }

    fn check_health() -> Result<(), Error> {
        program::ready().map_err(failure::not_started)
    }
}

/// The arguments as the tool knows them. The host has checked them against the manifest, so that a mismatch means
/// that the manifest is not the one this component was built for.
fn arguments<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, Error> {
    serde_json::from_str(json).map_err(|error| {
        let message = format!("the arguments do not fit this component: {error}");
        let hint = "compare the manifest with the adapter's own";
        failure::error(ErrorKind::InvalidInput, None, message, Some(hint))
    })
}

bindings::export!(Adapter with_types_in bindings);
