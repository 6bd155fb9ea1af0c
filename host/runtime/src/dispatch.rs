//! The spine: seven lines, one a step, and one record on every exit.

use crate::adapter::plugin::{self, Embedded, Plugin};
use crate::adapter::{self, Adapter, Adapters, Route};
use crate::call::{Call, Digest};
use crate::config::Config;
use crate::document::{Fault, Faults};
use crate::envelope::{Metadata, RiskNote};
use crate::error::{Error, Step};
use crate::injection::{self, Ending, Injection};
use crate::journal::{Journal, OpenError, Projection};
use crate::permission::approval::Approver;
use crate::permission::policy::Policies;
use crate::permission::target::path::Places;
use crate::permission::{self, Authority};
use crate::record::Facts;
use crate::registry::admin::{self, ManifestText};
use crate::registry::running::Backend;
use crate::registry::{self, Registry, Tool};
use crate::result::relevance::Weights;
use crate::result::truncate::Measure;
use crate::result::{self, Shaped};
use crate::sandbox::{self, Execution, Offer, Run, Sandbox};
use crate::trail::{Trail, TrailStart};
use crate::validation;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The only way from an agent to the world. Lifetime: the process, or as long as its embedder wants.
pub struct Runtime {
    config: Config,
    registry: Registry,
    adapters: Adapters,
    places: Places,
    policies: Policies,
    sandbox: Sandbox,
    journal: Journal,
    approver: Option<Arc<dyn Approver>>,
    weights: Weights,
    faults: Vec<Fault>,
}

/// What the steps keep beside the records.
const PROJECTIONS: &[Projection] = &[];

/// Why a runtime could not start. A plugin or manifest that is wrong is no such reason; see [`Runtime::faults`].
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
        let call = registry::stands_for::meant(&self.registry, &call);
        let ended = self.steps(&call, &mut trail, &mut metadata, &mut durable).await;
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
        let found = registry::lookup(&self.registry, &call.tool, &call.caller.role);
        if found.is_err() {
            trail.facts.tool = crate::document::excerpt(&call.tool, 200).into();
        }
        let tool = trail.step(Step::Registry, found)?;
        describe_tool(tool, trail, metadata);
        let Route { adapter, backend } = trail.step(Step::Adapter, adapter::route(&self.adapters, tool))?;
        describe_adapter(adapter, trail, metadata);
        let longest = Duration::from_millis(self.config.ceiling.timeout_ms);
        let preview = || validation::judge(tool, &call.args, longest);
        let permitted = permission::permit(call, tool, adapter, &self.authority(), preview, &mut trail.facts).await;
        let (grant, judged) = trail.step(Step::Permission, permitted)?;
        metadata.repairs = judged.repairs.to_vec();
        let asked = judged.canonical.clone();
        let args = trail.step(Step::Validation, validation::admit(judged, &grant))?;
        *durable = grant.durable();
        if *durable {
            trail.refuse_if_failing()?;
            trail.intent(Vec::new()).await?;
        }
        let run = self.run(call, tool, (adapter, backend), &metadata.call_id);
        let execution = sandbox::execute(&self.sandbox, grant, args, run, trail).await;
        self.shape((call, &asked), tool, backend, execution, trail, metadata)
    }

    fn authority(&self) -> Authority<'_> {
        Authority {
            places: &self.places,
            policies: &self.policies,
            settings: &self.config.approval,
            approver: self.approver.as_deref(),
        }
    }

    fn run<'a>(
        &self,
        call: &'a Call,
        tool: &'a Tool,
        (adapter, backend): (&'a Adapter, &'a Backend),
        call_id: &'a str,
    ) -> Run<'a> {
        Run {
            tool,
            adapter,
            backend,
            call_id,
            task: call.situation.task.as_deref(),
            progress: call.progress.clone(),
            fixed: None,
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

fn describe_adapter(adapter: &Adapter, trail: &mut Trail, metadata: &mut Metadata) {
    trail.facts.adapter = Some(adapter.name.clone());
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
        let config = config.with_own_places_protected();
        let journal = Journal::open(&config.state_dir, PROJECTIONS)?;
        let places = Places { grants: config.virtual_grants(), protected: config.virtual_protected() };
        let sandbox = Sandbox::start(&config, hidden(&places)).map_err(StartError::Sandbox)?;
        let (plugins, mut faults) = read_plugins(&config, embedded);
        let mut adapters = Adapters::default();
        let (mut manifests, mut listed) = (Vec::new(), Vec::new());
        let mut reasons = BTreeMap::new();
        for plugin in plugins.into_iter().filter(|plugin| can_serve(plugin, &config)) {
            faults.extend(load_adapter(&sandbox, &plugin, &mut adapters));
            reasons.extend(plugin.adapter.declared_reasons());
            let (offered, left_out) = offered(&sandbox, &plugin);
            faults.extend(left_out);
            listed.extend(offered);
            manifests.extend(plugin.tools);
        }
        for folder in &config.tool_folders {
            match admin::read_folder(folder) {
                Ok(found) => manifests.extend(found),
                Err(fault) => faults.push(fault),
            }
        }
        // What others offer comes last: it takes no name of what is here.
        manifests.extend(listed);
        let (registry, found) = admin::load(&manifests, &config.completions, &reasons);
        faults.extend(found);
        let policies = Policies::load(&config, &registry)?;
        Ok(Runtime {
            config,
            registry,
            adapters,
            places,
            policies,
            sandbox,
            journal,
            approver,
            weights: Weights::default(),
            faults,
        })
    }

    /// What is wrong with plugins and manifests that were found. The good ones are in service.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The adapters.
    pub fn adapters(&self) -> &Adapters {
        &self.adapters
    }

    /// The parts of the operating system's sandbox around programs, or which one is not there.
    pub async fn layers(&self) -> Result<Vec<sandbox::Layer>, String> {
        self.sandbox.layers().await
    }

    /// Waits until every record of a finished call is on disk; `false` if one could not be written.
    pub async fn flush(&self) -> bool {
        self.journal.flush().await
    }
}

