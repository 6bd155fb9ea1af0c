//! The spine: seven lines, one a step, and one record on every exit.

use crate::adapter::plugin::Embedded;
use crate::adapter::{self, Adapter, Route};
use crate::built_in::{self, Asked};
use crate::call::{Call, Caller};
use crate::config::Config;
use crate::document::Faults;
use crate::envelope::{Metadata, RiskNote};
use crate::error::{Error, Step};
use crate::injection::{self, Ending, Injection};
use crate::journal::{Journal, OpenError, Projection};
use crate::permission::approval::Approver;
use crate::permission::target::path::Places;
use crate::permission::{self, Authority};
use crate::record::Facts;
use crate::registry::discovery::Qualities;
use crate::registry::limit::{self, Limiter, Limits};
use crate::registry::running::Backend;
use crate::registry::statistics::{self, By, Use};
use crate::registry::{self, Tool};
use crate::result::relevance::Weights;
use crate::result::truncate::Measure;
use crate::result::{self, Shaped};
use crate::sandbox::install::Installing;
use crate::sandbox::{self, Execution, Run, Sandbox};
use crate::toolbox::{self, Toolbox};
use crate::trail::{Trail, TrailStart};
use crate::validation::learning;
use crate::{unwind, validation};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The only way from an agent to the world. Lifetime: the process, or as long as its embedder wants.
pub struct Runtime {
    config: Config,
    toolbox: RwLock<Arc<Toolbox>>,
    places: Places,
    sandbox: Sandbox,
    journal: Journal,
    approver: Option<Arc<dyn Approver>>,
    weights: Weights,
    limits: Limits,
}

/// What the steps keep beside the records.
const PROJECTIONS: &[Projection] = &[statistics::PROJECTION, limit::PROJECTION, learning::PROJECTION];

/// Why a runtime could not start. A plugin or manifest that is wrong is no such reason; see [`Toolbox::faults`].
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal cannot be written, so nothing may run.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The engine or a granted directory is not there.
    #[error("{0}")]
    Sandbox(String),
    /// A policy is wrong. Without it the others could permit what it forbids, so nothing runs.
    #[error("the policies are wrong:\n{0}")]
    Policies(#[from] Faults),
}

