//! Step 5 of 7: what does the tool do, within its limits?

mod bindings;
pub(crate) mod capability;
mod engine;
mod failure;
pub mod install;
pub mod limits;

use crate::call::{Digest, Progress};
use crate::config::{Ceiling, Config};
use crate::envelope::Usage;
use crate::error::{Error, Kind, Step};
use crate::permission::Grant;
use crate::registry::Tool;
use crate::registry::manifest::LimitsManifest;
use crate::registry::running::Backend;
use crate::validation::Args;
use bindings::EveryPre;
use bindings::hermes::tool::types as wit;
pub use bindings::hermes::tool::types::{Content, ErrorKind, Output};
use capability::files::{Files, Roots};
use capability::log::Log;
pub use capability::process::Layer;
#[cfg(all(feature = "process", target_os = "linux"))]
pub use capability::process::launcher::helper_main;
use capability::process::{Machine, Programs};
use capability::wasi::Wasi;
pub use engine::settings;
use failure::{from_guest, from_trap, timed_out, within_output_limit};
use install::{Cache, InstallError};
use limits::{Limits, Meter};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::error::Elapsed;
use wasmtime::component::Linker;
use wasmtime::{CallHook, Store, UpdateDeadline};

/// Calls that may wait for a free slot, for each slot. Further ones are refused rather than kept waiting.
const WAITING_PER_SLOT: u32 = 16;
/// How long the trial start of a component may take at install.
const TRIAL: Duration = Duration::from_secs(1);
/// Most calls that run at the same time; each slot takes address space.
const MOST_SLOTS: u32 = 1000;
/// Lines of printed text that are kept of one attempt.
const PRINTED_LINES: usize = 1000;

/// Where components run. Lifetime: the runtime.
pub struct Sandbox {
    ticking: engine::Ticking,
    cache: Cache,
    ready: RwLock<HashMap<Digest, Arc<EveryPre<State>>>>,
    roots: Arc<Roots>,
    machine: Arc<Machine>,
    ceiling: Ceiling,
    slots: Semaphore,
    waiting: AtomicU32,
    waiting_places: u32,
}

/// The host's side of one attempt.
pub(crate) struct State {
    meter: Meter,
    wasi: Wasi,
    files: Files,
    open_files: u32,
    programs: Programs,
    log: Log,
    progress: Option<tokio::sync::mpsc::Sender<Progress>>,
}

/// What came of running a call.
pub struct Execution {
    /// What the component returned, or why it did not.
    pub outcome: Result<Output, Error>,
    /// What was produced before a failure.
    pub partial: Option<Output>,
    /// What it used up.
    pub usage: Usage,
    /// What it logged and printed.
    pub log: Vec<String>,
}

/// What the sandbox has to know besides grant and arguments.
pub struct Run<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// Which of its backends runs it.
    pub backend: &'a Backend,
    /// The call's id.
    pub call_id: &'a str,
    /// What the agent says it is working on.
    pub task: Option<&'a str>,
    /// Where progress goes.
    pub progress: Option<tokio::sync::mpsc::Sender<Progress>>,
}

/// Runs a permitted call on validated arguments in a fresh store.
///
/// Dropping the future ends the component at once.
///
/// # Errors
/// In the execution: what the component returned as its error, the limit it hit, `timeout`, `trap`, `overloaded`, or
/// `conflict` if grant and arguments do not belong together.
pub async fn execute(sandbox: &Sandbox, grant: Grant, args: Args, run: Run<'_>) -> Execution {
    if args.digest() != grant.args() {
        let error = Error::new(Step::Sandbox, Kind::Conflict, "the arguments are not those that were permitted");
        return Execution::refused(error);
    }
    let limits = Limits::of(&run.tool.limits, args.timeout().or(run.tool.timeout), &sandbox.ceiling);
    let deadline = Instant::now() + limits.timeout;
    let _slot = match sandbox.slot(deadline).await {
        Ok(slot) => slot,
        Err(error) => return Execution::refused(error),
    };
    let Some(component) = sandbox.ready(grant.linked()) else {
        return Execution::refused(Error::internal(Step::Sandbox, "a permitted component is not loaded"));
    };
    attempt(sandbox, &component, &grant, &args, &limits, deadline, run).await
}

