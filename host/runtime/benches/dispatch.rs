//! What does the runtime add to bare Wasmtime? Whole calls beside bare ones, in turns, as ratios of one run.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "a bench is its own rim")]
#![allow(missing_docs, reason = "a bench has no readers of its API; the bindings are generated")]

use hermes_runtime::config::Access;
use hermes_runtime::{Call, Config, Runtime};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod bare;
mod concurrent;

/// Turns of each row, and calls of one turn.
const TURNS: usize = 40;
const CALLS: usize = 250;
/// Calls for a profiler.
const REPEATS: usize = 50_000;

fn main() {
    hermes_runtime::helper_main();
    // `cargo test --all-targets` starts benches too; there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // For a profiler: the same call again and again, and nothing beside it.
    if let Some(tool) = std::env::args().skip_while(|argument| argument != "repeat").nth(1) {
        return threads.block_on(repeat(&tool));
    }
    let rows = threads.block_on(measure());
    print(&rows);
}

struct Row {
    name: String,
    ours: Duration,
    reference: Option<Duration>,
    target: &'static str,
}

async fn repeat(tool: &str) {
    let house = tempfile::tempdir().unwrap();
    let runtime = start(house.path(), 10);
    std::fs::write(house.path().join("work/file.txt"), text()).unwrap();
    let args = if tool == "noop" { json!({}) } else { json!({ "path": "/workspace/file.txt" }) };
    for _ in 0..REPEATS {
        ours(&runtime, tool, args.clone()).await;
    }
}

/// 64 KiB in lines.
fn text() -> String {
    "sixty-three characters and a new line make sixty-four of them..\n".repeat(1024)
}

async fn measure() -> Vec<Row> {
    let house = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    let runtime = std::sync::Arc::new(start(house.path(), 10));
    let noop = std::sync::Arc::new(bare::Bare::new(include_str!("noop.wat").as_bytes(), None).await);
    // First, while no slot has been used yet: what a slot keeps in memory for its next call counts too.
    let more = concurrent::memory_of_one_more(&runtime, 64).await;
    println!("memory of one more running call: {} KiB (target: ≤ 256 KiB)", more >> 10);
    let (ours_noop, bare_noop) =
        in_turns(async || drop(ours(&runtime, "noop", json!({})).await), async || noop.call("noop", "{}").await).await;
    rows.push(Row {
        name: "no-op, whole ÷ bare".into(), ours: ours_noop, reference: Some(bare_noop), target: "≤ 2.0"
    });

    let file = house.path().join("work/file.txt");
    std::fs::write(&file, text()).unwrap();
    let component = std::fs::read(components().join("file.wasm")).expect("run `just plugins` first");
    let reading = bare::Bare::new(&component, Some(house.path().join("work"))).await;
    let (ours_reading, bare_reading) = in_turns(
        async || drop(ours(&runtime, "file_read", json!({ "path": "/workspace/file.txt" })).await),
        async || {
            reading
                .call(
                    "file_read",
                    r#"{"encoding":"auto","line_numbers":false,"path":"/workspace/file.txt","with_digest":false}"#,
                )
                .await
        },
    )
    .await;
    rows.push(Row {
        name: "file_read of 64 KiB, whole ÷ bare".into(),
        ours: ours_reading,
        reference: Some(bare_reading),
        target: "≤ 1.2",
    });
    for callers in [1, 8, 64] {
        let (ours, reference) = concurrent::callers(&runtime, &noop, callers).await;
        let name = format!("no-op with {callers} callers, whole ÷ bare, wall time a call");
        rows.push(Row { name, ours, reference: Some(reference), target: "" });
    }
    for count in [10, 1_000, 10_000] {
        let house = tempfile::tempdir().unwrap();
        let runtime = start(house.path(), count);
        assert!(runtime.toolbox().registry.tools().count() >= count + 5);
        let ours = host_part(&runtime).await;
        rows.push(Row {
            name: format!("steps 1–4, 6, 7 with {count} tools"),
            ours,
            reference: None,
            target: "≤ 40 µs, flat",
        });
    }
    rows
}

/// A runtime with the file adapter and so many tools of the no-op adapter.
fn start(house: &Path, count: usize) -> Runtime {
    let plugin = house.join("plugins/noop");
    std::fs::create_dir_all(plugin.join("tools")).unwrap();
    std::fs::create_dir_all(house.join("work")).unwrap();
    std::fs::write(plugin.join("noop.wat"), include_str!("noop.wat")).unwrap();
    std::fs::write(
        plugin.join("adapter.toml"),
        "name = 'noop'\nversion = '1.0.0'\ncomponent = 'noop.wat'\nworld = 'hermes:tool/tool@0.1.0'\n",
    )
    .unwrap();
    for number in 0..count {
        let name = if number == 0 { "noop".to_owned() } else { format!("noop_{number}") };
        std::fs::write(plugin.join(format!("tools/{name}.toml")), manifest(&name)).unwrap();
    }
    spinning(&house.join("plugins/spin"));
    copy_file_plugin(&house.join("plugins/file"));
    let mut config = Config::new(house.join("state"), house.join("cache"))
        .grant("workspace", house.join("work"), Access::ReadWrite)
        .plugin(house.join("plugins"));
    // Masking has rows of its own in `results`.
    config.result.mask = Some(false);
    let runtime = Runtime::start(config, &[], None).unwrap();
    assert_eq!(runtime.toolbox().faults, [], "a bench measures what works");
    runtime
}

