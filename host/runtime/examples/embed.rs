//! A program that hands its agent's calls to the runtime: twenty lines, no configuration file.
//!
//! ```sh
//! cargo run --example embed -- PLUGIN_FOLDER DIRECTORY
//! ```
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program shows its answer and has a place for state"
)]

use hermes_runtime::config::{Access, Config};
use hermes_runtime::{Call, Runtime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The same program, started again, compiles components apart from this process.
    hermes_runtime::helper_main();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut folders = std::env::args().skip(1);
    let (plugins, directory) = (folders.next().ok_or("name a plugin")?, folders.next().ok_or("name a directory")?);
    let state = std::env::temp_dir().join(format!("hermes-embed-{}", std::process::id()));
    let config = Config::new(state.join("state"), state.join("cache"))
        .grant(Config::WORKSPACE, directory, Access::ReadOnly)
        .plugin(plugins);
    let runtime = Runtime::start(config, &[], None)?;
    runtime.toolbox().faults.iter().for_each(|fault| eprintln!("{fault}"));
    let call = Call::new("file_list", serde_json::json!({ "path": "/workspace" })).role("Builder");
    let envelope = runtime.call(call).await.envelope;
    println!("{}", serde_json::to_string_pretty(&envelope)?);
    Ok(())
}
