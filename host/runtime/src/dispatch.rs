//! The spine: seven lines, one a step, and one record on every exit.

use crate::adapter::health::Observed;
use crate::adapter::plugin::Embedded;
use crate::adapter::{self, Adapter, Other, Route};
use crate::artifact::Artifacts;
use crate::built_in::{self, Asked};
use crate::call::Call;
use crate::config::Config;
use crate::early::Early;
use crate::envelope::Metadata;
use crate::error::{Error, Step};
use crate::injection::audit::incident;
use crate::injection::session::Sessions;
use crate::injection::{self, Ending, Injection, feedback, recovery, trajectory};
use crate::journal::{Journal, OpenError, Projection, now_ms};
use crate::measure::Measures;
use crate::permission::approval::Approver;
use crate::permission::change::Look;
use crate::permission::target::path::Places;
use crate::permission::{self, Authority};
use crate::registry::limit::{self, Limiter, Limits};
use crate::registry::running::Backend;
use crate::registry::statistics;
use crate::registry::{self, Tool, life};
use crate::result::relevance::Weights;
use crate::result::secret::Masks;
use crate::sandbox::install::Installing;
use crate::sandbox::{self, Execution, Listener, Run, Sandbox};
use crate::shelf::{Shelf, StartError};
use crate::showing;
use crate::toolbox::Toolbox;
use crate::trail::{Trail, TrailStart};
use crate::upkeep::{Kept, Upkeep};
use crate::validation::learning;
use crate::{nesting, unwind, validation};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// The only way from an agent to the world. Lifetime: the process, or as long as its embedder wants.
pub struct Runtime {
    /// Ends first, so that it uses nothing any more when the rest goes.
    _upkeep: Upkeep,
    pub(crate) config: Config,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) places: Places,
    pub(crate) memory: permission::Memory,
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) observed: Arc<Observed>,
    approver: Option<Arc<dyn Approver>>,
    pub(crate) weights: Weights,
    limits: Limits,
    pub(crate) masks: Arc<Masks>,
    pub(crate) artifacts: Artifacts,
    pub(crate) sessions: Sessions,
    pub(crate) measures: Arc<Measures>,
}

/// What the steps keep beside the records.
const PROJECTIONS: &[Projection] = &[
    statistics::PROJECTION,
    life::PROJECTION,
    limit::PROJECTION,
    permission::APPROVALS,
    permission::PASTS,
    trajectory::PROJECTION,
    recovery::PROJECTION,
    learning::PROJECTION,
    incident::PROJECTION,
    feedback::PROJECTION,
];

/// How a call failed, with what there was of its result.
pub(crate) struct Failed {
    pub(crate) error: Error,
    pub(crate) data: Value,
}

/// Opens the journal of a state folder for people: what waits for them, and what they decide.
///
/// # Errors
/// If the folder cannot be used or the file cannot be opened.
pub fn open_journal(state_dir: &std::path::Path) -> Result<Journal, OpenError> {
    Journal::open(state_dir, PROJECTIONS)
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, data: Value::Null }
    }
}

impl Runtime {
    /// Runs one call through the seven steps. Every outcome, refusals too, is an envelope and exactly one record.
    ///
    /// Dropping the future cancels the call, at any await: what runs is ended and the outcome is recorded as cancelled.
    pub async fn call(&self, call: Call) -> Injection {
        let call_id: Arc<str> = ulid::Ulid::generate().to_string().into();
        let span = tracing::info_span!(
            target: "hermes::call", "call", call_id = &*call_id, role = &*call.caller.role, tool = Empty, code = Empty
        );
        // All that a call holds is some kilobytes: its futures are pinned where they are made, and what few calls need is
        // in a box, so that nothing large is moved from hand to hand.
        let called = std::pin::pin!(self.called(call, call_id, span.clone()));
        called.instrument(span).await
    }

