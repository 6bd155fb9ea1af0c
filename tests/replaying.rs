//! Does a recorded call go the same way again, with nothing real behind it? One call of each kind of component, what is
//! too much or too secret to be recorded, and a component that is another one now.

use crate::outbound::{self, Server};
use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::people::{Channel, Person};
use crate::support::records;
use hermes_runtime::replaying::Replayed;
use hermes_runtime::{Envelope, Runtime};
use serde_json::{Value, json};
use std::sync::Arc;

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

/// The journal's file is somebody else's for a while. Records wait then; what is kept beside them has a bound.
#[test]
fn what_waits_to_be_written_is_bounded_and_what_is_left_out_is_said() {
    const MOST: usize = 64 << 20;
    let house = House::with_files();
    let mut config = house.config();
    config.result.record_bytes = Some(1 << 20);
    let runtime = house.start(config);
    let state = runtime.config().state_dir.clone();
    let text = "x".repeat(300_000);
    let asked = || json!({ "data": { "a": text } });
    let before = ran(&runtime, "json_query", asked());
    let journal = rusqlite::Connection::open(runtime.journal().path()).unwrap();
    journal.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waiting: Vec<String> = (0..2 * MOST / text.len())
        .map(|_| block_on(runtime.call(call("json_query", asked()))).envelope.metadata.call_id)
        .collect();
    journal.execute_batch("ROLLBACK").unwrap();
    assert!(block_on(runtime.flush()));

    let (kept, left_out): (Vec<_>, Vec<_>) =
        waiting.iter().map(|id| records::of_call(&state, id).1.facts).partition(|facts| facts.replayable == Some(true));
    assert!(!kept.is_empty() && kept.len() * text.len() <= MOST, "{} are kept", kept.len());
    assert_eq!(kept.len() + left_out.len(), waiting.len(), "no record is left out");
    assert!(left_out.iter().all(|facts| facts.not_replayable.as_ref().is_some_and(|why| why.contains("waits"))));
    // What was written has given its room back.
    let after = ran(&runtime, "json_query", asked());
    assert!([before, after].iter().all(|id| replay(&runtime, id).is_same()));
    records::verified(&state);
}

/// An answer with a body in pieces, one that is an error, a body that is sent, and a host that is not there.
#[test]
fn what_was_answered_over_http_is_answered_again_and_nothing_is_sent() {
    let server = Server::start(|head| match head.starts_with("GET /none") {
        true => b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone".to_vec(),
        false => outbound::ok("application/json", &json!({ "rows": vec!["a row"; 9000] }).to_string()),
    });
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let house = House::with_files();
    let settings = format!("{}{}", outbound::grant(server.port), outbound::grant(gone));
    let mut config = outbound::config(&house, &settings);
    config.result.record_bytes = Some(1 << 20);
    let runtime = house.start_with(config, Some(Arc::new(Channel::new(Person::Yes))));
    let body = json!({ "n": "a body of some length ".repeat(4000) });
    let calls = [
        ("http_get", json!({ "url": server.url("/a") }), 200),
        ("http_get", json!({ "url": server.url("/none") }), 502),
        ("http_send", json!({ "url": server.url("/a"), "method": "PUT", "json": body }), 200),
        ("http_get", json!({ "url": format!("http://127.0.0.1:{gone}/") }), 502),
    ];
    let made: Vec<(String, u16)> = calls
        .into_iter()
        .map(|(tool, args, _)| run(&runtime, tool, args))
        .map(|envelope| (envelope.metadata.call_id.clone(), envelope.code()))
        .collect();
    let asked = server.heads().len();
    assert_eq!(asked, 3);
    let across = |id: &str| records::of_call(&runtime.config().state_dir, id).1.facts.usage.unwrap().bytes_across;
    assert!(across(&made[0].0) > 50_000 && across(&made[2].0) > 130_000, "what is sent and answered is counted");
    for (id, code) in &made {
        assert_eq!(same(&runtime, id), 1, "one request of a call that ended with {code}");
    }
    assert_eq!(server.heads().len(), asked, "a replay sends nothing");
    assert_eq!(made.iter().map(|(_, code)| *code).collect::<Vec<_>>(), [200, 502, 200, 502]);
}

/// The recorded arguments are changed, so that the component sends something else than it did.
#[test]
fn the_first_request_that_differs_is_named() {
    let server = Server::start(|_| outbound::ok("text/plain", "an answer"));
    let house = House::with_files();
    let config = outbound::config(&house, &outbound::grant(server.port));
    let runtime = house.start_with(config, Some(Arc::new(Channel::new(Person::Yes))));
    let get = ran(&runtime, "http_get", json!({ "url": server.url("/one") }));
    let put = json!({ "url": server.url("/put"), "method": "PUT", "text": "a body with one in it" });
    let put = ran(&runtime, "http_send", put);
    let other = ran(&runtime, "http_get", json!({ "url": server.url("/one"), "headers": { "x-other": "one" } }));
    let journal = rusqlite::Connection::open(house.path("state/journal.db")).unwrap();
    let check = |id: &str, differs: &str| {
        let of_call = "seq = (SELECT seq FROM records WHERE call_id = ?1 AND kind = 'outcome')";
        let tape: Vec<u8> =
            journal.query_row(&format!("SELECT tape FROM tapes WHERE {of_call}"), [id], |row| row.get(0)).unwrap();
        let at = tape.windows(3).position(|part| part == b"one").unwrap();
        let changed = [&tape[..at], b"two", &tape[at + 3..]].concat();
        journal.execute(&format!("UPDATE tapes SET tape = ?2 WHERE {of_call}"), (id, changed)).unwrap();
        let rerun = replay(&runtime, id).rerun.unwrap();
        let expect = format!("request 1: {differs}").replace("HOST", &format!("127.0.0.1:{}", server.port));
        assert_eq!(rerun.divergence, Some(expect));
    };
    check(&get, "the URL or the headers of `http GET HOST` are others");
    check(&other, "the URL or the headers of `http GET HOST` are others");
    check(&put, "its body is another one");
    assert_eq!(server.heads().len(), 3, "a replay sends nothing");
}

