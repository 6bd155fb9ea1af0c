//! When is a call tried again, and what does the journal say of it? Guests that fail in their first attempts.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, records};
use hermes_runtime::envelope::Envelope;
use hermes_runtime::error::Kind;
use hermes_runtime::injection::audit::Reader;
use serde_json::{Value, json};

/// Fails as `failing` says in every attempt before the one of this number.
fn failing_before(number: u32, failing: &str) -> Guest {
    let body = format!(
        "(if (i32.lt_u (local.get $attempt) (i32.const {number})) (then {failing}))
         (call $ok (local.get $args) (local.get $args_len))"
    );
    Guest {
        manifest: policy("\"CONNECTION_LOST\", \"timeout\", \"trap\""),
        fields: r#"(data (i32.const 1024) "connection_lost")"#.into(),
        limits: "fuel = 100000000000".into(),
        ..Guest::that(body)
    }
}

fn policy(after: &str) -> String {
    format!(
        "retry_policy = {{ max_retries = 2, backoff_strategy = \"linear\", initial_delay_ms = 1, retryable_errors = [{after}] }}"
    )
}

/// Says that a service was lost, and whether the request had been sent.
fn lost(sent: bool) -> String {
    format!(
        "(i32.store (i32.const 72) (i32.const 1)) (i32.store (i32.const 76) (i32.const 1024)) (i32.store (i32.const 80) (i32.const 15))
         (i32.store8 (i32.const 104) (i32.const {})) (return (call $fail (i32.const 5) (i32.const 1024) (i32.const 15)))",
        u8::from(sent)
    )
}

struct Seen {
    answer: Envelope,
    /// The kinds of the call's records, as the store has them.
    records: Vec<String>,
}

fn run(guest: Guest) -> Seen {
    let house = House::empty();
    guest.put(&house);
    let runtime = house.start(house.config());
    block_on(async {
        let answer = runtime.call(call("probe", json!({}))).await.envelope;
        assert!(runtime.flush().await);
        let state_dir = &runtime.config().state_dir;
        records::of_call(state_dir, &answer.metadata.call_id);
        records::verified(state_dir);
        let entries = Reader::open(state_dir).unwrap().show(&answer.metadata.call_id).unwrap();
        let written: Vec<Value> = entries.iter().map(|entry| serde_json::to_value(&entry.record).unwrap()).collect();
        let name = |record: &Value| {
            let number = record.get("attempt").map(|number| format!(" {number}")).unwrap_or_default();
            let why = record["error"]["kind"].as_str().map(|kind| format!(" after {kind}")).unwrap_or_default();
            format!("{}{number}{}", record["kind"].as_str().unwrap(), if number.is_empty() { "" } else { &why })
        };
        Seen { answer, records: written.iter().map(name).collect() }
    })
}

#[test]
fn a_read_that_lost_its_connection_is_tried_again() {
    let Seen { answer, records } = run(failing_before(3, &lost(true)));
    assert_eq!((&answer.data, answer.metadata.attempts), (&json!({}), 3), "{answer:#?}");
    assert_eq!(records, ["attempt 2 after upstream", "attempt 3 after upstream", "outcome"]);
}

#[test]
fn there_are_no_more_attempts_than_the_manifest_says() {
    let Seen { answer, records } = run(failing_before(4, &lost(false)));
    let error = answer.error.unwrap();
    assert_eq!((error.kind, error.reason.as_deref()), (Kind::Upstream, Some("connection_lost")));
    assert_eq!((answer.metadata.attempts, records.len()), (3, 3));
}

#[test]
fn what_the_manifest_does_not_name_is_not_tried_again() {
    let guest = Guest { manifest: policy("\"unavailable\""), ..failing_before(2, &lost(false)) };
    let Seen { answer, records } = run(guest);
    assert_eq!((answer.error.unwrap().kind, answer.metadata.attempts), (Kind::Upstream, 1));
    assert_eq!(records, ["outcome"]);
}

