//! What does a caller get back, whatever happened? One shape for every outcome. Must not know which tool it was.

use crate::error::{Error, Step};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Whether the tool did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It did.
    Ok,
    /// It did not; `error` says why.
    Error,
    /// A person has to be asked first.
    Pending,
}

/// The one answer to a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Whether the tool did what it was asked.
    pub status: Status,
    /// What it found or did; `null` when there is nothing. On an error, what was produced before it.
    pub data: Value,
    /// How the answer came about.
    pub metadata: Box<Metadata>,
    /// Why it did not work.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<Error>,
}

/// How an answer came about.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Metadata {
    /// The call's id, unique over hosts and sortable by time.
    pub call_id: String,
    /// The tool that was meant, by its own name, or what the caller wrote if there is none.
    pub tool: String,
    /// The tool's version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The adapter that ran it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub adapter: Option<String>,
    /// The record of this outcome in the journal.
    pub audit_id: String,
    /// `durable` when the record is on disk, `queued` when it will be within 50 ms, `failed` when it could not be
    /// written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub durability: Option<Durability>,
    /// Wall time of the whole call in milliseconds.
    pub duration_ms: f64,
    /// How often the component was started.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub attempts: u32,
    /// Which backend ran it and why, where the tool has several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub route: Option<Box<RouteNote>>,
    /// What was judged about the call's risk.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub risk: Option<RiskNote>,
    /// What validation changed in the arguments.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub repairs: Vec<Repair>,
    /// Whether `data` is only a part of the result.
    #[serde(skip_serializing_if = "is_false", default)]
    pub truncated: bool,
    /// What was left out of `data`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub truncation: Option<Truncation>,
    /// Whether the content came from outside the runtime and may try to instruct the reader.
    #[serde(skip_serializing_if = "is_false", default)]
    pub untrusted: bool,
    /// Where from outside it came: `web`, `mcp` or `http`. From then on the caller counts as one that has read such things.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub taint: Vec<String>,
    /// What is known about what it holds, such as `personal` or `production`; `secret` where secrets were masked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sensitivity: Vec<String>,
    /// How many secrets were masked in it.
    #[serde(skip_serializing_if = "is_none", default)]
    pub masked: usize,
    /// How many of its texts imitate instructions and stand between marks.
    #[serde(skip_serializing_if = "is_none", default)]
    pub fenced: usize,
    /// What the call used up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
    /// What the component says about how it made the answer.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub tool_metadata: Map<String, Value>,
    /// What the reader should know before using the answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
}

/// Which of a tool's backends a call took, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteNote {
    /// `preferred` (the first, and none is clearly better), `better`, `others_unhealthy`, `trial` (it may work again) or
    /// `explored` (so that what is known of it does not grow old).
    pub why: String,
    /// The one that was chosen.
    pub chosen: RouteAlternative,
    /// The others, as they stood.
    pub alternatives: Vec<RouteAlternative>,
    /// The backends that were asked after it in this call, since the ones before had got nothing.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub moved: Vec<usize>,
}

/// What this runtime has seen of a backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteAlternative {
    /// Its place in the manifest, from 1.
    pub backend: usize,
    /// The beginning of its digest, as in records.
    pub key: String,
    /// The adapter that runs it.
    pub adapter: String,
    /// `healthy`, `half_open` or `unhealthy`.
    pub health: String,
    /// The part of its last calls that it answered.
    pub success: f64,
    /// Milliseconds of its last calls; nothing before the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latency_ms: Option<f64>,
    /// Calls of this process that this is known from.
    pub calls: u64,
}

/// Where a record is at the time of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// On disk.
    Durable,
    /// In the queue, on disk within 50 ms.
    Queued,
    /// It could not be written.
    Failed,
}

impl Durability {
    /// As it stands in answers.
    pub fn name(self) -> &'static str {
        match self {
            Durability::Durable => "durable",
            Durability::Queued => "queued",
            Durability::Failed => "failed",
        }
    }
}

