//! A program that gives components an authority of its own: an interface in WIT, answered by its functions in JSON. The
//! component gets it as every other one: it imports the interface, its `adapter.toml` asks for the name.
//!
//! ```sh
//! cargo run --example custom_capability
//! ```
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program shows its answer and has a place for state"
)]

use hermes_runtime::adapter::plugin::Embedded;
use hermes_runtime::authority::Authority;
use hermes_runtime::config::Config;
use hermes_runtime::{Call, Runtime};
use serde_json::json;

const STOCK: &str = "
    package shop:house@1.0.0;
    interface stock { count: func(item: string) -> u32; }
";

const DESK: Embedded = Embedded {
    name: "desk",
    files: &[
        (
            "adapter.toml",
            b"name = 'desk'\nversion = '1.0.0'\ncomponent = 'desk.wat'\nworld = 'shop:house/desk'\n              capabilities = ['stock']\n[functions]\nrequired_roles = ['clerk']\n",
        ),
        ("desk.wat", include_bytes!("guests/desk.wat")),
    ],
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hermes_runtime::helper_main();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let stock = Authority::new("stock", STOCK).function("count", |asked| {
        let count = match asked.args["item"].as_str() {
            Some("tea") => 12,
            _ => 0,
        };
        Box::pin(async move { Ok(json!(count)) })
    });
    let house = tempfile::tempdir()?;
    let config = Config::new(house.path().join("state"), house.path().join("cache")).authority(stock);
    let runtime = Runtime::start(config, &[DESK], None)?;
    runtime.toolbox().faults.iter().for_each(|fault| eprintln!("{fault}"));
    for (item, wanted) in [("tea", 10), ("tea", 20), ("coffee", 1)] {
        let call = Call::new("desk_has", json!({ "item": item, "wanted": wanted })).role("clerk");
        let envelope = runtime.call(call).await.envelope;
        match envelope.error {
            None => println!("{wanted} {item}: {}", envelope.data),
            Some(error) => return Err(error.into()),
        }
    }
    Ok(())
}
