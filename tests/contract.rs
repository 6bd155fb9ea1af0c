//! Do component and runtime speak one language? What `wit/` says about versions, imports, exports and the values that
//! a component is handed.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use hermes_runtime::Runtime;
use hermes_runtime::envelope::Envelope;
use hermes_runtime::error::Kind;
use serde_json::json;

/// Starts a runtime with a component that may be refused, and calls it.
fn outcome(guest: &Guest, component: &str) -> (Vec<String>, Envelope) {
    let house = House::empty();
    guest.put_as(&house, component);
    let runtime = Runtime::start(house.config(), &[], None).unwrap();
    let faults = runtime.toolbox().faults.iter().map(|fault| fault.to_string()).collect();
    let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
    (faults, answer)
}

/// The component is refused, and both the fault and the answer say all of the words.
fn refused(guest: &Guest, component: &str, words: &[&str]) {
    let (faults, answer) = outcome(guest, component);
    let error = answer.error.unwrap_or_else(|| panic!("it ran: {}", answer.data));
    assert_eq!((error.kind, faults.len()), (Kind::NoAdapter, 1), "{faults:?}");
    for word in words {
        assert!(faults[0].contains(word), "`{word}` is not in the fault `{}`", faults[0]);
        assert!(error.message.contains(word), "`{word}` is not in the answer `{}`", error.message);
    }
}

#[test]
fn another_patch_version_is_the_same_contract() {
    let guest = Guest::default();
    let (faults, answer) = outcome(&guest, &guest.text().replace("@0.1.0", "@0.1.7"));
    assert_eq!((faults, answer.data), (vec![], json!({})));
}

#[test]
fn another_minor_version_is_refused_with_both_versions() {
    let guest = Guest::default();
    refused(&guest, &guest.text().replace("@0.1.0", "@0.2.0"), &["@0.2.0", "0.1.0"]);
    let exported = guest.text().replace("tool-execution@0.1.0", "tool-execution@0.2.0");
    refused(&guest, &exported, &["tool-execution@0.1.0", "tool-execution@0.2.0"]);
}

#[test]
fn an_import_that_nobody_offers_is_refused_by_its_name() {
    let guest = Guest::default();
    for import in ["hermes:tool/teleport@0.1.0", "acme:thing/door@1.0.0", "wasi:nothing/at-all@0.2.0"] {
        let with = format!("(component\n  (import \"{import}\" (instance (export \"open\" (func))))");
        refused(&guest, &guest.text().replacen("(component", &with, 1), &[import]);
    }
}

#[test]
fn a_capability_is_had_only_by_asking() {
    let asking = Guest { files: true, ..Guest::default() };
    refused(&Guest::default(), &asking.text(), &["hermes:tool/files@0.1.0", "capabilities"]);
    let (faults, answer) = outcome(&asking, &asking.text());
    assert_eq!((faults, answer.data), (vec![], json!({})));
}

#[test]
fn a_component_without_the_export_is_refused() {
    refused(&Guest::default(), "(component)", &["tool-execution@0.1.0", "exports nothing"]);
    let other = "(component (core module $m (func (export \"f\"))) (core instance $i (instantiate $m))
        (func $f (canon lift (core func $i \"f\"))) (export \"run\" (func $f)))";
    refused(&Guest::default(), other, &["tool-execution@0.1.0", "exports run"]);
}

#[test]
fn an_export_of_other_types_is_refused() {
    let guest = Guest::default();
    let wrong = guest.text().replace("(case \"json\" string)", "(case \"jason\" string)");
    let (faults, answer) = outcome(&guest, &wrong);
    assert_eq!((faults.len(), answer.error.map(|error| error.kind)), (1, Some(Kind::NoAdapter)));
}

#[test]
fn what_is_no_component_is_refused_as_what_it_is() {
    for (text, word) in [
        ("(module)", "core module"),
        ("hello", "some other file"),
        ("(component", "not a valid component"),
        ("", "some other file"),
    ] {
        refused(&Guest::default(), text, &[word]);
    }
}

#[test]
fn a_memory_that_no_runtime_has_is_refused_when_it_is_installed() {
    let guest = Guest { memory: "65536".into(), ..Guest::default() };
    refused(&guest, &guest.text(), &["memory"]);
    let guest = Guest { fields: "(table 4000000000 funcref)".into(), ..Guest::default() };
    refused(&guest, &guest.text(), &["table"]);
}

#[test]
fn a_component_is_told_which_call_it_is() {
    let house = House::empty();
    Guest {
        manifest: "aliases = [\"test\"]".into(),
        ..Guest::that("(call $text (local.get $tool) (local.get $tool_len))")
    }
    .put(&house);
    Guest { name: "id".into(), ..Guest::that("(call $text (local.get $id) (local.get $id_len))") }.put(&house);
    let first = "(i32.store8 (i32.const 1024) (i32.add (local.get $attempt) (i32.const 48))) (call $text (i32.const 1024) (i32.const 1))";
    Guest { name: "attempt".into(), ..Guest::that(first) }.put(&house);
    let deadline = "(if (i64.eq (local.get $deadline) (i64.const 1234)) (then (return (call $ok (local.get $args) (local.get $args_len))))) unreachable";
    Guest { name: "deadline".into(), manifest: "timeout_ms = 1234".into(), ..Guest::that(deadline) }.put(&house);
    let runtime = house.start(house.config());
    block_on(async {
        let ask = async |tool: &str| runtime.call(call(tool, json!({}))).await.envelope;
        assert_eq!(ask("test").await.data, json!("probe"));
        let answer = ask("id").await;
        assert_eq!(answer.data, json!(answer.metadata.call_id));
        assert_eq!(ask("attempt").await.data, json!("1"));
        assert_eq!(ask("deadline").await.data, json!({}));
    });
}

#[test]
fn each_kind_of_failure_has_its_own_code() {
    let kinds =
        ["invalid_input", "denied", "conflict", "too_large", "tool_failed", "upstream", "unavailable", "timeout"];
    for (index, name) in kinds.into_iter().enumerate() {
        let house = House::empty();
        Guest::that(format!("(call $fail (i32.const {index}) (i32.const 1024) (i32.const 0))")).put(&house);
        let runtime = house.start(house.config());
        let error = block_on(runtime.call(call("probe", json!({})))).envelope.error.unwrap();
        let kind = Kind::by_name(name).unwrap();
        assert_eq!((error.kind, error.code, error.retryable), (kind, kind.code(), kind.retryable()));
    }
}

#[test]
fn an_answer_reads_back_as_what_it_was() {
    let house = House::with_files();
    house.write("a.txt", "a");
    let runtime = house.start(house.config());
    for args in [json!({ "path": "a.txt", "tail": "1" }), json!({ "path": "missing" }), json!({ "pth": 1 })] {
        let answer = block_on(runtime.call(call("file_read", args))).envelope;
        let text = serde_json::to_string(&answer).unwrap();
        let again: Envelope = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
    }
}
