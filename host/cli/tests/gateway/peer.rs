//! A client that can say anything: it writes bytes, and reads answers line by line. Must not know what is tested.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Far more than anything takes. Only a wait that nobody ends reaches it.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A temporary home with a workspace, a plugin and a configuration.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// A home whose user has the role `Builder`.
    pub(crate) fn of_builder() -> Home {
        let home = Home { folder: TempDir::new().unwrap() };
        let plugins = home.path("plugins");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/plugin");
        std::fs::create_dir_all(plugins.join("probe/tools")).unwrap();
        std::fs::create_dir(home.path("workspace")).unwrap();
        for file in ["adapter.toml", "component.wat", "tools/probe.toml"] {
            std::fs::copy(source.join(file), plugins.join("probe").join(file)).unwrap();
        }
        let config = format!("plugin_folders = [{plugins:?}]\n[roles.Builder]\ndefault = true\n[roles.Reviewer]\n");
        std::fs::write(home.path("config.toml"), config).unwrap();
        home
    }

    pub(crate) fn path(&self, beneath: &str) -> PathBuf {
        self.folder.path().join(beneath)
    }

    /// The command with this home, and nothing of the tester's own.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hermes-dispatch"));
        command
            .args(arguments)
            .current_dir(self.path("workspace"))
            .env_clear()
            .env("HOME", self.folder.path())
            .env("XDG_CACHE_HOME", cache)
            .env("HERMES_CONFIG", self.path("config.toml"));
        command
    }

    /// What the journal lists, the newest last.
    pub(crate) fn records(&self) -> Vec<Value> {
        let output = self.command(&["audit", "list", "-n", "100", "--output", "json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
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
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Peer {
        let mut child = home
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
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
    pub(crate) fn open(home: &Home) -> Peer {
        let mut peer = Peer::start(home, &["run"]);
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
