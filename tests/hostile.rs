//! What does a component get that wants to harm the runtime? Each hostile guest has its one exact kind of failure, and
//! the next call on the same runtime works.

mod guests;
pub(crate) mod library;

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, records};
use hermes_runtime::envelope::Envelope;
use hermes_runtime::error::Kind;
use hermes_runtime::{Call, Runtime};
use serde_json::{Value, json};

fn calm() -> Guest {
    Guest { name: "calm".into(), ..Guest::default() }
}

async fn ask(runtime: &Runtime, tool: &str) -> Envelope {
    runtime.call(call(tool, json!({}))).await.envelope
}

fn kind(answer: &Envelope) -> Option<Kind> {
    answer.error.as_ref().map(|error| error.kind)
}

/// Runs a hostile guest between calm ones.
fn check(guest: Guest, expected: Kind) -> Envelope {
    let house = House::empty();
    guest.put(&house);
    calm().put(&house);
    let runtime = house.start(house.config());
    block_on(async {
        let answer = ask(&runtime, "probe").await;
        assert_eq!(kind(&answer), Some(expected), "{answer:#?}");
        for _ in 0..2 {
            assert_eq!(ask(&runtime, "calm").await.data, json!({}), "the next call");
        }
        assert_eq!(kind(&ask(&runtime, "probe").await), Some(expected), "the second time");
        assert!(runtime.flush().await);
        let (_, outcome) = records::of_call(&runtime.config().state_dir, &answer.metadata.call_id);
        assert_eq!(outcome.error.map(|error| error.kind), Some(expected), "in the record");
        records::verified(&runtime.config().state_dir);
        answer
    })
}

#[test]
fn opening_files_without_closing_them_is_ended() {
    let open = "(loop $on (call $open (i32.const 1024) (i32.const 12) (i32.const 2048)) (br $on)) unreachable";
    let data = r#"(data (i32.const 1024) "/workspace/x")"#;
    let guest = Guest { files: true, fields: data.into(), ..Guest::that(open) };
    let house = House::empty();
    std::fs::write(house.path("workspace/x"), "x").unwrap();
    guest.put(&house);
    let runtime = house.start(house.config());
    assert_eq!(kind(&block_on(ask(&runtime, "probe"))), Some(Kind::HandleLimit));
    assert_eq!(kind(&block_on(ask(&runtime, "probe"))), Some(Kind::HandleLimit), "the second time");
}

#[test]
fn a_refused_growth_is_no_failure_of_a_guest_that_can_do_without() {
    let guest = Guest {
        limits: "memory_mb = 2".into(),
        ..Guest::that("(drop (memory.grow (i32.const 1000))) (call $ok (local.get $args) (local.get $args_len))")
    };
    let house = House::empty();
    guest.put(&house);
    let runtime = house.start(house.config());
    let answer = block_on(ask(&runtime, "probe"));
    assert_eq!(answer.data, json!({}));
    assert!(answer.metadata.usage.unwrap().memory_bytes <= 2 << 20);
}

#[test]
fn a_description_of_a_link_counts_as_output() {
    // A link whose description is 60,000 bytes.
    let body = "(i32.store8 (i32.const 256) (i32.const 3)) (i32.store (i32.const 288) (i32.const 1))\
                (i32.store (i32.const 292) (i32.const 1024)) (i32.store (i32.const 296) (i32.const 60000))\
                (i32.store (i32.const 80) (i32.const 256)) (i32.store (i32.const 84) (i32.const 1)) (i32.const 64)";
    check(Guest { limits: "output_bytes = 50000".into(), ..Guest::that(body) }, Kind::OutputLimit);
}

#[test]
fn what_comes_with_a_failure_is_limited_like_a_result() {
    // An error whose partial output is a text of 60,000 bytes.
    let body = "(drop (call $text (i32.const 0) (i32.const 0))) (i32.store (i32.const 64) (i32.const 1))\
                (i32.store (i32.const 68) (i32.const 4)) (i32.store (i32.const 80) (i32.const 0)) (i32.store (i32.const 84) (i32.const 0))\
                (i32.store (i32.const 108) (i32.const 1)) (i32.store (i32.const 124) (i32.const 256)) (i32.store (i32.const 128) (i32.const 1))\
                (i32.store (i32.const 260) (i32.const 1024)) (i32.store (i32.const 264) (i32.const 60000)) (i32.const 64)";
    let house = House::empty();
    Guest { limits: "output_bytes = 50000".into(), ..Guest::that(body) }.put(&house);
    let runtime = house.start(house.config());
    let answer = block_on(ask(&runtime, "probe"));
    assert!(answer.error.is_some());
    assert!(answer.data.to_string().len() < 50_000, "{} bytes", answer.data.to_string().len());
}

