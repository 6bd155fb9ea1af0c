//! Step 5 of 7: what does the tool do, within its limits?

mod attempt;
mod bindings;
mod built_in;
pub(crate) mod capability;
mod compile;
pub mod component;
pub mod describe;
mod engine;
mod entry;
mod execution;
mod failure;
mod fixed;
pub(crate) mod health;
mod helper;
pub mod install;
pub mod limits;
mod loading;
mod output;
mod place;
mod rerun;
mod retry;
mod session;
mod slots;
pub mod values;
mod worker;

use crate::adapter::{Adapter, Other};
use crate::call::{Call, Caller, Digest, Fixed, Parent};
use crate::cancel::Cancel;
use crate::config::{Ceiling, Config};
use crate::error::{Error, Kind, Step};
use crate::map::Map;
use crate::permission::Grant;
use crate::profile::Profile;
use crate::registry::Tool;
use crate::registry::manifest::LimitsManifest;
use crate::registry::running::{Backend, Retry};
use crate::tape::Tape;
use crate::trail::Trail;
use crate::validation::Args;
use attempt::{Bound, Reach, Task};
use bindings::hermes::tool::types as wit;
pub use bindings::hermes::tool::types::{Content, ErrorKind, Output};
pub use built_in::answer;
pub(crate) use capability::Offer;
use capability::browser::{Browsers, Tabs};
use capability::embedder::Embedder;
use capability::files::{Files, Roots};
use capability::invoke::Invokes;
#[cfg(feature = "mcp")]
pub use capability::invoke::back::CallBack;
pub(crate) use capability::invoke::{Invocation, Invoker};
use capability::log::Log;
#[cfg(feature = "mcp")]
pub use capability::mcp::{OfferChange, servers_seen};
#[cfg(feature = "mcp")]
use capability::mcp::{Reached, Servers};
use capability::outbound::{self, Outbound};
use capability::own::Own;
pub use capability::process::Layer;
use capability::process::{Machine, Programs};
pub(crate) use capability::progress::Listener;
use capability::wasi::Wasi;
use compile::Compiler;
pub use engine::settings;
use entry::Entry;
pub use execution::Execution;
use execution::NOT_RUN;
pub use helper::{helper_main, is_helper, is_in_sandbox};
use install::Cache;
use limits::{Limits, Meter};
pub(crate) use place::reaches_across;
pub use rerun::Rerun;
use retry::{Failed, Times};
use slots::Slots;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock, Weak};
use std::time::{Duration, Instant};
pub(crate) use worker::{Answer, Ask, Ended, Order, WORK, Worker, drive};

/// Most calls that run at the same time; each slot takes address space.
const MOST_SLOTS: u32 = 1000;

/// Where components run. Lifetime: the runtime.
pub struct Sandbox {
    ticking: engine::Ticking,
    cache: Cache,
    compiler: Compiler,
    /// Each is there as long as an adapter holds it.
    ready: RwLock<Map<Digest, Weak<Ready>>>,
    roots: Arc<Roots>,
    machine: Arc<Machine>,
    outbound: Outbound,
    #[cfg(feature = "mcp")]
    servers: Arc<Servers>,
    browsers: Arc<Browsers>,
    own: Arc<Own>,
    embedder: Embedder,
    /// Where components run that are not to run in this process and not in its sandbox.
    profiles: BTreeMap<String, Arc<dyn Profile>>,
    ceiling: Ceiling,
    /// From which the seeds of calls follow.
    seeds: [u8; 32],
    /// Most bytes that are recorded of one attempt.
    recorded: usize,
    slots: Slots,
}

/// A component that can be started. Lifetime: the adapter.
pub(crate) struct Ready {
    entry: Entry,
    capabilities: BTreeSet<String>,
    /// Core instances that it is made of.
    instances: u64,
    /// What its calls get where no manifest says how much.
    usual: LimitsManifest,
    /// What runs it in a process of its own, if it is not to run in this one.
    worker: Option<Worker>,
}

/// The host's side of one attempt.
pub(crate) struct State {
    meter: Meter,
    wasi: Wasi,
    files: Files,
    open_files: u32,
    programs: Programs,
    /// Programs that run now.
    running: u32,
    http: outbound::Sending,
    #[cfg(feature = "mcp")]
    reached: Reached,
    tabs: Tabs,
    invokes: Invokes,
    tape: Tape,
    log: Log,
    progress: Option<Listener>,
    /// How far the component said that it is, and of how much.
    reported: (u64, Option<u64>),
    cancel: Option<Cancel>,
}

