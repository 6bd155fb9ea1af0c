//! How does a server of this machine run? As a child in a process group of its own, with an environment that names
//! nothing of ours. Whoever drops it ends the group.
#![expect(clippy::disallowed_methods, reason = "this is the one place that starts servers")]

use crate::servers::{Server, Setting};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Bytes of what a server says beside the protocol that are kept.
const KEPT: usize = 8 << 10;
/// How long a server may take to end when its input ends, before it is ended.
const ENDING: Duration = Duration::from_secs(1);
/// Where servers are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// A server's process with what it starts. Lifetime: the connection.
pub(super) struct Process {
    child: Child,
    group: Option<rustix::process::Pid>,
    said: Said,
    reading: tokio::task::JoinHandle<()>,
}

/// The last of what a server said beside the protocol: its standard error, and lines that are no messages.
#[derive(Clone, Default)]
pub(super) struct Said(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    noise: u64,
}

impl Said {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let over = kept.bytes.len().saturating_sub(KEPT);
        kept.bytes.drain(..over);
    }

    /// A line on the protocol's stream that is no message.
    pub(super) fn add_noise(&self, line: &[u8]) {
        self.add(&line[..line.len().min(KEPT)]);
        self.add(b"\n");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).noise += 1;
    }

    /// The last lines, made printable, and how many were no messages.
    pub(super) fn last(&self) -> (String, u64) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept.bytes);
        let lines: Vec<String> = text.lines().map(crate::document::printable).filter(|line| !line.is_empty()).collect();
        (lines[lines.len().saturating_sub(10)..].join("\n"), kept.noise)
    }
}

/// Starts a server.
pub(super) fn start(server: &Server) -> std::io::Result<(Process, ChildStdin, ChildStdout)> {
    let (program, args) = server.argv.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let path = std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned());
    let mut command = Command::new(program);
    command.args(args).env_clear().env("PATH", path).env("LANG", "C.UTF-8").env("TERM", "dumb");
    if let Some(home) = std::env::home_dir() {
        command.env("HOME", home);
    }
    for (name, setting) in &server.env {
        command.env(name, text_of(setting)?);
    }
    command
        .current_dir(server.directory.as_deref().unwrap_or(std::path::Path::new("/")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    let group = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
    let said = Said::default();
    let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    let (input, output) = (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
    // It is read for as long as the server lives: a server that nobody reads would wait for ever.
    let reading = tokio::spawn(drain(child.stderr.take().ok_or_else(gone)?, said.clone()));
    Ok((Process { child, group, said, reading }, input, output))
}

/// The text that a setting stands for.
pub(super) fn text_of(setting: &Setting) -> std::io::Result<String> {
    match setting {
        Setting::Text(text) => Ok(text.clone()),
        Setting::Variable { variable } => {
            let missing = |_| std::io::Error::other(format!("the variable `{variable}` is not set"));
            std::env::var(variable).map_err(missing)
        }
        // The configuration is refused before; a program could send it anywhere.
        Setting::Secret { secret, .. } => {
            Err(std::io::Error::other(format!("the secret `{secret}` goes into headers only")))
        }
    }
}

async fn drain(mut pipe: impl AsyncRead + Unpin, said: Said) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        said.add(&buffer[..count]);
    }
}

impl Process {
    /// What it said beside the protocol.
    pub(super) fn said(&self) -> Said {
        self.said.clone()
    }

    /// Waits a little for it to end by itself, then ends it. Its input has to be closed before.
    pub(super) async fn end(&mut self) -> Option<ExitStatus> {
        let ended = tokio::time::timeout(ENDING, self.child.wait()).await;
        self.end_group();
        match ended {
            Ok(status) => status.ok(),
            Err(_) => tokio::time::timeout(ENDING, self.child.wait()).await.ok()?.ok(),
        }
    }

    fn end_group(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end_group();
        self.reading.abort();
    }
}
