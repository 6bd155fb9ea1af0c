//! How does a component run in a process of its own? This very executable is started again for each call, in the
//! operating system's sandbox, with no directory and no network. It gets the compiled code and the call, and says how far
//! it is and what came of it; it is ended with the attempt. Both sides of it are here. Must not offer any capability.

use super::attempt::{self, Surroundings};
use super::bindings::EveryPre;
use super::capability::process::Work;
use super::describe::Description;
use super::entry::Entry;
use super::fixed::{Clock, FixedClock, Shown};
use super::limits::Limits;
use super::{Output, Sandbox, capability, failure, install, values, wit};
use crate::call::{Fixed, Progress};
use crate::config::Config;
use crate::document::excerpt;
use crate::envelope::Usage;
use crate::error::{Error, Kind, Step};
use crate::tape::{Tape, Times};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;
use wasmtime::component::Linker;

/// The first argument that turns a program of ours into the process that runs a component.
pub(crate) const WORK: &str = "__work";
/// What the process needs beside the component's memory and three times its code, in bytes.
const OWN: u64 = 512 << 20;
/// How long after the attempt's end the process may still say that its time is over.
const LATE: Duration = Duration::from_secs(2);
/// Longest line of a log and longest message of progress that are taken from it, in bytes.
const LINE: usize = 16 << 10;
const MESSAGE: usize = 500;
/// Updates of progress that wait.
const UPDATES: usize = 64;

/// A component as its process gets it. Lifetime: the adapter.
pub(super) struct Worker {
    code: Vec<u8>,
    /// The component itself, for one whose own functions are called: their types are read from it.
    component: Vec<u8>,
}

/// What a component is asked.
#[derive(Serialize, Deserialize)]
pub(super) enum Ask {
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
    /// Bytes of the component, if its own functions are called.
    component: usize,
}

/// What the process says, each with its length before it.
#[derive(Serialize, Deserialize)]
enum Said {
    Progress(Progress),
    Ended(Box<Ended>),
}

/// How it ended.
#[derive(Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) answer: Answer,
    pub(super) usage: Usage,
    pub(super) log: Vec<String>,
}

/// What the component answered.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    Returned(Result<Output, wit::Error>),
    Healthy(Result<(), wit::Error>),
    Described(Description),
    /// It broke off; why, what refines that, and insides for the log.
    Broke(Kind, Option<String>, Option<String>),
    /// Its time was over.
    Late,
}

/// What one run gets.
pub(super) struct Order<'a> {
    pub(super) ask: Ask,
    pub(super) limits: &'a Limits,
    pub(super) seed: [u8; 32],
    pub(super) fixed: Option<&'a Fixed>,
    pub(super) progress: Option<Sender<Progress>>,
    pub(super) until: Instant,
}

impl<'a> Order<'a> {
    /// For what is asked beside calls.
    pub(super) fn question(ask: Ask, limits: &'a Limits, until: Instant) -> Order<'a> {
        Order { ask, limits, seed: [0; 32], fixed: None, progress: None, until }
    }
}

impl Worker {
    pub(super) fn new(code: Vec<u8>, component: Vec<u8>) -> Worker {
        Worker { code, component }
    }

    /// Runs a component in a process of its own. Dropping the future ends it.
    ///
    /// # Errors
    /// The process cannot be started, or ends without a word.
    pub(super) async fn run(&self, sandbox: &Sandbox, order: Order<'_>) -> Result<Ended, Error> {
        let Order { ask, limits, seed, fixed, progress, until } = order;
        let left = until.saturating_duration_since(Instant::now());
        let task = Task {
            ask,
            limits: *limits,
            left_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            seed,
            fixed: fixed.cloned(),
            memory: sandbox.compiler.memory,
            component: self.component.len(),
        };
        let internal = |why: &dyn std::fmt::Display| Error::internal(Step::Sandbox, why);
        let head = serde_json::to_vec(&task).map_err(|error| internal(&error))?;
        let length = u32::try_from(head.len()).map_err(|error| internal(&error))?.to_le_bytes();
        let input = [&length, head.as_slice(), &self.component, &self.code].concat();
        let memory = limits.memory as u64 + 3 * (input.len() as u64) + OWN;
        let late = || Ended { answer: Answer::Late, usage: Usage::default(), log: Vec::new() };
        let running = async {
            let mut work = sandbox.machine.work(WORK, &input, memory, until).await.map_err(|failed| {
                Error::new(Step::Sandbox, Kind::Unavailable, failed.message).reason("layer_missing")
            })?;
            follow(&mut work, limits, progress).await
        };
        match tokio::time::timeout_at((until + LATE).into(), running).await {
            Ok(ended) => ended,
            Err(_) => Ok(late()),
        }
    }
}

/// Reads what the process says until it ends. What it says is bounded: whoever breaks out of WebAssembly could say
/// anything.
async fn follow(work: &mut Work, limits: &Limits, progress: Option<Sender<Progress>>) -> Result<Ended, Error> {
    let mut said = Vec::new();
    while let Some(more) = work.next().await {
        said.extend(more);
        while let Some((length, rest)) = said.split_first_chunk::<4>()
            && let Some(message) = rest.get(..u32::from_le_bytes(*length) as usize)
        {
            let taken = message.len() + 4;
            let message = serde_json::from_slice(message)
                .map_err(|error| broke(format!("its process says what nobody understands: {error}")))?;
            match message {
                Said::Progress(update) => {
                    let message = update.message.map(|message| excerpt(&message, MESSAGE));
                    if let Some(progress) = &progress {
                        let _ = progress.try_send(Progress { message, ..update });
                    }
                }
                Said::Ended(ended) => return Ok(bounded(*ended, limits)),
            }
            said.drain(..taken);
        }
    }
    Err(broke(format!("its process ended without an answer: {}", excerpt(&work.told(), 2000))))
}

fn broke(insides: String) -> Error {
    Error::new(Step::Sandbox, Kind::Trap, "the process that ran the component broke off").log(insides)
}

fn bounded(mut ended: Ended, limits: &Limits) -> Ended {
    ended.usage.fuel = ended.usage.fuel.min(limits.fuel);
    ended.log.truncate(limits.log_lines.saturating_add(2));
    let mut room = limits.log.saturating_mul(2).saturating_add(LINE);
    ended.log.retain_mut(|line| {
        *line = excerpt(line, LINE.min(room));
        room = room.saturating_sub(line.len());
        room > 0
    });
    ended
}

/// The process: reads, runs, says what came of it, and gives what it should exit with.
pub(crate) fn serve() -> i32 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let worked = runtime.map_err(|error| error.to_string()).and_then(|runtime| runtime.block_on(work_once()));
    match worked {
        Ok(()) => 0,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            1
        }
    }
}

