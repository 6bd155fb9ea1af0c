//! May a server make calls while it works for one? With a token that is for that call alone: of the tools that it was
//! granted, as the caller of that call, and no longer than it runs.

use super::http::{self, Server};
use super::peer;
use crate::support::house::project;
use crate::support::user::User;
use serde_json::{Value, json};

/// A user whose servers may call back, each what is listed.
fn user(servers: &[(&str, &str, &[&str])]) -> User {
    let user = User::new();
    let script = project().join("tests/peers/peer.py");
    let mut text = "[approval]\npark_wait_seconds = 0\n".to_owned();
    for (name, word, granted) in servers {
        let notes = user.path("outside").join(name);
        std::fs::create_dir_all(&notes).unwrap();
        text.push_str(&format!(
            "[mcp.servers.{name}]\nargv = [\"/usr/bin/python3\", {script:?}, {word:?}]\nenv = {{ PEER_DIR = {notes:?} }}\n\
             sandbox = {{ write = [{notes:?}], network = true }}\ncall_back = {granted:?}\n"
        ));
    }
    user.configure(&text);
    user
}

/// What a server has noted, one document a line.
fn notes(user: &User, server: &str, what: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(user.path("outside").join(server).join(what)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Makes a call through a server that calls back, with a person's yes to the outer call.
fn ask(user: &User, server: &Server, name: &str, args: &Value) -> Value {
    let body = http::call(1, &format!("{name}_call_back"), &args.to_string());
    let head = server.open();
    let pending = http::answer(&server.send(&head, body.as_bytes()), 1);
    let id = pending["result"]["structuredContent"]["error"]["approval_id"].as_str();
    let id = id.unwrap_or_else(|| panic!("{pending:#}"));
    user.at_terminal(&["approvals", "approve", id], &[("[y/N]", "y\n")]).exits(0);
    http::answer(&server.send(&head, body.as_bytes()), 1)
}

/// What the newest call of a server made.
fn made(user: &User, server: &str) -> Vec<Value> {
    let made = notes(user, server, "made").pop().unwrap_or_else(|| panic!("{server} made no call"));
    made.as_array().unwrap().clone()
}

fn code(answer: &Value) -> Value {
    answer["result"]["structuredContent"]["error"]["code"].clone()
}

#[test]
fn a_server_calls_back_while_its_call_runs_as_the_caller_and_no_longer() {
    for word in ["plain", "modern"] {
        let user = user(&[("peer", word, &["file_read", "file_write"])]);
        user.write("workspace/a.txt", "of the workspace");
        let server = Server::start(&user);
        let calls = json!({ "calls": [
            ["file_read", { "path": "a.txt" }],
            ["file_write", { "path": "n.txt", "mode": "create", "content": "x" }],
            ["file_list", { "path": "." }],
            ["peer_echo", { "text": "hello" }],
        ] });
        let answer = ask(&user, &server, "peer", &calls);
        assert_eq!(answer["result"]["isError"], false, "{answer:#}");
        let made = made(&user, "peer");
        assert!(made[0].to_string().contains("of the workspace"), "{:#}", made[0]);
        // What a person would have to be asked about is not waited for within a call; what is not granted is not there.
        assert_eq!(made[1..].iter().map(code).collect::<Vec<_>>(), [202, 403, 403], "{made:#?}");
        assert_eq!(user.workspace(), ["a.txt"]);
        let listed = notes(&user, "peer", "listed").pop().unwrap();
        let names: Vec<&str> =
            listed["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["file_read", "file_write"], "{listed:#}");

        let given = notes(&user, "peer", "given").pop().unwrap();
        let token = given["token"].as_str().unwrap();
        let head = server.head().replace(&server.token, token);
        let read = http::call(2, "file_read", r#"{"path":"a.txt"}"#);
        assert_eq!(server.send(&head, read.as_bytes()).status, 401, "the token outlives its call");

        let records = peer::records(&user);
        let text = serde_json::to_string(&records).unwrap() + &answer.to_string();
        assert!(!text.to_lowercase().contains(token), "the token is written down");
        let inner = records.iter().find(|r| r["record"]["tool"] == "file_read").unwrap();
        let outer = records.iter().rfind(|r| r["record"]["tool"] == "peer_call_back").unwrap();
        assert_eq!(inner["record"]["parent"], outer["record"]["call_id"], "{inner:#}");
        assert_eq!(inner["record"]["caller"], outer["record"]["caller"], "{inner:#}");
    }
}

#[test]
fn a_token_of_another_call_gives_no_more_than_that_call_has() {
    let user = user(&[("one", "plain", &["file_read"]), ("two", "plain", &["file_list"])]);
    user.write("workspace/a.txt", "x");
    let server = Server::start(&user);
    let waiting = json!({ "wait_for": "go", "calls": [["file_read", { "path": "a.txt" }]] });
    std::thread::scope(|scope| {
        let first = scope.spawn(|| ask(&user, &server, "one", &waiting));
        let began = std::time::Instant::now();
        while notes(&user, "one", "given").is_empty() {
            assert!(began.elapsed() < peer::WATCHDOG, "the first call does not begin");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let token = notes(&user, "one", "given").pop().unwrap()["token"].clone();
        let calls = json!([["file_list", { "path": "." }], ["file_read", { "path": "a.txt" }]]);
        ask(&user, &server, "two", &json!({ "token": token, "calls": calls }));
        let with_ones = made(&user, "two");
        assert_eq!((code(&with_ones[0]), code(&with_ones[1])), (json!(403), Value::Null), "{with_ones:#?}");
        ask(&user, &server, "two", &json!({ "calls": calls }));
        let with_its_own = made(&user, "two");
        assert_eq!((code(&with_its_own[0]), code(&with_its_own[1])), (Value::Null, json!(403)), "{with_its_own:#?}");
        // A token that nobody made is none, however it looks.
        let forged = format!("hermes_call_{}", "0".repeat(64));
        ask(&user, &server, "two", &json!({ "token": forged, "calls": calls }));
        assert!(made(&user, "two").iter().all(|answer| answer["status"] == 401), "{:#?}", made(&user, "two"));
        user.write("outside/one/go", "");
        assert_eq!(first.join().unwrap()["result"]["isError"], false);
    });
}

/// What a server calls so is bound like what a component calls.
#[test]
fn calls_back_within_one_call_have_a_number() {
    let user = user(&[("one", "plain", &["file_read"])]);
    user.write("workspace/a.txt", "x");
    let server = Server::start(&user);
    ask(&user, &server, "one", &json!({ "calls": vec![json!(["file_read", { "path": "a.txt" }]); 70] }));
    let codes: Vec<Value> = made(&user, "one").iter().map(code).collect();
    assert!(codes[..64].iter().all(Value::is_null) && codes[64..].iter().all(|code| *code == 403), "{codes:?}");
    assert_eq!(codes.len(), 70);
}

#[test]
fn who_may_not_call_back_gets_nothing_to_do_it_with() {
    let user = user(&[("peer", "plain", &[])]);
    let server = Server::start(&user);
    let answer = ask(&user, &server, "peer", &json!({ "calls": [] }));
    assert!(answer.to_string().contains("nothing to call back with"), "{answer}");
    // A pipe has no address to call back to.
    let granted = self::user(&[("peer", "plain", &["file_read"])]);
    let mut piped = peer::Peer::open(&granted);
    piped.call(1, "peer_call_back", json!({ "calls": [] }));
    let pending = piped.answer(1);
    let id = pending["result"]["structuredContent"]["error"]["approval_id"].as_str().unwrap();
    granted.at_terminal(&["approvals", "approve", id], &[("[y/N]", "y\n")]).exits(0);
    piped.call(2, "peer_call_back", json!({ "calls": [] }));
    let answer = piped.answer(2);
    assert!(answer.to_string().contains("nothing to call back with"), "{answer}");
}
