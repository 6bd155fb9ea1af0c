//! What is written down? The records of calls, and of what happens beside them. Must not know how they are stored.

use crate::call::{Caller, Digest, Situation};
use crate::envelope::Usage;
use crate::error::{Error, Step};
use crate::tape::{Covered, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A call with an effect is about to run.
    Intent,
    /// Another attempt at a call is about to begin; the first one's record is the intent.
    Attempt,
    /// A call is over.
    Outcome,
    /// Something happened beside the calls; see [`Event`].
    Event,
}

impl RecordKind {
    /// As it stands in the store's index.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RecordKind::Intent => "intent",
            RecordKind::Attempt => "attempt",
            RecordKind::Outcome => "outcome",
            RecordKind::Event => "event",
        }
    }
}

/// What happened beside the calls: a person decided, a session was changed, a tool was retired.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Always [`RecordKind::Event`].
    pub kind: RecordKind,
    /// Its own id.
    #[serde(rename = "call_id")]
    pub id: Arc<str>,
    /// Milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// What happened, in the form `step.what`, for example `permission.decision`.
    pub what: Arc<str>,
    /// Who did it.
    pub by: String,
    /// The particulars, as one JSON object.
    pub details: Value,
}

impl Event {
    /// Something that happens now.
    pub fn now(what: &str, by: impl Into<String>, details: Value) -> Event {
        Event {
            kind: RecordKind::Event,
            id: ulid::Ulid::generate().to_string().into(),
            time_ms: crate::journal::now_ms(),
            what: what.into(),
            by: by.into(),
            details,
        }
    }
}

/// What one row of the journal says.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Written {
    /// About a call.
    Call(Box<Record>),
    /// About something else.
    Event(Box<Event>),
}

impl Written {
    /// Its kind.
    pub fn kind(&self) -> RecordKind {
        match self {
            Written::Call(record) => record.kind,
            Written::Event(_) => RecordKind::Event,
        }
    }

    /// Its kind as it stands in the store's index, where each attempt has a name of its own.
    pub(crate) fn index(&self) -> Cow<'static, str> {
        match self {
            Written::Call(record) => match record.attempt {
                Some(number) => format!("attempt {number}").into(),
                None => record.kind.name().into(),
            },
            Written::Event(_) => RecordKind::Event.name().into(),
        }
    }

    /// The id of the call or of the event.
    pub fn id(&self) -> &str {
        match self {
            Written::Call(record) => &record.call_id,
            Written::Event(event) => &event.id,
        }
    }

    /// Reads a row's text; `kind` is what the index says.
    pub(crate) fn parse(kind: &str, body: &str) -> serde_json::Result<Written> {
        match kind == RecordKind::Event.name() {
            true => serde_json::from_str(body).map(|event| Written::Event(Box::new(event))),
            false => serde_json::from_str(body).map(|record| Written::Call(Box::new(record))),
        }
    }
}

/// Finds what is secret in the texts of a record. Nothing where a text stays as it is.
pub(crate) trait Masking: Send + Sync {
    /// The text with masks in the place of secrets.
    fn masked(&self, text: &str) -> Option<String>;
    /// The text with each byte of a secret crossed out, so that everything else stands where it stood.
    fn crossed_out(&self, text: &str) -> Option<String>;
}

impl Written {
    /// Masks every text that somebody else wrote: a caller, a tool, an upstream service.
    pub(crate) fn mask(&mut self, masking: &dyn Masking) {
        match self {
            Written::Call(record) => record.mask(masking),
            Written::Event(event) => mask_value(&mut event.details, masking),
        }
    }
}