    async fn called(&self, call: Call, call_id: Arc<str>, span: Span) -> Injection {
        let start = TrailStart {
            call_id: call_id.clone(),
            caller: call.caller.clone(),
            session: call.session.clone(),
            situation: call.situation.clone(),
            parent: call.parent.as_ref().map(|parent| parent.call_id.clone()),
            span,
            measures: self.measures.clone(),
        };
        let mut trail = match self.journal.begin(start).await {
            Ok(trail) => trail,
            Err(error) => {
                self.measures.refused(error.code);
                return Injection::refused(error, &call_id, &call.tool);
            }
        };
        let ids = (call_id.to_string(), call_id.to_string());
        let mut metadata = Box::new(Metadata { call_id: ids.0, audit_id: ids.1, ..Metadata::default() });
        let mut durable = false;
        let call = registry::stands_for::meant(&self.toolbox().registry, &call);
        let ended = {
            let steps = std::pin::pin!(self.steps(&call, &mut trail, &mut metadata, &mut durable));
            unwind::caught(steps).await
        };
        let ended = ended.unwrap_or_else(|panic| Err(trail.panicked(panic).into()));
        let args = trail.args.take();
        // What a person or a rule refused above LOW is as durable as what ran.
        durable |= trail.facts.risk_level.as_ref().is_some_and(|level| level != "low") || trail.facts.layer == Some(3);
        metadata.tool = trail.facts.tool.to_string();
        metadata.risk = showing::risk_note(&trail.facts);
        self.memory.note(&call, &call_id, &trail.facts, ended.as_ref().err().map(|failed| &failed.error));
        let ending = match ended {
            Ok(data) => Ending { keep: self.keeps(&args, &data), data, error: None, durable },
            Err(Failed { mut error, data }) => {
                // What may have had its effect is not simply repeated.
                error.retryable &= !durable || metadata.attempts == 0;
                Ending { keep: self.keeps(&args, &data), data, error: Some(error), durable }
            }
        };
        injection::inject(trail, ending, metadata, &self.masks).await
    }

