//! A client that can say anything: it writes bytes, and reads answers line by line. Must not know what is tested.

use crate::support::guest::Guest;
use crate::support::user::User;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Far more than anything takes. Only a wait that nobody ends reaches it.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(60);

/// A user with the roles `Builder` and `Reviewer` and a guest: it answers `{}` with itself after two reports of progress,
/// and works on any longer arguments for ever.
pub(crate) fn builder() -> User {
    let report = |done: u8| {
        format!(
            "(call $report (i64.const {done}) (i32.const 1) (i64.const 2) (i32.const 0) (i32.const 0) (i32.const 0))"
        )
    };
    let guest = Guest {
        limits: "fuel = 100000000000".into(),
        manifest: "timeout_ms = 60000".into(),
        ..Guest::that(format!(
            "{} (if (i32.gt_u (local.get $args_len) (i32.const 2)) (then (loop $ever (br $ever)))) {}
             (call $ok (local.get $args) (local.get $args_len))",
            report(1),
            report(2)
        ))
    };
    let user = User::with_guest(&guest);
    let plugins = user.path("plugins");
    user.configure(&format!("plugin_folders = [{plugins:?}]\n[roles.Builder]\ndefault = true\n[roles.Reviewer]\n"));
    user
}

/// The calls that the journal lists, the newest last.
pub(crate) fn records(user: &User) -> Vec<Value> {
    let listed = user.run(&["audit", "list", "-n", "100"]).exits(0).json();
    listed.as_array().unwrap().iter().filter(|entry| entry.get("record").is_some()).cloned().collect()
}

/// A token, made as a person at a terminal makes it.
pub(crate) fn token(user: &User, name: &str) -> String {
    let shown = user.at_terminal(&["token", "add", name], &[]).exits(0).out;
    let token = shown.split_whitespace().find(|word| word.starts_with("hermes_"));
    token.unwrap_or_else(|| panic!("no token in {shown}")).to_owned()
}

/// A process of `run`. Dropping it ends it.
pub(crate) struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    /// Messages that were read while another one was waited for.
    kept: VecDeque<Value>,
}

impl Peer {
    pub(crate) fn start(user: &User, arguments: &[&str]) -> Peer {
        let mut child = user.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Peer { child, stdin, lines, kept: VecDeque::new() }
    }

    /// Starts `run` and opens a session.
    pub(crate) fn open(user: &User) -> Peer {
        let mut peer = Peer::start(user, &["run"]);
        peer.handshake();
        peer
    }

    pub(crate) fn handshake(&mut self) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = self.ask(json!("handshake"), "initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn request(&mut self, id: Value, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Asks for a tool call whose arguments are any text.
    pub(crate) fn call_raw(&mut self, id: u64, tool: &str, arguments: &[u8]) {
        let head =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":"#);
        self.write(&[head.as_bytes(), arguments, b"}}\n"].concat());
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.call_raw(id, tool, arguments.to_string().as_bytes());
    }

    /// Asks and waits for the answer.
    pub(crate) fn ask(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.request(id.clone(), method, params);
        self.answer(id)
    }

    /// The next message. Whatever is on standard output has to be one.
    pub(crate) fn next(&mut self) -> Value {
        if let Some(kept) = self.kept.pop_front() {
            return kept;
        }
        self.read().expect("the process ended without an answer")
    }

    /// Puts a message back for later.
    pub(crate) fn keep(&mut self, message: Value) {
        self.kept.push_back(message);
    }

    fn read(&mut self) -> Option<Value> {
        let line = match self.lines.recv_timeout(WATCHDOG) {
            Ok(line) => line,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("nobody answered"),
        };
        let message: Value = serde_json::from_slice(&line)
            .unwrap_or_else(|error| panic!("no JSON on standard output: {error}: {}", String::from_utf8_lossy(&line)));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        Some(message)
    }

    /// The answer to a request; other messages are kept for later.
    pub(crate) fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        let mut others = VecDeque::new();
        loop {
            let message = self.next();
            if message.get("id") == Some(&id) && message.get("method").is_none() {
                others.append(&mut self.kept);
                self.kept = others;
                return message;
            }
            others.push_back(message);
        }
    }

    /// A request that only a living session answers.
    pub(crate) fn assert_alive(&mut self, id: u64) {
        assert!(self.ask(json!(id), "ping", json!({}))["result"].is_object());
    }

    /// Ends the input and returns all that comes then, and how the process ended.
    pub(crate) fn finish(mut self) -> (Vec<Value>, ExitStatus) {
        self.stdin = None;
        let mut rest: Vec<Value> = self.kept.drain(..).collect();
        while let Some(message) = self.read() {
            rest.push(message);
        }
        (rest, self.wait())
    }

    /// Tells the process to end.
    pub(crate) fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for the process without ending its input.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < WATCHDOG, "the process does not end");
            std::thread::yield_now();
        }
    }

    /// Bytes that lie unread in the pipe of its log.
    pub(crate) fn close_log(&mut self) {
        self.child.stderr = None;
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The code of a result that is an error.
pub(crate) fn code(answer: &Value) -> u64 {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["structuredContent"]["error"]["code"].as_u64().unwrap()
}
