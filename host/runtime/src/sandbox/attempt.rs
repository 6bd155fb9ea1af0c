//! How does one attempt at a call run? In a store of its own with its own limits, until it is done or its time is over,
//! and nothing of it is left afterwards. Must not know whether there is another one.

use super::capability::browser::Tabs;
use super::capability::files::Files;
use super::capability::invoke::Invokes;
use super::capability::log::Log;
#[cfg(feature = "mcp")]
use super::capability::mcp::Reached;
use super::capability::outbound;
use super::capability::process::Programs;
use super::capability::wasi::Wasi;
use super::fixed::{self, Clock, FixedClock, Shown};
use super::limits::{Limits, Meter};
use super::worker::{self, Ask, Order};
use super::{Listener, NOT_RUN, Output, Ready, Run, Sandbox, State, failure, output, wit};
use crate::call::Digest;
use crate::cancel::{Cancel, Held};
use crate::envelope::Usage;
use crate::error::{Error, Kind, Step};
use crate::permission::Grant;
use crate::tape::{Asked, Cassette, Entry, Recorded, Tape, Times};
use crate::validation::Args;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::error::Elapsed;
use wasmtime::{CallHook, Store, UpdateDeadline};

/// What one attempt has to do.
pub(super) struct Task<'a> {
    pub(super) component: &'a Ready,
    pub(super) grant: &'a Grant,
    pub(super) args: &'a Args,
    pub(super) limits: &'a Limits,
    pub(super) run: &'a Run<'a>,
    /// 1 for the first.
    pub(super) number: u32,
    pub(super) bound: Bound,
}

/// When an attempt ends, and whose time is over then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) at: Instant,
    pub(super) kind: Kind,
    /// What was allowed.
    pub(super) time: Duration,
}

/// What came of an attempt.
pub(super) struct Tried {
    pub(super) outcome: Result<Output, Error>,
    pub(super) partial: Option<Output>,
    pub(super) usage: Usage,
    pub(super) log: Vec<String>,
    /// Whether something with a possible effect may have left the component.
    pub(super) sent: bool,
    /// What is needed to run it again, or why it cannot be.
    pub(super) tape: Result<Box<Recorded>, &'static str>,
}

impl Tried {
    pub(super) fn refused(error: Error) -> Tried {
        Tried {
            outcome: Err(error),
            partial: None,
            usage: Usage::default(),
            log: Vec::new(),
            sent: false,
            tape: Err(NOT_RUN),
        }
    }
}

