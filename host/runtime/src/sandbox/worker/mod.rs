//! How does a component run in a process of its own? This very executable is started again for each call, in the
//! operating system's sandbox, with no directory and no network, or where the embedding program starts it. It gets the
//! compiled code and the call, asks this process for what its capabilities do, and says how far it is and what came of it;
//! it is ended with the attempt. What both sides say is here. Must not do what a capability does.

mod crossing;
mod host;
mod serve;
mod tried;
mod wire;

use super::describe::Description;
use super::limits::Limits;
use super::{Listener, Output, Sandbox, State, wit};
use crate::call::{Fixed, Progress};
use crate::cancel::Held;
use crate::envelope::Usage;
use crate::error::{Error, Kind, Step};
use crate::profile::{Job, Profile};
use crate::record::Masking;
use host::{During, Watch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::Store;

pub(crate) use host::drive;
pub(crate) use serve::serve;
pub(super) use tried::tried;

/// The first argument that turns a program of ours into the process that runs a component.
pub(crate) const WORK: &str = "__work";
/// The second one, if it speaks over one socket, its standard output, and not over two pipes.
const SOCKET: &str = "socket";
/// What the process needs beside the component's memory and three times its code, in bytes.
const OWN: u64 = 512 << 20;
/// How long after the attempt's end the process may still say that its time is over.
const LATE: Duration = Duration::from_secs(2);
/// The capabilities that reach a component in another process: each of their functions is one question and one answer.
/// Requests over HTTP, and the secrets in them, flow; a page of the browser belongs to its session.
pub(crate) const ACROSS: &[&str] = &["files", "invoke", "process", "mcp"];

/// A component as its process gets it. Lifetime: the adapter.
pub(crate) struct Worker {
    pub(super) code: Vec<u8>,
    /// The component itself.
    pub(super) component: Vec<u8>,
    /// Whether its own functions are called.
    pub(super) by_functions: bool,
    pub(super) capabilities: BTreeSet<String>,
    pub(super) place: Place,
}

/// Where its process is.
#[derive(Clone)]
pub(crate) enum Place {
    /// In the sandbox of the operating system.
    Sandboxed,
    /// Where the embedding program has it.
    Elsewhere(Arc<dyn Profile>),
}

/// What a component is asked.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Ask {
    Call(wit::Call),
    Health,
    Description,
}

/// What the process has to know; the component and the code follow.
#[derive(Serialize, Deserialize)]
struct Task {
    ask: Ask,
    limits: Limits,
    left_ms: u64,
    seed: [u8; 32],
    fixed: Option<Fixed>,
    /// As the engine was made.
    memory: usize,
    capabilities: BTreeSet<String>,
    /// Those of them that the embedding program added: name and interface.
    authorities: Vec<(String, String)>,
    by_functions: bool,
    /// Bytes of the component, if its own functions are called, and of its code.
    component: usize,
    code: usize,
}

/// What the process says.
#[derive(Serialize, Deserialize)]
enum Said {
    Progress(Progress),
    Ended(Box<Ended>),
}

/// How it ended.
#[derive(Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) answer: Answer,
    pub(crate) usage: Usage,
    pub(crate) log: Vec<String>,
}

/// What the component answered.
#[derive(Serialize, Deserialize)]
pub(crate) enum Answer {
    Returned(Result<Output, wit::Error>),
    Healthy(Result<(), wit::Error>),
    Described(Description),
    /// It broke off; why, what refines that, and insides for the log.
    Broke(Kind, Option<String>, Option<String>),
    /// Its time was over.
    Late,
}

/// What one run gets.
pub(crate) struct Order<'a> {
    pub(crate) ask: Ask,
    pub(crate) limits: &'a Limits,
    pub(crate) seed: [u8; 32],
    pub(crate) fixed: Option<&'a Fixed>,
    pub(crate) progress: Option<Listener>,
    pub(crate) until: Instant,
    /// What its capabilities reach: this process's side of them.
    pub(crate) here: Store<State>,
    /// How it learns that nobody waits any more, and how long it has then.
    pub(crate) held: Option<&'a Held>,
    pub(crate) grace: Duration,
}

impl<'a> Order<'a> {
    /// For what is asked beside calls.
    pub(super) fn question(ask: Ask, limits: &'a Limits, until: Instant, here: Store<State>) -> Order<'a> {
        let (seed, grace) = ([0; 32], Duration::ZERO);
        Order { ask, limits, seed, fixed: None, progress: None, until, here, held: None, grace }
    }
}

impl Ended {
    /// It did not end in time.
    pub(crate) fn late() -> Ended {
        Ended { answer: Answer::Late, usage: Usage::default(), log: Vec::new() }
    }
}

impl Worker {
    pub(crate) fn component(&self) -> &[u8] {
        &self.component
    }

    /// Runs a component in a process of its own. Dropping the future ends it.
    ///
    /// # Errors
    /// The process cannot be started, or ends without a word; a limit that a capability keeps was hit.
    pub(super) async fn run(&self, sandbox: &Sandbox, order: Order<'_>) -> Result<Ended, Error> {
        let mut watch = Watch::new(&order, LATE);
        let mut running: std::pin::Pin<Box<dyn Future<Output = Result<Ended, Error>> + Send + '_>> = match &self.place {
            Place::Sandboxed => Box::pin(self.run_sandboxed(sandbox, order)),
            Place::Elsewhere(profile) => {
                let running = profile.run(Job { worker: self, sandbox, order });
                Box::pin(async move { running.await.0 })
            }
        };
        loop {
            match watch.during(running.as_mut()).await {
                During::Came(ended) => return ended,
                // It hears of it itself, and ends in time or is ended.
                During::Told => {}
                During::Over => return Ok(Ended::late()),
            }
        }
    }

    async fn run_sandboxed(&self, sandbox: &Sandbox, order: Order<'_>) -> Result<Ended, Error> {
        let size = 3 * (self.code.len() + self.component.len()) as u64;
        let memory = order.limits.memory as u64 + size + OWN;
        let work = sandbox.machine.work(&[WORK, SOCKET], memory, order.until).await;
        let mut work = work
            .map_err(|failed| Error::new(Step::Sandbox, Kind::Unavailable, failed.message).reason("layer_missing"))?;
        let driven = {
            let (input, output) = work.channel();
            drive(self, sandbox, order, input, output).await
        };
        match driven {
            Err(error) if error.kind == Kind::Trap => {
                let told = work.told().await;
                let insides = error.log.clone().unwrap_or_default();
                Err(error.log(crate::document::excerpt(format!("{insides} {told}").trim(), 4000)))
            }
            driven => driven,
        }
    }
}

/// For a process in which nobody waits: what is told there is masked where it arrives.
fn unmasked() -> Arc<Masking> {
    Arc::new(|_: &str| None)
}

fn broke(insides: String) -> Error {
    Error::new(Step::Sandbox, Kind::Trap, "the process that ran the component broke off").log(insides)
}
