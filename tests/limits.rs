//! Is every limit that a manifest can declare enforced, each with a kind of its own, and does no manifest exceed the
//! operator's ceiling? The tables here have to have every field that there is.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use hermes_runtime::config::Ceiling;
use hermes_runtime::error::{Error, Kind};
use hermes_runtime::registry::manifest::LimitsManifest;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One limit, a guest that exceeds it, and what comes of that.
struct Case {
    field: &'static str,
    /// An odd value, which the message has to name.
    value: u64,
    guest: Guest,
    kind: Kind,
}

const ENDLESS: &str = "(loop $on (br $on)) unreachable";

fn cases() -> Vec<Case> {
    let case = |field, value, kind, guest| Case { field, value, guest, kind };
    let grow = "(loop $on (br_if $on (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0)))) unreachable";
    let log = "(loop $on (call $log (i32.const 1) (i32.const 1024) (i32.const 100)) (br $on)) unreachable";
    let report = "(loop $on (call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) (br $on)) unreachable";
    let long_line = "(call $log (i32.const 1) (i32.const 1024) (i32.const 9000)) unreachable";
    let open = "(loop $on (call $open (i32.const 1024) (i32.const 12) (i32.const 2048)) (br $on)) unreachable";
    let more = "(core module $more) (core instance (instantiate $more)) (core instance (instantiate $more))";
    let path = r#"(data (i32.const 1024) "/workspace/x")"#;
    vec![
        case("fuel", 700_003, Kind::OutOfFuel, Guest::that(ENDLESS)),
        case("memory_mb", 3, Kind::OutOfMemory, Guest::that(grow)),
        case("output_bytes", 9001, Kind::OutputLimit, Guest::that("(call $text (i32.const 1024) (i32.const 9999))")),
        case("log_bytes", 4001, Kind::LogLimit, Guest::that(log)),
        case("log_lines", 17, Kind::LogLimit, Guest::that(log)),
        case("host_calls", 333, Kind::HostCallLimit, Guest::that(report)),
        case("host_call_bytes", 8001, Kind::HostCallLimit, Guest::that(long_line)),
        case("handles", 7, Kind::HandleLimit, Guest { files: true, fields: path.into(), ..Guest::that(open) }),
        case("instances", 3, Kind::InstanceLimit, Guest { beside: more.into(), ..Guest::default() }),
        case(
            "table_elements",
            1001,
            Kind::TableLimit,
            Guest { fields: "(table 1002 funcref)".into(), ..Guest::default() },
        ),
    ]
}

/// The keys of a value of a type that has all of them set.
fn keys(value: &impl serde::Serialize) -> BTreeSet<String> {
    serde_json::to_value(value).unwrap().as_object().unwrap().keys().cloned().collect()
}

/// Calls a guest and expects a failure that comes in the same way the second time.
fn failure(guest: &Guest, ceiling: Value) -> Error {
    let house = House::empty();
    house.write("x", "x");
    guest.put(&house);
    let mut config = house.config();
    config.ceiling = serde_json::from_value(ceiling).unwrap();
    let runtime = house.start(config);
    block_on(async {
        let first = runtime.call(call("probe", json!({}))).await.envelope.error.unwrap();
        let second = runtime.call(call("probe", json!({}))).await.envelope.error.unwrap();
        assert_eq!(first.kind, second.kind, "the second time: {second:?}");
        first
    })
}

fn check(case: &Case, guest: &Guest, ceiling: Value, whose: &str) {
    let failed = failure(guest, ceiling);
    let Case { field, value, kind, .. } = case;
    assert_eq!(failed.kind, *kind, "{field} of {whose}: {failed:?}");
    assert!(failed.message.contains(&format!(" {value} ")), "{field} of {whose}: {}", failed.message);
}

#[test]
fn every_limit_of_a_manifest_is_enforced() {
    // Without `..`: a field that is added here needs a case.
    let all = LimitsManifest {
        fuel: Some(1),
        memory_mb: Some(1),
        output_bytes: Some(1),
        log_bytes: Some(1),
        log_lines: Some(1),
        host_calls: Some(1),
        host_call_bytes: Some(1),
        handles: Some(1),
        instances: Some(1),
        table_elements: Some(1),
    };
    let cases = cases();
    assert_eq!(keys(&all), cases.iter().map(|case| case.field.to_owned()).collect());
    for case in &cases {
        let limits = format!("{} = {}", case.field, case.value);
        check(case, &Guest { limits, ..case.guest.clone() }, json!({}), "the manifest");
    }
}

#[test]
fn no_manifest_exceeds_the_ceiling() {
    let cases = cases();
    // The times and the places have tests of their own, below and in `hostile.rs`.
    let beside = ["timeout_ms", "deadline_ms", "concurrent_calls"].map(str::to_owned);
    let named: BTreeSet<String> = cases.iter().map(|case| case.field.to_owned()).chain(beside).collect();
    assert_eq!(keys(&Ceiling::default()), named);
    for case in &cases {
        let limits = format!("{} = 9000000", case.field);
        check(case, &Guest { limits, ..case.guest.clone() }, json!({ case.field: case.value }), "the ceiling");
    }
}

#[test]
fn no_attempt_and_no_call_outlast_the_ceiling() {
    let endless = |manifest: &str| Guest {
        manifest: manifest.into(),
        limits: "fuel = 100000000000".into(),
        ..Guest::that(ENDLESS)
    };
    let retry = "retry_policy = { max_retries = 50, initial_delay_ms = 1, retryable_errors = [\"TIMEOUT\"] }";
    for (manifest, ceiling, kind, figure) in [
        ("timeout_ms = 600000", json!({ "timeout_ms": 61 }), Kind::Timeout, " 61 ms"),
        ("timeout_ms = 600000", json!({ "deadline_ms": 62 }), Kind::Timeout, " 62 ms"),
        ("deadline_ms = 63", json!({}), Kind::Timeout, " 63 ms"),
        ("timeout_ms = 44\ndeadline_ms = 90000", json!({}), Kind::AttemptTimeout, " 44 ms"),
        (&format!("timeout_ms = 400\n{retry}"), json!({ "deadline_ms": 700 }), Kind::Timeout, " 700 ms"),
    ] {
        let failed = failure(&endless(manifest), ceiling);
        assert_eq!((failed.kind, failed.message.contains(figure)), (kind, true), "{manifest}: {failed:?}");
    }
}