/// Runs one attempt. Dropping the future ends the component at once.
pub(super) async fn run(sandbox: &Sandbox, task: Task<'_>) -> Tried {
    let Task { component, grant, args, limits, run, number, bound } = task;
    if component.instances > limits.instances {
        return Tried::refused(failure::limit_error(Kind::InstanceLimit, limits));
    }
    let _tick = sandbox.ticking.hold();
    let started = Instant::now();
    let left = bound.at.saturating_duration_since(started);
    let call = wit::Call {
        tool: run.backend.name_in_component.clone(),
        args: wanted(run, args),
        context: wit::Context {
            call_id: run.call_id.to_owned(),
            attempt: number,
            // Some microseconds of it are gone already; nobody is told of less than was allowed for that.
            deadline_ms: u64::try_from(left.as_micros().div_ceil(1000)).unwrap_or(u64::MAX),
            task: run.task.map(str::to_owned),
        },
    };
    let told = bound.at - time_to_tell(left);
    let (machine, roots) = (sandbox.machine.clone(), sandbox.roots.clone());
    let programs = Programs::new(machine, roots, grant.writable(), grant.network(), told);
    let late = programs.late();
    let mut reach = Reach {
        files: Files::new(sandbox.roots.clone(), grant.writable()),
        http: sandbox.outbound.reach(run.adapter, grant.writable(), bound.at),
        #[cfg(feature = "mcp")]
        reached: sandbox.servers.reached(run.backend, args.canonical(), told, Some(run)),
        programs,
        tabs: sandbox.tabs(run.caller, run.session, told, late.clone()),
        invokes: Invokes::new(run.adapter.invokes.clone(), run.invoker.clone(), told),
    };
    reach.http.record(sandbox.recorded);
    let seed = run.fixed.map_or_else(|| fixed::seed_of(&sandbox.seeds, run.call_id, number), |fixed| fixed.seed);
    let held = run.cancel.filter(|_| !run.tool.grace.is_zero()).map(Cancel::hold);
    if let Some(worker) = &component.worker {
        let surroundings = Surroundings { progress: run.progress.clone(), seed, ..Surroundings::default() };
        let here = match store(sandbox, reach, limits, bound.at, surroundings) {
            Ok(store) => store,
            Err(error) => return Tried::refused(Error::internal(Step::Sandbox, format!("{error:#}"))),
        };
        let (ask, progress, grace) = (Ask::Call(call), run.progress.clone(), run.tool.grace);
        let held = held.as_ref();
        let order = Order { ask, limits, seed, fixed: run.fixed, progress, until: bound.at, here, held, grace };
        return Box::pin(worker::tried(sandbox, worker, order, (component, run, bound))).await;
    }
    let shown = run.fixed.map_or(Shown::Real(started), |fixed| Shown::Fixed(FixedClock::new(fixed)));
    let clock = Clock { shown, times: Times::default() };
    let times = clock.times.clone();
    let (progress, cancel) = (run.progress.clone(), run.cancel.cloned());
    let surroundings = Surroundings { progress, cancel, clock, seed, tape: Tape::record(sandbox.recorded) };
    let mut store = match store(sandbox, reach, limits, bound.at, surroundings) {
        Ok(store) => store,
        Err(error) => return Tried::refused(Error::internal(Step::Sandbox, format!("{error:#}"))),
    };
    let mut cpu = Duration::ZERO;
    let running = component.entry.execute(&mut store, &call);
    let returned = {
        let mut running = std::pin::pin!(OnCpu { running: std::pin::pin!(running), cpu: &mut cpu });
        match unless_told(held.as_ref(), within(bound.at, &late, running.as_mut())).await {
            Some(returned) => returned,
            None => within(bound.at.min(Instant::now() + run.tool.grace), &late, running).await,
        }
    };
    let is_cancelled = held.is_some_and(|held| held.is_told());
    if let Ok(Ok(Ok(_))) = &returned {
        store.data_mut().tabs.keep();
    }
    let tape = std::mem::take(&mut store.data_mut().tape);
    let raw = raw(&returned);
    let state = store.data();
    let mut usage = Usage {
        fuel: limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0)),
        memory_bytes: state.meter.memory_peak as u64,
        host_calls: state.meter.host_calls,
        bytes_in: call.args.len() as u64,
        bytes_out: 0,
        bytes_across: state.meter.bytes + state.http.bytes(),
        cpu_us: cpu.as_micros() as u64,
        wall_us: started.elapsed().as_micros() as u64,
        attempts: 1,
    };
    let mut log = state.log.collect();
    log.extend(state.http.notes());
    let timed_out = || failure::timed_out(run.tool, bound.kind, bound.time);
    // Without a capability there is no way out, whatever became of the component.
    let can_send = !component.capabilities.is_empty();
    let (outcome, partial, sent) = match returned {
        // Nobody waits for what it returned; what it did is in its log.
        _ if is_cancelled => (Err(failure::cancelled(run.tool)), None, can_send),
        Ok(Ok(Ok(output))) => {
            usage.bytes_out = output::size(&output) as u64;
            (failure::within_limits(output, limits), None, can_send)
        }
        Ok(Ok(Err(error))) => {
            let sent = error.request_sent;
            let (outcome, partial) = failure::from_guest(error, limits);
            (outcome, partial, sent)
        }
        Ok(Err(error)) => {
            let error = failure::from_trap(&run.tool.name, state.meter.hit, limits, &error);
            (Err(error.unwrap_or_else(timed_out)), None, can_send)
        }
        Err(_) => (Err(timed_out()), None, can_send),
    };
    let raw = raw.filter(|_| !is_cancelled);
    let tape = recorded(state.http.recorded(), tape, &times, seed, call, raw.or_else(|| ended_by_itself(&outcome)));
    Tried { outcome, partial, usage, log, sent, tape }
}

/// What a component returned, written down; nothing if it was ended.
pub(super) fn raw(returned: &Returned) -> Option<Vec<u8>> {
    match returned {
        Ok(Ok(value)) => {
            // Room for all of it at once, and for what stands between its parts.
            let room = value.as_ref().map_or(0, output::size) + 256;
            postcard::to_extend(value, Vec::with_capacity(room)).ok()
        }
        Ok(Err(_)) | Err(_) => None,
    }
}

/// How it broke off, if that would be the same on another day.
pub(super) fn ended_by_itself(outcome: &Result<Output, Error>) -> Option<Vec<u8>> {
    match outcome {
        Err(error) if !matches!(error.kind, Kind::Timeout | Kind::AttemptTimeout | Kind::Cancelled) => {
            Some(error.kind.name().as_bytes().to_owned())
        }
        Ok(_) | Err(_) => None,
    }
}