impl Record {
    /// Size of what is kept beside it, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        let kept = self.kept.as_ref().map_or(0, |kept| kept.bytes);
        kept + self.tape.as_ref().map_or(0, |tape| tape.size())
    }

    /// Keeps nothing beside it, and says why.
    pub(crate) fn keep_nothing(&mut self, why: &'static str) {
        self.kept = None;
        if self.tape.take().is_some() {
            (self.facts.replayable, self.facts.not_replayable) = (Some(false), Some(why.into()));
        }
    }

    pub(crate) fn mask(&mut self, masking: &dyn Masking) {
        let Record { situation, facts, steps, error, insides, kept, tape, .. } = self;
        match tape.as_mut().map_or(Covered::Nothing, |tape| tape.cover(masking)) {
            Covered::Nothing => {}
            Covered::All => facts.inexact = Some("a mask stands for a secret that crossed the border".into()),
            Covered::Not => {
                *tape = None;
                facts.replayable = Some(false);
                facts.not_replayable = Some("a secret crossed the border of its capabilities".into());
            }
        }
        if let Some(masked) = masking.masked(&facts.tool) {
            facts.tool = masked.into();
        }
        let kept_args = kept.as_mut().map(|kept| &mut kept.args);
        for args in [facts.args.as_mut(), kept_args].into_iter().flatten() {
            mask_json(args, masking);
        }
        let reasons = steps.iter_mut().filter_map(|entry| entry.reason.as_mut());
        let mut texts: Vec<&mut String> =
            reasons.chain(insides).chain(&mut facts.targets).chain(&mut facts.log).collect();
        if let Some(error) = error {
            let error = &mut **error;
            texts.extend([Some(&mut error.message), error.hint.as_mut()].into_iter().flatten());
            for problem in &mut error.problems {
                texts.extend([&mut problem.path, &mut problem.received]);
                texts.extend(problem.hint.as_mut());
            }
        }
        texts.into_iter().for_each(|text| mask_text(text, masking));
        if let Some(data) = facts.result.as_mut() {
            mask_value(data, masking);
        }
        if let Some(shown) = facts.shown.as_mut() {
            mask_text(&mut shown.gist, masking);
        }
        let said = [&situation.task, &situation.purpose];
        if said.into_iter().flatten().any(|text| masking.masked(text).is_some()) {
            let situation = Arc::make_mut(situation);
            for text in [&mut situation.task, &mut situation.purpose].into_iter().flatten() {
                mask_text(text, masking);
            }
        }
    }
}

/// A short text may be a secret by its name alone.
fn mask_named(name: &str, member: &mut Value, masking: &dyn Masking) {
    const SHORT: usize = 400;
    let Value::String(text) = member else { return };
    if text.len() > SHORT || text.contains(['"', '\n']) {
        return;
    }
    let masked = masking.masked(&format!("{name}=\"{text}\""));
    let inner = masked.as_deref().and_then(|masked| masked.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'));
    if let Some(inner) = inner {
        *text = inner.to_owned();
    }
}

fn mask_text(text: &mut String, masking: &dyn Masking) {
    if let Some(masked) = masking.masked(text) {
        *text = masked;
    }
}

/// JSON is masked text by text: what it escapes would hide a secret. Whether there was something to mask.
pub(crate) fn mask_json(json: &mut Arc<str>, masking: &dyn Masking) -> bool {
    if &**json == "{}" {
        return false;
    }
    let masked = match serde_json::from_str::<Value>(json) {
        Ok(mut value) => {
            let before = value.clone();
            mask_value(&mut value, masking);
            (value != before).then(|| crate::canonical::to_string(&value))
        }
        Err(_) => masking.masked(json),
    };
    let Some(masked) = masked else { return false };
    *json = masked.into();
    true
}

pub(crate) fn mask_value(value: &mut Value, masking: &dyn Masking) {
    match value {
        Value::String(text) => mask_text(text, masking),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_value(item, masking)),
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| {
            mask_value(member, masking);
            mask_named(name, member, masking);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// One step that a call reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepEntry {
    /// Which one.
    pub step: Step,
    /// `ok`, or the kind of the refusal or failure.
    pub verdict: std::borrow::Cow<'static, str>,
    /// Why, where there is more to say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// How long the step took, in microseconds.
    pub us: u64,
}

/// What is written about a call, at its intent and at its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Intent or outcome.
    pub kind: RecordKind,
    /// The call's id. There is exactly one outcome for each.
    pub call_id: Arc<str>,
    /// The number of an attempt that is about to begin, from 2; the error is the last one's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attempt: Option<u32>,
    /// Milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// Who called, in which role.
    pub caller: Arc<Caller>,
    /// The caller's session.
    pub session: Arc<str>,
    /// In which circumstances.
    pub situation: Arc<Situation>,
    /// The call within which it was made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<Arc<str>>,
    /// What was learnt about the call on its way.
    #[serde(flatten)]
    pub facts: Box<Facts>,
    /// The steps that were reached.
    pub steps: Vec<StepEntry>,
    /// 200, or the error's code. Absent in an intent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<u16>,
    /// The error, as the caller got it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<Error>,
    /// What only an operator may see of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub insides: Option<String>,
    /// Wall time of the whole call, in microseconds.
    pub duration_us: u64,
    /// Arguments and result, kept beside the record for its trajectory.
    #[serde(skip)]
    pub kept: Option<Box<Kept>>,
    /// What is needed to run the component again, kept beside the record.
    #[serde(skip)]
    pub tape: Option<Box<Recorded>>,
}

/// What is kept of a call beside its record.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The canonical arguments, masked.
    pub args: Arc<str>,
    /// What the caller got, masked and cut.
    pub data: Value,
    /// About the size of both, in bytes.
    pub bytes: usize,
}