/// What the sandbox has to know besides grant and arguments.
pub struct Run<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The adapter that runs it.
    pub adapter: &'a Adapter,
    /// Which of its backends runs it.
    pub backend: &'a Backend,
    /// Those that can be asked when it got nothing, the best first. The grant covers what runs them.
    pub others: Vec<Other<'a>>,
    /// Who calls.
    pub caller: &'a Arc<Caller>,
    /// In which of its sessions.
    pub session: &'a Arc<str>,
    /// The call's id.
    pub call_id: &'a str,
    /// What the agent says it is working on.
    pub task: Option<&'a str>,
    /// Where progress goes.
    pub(crate) progress: Option<Listener>,
    /// The clock and the randomness, for a test or a replay.
    pub fixed: Option<&'a Fixed>,
    /// The call within which it is made.
    pub parent: Option<&'a Parent>,
    /// How it is told that nobody waits any more.
    pub cancel: Option<&'a Cancel>,
    /// How it makes other calls, if it may.
    pub(crate) invoker: Option<Invoker>,
}

/// Runs a permitted call on validated arguments, each attempt in a fresh store, again where the tool's retry policy
/// says so and it is safe. Each attempt after the first is in the journal before it begins; the first one's record is
/// the call's intent.
///
/// Dropping the future ends the component at once.
///
/// # Errors
/// In the execution: what the component returned as its error, the limit it hit, `timeout`, `attempt_timeout`, `trap`,
/// `overloaded`, or `conflict` if grant and arguments do not belong together.
pub(crate) async fn execute(sandbox: &Sandbox, grant: Grant, args: Args, run: Run<'_>, trail: &mut Trail) -> Execution {
    if args.digest() != grant.args() {
        let error = Error::new(Step::Sandbox, Kind::Conflict, "the arguments are not those that were permitted");
        return Execution::refused(error);
    }
    let Some(mut component) = sandbox.ready(grant.linked()) else {
        return Execution::refused(Error::internal(Step::Sandbox, "a permitted component is not loaded"));
    };
    let (tool, mut run) = (run.tool, run);
    let mut limits = sandbox.limits(&component, &args, &run);
    let ceiling = Duration::from_millis(sandbox.ceiling.deadline_ms);
    let times = Times::of(tool, limits.timeout, ceiling);
    let end = Instant::now() + times.call;
    let end = run.parent.map_or(end, |parent| end.min(parent.until));
    let mut made: Option<Execution> = None;
    for number in 1.. {
        let slot = match sandbox.slots.take(end, run.parent.is_some()).await {
            Ok(slot) => slot,
            // A call that has failed once says why it failed, not why it is not tried again.
            Err(error) if number == 1 => return Execution::refused(error),
            Err(_) => break,
        };
        let bound = bound(&times, tool.retry.as_ref(), number, end);
        let began = Instant::now();
        let task =
            Task { component: &component, grant: &grant, args: &args, limits: &limits, run: &run, number, bound };
        let tried = attempt::run(sandbox, task).await;
        drop(slot);
        if let Some(parent) = run.parent {
            parent.use_fuel(tried.usage.fuel);
        }
        let sent = tried.sent;
        let execution = match &mut made {
            Some(execution) => execution.again(number, tried),
            none => none.insert(Execution::first(tried)),
        };
        execution.note_answer(run.backend, began.elapsed());
        let Err(error) = &execution.outcome else { break };
        if error.kind == Kind::Cancelled {
            break;
        }
        let repeatable = !grant.writable() || tool.effect.idempotent;
        let failed = Failed { error, attempts: number, repeatable, sent };
        let pause = retry::next(tool.retry.as_ref(), &failed, retry::chance());
        // A backend that got nothing is no reason to wait while there is another one.
        let other = !sent && retry::is_out_of_reach(error.kind) && !run.others.is_empty();
        let other = other.then(|| run.others.remove(0));
        let pause = if other.is_some() { Some(Duration::ZERO) } else { pause };
        let Some(pause) = pause.filter(|pause| Instant::now() + *pause < end) else { break };
        tokio::time::sleep(pause).await;
        if let Some((backend, adapter)) = other {
            let ready = Some(&adapter.linked).filter(|linked| grant.covers(linked));
            let Some(ready) = ready.and_then(|linked| sandbox.ready(linked)) else { break };
            (component, run.backend, run.adapter) = (ready, backend, adapter);
            limits = sandbox.limits(&component, &args, &run);
            let facts = &mut trail.facts;
            (facts.backend, facts.adapter) = (Some(backend.key.clone()), Some(adapter.name.clone()));
            facts.component = Some(adapter.component);
            facts.from_outside |= adapter.is_outside();
        }
        if trail.attempt(number + 1, error, grant.durable()).await.is_err() {
            break;
        }
    }
    made.unwrap_or_else(|| Execution::refused(Error::internal(Step::Sandbox, "no attempt was made")))
}