async fn attempt(
    sandbox: &Sandbox,
    component: &EveryPre<State>,
    grant: &Grant,
    args: &Args,
    limits: &Limits,
    deadline: Instant,
    run: Run<'_>,
) -> Execution {
    let _tick = sandbox.ticking.hold();
    let started = Instant::now();
    let call = wit::Call {
        tool: run.backend.name_in_component.clone(),
        args: wanted(&run, args),
        context: wit::Context {
            call_id: run.call_id.to_owned(),
            attempt: 1,
            deadline_ms: limits.timeout.as_millis() as u64,
            task: run.task.map(str::to_owned),
        },
    };
    let reach = Reach {
        files: Files::new(sandbox.roots.clone(), grant.writable()),
        programs: Programs::new(
            sandbox.machine.clone(),
            sandbox.roots.clone(),
            grant.writable(),
            grant.network(),
            deadline - time_to_tell(limits.timeout),
        ),
    };
    let late = reach.programs.late();
    let mut store = match store(sandbox, reach, limits, deadline, run.progress) {
        Ok(store) => store,
        Err(error) => return Execution::refused(Error::internal(Step::Sandbox, format!("{error:#}"))),
    };
    let running = async {
        let instance = component.instantiate_async(&mut store).await?;
        instance.hermes_tool_tool_execution().call_execute(&mut store, &call).await
    };
    let returned = within(deadline, &late, running).await;
    let usage = Usage {
        fuel: limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0)),
        memory_bytes: store.data().meter.memory_peak as u64,
        host_calls: store.data().meter.host_calls,
        wall_us: started.elapsed().as_micros() as u64,
    };
    let state = store.data();
    let log = collect_log(state);
    let (outcome, partial) = match returned {
        Ok(Ok(Ok(output))) => (within_output_limit(output, limits), None),
        Ok(Ok(Err(error))) => from_guest(error, limits),
        Ok(Err(error)) => (Err(from_trap(run.tool, state, limits, &error)), None),
        Err(_) => (Err(timed_out(run.tool, limits)), None),
    };
    Execution { outcome, partial, usage, log }
}

/// The arguments as the backend wants them: those of the call, or what the backend's template makes of them.
fn wanted(run: &Run<'_>, args: &Args) -> String {
    match &run.backend.arguments {
        Some(template) => crate::canonical::to_string(&template.fill_arguments(args.value())),
        None => args.canonical().to_owned(),
    }
}

/// What of the world one attempt can reach.
struct Reach {
    files: Files,
    programs: Programs,
}

fn store(
    sandbox: &Sandbox,
    reach: Reach,
    limits: &Limits,
    deadline: Instant,
    progress: Option<tokio::sync::mpsc::Sender<Progress>>,
) -> wasmtime::Result<Store<State>> {
    let state = State {
        meter: Meter::new(limits),
        wasi: Wasi::empty(limits.log),
        files: reach.files,
        open_files: 0,
        programs: reach.programs,
        log: Log::new(limits.log),
        progress,
    };
    let mut store = Store::new(&sandbox.ticking.engine, state);
    store.limiter(|state| &mut state.meter);
    store.call_hook(|mut context, hook| match hook {
        CallHook::CallingHost => context.data_mut().meter.count_host_call(),
        CallHook::CallingWasm | CallHook::ReturningFromWasm | CallHook::ReturningFromHost => Ok(()),
    });
    store.set_fuel(limits.fuel)?;
    // What a component hands to the host in one call is copied; this bounds it before it is.
    store.set_hostcall_fuel(limits.output.max(64 << 20));
    store.set_epoch_deadline(1);
    let late = store.data().programs.late();
    store.epoch_deadline_callback(move |_| match Instant::now() < end(deadline, &late) {
        true => Ok(UpdateDeadline::Yield(1)),
        false => Ok(UpdateDeadline::Interrupt),
    });
    Ok(store)
}

/// What is left to a component whose program was ended at the attempt's time: ending many processes takes a machine
/// that is busy longer than any margin before it.
const TELLING: Duration = Duration::from_secs(2);

/// When an attempt ends.
fn end(deadline: Instant, late: &AtomicBool) -> Instant {
    if late.load(Ordering::Relaxed) { deadline + TELLING } else { deadline }
}

/// Runs to the end, or to the attempt's own; `Err` for the latter. Dropping the future ends the component.
async fn within<T>(deadline: Instant, late: &AtomicBool, running: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut running = std::pin::pin!(running);
    match tokio::time::timeout_at(deadline.into(), &mut running).await {
        Err(_) if late.load(Ordering::Relaxed) => tokio::time::timeout_at((deadline + TELLING).into(), running).await,
        ended => ended,
    }
}

/// How long before the attempt's own end its programs are ended, so that the component can still tell what they said.
fn time_to_tell(timeout: Duration) -> Duration {
    (timeout / 10).clamp(Duration::from_millis(20), Duration::from_millis(300)).min(timeout)
}

fn collect_log(state: &State) -> Vec<String> {
    let printed = state.wasi.printed();
    let text = String::from_utf8_lossy(&printed);
    let lines = text.lines().take(PRINTED_LINES).map(|line| format!("print: {}", crate::document::printable(line)));
    state.log.lines.iter().cloned().chain(lines).collect()
}

impl Execution {
    fn refused(error: Error) -> Execution {
        Execution { outcome: Err(error), partial: None, usage: Usage::default(), log: Vec::new() }
    }
}