/// What a caller did before, as far as it adds to a risk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct History {
    /// How many of the last ten calls were of high risk and approved by nobody.
    pub high: u8,
    /// How many calls were denied in the last hour.
    pub denials: u8,
    /// Whether something from outside was read in the last day.
    pub tainted: bool,
    /// Whether no call of it may run until a person says otherwise.
    pub halted: bool,
}

/// What the steps learn about a call for the record.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The tool's own name, or what the caller wrote.
    pub tool: Arc<str>,
    /// The tool's version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<Arc<str>>,
    /// The adapter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub adapter: Option<Arc<str>>,
    /// The beginning of the digest of the tool's backend.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backend: Option<Arc<str>>,
    /// Digest of the component that ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub component: Option<Digest>,
    /// Digest of the canonical arguments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args_digest: Option<Digest>,
    /// The canonical arguments themselves, for calls above LOW.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args: Option<Arc<str>>,
    /// The form of the arguments, without their values; see `validation::learning`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub form: Option<Arc<str>>,
    /// What the call acts on.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub targets: Vec<String>,
    /// The layer of permission that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub layer: Option<u8>,
    /// Risk in points, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub risk: Option<u8>,
    /// `low`, `medium` or `high`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub risk_level: Option<std::borrow::Cow<'static, str>>,
    /// What made the risk, as `reason +points`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub risk_factors: Vec<String>,
    /// Who said yes or no, if a person was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approver: Option<String>,
    /// The question to that person.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval: Option<String>,
    /// What the caller did before, if anything counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub history: Option<History>,
    /// Digest of the policies, points and labels that it was judged by.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policies: Option<Digest>,
    /// The beginning of the arguments of a call that was refused.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args_excerpt: Option<String>,
    /// Whether the caller read something from outside.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub from_outside: bool,
    /// What is known about what it acts on, as far as that says how to handle the result: `personal`, `production`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sensitivity: Vec<String>,
    /// Digest of a request that was refused, by which its repetition is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused_key: Option<Digest>,
    /// How long permission waited for the preview of validation, whose time it is.
    #[serde(skip)]
    pub preview: std::time::Duration,
    /// What the component logged, capped.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub log: Vec<String>,
    /// What the call used up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// Whether what crossed the border of the component's capabilities is kept, so that it can run again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replayable: Option<bool>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_replayable: Option<std::borrow::Cow<'static, str>>,
    /// Why it runs again only like it ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inexact: Option<std::borrow::Cow<'static, str>>,
    /// Whether it was permitted to change anything.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub writes: bool,
    /// Repairs of the arguments.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub repairs: u32,
    /// What of the result was shown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shown: Option<Shown>,
    /// The whole result, for a call of high risk that a person approved.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result: Option<Value>,
}

/// What of a result was shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Size of the whole result, in bytes.
    pub total: usize,
    /// Size of what was shown.
    pub kept: usize,
    /// By what the whole can be read on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handle: Option<String>,
    /// Masks that stand for secrets.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masks: u32,
    /// Whether it came from outside the runtime.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub untrusted: bool,
    /// One line about what it says.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub gist: String,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
