//! The browser adapter: pages of the web as outlines that an agent reads, and what can be done on them by reference.
//!
//! This file maps calls to tools. Which browser that is and where it may go is the host's business; nothing here can
//! widen it.

mod act;
mod describe;
mod element;
mod failure;
mod go;
mod keys;
mod outline;
mod page;
mod relevance;
mod report;
mod settle;
mod snapshot;
mod tabs;

/// What `wit/` says, as Rust.
mod bindings {
    wit_bindgen::generate!({ world: "browser-tool", path: "../../wit" });
}

use bindings::exports::hermes::tool::tool_execution::{Call, Description, Error, Guest, Output};
use bindings::hermes::tool::browser;
use bindings::hermes::tool::types::ErrorKind;

struct Adapter;

impl Guest for Adapter {
    fn describe() -> Description {
        describe::description()
    }

    fn execute(call: Call) -> Result<Output, Error> {
        let time = settle::Time::left(call.context.deadline_ms);
        match call.tool.as_str() {
            "browser_navigate" => go::navigate(&arguments(&call.args)?, &time),
            "browser_back" => go::back(&arguments(&call.args)?, &time),
            "browser_snapshot" => snapshot::take(&arguments(&call.args)?, call.context.task.as_deref()),
            "browser_screenshot" => snapshot::picture(&arguments(&call.args)?),
            "browser_click" => act::click(&arguments(&call.args)?, &time),
            "browser_type" => act::type_text(&arguments(&call.args)?, &time),
            "browser_select" => act::select(&arguments(&call.args)?, &time),
            "browser_press" => act::press(&arguments(&call.args)?, &time),
            "browser_wait" => page::wait(&arguments(&call.args)?, &time),
            "browser_evaluate" => page::evaluate(&arguments(&call.args)?),
            "browser_tabs" => tabs::list(&arguments(&call.args)?),
            "browser_close" => tabs::close(&arguments(&call.args)?),
            tool => Err(failure::error(ErrorKind::InvalidInput, None, format!("no tool `{tool}` here"), None)),
        }
    }

    fn check_health() -> Result<(), Error> {
        browser::ready().map_err(failure::of)
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
