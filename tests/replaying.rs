//! Does a recorded call go the same way again, with nothing real behind it? One call of each kind of component, what is
//! too much or too secret to be recorded, and a component that is another one now.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::records;
use hermes_runtime::replaying::Replayed;
use hermes_runtime::{Envelope, Runtime};
use serde_json::{Value, json};

fn run(runtime: &Runtime, tool: &str, args: Value) -> Envelope {
    let envelope = block_on(runtime.call(call(tool, args))).envelope;
    assert!(block_on(runtime.flush()));
    envelope
}

fn ran(runtime: &Runtime, tool: &str, args: Value) -> String {
    let envelope = run(runtime, tool, args);
    assert!(envelope.error.is_none(), "{tool}: {:#?}", envelope.error);
    envelope.metadata.call_id
}

fn replay(runtime: &Runtime, call_id: &str) -> Replayed {
    block_on(runtime.replay(call_id)).unwrap()
}

fn same(runtime: &Runtime, call_id: &str) -> usize {
    let replayed = replay(runtime, call_id);
    assert!(replayed.is_same(), "{replayed:#?}");
    replayed.rerun.unwrap().crossings
}

/// The files are gone and the programs are not started: what was recorded is enough.
#[test]
fn a_call_of_each_adapter_goes_the_same_way_again() {
    let house = House::with_files();
    let runtime = house.start(house.config());
    house.write("a.txt", "one\ntwo\nthree\n");
    let read = ran(&runtime, "file_read", json!({ "path": "/workspace/a.txt", "offset": 2 }));
    let search = ran(&runtime, "file_search", json!({ "query": "two" }));
    let wrote = ran(&runtime, "file_write", json!({ "path": "b.txt", "mode": "create", "content": "new" }));
    let listed = ran(&runtime, "terminal", json!({ "command": "ls" }));
    let query = ran(&runtime, "json_query", json!({ "data": [{ "n": 1 }, { "n": 2 }] }));
    let failed = run(&runtime, "file_read", json!({ "path": "/workspace/none.txt" }));
    assert!(failed.error.is_some());
    for name in ["a.txt", "b.txt"] {
        std::fs::remove_file(house.path("workspace").join(name)).unwrap();
    }
    for id in [&read, &search, &wrote, &listed, &failed.metadata.call_id] {
        assert!(same(&runtime, id) > 0, "it crossed a border");
    }
    assert_eq!(same(&runtime, &query), 0);
    assert_eq!(std::fs::read_dir(house.path("workspace")).unwrap().count(), 0, "a replay writes nothing");
    records::verified(&runtime.config().state_dir);
}

/// Two runs see other times and other numbers; a replay sees those of its run.
#[test]
fn times_and_randomness_are_those_of_the_run() {
    let house = House::empty();
    crate::hostile::library::put(&house);
    let runtime = house.start(house.config());
    let ask = |attempt: &str| {
        let envelope = run(&runtime, "probe", json!({ "attempt": attempt }));
        assert!(envelope.error.is_none(), "{attempt}: {:#?}", envelope.error);
        (envelope.data, envelope.metadata.call_id)
    };
    for attempt in ["clock", "random"] {
        let ((one, id), (other, _)) = (ask(attempt), ask(attempt));
        assert_ne!(one, other);
        same(&runtime, &id);
    }
}

#[test]
fn a_component_that_is_another_one_now_is_shown_to_differ() {
    let house = House::empty();
    Guest::default().put(&house);
    let runtime = house.start(house.config());
    let id = ran(&runtime, "probe", json!({ "n": 1 }));
    same(&runtime, &id);
    drop(runtime);
    Guest::that("(call $text (local.get $args) (local.get $args_len))").put(&house);
    let runtime = house.start(house.config());
    let replayed = replay(&runtime, &id);
    assert!(!replayed.same_component && !replayed.is_same());
    assert_eq!(replayed.rerun.unwrap().divergence.as_deref(), Some("it returned something else"));
}

#[test]
fn what_is_too_much_or_secret_is_not_kept_and_says_so() {
    let house = House::with_files();
    let mut config = house.config();
    config.result.record_bytes = Some(1000);
    let runtime = house.start(config);
    house.write("long.txt", "a line of thirty characters..\n".repeat(1000));
    house.write("secret.txt", "token = \"ghp_0123456789abcdefghijklmnopqrstuvwxyzAB\"\n");
    for (name, why) in [("long.txt", "more crossed the border"), ("secret.txt", "a secret crossed the border")] {
        let id = ran(&runtime, "file_read", json!({ "path": format!("/workspace/{name}") }));
        let (_, record) = records::of_call(&runtime.config().state_dir, &id);
        assert_eq!(record.facts.replayable, Some(false), "{name}");
        assert!(record.facts.not_replayable.as_deref().unwrap().starts_with(why), "{:?}", record.facts.not_replayable);
        let replayed = replay(&runtime, &id);
        assert!(replayed.rerun.is_none() && replayed.not_replayed.unwrap().starts_with(why), "{name}");
    }
    let database = std::fs::read(house.path("state/journal.db")).unwrap();
    let wal = std::fs::read(house.path("state/journal.db-wal")).unwrap_or_default();
    let holds = |bytes: &[u8]| bytes.windows(20).any(|part| part == b"ghp_0123456789abcdef");
    assert!(!holds(&database) && !holds(&wal), "no secret is on disk");
}
