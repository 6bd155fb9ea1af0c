//! What can a call do that makes others? No more than its caller, no longer than itself, and every call of it is in the
//! records.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, component};
use crate::support::records;
use hermes_runtime::call::Caller;
use hermes_runtime::config::Config;
use hermes_runtime::permission::approval::desk;
use hermes_runtime::permission::approval::store::{Scope, Verdict};
use hermes_runtime::record::RecordKind;
use hermes_runtime::{Call, Envelope, Runtime, open_journal};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A house with the guest that calls others, `again` for itself under a second name, and tools to call.
fn house() -> House {
    let house = House::empty();
    let guest = Guest { name: "nesting".into(), ..Guest::default() };
    guest.put(&house);
    let folder = house.path("plugins/nesting");
    let manifest = std::fs::read_to_string(folder.join("adapter.toml")).unwrap();
    let manifest = manifest
        .replace("component.wat", "component.wasm")
        .replace("capabilities = []", "capabilities = [\"invoke\"]")
        .replace("hermes:tool/tool@", "hermes:tool/invoking-tool@");
    std::fs::write(folder.join("adapter.toml"), manifest).unwrap();
    std::fs::copy(component("nesting"), folder.join("component.wasm")).unwrap();
    Guest { name: "echo".into(), ..Guest::default() }.put(&house);
    Guest { name: "secret".into(), ..Guest::default() }.put(&house);
    house
}

fn config(house: &House, granted: &[&str]) -> Config {
    let mut config = house.config();
    config.invoke.insert("nesting".into(), granted.iter().map(|name| (*name).to_owned()).collect());
    config
}

fn by(role: &str, args: Value) -> Call {
    Call::new("nesting", args).caller(Arc::new(Caller { id: "a".into(), role: role.into() }))
}

fn run(runtime: &Runtime, args: Value) -> Envelope {
    block_on(runtime.call(by("Builder", args))).envelope
}

fn echo(n: u64) -> Value {
    json!({ "calls": [{ "tool": "echo", "args": { "n": n } }] })
}

/// So many calls within each other, the innermost an echo.
fn nested(depth: usize) -> Value {
    (0..depth).fold(echo(1), |inner, _| json!({ "calls": [{ "tool": "nesting", "args": inner }] }))
}

fn innermost(mut data: &Value) -> &Value {
    while let Some(inner) = data["answers"][0].get("envelope").and_then(|envelope| envelope.get("data")) {
        if inner.get("answers").is_none() {
            break;
        }
        data = inner;
    }
    &data["answers"][0]
}

#[test]
fn a_call_within_another_goes_the_whole_way_and_its_record_names_the_one_around() {
    let house = house();
    let runtime = house.start(config(&house, &["echo"]));
    let answer = run(&runtime, echo(7));
    assert_eq!(answer.data["granted"], json!(["echo"]), "{answer:#?}");
    let inner = &answer.data["answers"][0];
    assert_eq!((inner["code"].as_u64(), &inner["envelope"]["data"]), (Some(200), &json!({ "n": 7 })), "{inner:#}");
    assert!(block_on(runtime.flush()));
    let id = inner["envelope"]["metadata"]["call_id"].as_str().unwrap();
    let (_, record) = records::of_call(&runtime.config().state_dir, id);
    assert_eq!(record.parent.as_deref(), Some(&*answer.metadata.call_id));
    assert_eq!((&*record.caller.id, &*record.caller.role), ("a", "Builder"));
    assert_eq!(records::steps(&record).len(), 6, "{:?}", records::steps(&record));
    records::verified(&runtime.config().state_dir);
}

#[test]
fn only_what_is_granted_by_name_can_be_called() {
    let house = house();
    let secret = json!({ "calls": [{ "tool": "secret", "args": {} }] });
    for granted in [&[][..], &["echo"]] {
        let runtime = house.start(config(&house, granted));
        let refused = run(&runtime, secret.clone());
        // With nothing granted there is nobody to ask.
        assert_eq!(refused.data["answers"][0]["refused"], "not_granted", "{refused:#?}");
        assert!(refused.data["answers"][0]["message"].as_str().unwrap().contains("`secret`"));
    }
    let runtime = house.start(house.config());
    assert_eq!(run(&runtime, echo(1)).data["answers"][0]["refused"], "not_granted");
}

/// The capability's name in the configuration of an adapter that did not ask for it grants nothing.
#[test]
fn a_grant_is_nothing_to_an_adapter_that_did_not_ask() {
    let house = house();
    let folder = house.path("plugins/nesting");
    let manifest = std::fs::read_to_string(folder.join("adapter.toml")).unwrap();
    std::fs::write(folder.join("adapter.toml"), manifest.replace("[\"invoke\"]", "[]")).unwrap();
    let runtime = Runtime::start(config(&house, &["echo"]), &[], None).unwrap();
    let faults = &runtime.toolbox().faults;
    assert!(faults.iter().any(|fault| fault.to_string().contains("invoke")), "{faults:#?}");
}

