//! A program that decides itself what a person would be asked. Here it says yes to small numbers and no to large ones; a
//! real one shows the request to somebody.
//!
//! ```sh
//! cargo run --example custom_approver
//! ```
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program shows its answer and has a place for state"
)]

use hermes_runtime::adapter::plugin::Embedded;
use hermes_runtime::config::Config;
use hermes_runtime::permission::approval::{Answer, Approver, Asking, Request};
use hermes_runtime::{Call, Runtime};
use serde_json::json;
use std::sync::Arc;

const CALC: Embedded = Embedded {
    name: "calc",
    files: &[
        (
            "adapter.toml",
            // No role: the tool below says itself who may call it.
            b"name = 'calc'\nversion = '1.0.0'\ncomponent = 'calc.wat'\nworld = 'example:calc/calc'\n[functions]\n",
        ),
        ("calc.wat", include_bytes!("guests/calc.wat")),
        (
            "tools/add.toml",
            b"[tool]\nname = 'add'\nversion = '1.0.0'\ndescription = 'Add two numbers, if somebody says yes.'\n              [tool.input_schema]\ntype = 'object'\n              [tool.permissions]\nrequired_roles = ['clerk']\nrisk_level = 'low'\nrequires_approval = 'always'\n              [tool.effect]\nkind = 'read'\nidempotent = true\nopen_world = false\n              [tool.backend]\ntype = 'custom'\nadapter = 'calc'\n",
        ),
    ],
};

/// Decides by the arguments.
struct SmallNumbers;

impl Approver for SmallNumbers {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        println!("asked about {} {}", request.tool, request.args);
        let small = request.args.len() < "{\"a\":100,\"b\":1}".len();
        let answer = match small {
            true => Answer::Approved { by: "the example".into() },
            false => Answer::Denied { by: "the example".into(), reason: Some("too large".into()) },
        };
        Box::pin(std::future::ready(answer))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hermes_runtime::helper_main();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let house = tempfile::tempdir()?;
    let config = Config::new(house.path().join("state"), house.path().join("cache"));
    let runtime = Runtime::start(config, &[CALC], Some(Arc::new(SmallNumbers)))?;
    runtime.toolbox().faults.iter().for_each(|fault| eprintln!("{fault}"));
    for (a, b) in [(1, 2), (1_000_000, 2)] {
        let call = Call::new("add", json!({ "a": a, "b": b })).role("clerk");
        let envelope = runtime.call(call).await.envelope;
        match envelope.error {
            None => println!("{a} + {b} = {}", envelope.data),
            Some(error) => println!("{a} + {b}: {error}"),
        }
    }
    Ok(())
}
