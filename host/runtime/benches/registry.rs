//! What do many tools cost? Start cold and unchanged, lookup, reload of one file and search, with 10, 1,000 and 10,000
//! manifests.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used, reason = "a bench is its own rim")]
#![allow(missing_docs, reason = "a bench has no readers of its API")]

use hermes_runtime::registry::{self, Registry};
use hermes_runtime::{Config, Runtime};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Numbers of manifests.
const COUNTS: [usize; 3] = [10, 1_000, 10_000];
/// Starts of each row; the median counts.
const STARTS: usize = 5;
/// Lookups that are timed together, so that the clock does not count.
const LOOKUPS: u32 = 10_000;

fn main() {
    // `cargo test --all-targets` starts benches too; there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!(
        "| manifests | read alone | start, cold | start, unchanged | lookup | reload of one file | search, first | search |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    COUNTS.iter().for_each(|count| row(*count));
}

fn row(count: usize) {
    let house = tempfile::tempdir().unwrap();
    let tools = house.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    for number in 0..count {
        std::fs::write(tools.join(format!("tool_{number}.toml")), manifest(number, "")).unwrap();
    }
    let start = |state: &str| {
        let mut config = Config::new(house.path().join(state), house.path().join("cache"));
        config.tool_folders = vec![tools.clone()];
        let (runtime, took) = timed(|| Runtime::start(config, &[], None).unwrap());
        assert_eq!(runtime.toolbox().faults, [], "a bench measures what works");
        (runtime, took)
    };
    let alone = median((0..STARTS).map(|_| timed(|| read_all(&tools)).1).collect());
    let cold = median((0..STARTS).map(|number| start(&format!("state_{number}")).1).collect());
    let unchanged = median((0..STARTS).map(|_| start("state_0").1).collect());
    let (runtime, _) = start("state_0");
    let toolbox = runtime.toolbox();
    let lookup = lookup(&toolbox.registry, count);
    drop(toolbox);
    let reloads = (0..STARTS).map(|number| {
        let changed = manifest(count / 2, &format!("timeout_ms = {}\n", 10_000 - number));
        std::fs::write(tools.join(format!("tool_{}.toml", count / 2)), changed).unwrap();
        let (faults, took) = timed(|| runtime.reload().unwrap());
        assert_eq!(faults, []);
        took
    });
    let reload = median(reloads.collect());
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let search = || tokio.block_on(runtime.search("Builder", "convert a file to another format", 10)).unwrap();
    let (found, first) = timed(search);
    assert_eq!(found.len(), 10.min(count));
    let next = median((0..STARTS).map(|_| timed(search).1).collect());
    println!(
        "| {count} | {} | {} | {} | {:.0} ns | {} | {} | {} |",
        ms(alone),
        ms(cold),
        ms(unchanged),
        lookup * 1e9,
        ms(reload),
        ms(first),
        ms(next)
    );
}

/// The reference: what only reading the files takes.
fn read_all(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap().len()).sum()
}

/// Seconds of one lookup by name.
fn lookup(registry: &Registry, count: usize) -> f64 {
    let names: Vec<String> = (0..count).map(|number| format!("tool_{number}")).collect();
    let (_, took) = timed(|| {
        for number in 0..LOOKUPS as usize {
            let name = &names[(number * 7919) % count];
            black_box(registry::lookup(registry, black_box(name), "Builder").unwrap());
        }
    });
    took.as_secs_f64() / f64::from(LOOKUPS)
}

fn manifest(number: usize, more: &str) -> String {
    const DOES: [&str; 5] = [
        "Convert a file to another format",
        "Send a message to a channel",
        "Query the records of a table",
        "Resize an image and keep its ratio",
        "List the open tasks of a project",
    ];
    format!(
        "[tool]\nname = \"tool_{number}\"\nversion = \"1.0.0\"\ndescription = \"{} ({number})\"\ncategory = \"custom\"\n{more}\
         permissions = {{ required_roles = [\"Builder\"], risk_level = \"low\" }}\neffect = {{ kind = \"read\" }}\n\
         backend = {{ type = \"custom\", adapter = \"none\" }}\n\
         [[tool.inputs]]\nname = \"path\"\ntype = \"string\"\nrequired = true\nvalidation = {{ max_length = 4096, format = \"path\" }}\n\
         [[tool.inputs]]\nname = \"limit\"\ntype = \"integer\"\nrange = [1, 1000]\n\
         [[tool.inputs]]\nname = \"kind\"\ntype = \"enum\"\nallowed_values = [\"a\", \"b\"]\n",
        DOES[number % DOES.len()]
    )
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let done = run();
    (done, started.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
