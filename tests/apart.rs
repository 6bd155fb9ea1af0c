//! Does a component of the profile `process` run in a process of its own, in the sandbox of the operating system, with the
//! limits of every other one, and is nothing of it left?

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, records};
use hermes_runtime::Runtime;
use hermes_runtime::call::Call;
use hermes_runtime::error::Kind;
use serde_json::json;

const RUNS: &str = "(call $report (i64.const 1) (i32.const 1) (i64.const 2) (i32.const 0) (i32.const 0) (i32.const 0))";

fn apart(body: impl Into<String>) -> Guest {
    Guest {
        sandbox: "profile = \"process\"".into(),
        manifest: "timeout_ms = 20000".into(),
        fields: "(data (i32.const 1024) \"written\")".into(),
        ..Guest::that(body)
    }
}

/// Processes of this test that run a component, found by what they were started with.
fn workers() -> Vec<u32> {
    let is_ours = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"__work") && is_below(*pid, std::process::id())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
}

fn is_below(mut pid: u32, above: u32) -> bool {
    while pid > 1 {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        pid = parent.unwrap_or(0);
        if pid == above {
            return true;
        }
    }
    false
}

#[test]
fn it_answers_logs_and_reports_from_a_process_of_its_own_that_sees_nothing() {
    let house = House::empty();
    let body = format!(
        "{RUNS} (call $log (i32.const 1) (i32.const 1024) (i32.const 7))
         (local.set $deadline (i64.const 200000000))
         (loop $on (br_if $on (i64.ne (local.tee $deadline (i64.sub (local.get $deadline) (i64.const 1))) (i64.const 0))))
         (call $ok (local.get $args) (local.get $args_len))"
    );
    apart(body).put(&house);
    let runtime = house.start(house.config());
    assert!(runtime.toolbox().faults.is_empty(), "{:?}", runtime.toolbox().faults);
    block_on(async {
        let (sender, mut progress) = tokio::sync::mpsc::channel(4);
        let call = Call { progress: Some(sender), ..call("probe", json!({ "a": "ü" })) };
        let mut running = std::pin::pin!(runtime.call(call));
        tokio::select! {
            answer = &mut running => panic!("it ended without a word: {answer:?}"),
            told = progress.recv() => assert_eq!((told.as_ref().unwrap().done, told.unwrap().total), (1, Some(2))),
        }
        let ours = workers();
        assert_eq!(ours.len(), 1, "one process runs it");
        let own = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/net")).unwrap();
        assert_ne!(own(&ours[0].to_string()), own("self"), "without our network");
        let root = std::fs::read_dir(format!("/proc/{}/root", ours[0])).map(|names| {
            names.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        });
        if let Ok(names) = root {
            assert!(!names.iter().any(|name| name == "workspace"), "{names:?}");
        }
        let answer = running.await.envelope;
        assert_eq!(answer.data, json!({ "a": "ü" }), "{answer:#?}");
        let usage = answer.metadata.usage.unwrap();
        assert!(usage.fuel > 200_000_000 && usage.memory_bytes >= 65_536 && usage.host_calls == 2, "{usage:?}");
        assert!(runtime.flush().await);
        let (_, outcome) = records::of_call(&runtime.config().state_dir, &answer.metadata.call_id);
        assert_eq!(outcome.facts.log, ["info: written"]);
        assert!(workers().is_empty(), "nothing is left");
    });
}

#[test]
fn its_limits_are_those_of_every_component() {
    let grow = "(drop (memory.grow (i32.const 2000))) (i32.store (i32.const 100000000) (i32.const 1)) unreachable";
    for (body, limits, expected) in [
        ("(loop $on (br $on)) unreachable", "fuel = 1000000", Kind::OutOfFuel),
        (grow, "memory_mb = 2", Kind::OutOfMemory),
        ("unreachable", "", Kind::Trap),
        (
            "(loop $on (call $log (i32.const 1) (i32.const 1024) (i32.const 7)) (br $on)) unreachable",
            "",
            Kind::LogLimit,
        ),
    ] {
        let house = House::empty();
        Guest { limits: limits.into(), ..apart(body) }.put(&house);
        let runtime = house.start(house.config());
        let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
        assert_eq!(answer.error.as_ref().map(|error| error.kind), Some(expected), "{body}: {answer:#?}");
    }
}

#[test]
fn it_is_ended_at_its_deadline_and_when_nobody_waits() {
    let house = House::empty();
    let body = format!("{RUNS} (loop $on (br $on)) unreachable");
    let endless = |timeout: u32| Guest {
        manifest: format!("timeout_ms = {timeout}"),
        limits: "fuel = 100000000000000".into(),
        ..apart(body.clone())
    };
    endless(1500).put(&house);
    Guest { name: "longer".into(), ..endless(60_000) }.put(&house);
    let mut config = house.config();
    config.ceiling.fuel = u64::MAX;
    let runtime = house.start(config);
    block_on(async {
        let answer = runtime.call(call("probe", json!({}))).await.envelope;
        assert_eq!(answer.error.map(|error| error.kind), Some(Kind::Timeout));
        assert!(workers().is_empty(), "nothing is left");
        let (sender, mut progress) = tokio::sync::mpsc::channel(4);
        let call = Call { progress: Some(sender), ..call("longer", json!({})) };
        tokio::select! {
            answer = runtime.call(call) => panic!("it ended: {answer:?}"),
            told = progress.recv() => assert_eq!(told.unwrap().done, 1),
        }
        // The tree is gone when the call is dropped, or a moment later on a busy machine.
        while !workers().is_empty() {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn one_that_asks_for_a_capability_is_refused_with_what_there_is() {
    let house = House::empty();
    Guest { files: true, ..apart("unreachable") }.put(&house);
    let runtime = Runtime::start(house.config(), &[], None).unwrap();
    let faults: Vec<String> = runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    assert!(faults.iter().any(|fault| fault.contains("`files`") && fault.contains("`in-process`")), "{faults:?}");
    let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
    assert_eq!(answer.error.map(|error| error.kind), Some(Kind::NoAdapter));
}