async fn work_once() -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut input = std::io::stdin().lock();
    let mut length = [0; 4];
    input.read_exact(&mut length).map_err(text)?;
    let mut head = Vec::new();
    input.by_ref().take(u32::from_le_bytes(length).into()).read_to_end(&mut head).map_err(text)?;
    let task: Task = serde_json::from_slice(&head).map_err(|error| error.to_string())?;
    let mut component = Vec::new();
    input.by_ref().take(task.component as u64).read_to_end(&mut component).map_err(text)?;
    let mut code = Vec::new();
    input.read_to_end(&mut code).map_err(text)?;
    // The attempt is ended by whoever waits for it; this ends it so that it can be told apart.
    let deadline = Instant::now() + Duration::from_millis(task.left_ms);
    let ended = work(task, &component, &code, deadline).await?;
    say(&Said::Ended(Box::new(ended)))
}

fn say(said: &Said) -> Result<(), String> {
    let message = serde_json::to_vec(said).map_err(|error| error.to_string())?;
    let length = u32::try_from(message.len()).map_err(|error| error.to_string())?;
    let mut out = std::io::stdout().lock();
    let written =
        out.write_all(&length.to_le_bytes()).and_then(|()| out.write_all(&message)).and_then(|()| out.flush());
    written.map_err(|error| error.to_string())
}

async fn work(task: Task, component: &[u8], code: &[u8], deadline: Instant) -> Result<Ended, String> {
    let Task { ask, limits, seed, fixed, memory, .. } = task;
    let broken = |error: wasmtime::Error| format!("{error:#}");
    let mut config = Config::new("/tmp/state", "/tmp/cache");
    (config.ceiling.memory_mb, config.ceiling.concurrent_calls) = (memory as u64 >> 20, 1);
    let sandbox = Sandbox::start(&config, Vec::new())?;
    let engine = &sandbox.ticking.engine;
    let loaded = install::loaded(engine, code).map_err(broken)?;
    let mut linker = Linker::new(engine);
    capability::link(&mut linker, &BTreeSet::new()).map_err(broken)?;
    let pre = linker.instantiate_pre(&loaded).map_err(broken)?;
    let entry = match component.is_empty() {
        true => Entry::Contract(EveryPre::new(pre).map_err(broken)?),
        false => Entry::Functions(pre, values::functions_of(component)?.usable),
    };
    let (sender, mut updates) = tokio::sync::mpsc::channel(UPDATES);
    let started = Instant::now();
    let shown = fixed.map_or(Shown::Real(started), |fixed| Shown::Fixed(FixedClock::new(&fixed)));
    let clock = Clock { shown, times: Times::default() };
    let surroundings = Surroundings { progress: Some(sender), cancel: None, clock, seed, tape: Tape::Off };
    let _tick = sandbox.ticking.hold();
    let mut store =
        attempt::store(&sandbox, sandbox.no_reach(deadline), &limits, deadline, surroundings).map_err(broken)?;
    let mut bytes = (0, 0);
    let answered = {
        let asked = async {
            Ok::<Answer, wasmtime::Error>(match &ask {
                Ask::Call(call) => {
                    bytes.0 = call.args.len() as u64;
                    Answer::Returned(entry.execute(&mut store, call).await?)
                }
                Ask::Health => Answer::Healthy(entry.check_health(&mut store).await?),
                Ask::Description => Answer::Described(entry.describe(&mut store).await?),
            })
        };
        let mut asked = std::pin::pin!(tokio::time::timeout_at(deadline.into(), asked));
        loop {
            tokio::select! {
                biased;
                answered = &mut asked => break answered,
                Some(update) = updates.recv() => say(&Said::Progress(update))?,
            }
        }
    };
    while let Ok(update) = updates.try_recv() {
        say(&Said::Progress(update))?;
    }
    let answer = match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => match failure::from_trap("", store.data().meter.hit, &limits, &error) {
            Some(failed) => Answer::Broke(failed.kind, failed.reason.map(Into::into), failed.log),
            None => Answer::Late,
        },
        Err(_) => Answer::Late,
    };
    if let Answer::Returned(Ok(output)) = &answer {
        bytes.1 = super::output::size(output) as u64;
    }
    let state = store.data();
    let usage = Usage {
        fuel: limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0)),
        memory_bytes: state.meter.memory_peak as u64,
        host_calls: state.meter.host_calls,
        bytes_in: bytes.0,
        bytes_out: bytes.1,
        bytes_across: state.meter.bytes,
        cpu_us: attempt::time_of_thread().as_micros() as u64,
        wall_us: started.elapsed().as_micros() as u64,
        attempts: 1,
    };
    Ok(Ended { answer, usage, log: state.log.collect() })
}