impl Sandbox {
    /// Starts the engine and opens the granted directories.
    /// `hidden` are virtual paths that no program sees.
    pub fn start(config: &Config, hidden: Vec<String>) -> Result<Sandbox, String> {
        let ceiling = config.ceiling.clone();
        let memory = usize::try_from(ceiling.memory_mb.saturating_mul(1 << 20)).unwrap_or(usize::MAX);
        let slots = u32::try_from(ceiling.concurrent_calls).unwrap_or(u32::MAX).clamp(1, MOST_SLOTS);
        let ticking = engine::Ticking::start(&settings(slots, memory))?;
        let cache = Cache::open(&config.cache_dir.join("components"), &ticking.engine);
        let roots = Arc::new(Roots::open(&config.grants, &config.protected)?);
        let machine = Arc::new(Machine::of(config, hidden));
        let waiting_places = slots * WAITING_PER_SLOT;
        let slots = Semaphore::new(slots as usize);
        let waiting = AtomicU32::new(0);
        Ok(Sandbox {
            ticking,
            cache,
            ready: RwLock::default(),
            roots,
            machine,
            ceiling,
            slots,
            waiting,
            waiting_places,
        })
    }

    /// Makes a component ready to run with the capabilities that it asked for. Compiles it if it is new.
    /// Returns the digest under which it runs.
    pub fn install(&self, bytes: &[u8], granted: &BTreeSet<String>) -> Result<Digest, InstallError> {
        let digest = Digest::of(bytes);
        let engine = &self.ticking.engine;
        if let Some(unknown) = granted.iter().find(|name| !capability::ALL.contains(&name.as_str())) {
            let why = format!("and the capabilities of this runtime are {}", capability::ALL.join(", "));
            return Err(InstallError::Import { import: unknown.clone(), why });
        }
        let component = self.cache.load(engine, bytes, &digest)?;
        install::check(&component, engine, granted)?;
        let invalid = |error: wasmtime::Error| InstallError::Invalid(format!("{error:#}"));
        let mut linker = Linker::new(engine);
        capability::link(&mut linker, granted).map_err(invalid)?;
        let pre = linker.instantiate_pre(&component).and_then(EveryPre::new).map_err(invalid)?;
        self.check_types(&pre)?;
        let mut ready = self.ready.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let names = granted.iter().map(|name| name.as_bytes());
        let linked = Digest::of_parts(std::iter::once(digest.bytes().as_slice()).chain(names));
        ready.insert(linked, Arc::new(pre));
        Ok(linked)
    }

    /// The parts of the sandbox of the operating system, as a program in it finds them, or which one is not there.
    pub async fn layers(&self) -> Result<Vec<Layer>, String> {
        capability::process::layers(&self.machine).await
    }

    /// Starts a component once, without any authority, to see that what it exports has the contract's types. One that
    /// breaks off at its start is left to its calls, which say how.
    fn check_types(&self, pre: &EveryPre<State>) -> Result<(), InstallError> {
        let limits = Limits::of(&LimitsManifest::default(), Some(TRIAL), &self.ceiling);
        let deadline = Instant::now() + limits.timeout;
        let nothing = Arc::new(Roots::none());
        let invalid = |error: wasmtime::Error| InstallError::Invalid(format!("{error:#}"));
        let _tick = self.ticking.hold();
        let reach = Reach {
            files: Files::new(nothing.clone(), false),
            programs: Programs::new(self.machine.clone(), nothing, false, false, deadline),
        };
        let mut store = store(self, reach, &limits, deadline, None).map_err(invalid)?;
        let started = poll_until(deadline, pre.instance_pre().instantiate_async(&mut store));
        match started {
            Some(Ok(instance)) => {
                let indices = bindings::EveryIndices::new(pre.instance_pre()).map_err(invalid)?;
                indices.load(&mut store, &instance).map(|_| ()).map_err(invalid)
            }
            Some(Err(_)) | None => Ok(()),
        }
    }

    fn ready(&self, digest: &Digest) -> Option<Arc<EveryPre<State>>> {
        self.ready.read().unwrap_or_else(std::sync::PoisonError::into_inner).get(digest).cloned()
    }

    /// A place to run in. Waits for one, but not behind a queue without end.
    async fn slot(&self, deadline: Instant) -> Result<tokio::sync::SemaphorePermit<'_>, Error> {
        if let Ok(slot) = self.slots.try_acquire() {
            return Ok(slot);
        }
        let overloaded = |why: &str| {
            Err(Error::new(Step::Sandbox, Kind::Overloaded, why.to_owned()).retry_after(Duration::from_secs(1)))
        };
        let waiting = Waiting::enter(&self.waiting);
        if waiting.ahead >= self.waiting_places {
            return overloaded("too many calls wait for a free slot");
        }
        match tokio::time::timeout_at(deadline.into(), self.slots.acquire()).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) => overloaded("the runtime is shutting down"),
            Err(_) => overloaded("no slot became free within the call's time"),
        }
    }
}

/// Polls a future that needs no reactor until it is ready or the time is over.
fn poll_until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    while Instant::now() < deadline {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        std::thread::yield_now();
    }
    None
}

/// Counts a waiting call for as long as it waits.
struct Waiting<'a> {
    count: &'a AtomicU32,
    ahead: u32,
}

impl Waiting<'_> {
    fn enter(count: &AtomicU32) -> Waiting<'_> {
        Waiting { count, ahead: count.fetch_add(1, Ordering::SeqCst) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}