fn manifest(name: &str) -> String {
    format!(
        "[tool]\nname = '{name}'\nversion = '1.0.0'\ndescription = 'does nothing'\n\
         permissions = {{ required_roles = ['Builder'], risk_level = 'low' }}\n\
         effect = {{ kind = 'read' }}\nbackend = {{ type = 'custom', adapter = 'noop' }}\n"
    )
}

/// The same component, but that it never answers, with a tool that gives it one and a half seconds.
fn spinning(plugin: &Path) {
    std::fs::create_dir_all(plugin.join("tools")).unwrap();
    let text = include_str!("noop.wat").replace(
        "(param i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32) (result i32) (i32.const 512))",
        "(param i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32) (result i32) (loop $on (br $on)) unreachable)",
    );
    assert!(text.contains("$on"), "the no-op component has changed");
    std::fs::write(plugin.join("spin.wat"), text).unwrap();
    std::fs::write(
        plugin.join("adapter.toml"),
        "name = 'spin'\nversion = '1.0.0'\ncomponent = 'spin.wat'\nworld = 'hermes:tool/tool@0.1.0'\n",
    )
    .unwrap();
    let manifest = manifest("spin").replace("adapter = 'noop'", "adapter = 'spin'");
    let limits = "timeout_ms = 1500\nlimits = { fuel = 100000000000 }\npermissions";
    std::fs::write(plugin.join("tools/spin.toml"), manifest.replacen("permissions", limits, 1)).unwrap();
}

fn copy_file_plugin(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/file");
    std::fs::create_dir_all(to.join("tools")).unwrap();
    std::fs::copy(from.join("adapter.toml"), to.join("adapter.toml")).unwrap();
    std::fs::copy(components().join("file.wasm"), to.join("file.wasm")).expect("run `just plugins` first");
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

async fn ours(runtime: &Runtime, tool: &str, args: serde_json::Value) -> hermes_runtime::Injection {
    let injection = runtime.call(Call::new(tool, args).role("Builder")).await;
    assert!(injection.envelope.error.is_none(), "{:?}", injection.envelope.error);
    injection
}

/// The median time of two kinds of calls, measured in turns.
async fn in_turns(mut ours: impl AsyncFnMut(), mut reference: impl AsyncFnMut()) -> (Duration, Duration) {
    let (mut times, mut references) = (Vec::new(), Vec::new());
    for turn in 0..TURNS + 2 {
        // The first turns only warm up.
        let keep = turn >= 2;
        for _ in 0..CALLS {
            let started = Instant::now();
            ours().await;
            times.extend(keep.then(|| started.elapsed()));
        }
        for _ in 0..CALLS {
            let started = Instant::now();
            reference().await;
            references.extend(keep.then(|| started.elapsed()));
        }
    }
    (median(times), median(references))
}

/// The median of a whole call less the time in the sandbox.
async fn host_part(runtime: &Runtime) -> Duration {
    let mut times = Vec::new();
    for call in 0..TURNS * CALLS / 4 {
        let started = Instant::now();
        let injection = ours(runtime, "noop", json!({})).await;
        let whole = started.elapsed();
        let sandbox = injection.envelope.metadata.usage.unwrap().wall_us;
        times.extend((call > CALLS).then(|| whole.saturating_sub(Duration::from_micros(sandbox))));
    }
    median(times)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn print(rows: &[Row]) {
    println!("| row | ours (p50) | reference (p50) | ratio | target |\n| --- | --- | --- | --- | --- |");
    let us = |duration: Duration| duration.as_nanos() as f64 / 1000.0;
    let mut documents = Vec::new();
    for row in rows {
        let reference = row.reference.map_or("–".to_owned(), |reference| format!("{:.1} µs", us(reference)));
        let ratio = row.reference.map(|reference| us(row.ours) / us(reference));
        let shown = ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        println!("| {} | {:.1} µs | {reference} | {shown} | {} |", row.name, us(row.ours), row.target);
        documents.push(json!({
            "row": row.name, "ours_us": us(row.ours), "reference_us": row.reference.map(us), "ratio": ratio, "target": row.target,
        }));
    }
    if let Some(file) = std::env::var_os("HERMES_BENCH_JSON") {
        std::fs::write(file, serde_json::to_string_pretty(&documents).unwrap()).unwrap();
    }
}
