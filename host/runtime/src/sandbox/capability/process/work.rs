//! How does a part of the runtime run in the sandbox that programs run in? This very executable is the program: it sees
//! itself and the system's libraries, no directory of the user's and no network, and speaks over its pipes.

use super::Machine;
use super::child::{self, Launcher, Spoken};
use super::output::Stream;
use super::plan::{Failed, Plan, ProcessLimits};
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::net::unix::{ReadHalf, WriteHalf};

/// Most bytes that are taken of what it says to people, and how long that is waited for once it has ended.
const TOLD: usize = 4 << 10;
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Its files for itself, in bytes: there is nothing that it writes.
const FILES: u64 = 1 << 20;
/// Processes and threads: its own.
const PROCESSES: u64 = 64;

/// A part of the runtime that runs there. Dropping it ends it and all that it started.
pub(crate) struct Work {
    /// It ends the tree when it is dropped.
    _launcher: Launcher,
    channel: UnixStream,
    err: Stream,
}

impl Machine {
    /// Whether this program can be started again for that.
    pub(crate) fn can_work(&self) -> bool {
        cfg!(all(feature = "process", target_os = "linux")) && self.helper.is_some()
    }

    /// Starts it with words that say what it is; `memory` is what it may use, in bytes. It speaks over its standard output,
    /// which is a socket.
    ///
    /// Dropping the future ends what was started.
    ///
    /// # Errors
    /// A part of the sandbox is not there, or the program does not start.
    pub(crate) async fn work(&self, words: &[&str], memory: u64, deadline: Instant) -> Result<Work, Failed> {
        let helper = self.helper.as_ref().filter(|_| self.can_work());
        let helper = helper.ok_or_else(|| Failed::layer("launcher", "no program of ours can be it"))?;
        let plan = Plan {
            program: helper.to_string_lossy().into_owned(),
            args: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: self.environment(Vec::new()),
            directory: "/".into(),
            input: 0,
            grants: Vec::new(),
            hidden: Vec::new(),
            fixed: Vec::new(),
            system: vec![helper.clone()],
            network: false,
            files: Vec::new(),
            channel: None,
            talks: false,
            limits: ProcessLimits { processes: PROCESSES, file: FILES, memory, temporary: FILES },
        };
        let Spoken { launcher, channel, err } = child::start_spoken(helper, &plan, deadline).await?;
        Ok(Work { _launcher: launcher, channel, err })
    }
}

impl Work {
    /// What it says, and what is said to it.
    pub(crate) fn channel(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        self.channel.split()
    }

    /// What it told people before it ended. One that has not ended is not waited for long.
    pub(crate) async fn told(&mut self) -> String {
        let mut told = Vec::new();
        let all = async {
            while !self.err.is_over() && told.len() < TOLD {
                told.extend(self.err.read().await.unwrap_or_default());
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, all).await;
        String::from_utf8_lossy(&told).into_owned()
    }
}