    async fn steps(
        &self,
        call: &Call,
        trail: &mut Trail,
        metadata: &mut Metadata,
        durable: &mut bool,
    ) -> Result<Value, Failed> {
        let toolbox = self.toolbox();
        let looks = || registry::lookup(&toolbox.registry, &call.tool, &call.caller.role);
        let found = trail.enter(Step::Registry).in_scope(looks);
        match &found {
            Ok(tool) => showing::describe_tool(tool, trail, metadata),
            Err(_) => trail.facts.tool = registry::meant_in_vain(&toolbox.registry, &call.tool),
        }
        let tool = trail.step(Step::Registry, found)?;
        let routes = || adapter::route(&toolbox.adapters, tool, &self.observed, Instant::now());
        let route = trail.enter(Step::Adapter).in_scope(routes);
        let Route { adapter, backend, others, note } = trail.step(Step::Adapter, route)?;
        showing::describe_adapter(adapter, backend, trail, metadata);
        metadata.route = note;
        metadata.untrusted = showing::comes_from_outside(tool, adapter);
        let longest = Duration::from_millis(self.config.ceiling.timeout_ms);
        let session = self.sessions.of(call, Instant::now());
        trail.works_on(session.task());
        let preview = || {
            let judged = validation::judge(tool, &call.args, longest)?;
            self.refuse_unseen(tool, &judged, &session)?;
            Ok(judged)
        };
        let call_id = trail.call_id();
        let look = |path: &str| self.sandbox.glance(path);
        let authority = self.authority(&toolbox, &call_id, &look)?;
        let judging = trail.enter(Step::Permission);
        let permitted = {
            let facts = &mut trail.facts;
            let permitting = std::pin::pin!(permission::permit(call, tool, adapter, &authority, preview, facts));
            permitting.instrument(judging).await
        };
        authority.limiter.note(tool, &call.caller.id, permitted.as_ref().err());
        let (mut grant, judged) = trail.step(Step::Permission, permitted)?;
        metadata.repairs = judged.repairs.to_vec();
        metadata.sensitivity = trail.facts.sensitivity.clone();
        if trail.facts.from_outside {
            metadata.taint = showing::from(adapter);
        }
        session.note_arguments(&judged.canonical);
        trail.args = Some(judged.canonical.clone());
        trail.facts.form = learning::form(tool, &judged);
        let admitted = trail.enter(Step::Validation).in_scope(|| validation::admit(judged, &grant));
        let args = trail.step(Step::Validation, admitted)?;
        let others = grant.cover(others, &self.config.http);
        *durable = grant.durable();
        trail.facts.writes = grant.writable();
        if *durable {
            trail.refuse_if_failing()?;
            let mut claims = grant.take_claims();
            claims.extend(authority.limiter.again(tool, &call.caller.id));
            trail.intent(claims).await?;
        }
        let own = tool.built_in.map(|place| (place, Asked { call, args: args.value(), toolbox: &toolbox }));
        let mut run = self.run(call, tool, (adapter, backend, others), &metadata.call_id);
        let running = trail.enter(Step::Sandbox);
        let execution = match own {
            Some((place, asked)) => {
                let answering = built_in::answer(place, self, asked);
                Box::pin(sandbox::answer(grant, &args, tool, answering)).instrument(running).await
            }
            None if adapter.invokes.is_empty() && !self.sandbox.calls_back(adapter) => {
                let executing = std::pin::pin!(sandbox::execute(&self.sandbox, grant, args, run, trail));
                executing.instrument(running).await
            }
            None => {
                let (invoker, requests) = nesting::invoker(self.sandbox.around(call, &call_id, tool, adapter, trail));
                run.invoker = Some(invoker);
                let executing = sandbox::execute(&self.sandbox, grant, args, run, trail);
                Box::pin(self.alongside(call, requests, executing)).instrument(running).await
            }
        };
        self.note_answers(tool, &execution, metadata);
        showing::describe_moved(tool, &toolbox.adapters, trail, metadata);
        let shaped = self.shape(&session.looks_for(call), (tool, backend), execution, trail, metadata);
        self.show(call, shaped, &session, trail, metadata)
    }

    fn authority<'a>(
        &'a self,
        toolbox: &'a Toolbox,
        call_id: &'a Arc<str>,
        look: &'a Look<'a>,
    ) -> Result<Authority<'a>, Error> {
        let writing = self.journal.writing()?;
        Ok(Authority {
            call_id,
            journal: &self.journal,
            memory: &self.memory,
            look,
            places: &self.places,
            policies: &toolbox.policies,
            http: &self.config.http,
            settings: &self.config.approval,
            approver: self.approver.as_deref(),
            limiter: Limiter { limits: &self.limits, writing, call_id: call_id.clone() },
        })
    }

    fn run<'a>(
        &'a self,
        call: &'a Call,
        tool: &'a Tool,
        (adapter, backend, others): (&'a Adapter, &'a Backend, Vec<Other<'a>>),
        call_id: &'a str,
    ) -> Run<'a> {
        if adapter::is_observed(tool) {
            self.observed.begin_trial(&backend.digest, Instant::now());
        }
        Run {
            tool,
            adapter,
            backend,
            others,
            caller: &call.caller,
            session: &call.session,
            call_id,
            task: call.situation.task.as_deref(),
            progress: call.progress.clone().map(|to| Listener::new(to, self.masks.clone())),
            fixed: call.fixed.as_deref(),
            parent: call.parent.as_deref(),
            cancel: call.cancel.as_ref(),
            invoker: None,
        }
    }
}

