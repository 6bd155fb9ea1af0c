//! Two runtimes in one process: each has its own state, tools and permissions, and neither knows of the other. The
//! library installs no signal handler, no panic hook and no subscriber of logs.
//!
//! ```sh
//! cargo run --example two_runtimes
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

const fn calc(manifest: &'static [u8]) -> [(&'static str, &'static [u8]); 2] {
    [("adapter.toml", manifest), ("calc.wat", include_bytes!("guests/calc.wat"))]
}

const FOR_CLERKS: [(&str, &[u8]); 2] = calc(
    b"name = 'calc'\nversion = '1.0.0'\ncomponent = 'calc.wat'\nworld = 'example:calc/calc'\n      [functions]\nrequired_roles = ['clerk']\n",
);
const FOR_GUESTS: [(&str, &[u8]); 2] = calc(
    b"name = 'calc'\nversion = '1.0.0'\ncomponent = 'calc.wat'\nworld = 'example:calc/calc'\n      [functions]\nrequired_roles = ['visitor']\n",
);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hermes_runtime::helper_main();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let house = tempfile::tempdir()?;
    let start = |name: &str, files: &'static [(&'static str, &'static [u8])]| {
        let config = Config::new(house.path().join(name), house.path().join("cache"));
        Runtime::start(config, &[Embedded { name: "calc", files }], None)
    };
    let (clerks, visitors) = (start("clerks", &FOR_CLERKS)?, start("visitors", &FOR_GUESTS)?);
    let add = |a: i32| Call::new("calc_add", json!({ "a": a, "b": 1 })).role("clerk");
    let (one, other) = tokio::join!(clerks.call(add(1)), visitors.call(add(2)));
    println!("for clerks: {}", one.envelope.data);
    println!("for visitors: {}", other.envelope.error.map_or_else(|| "no error".to_owned(), |error| error.to_string()));
    Ok(())
}
