//! A program that shows how far a call has come while it runs.
//!
//! ```sh
//! cargo run --example streaming
//! ```
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program shows its answer and has a place for state"
)]

use hermes_runtime::adapter::plugin::Embedded;
use hermes_runtime::config::Config;
use hermes_runtime::{Call, Runtime};
use serde_json::json;

const STEPS: Embedded = Embedded {
    name: "steps",
    files: &[
        (
            "adapter.toml",
            b"name = 'steps'\nversion = '1.0.0'\ncomponent = 'steps.wat'\nworld = 'example:steps/steps'\n              [functions]\nrequired_roles = ['walker']\n",
        ),
        ("steps.wat", include_bytes!("guests/steps.wat")),
    ],
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hermes_runtime::helper_main();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let house = tempfile::tempdir()?;
    let runtime = Runtime::start(Config::new(house.path().join("state"), house.path().join("cache")), &[STEPS], None)?;
    runtime.toolbox().faults.iter().for_each(|fault| eprintln!("{fault}"));
    let (sender, mut progress) = tokio::sync::mpsc::channel(16);
    let call = Call { progress: Some(sender), ..Call::new("steps_walk", json!({})).role("walker") };
    let show = async {
        while let Some(update) = progress.recv().await {
            println!("{} of {}: {}", update.done, update.total.unwrap_or(0), update.message.unwrap_or_default());
        }
    };
    let (injection, ()) = tokio::join!(runtime.call(call), show);
    println!("{}", injection.envelope.data);
    Ok(())
}
