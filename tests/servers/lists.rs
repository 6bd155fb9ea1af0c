//! What if servers offer tools that cannot be, look alike, change, or have no end? Each tool is taken for itself, under one
//! name that nothing else has, and as it was when it was first seen.

use super::{Peers, call, config, none};
use crate::support::block_on;
use crate::support::house::House;
use hermes_runtime::Runtime;
use serde_json::json;
use std::collections::BTreeSet;

/// The names of a server's tools.
fn names(runtime: &Runtime, server: &str) -> BTreeSet<String> {
    let toolbox = runtime.toolbox();
    let of = format!("{server}_");
    toolbox.registry.tools().map(|tool| tool.name.to_string()).filter(|name| name.starts_with(&of)).collect()
}

#[test]
fn one_bad_tool_hides_no_other_and_is_named() {
    let peers = Peers::start_with_faults(&[("peer", "bad", "")], |_| {});
    let faults: Vec<String> = peers.runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    for named in ["text_schema", "missing", "remote", "cycle", "list"] {
        assert!(faults.iter().any(|fault| fault.contains(named)), "no {named} in {faults:#?}");
    }
    let names = names(&peers.runtime, "peer");
    for kept in ["peer_seen", "peer_tree", "peer_no_schema"] {
        assert!(names.contains(kept), "no {kept} in {names:?}");
    }
    for left_out in ["peer_text_schema", "peer_missing", "peer_remote", "peer_cycle", "peer_list"] {
        assert!(!names.contains(left_out), "{left_out} in {names:?}");
    }
    let deceiving = peers.runtime.toolbox();
    let deceiving = deceiving.registry.tools().find(|tool| &*tool.name == "peer_deceiving").unwrap();
    assert!(!deceiving.description.contains('\u{202e}'), "{}", deceiving.description);
}

#[test]
fn a_schema_that_refers_to_itself_is_checked_to_the_last_level() {
    let peers = Peers::start(&[("peer", "", "")]);
    let tree = |value| json!({ "top": { "value": 1, "children": [{ "value": 2, "children": [{ "value": value }] }] } });
    block_on(async {
        peers.ok("peer_tree", tree(json!(3))).await;
        let wrong = peers.call("peer_tree", tree(json!("three"))).await;
        let error = wrong.error.unwrap();
        assert_eq!(
            (error.code, error.problems[0].path.as_str()),
            (400, "/top/children/0/children/0/value"),
            "{error:#?}"
        );
    });
}

#[test]
fn every_tool_has_one_name_whatever_the_order_and_its_calls_reach_it() {
    let servers = [("one", "confusing", ""), ("two", "confusing", "")];
    let peers = Peers::start_with_faults(&servers, |_| {});
    let turned = Peers::start_with_faults(&[servers[1], servers[0]], |_| {});
    for server in ["one", "two"] {
        let found = names(&peers.runtime, server);
        assert_eq!(found, names(&turned.runtime, server));
        assert_eq!(found.len(), 6, "all but the one without a name: {found:?}");
        assert!(found.iter().all(|name| name.len() <= 64), "{found:?}");
        block_on(async {
            for name in &found {
                // This server answers each of them with the name that it was called by.
                let answer = peers.call(name, none()).await;
                assert!(answer.error.unwrap().message.contains("unknown tool"));
            }
        });
        let called: BTreeSet<String> = peers.notes(server, "calls").into_iter().collect();
        let alpha = format!("{}_alpha", "x".repeat(60));
        let beta = format!("{}_beta", "x".repeat(60));
        let wanted: BTreeSet<String> =
            ["a.b", "a_b", "a/b", "read", &alpha, &beta].into_iter().map(str::to_owned).collect();
        assert_eq!(called, wanted);
    }
}

#[test]
fn a_tool_that_is_another_one_later_is_not_called() {
    let house = House::with_files();
    let settings = || config(&house, &[("peer", "changing", "")]);
    let runtime = Runtime::start(settings(), &[], None).unwrap();
    block_on(async {
        let first = runtime.call(call("peer_echo", json!({ "text": "x" }))).await.envelope;
        assert_eq!(first.code(), 200, "{:#?}", first.error);
    });
    drop(runtime);
    let runtime = Runtime::start(settings(), &[], None).unwrap();
    let calls = super::notes(&house.path("outside/peer/calls")).len();
    block_on(async {
        let later = runtime.call(call("peer_echo", json!({ "text": "x" }))).await.envelope.error.unwrap();
        assert_eq!((later.code, later.reason.as_deref()), (409, Some("changed")), "{later:#?}");
        let other = runtime.call(call("peer_seen", none())).await.envelope;
        assert_eq!(other.code(), 200, "a tool that is as it was: {:#?}", other.error);
    });
    assert_eq!(super::notes(&house.path("outside/peer/calls")).len(), calls + 1);
}

#[test]
fn a_tool_that_a_person_has_looked_at_again_is_called_again() {
    let house = House::with_files();
    let settings = || config(&house, &[("peer", "changing", "")]);
    drop(Runtime::start(settings(), &[], None).unwrap());
    let runtime = Runtime::start(settings(), &[], None).unwrap();
    let echo = || call("peer_echo", json!({ "text": "x" }));
    block_on(async {
        assert_eq!(runtime.call(echo()).await.envelope.code(), 409);
        let mut changed = runtime.changed_servers().await;
        assert_eq!(changed.len(), 1);
        let change = changed.remove(0).unwrap();
        assert_eq!(change.server, "peer");
        assert!(change.changes.iter().any(|line| line.contains("`echo`")), "{:?}", change.changes);
        assert!(change.tools.to_string().contains("echo"));
        runtime.accept_server(change);
        assert!(runtime.changed_servers().await.is_empty());
        let later = runtime.call(echo()).await.envelope;
        assert_eq!(later.code(), 200, "{:#?}", later.error);
    });
}

#[test]
fn a_list_without_end_is_cut_and_a_list_of_pages_is_read_whole() {
    let peers = Peers::start_with_faults(&[("endless", "endless", ""), ("pages", "pages", "")], |_| {});
    let endless = names(&peers.runtime, "endless").len();
    assert!((100..=10_000).contains(&endless), "{endless} tools");
    assert!(names(&peers.runtime, "pages").len() > 20);
}