/// When an attempt ends. The last one takes what is left of the call, unless the call's time was declared.
fn bound(times: &Times, retry: Option<&Retry>, number: u32, end: Instant) -> Bound {
    let at = Instant::now() + times.attempt;
    let last = number > retry.map_or(0, |retry| retry.max_retries) && !times.declared;
    match at < end && !last {
        true => Bound { at, kind: Kind::AttemptTimeout, time: times.attempt },
        false => Bound { at: at.min(end), kind: Kind::Timeout, time: times.call },
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
        let roots = Arc::new(Roots::open(&config.grants, &config.protected)?.failing(config.file_faults));
        let helper = helper::named(config.process.helper.as_ref());
        let own = Arc::new(Own::default());
        let browsers = Arc::new(Browsers::of(config, helper.clone(), roots.clone(), own.clone()));
        let machine = Arc::new(Machine::of(config, helper.clone(), hidden));
        let compiler = Compiler { helper, settings: config.install.clone(), slots, memory };
        let outbound = Outbound::of(config)?;
        #[cfg(feature = "mcp")]
        let servers = Arc::new(Servers::start(config, machine.clone(), outbound.credentials())?);
        Ok(Sandbox {
            ticking,
            cache,
            compiler,
            ready: RwLock::default(),
            roots,
            machine,
            outbound,
            #[cfg(feature = "mcp")]
            servers,
            browsers,
            own,
            embedder: Embedder::of(&config.authorities)?,
            profiles: place::profiles(&config.profiles)?,
            ceiling,
            seeds: fixed::fresh_seed().map_err(|error| format!("the system has no random numbers: {error}"))?,
            recorded: config.result.recorded().saturating_mul(2),
            slots: Slots::new(slots),
        })
    }

    /// What a call has that makes others, as long as it may take at most.
    pub(crate) fn around(&self, call: &Call, id: &Arc<str>, tool: &Tool, adapter: &Adapter, trail: &Trail) -> Parent {
        let written = tool.limits.under(&adapter.limits);
        let written = match self.ready(&adapter.linked) {
            Some(component) => written.or_usual(&component.usual),
            None => written,
        };
        let limits = Limits::of(&written, tool.timeout, &self.ceiling);
        let until = Instant::now() + Duration::from_millis(self.ceiling.deadline_ms);
        Parent::of(call, id.clone(), limits.fuel, trail.facts.from_outside, until)
    }

    /// How many calls run and how many wait.
    pub(crate) fn busy(&self) -> (u64, u64) {
        self.slots.busy()
    }

    /// What a capability has to offer as tools of the adapter that serves it, and what is left out and why.
    pub(crate) fn offered(&self, capability: &str, adapter: &str) -> (Vec<Offer>, Vec<String>) {
        capability::offered(self, capability, adapter)
    }

    /// The parts of the sandbox of the operating system, as a program in it finds them, or which one is not there.
    pub async fn layers(&self) -> Result<Vec<Layer>, String> {
        capability::process::layers(&self.machine).await
    }

    /// What of the world a component has that is only looked at: nothing.
    fn no_reach(&self, deadline: Instant) -> Reach {
        let nothing = Arc::new(Roots::none());
        let programs = Programs::new(self.machine.clone(), nothing.clone(), false, false, deadline);
        Reach {
            files: Files::new(nothing, false),
            tabs: self.no_tabs(deadline, programs.late()),
            programs,
            http: outbound::nothing(),
            #[cfg(feature = "mcp")]
            reached: self.servers.nothing(),
            invokes: Invokes::new(Arc::default(), None, deadline),
        }
    }

    /// What an attempt at a call may use up.
    fn limits(&self, component: &Ready, args: &Args, run: &Run<'_>) -> Limits {
        let written = run.tool.limits.under(&run.adapter.limits).or_usual(&component.usual);
        let mut limits = Limits::of(&written, args.timeout().or(run.tool.timeout), &self.ceiling);
        if let Some(parent) = run.parent {
            limits.fuel = limits.fuel.min(parent.fuel());
        }
        limits
    }

    fn ready(&self, digest: &Digest) -> Option<Arc<Ready>> {
        self.ready.read().unwrap_or_else(std::sync::PoisonError::into_inner).get(digest).and_then(Weak::upgrade)
    }
}
