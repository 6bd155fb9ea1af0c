//! What of a result is shown, and what is kept of it? Puts step 6 together with what the session looks for, and keeps
//! the whole of what was cut. Part of the spine.

use crate::adapter::{Adapter, Adapters};
use crate::artifact::Artifact;
use crate::call::{Call, Judged};
use crate::config::Config;
use crate::dispatch::{Failed, Runtime};
use crate::envelope::{Metadata, RiskNote};
use crate::error::{Error, Step};
use crate::injection::session::Session;
use crate::journal::OpenError;
use crate::key;
use crate::record::Facts;
use crate::registry::Tool;
use crate::registry::manifest::Effect;
use crate::registry::running::Backend;
use crate::result::secret::Masks;
use crate::result::truncate::Measure;
use crate::result::{self, Shaped, Shaping};
use crate::sandbox::Execution;
use crate::shelf::StartError;
use crate::trail::Trail;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How long a session is remembered that makes no call.
pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);

/// What is secret, with a key of the state folder for the ids of masks.
pub(crate) fn masks(config: &Config) -> Result<Arc<Masks>, StartError> {
    let folder = |source| OpenError::Folder { path: config.state_dir.clone(), source };
    let key = key::read_or_make(&config.state_dir, "mask.key").map_err(folder)?;
    let known = config.known_secrets();
    let masks = Masks::new(key, known.iter().map(String::as_str));
    Ok(Arc::new(if config.result.mask == Some(false) { masks.configured_only() } else { masks }))
}

/// Capabilities whose answers come from outside the machine, each with the word for that.
const OUTSIDE: &[(&str, &str)] = &[("browser", "web"), ("http", "http"), ("mcp", "mcp")];

/// Whether what a tool answers comes from outside.
pub(crate) fn comes_from_outside(tool: &Tool, adapter: &Adapter) -> bool {
    tool.effect.open_world || !from(adapter).is_empty()
}

/// Where from outside the answers of an adapter come.
pub(crate) fn from(adapter: &Adapter) -> Vec<String> {
    let has = |(capability, _): &&(&str, &str)| adapter.capabilities.contains(*capability);
    OUTSIDE.iter().filter(has).map(|(_, word)| (*word).to_owned()).collect()
}

/// What one of the runtime's own tools says of what it passes on.
fn passed_on(data: &Value, name: &str) -> impl Iterator<Item = String> {
    data.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
}

fn add(words: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    words.extend(more);
    words.sort();
    words.dedup();
}

/// Notes which tool was meant.
pub(crate) fn describe_tool(tool: &Tool, trail: &mut Trail, metadata: &mut Metadata) {
    trail.facts.tool = tool.name.clone();
    trail.facts.version = Some(tool.version.clone());
    metadata.version = Some(tool.version.to_string());
}

/// Notes what runs it.
pub(crate) fn describe_adapter(adapter: &Adapter, backend: &Backend, trail: &mut Trail, metadata: &mut Metadata) {
    trail.facts.adapter = Some(adapter.name.clone());
    trail.facts.backend = Some(backend.key.clone());
    trail.facts.component = Some(adapter.component);
    metadata.adapter = Some(adapter.name.to_string());
}

/// Another adapter than the first one may have run it, in its place.
pub(crate) fn describe_moved(tool: &Tool, adapters: &Adapters, trail: &Trail, metadata: &mut Metadata) {
    let ran = trail.facts.adapter.as_deref().filter(|name| metadata.adapter.as_deref() != Some(name));
    let Some(adapter) = ran.and_then(|name| adapters.get(name)) else { return };
    metadata.adapter = Some(adapter.name.to_string());
    metadata.untrusted |= comes_from_outside(tool, adapter);
    add(&mut metadata.taint, from(adapter));
}

/// What the caller learns of its risk: the level and the reasons, not the points.
pub(crate) fn risk_note(facts: &Facts) -> Option<RiskNote> {
    let level = facts.risk_level.as_ref()?.to_string();
    let reason = |factor: &String| factor.rsplit_once(" +").map_or(factor.as_str(), |(reason, _)| reason).to_owned();
    Some(RiskNote { level, reasons: facts.risk_factors.iter().map(reason).collect() })
}

fn note_shape(shaped: Shaped, metadata: &mut Metadata) -> Value {
    let cut_by_component = shaped.data.get("truncated").and_then(Value::as_bool).unwrap_or(false);
    metadata.truncated = cut_by_component || shaped.truncation.is_some();
    metadata.truncation = shaped.truncation;
    metadata.masked += shaped.masks;
    metadata.fenced += shaped.fences;
    metadata.tool_metadata = shaped.tool_metadata;
    metadata.warnings.extend(shaped.warnings);
    shaped.data
}

