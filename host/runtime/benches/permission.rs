//! What does permission cost with few and with many policies, and how long does a call take to go on once a person has
//! decided? Whole calls less the time in the sandbox, in one run.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "a bench is its own rim")]

use hermes_runtime::permission::approval::desk;
use hermes_runtime::permission::approval::store::{Scope, Verdict};
use hermes_runtime::{Call, Config, Runtime, open_journal};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Calls that are measured, after a tenth as many that warm up.
const CALLS: usize = 3000;
/// Tools beside the one that is called; policies that do not apply are about them.
const OTHERS: usize = 20;

fn main() {
    hermes_runtime::helper_main();
    // `cargo test --all-targets` starts benches too; there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    println!("| row | p50 | target |\n| --- | --- | --- |");
    threads.block_on(async {
        for (count, applies) in [(1, false), (100, false), (1000, false), (1, true), (100, true), (1000, true)] {
            let house = tempfile::tempdir().unwrap();
            let runtime = start(house.path(), &policies(count, applies), "");
            let target = if applies { "" } else { "≤ 40 µs, flat" };
            let word = if applies { "apply" } else { "do not apply" };
            row(&format!("steps 1–4, 6, 7 with {count} policies that {word}"), host_part(&runtime, 0).await, target);
        }
        let house = tempfile::tempdir().unwrap();
        let runtime = start(house.path(), "", &factors());
        row("with a dozen factors that depend on arguments", host_part(&runtime, 0).await, "≤ 40 µs");
        row("from a person's decision to the answer", resumption().await, "");
    });
}

fn row(name: &str, time: Duration, target: &str) {
    println!("| {name} | {:.1} µs | {target} |", time.as_nanos() as f64 / 1000.0);
}

fn policies(count: usize, applies: bool) -> String {
    let mut text = String::new();
    for number in 0..count {
        let tool = if applies { "noop".to_owned() } else { format!("noop_{}", 1 + number % OTHERS) };
        writeln!(
            text,
            "@id(\"p{number}\") @reason(\"never\") forbid (principal, action == Action::\"{tool}\", resource) \
             when {{ context.args has word && context.args.word == \"forbidden {number}\" }};"
        )
        .unwrap();
    }
    text
}

fn factors() -> String {
    let mut text = String::new();
    for number in 0..12 {
        writeln!(
            text,
            "@id(\"f{number}\") @risk(\"1\") @reason(\"a word\") @lower(\"another word\") \
             permit (principal, action == Action::\"noop\", resource) \
             when {{ context.args has word && context.args.word == \"word {number}\" }};"
        )
        .unwrap();
    }
    text
}

fn start(house: &Path, permissions: &str, factors: &str) -> Runtime {
    let plugin = house.join("plugins/noop");
    std::fs::create_dir_all(plugin.join("tools")).unwrap();
    std::fs::write(plugin.join("noop.wat"), include_str!("noop.wat")).unwrap();
    std::fs::write(
        plugin.join("adapter.toml"),
        "name = 'noop'\nversion = '1.0.0'\ncomponent = 'noop.wat'\nworld = 'hermes:tool/tool@0.1.0'\n",
    )
    .unwrap();
    for number in 0..=OTHERS {
        let name = if number == 0 { "noop".to_owned() } else { format!("noop_{number}") };
        let manifest = format!(
            "[tool]\nname = '{name}'\nversion = '1.0.0'\ndescription = 'does nothing'\n\
             inputs = [{{ name = 'word', type = 'string', description = 'a word' }}]\n\
             permissions = {{ required_roles = ['Builder'], risk_level = 'low' }}\n\
             effect = {{ kind = 'read' }}\nbackend = {{ type = 'custom', adapter = 'noop' }}\n"
        );
        std::fs::write(plugin.join(format!("tools/{name}.toml")), manifest).unwrap();
    }
    std::fs::write(house.join("permissions.cedar"), permissions).unwrap();
    std::fs::write(house.join("factors.cedar"), factors).unwrap();
    let mut config = Config::new(house.join("state"), house.join("cache")).plugin(house.join("plugins"));
    config.policies.permissions = vec![house.join("permissions.cedar")];
    config.policies.factors = vec![house.join("factors.cedar")];
    config.result.mask = Some(false);
    let runtime = Runtime::start(config, &[], None).unwrap();
    assert_eq!(runtime.toolbox().faults, [], "a bench measures what works");
    runtime
}

/// The median of a whole call less the time in the sandbox.
async fn host_part(runtime: &Runtime, from: usize) -> Duration {
    let mut times = Vec::with_capacity(CALLS);
    for number in from..from + CALLS + CALLS / 10 {
        let call = Call::new("noop", json!({ "word": format!("word {}", number % 7) })).role("Builder");
        let started = Instant::now();
        let injection = runtime.call(call).await;
        let whole = started.elapsed();
        assert!(injection.envelope.error.is_none(), "{:?}", injection.envelope.error);
        let sandbox = Duration::from_micros(injection.envelope.metadata.usage.unwrap().wall_us);
        times.extend((number >= from + CALLS / 10).then(|| whole.saturating_sub(sandbox)));
    }
    median(times)
}

/// The time from a decision in another process's journal to the answer of the call that waits.
async fn resumption() -> Duration {
    let house = tempfile::tempdir().unwrap();
    let ask = "@id(\"a\") @ask permit (principal, action == Action::\"noop\", resource);\n";
    let runtime = start(house.path(), "", ask);
    let mut times = Vec::new();
    for number in 0..50 {
        let call = Call::new("noop", json!({ "word": number.to_string() })).role("Builder");
        let answer = async {
            let journal = open_journal(&house.path().join("state")).unwrap();
            let parked = loop {
                let waiting = desk::list(&journal, false, 10).await.unwrap();
                match waiting.into_iter().next() {
                    Some(parked) => break parked,
                    None => tokio::task::yield_now().await,
                }
            };
            desk::decide(&journal, &parked, Verdict::Approve(Scope::Once), "bench", 600).await.unwrap();
            Instant::now()
        };
        let waiting = async {
            let injection = runtime.call(call).await;
            assert!(injection.envelope.error.is_none(), "{:?}", injection.envelope.error);
            Instant::now()
        };
        let (decided, answered) = tokio::join!(answer, waiting);
        times.push(answered.saturating_duration_since(decided));
    }
    median(times)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