#[test]
fn what_a_component_logs_reaches_no_terminal() {
    let guest = Guest {
        fields: r#"(data (i32.const 1024) "\1b[2J\e2\80\ae")"#.into(),
        ..Guest::that(
            "(call $log (i32.const 3) (i32.const 1024) (i32.const 7)) (call $ok (local.get $args) (local.get $args_len))",
        )
    };
    let house = House::empty();
    guest.put(&house);
    let runtime = house.start(house.config());
    block_on(async {
        let answer = ask(&runtime, "probe").await;
        runtime.flush().await;
        let (_, outcome) = records::of_call(&runtime.config().state_dir, &answer.metadata.call_id);
        assert_eq!(outcome.facts.log, ["error: \\u{1b}[2J\\u{202e}"]);
    });
}

#[test]
fn a_tool_that_says_it_reads_cannot_write() {
    let write = "(call $write (i32.const 1024) (i32.const 12) (i32.const 1024) (i32.const 4) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 2048))\
                 (if (i32.eqz (i32.load8_u (i32.const 2048))) (then (return (call $text (i32.const 1024) (i32.const 12)))))\
                 (call $text (i32.load (i32.const 2060)) (i32.load (i32.const 2064)))";
    let data = r#"(data (i32.const 1024) "/workspace/x")"#;
    for (effect, written) in [("read", false), ("write", true)] {
        let house = House::empty();
        Guest { files: true, fields: data.into(), effect: effect.into(), ..Guest::that(write) }.put(&house);
        let runtime = house.start(house.config());
        let answer = block_on(ask(&runtime, "probe"));
        let refused = Value::from("`/workspace/x` cannot be changed by a call that only reads");
        assert_eq!(answer.data == refused, !written, "{answer:#?}");
        assert_eq!(rustix::fs::stat(house.path("workspace/x")).is_ok(), written, "{effect}");
    }
}

#[test]
fn more_calls_than_there_are_places_wait_or_are_refused() {
    let house = House::empty();
    Guest {
        manifest: "timeout_ms = 20".into(),
        limits: "fuel = 100000000000".into(),
        ..Guest::that("(loop $on (br $on)) unreachable")
    }
    .put(&house);
    calm().put(&house);
    let mut config = house.config();
    config.ceiling.concurrent_calls = 2;
    let runtime = std::sync::Arc::new(house.start(config));
    block_on(async {
        let calls: Vec<_> = (0..100)
            .map(|_| {
                let runtime = runtime.clone();
                tokio::spawn(async move { kind(&ask(&runtime, "probe").await) })
            })
            .collect();
        let mut kinds = Vec::new();
        for call in calls {
            kinds.push(call.await.unwrap());
        }
        assert!(kinds.iter().all(|kind| matches!(kind, Some(Kind::Timeout | Kind::Overloaded))), "{kinds:?}");
        assert!(kinds.contains(&Some(Kind::Timeout)) && kinds.contains(&Some(Kind::Overloaded)), "{kinds:?}");
        assert_eq!(ask(&runtime, "calm").await.data, json!({}));
    });
}

/// The guest says that it runs, then never ends; the caller gives up.
#[test]
fn a_call_that_is_dropped_is_recorded_as_cancelled() {
    let body = "(call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))\
                (loop $on (br $on)) unreachable";
    for effect in ["read", "write"] {
        let house = House::empty();
        Guest { effect: effect.into(), limits: "fuel = 100000000000".into(), ..Guest::that(body) }.put(&house);
        calm().put(&house);
        let runtime = house.start(house.config());
        block_on(async {
            let (sender, mut progress) = tokio::sync::mpsc::channel(1);
            let call = Call { progress: Some(sender), ..call("probe", json!({})) };
            tokio::select! {
                answer = runtime.call(call) => panic!("it ended: {answer:?}"),
                running = progress.recv() => assert_eq!(running.unwrap().done, 1),
            }
            assert_eq!(ask(&runtime, "calm").await.data, json!({}));
            assert!(runtime.flush().await);
            let state_dir = &runtime.config().state_dir;
            let last = hermes_runtime::injection::audit::Reader::open(state_dir).unwrap().list(10).unwrap();
            let cancelled: Vec<_> = last.iter().filter(|entry| entry.record.code == Some(499)).collect();
            assert_eq!((last.len(), cancelled.len()), (2, 1));
            let (intent, outcome) = records::of_call(state_dir, &cancelled[0].record.call_id);
            assert_eq!(outcome.error.map(|error| error.kind), Some(Kind::Cancelled));
            assert_eq!((intent.is_some(), &*outcome.facts.tool), (effect == "write", "probe"));
            assert!(records::verified(state_dir).unknown.is_empty());
        });
    }
}