impl Runtime {
    /// The arguments, if they and the result are small enough to be kept beside the record.
    pub(crate) fn keeps(&self, args: &Option<Arc<str>>, data: &Value) -> Option<Arc<str>> {
        let fits = |args: &&Arc<str>| args.len() + result::truncate::size(data) <= self.config.result.recorded();
        args.as_ref().filter(fits).cloned()
    }

    /// Refuses to write where a mask or an unseen part would take the place of what is there.
    pub(crate) fn refuse_unseen(&self, tool: &Tool, judged: &Judged, session: &Session) -> Result<(), Error> {
        match tool.effect.kind {
            Effect::Read => Ok(()),
            Effect::Write | Effect::Destructive => {
                self.masks.refuse_written_back(&judged.canonical)?;
                session.refuse_overwriting_unseen(tool, judged)
            }
        }
    }

    pub(crate) fn shape(
        &self,
        looks_for: &[Arc<str>],
        (tool, backend): (&Tool, &Backend),
        execution: Execution,
        trail: &mut Trail,
        metadata: &mut Metadata,
    ) -> Result<Shaped, Box<(Error, Shaped)>> {
        let Execution { outcome, partial, usage, log, attempts, tape, .. } = execution;
        if attempts > 0 && tool.built_in.is_none() {
            trail.keep_tape(tape);
        }
        metadata.attempts = attempts;
        // Another attempt may have been made on another backend.
        let ran = trail.facts.backend.as_ref();
        let backend = tool.backends.iter().find(|backend| Some(&backend.key) == ran).unwrap_or(backend);
        metadata.usage = Some(usage);
        trail.facts.usage = Some(usage);
        trail.facts.log = log;
        let budget_tokens = self.config.result.budget_of(tool.budget_tokens);
        let texts: Vec<&str> = looks_for.iter().map(|text| &**text).collect();
        let call_id = metadata.call_id.clone();
        let shaping = Shaping {
            measure: Measure { budget_tokens, texts: &texts, weights: &self.weights },
            masks: &self.masks,
            is_part: outcome.is_err(),
            untrusted: metadata.untrusted,
            call_id: &call_id,
        };
        match trail.step(Step::Sandbox, outcome) {
            Ok(output) => {
                let shaped = trail.enter(Step::Result).in_scope(|| result::shape(tool, backend, output, shaping));
                if tool.built_in.is_some() {
                    add(&mut metadata.taint, passed_on(&shaped.data, "taint"));
                    add(&mut metadata.sensitivity, passed_on(&shaped.data, "sensitivity"));
                    // What was kept is still from outside when it is read on.
                    trail.facts.from_outside |= !metadata.taint.is_empty();
                }
                trail.step(Step::Result, Ok(())).map_err(|error| Box::new((error, Shaped::default())))?;
                Ok(shaped)
            }
            Err(error) => {
                let partial = partial.map(|output| result::shape(tool, backend, output, shaping));
                Err(Box::new((error, partial.unwrap_or_default())))
            }
        }
    }

    /// Keeps the whole of a result of which a part is shown, and says how to read on.
    pub(crate) fn show(
        &self,
        call: &Call,
        shaped: Result<Shaped, Box<(Error, Shaped)>>,
        session: &Session,
        trail: &Trail,
        metadata: &mut Metadata,
    ) -> Result<Value, Failed> {
        let (error, mut shaped) = match shaped {
            Ok(shaped) => (None, shaped),
            Err(failed) => {
                let (error, shaped) = *failed;
                (Some(error), shaped)
            }
        };
        metadata.untrusted |= shaped.says_untrusted();
        if shaped.masks > 0 {
            add(&mut metadata.sensitivity, ["secret".to_owned()]);
        }
        if let (Some(whole), Some(truncation)) = (shaped.whole.take(), &mut shaped.truncation) {
            let artifact = Artifact {
                tool: trail.facts.tool.to_string(),
                untrusted: metadata.untrusted,
                taint: metadata.taint.clone(),
                sensitivity: metadata.sensitivity.clone(),
                data: whole,
            };
            match self.artifacts.put(&call.caller, &artifact) {
                Ok(handle) => {
                    truncation.reason.push_str("; read on by its handle with `result_read`");
                    truncation.handle = Some(handle);
                }
                Err(error) => shaped.warnings.push(format!("the whole result could not be kept: {}", error.kind())),
            }
        }
        let data = note_shape(shaped, metadata);
        session.note_shown(&trail.facts, metadata.truncated);
        match error {
            None => Ok(data),
            Some(error) => Err(Failed { error, data }),
        }
    }
}
