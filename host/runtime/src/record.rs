//! What is written down? The records of calls, and of what happens beside them. Must not know how they are stored.

use crate::call::{Caller, Digest, Situation};
use crate::envelope::Usage;
use crate::error::{Error, Step};
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
    /// What was learnt about the call on its way.
    #[serde(flatten)]
    pub facts: Facts,
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
    /// What the component logged, capped.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub log: Vec<String>,
    /// What the call used up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
}
