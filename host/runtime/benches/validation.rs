//! What does step 4 cost beside reading the same text as JSON and nothing else? In turns, as ratios of one run.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "a bench is its own rim")]
#![allow(missing_docs, reason = "a bench has no readers of its API")]

use hermes_runtime::call::Arguments;
use hermes_runtime::registry::Tool;
use hermes_runtime::registry::tool::{self, Surroundings};
use hermes_runtime::validation;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Turns of each row.
const TURNS: usize = 200;
/// How long one turn takes at least, so that the clock does not count.
const TURN: Duration = Duration::from_millis(2);

fn main() {
    // `cargo test --all-targets` starts benches too; there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("| row | step 4 (p50) | `serde_json` alone (p50) | ratio |\n| --- | --- | --- | --- |");
    let five = tool_of(5);
    let many = tool_of(100);
    row("5 fields", &five, &args_of(5).to_string());
    row("5 fields, 3 of them loose", &five, &loose().to_string());
    row("100 fields", &many, &args_of(100).to_string());
    let mut long = args_of(5);
    long["text_0"] = Value::String("sixty-three characters and a new line make sixty-four of them..\n".repeat(16_384));
    row("5 fields, one of 1 MiB", &five, &long.to_string());
    let wrong: Map<String, Value> = (0..100).map(|n| (format!("unknown_{n}"), json!(n))).collect();
    row("100 unknown keys, refused", &five, &Value::Object(wrong).to_string());
}

fn row(name: &str, tool: &Tool, text: &str) {
    let ours = || drop(validation::judge(tool, &Arguments::Json(text.to_owned()), Duration::from_secs(60)));
    let alone = || drop(serde_json::from_str::<Value>(text).unwrap());
    let count = repetitions(&ours).max(repetitions(&alone));
    let (mut times, mut references) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        times.push(timed(count, &ours));
        references.push(timed(count, &alone));
    }
    let (ours, alone) = (median(times), median(references));
    println!("| {name} | {:.2} µs | {:.2} µs | {:.2} |", ours * 1e6, alone * 1e6, ours / alone);
}

fn repetitions(run: &impl Fn()) -> u32 {
    let started = Instant::now();
    let mut count = 0;
    while started.elapsed() < TURN {
        run();
        count += 1;
    }
    count
}

/// Seconds of one run.
fn timed(count: u32, run: &impl Fn()) -> f64 {
    let started = Instant::now();
    (0..count).for_each(|_| run());
    started.elapsed().as_secs_f64() / f64::from(count)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A tool with so many arguments of five kinds, a fifth of each.
fn tool_of(count: usize) -> Tool {
    let mut manifest = "[tool]\nname = 'bench'\nversion = '1.0.0'\ndescription = 'x'\n\
         permissions = { risk_level = 'low' }\nbackend = { type = 'custom', adapter = 'bench' }\n"
        .to_owned();
    for number in 0..count / 5 {
        let required = number == 0;
        let inputs = [
            format!(
                "name = 'text_{number}'\ntype = 'string'\nrequired = {required}\nvalidation = {{ max_length = 2000000, format = 'text' }}"
            ),
            format!("name = 'path_{number}'\ntype = 'string'\nvalidation = {{ max_length = 4096, format = 'path' }}"),
            format!("name = 'count_{number}'\ntype = 'integer'\nrange = [1, 1000]"),
            format!("name = 'deep_{number}'\ntype = 'boolean'"),
            format!("name = 'kind_{number}'\ntype = 'enum'\nallowed_values = ['a', 'b', 'c']"),
        ];
        for input in inputs {
            writeln!(manifest, "[[tool.inputs]]\n{input}").unwrap();
        }
    }
    tool::parse(Path::new("bench.toml"), &manifest, &Surroundings::default()).unwrap()
}

fn args_of(count: usize) -> Value {
    let mut args = Map::new();
    for number in 0..count / 5 {
        args.insert(format!("text_{number}"), json!("some words that are a text"));
        args.insert(format!("path_{number}"), json!("/workspace/src/main.rs"));
        args.insert(format!("count_{number}"), json!(42));
        args.insert(format!("deep_{number}"), json!(true));
        args.insert(format!("kind_{number}"), json!("b"));
    }
    Value::Object(args)
}

fn loose() -> Value {
    json!({ "text_0": "some words", "path_0": "src/../main.rs", "count_0": "42", "deep_0": "true", "kind_0": null })
}
