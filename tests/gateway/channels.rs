//! Which answers of people who are not at a terminal count? Those of a webhook that are signed for just the question, and
//! those of a client that the configuration names, in both eras.

use super::peer::{self, Peer};
use crate::support::guest::Guest;
use crate::support::house::project;
use crate::support::user::User;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

/// Somebody whom questions are sent to. Dropping it ends it.
struct Webhook {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl Webhook {
    fn start(user: &User, word: &str) -> Webhook {
        use std::os::unix::fs::PermissionsExt;
        let key = user.write("outside/key", "0123456789abcdef0123456789abcdef\n");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut command = std::process::Command::new("/usr/bin/python3");
        command.arg(project().join("tests/peers/webhook.py")).arg(&key).arg(word);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        Webhook { child, lines, port }
    }

    fn question(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    /// Lets the user's configuration name it.
    fn configure(&self, user: &User, approval: &str) {
        let key = user.path("outside/key");
        let port = self.port;
        user.configure(&format!(
            "[approval]\n{approval}\n[approval.webhook]\nurl = \"http://127.0.0.1:{port}/q\"\nkey_file = {key:?}\ndeadline_seconds = 4\n"
        ));
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write() -> Value {
    json!({ "path": "n.txt", "mode": "create", "content": "hello" })
}

fn kind(answer: &Value) -> &str {
    answer["result"]["structuredContent"]["error"]["kind"].as_str().unwrap_or("none")
}

#[test]
fn a_signed_answer_of_the_webhook_decides() {
    let user = User::new();
    let mut webhook = Webhook::start(&user, "approve");
    webhook.configure(&user, "park_wait_seconds = 60");
    let mut peer = Peer::open(&user);
    peer.call(1, "file_write", write());
    let said = webhook.question();
    assert_eq!(said["signed"], true, "{said}");
    let question = &said["question"];
    assert_eq!((&question["tool"], &question["role"]), (&json!("file_write"), &json!("guest")));
    assert!(question["arguments"].as_str().unwrap().contains("\"content\":\"hello\""), "{question}");
    assert!(question["effect"].to_string().contains("/workspace/n.txt"), "{question}");
    let answer = peer.answer(1);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(user.workspace(), ["n.txt"]);
    drop(peer);
    assert_eq!(peer::records(&user).last().unwrap()["record"]["approver"], "webhook 127.0.0.1");
}

#[test]
fn a_signed_no_of_the_webhook_tells_its_reason() {
    let user = User::new();
    let webhook = Webhook::start(&user, "deny");
    webhook.configure(&user, "park_wait_seconds = 60");
    let mut peer = Peer::open(&user);
    peer.call(1, "file_write", write());
    let answer = peer.answer(1);
    assert_eq!(kind(&answer), "approval_denied", "{answer}");
    assert!(answer.to_string().contains("not on a Friday"), "{answer}");
    assert!(user.workspace().is_empty());
}

#[test]
fn without_its_signature_a_webhook_grants_nothing() {
    for word in ["unsigned", "wrong_key", "other_question", "old", "reflected", "redirect", "silent"] {
        let user = User::new();
        let mut webhook = Webhook::start(&user, word);
        webhook.configure(&user, "park_wait_seconds = 6");
        let mut peer = Peer::open(&user);
        peer.call(1, "file_write", write());
        assert_eq!(webhook.question()["signed"], true, "{word}");
        let answer = peer.answer(1);
        assert_eq!(kind(&answer), "approval_pending", "{word}: {answer}");
        assert!(user.workspace().is_empty(), "{word}");
        let listed = user.run(&["approvals", "list"]).exits(0).json();
        assert_eq!(listed[0]["state"], "pending", "{word}");
    }
}

#[test]
fn a_webhook_is_the_users_own_and_needs_a_key() {
    let user = User::new();
    let webhook = Webhook::start(&user, "approve");
    webhook.configure(&user, "");
    user.write("outside/key", "short");
    user.run(&["run"]).exits(2).says(&["shorter than 32 bytes"]);
    std::fs::remove_file(user.path("outside/key")).unwrap();
    user.run(&["run"]).exits(2).says(&["outside/key"]);
    user.configure("[approval.webhook]\nurl = \"http://example.com/\"\nkey_file = \"k\"\n");
    user.run(&["run"]).exits(2).says(&["no address that questions may go to"]);
    user.configure("");
    user.write("workspace/hermes.toml", "[approval]\nclients = [\"test\"]\n");
    user.run(&["run"]).exits(2).says(&["approval"]);
}

/// A session whose client says that its person can be asked.
fn open(user: &User, name: &str) -> Peer {
    let mut peer = Peer::start(user, &["run"]);
    let client = json!({ "name": name, "version": "1" });
    let can = json!({ "elicitation": {} });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": client });
    peer.ask(json!("handshake"), "initialize", params);
    peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    peer
}

/// The question that comes while a call waits.
fn question(peer: &mut Peer) -> Value {
    loop {
        let message = peer.next();
        if message["method"] == "elicitation/create" {
            return message;
        }
    }
}

fn say(peer: &mut Peer, question: &Value, result: Value) {
    peer.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "decision": "run it once" } })
}

#[test]
fn the_person_at_a_named_client_is_asked_and_decides() {
    let user = User::new();
    user.configure("[approval]\nclients = [\"editor\"]\npark_wait_seconds = 60\n");
    let mut peer = open(&user, "editor");
    peer.call(1, "file_write", write());
    let asked = question(&mut peer);
    let message = asked["params"]["message"].as_str().unwrap();
    for text in ["file_write", "/workspace/n.txt", "\"content\":\"hello\"", "of 100"] {
        assert!(message.contains(text), "no {text} in {message}");
    }
    assert!(user.workspace().is_empty());
    say(&mut peer, &asked, yes());
    let answer = peer.answer(1);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    for (id, result, kind_then) in [
        (2, json!({ "action": "decline" }), "approval_denied"),
        (3, json!({ "action": "cancel" }), "approval_pending"),
        (4, json!({ "action": "accept", "content": { "decision": "do not run it" } }), "approval_denied"),
    ] {
        peer.call(id, "file_write", json!({ "path": format!("{id}.txt"), "mode": "create", "content": "" }));
        let asked = question(&mut peer);
        say(&mut peer, &asked, result);
        // After a form that was closed, the call waits for the other channels.
        let wanted = if kind_then == "approval_pending" { None } else { Some(kind_then) };
        if let Some(wanted) = wanted {
            let answer = peer.answer(id);
            assert_eq!(kind(&answer), wanted, "{answer}");
        }
    }
    drop(peer);
    assert_eq!(user.workspace(), ["n.txt"]);
}

#[test]
fn a_client_that_nobody_named_decides_nothing() {
    let user = User::new();
    user.configure("[approval]\nclients = [\"editor\"]\npark_wait_seconds = 0\n");
    for mut peer in [open(&user, "other"), Peer::open(&user)] {
        peer.call(1, "file_write", write());
        let answer = peer.answer(1);
        assert_eq!(kind(&answer), "approval_pending", "{answer}");
    }
    assert!(user.workspace().is_empty());
}

#[test]
fn what_is_critical_or_too_long_to_read_is_never_asked_at_a_client() {
    let user = User::with_guest(&Guest::default());
    let manifest = user.path("plugins/probe/tools/tool.toml");
    let text = std::fs::read_to_string(&manifest).unwrap().replace("risk_level = \"low\"", "risk_level = \"critical\"");
    std::fs::write(&manifest, text).unwrap();
    let plugins = user.path("plugins");
    let approval = "[approval]\nclients = [\"editor\"]\npark_wait_seconds = 0\n";
    user.configure(&format!("plugin_folders = [{plugins:?}]\n{approval}[roles.Builder]\ndefault = true\n"));
    let mut peer = open(&user, "editor");
    peer.call(1, "probe", json!({}));
    assert_eq!(kind(&peer.answer(1)), "approval_pending");
    drop(peer);
    user.configure(approval);
    let mut peer = open(&user, "editor");
    let long = json!({ "path": "n.txt", "mode": "create", "content": "x".repeat(20_000) });
    peer.call(1, "file_write", long);
    assert_eq!(kind(&peer.answer(1)), "approval_pending");
}

#[test]
fn in_the_newer_era_the_sealed_question_holds_for_its_own_call_only() {
    let user = User::new();
    user.configure("[approval]\nclients = [\"editor\"]\npark_wait_seconds = 0\n");
    let mut peer = Peer::start(&user, &["run"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "editor", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let params = |arguments: &Value, more: Value| {
        let mut params = json!({ "name": "file_write", "arguments": arguments, "_meta": meta });
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        params
    };
    let asked = peer.ask(json!(1), "tools/call", params(&write(), json!({})));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = asked["result"]["requestState"].as_str().unwrap();
    let name = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let with = |state: &str| json!({ "requestState": state, "inputResponses": { name.as_str(): yes() } });
    let other = json!({ "path": "n.txt", "mode": "create", "content": "hellp" });
    let mut forged = state.to_owned();
    forged.replace_range(state.len() - 2.., if state.ends_with("AA") { "BB" } else { "AA" });
    for (id, arguments, state) in [(2, &other, state), (3, &write(), forged.as_str()), (4, &write(), "")] {
        let refused = peer.ask(json!(id), "tools/call", params(arguments, with(state)));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert!(user.workspace().is_empty());
    let ran = peer.ask(json!(5), "tools/call", params(&write(), with(state)));
    assert_eq!(ran["result"]["isError"], false, "{ran}");
    assert_eq!(user.workspace(), ["n.txt"]);
    let again = peer.ask(json!(6), "tools/call", params(&write(), with(state)));
    assert_eq!(again["result"]["resultType"], "input_required", "a yes counts once: {again}");
}

/// The answer comes from the agent's own client, which is not trusted that far.
#[test]
fn what_is_forbidden_for_good_or_critical_is_never_asked_at_a_client() {
    let user = User::new();
    let policy =
        user.write("config/floor.cedar", "@floor forbid (principal, action == Action::\"file_write\", resource);\n");
    user.configure(&format!(
        "[approval]\nclients = [\"editor\"]\npark_wait_seconds = 0\n[policies]\npermissions = [{policy:?}]\n"
    ));
    let mut peer = open(&user, "editor");
    peer.call(1, "file_write", write());
    // A question would come before the answer and be taken for it.
    let answer = peer.next();
    assert_eq!((&answer["id"], kind(&answer)), (&json!(1), "denied"), "{answer}");
    drop(peer);

    let user = User::with_guest(&Guest::default());
    let manifest = user.path("plugins/probe/tools/tool.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let critical = text.replace("risk_level = \"low\"", "risk_level = \"critical\"\nrequires_approval = true");
    assert_ne!(critical, text);
    std::fs::write(&manifest, critical).unwrap();
    let file = user.path("config/hermes-dispatch/config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let approval = "[approval]\nclients = [\"editor\"]\npark_wait_seconds = 0\n";
    std::fs::write(&file, format!("{settings}{approval}")).unwrap();
    let mut peer = open(&user, "editor");
    peer.call(1, "probe", json!({}));
    let answer = peer.next();
    assert_eq!((&answer["id"], kind(&answer)), (&json!(1), "approval_pending"), "{answer}");
}
