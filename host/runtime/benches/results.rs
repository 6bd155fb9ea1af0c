//! What do relevance, masks and records cost? Each figure beside a reference of the same run.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "a bench is its own rim")]
#![allow(missing_docs, reason = "a bench has no readers of its API")]

use hermes_runtime::injection::audit::Reader;
use hermes_runtime::result::relevance::Weights;
use hermes_runtime::result::secret::Masks;
use hermes_runtime::result::truncate::{Measure, truncate};
use hermes_runtime::{Call, Config, Runtime};
use serde_json::json;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

mod slow;

/// What a sync takes more on the slow disk, so that syncs are what bounds.
const SLOW: Duration = Duration::from_millis(5);
/// Records of the large journal; `HERMES_BENCH_RECORDS=1000000` for the full size.
const RECORDS: u64 = 100_000;

fn main() {
    hermes_runtime::helper_main();
    // `cargo test --all-targets` starts benches too; there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    // For a profiler: calls with an effect again and again, by so many callers.
    if let Some(callers) = std::env::args().skip_while(|argument| argument != "repeat").nth(1) {
        let callers = callers.parse().unwrap();
        let house = tempfile::tempdir().unwrap();
        let runtime = start(house.path(), "write");
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        println!("{:.0} calls/s", threads.block_on(rate(&runtime, callers, 100_000)));
        return;
    }
    println!("| row | ours (p50) | reference (p50) | ratio | target |\n| --- | --- | --- | --- | --- |");
    truncating();
    masking();
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    threads.block_on(writing());
    threads.block_on(reading());
    slow::syncs_take(SLOW);
    threads.block_on(writing_slowly());
}

fn row(name: &str, ours: Duration, reference: Option<Duration>, target: &str) {
    let us = |duration: Duration| duration.as_nanos() as f64 / 1000.0;
    let shown = reference.map_or("–".into(), |reference| format!("{:.1} µs", us(reference)));
    let ratio = reference.map_or("–".into(), |reference| format!("{:.2}", us(ours) / us(reference)));
    println!("| {name} | {:.1} µs | {shown} | {ratio} | {target} |", us(ours));
}

fn median(count: usize, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..count)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[count / 2]
}

fn truncating() {
    let names: Vec<String> =
        (0..10_000).map(|n| format!("node_modules/package-{}/src/api/file{n}.ts", n % 300)).collect();
    let weights = Weights::default();
    let texts = ["fix the rate limits of the handlers in src/api, package-7 and parseConfig"];
    for (name, data) in [("10,000 items", json!(names)), ("10,000 lines", json!(names.join("\n")))] {
        let copy = median(30, || drop(black_box(data.clone())));
        let cut = median(30, || {
            let mut data = data.clone();
            truncate(&mut data, Measure { budget_tokens: 8000, texts: &texts, weights: &weights });
            black_box(data);
        });
        row(&format!("truncating {name} by relevance ÷ copying them"), cut, Some(copy), "≤ 20 ms");
    }
}

fn masking() {
    let masks = Masks::new([1; 32], ["a configured secret of the bench"]);
    let text = "sixty-three characters and a new line make sixty-four of them..\n".repeat(1024);
    let busy = "token=value password: String, \"secret\": null, https://a.example/key?id=7 .......\n".repeat(800);
    for (name, text) in [("plain", &text), ("full of keywords", &busy)] {
        let copy = median(200, || drop(black_box(text.clone())));
        let masked = median(200, || drop(black_box(masks.text(text).0.into_owned())));
        row(&format!("masking 64 KiB, {name} ÷ copying it"), masked, Some(copy), "–");
    }
}

fn start(house: &Path, effect: &str) -> Arc<Runtime> {
    let plugin = house.join("plugins/noop");
    std::fs::create_dir_all(plugin.join("tools")).unwrap();
    std::fs::write(plugin.join("noop.wat"), include_str!("noop.wat")).unwrap();
    std::fs::write(
        plugin.join("adapter.toml"),
        "name = 'noop'\nversion = '1.0.0'\ncomponent = 'noop.wat'\nworld = 'hermes:tool/tool@0.1.0'\n",
    )
    .unwrap();
    let tool = format!(
        "[tool]\nname = 'noop'\nversion = '1.0.0'\ndescription = 'does nothing'\n\
         permissions = {{ required_roles = ['Builder'], risk_level = 'low' }}\n\
         effect = {{ kind = '{effect}' }}\nbackend = {{ type = 'custom', adapter = 'noop' }}\n"
    );
    std::fs::write(plugin.join("tools/noop.toml"), tool).unwrap();
    let config = Config::new(house.join("state"), house.join("cache")).plugin(house.join("plugins"));
    Arc::new(Runtime::start(config, &[], None).unwrap())
}

