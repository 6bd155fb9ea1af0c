//! The mcp adapter: a call becomes the one request that its tool is bound to, and the server's answer an output.
//!
//! Where the request goes is the host's decision; nothing here can name a server or a tool.

mod blocks;
mod failure;
mod literal;
mod result;

/// What `wit/` says, as Rust.
mod bindings {
    wit_bindgen::generate!({ world: "mcp-tool", path: "../../wit" });
}

use bindings::exports::hermes::tool::tool_execution::{Call, Description, Error, Guest, Output};
use bindings::hermes::tool::mcp::{self, Operation};
use std::time::Instant;

struct Adapter;

impl Guest for Adapter {
    fn describe() -> Description {
        // Any manifest whose endpoint is a server's can define a tool.
        Description { name: "mcp".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), tools: Vec::new() }
    }

    fn execute(call: Call) -> Result<Output, Error> {
        let binding = mcp::bound().map_err(failure::of)?;
        let started = Instant::now();
        let answer = mcp::request(&call.args).map_err(failure::of)?;
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match binding.operation {
            Operation::CallTool => result::of_tool(&binding, &answer, elapsed_ms),
            Operation::ReadResource => result::of_resource(&binding.server, &answer),
            Operation::GetPrompt
            | Operation::Complete
            | Operation::ListResources
            | Operation::ListTemplates
            | Operation::ListPrompts => result::as_it_is(&binding.server, &answer),
        }
    }

    fn check_health() -> Result<(), Error> {
        mcp::ready().map_err(failure::of)
    }
}

bindings::export!(Adapter with_types_in bindings);
