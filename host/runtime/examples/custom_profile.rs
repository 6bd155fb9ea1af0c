//! A program that runs components where it wants to: each call in a process of its own, after everything else on the machine.
//! The component asks for it with `[sandbox] profile = "nice"`.
//!
//! ```sh
//! cargo run --example custom_profile
//! ```
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program shows its answer, starts a process and has a place for state"
)]

use hermes_runtime::adapter::plugin::Embedded;
use hermes_runtime::authority::Authority;
use hermes_runtime::config::Config;
use hermes_runtime::profile::{self, Done, Job, Profile, Running};
use hermes_runtime::{Call, Runtime};
use serde_json::json;
use std::collections::BTreeSet;
use std::process::Stdio;

/// Where the components run.
struct Nice;

impl Profile for Nice {
    fn accept(&self, _: &[u8], capabilities: &BTreeSet<String>) -> Result<(), String> {
        profile::reaches_across(capabilities)
    }

    fn run<'a>(&'a self, job: Job<'a>) -> Running<'a> {
        Box::pin(async move {
            let mut command = tokio::process::Command::new("nice");
            command.args(["-n", "7"]).arg(std::env::current_exe().unwrap_or_default()).arg(profile::WORK);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
            let mut child = match command.spawn() {
                Ok(child) => child,
                Err(error) => return Done::unavailable(format!("`nice` cannot be run: {error}")),
            };
            let (Some(input), Some(output)) = (child.stdout.take(), child.stdin.take()) else {
                return Done::unavailable("the process has no pipes".into());
            };
            let done = job.over(input, output).await;
            // It has said what came of it and ends; waiting for that leaves no zombie behind.
            let _ = child.wait().await;
            done
        })
    }
}

const STOCK: &str = "
    package shop:house@1.0.0;
    interface stock { count: func(item: string) -> u32; }
";

const DESK: Embedded = Embedded {
    name: "desk",
    files: &[
        (
            "adapter.toml",
            b"name = 'desk'\nversion = '1.0.0'\ncomponent = 'desk.wat'\nworld = 'shop:house/desk'\n\
              capabilities = ['stock']\n[functions]\nrequired_roles = ['clerk']\n[sandbox]\nprofile = 'nice'\n",
        ),
        ("desk.wat", include_bytes!("guests/desk.wat")),
    ],
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // With this, a second process of this program can be the one that runs a component.
    hermes_runtime::helper_main();
    tokio::runtime::Runtime::new()?.block_on(run())
}

/// How much this process gives way to the machine's others, and that of one that runs a component now.
fn niceness(process: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = status.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().nth(16).unwrap_or("gone").to_owned()
}

/// The children of this process.
fn children() -> Vec<String> {
    let own = std::process::id();
    let lists = std::fs::read_dir(format!("/proc/{own}/task")).into_iter().flatten().flatten();
    let lists = lists.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let own = niceness("self");
    let stock = Authority::new("stock", STOCK).function("count", move |asked| {
        let child = children().iter().map(|child| niceness(child)).collect::<Vec<_>>().join(", ");
        println!("asked about {} by a process of niceness {child}, in one of {own}", asked.args["item"]);
        Box::pin(async move { Ok(json!(12)) })
    });
    let house = tempfile::tempdir()?;
    let config =
        Config::new(house.path().join("state"), house.path().join("cache")).authority(stock).profile("nice", Nice);
    let runtime = Runtime::start(config, &[DESK], None)?;
    runtime.toolbox().faults.iter().for_each(|fault| eprintln!("{fault}"));
    let call = Call::new("desk_has", json!({ "item": "tea", "wanted": 10 })).role("clerk");
    let envelope = runtime.call(call).await.envelope;
    match envelope.error {
        None => println!("10 tea: {}", envelope.data),
        Some(error) => return Err(error.into()),
    }
    println!("processes left: {}", children().len());
    Ok(())
}