/// Calls a second with so many callers at once.
async fn rate(runtime: &Arc<Runtime>, callers: u64, calls: u64) -> f64 {
    let started = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let runtime = runtime.clone();
            tokio::spawn(async move {
                for _ in 0..calls / callers {
                    let answer = runtime.call(Call::new("noop", json!({})).role("Builder")).await.envelope;
                    assert!(answer.error.is_none(), "{:?}", answer.error);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert!(runtime.flush().await);
    calls as f64 / started.elapsed().as_secs_f64()
}

async fn writing() {
    let house = tempfile::tempdir().unwrap();
    let alone = synchronous(house.path(), 100);
    println!("| two records, each in a synchronous commit of its own, one caller | {alone:.0} calls/s | – | – | – |");
    writing_as("class (a)", "read", alone).await;
    writing_as("class (b)", "write", alone).await;
}

/// The same for calls with an effect on a disk whose syncs and not the calls' own work are what bounds.
async fn writing_slowly() {
    let house = tempfile::tempdir().unwrap();
    let alone = synchronous(house.path(), 50);
    println!("| two records alone, and a sync takes {} ms more | {alone:.0} calls/s | – | – | – |", SLOW.as_millis());
    writing_as("class (b), the same disk", "write", alone).await;
}

async fn writing_as(class: &str, effect: &str, alone: f64) {
    let house = tempfile::tempdir().unwrap();
    let runtime = start(house.path(), effect);
    rate(&runtime, 4, 200).await;
    for callers in [1, 64, 256] {
        let calls = if effect == "read" { 20_000 } else { (callers * 40).max(400) };
        let rate = rate(&runtime, callers, calls).await;
        let target = match (effect, callers) {
            ("write", 64) => "≥ 20",
            ("write", 256) => "≥ 60",
            _ => "–",
        };
        println!(
            "| {class}, {callers} callers | {rate:.0} calls/s | {alone:.0} calls/s | {:.1} | {target} |",
            rate / alone
        );
    }
}

/// What two commits a call come to.
fn synchronous(house: &Path, calls: u32) -> f64 {
    let journal = rusqlite::Connection::open(house.join("alone.db")).unwrap();
    journal.pragma_update(None, "journal_mode", "WAL").unwrap();
    journal.pragma_update(None, "synchronous", "FULL").unwrap();
    journal
        .execute_batch("CREATE TABLE records (seq INTEGER PRIMARY KEY, body TEXT NOT NULL, hash BLOB NOT NULL)")
        .unwrap();
    let body = "x".repeat(900);
    let started = Instant::now();
    for _ in 0..2 * calls {
        journal.execute("INSERT INTO records (body, hash) VALUES (?1, ?2)", (&body, [0_u8; 32])).unwrap();
    }
    f64::from(calls) / started.elapsed().as_secs_f64()
}

async fn reading() {
    let records = std::env::var("HERMES_BENCH_RECORDS").ok().and_then(|count| count.parse().ok()).unwrap_or(RECORDS);
    let house = tempfile::tempdir().unwrap();
    let runtime = start(house.path(), "read");
    rate(&runtime, 64, records / 64 * 64).await;
    let call_id = runtime.call(Call::new("noop", json!({})).role("Builder")).await.envelope.metadata.call_id;
    assert!(runtime.flush().await);
    drop(runtime);
    let state = house.path().join("state");
    let reader = Reader::open(&state).unwrap();
    row(&format!("of {records} records: list the last 20"), median(20, || drop(reader.list(20).unwrap())), None, "–");
    row(
        &format!("of {records} records: show one call"),
        median(20, || drop(reader.show(&call_id).unwrap())),
        None,
        "–",
    );
    let verified = median(3, || assert_eq!(reader.verify().unwrap().broken, None));
    row(&format!("of {records} records: verify all"), verified, None, "–");
    let started = Instant::now();
    drop(start(house.path(), "read"));
    row(&format!("start on a journal of {records} records"), started.elapsed(), None, "–");
}