#[test]
fn the_callers_role_is_that_of_all_calls_within() {
    let house = house();
    let manifest = house.path("plugins/echo/tools/tool.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"Builder\"", "\"Admin\"")).unwrap();
    let runtime = house.start(config(&house, &["echo"]));
    let refused = run(&runtime, echo(1));
    let inner = &refused.data["answers"][0];
    assert_eq!((inner["code"].as_u64(), &inner["envelope"]["error"]["kind"]), (Some(403), &json!("denied")));
}

#[test]
fn calls_are_within_each_other_up_to_a_depth_and_a_number() {
    let house = house();
    let runtime = house.start(config(&house, &["echo", "nesting"]));
    let answer = run(&runtime, nested(3));
    assert_eq!(innermost(&answer.data)["code"], 200, "{answer:#?}");
    let answer = run(&runtime, nested(4));
    assert_eq!(innermost(&answer.data)["refused"], "too_deep", "{answer:#?}");
    let mut many = echo(1);
    many["times"] = json!(70);
    let answer = run(&runtime, many);
    assert_eq!(answer.data["answers"].as_array().unwrap().last().unwrap()["refused"], "too_many", "{answer:#?}");
    assert!(block_on(runtime.flush()));
    let reader = hermes_runtime::injection::audit::Reader::open(&runtime.config().state_dir).unwrap();
    let around = Some(&*answer.metadata.call_id);
    let within = |entry: &&hermes_runtime::injection::audit::Entry| entry.record.parent.as_deref() == around;
    assert_eq!(reader.list(1000).unwrap().iter().filter(within).count(), 64);
}

/// The time and the fuel of the call around bind all that is within.
#[test]
fn what_is_within_ends_with_what_is_around() {
    let house = house();
    let endless = Guest {
        name: "echo".into(),
        manifest: "timeout_ms = 60000".into(),
        limits: "fuel = 100000000000".into(),
        ..Guest::that("(loop $on (br $on)) unreachable")
    };
    endless.put(&house);
    let manifest = house.path("plugins/nesting/tools/tool.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("limits = {  }", "timeout_ms = 600\nlimits = { fuel = 100000000000 }"))
        .unwrap();
    let runtime = house.start(config(&house, &["echo"]));
    let answer = run(&runtime, echo(1));
    let inner = &answer.data["answers"][0];
    let late = inner["refused"] == "timed_out" || inner["envelope"]["error"]["code"] == 408;
    assert!(late || answer.error.is_some(), "{answer:#?}");
    assert!(block_on(runtime.flush()));
    records::verified(&runtime.config().state_dir);

    std::fs::write(&manifest, text.replace("limits = {  }", "limits = { fuel = 2000000 }")).unwrap();
    let runtime = house.start(config(&house, &["echo"]));
    let answer = run(&runtime, echo(1));
    assert_eq!(answer.data["answers"][0]["envelope"]["error"]["kind"], "out_of_fuel", "{answer:#?}");
}

/// Cancelling the call around cancels the one within, and both say so.
#[test]
fn dropping_the_call_around_ends_both_with_a_record_each() {
    let house = house();
    let endless = Guest {
        name: "echo".into(),
        manifest: "timeout_ms = 60000".into(),
        limits: "fuel = 100000000000".into(),
        ..Guest::that("(loop $on (br $on)) unreachable")
    };
    endless.put(&house);
    let runtime = house.start(config(&house, &["echo"]));
    block_on(async {
        let call = runtime.call(by("Builder", echo(1)));
        assert!(tokio::time::timeout(Duration::from_millis(500), call).await.is_err());
        assert!(runtime.flush().await);
    });
    let reader = hermes_runtime::injection::audit::Reader::open(&runtime.config().state_dir).unwrap();
    let outcomes: Vec<_> = reader.list(10).unwrap();
    let ended: Vec<u16> = outcomes
        .iter()
        .filter(|entry| entry.record.kind == RecordKind::Outcome)
        .filter_map(|entry| entry.record.code)
        .collect();
    assert_eq!(ended, [499, 499]);
}

/// Nobody waits for a person within a call: it is told at once, and what a person allowed runs when it is made again.
#[test]
fn a_person_is_asked_about_the_inner_call_and_nobody_waits() {
    let house = house();
    let ask = "@ask permit (principal, action == Action::\"echo\", resource);\n";
    std::fs::write(house.path("factors.cedar"), ask).unwrap();
    let mut config = config(&house, &["echo"]);
    config.policies.factors = vec![house.path("factors.cedar")];
    config.approval.park_wait_seconds = 600;
    let runtime = house.start(config);
    let asked = run(&runtime, echo(1));
    let inner = &asked.data["answers"][0];
    assert_eq!(inner["code"], 202, "{asked:#?}");
    let id = inner["envelope"]["error"]["approval_id"].as_str().unwrap().to_owned();
    let journal = open_journal(&house.path("state")).unwrap();
    block_on(async {
        let parked = desk::find(&journal, &id).await.unwrap();
        desk::decide(&journal, &parked, Verdict::Approve(Scope::Once), "tester", 600).await.unwrap();
    });
    assert_eq!(run(&runtime, echo(1)).data["answers"][0]["code"], 200);
    assert_eq!(run(&runtime, echo(1)).data["answers"][0]["code"], 202, "once is once");
}