#[test]
fn a_write_is_only_repeated_when_nothing_was_sent_or_it_does_no_harm() {
    let write = |effect: &str, sent| {
        let guest = failing_before(2, &lost(sent));
        run(Guest { effect: effect.into(), files: true, ..guest })
    };
    let unknown = write("write", true);
    assert_eq!((unknown.answer.error.unwrap().kind, unknown.answer.metadata.attempts), (Kind::Upstream, 1));
    assert_eq!(unknown.records, ["intent", "outcome"]);
    let unsent = write("write", false);
    assert_eq!((unsent.answer.data, unsent.answer.metadata.attempts), (json!({}), 2));
    assert_eq!(unsent.records, ["intent", "attempt 2 after upstream", "outcome"]);
    let idempotent = write("write\"\nidempotent = true\n#\"", true);
    assert_eq!((idempotent.answer.data, idempotent.answer.metadata.attempts), (json!({}), 2));
}

/// Nobody knows what a component did that broke off, unless it had no way to do anything.
#[test]
fn a_write_that_broke_off_is_not_repeated_if_it_could_reach_anything() {
    for (files, attempts) in [(true, 1), (false, 2)] {
        let guest = Guest { effect: "write".into(), files, ..failing_before(2, "unreachable") };
        let Seen { answer, .. } = run(guest);
        assert_eq!(answer.metadata.attempts, attempts, "{answer:#?}");
    }
}

#[test]
fn an_attempt_that_takes_too_long_is_tried_again_within_the_time_of_the_call() {
    let mut guest = failing_before(2, "(loop $on (br $on))");
    guest.manifest = format!("timeout_ms = 100\n{}", guest.manifest);
    let Seen { answer, records } = run(guest);
    assert_eq!((&answer.data, answer.metadata.attempts), (&json!({}), 2), "{answer:#?}");
    assert_eq!(records, ["attempt 2 after attempt_timeout", "outcome"]);
    let usage = answer.metadata.usage.unwrap();
    assert!(usage.wall_us >= 100_000 && usage.cpu_us > 0, "what both attempts used up: {usage:?}");
}

#[test]
fn each_attempt_begins_with_everything_anew() {
    let remember =
        "(memory.fill (i32.const 2048) (i32.const 7) (i32.const 8)) (drop (memory.grow (i32.const 2))) unreachable";
    let look = "(if (i32.ne (i32.load (i32.const 2048)) (i32.const 0)) (then (return (call $text (i32.const 2048) (i32.const 4)))))";
    let mut guest = failing_before(2, remember);
    guest.body = format!("{look} {}", guest.body);
    assert_eq!(run(guest).answer.data, json!({}));
}

/// The first backend has sent nothing, so the second one of the same adapter is asked; where something was sent, and it
/// does no harm to repeat it, the same one is asked again.
#[test]
fn where_nothing_was_sent_the_next_backend_is_asked() {
    for (sent, answers) in [(false, "second"), (true, "first")] {
        let house = House::empty();
        let failing = format!(
            "(if (i32.lt_u (local.get $attempt) (i32.const 2)) (then {})) (call $text (local.get $tool) (local.get $tool_len))",
            lost(sent)
        );
        let guest = Guest { body: failing, files: true, ..failing_before(2, "") };
        guest.put(&house);
        let file = house.path("plugins/probe/tools/tool.toml");
        let manifest = std::fs::read_to_string(&file).unwrap();
        let (before, _) = manifest.split_once("[tool.backend]").unwrap();
        let backend =
            |name: &str| format!("[[tool.backend]]\ntype = \"custom\"\nadapter = \"probe\"\ntool = \"{name}\"\n");
        std::fs::write(&file, format!("{before}{}{}", backend("first"), backend("second"))).unwrap();
        let runtime = house.start(house.config());
        let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
        assert_eq!((&answer.data, answer.metadata.attempts), (&json!(answers), 2), "{answer:#?}");
        assert_eq!(answer.metadata.usage.unwrap().attempts, 2);
    }
}
