//! How does a part of the runtime run in the sandbox that programs run in? This very executable is the program: it sees
//! itself and the system's libraries, no directory of the user's and no network, and speaks over its pipes.

use super::Machine;
use super::child::{self, Launcher, Started};
use super::output::Stream;
use super::plan::{Failed, Plan, ProcessLimits};
use std::time::Instant;

/// Most bytes that are taken from it, and of what it says to people.
const SAID: usize = 256 << 20;
const TOLD: usize = 4 << 10;
/// Its files for itself, in bytes: there is nothing that it writes.
const FILES: u64 = 1 << 20;
/// Processes and threads: its own.
const PROCESSES: u64 = 64;

/// A part of the runtime that runs there. Dropping it ends it and all that it started.
pub(crate) struct Work {
    /// It ends the tree when it is dropped.
    _launcher: Launcher,
    out: Stream,
    err: Stream,
    told: Vec<u8>,
}

impl Machine {
    /// Whether this program can be started again for that.
    pub(crate) fn can_work(&self) -> bool {
        cfg!(all(feature = "process", target_os = "linux")) && self.helper.is_some()
    }

    /// Starts it with a word that says what it is, and with what it reads; `memory` is what it may use, in bytes.
    ///
    /// Dropping the future ends what was started.
    ///
    /// # Errors
    /// A part of the sandbox is not there, or the program does not start.
    pub(crate) async fn work(&self, word: &str, input: &[u8], memory: u64, deadline: Instant) -> Result<Work, Failed> {
        let helper = self.helper.as_ref().filter(|_| self.can_work());
        let helper = helper.ok_or_else(|| Failed::layer("launcher", "no program of ours can be it"))?;
        let plan = Plan {
            program: helper.to_string_lossy().into_owned(),
            args: vec![word.to_owned()],
            environment: self.environment(Vec::new()),
            directory: "/".into(),
            input: input.len(),
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
        let Started { launcher, out, err, .. } = child::start(helper, &plan, input, (SAID, 0), deadline).await?;
        Ok(Work { _launcher: launcher, out, err, told: Vec::new() })
    }
}

impl Work {
    /// What it says next; nothing when it has ended. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        while !self.out.is_over() {
            tokio::select! {
                said = self.out.read() => {
                    if said.is_some() {
                        return said;
                    }
                }
                told = self.err.read(), if !self.err.is_over() => {
                    let room = TOLD.saturating_sub(self.told.len());
                    self.told.extend(told.unwrap_or_default().into_iter().take(room));
                }
            }
        }
        None
    }

    /// What it told people before it ended.
    pub(crate) fn told(&self) -> String {
        String::from_utf8_lossy(&self.told).into_owned()
    }
}