/// The same in a real browser: what it showed is shown again, and no browser is asked.
#[test]
fn a_call_of_the_browser_goes_the_same_way_again() {
    use crate::support::{block_on_within, server};
    use hermes_runtime::address::HostPattern;
    let server = server::Server::start();
    server.page("/", "<title>Start</title><h1>Welcome</h1><a href='/next'>Next page</a>");
    let house = House::with_files();
    let mut config = house.config();
    config.browser.private_hosts.push(HostPattern::parse(&server.host()).unwrap());
    let runtime = house.start(config);
    let situation = hermes_runtime::call::Situation {
        workflow: Some("browse".into()),
        mode: hermes_runtime::call::Mode::Workflow,
        purpose: Some("test".into()),
        ..Default::default()
    };
    let situation = Arc::new(situation);
    let ids = block_on_within(std::time::Duration::from_secs(180), async {
        let mut ids = Vec::new();
        for (tool, args) in [("browser_navigate", json!({ "url": server.url("/") })), ("browser_snapshot", json!({}))] {
            let envelope = runtime.call(call(tool, args).situation(situation.clone())).await.envelope;
            assert_eq!(envelope.code(), 200, "{tool}: {:#?}", envelope.error);
            ids.push(envelope.metadata.call_id);
        }
        assert!(runtime.flush().await);
        ids
    });
    let asked = server.asked().len();
    for id in &ids {
        assert!(same(&runtime, id) > 0, "it crossed a border");
    }
    assert_eq!(server.asked().len(), asked, "no page is loaded again");
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
fn what_is_too_much_is_not_kept_and_says_so() {
    let house = House::with_files();
    let mut config = house.config();
    config.result.record_bytes = Some(1000);
    let runtime = house.start(config);
    house.write("long.txt", "a line of thirty characters..\n".repeat(1000));
    let why = "more crossed the border";
    let id = ran(&runtime, "file_read", json!({ "path": "/workspace/long.txt" }));
    let (_, record) = records::of_call(&runtime.config().state_dir, &id);
    assert_eq!(record.facts.replayable, Some(false));
    assert!(record.facts.not_replayable.as_deref().unwrap().starts_with(why), "{:?}", record.facts.not_replayable);
    let replayed = replay(&runtime, &id);
    assert!(replayed.rerun.is_none() && replayed.not_replayed.unwrap().starts_with(why));
}

/// What is secret is crossed out before it is kept, so that the component runs again on something like what it was.
#[test]
fn a_call_that_a_secret_crossed_replays_as_inexact() {
    let house = House::with_files();
    let runtime = house.start(house.config());
    house.write("secret.txt", "token = \"ghp_0123456789abcdefghijklmnopqrstuvwxyzAB\"\nand a line after it\n");
    let id = ran(&runtime, "file_read", json!({ "path": "/workspace/secret.txt" }));
    let in_arguments = json!({ "query": "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB" });
    let searched = ran(&runtime, "file_search", in_arguments);
    for id in [&id, &searched] {
        let (_, record) = records::of_call(&runtime.config().state_dir, id);
        assert_eq!(record.facts.replayable, Some(true));
        let replayed = replay(&runtime, id);
        assert!(replayed.inexact.as_deref().unwrap().starts_with("a mask stands for a secret"), "{replayed:?}");
    }
    let replayed = replay(&runtime, &id);
    assert!(replayed.is_same() && replayed.rerun.unwrap().crossings > 0);
    let plain = ran(&runtime, "file_list", json!({ "path": "/workspace" }));
    assert_eq!(replay(&runtime, &plain).inexact, None);
    let database = std::fs::read(house.path("state/journal.db")).unwrap();
    let wal = std::fs::read(house.path("state/journal.db-wal")).unwrap_or_default();
    let holds = |bytes: &[u8]| bytes.windows(20).any(|part| part == b"ghp_0123456789abcdef");
    assert!(!holds(&database) && !holds(&wal), "no secret is on disk");
}

/// Calls of many kinds with other arguments each: none of them goes another way.
#[test]
fn of_a_thousand_calls_none_goes_another_way() {
    let house = House::with_files();
    for number in 0..20 {
        house.write(&format!("{number}.txt"), format!("line {number}\nand another one\n").repeat(number + 1));
    }
    let runtime = house.start(house.config());
    let args = |number: usize| match number % 4 {
        0 => ("file_read", json!({ "path": format!("/workspace/{}.txt", number % 23), "offset": number % 7 + 1 })),
        1 => ("file_search", json!({ "query": format!("line {}", number % 20) })),
        2 => ("file_list", json!({ "path": "/workspace" })),
        _ => ("json_query", json!({ "data": [{ "n": number }, { "n": number / 2 }] })),
    };
    let made = block_on(async {
        let mut made = Vec::new();
        for number in 0..1000 {
            let (tool, args) = args(number);
            made.push(runtime.call(call(tool, args)).await.envelope.metadata.call_id);
        }
        assert!(runtime.flush().await);
        made
    });
    block_on(async {
        for id in &made {
            let replayed = runtime.replay(id).await.unwrap();
            assert!(replayed.is_same(), "{replayed:#?}");
        }
    });
}
