//! Who is let in over HTTP, and what of what is posted may pass? The server is spoken to in raw bytes, because a client
//! library would send nothing wrong.

use super::peer::{self, WATCHDOG, code};
use crate::support::user::User;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

/// A process of `serve`. Dropping it ends it.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
    /// Where the page for approvals is, if it is served.
    pub(super) page: Option<u16>,
    pub(super) token: String,
}

/// An answer: its status, its head and its body.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Server {
    pub(super) fn start(user: &User) -> Server {
        Server::start_with(user, &[])
    }

    fn start_with(user: &User, words: &[&str]) -> Server {
        let token = peer::token(user, "agent");
        let words = [&["serve", "--listen", "127.0.0.1:0", "--approvals", "127.0.0.1:0"], words].concat();
        let mut child = user.command(&words).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let mut page = None;
        let port_of = |line: &str| line.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
        while !line.contains("serving at") {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the server ended");
            page = line.contains("page for approvals at").then(|| port_of(&line)).or(page);
        }
        let port = port_of(&line);
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Server { child, port, page, token }
    }

    fn connect(&self) -> TcpStream {
        connect(self.port)
    }

    /// Sends a head and a body as they are and reads all that comes.
    pub(super) fn send(&self, head: &str, body: &[u8]) -> Answer {
        send(self.port, head, body)
    }

    pub(super) fn head(&self) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n",
            self.port, self.token
        )
    }

    /// Opens a session and returns the head for its requests.
    pub(super) fn open(&self) -> String {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = self.send(&self.head(), hello.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.body);
        let session = answer.head.split("mcp-session-id: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        let head = format!("{}mcp-session-id: {session}\r\n", self.head());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.send(&head, ready.to_string().as_bytes()).status, 202);
        head
    }
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(WATCHDOG)).unwrap();
    stream
}