/// How a call failed, with what there was of its result.
struct Failed {
    error: Error,
    data: Value,
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
        let start = TrailStart {
            call_id: call_id.clone(),
            caller: call.caller.clone(),
            session: call.session.clone(),
            situation: call.situation.clone(),
        };
        let mut trail = match self.journal.begin(start).await {
            Ok(trail) => trail,
            Err(error) => return Injection::refused(error, &call_id, &call.tool),
        };
        let mut metadata =
            Metadata { call_id: call_id.to_string(), audit_id: call_id.to_string(), ..Metadata::default() };
        let mut durable = false;
        let call = registry::stands_for::meant(&self.toolbox().registry, &call);
        let ended = match unwind::caught(self.steps(&call, &mut trail, &mut metadata, &mut durable)).await {
            Ok(ended) => ended,
            Err(panic) => Err(trail.panicked(panic).into()),
        };
        // What a person or a rule refused above LOW is as durable as what ran.
        durable |= trail.facts.risk_level.as_ref().is_some_and(|level| level != "low") || trail.facts.layer == Some(3);
        metadata.tool = trail.facts.tool.to_string();
        metadata.risk = risk_note(&trail.facts);
        let ending = match ended {
            Ok(data) => Ending { data, error: None, durable },
            Err(Failed { mut error, data }) => {
                // What may have had its effect is not simply repeated.
                error.retryable &= !durable || metadata.attempts == 0;
                Ending { data, error: Some(error), durable }
            }
        };
        injection::inject(trail, ending, metadata).await
    }

    async fn steps(
        &self,
        call: &Call,
        trail: &mut Trail,
        metadata: &mut Metadata,
        durable: &mut bool,
    ) -> Result<Value, Failed> {
        let toolbox = self.toolbox();
        let found = registry::lookup(&toolbox.registry, &call.tool, &call.caller.role);
        if found.is_err() {
            trail.facts.tool = crate::document::excerpt(&call.tool, 200).into();
        }
        let tool = trail.step(Step::Registry, found)?;
        describe_tool(tool, trail, metadata);
        let Route { adapter, backend } = trail.step(Step::Adapter, adapter::route(&toolbox.adapters, tool))?;
        describe_adapter(adapter, backend, trail, metadata);
        let longest = Duration::from_millis(self.config.ceiling.timeout_ms);
        let preview = || validation::judge(tool, &call.args, longest);
        let authority = self.authority(&toolbox, &trail.call_id())?;
        let permitted = permission::permit(call, tool, adapter, &authority, preview, &mut trail.facts).await;
        authority.limiter.note(tool, &call.caller.id, permitted.as_ref().err());
        let (grant, judged) = trail.step(Step::Permission, permitted)?;
        metadata.repairs = judged.repairs.to_vec();
        let asked = judged.canonical.clone();
        trail.facts.form = learning::form(tool, &judged);
        let args = trail.step(Step::Validation, validation::admit(judged, &grant))?;
        *durable = grant.durable();
        if *durable {
            trail.refuse_if_failing()?;
            trail.intent(authority.limiter.again(tool, &call.caller.id).into_iter().collect()).await?;
        }
        let own = tool.built_in.map(|place| (place, Asked { call, args: args.value(), toolbox: &toolbox }));
        let run = self.run(call, tool, (adapter, backend), &metadata.call_id);
        let execution = match own {
            Some((place, asked)) => sandbox::answer(grant, &args, tool, built_in::answer(place, self, asked)).await,
            None => sandbox::execute(&self.sandbox, grant, args, run, trail).await,
        };
        self.shape((call, &asked), tool, backend, execution, trail, metadata)
    }

    fn authority<'a>(&'a self, toolbox: &'a Toolbox, call_id: &Arc<str>) -> Result<Authority<'a>, Error> {
        let writing = self.journal.writing()?;
        Ok(Authority {
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
        (adapter, backend): (&'a Adapter, &'a Backend),
        call_id: &'a str,
    ) -> Run<'a> {
        Run {
            tool,
            adapter,
            backend,
            caller: &call.caller,
            session: &call.session,
            call_id,
            task: call.situation.task.as_deref(),
            progress: call.progress.clone(),
            fixed: call.fixed.as_deref(),
        }
    }

    fn shape(
        &self,
        (call, asked): (&Call, &str),
        tool: &Tool,
        backend: &Backend,
        execution: Execution,
        trail: &mut Trail,
        metadata: &mut Metadata,
    ) -> Result<Value, Failed> {
        let Execution { outcome, partial, usage, log, attempts } = execution;
        metadata.attempts = attempts;
        metadata.usage = Some(usage);
        trail.facts.usage = Some(usage);
        trail.facts.log = log;
        let budget_tokens = self.config.result.budget_of(tool.budget_tokens);
        let texts = [call.situation.task.as_deref().unwrap_or(asked)];
        let measure = Measure { budget_tokens, texts: &texts, weights: &self.weights };
        match trail.step(Step::Sandbox, outcome) {
            Ok(output) => {
                let shaped = result::shape(tool, backend, output, measure);
                trail.step(Step::Result, Ok(()))?;
                Ok(note_shape(shaped, metadata))
            }
            Err(error) => {
                let data = partial.map(|output| note_shape(result::shape(tool, backend, output, measure), metadata));
                Err(Failed { error, data: data.unwrap_or_default() })
            }
        }
    }
}

fn describe_tool(tool: &Tool, trail: &mut Trail, metadata: &mut Metadata) {
    trail.facts.tool = tool.name.clone();
    trail.facts.version = Some(tool.version.clone());
    metadata.version = Some(tool.version.to_string());
}

fn describe_adapter(adapter: &Adapter, backend: &Backend, trail: &mut Trail, metadata: &mut Metadata) {
    trail.facts.adapter = Some(adapter.name.clone());
    trail.facts.backend = Some(backend.key.clone());
    trail.facts.component = Some(adapter.component);
    metadata.adapter = Some(adapter.name.to_string());
}