fn recorded(
    requests: Result<Vec<Entry>, &'static str>,
    tape: Tape,
    times: &Times,
    seed: [u8; 32],
    call: wit::Call,
    returned: Option<Vec<u8>>,
) -> Result<Box<Recorded>, &'static str> {
    let returned = returned.ok_or("its time was over, and another day it might not be")?;
    let Tape::Recording(recording) = tape else { return Err("it was not recorded") };
    let wit::Call { tool, args, context } = call;
    let wit::Context { call_id, attempt, deadline_ms, task } = context;
    let asked = Asked { tool, args, call_id, attempt, deadline_ms, task };
    // What was returned is digested where nobody waits for it.
    let outcome = Digest::NONE;
    let requests = requests?;
    let entries = recording.entries(&requests)?;
    let cassette = Cassette { asked, seed, times: times.seen()?, entries, requests, outcome };
    Ok(Box::new(Recorded::new(cassette, returned)))
}

/// How `execute` ended: by its time, by a trap, or with what it returned.
pub(super) type Returned = Result<wasmtime::Result<Result<Output, wit::Error>>, Elapsed>;

/// The arguments as the backend wants them: those of the call, or what the backend's template makes of them.
fn wanted(run: &Run<'_>, args: &Args) -> String {
    match &run.backend.arguments {
        Some(template) => crate::canonical::to_string(&template.fill_arguments(args.value())),
        None => args.canonical().to_owned(),
    }
}

/// What of the world one attempt can reach.
pub(super) struct Reach {
    pub(super) files: Files,
    pub(super) programs: Programs,
    pub(super) http: outbound::Sending,
    #[cfg(feature = "mcp")]
    pub(super) reached: Reached,
    pub(super) tabs: Tabs,
    pub(super) invokes: Invokes,
}

/// What is around one attempt beside what it can reach.
pub(super) struct Surroundings {
    pub(super) progress: Option<Listener>,
    pub(super) cancel: Option<Cancel>,
    pub(super) clock: Clock,
    pub(super) seed: [u8; 32],
    pub(super) tape: Tape,
}

impl Default for Surroundings {
    fn default() -> Surroundings {
        let clock = Clock { shown: Shown::Real(Instant::now()), times: Times::default() };
        Surroundings { progress: None, cancel: None, clock, seed: [0; 32], tape: Tape::Off }
    }
}

pub(super) fn store(
    sandbox: &Sandbox,
    reach: Reach,
    limits: &Limits,
    deadline: Instant,
    surroundings: Surroundings,
) -> wasmtime::Result<Store<State>> {
    let Surroundings { progress, cancel, clock, seed, tape } = surroundings;
    let log = Log::new(limits);
    let state = State {
        meter: Meter::new(limits),
        wasi: Wasi::empty(limits, &log, clock, seed),
        files: reach.files,
        open_files: 0,
        programs: reach.programs,
        http: reach.http,
        running: 0,
        #[cfg(feature = "mcp")]
        reached: reach.reached,
        tabs: reach.tabs,
        invokes: reach.invokes,
        tape,
        log,
        progress,
        reported: (0, None),
        cancel,
    };
    let mut store = Store::new(&sandbox.ticking.engine, state);
    store.limiter(|state| &mut state.meter);
    let (call, result) = (limits.host_call_bytes, limits.output);
    // What a component hands to the host is copied; this bounds it before it is. A result may have another size than
    // what it hands over in a call.
    store.call_hook(move |mut context, hook| match hook {
        CallHook::CallingHost => {
            context.set_hostcall_fuel(call);
            context.data_mut().meter.count_host_call()
        }
        CallHook::ReturningFromWasm => {
            context.set_hostcall_fuel(result);
            Ok(())
        }
        CallHook::CallingWasm | CallHook::ReturningFromHost => Ok(()),
    });
    store.set_max_component_handles(limits.handles);
    store.set_fuel(limits.fuel)?;
    store.set_epoch_deadline(1);
    let late = store.data().programs.late();
    store.epoch_deadline_callback(move |mut context| {
        // The hook above has counted the tick itself, which is the engine's and not the component's.
        context.data_mut().meter.discount_host_call();
        match Instant::now() < end(deadline, &late) {
            true => Ok(UpdateDeadline::Yield(1)),
            false => Ok(UpdateDeadline::Interrupt),
        }
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

/// Runs to the end; nothing if it is told before that nobody waits any more.
async fn unless_told<T>(held: Option<&Held>, running: impl Future<Output = T>) -> Option<T> {
    let Some(held) = held else { return Some(running.await) };
    tokio::select! {
        biased;
        returned = running => Some(returned),
        () = held.told() => None,
    }
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

/// Adds up the time of the processor that polling a future takes. Its fibers run on the thread that polls.
struct OnCpu<'a, F> {
    running: Pin<&'a mut F>,
    cpu: &'a mut Duration,
}

impl<F: Future> Future for OnCpu<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let before = time_of_thread();
        let polled = self.running.as_mut().poll(context);
        *self.cpu += time_of_thread().saturating_sub(before);
        polled
    }
}

pub(super) fn time_of_thread() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