/// Sends a head and a body as they are and reads all that comes.
pub(super) fn send(port: u16, head: &str, body: &[u8]) -> Answer {
    let mut stream = connect(port);
    let head = format!("{head}connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses by the head need not read the body.
    let _ = stream.write_all(body);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
    Answer { status: head[9..12].parse().unwrap(), head: head.to_lowercase(), body: body.to_owned() }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer to a request in a stream of events.
pub(super) fn answer(answer: &Answer, id: u64) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let events = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut messages = events.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
    messages.find(|message| message["id"] == id).unwrap_or_else(|| panic!("no answer in {}", answer.body))
}

pub(super) fn call(id: u64, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

#[test]
fn without_a_token_nobody_is_served_and_the_server_says_how_to_make_one() {
    let user = peer::builder();
    let output = user.command(&["serve"]).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&output.stderr).contains("hermes-dispatch token add"));
    let made = user.command(&["token", "add", "agent"]).output().unwrap();
    assert_eq!(made.status.code(), Some(6), "no person is there to make one");
    peer::token(&user, "agent");
    let output = user.command(&["serve", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "only this machine's own address is listened on");
}

#[test]
fn a_session_calls_tools_with_what_step_4_reads() {
    let user = peer::builder();
    std::fs::write(user.path("workspace/notes.txt"), "one\n").unwrap();
    let server = Server::start(&user);
    let head = server.open();
    let read = answer(&server.send(&head, call(1, "file_read", r#"{"path":"notes.txt"}"#).as_bytes()), 1);
    assert_eq!(read["result"]["structuredContent"]["text"], "one\n");
    for (id, arguments) in [(2, r#"{"path":"a","path":"b"}"#), (3, r#"{"path":"\ud83d"}"#)] {
        assert_eq!(code(&answer(&server.send(&head, call(id, "file_read", arguments).as_bytes()), id)), 400);
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(code(&answer(&server.send(&head, call(4, "probe", &deep).as_bytes()), 4)), 400);
    assert!(peer::records(&user).iter().all(|record| record["record"]["caller"]["id"] == "token:agent"));
}

#[test]
fn requests_that_belong_to_no_session_are_served() {
    let user = peer::builder();
    let server = Server::start(&user);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "probe", "arguments": {}, "_meta": meta });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let head =
        format!("{}mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: probe\r\n", server.head());
    assert_eq!(answer(&server.send(&head, request.to_string().as_bytes()), 1)["result"]["isError"], false);
}

#[test]
fn only_a_token_that_counts_lets_in() {
    let user = peer::builder();
    let server = Server::start(&user);
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let wrong = server.head().replace(&server.token, "hermes_0000");
    let none = server.head().replace("authorization", "x-authorization");
    for head in [wrong, none] {
        let answer = server.send(&head, ping);
        assert_eq!(answer.status, 401);
        assert!(answer.head.contains("www-authenticate: bearer"));
    }
    let head = server.open();
    assert_eq!(server.send(&head, ping).status, 200);
    let stored = std::fs::read_to_string(user.state().join("tokens.toml")).unwrap();
    assert!(!stored.contains(&server.token), "the token itself is kept");
    assert!(user.command(&["token", "revoke", "agent"]).output().unwrap().status.success());
    assert_eq!(server.send(&head, ping).status, 401, "a token that was taken back");
}

#[test]
fn a_session_is_there_for_its_own_token_only() {
    let user = peer::builder();
    let server = Server::start(&user);
    let other = peer::token(&user, "other");
    let stolen = server.open().replace(&server.token, &other);
    assert_eq!(server.send(&stolen, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 404);
}

#[test]
fn a_name_or_a_page_from_elsewhere_does_not_get_in() {
    let user = peer::builder();
    let server = Server::start(&user);
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let own = format!("host: 127.0.0.1:{}", server.port);
    let rebound = server.head().replace(&own, &format!("host: evil.test:{}", server.port));
    assert_eq!(server.send(&rebound, ping).status, 403);
    for origin in ["http://evil.test", "null", "http://localhost:3000"] {
        let page = format!("{}origin: {origin}\r\n", server.head());
        assert_eq!(server.send(&page, ping).status, 403, "{origin}");
    }
}

#[test]
fn what_cannot_pass_is_refused_with_what_is_wrong() {
    let user = peer::builder();
    let server = Server::start(&user);
    let head = server.open();
    for (body, code, id) in [
        (b"not json".as_slice(), -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{}}", -32602, json!(7)),
    ] {
        let answer = server.send(&head, body);
        assert_eq!(answer.status, 400);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((&body["error"]["code"], &body["id"]), (&json!(code), &id));
    }
    let huge = format!("{head}connection: close\r\ncontent-length: 99999999999\r\n\r\n");
    let mut stream = server.connect();
    stream.write_all(huge.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 413"), "{text}");
}

#[test]
fn a_client_that_sends_a_head_without_end_is_let_go_and_others_are_served() {
    let user = peer::builder();
    let server = Server::start(&user);
    let mut slow: Vec<TcpStream> = (0..50).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: ").unwrap();
    }
    server.open();
    for stream in &mut slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
}

#[test]
fn a_server_that_is_told_to_end_lets_what_runs_finish_or_cancels_it() {
    let user = peer::builder();
    let mut server = Server::start(&user);
    let head = server.open();
    let mut slow = server.connect();
    let body = call(5, "probe", r#"{"slow":true}"#);
    slow.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let mut first = [0; 1];
    slow.read_exact(&mut first).unwrap();
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert_eq!(peer::records(&user).last().unwrap()["record"]["code"], 499);
}

/// Makes a certificate for a name and writes it and its key where the server finds them.
fn certificate(user: &User, name: &str) -> rustls::ClientConfig {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    user.write("tls/certificate.pem", made.cert.pem().as_bytes());
    user.write("tls/key.pem", made.signing_key.serialize_pem().as_bytes());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

#[test]
fn with_a_certificate_agents_are_served_encrypted_and_only_so() {
    let user = peer::builder();
    let client = certificate(&user, "tools.example");
    let (chain, key) = (user.path("tls/certificate.pem"), user.path("tls/key.pem"));
    let words = ["--tls-certificate", chain.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let server = Server::start_with(&user, &[&words[..], &["--name", "tools.example"]].concat());

    let plain = server.connect();
    let mut answer = Vec::new();
    let _ = (&plain).write_all(format!("{}\r\n", server.head()).as_bytes());
    let _ = (&plain).read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "the server speaks unencrypted");

    let name = rustls::pki_types::ServerName::try_from("tools.example").unwrap();
    let connection = rustls::ClientConnection::new(std::sync::Arc::new(client), name).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, server.connect());
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    let body = body.to_string();
    let head = server.head().replace("127.0.0.1", "tools.example");
    let length = body.len();
    stream.write_all(format!("{head}connection: close\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn a_certificate_that_cannot_be_shown_is_named() {
    let user = peer::builder();
    peer::token(&user, "agent");
    certificate(&user, "tools.example");
    let (chain, key) = (user.path("tls/certificate.pem"), user.path("tls/key.pem"));
    let (chain, key) = (chain.to_str().unwrap(), key.to_str().unwrap());
    user.run(&["serve", "--tls-certificate", chain]).exits(2).says(&["--tls-key"]);
    let swapped = ["serve", "--tls-certificate", key, "--tls-key", chain];
    user.run(&swapped).exits(2).says(&["key.pem", "no certificate"]);
    user.run(&["serve", "--tls-certificate", chain, "--tls-key", chain]).exits(2).says(&["no private key"]);
    user.run(&["serve", "--tls-certificate", chain, "--tls-key", "missing.pem"]).exits(2).says(&["missing.pem"]);
    user.run(&["serve", "--listen", "0.0.0.0:0"]).exits(2).says(&["nothing is encrypted", "--tls-certificate"]);
}