impl Runtime {
    /// What this call teaches about the tool's backends, where there is something to choose.
    fn note_answers(&self, tool: &Tool, execution: &Execution, metadata: &mut Metadata) {
        if !adapter::is_observed(tool) {
            return;
        }
        let place = |digest| tool.backends.iter().position(|backend| backend.digest == digest).map(|place| place + 1);
        for (backend, attempt) in &execution.answers {
            self.observed.note_call(backend, attempt, adapter::rule(tool), Instant::now());
        }
        if let Some(note) = &mut metadata.route {
            let mut asked: Vec<usize> = execution.answers.iter().filter_map(|(backend, _)| place(*backend)).collect();
            asked.dedup();
            note.moved = asked.split_off(asked.len().min(1));
        }
    }
}

impl Runtime {
    /// Starts a runtime: opens the journal, reads plugins and manifests, makes components ready.
    ///
    /// `embedded` are plugins that are part of the program. `approver` is asked when a person has to decide; without
    /// one, such calls are refused.
    pub fn start(
        config: Config,
        embedded: &[Embedded],
        approver: Option<Arc<dyn Approver>>,
    ) -> Result<Runtime, StartError> {
        Runtime::start_watched(config, embedded, approver, &mut |_| ())
    }

    /// The same, and says before each component that has to be compiled which one it is: that takes a while.
    pub fn start_watched(
        config: Config,
        embedded: &[Embedded],
        approver: Option<Arc<dyn Approver>>,
        watch: &mut dyn FnMut(Installing<'_>),
    ) -> Result<Runtime, StartError> {
        let config = config.with_own_places_protected();
        std::thread::scope(|scope| {
            let early = Early::begin(scope, &config, true);
            Runtime::start_beside(early, config.clone(), embedded, approver, watch)
        })
    }

    fn start_beside(
        early: Early<'_>,
        config: Config,
        embedded: &[Embedded],
        approver: Option<Arc<dyn Approver>>,
        watch: &mut dyn FnMut(Installing<'_>),
    ) -> Result<Runtime, StartError> {
        let journal = Journal::open(&config.state_dir, PROJECTIONS)?;
        let masks = showing::masks(&config)?;
        let journal = match masks.look_for_nothing() {
            true => journal,
            false => journal.masking(masks.clone()),
        };
        let unknown = journal.close_open(recovery::unknown_outcomes)?;
        if unknown > 0 {
            tracing::warn!(unknown, "an earlier process ended while calls ran; what came of them is unknown");
        }
        let records = config.result.keep_records();
        let before_ms = now_ms().saturating_sub(records.age.as_millis() as u64);
        journal.tidy(Box::new(move |tables| trajectory::prune(tables, before_ms, records.bytes).map(|_| Ok(()))));
        let artifacts = Artifacts::beneath(&config.state_dir);
        artifacts.prune(config.result.keep(), SystemTime::now());
        let (grants, protected) = (config.virtual_grants(), config.virtual_protected());
        let places = Places { grants, protected, secrets: config.virtual_secrets(), hosts: config.browser.grants() };
        let sandbox = Arc::new(Sandbox::start(&config, places.hidden()).map_err(StartError::Sandbox)?);
        let out = journal.look(life::out)?;
        let shelf = Arc::new(Shelf::start((early, &config), embedded, (&*sandbox, &out), watch)?);
        let weights = feedback::weights(&config.state_dir);
        let (journal, observed) = (Arc::new(journal), Arc::<Observed>::default());
        let kept = Kept {
            shelf: shelf.clone(),
            sandbox: sandbox.clone(),
            journal: journal.clone(),
            observed: observed.clone(),
        };
        Ok(Runtime {
            _upkeep: Upkeep::start(kept).map_err(StartError::Sandbox)?,
            config,
            shelf,
            places,
            memory: permission::Memory::default(),
            sandbox,
            journal,
            observed,
            approver,
            weights,
            limits: Limits::default(),
            masks,
            artifacts,
            sessions: Sessions::new(showing::SESSION_IDLE),
            measures: Arc::default(),
        })
    }
}