/// What the caller may know about the risk of its call: the level and why, never how to lower it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RiskNote {
    /// `low`, `medium` or `high`.
    pub level: String,
    /// What made it so.
    pub reasons: Vec<String>,
}

/// One change that validation made to the arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repair {
    /// Where, as a JSON Pointer.
    pub path: String,
    /// What came.
    pub from: Value,
    /// What it was changed to; absent when the key was left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<Value>,
    /// By which rule.
    pub rule: String,
}

/// What was left out of a result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truncation {
    /// Size of the whole, in bytes of its text or JSON form.
    pub total: usize,
    /// Size of what was kept, likewise.
    pub kept: usize,
    /// What is missing and where, in places of the whole result.
    pub ranges: Vec<Omission>,
    /// Gaps beyond those in `ranges`.
    #[serde(skip_serializing_if = "is_none", default)]
    pub more_ranges: usize,
    /// Why it was cut.
    pub reason: String,
    /// By what the whole result can be read on; see the tool `result_read`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handle: Option<String>,
}

/// One part that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omission {
    /// Where in `data`, as a JSON Pointer.
    pub path: String,
    /// `lines` or `bytes` of a text, `items` of an array or `members` of an object.
    pub unit: String,
    /// First one left out, counted from 0.
    pub from: usize,
    /// First one after the gap.
    pub to: usize,
}

/// What a call used up in the sandbox.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Units of fuel, about one for each WebAssembly instruction. What was used up since the last call of a function is
    /// not in it when the attempt's time ended it.
    pub fuel: u64,
    /// The largest sum of all linear memories, in bytes.
    pub memory_bytes: u64,
    /// Calls of the component to the host, those that grow its memory or let it yield among them.
    pub host_calls: u64,
    /// Bytes of the arguments that it was given.
    #[serde(default)]
    pub bytes_in: u64,
    /// Bytes of the output that it returned.
    #[serde(default)]
    pub bytes_out: u64,
    /// Bytes of files, programs and services that went through its capabilities, both ways.
    #[serde(default)]
    pub bytes_across: u64,
    /// Time of the processor in the sandbox, in microseconds.
    #[serde(default)]
    pub cpu_us: u64,
    /// Wall time in the sandbox, in microseconds.
    pub wall_us: u64,
    /// How often the component was started for it.
    #[serde(default)]
    pub attempts: u32,
}

impl Usage {
    /// Adds what another attempt used up. Memory is given back between attempts, so its largest amount counts.
    pub(crate) fn add(&mut self, other: &Usage) {
        self.fuel = self.fuel.saturating_add(other.fuel);
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
        self.host_calls += other.host_calls;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.bytes_across += other.bytes_across;
        self.cpu_us += other.cpu_us;
        self.wall_us += other.wall_us;
    }
}

impl Envelope {
    /// An answer to a call that did what it was asked.
    pub fn ok(data: Value, metadata: impl Into<Box<Metadata>>) -> Envelope {
        Envelope { status: Status::Ok, data, metadata: metadata.into(), error: None }
    }

    /// An answer to a call that did not.
    pub fn error(error: Error, data: Value, metadata: impl Into<Box<Metadata>>) -> Envelope {
        let status = if error.code == 202 { Status::Pending } else { Status::Error };
        Envelope { status, data, metadata: metadata.into(), error: Some(error) }
    }

    /// What a process that made this one call should exit with.
    pub fn exit_code(&self) -> u8 {
        self.error.as_ref().map_or(0, |error| error.kind.exit_code())
    }

    /// 200, or the error's code.
    pub fn code(&self) -> u16 {
        self.error.as_ref().map_or(200, |error| error.code)
    }

    /// The step that ended the call, if one did.
    pub fn step(&self) -> Option<Step> {
        self.error.as_ref().map(|error| error.step)
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}