fn note_shape(shaped: Shaped, metadata: &mut Metadata) -> Value {
    let cut_by_component = shaped.data.get("truncated").and_then(Value::as_bool).unwrap_or(false);
    metadata.truncated = cut_by_component || shaped.truncation.is_some();
    metadata.truncation = shaped.truncation;
    metadata.tool_metadata = shaped.tool_metadata;
    metadata.warnings.extend(shaped.warnings);
    shaped.data
}

/// What the caller learns of its risk: the level and the reasons, not the points.
fn risk_note(facts: &Facts) -> Option<RiskNote> {
    let level = facts.risk_level.as_ref()?.to_string();
    let reason = |factor: &String| factor.rsplit_once(" +").map_or(factor.as_str(), |(reason, _)| reason).to_owned();
    Some(RiskNote { level, reasons: facts.risk_factors.iter().map(reason).collect() })
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
        let journal = Journal::open(&config.state_dir, PROJECTIONS)?;
        let (grants, protected) = (config.virtual_grants(), config.virtual_protected());
        let places = Places { grants, protected, hosts: config.browser.grants() };
        let sandbox = Sandbox::start(&config, hidden(&places)).map_err(StartError::Sandbox)?;
        let toolbox = RwLock::new(Arc::new(toolbox::load(&config, embedded, &sandbox, watch)?));
        Ok(Runtime {
            config,
            toolbox,
            places,
            sandbox,
            journal,
            approver,
            weights: Weights::default(),
            limits: Limits::default(),
        })
    }

    /// The tools and adapters in service now, with what is wrong with others that were found.
    pub fn toolbox(&self) -> Arc<Toolbox> {
        self.toolbox.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How tools were used and how well they worked, as far as it is on disk.
    ///
    /// # Errors
    /// `audit_unavailable` when the journal cannot be read.
    pub async fn statistics(&self, by: By) -> Result<Vec<Use>, Error> {
        self.journal.read(move |connection| statistics::read(connection, by)).await
    }

    /// How well each tool has worked.
    pub(crate) async fn qualities(&self) -> Result<Qualities, Error> {
        self.journal.read(statistics::qualities).await
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What the component of an adapter says of itself; `None` if there is no such adapter. Dropping the future ends it.
    pub async fn describe(&self, adapter: &str) -> Option<Result<sandbox::describe::Description, Error>> {
        let linked = self.toolbox().adapters.all().find(|known| &*known.name == adapter)?.linked;
        Some(self.sandbox.describe(&linked).await)
    }

    /// The parts of the operating system's sandbox around programs, or which one is not there.
    pub async fn layers(&self) -> Result<Vec<sandbox::Layer>, String> {
        self.sandbox.layers().await
    }

    /// The browser and the sandbox around it, or what is missing. Starts it if it does not run.
    pub async fn browser(&self) -> Result<Vec<sandbox::Layer>, String> {
        self.sandbox.browser().await
    }

    /// Ends what a session holds beyond its calls. Its history stays.
    pub async fn end_session(&self, caller: &Arc<Caller>, session: &Arc<str>) {
        self.sandbox.end_session(caller, session).await;
    }

    /// Keeps an address that this process listens on from every tool, whatever is granted.
    pub fn listens_on(&self, address: core::net::SocketAddr) {
        self.sandbox.listens_on(address);
    }

    /// The most frequent mistakes with the arguments of one tool, or of all.
    pub async fn argument_mistakes(&self, tool: Option<&str>) -> Result<Vec<learning::Mistake>, Error> {
        let tool = tool.map(str::to_owned);
        self.journal.read(move |tables| learning::mistakes(tables, tool.as_deref())).await
    }

    /// The most frequent forms of a tool's arguments that went well.
    pub async fn argument_templates(&self, tool: &str) -> Result<Vec<learning::Template>, Error> {
        let tool = tool.to_owned();
        self.journal.read(move |tables| learning::templates(tables, &tool)).await
    }

    /// Waits until every record of a finished call is on disk; `false` if one could not be written.
    pub async fn flush(&self) -> bool {
        self.journal.flush().await
    }
}

/// What no program sees: the places that are kept from tools, and what git would run on its own.
fn hidden(places: &Places) -> Vec<String> {
    let hooks = places.grants.iter().map(|grant| format!("{grant}/.git/hooks"));
    places.protected.iter().cloned().chain(hooks).collect()
}
