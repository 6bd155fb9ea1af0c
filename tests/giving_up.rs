//! What does a tool get when nobody waits for its answer any more? Time to clean up, if its manifest says so, and no
//! more than that.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, records};
use hermes_runtime::cancel::Cancel;
use hermes_runtime::envelope::Envelope;
use hermes_runtime::error::Kind;
use hermes_runtime::{Call, Runtime};
use serde_json::json;

const RUNS: &str = "(call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))";
/// It says that it runs, works until nobody waits, and writes that it has put everything away.
const TIDY: &str = "(loop $on (br_if $on (i32.eqz (call $cancelled))))
    (call $log (i32.const 1) (i32.const 1024) (i32.const 8))
    (call $ok (local.get $args) (local.get $args_len))";

fn guest(work: &str, manifest: &str) -> Guest {
    Guest {
        manifest: format!("timeout_ms = 60000\n{manifest}"),
        limits: "fuel = 1000000000000, host_calls = 1000000000".into(),
        fields: "(data (i32.const 1024) \"put away\")".into(),
        effect: "write".into(),
        ..Guest::that(format!("{RUNS} {work}"))
    }
}

fn house(guest: &Guest) -> House {
    let house = House::empty();
    guest.put(&house);
    house
}

/// A runtime without the ceilings that these calls would hit on a busy machine.
fn start(house: &House) -> Runtime {
    let mut config = house.config();
    (config.ceiling.fuel, config.ceiling.host_calls) = (u64::MAX, u64::MAX);
    house.start(config)
}

/// Gives up as soon as the tool runs; the answer, if the call goes on then.
async fn give_up(runtime: &Runtime) -> Option<Envelope> {
    let (sender, mut progress) = tokio::sync::mpsc::channel(1);
    let cancel = Cancel::default();
    let call = Call { progress: Some(sender), cancel: Some(cancel.clone()), ..call("probe", json!({})) };
    let mut running = std::pin::pin!(runtime.call(call));
    tokio::select! {
        answer = &mut running => panic!("it ended: {answer:?}"),
        told = progress.recv() => assert_eq!(told.unwrap().done, 1),
    }
    match cancel.tell() {
        true => Some(running.await.envelope),
        false => None,
    }
}

#[test]
fn a_tool_with_time_for_it_puts_away_what_it_began() {
    let house =
        house(&guest(TIDY, "grace_ms = 10000\nretry_policy = { max_retries = 3, retryable_errors = ['cancelled'] }"));
    let runtime = start(&house);
    let answer = block_on(give_up(&runtime)).expect("it cleans up");
    assert_eq!(answer.error.map(|error| error.kind), Some(Kind::Cancelled), "what it returned goes nowhere");
    assert!(answer.data.is_null() && answer.metadata.usage.unwrap().attempts == 1);
    assert!(block_on(runtime.flush()));
    let (intent, outcome) = records::of_call(&runtime.config().state_dir, &answer.metadata.call_id);
    assert!(intent.is_some());
    assert_eq!(outcome.code, Some(499));
    assert!(outcome.facts.log.iter().any(|line| line.contains("put away")), "{:?}", outcome.facts.log);
    records::verified(&runtime.config().state_dir);
}

#[test]
fn a_tool_that_does_not_listen_is_ended_when_its_time_is_over() {
    let house = house(&guest("(loop $ever (br $ever)) unreachable", "grace_ms = 50"));
    let runtime = start(&house);
    let begun = std::time::Instant::now();
    let answer = block_on(give_up(&runtime)).expect("it has time");
    assert_eq!(answer.error.map(|error| error.kind), Some(Kind::Cancelled));
    assert!(begun.elapsed().as_millis() >= 50, "it was given its time");
}

#[test]
fn a_tool_without_time_for_it_is_ended_by_dropping_its_call() {
    let house = house(&guest(TIDY, ""));
    let runtime = start(&house);
    assert!(block_on(give_up(&runtime)).is_none());
    assert!(block_on(runtime.flush()));
    let state_dir = &runtime.config().state_dir;
    let last = hermes_runtime::injection::audit::Reader::open(state_dir).unwrap().list(1).unwrap();
    assert_eq!(last[0].record.code, Some(499));
    assert!(last[0].record.facts.log.is_empty(), "it never saw it");
}

#[test]
fn more_time_than_there_may_be_is_refused_by_name() {
    let house = house(&guest(TIDY, "grace_ms = 10001"));
    let runtime = Runtime::start(house.config(), &[], None).unwrap();
    let faults: Vec<String> = runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    assert!(faults.iter().any(|fault| fault.contains("10000 milliseconds to clean up")), "{faults:?}");
}
