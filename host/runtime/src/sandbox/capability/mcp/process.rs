//! How does a server of this machine run? In the sandbox that programs run in, with what its configuration lists; or,
//! where the operator has turned that off, as a child in a process group of its own. Its environment names nothing of
//! ours. Whoever drops it ends it with all that it started.
#![expect(clippy::disallowed_methods, reason = "this is the one place that starts servers")]

use super::view::{Private, View, view};
use crate::document::excerpt;
use crate::sandbox::capability::invoke::back::without_tokens;
use crate::sandbox::capability::process::Machine;
use crate::sandbox::capability::process::child::{Ending, Launcher, Talking};
use crate::sandbox::capability::process::plan::{Cause, Mount};
use crate::sandbox::capability::process::server::Secluded;
use crate::servers::{Server, Setting};
use rmcp::service::ClientInitializeError;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};

/// Bytes of what a server says beside the protocol that are kept.
const KEPT: usize = 8 << 10;
/// How long a server may take to end when its input ends, before it is ended.
const ENDING: Duration = Duration::from_secs(1);
/// How long the sandbox of a server may take to be there.
const STARTING: Duration = Duration::from_secs(10);
/// How long what a server said last is read after it was ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What starts servers. Lifetime: the runtime.
#[derive(Clone)]
pub(super) struct Starter {
    pub(super) machine: Arc<Machine>,
    pub(super) private: Arc<Private>,
}

/// A server's process with what it starts. Lifetime: the connection.
pub(super) struct Process {
    held: Held,
    said: Said,
    /// Dropped with the process, so that whoever reads what it says comes to an end.
    _reading: oneshot::Sender<()>,
}

enum Held {
    Secluded(Launcher),
    Free { child: Child, group: Option<rustix::process::Pid> },
}

/// A server that was started, and the two ends of what is said to it and by it.
pub(super) struct Begun {
    pub(super) process: Process,
    pub(super) input: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) output: Box<dyn AsyncRead + Send + Unpin>,
}

/// The last of what a server said beside the protocol: its standard error, and lines that are no messages.
#[derive(Clone, Default)]
pub(super) struct Said {
    kept: Arc<Mutex<Kept>>,
    /// Closed when nothing more will come.
    more: Option<watch::Receiver<()>>,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    noise: u64,
}

impl Said {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let over = kept.bytes.len().saturating_sub(KEPT);
        kept.bytes.drain(..over);
    }

    /// A line on the protocol's stream that is no message.
    pub(super) fn add_noise(&self, line: &[u8]) {
        self.add(&line[..line.len().min(KEPT)]);
        self.add(b"\n");
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).noise += 1;
    }

    /// The last lines, made printable, and how many were no messages.
    pub(super) fn last(&self) -> (String, u64) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = without_tokens(&String::from_utf8_lossy(&kept.bytes));
        let lines: Vec<String> = text.lines().map(crate::document::printable).filter(|line| !line.is_empty()).collect();
        (lines[lines.len().saturating_sub(10)..].join("\n"), kept.noise)
    }

    /// Waits until all of it was read of a server that is gone.
    pub(super) async fn is_whole(&self) {
        let Some(mut more) = self.more.clone() else { return };
        let _ = tokio::time::timeout(LAST_WORDS, async { while more.changed().await.is_ok() {} }).await;
    }
}

impl Starter {
    /// Starts a server. Dropping the future ends what was started.
    pub(super) async fn start(&self, server: &Server) -> Result<Begun, String> {
        match server.sandbox.off {
            true => self.start_free(server).map_err(|error| format!("it cannot be started: {error}")),
            false => self.start_secluded(server).await,
        }
    }