fn read_plugins(config: &Config, embedded: &[Embedded]) -> (Vec<Plugin>, Vec<Fault>) {
    let mut plugins = Vec::new();
    let mut faults = Vec::new();
    for embedded in embedded {
        match plugin::read_embedded(embedded) {
            Ok(plugin) => plugins.push(plugin),
            Err(found) => faults.extend(found.0),
        }
    }
    for folder in &config.plugin_folders {
        let (found, wrong) = plugin::read_folder(folder);
        plugins.extend(found);
        faults.extend(wrong);
    }
    (plugins, faults)
}

/// Without a granted directory there is nothing that a tool for files could do.
fn can_serve(plugin: &Plugin, config: &Config) -> bool {
    !config.grants.is_empty() || !plugin.adapter.capabilities.iter().any(|capability| capability == "files")
}

/// The tools that an adapter serves beside those of its manifests, and what of them is left out and why.
fn offered(sandbox: &Sandbox, plugin: &Plugin) -> (Vec<ManifestText>, Vec<Fault>) {
    let (mut manifests, mut faults) = (Vec::new(), Vec::new());
    for capability in &plugin.adapter.lists {
        let (offers, left_out) = sandbox.offered(capability, &plugin.adapter.name);
        let manifest = |offer: Offer| ManifestText { file: offer.origin.into(), text: offer.manifest.to_string() };
        manifests.extend(offers.into_iter().map(manifest));
        faults.extend(left_out.into_iter().map(|why| Fault::whole(&plugin.file, why)));
    }
    (manifests, faults)
}

fn load_adapter(sandbox: &Sandbox, plugin: &Plugin, adapters: &mut Adapters) -> Vec<Fault> {
    let manifest = &plugin.adapter;
    let capabilities: BTreeSet<String> = manifest.capabilities.iter().cloned().collect();
    let linked = match sandbox.install(&plugin.component, &capabilities) {
        Ok(linked) => linked,
        Err(error) => {
            let why = error.to_string();
            adapters.insert_failed(&manifest.name, &manifest.names, &why);
            return vec![Fault::whole(
                &plugin.file,
                format!("the component of adapter `{}` cannot be used: {why}", manifest.name),
            )];
        }
    };
    let adapter = Adapter {
        name: manifest.name.as_str().into(),
        version: manifest.version.clone(),
        component: Digest::of(&plugin.component),
        linked,
        capabilities,
        reasons: manifest.reasons.iter().cloned().collect(),
    };
    let taken = adapters.insert(adapter, &manifest.names);
    let fault = |name: String| Fault::whole(&plugin.file, format!("another adapter is already called `{name}`"));
    taken.into_iter().map(fault).collect()
}

/// What no program sees: the places that are kept from tools, and what git would run on its own.
fn hidden(places: &Places) -> Vec<String> {
    let hooks = places.grants.iter().map(|grant| format!("{grant}/.git/hooks"));
    places.protected.iter().cloned().chain(hooks).collect()
}
