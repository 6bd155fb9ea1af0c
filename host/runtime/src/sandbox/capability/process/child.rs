//! How is a running program followed and ended? One launcher process for each program holds the whole tree; whoever
//! drops the socket to it ends the tree, and so does the end of the runtime itself.

use super::output::Stream;
use super::plan::{Cause, Failed, LAUNCH, Layer, Message, Plan};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;

/// How long the launcher may take to end a tree before it is ended itself, which ends the tree too, unseen.
const ENDING: Duration = Duration::from_secs(3);
/// How long the drop of a program may hold up the thread that drops it. A tree ends within a few milliseconds.
const DROPPING: Duration = Duration::from_millis(50);
/// Longest message of the launcher.
const MESSAGE: usize = 64 << 10;

/// A launcher and the tree beneath it.
pub(crate) struct Launcher {
    process: std::process::Child,
    control: UnixStream,
    said: Vec<u8>,
    reaped: bool,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With an exit code.
    Code(u8),
    /// By a signal.
    Signal(u8),
    /// By its time.
    TimedOut,
    /// By a limit of this name.
    Limit(&'static str),
}

/// A program that was started.
pub(crate) struct Started {
    pub(crate) launcher: Launcher,
    pub(crate) out: Stream,
    pub(crate) err: Stream,
    /// The parts of the sandbox around it.
    pub(crate) layers: Vec<Layer>,
}

/// Starts a program in its sandbox. Dropping the future ends what was started.
pub(crate) async fn start(
    helper: &Path,
    plan: &Plan,
    input: &[u8],
    kept: (usize, usize),
    deadline: Instant,
) -> Result<Started, Failed> {
    let broken = |error: std::io::Error| Failed::layer("launcher", error);
    let (out, out_theirs) = std::io::pipe().map_err(broken)?;
    let (mut launcher, err) = Launcher::spawn(helper, out_theirs.into()).map_err(broken)?;
    let layers = launcher.greet(plan, input, deadline).await?;
    let (head, tail) = kept;
    let out = receiver(out).map_err(broken)?;
    Ok(Started { launcher, out: Stream::new(out, head, tail), err: Stream::new(err, head, tail), layers })
}

/// A server that runs.
#[cfg(feature = "mcp")]
pub(crate) struct Talking {
    pub(crate) launcher: Launcher,
    pub(crate) input: tokio::net::unix::pipe::Sender,
    pub(crate) output: Receiver,
    /// What it says to people.
    pub(crate) err: Receiver,
}

/// Starts a server, whose input and output the runtime holds. Dropping the future ends what was started.
#[cfg(feature = "mcp")]
pub(crate) async fn start_talking(helper: &Path, plan: &Plan, deadline: Instant) -> Result<Talking, Failed> {
    let broken = |error: std::io::Error| Failed::layer("launcher", error);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(broken)?;
    let (mut launcher, err) = Launcher::spawn(helper, theirs.into()).map_err(broken)?;
    launcher.greet(plan, &[], deadline).await?;
    let mut handed = take_descriptors(&ours).map_err(broken)?.into_iter();
    let (Some(input), Some(output)) = (handed.next(), handed.next()) else {
        return Err(Failed::layer("launcher", "it handed nothing over"));
    };
    let input = tokio::net::unix::pipe::Sender::from_owned_fd(input).map_err(broken)?;
    let output = Receiver::from_owned_fd(output).map_err(broken)?;
    Ok(Talking { launcher, input, output, err })
}

/// A part of the runtime that runs in there and speaks with it over one socket, its standard output.
pub(crate) struct Spoken {
    pub(crate) launcher: Launcher,
    pub(crate) channel: UnixStream,
    /// What it says to people.
    pub(crate) err: Stream,
}

/// Starts one. Dropping the future ends what was started.
pub(crate) async fn start_spoken(helper: &Path, plan: &Plan, deadline: Instant) -> Result<Spoken, Failed> {
    /// Bytes of what it says to people that are handed over.
    const KEPT: usize = 4 << 10;
    let broken = |error: std::io::Error| Failed::layer("launcher", error);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(broken)?;
    let (mut launcher, err) = Launcher::spawn(helper, theirs.into()).map_err(broken)?;
    launcher.greet(plan, &[], deadline).await?;
    ours.set_nonblocking(true).map_err(broken)?;
    let channel = UnixStream::from_std(ours).map_err(broken)?;
    Ok(Spoken { launcher, channel, err: Stream::new(err, KEPT, 0) })
}

/// A program that stays and speaks with the runtime.
#[cfg(feature = "browser")]
pub(crate) struct Resident {
    pub(crate) launcher: Launcher,
    /// What it reads and writes.
    pub(crate) channel: UnixStream,
    /// What it says to people.
    pub(crate) err: Stream,
    /// What the inside of the sandbox has made for the runtime: sockets that listen, then a folder.
    pub(crate) handed: Vec<OwnedFd>,
    /// The parts of the sandbox around it.
    pub(crate) layers: Vec<Layer>,
}

/// Starts a program that stays. Dropping the future ends what was started.
#[cfg(feature = "browser")]
pub(crate) async fn start_resident(helper: &Path, plan: &Plan, deadline: Instant) -> Result<Resident, Failed> {
    /// Bytes of what it says to people that are kept.
    const KEPT: usize = 16 << 10;
    let broken = |error: std::io::Error| Failed::layer("launcher", error);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(broken)?;
    let (mut launcher, err) = Launcher::spawn(helper, theirs.into()).map_err(broken)?;
    let layers = launcher.greet(plan, &[], deadline).await?;
    let handed = take_descriptors(&ours).map_err(broken)?;
    ours.set_nonblocking(true).map_err(broken)?;
    let channel = UnixStream::from_std(ours).map_err(broken)?;
    Ok(Resident { launcher, channel, err: Stream::new(err, 0, KEPT), handed, layers })
}

/// Takes the descriptors that were sent before the launcher said that the program runs.
#[cfg(any(feature = "browser", feature = "mcp"))]
fn take_descriptors(channel: &std::os::unix::net::UnixStream) -> std::io::Result<Vec<OwnedFd>> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    /// More than the kernel sends at once.
    const MOST: usize = 256;
    let mut space = vec![std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(channel, &mut [std::io::IoSliceMut::new(&mut byte)], &mut message, flags)?;
    let taken = message.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(taken.flatten().collect())
}

fn receiver(pipe: std::io::PipeReader) -> std::io::Result<Receiver> {
    Receiver::from_owned_fd(OwnedFd::from(pipe))
}

impl Launcher {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs: the launcher")]
    /// Starts a launcher whose standard output goes to `out`; what it says on standard error is returned.
    fn spawn(helper: &Path, out: OwnedFd) -> std::io::Result<(Launcher, Receiver)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let (err, err_theirs) = std::io::pipe()?;
        let process = std::process::Command::new(helper)
            .arg(LAUNCH)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(out))
            .stderr(Stdio::from(err_theirs))
            .spawn()?;
        ours.set_nonblocking(true)?;
        // From here on the launcher has an owner that ends it, whatever fails.
        let control = UnixStream::from_std(ours);
        match control {
            Ok(control) => {
                let launcher = Launcher { process, control, said: Vec::new(), reaped: false };
                Ok((launcher, receiver(err)?))
            }
            Err(error) => {
                let mut process = process;
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    /// Sends the plan and waits until the program runs.
    async fn greet(&mut self, plan: &Plan, input: &[u8], deadline: Instant) -> Result<Vec<Layer>, Failed> {
        let greeting = async {
            self.send(plan, input).await.map_err(|error| Failed::layer("launcher", error))?;
            self.message().await
        };
        let first = tokio::time::timeout_at(deadline.into(), greeting).await;
        let message = first.map_err(|_| Failed::layer("launcher", "it did not answer in time"))??;
        let failed = match message {
            Some(Message::Started(layers)) => return Ok(layers),
            Some(Message::Failed(failed)) => failed,
            Some(Message::Code(_) | Message::Signal(_) | Message::PutAside(_)) | None => {
                Failed::layer("launcher", "it ended without a word")
            }
        };
        self.end().await;
        Err(failed)
    }

    async fn send(&mut self, plan: &Plan, input: &[u8]) -> std::io::Result<()> {
        let text = serde_json::to_vec(plan)?;
        let length = u32::try_from(text.len()).map_err(|_| std::io::Error::from(ErrorKind::InvalidInput))?;
        self.control.write_all(&length.to_le_bytes()).await?;
        self.control.write_all(&text).await?;
        self.control.write_all(input).await
    }

    /// The launcher's next message; `None` when it is gone.
    ///
    /// Dropping the future loses nothing.
    async fn message(&mut self) -> Result<Option<Message>, Failed> {
        loop {
            if let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.said.drain(..=end).collect();
                match serde_json::from_slice(&line).map_err(|error| Failed::layer("launcher", error))? {
                    Message::PutAside(files) => {
                        tracing::warn!(?files, "a program left what git would act on; it was put aside");
                        continue;
                    }
                    message => return Ok(Some(message)),
                }
            }
            if self.said.len() > MESSAGE {
                return Err(Failed::layer("launcher", "it says too much"));
            }
            let mut buffer = [0; 4096];
            if self.control.readable().await.is_err() {
                return Ok(None);
            }
            match self.control.try_read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(count) => self.said.extend_from_slice(&buffer[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Waits until the program and all that it started are gone, and says how it ended.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn ended(&mut self, known: &mut Option<Ending>) -> Result<(), Failed> {
        while let Some(message) = self.message().await? {
            match message {
                Message::Code(code) => *known = Some(Ending::Code(code)),
                Message::Signal(signal) => *known = Some(Ending::Signal(signal)),
                Message::Failed(failed) => return Err(failed),
                Message::Started(_) | Message::PutAside(_) => {}
            }
        }
        self.reap().await;
        Ok(())
    }

    /// Ends the whole tree and waits until it is gone.
    pub(crate) async fn end(&mut self) {
        let _ = self.control.shutdown().await;
        let gone = async { while let Ok(Some(_)) = self.message().await {} };
        if tokio::time::timeout(ENDING, gone).await.is_err() {
            let _ = self.process.kill();
        }
        self.reap().await;
    }

    /// The launcher has closed its end, so it is a zombie or about to be one.
    async fn reap(&mut self) {
        let until = Instant::now() + ENDING;
        while !self.is_reaped() {
            if Instant::now() > until {
                let _ = self.process.kill();
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn is_reaped(&mut self) -> bool {
        self.reaped |= !matches!(self.process.try_wait(), Ok(None));
        self.reaped
    }
}

impl Drop for Launcher {
    /// A call that was dropped leaves no process. The tree is normally gone when this returns; a thread sees to one
    /// that the kernel holds up.
    fn drop(&mut self) {
        if self.is_reaped() {
            return;
        }
        let control = rustix::net::shutdown(&self.control, rustix::net::Shutdown::Write);
        debug_assert!(control.is_ok() || self.is_reaped(), "a socket that is connected can be shut down");
        let until = Instant::now() + DROPPING;
        while !self.is_reaped() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !self.reaped {
            self.leave_to_a_thread();
        }
    }
}

impl Launcher {
    fn leave_to_a_thread(&mut self) {
        let id = self.process.id();
        let Some(pid) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) else { return };
        let wait = move || {
            let until = Instant::now() + ENDING;
            loop {
                let waited = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
                match waited {
                    Ok(None) if Instant::now() < until => {}
                    Ok(None) => drop(rustix::process::kill_process(pid, rustix::process::Signal::KILL)),
                    Ok(Some(_)) | Err(_) => return,
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("hermes-reaper".into()).spawn(wait) {
            tracing::error!(%error, "no thread waits for a program that was ended");
            let _ = self.process.kill();
        }
    }
}

/// What a caller may learn of a failure, as a reason of the contract.
impl From<Cause> for super::Reason {
    fn from(cause: Cause) -> super::Reason {
        use super::Reason;
        match cause {
            Cause::ProgramNotFound => Reason::ProgramNotFound,
            Cause::NotAProgram => Reason::NotAProgram,
            Cause::PermissionDenied => Reason::PermissionDenied,
            Cause::DirectoryNotFound => Reason::DirectoryNotFound,
            Cause::NotADirectory => Reason::NotADirectory,
            Cause::OutOfBounds => Reason::PathOutOfBounds,
            Cause::TooLarge => Reason::TooLarge,
            Cause::Layer => Reason::LayerMissing,
        }
    }
}