    async fn start_secluded(&self, server: &Server) -> Result<Begun, String> {
        let view = view(server, &self.private)?;
        let mut environment = vec![("PATH".to_owned(), self.private.search().to_owned())];
        for (name, setting) in &server.env {
            environment.retain(|(other, _)| other != name);
            environment.push((name.clone(), text_of(setting).map_err(|error| error.to_string())?));
        }
        let whole = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| format!("`{}` is no path that can be shown", path.display()))
        };
        let secluded = Secluded {
            program: whole(&view.program)?,
            args: server.argv[1..].to_vec(),
            environment,
            directory: whole(&view.directory)?,
            hidden: view.hidden.iter().map(|path| whole(path)).collect::<Result<_, _>>()?,
            mounts: mounts(&view)?,
            network: view.network,
        };
        let started = self.machine.seclude(secluded, Instant::now() + STARTING).await;
        let Talking { launcher, input, output, err } = started.map_err(|failed| match failed.cause {
            Cause::Layer => format!("{}; `sandbox.off = true` lets it run without one", failed.message),
            _ => format!("it cannot be started: {}", failed.message),
        })?;
        let (process, input, output) = (Held::Secluded(launcher), Box::new(input), Box::new(output));
        Ok(Begun { process: Process::new(process, err), input, output })
    }

    fn start_free(&self, server: &Server) -> std::io::Result<Begun> {
        let (program, args) = server.argv.split_first().ok_or(std::io::ErrorKind::NotFound)?;
        let mut command = Command::new(program);
        command.args(args).env_clear();
        command.env("PATH", self.private.search()).env("LANG", "C.UTF-8").env("TERM", "dumb");
        if let Some(home) = std::env::home_dir() {
            command.env("HOME", home);
        }
        for (name, setting) in &server.env {
            command.env(name, text_of(setting)?);
        }
        command
            .current_dir(server.directory.as_deref().unwrap_or(Path::new("/")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let (input, output) = (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
        let err = child.stderr.take().ok_or_else(gone)?;
        let process = Process::new(Held::Free { child, group }, err);
        Ok(Begun { process, input: Box::new(input), output: Box::new(output) })
    }
}

/// What is mounted, so that a link finds what it leads to: first what is where it really is.
fn mounts(view: &View) -> Result<Vec<Mount>, String> {
    let places = view.read.iter().map(|place| (place, false)).chain(view.write.iter().map(|place| (place, true)));
    let mut mounts = Vec::new();
    for (place, writable) in places {
        let gone = |error: std::io::Error| format!("`{}` is not there any more: {}", place.display(), error.kind());
        let source = place.canonicalize().map_err(gone)?;
        let name = place.to_str().ok_or_else(|| format!("`{}` is no path that can be shown", place.display()))?;
        mounts.push(Mount { name: name.to_owned(), source, writable });
    }
    // What may be changed comes after what holds it, which would cover it.
    mounts.sort_by_key(|mount| (Path::new(&mount.name) != mount.source, mount.name.clone(), mount.writable));
    Ok(mounts)
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

/// Reads for as long as the server lives: one that nobody reads would wait for ever.
async fn drain(mut pipe: impl AsyncRead + Unpin, said: Said, mut gone: oneshot::Receiver<()>, more: watch::Sender<()>) {
    let reading = async {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
            said.add(&buffer[..count]);
        }
    };
    let mut reading = std::pin::pin!(reading);
    tokio::select! {
        () = &mut reading => {}
        _ = &mut gone => drop(tokio::time::timeout(LAST_WORDS, reading).await),
    }
    drop(more);
}

impl Process {
    fn new(held: Held, err: impl AsyncRead + Send + Unpin + 'static) -> Process {
        let (reading, gone) = oneshot::channel();
        let (more, is_more) = watch::channel(());
        let said = Said { more: Some(is_more), ..Said::default() };
        tokio::spawn(drain(err, said.clone(), gone, more));
        Process { held, said, _reading: reading }
    }

    /// What it said beside the protocol.
    pub(super) fn said(&self) -> Said {
        self.said.clone()
    }

    /// Waits a little for it to end by itself, then ends it. Its input has to be closed before. Says how it ended.
    pub(super) async fn end(&mut self) -> Option<String> {
        match &mut self.held {
            Held::Secluded(launcher) => {
                let mut ending = None;
                if tokio::time::timeout(ENDING, launcher.ended(&mut ending)).await.is_err() {
                    launcher.end().await;
                }
                match ending? {
                    Ending::Code(code) => Some(format!("exit status: {code}")),
                    Ending::Signal(signal) => Some(format!("signal: {signal}")),
                    Ending::TimedOut | Ending::Limit(_) => None,
                }
            }
            Held::Free { child, .. } => {
                let ended = tokio::time::timeout(ENDING, child.wait()).await;
                self.held.end_group();
                let Held::Free { child, .. } = &mut self.held else { return None };
                let status = match ended {
                    Ok(status) => status.ok(),
                    Err(_) => tokio::time::timeout(ENDING, child.wait()).await.ok()?.ok(),
                };
                status.map(|status| status.to_string())
            }
        }
    }
}

impl Held {
    /// A launcher ends its tree by itself.
    fn end_group(&mut self) {
        if let Held::Free { group, .. } = self
            && let Some(group) = group.take()
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.held.end_group();
    }
}

/// Why a program did not say what it speaks, with the last that it told people, and whether it ended.
pub(super) async fn not_begun(
    name: &str,
    server: &Server,
    error: &ClientInitializeError,
    said: &Said,
) -> (String, bool) {
    /// Characters of what it told people.
    const TOLD: usize = 600;
    let ended = matches!(error, ClientInitializeError::ConnectionClosed(_));
    said.is_whole().await;
    let (last, _) = said.last();
    tracing::warn!(server = name, %error, last, "a server could not be spoken to");
    if !ended {
        return (excerpt(&error.to_string(), 300), false);
    }
    let told = match last.is_empty() {
        true => String::new(),
        // What went wrong stands at the end.
        false => {
            let from = last.char_indices().rev().nth(TOLD).map_or(0, |(at, _)| at);
            format!(", saying: {}", last[from..].trim())
        }
    };
    let hint = match server.sandbox.off {
        true => String::new(),
        false => format!(
            ". It runs in a sandbox: files and the network that it needs are listed in `[mcp.servers.{name}.sandbox]`; \
             `hermes-dispatch doctor` shows what it sees"
        ),
    };
    (format!("it ended before it said what it speaks{told}{hint}"), true)
}
