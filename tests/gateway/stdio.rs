//! Does a well-behaved client get what the protocol promises?

use super::peer::{self, Peer, code};
use crate::support::guest::Guest;
use crate::support::user::User;
use serde_json::{Value, json};

#[test]
fn a_session_lists_the_tools_of_its_role_and_calls_them() {
    let user = peer::builder();
    std::fs::write(user.path("workspace/notes.txt"), "one\ntwo\n").unwrap();
    let mut peer = Peer::start(&user, &["run"]);
    let hello = peer.handshake();
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["result"]["serverInfo"]["name"], "hermes-dispatch");

    let listed = peer.ask(json!(1), "tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["file_list", "file_read", "file_search", "file_write", "probe"] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    assert!(names.is_sorted(), "{names:?}");
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(tool("file_read")["inputSchema"]["required"], json!(["path"]));
    assert_eq!(tool("file_read")["outputSchema"]["properties"]["size"]["type"], "integer");
    assert_eq!(tool("file_read")["annotations"]["readOnlyHint"], true);
    assert_eq!(tool("file_write")["annotations"]["readOnlyHint"], false);

    peer.call(2, "file_read", json!({ "path": "notes.txt" }));
    let result = &peer.answer(2)["result"];
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["text"], "one\ntwo\n");
    assert!(result["content"][0]["text"].as_str().unwrap().ends_with("one\ntwo\n"));
    assert!(result["_meta"]["hermes/metadata"]["audit_id"].is_string());

    let (rest, status) = peer.finish();
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn requests_that_bring_their_own_metadata_need_no_handshake() {
    let user = peer::builder();
    let mut peer = Peer::start(&user, &["run"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = peer.ask(json!(1), "server/discover", json!({ "_meta": meta }));
    assert!(
        discovered["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{discovered}"
    );
    let listed = peer.ask(json!(2), "tools/list", json!({ "_meta": meta }));
    assert_eq!(listed["result"]["resultType"], "complete");
    let params = json!({ "name": "probe", "arguments": {}, "_meta": meta });
    assert_eq!(peer.ask(json!(3), "tools/call", params)["result"]["isError"], false);
}

#[test]
fn whatever_a_call_comes_to_is_a_result_and_whatever_is_no_call_is_an_error() {
    let user = peer::builder();
    let mut peer = Peer::open(&user);
    peer.call(1, "no_such_tool", json!({}));
    assert_eq!(code(&peer.answer(1)), 404);
    peer.call(2, "file_read", json!({ "path": 7, "x": 1 }));
    assert_eq!(code(&peer.answer(2)), 400);
    peer.call(3, "file_read", json!({ "path": "/etc/passwd" }));
    assert_eq!(code(&peer.answer(3)), 403);
    peer.call(4, "file_read", json!({ "path": "not-there" }));
    assert_eq!(code(&peer.answer(4)), 502);
    assert_eq!(peer.ask(json!(5), "no/such/method", json!({}))["error"]["code"], -32601);
    assert_eq!(peer.ask(json!(6), "tools/call", json!({ "arguments": {} }))["error"]["code"], -32602);
}

#[test]
fn where_nothing_is_configured_an_agent_reads_and_everything_else_needs_a_person() {
    let user = peer::builder();
    user.configure("[approval]\npark_wait_seconds = 0\n");
    std::fs::write(user.path("workspace/notes.txt"), "one\n").unwrap();
    let mut peer = Peer::open(&user);
    peer.call(1, "file_read", json!({ "path": "notes.txt" }));
    assert_eq!(peer.answer(1)["result"]["isError"], false);
    peer.call(2, "file_write", json!({ "path": "x", "content": "x", "mode": "create" }));
    let refused = peer.answer(2);
    assert_eq!(code(&refused), 202);
    assert_eq!(refused["result"]["structuredContent"]["error"]["kind"], "approval_pending");
    assert!(!user.path("workspace/x").exists());
    let records = peer::records(&user);
    assert!(records.iter().all(|record| record["record"]["caller"]["role"] == "guest"), "{records:?}");
}

#[test]
fn a_role_that_configuration_does_not_name_is_refused_before_anything_is_served() {
    let user = peer::builder();
    let output = user.command(&["run", "--role", "Admin"]).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert!(output.stdout.is_empty());
    let mut reviewer = Peer::start(&user, &["run", "--role", "Reviewer"]);
    reviewer.handshake();
    let listed = reviewer.ask(json!(1), "tools/list", json!({}));
    assert!(!listed.to_string().contains("\"probe\""), "a tool of another role is listed");
}

#[test]
fn calls_run_at_once_and_a_quick_one_overtakes_a_slow_one() {
    let user = peer::builder();
    let mut peer = Peer::open(&user);
    peer.call(1, "probe", json!({ "slow": true }));
    for id in 2..40 {
        peer.call(id, "probe", json!({}));
    }
    for id in (2..40).rev() {
        assert_eq!(peer.answer(id)["result"]["isError"], false);
    }
    peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    let (rest, status) = peer.finish();
    assert!(rest.is_empty(), "the slow one was answered after all: {rest:?}");
    assert_eq!(status.code(), Some(0));
}

/// Programs that inherited the server's input waited for it for ever, or ate the next request.
#[test]
fn no_program_reads_the_servers_input_or_writes_its_output() {
    let user = peer::builder();
    let mut peer = Peer::open(&user);
    let commands =
        ["cat; echo done", "cat <&0; read line; echo \"got:$line\"", "echo '{\"jsonrpc\":\"2.0\",\"id\":9}'"];
    for (id, command) in (1..).zip(commands) {
        peer.call(id, "terminal", json!({ "command": command }));
    }
    peer.call(4, "git", json!({ "subcommand": "hash-object", "args": ["--stdin"] }));
    assert_eq!(peer.ask(json!("ping"), "ping", json!({}))["result"], json!({}));
    let mut said = |id: i64| peer.answer(id)["result"]["structuredContent"]["stdout"].clone();
    assert_eq!(said(1), "done\n");
    assert_eq!(said(2), "got:\n");
    assert_eq!(said(3), "{\"jsonrpc\":\"2.0\",\"id\":9}\n");
    peer.answer(4);
    let (rest, status) = peer.finish();
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_cancelled_call_is_ended_and_recorded_and_not_answered() {
    let user = peer::builder();
    let mut peer = Peer::open(&user);
    let cancel =
        |id: u64| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    let meta = json!({ "progressToken": "p" });
    peer.request(json!(1), "tools/call", json!({ "name": "probe", "arguments": { "slow": true }, "_meta": meta }));
    assert_eq!(peer.next()["method"], "notifications/progress", "it runs");
    peer.send(&cancel(1));
    peer.send(&cancel(1));
    peer.send(&cancel(999));
    peer.assert_alive(2);
    peer.send(&cancel(2));
    // The id is free again.
    peer.call(1, "probe", json!({}));
    assert_eq!(peer.answer(1)["result"]["isError"], false);
    let (rest, _) = peer.finish();
    assert!(rest.is_empty(), "{rest:?}");
    let mut codes: Vec<u64> =
        peer::records(&user).iter().filter_map(|record| record["record"]["code"].as_u64()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [200, 499]);
}

#[test]
fn a_cancelled_call_that_cleans_up_has_its_time_and_is_not_answered_either() {
    let guest = Guest {
        manifest: "timeout_ms = 60000\ngrace_ms = 10000".into(),
        limits: "fuel = 1000000000000, host_calls = 1000000000".into(),
        fields: "(data (i32.const 1024) \"put away\")".into(),
        ..Guest::that(
            "(call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
             (loop $on (br_if $on (i32.eqz (call $cancelled))))
             (call $log (i32.const 1) (i32.const 1024) (i32.const 8))
             (call $ok (local.get $args) (local.get $args_len))",
        )
    };
    let user = User::with_guest(&guest);
    let plugins = user.path("plugins");
    user.configure(&format!(
        "plugin_folders = [{plugins:?}]\n[roles.Builder]\ndefault = true\n\
         [ceiling]\nfuel = 1000000000000\nhost_calls = 1000000000\n"
    ));
    let mut peer = Peer::open(&user);
    let meta = json!({ "progressToken": "p" });
    peer.request(json!(1), "tools/call", json!({ "name": "probe", "arguments": {}, "_meta": meta }));
    assert_eq!(peer.next()["method"], "notifications/progress", "it runs");
    peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    peer.assert_alive(2);
    let (rest, _) = peer.finish();
    assert!(rest.is_empty(), "{rest:?}");
    let records = peer::records(&user);
    assert_eq!((records.len(), &records[0]["record"]["code"]), (1, &json!(499)));
    let log = records[0]["record"]["log"].to_string();
    assert!(log.contains("put away"), "{}", records[0]);
}

#[test]
fn progress_comes_before_the_answer_and_only_to_who_asked() {
    let user = peer::builder();
    let mut peer = Peer::open(&user);
    peer.request(json!(1), "tools/call", json!({ "name": "probe", "arguments": {}, "_meta": { "progressToken": 7 } }));
    for done in [1.0, 2.0] {
        let told = peer.next();
        assert_eq!(told["method"], "notifications/progress", "{told}");
        assert_eq!(told["params"]["progressToken"], 7);
        assert_eq!(told["params"]["progress"].as_f64(), Some(done));
    }
    assert_eq!(peer.next()["id"], 1);
    peer.call(2, "probe", json!({}));
    assert_eq!(peer.next()["id"], 2);
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() {
    let user = peer::builder();
    let mut peer = Peer::open(&user);
    for id in 1..20 {
        peer.call(id, "probe", json!({}));
    }
    let (rest, status) = peer.finish();
    assert_eq!(rest.len(), 19);
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_process_that_is_told_to_end_answers_what_runs_and_ends_well() {
    let user = peer::builder();
    let mut peer = Peer::open(&user);
    peer.call(1, "probe", json!({ "slow": true }));
    peer.call(2, "probe", json!({}));
    assert_eq!(peer.answer(2)["result"]["isError"], false);
    peer.terminate();
    assert_eq!(peer.wait().code(), Some(0));
    let codes: Vec<Value> = peer::records(&user).iter().map(|record| record["record"]["code"].clone()).collect();
    assert!(codes.contains(&json!(499)), "what still ran was cancelled: {codes:?}");
}
