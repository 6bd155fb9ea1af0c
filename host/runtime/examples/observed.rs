//! A program that answers for its user: an approver of its own, progress as it comes, and two runtimes in one process.
//!
//! ```sh
//! cargo run --example observed -- PLUGIN_FOLDER DIRECTORY
//! ```
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program shows what happens and has a place for state"
)]

use hermes_runtime::config::{Access, Config};
use hermes_runtime::permission::approval::{Answer, Approver, Asking, Request};
use hermes_runtime::{Call, Runtime};
use serde_json::json;
use std::sync::Arc;

/// Says yes to what stays in its directory, after showing it. A real one asks a person.
struct Shown;

impl Approver for Shown {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            println!("asked: {} with {}, risk {}", request.tool, request.args, request.risk);
            match request.targets.iter().all(|target| target.starts_with("/workspace/")) {
                true => Answer::Approved { by: "the example".into() },
                false => Answer::Denied { by: "the example".into(), reason: Some("not in the workspace".into()) },
            }
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut folders = std::env::args().skip(1);
    let (plugins, directory) = (folders.next().ok_or("name a plugin")?, folders.next().ok_or("name a directory")?);
    let house = tempfile::tempdir()?;
    let start = |name: &str, access| {
        let config = Config::new(house.path().join(name), house.path().join("cache")).grant(
            Config::WORKSPACE,
            &directory,
            access,
        );
        Runtime::start(config.plugin(&plugins), &[], Some(Arc::new(Shown)))
    };
    // Each has a journal and grants of its own; nothing of one is seen by the other.
    let (reader, writer) = (start("reader", Access::ReadOnly)?, start("writer", Access::ReadWrite)?);

    let (sender, mut progress) = tokio::sync::mpsc::channel(16);
    let search = Call { progress: Some(sender), ..Call::new("file_search", json!({ "query": "the" })).role("Builder") };
    let watching = async {
        while let Some(step) = progress.recv().await {
            println!("progress: {} of {:?} {}", step.done, step.total, step.message.unwrap_or_default());
        }
    };
    let (found, ()) = tokio::join!(reader.call(search), watching);
    println!("found: {:?}", found.envelope.status);

    let write = || Call::new("file_write", json!({ "path": "made.txt", "content": "here\n" })).role("operator");
    for (name, runtime) in [("reader", &reader), ("writer", &writer)] {
        let envelope = runtime.call(write()).await.envelope;
        println!("{name}: {}", envelope.error.map_or("written".to_owned(), |error| error.to_string()));
    }
    Ok(())
}
