//! Does what a call has of its answer reach whoever waits while it runs: in order, masked, bounded, and without holding up a
//! tool for somebody who does not look?

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use hermes_runtime::call::{Call, Progress};
use hermes_runtime::error::Kind;
use serde_json::json;

const WORDS: &str = "(data (i32.const 1024) \"one two three\")
    (data (i32.const 2048) \"key AKIAIOSFODNN7EXAMPLE and ghp_abcdefghijklmnopqrstuvwxyz0123456789\")";

fn guest(body: &str, sandbox: &str) -> Guest {
    Guest {
        fields: WORDS.into(),
        manifest: "timeout_ms = 20000".into(),
        sandbox: sandbox.into(),
        ..Guest::that(format!("{body} (call $ok (local.get $args) (local.get $args_len))"))
    }
}

fn part(at: u32, length: u32) -> String {
    format!("(call $partial (i32.const {at}) (i32.const {length}))")
}

fn report(done: u32) -> String {
    format!("(call $report (i64.const {done}) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))")
}

#[test]
fn parts_of_an_answer_arrive_in_order_between_reports_and_before_it() {
    for sandbox in ["", "profile = \"process\""] {
        let house = House::empty();
        // It waits for ever unless the parts have come: nobody cancels it before.
        let body = [part(1024, 4), report(1), part(1028, 4), part(1032, 5)].concat()
            + "(loop $on (br_if $on (i32.eqz (call $cancelled))))";
        Guest {
            manifest: "timeout_ms = 20000\ngrace_ms = 10000".into(),
            limits: "fuel = 1000000000000, host_calls = 1000000000".into(),
            ..guest(&body, sandbox)
        }
        .put(&house);
        let mut config = house.config();
        (config.ceiling.fuel, config.ceiling.host_calls) = (u64::MAX, u64::MAX);
        let runtime = house.start(config);
        block_on(async {
            let (sender, mut told) = tokio::sync::mpsc::channel(16);
            let cancel = hermes_runtime::cancel::Cancel::default();
            let call = Call { progress: Some(sender), cancel: Some(cancel.clone()), ..call("probe", json!({})) };
            let mut running = std::pin::pin!(runtime.call(call));
            let mut came: Vec<Progress> = Vec::new();
            while came.len() < 4 {
                tokio::select! {
                    answer = &mut running => panic!("it ended: {answer:?}"),
                    update = told.recv() => came.push(update.unwrap()),
                }
            }
            let came: Vec<_> = came.iter().map(|update| (update.done, update.part.as_deref())).collect();
            assert_eq!(came, [(0, Some("one ")), (1, None), (1, Some("two ")), (1, Some("three"))], "{sandbox}");
            assert!(cancel.tell());
            running.await;
        });
    }
}

#[test]
fn a_part_has_no_secret_and_comes_in_pieces_that_a_line_holds() {
    let house = House::empty();
    let body = [part(2048, 73), part(16384, 40_000)].concat();
    Guest { memory: "2".into(), ..guest(&body, "") }.put(&house);
    let runtime = house.start(house.config());
    block_on(async {
        let (sender, mut told) = tokio::sync::mpsc::channel(16);
        let answer = runtime.call(Call { progress: Some(sender), ..call("probe", json!({})) }).await;
        assert!(answer.envelope.error.is_none(), "{answer:?}");
        let mut came = Vec::new();
        while let Some(update) = told.recv().await {
            came.push(update.part.unwrap());
        }
        assert!(
            came[0].starts_with("key ") && !came[0].contains("ghp_abc") && !came[0].contains("AKIAIOSF"),
            "{came:?}"
        );
        let lengths: Vec<usize> = came[1..].iter().map(String::len).collect();
        assert_eq!((lengths.iter().sum::<usize>(), lengths.len()), (40_000, 3));
    });
}

#[test]
fn parts_together_are_no_larger_than_an_output_may_be() {
    for sandbox in ["", "profile = \"process\""] {
        let house = House::empty();
        let body = format!("(loop $on {} (br $on))", part(1024, 13));
        Guest { limits: "output_bytes = 1000".into(), ..guest(&body, sandbox) }.put(&house);
        let runtime = house.start(house.config());
        let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
        assert_eq!(answer.error.as_ref().map(|error| error.kind), Some(Kind::OutputLimit), "{answer:#?}");
    }
}

/// Whoever waits and takes nothing misses parts, and gets the answer.
#[test]
fn nobody_who_does_not_look_holds_up_a_tool() {
    let house = House::empty();
    guest(&part(1024, 4).repeat(3), "").put(&house);
    let runtime = house.start(house.config());
    let (sender, told) = tokio::sync::mpsc::channel(1);
    let answer = block_on(runtime.call(Call { progress: Some(sender), ..call("probe", json!({ "a": 1 })) })).envelope;
    assert_eq!(answer.data, json!({ "a": 1 }), "{answer:#?}");
    drop(told);
}
