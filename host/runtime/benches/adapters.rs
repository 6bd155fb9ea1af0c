//! What do programs and pages cost? Host memory while a program floods; a page's way through the browser adapter beside
//! the same requests of the browser's protocol alone, in the same run.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "a bench is its own rim")]
#![allow(missing_docs, reason = "a bench has no readers of its API")]

mod page;

use hermes_runtime::address::HostPattern;
use hermes_runtime::call::{Mode, Situation};
use hermes_runtime::config::Access;
use hermes_runtime::{Call, Config, Envelope, Runtime};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Times that each page is visited.
const VISITS: usize = 12;

fn main() {
    hermes_runtime::helper_main();
    // `cargo test --all-targets` starts benches too; there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    threads.block_on(async {
        flooding().await;
        println!("| row | ours (p50) | protocol alone (p50) | ratio |\n| --- | --- | --- | --- |");
        // A page of 1,000 elements, and one that no page should be.
        browsing("1,000 elements", &page::of_elements(1000), VISITS).await;
        browsing("20,000 links", &page::of_links(20_000), 3).await;
    });
}

/// A runtime with the adapters of programs and pages.
fn start(house: &Path, server: Option<&page::Server>) -> Runtime {
    for adapter in ["browser", "cli"] {
        copy_plugin(adapter, &house.join("plugins").join(adapter));
    }
    std::fs::create_dir_all(house.join("work")).unwrap();
    let mut config = Config::new(house.join("state"), house.join("cache"))
        .grant("workspace", house.join("work"), Access::ReadWrite)
        .plugin(house.join("plugins"));
    config.browser.private_hosts.extend(server.map(|server| HostPattern::parse(&server.host()).unwrap()));
    let runtime = Runtime::start(config, &[], None).unwrap();
    assert_eq!(runtime.toolbox().faults, [], "a bench measures what works");
    runtime
}

fn copy_plugin(name: &str, to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(name);
    std::fs::create_dir_all(to.join("tools")).unwrap();
    std::fs::copy(from.join("adapter.toml"), to.join("adapter.toml")).unwrap();
    let component = components().join(format!("{name}.wasm"));
    std::fs::copy(component, to.join(format!("{name}.wasm"))).expect("run `just plugins` first");
    for entry in std::fs::read_dir(from.join("tools")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join("tools").join(path.file_name().unwrap())).unwrap();
    }
}

fn components() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = || std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    std::env::var_os("HERMES_PLUGINS_DIR").map_or_else(|| cache().join("hermes-dispatch/plugins"), PathBuf::from)
}

async fn call(runtime: &Runtime, tool: &str, args: Value) -> Envelope {
    let situation = Situation {
        workflow: Some("bench".into()),
        mode: Mode::Workflow,
        purpose: Some("measure".into()),
        ..Situation::default()
    };
    runtime.call(Call::new(tool, args).role("Builder").situation(Arc::new(situation))).await.envelope
}

/// A figure of this process's memory, in KiB.
fn kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// The peak of the host's memory while a program prints on both streams without end.
async fn flooding() {
    let house = tempfile::tempdir().unwrap();
    let runtime = start(house.path(), None);
    call(&runtime, "terminal", json!({ "command": "head -c 1000000 /dev/zero" })).await;
    let idle = kib("VmRSS");
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let flood = json!({ "command": "yes & yes >&2 & wait", "timeout_seconds": 5 });
    let envelope = call(&runtime, "terminal", flood).await;
    let grown = kib("VmHWM").saturating_sub(idle);
    let bytes = envelope.metadata.usage.as_ref().map(|usage| usage.bytes_across).unwrap_or_default();
    println!("host memory while a program prints without end: {grown} KiB above idle (target: ≤ 65,536 KiB)");
    println!("(it ended with {:?}; {bytes} bytes went to the component)\n", envelope.error.map(|error| error.kind));
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// One page through the adapter and by the protocol alone, in turns.
async fn browsing(name: &str, body: &str, visits: usize) {
    let server = page::Server::start(body);
    let house = tempfile::tempdir().unwrap();
    let runtime = start(house.path(), Some(&server));
    let alone = page::Alone::start(&house.path().join("profile")).await;
    let url = server.url();
    let (mut going, mut showing, mut raw_going, mut raw_showing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut shown, mut raw) = (0, 0);
    // The first visit of each starts its browser.
    for visit in 0..=visits {
        let started = Instant::now();
        let page = call(&runtime, "browser_navigate", json!({ "url": url, "timeout_seconds": 60 })).await;
        let there = started.elapsed();
        assert!(page.error.is_none(), "{:?}", page.error);
        let started = Instant::now();
        let outline = call(&runtime, "browser_snapshot", json!({ "timeout_seconds": 60 })).await;
        let read = started.elapsed();
        assert!(outline.error.is_none(), "{:?}", outline.error);
        let (raw_there, raw_read, tree) = alone.visit(&url).await;
        if visit > 0 {
            going.push(there);
            showing.push(read);
            raw_going.push(raw_there);
            raw_showing.push(raw_read);
        }
        shown = serde_json::to_string(&outline.data).unwrap().len();
        raw = tree;
    }
    alone.end().await;
    row(&format!("navigate to a page of {name}"), median(going), median(raw_going));
    row(&format!("snapshot of a page of {name}"), median(showing), median(raw_showing));
    // Four bytes a token, as the result's budget counts them.
    println!("| tokens of that snapshot | {} | {} | {:.3} |", shown / 4, raw / 4, shown as f64 / raw as f64);
}

fn row(name: &str, ours: Duration, alone: Duration) {
    let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
    println!("| {name} | {:.1} ms | {:.1} ms | {:.2} |", ms(ours), ms(alone), ms(ours) / ms(alone));
}
