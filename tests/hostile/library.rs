//! What does a component reach that uses a whole standard library, Rust's? The guest `tests/guests/hostile` tries one
//! thing a call.

use super::kind;
use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call, component};
use crate::support::records;
use hermes_runtime::call::Fixed;
use hermes_runtime::error::Kind;
use serde_json::json;

/// How an attempt ends.
enum End {
    /// The system says no, in these words.
    Refused(&'static str),
    /// It gets this and nothing more.
    Gets(&'static str),
    /// It is ended so.
    Fails(Kind),
}

const ATTEMPTS: &[(&str, End)] = &[
    ("environment", End::Gets("0 variables")),
    ("arguments", End::Gets("0 arguments")),
    ("input", End::Gets("0 bytes")),
    ("directory", End::Refused("")),
    ("read", End::Refused("")),
    ("read_own", End::Refused("")),
    ("read_process", End::Refused("")),
    ("write", End::Refused("")),
    ("truncate", End::Refused("")),
    ("rename", End::Refused("")),
    ("hard_link", End::Refused("")),
    ("symbolic_link", End::Refused("")),
    ("remove", End::Refused("")),
    ("program", End::Refused("not supported")),
    ("connect", End::Refused("")),
    ("listen", End::Refused("")),
    ("datagram", End::Refused("")),
    ("look_up", End::Refused("")),
    ("print", End::Fails(Kind::LogLimit)),
    ("print_errors", End::Fails(Kind::LogLimit)),
    ("say", End::Gets("said")),
    ("panic", End::Fails(Kind::Trap)),
    ("exit", End::Fails(Kind::Trap)),
    ("abort", End::Fails(Kind::Trap)),
    ("sleep", End::Fails(Kind::Timeout)),
    ("wait_for_time", End::Fails(Kind::Timeout)),
    ("allocate", End::Fails(Kind::OutOfMemory)),
    // Its compiler gave it a stack within its own memory, beneath which there is nothing.
    ("recurse", End::Fails(Kind::Trap)),
    ("loop", End::Fails(Kind::Timeout)),
];

fn house() -> House {
    let house = House::empty();
    put(&house);
    house.write("secret.txt", "secret");
    house
}

/// Puts the guest into a house, as the tool `probe`.
pub(crate) fn put(house: &House) {
    let guest = Guest {
        manifest: "timeout_ms = 300".into(),
        limits: "fuel = 100000000000, memory_mb = 16, host_calls = 10000000".into(),
        ..Guest::default()
    };
    guest.put(house);
    let folder = house.path("plugins/probe");
    let manifest = std::fs::read_to_string(folder.join("adapter.toml")).unwrap();
    std::fs::write(folder.join("adapter.toml"), manifest.replace("component.wat", "component.wasm")).unwrap();
    std::fs::copy(component("hostile"), folder.join("component.wasm")).unwrap();
}

#[test]
fn what_a_whole_standard_library_reaches_is_nothing() {
    let house = house();
    super::calm().put(&house);
    let runtime = house.start(house.config());
    let mut wrong = Vec::new();
    block_on(async {
        for (attempt, end) in ATTEMPTS {
            let answer = runtime.call(call("probe", json!({ "attempt": attempt }))).await.envelope;
            let said = answer.data.as_str().unwrap_or_default();
            let fits = match end {
                End::Refused(why) => said.starts_with("refused: ") && said.contains(why),
                End::Gets(what) => said == *what,
                End::Fails(expected) => kind(&answer) == Some(*expected),
            };
            if !fits {
                wrong.push(format!("{attempt}: {said} {:?}", answer.error));
            }
            assert_eq!(super::ask(&runtime, "calm").await.data, json!({}), "the call after `{attempt}`");
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(house.read("secret.txt"), "secret");
    let outside = std::fs::read_dir(house.path("outside")).unwrap().count();
    assert_eq!((outside, std::fs::read_dir(house.path("workspace")).unwrap().count()), (0, 1));
}

#[test]
fn what_it_prints_is_kept_with_the_call_line_by_line() {
    let house = house();
    let runtime = house.start(house.config());
    let log = |attempt: &str| {
        block_on(async {
            let answer = runtime.call(call("probe", json!({ "attempt": attempt }))).await.envelope;
            assert!(runtime.flush().await);
            records::of_call(&runtime.config().state_dir, &answer.metadata.call_id).1.facts.log
        })
    };
    assert_eq!(log("say"), ["stderr: oh\\u{1b}[2J", "stdout: one two"]);
    let panic = log("panic");
    assert!(panic.iter().any(|line| line.starts_with("stderr: ") && line.contains("panicked at")), "{panic:?}");
    assert!(panic.iter().any(|line| line == "stderr: on purpose"), "{panic:?}");
    assert!(log("print").is_empty() || log("print").len() == 1, "a line without end is one line");
}

/// Two runs with the same clock and seed see the same time and the same numbers; real ones differ.
#[test]
fn a_fixed_clock_and_seed_make_runs_alike() {
    let house = house();
    let runtime = house.start(house.config());
    let ask = |seed: Option<u8>| {
        ["clock", "random"].map(|attempt| {
            let call = call("probe", json!({ "attempt": attempt }));
            let call = match seed {
                Some(seed) => call.fixed(Fixed { now_ms: 1_700_000_000_000, seed: [seed; 32] }),
                None => call,
            };
            block_on(runtime.call(call)).envelope.data
        })
    };
    let (one, again, other) = (ask(Some(1)), ask(Some(1)), ask(Some(2)));
    assert_eq!(one, again);
    assert_ne!(one[1], other[1]);
    assert!(one[0].as_str().unwrap().starts_with("1700000000000 "), "{one:?}");
    assert_ne!(ask(None), ask(None));
}
