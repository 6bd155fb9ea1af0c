//! What may stand in a tool's manifest? The file as its author wrote it, TOML or YAML, unknown keys refused. Must not
//! check what the words mean; `tool.rs` does.

mod about;
mod input;
mod list;
mod running;

use super::stands_for::StandsFor;
pub use about::{EvolutionStats, MetadataManifest, Moment, RankingManifest, ResultManifest, WhatIsKept};
pub use input::{Format, Input, InputRules, InputType};
pub use list::OneOrMany;
pub use running::{
    Backend, BackoffStrategy, HealthCheckManifest, LimitsManifest, RateLimitManifest, RetryPolicy, TimeoutArgument,
    TimeoutUnit,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A manifest file: one tool under the key `tool`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// The tool.
    pub tool: ToolManifest,
}

/// A tool as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolManifest {
    /// What agents call it: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// Further names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Semantic version of the manifest.
    pub version: String,
    /// What it does, for an agent.
    pub description: String,
    /// For people who look for a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The arguments, one by one. Nothing beyond them is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// The arguments as one JSON Schema (2020-12), instead of `inputs`; a table, or a text of JSON where null is needed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "input::value_or_text")]
    pub input_schema: Option<Value>,
    /// Documents that `input_schema` refers to, by their address. Nothing is ever fetched.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "input::values_or_texts")]
    pub schemas: BTreeMap<String, Value>,
    /// Whether loose types are repaired where nothing is lost, as the coercion table says.
    #[serde(default = "yes", skip_serializing_if = "input::is_true")]
    pub coercion: bool,
    /// The facts of the result, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputField>,
    /// The facts of the result as one JSON Schema (2020-12), instead of `outputs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Who may call it.
    pub permissions: Permissions,
    /// What calling it does. Undeclared counts as destructive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<WrittenEffect>,
    /// Which arguments name what is acted on: one, or a list of them.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub target: OneOrMany<Target>,
    /// How often each caller may call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimitManifest>,
    /// One attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The whole call from its intent on, in milliseconds: all attempts and the waits between them. Without it, what
    /// they can take together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How long it may clean up once nobody waits for its answer any more, in milliseconds; at most 10,000. Without it, it
    /// is ended at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// The argument that says how long one attempt may take; `timeout_seconds` where that input exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_argument: Option<TimeoutArgument>,
    /// Which failures are tried again, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy: Option<RetryPolicy>,
    /// What one attempt may use up.
    #[serde(default)]
    pub limits: LimitsManifest,
    /// What runs it: one, or a list of which the first that is fit is preferred.
    pub backend: OneOrMany<Backend>,
    /// Whether lists of tools leave it out. It can be called all the same by those who may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
    /// The tool that is really meant, if this one only stands for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<StandsFor>,
    /// How it is found out whether its backends work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check: Option<HealthCheckManifest>,
    /// How its results are shaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultManifest>,
    /// Facts for people; decide nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataManifest>,
}

/// One fact of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputField {
    /// Its key in `data`.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_: InputType,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Who may call a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    /// The roles that may. Nobody, if empty.
    #[serde(default)]
    pub required_roles: Vec<String>,
    /// The roles that may not, also if they are required ones.
    #[serde(default)]
    pub denied_roles: Vec<String>,
    /// How much harm a call can do.
    pub risk_level: RiskLevel,
    /// Whether a person is asked: `true` when the risk is high, `false` never (high is denied), `"always"`.
    #[serde(default)]
    pub requires_approval: RequiresApproval,
}

/// How much harm a call of a tool can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// 0 points.
    Low,
    /// 10 points.
    Medium,
    /// 25 points.
    High,
    /// 60 points.
    Critical,
}

/// Whether a person is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequiresApproval {
    /// High risk is denied.
    Never,
    /// High risk asks.
    #[default]
    WhenHigh,
    /// Every call asks.
    Always,
}

impl JsonSchema for RequiresApproval {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RequiresApproval".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": [true, false, "always"] })
    }
}

impl Serialize for RequiresApproval {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RequiresApproval::Never => serializer.serialize_bool(false),
            RequiresApproval::WhenHigh => serializer.serialize_bool(true),
            RequiresApproval::Always => serializer.serialize_str("always"),
        }
    }
}

impl<'de> Deserialize<'de> for RequiresApproval {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<RequiresApproval, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(true) => Ok(RequiresApproval::WhenHigh),
            Value::Bool(false) => Ok(RequiresApproval::Never),
            Value::String(word) if word == "always" => Ok(RequiresApproval::Always),
            _ => Err(serde::de::Error::custom("`requires_approval` is true, false or \"always\"")),
        }
    }
}

/// What calling a tool does to the world, as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenEffect {
    /// Reads, writes or destroys; or it depends on the target.
    pub kind: WrittenEffectKind,
    /// With `by_target`: the forms of commands that only read. See `registry::forms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<String>,
    /// Whether doing it twice is doing it once.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether it reaches beyond what the operator controls.
    #[serde(default = "yes")]
    pub open_world: bool,
}

/// What calling a tool does, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrittenEffectKind {
    /// Nothing.
    Read,
    /// It changes what it acts on.
    Write,
    /// What it acts on can be lost.
    Destructive,
    /// Nothing if every command of the target is one of `read_only` and writes no file; otherwise anything.
    ByTarget,
}

/// What calling a tool does to the world, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectManifest {
    /// Reads, writes or destroys.
    pub kind: Effect,
    /// Whether doing it twice is doing it once.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether it reaches beyond what the operator controls.
    #[serde(default = "yes")]
    pub open_world: bool,
}

fn yes() -> bool {
    true
}

/// What calling a tool does to what it acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing.
    Read,
    /// It changes.
    Write,
    /// It can be lost.
    Destructive,
}

/// Which argument names what is acted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The argument's name.
    pub argument: String,
    /// How to read it.
    pub syntax: TargetSyntax,
    /// With `argv`: the words before those of the argument; `{name}` stands for another argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// When a call replaces all of its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrites: Option<Overwrites>,
    /// With `path`: what calls change in the file, so that a person who is asked sees the lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// What some calls change in the file that is their target. Exactly one of `whole`, `end` and `old` names an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The values of arguments by which such calls are known; every call without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, String>,
    /// The argument with all that the file has afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// The argument with what is put at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The argument with a text of the file that is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The argument with what takes its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

/// When a call replaces all of its target. Who saw only a part of it has to say which whole it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overwrites {
    /// The argument that says so.
    pub argument: String,
    /// Its value then.
    pub value: String,
    /// The argument with the digest of what is to be replaced.
    pub precondition: String,
}

/// How the argument that names a target is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetSyntax {
    /// A virtual path.
    Path,
    /// A name without structure.
    Name,
    /// A text for the shell: every command in it is a target.
    Shell,
    /// A program and its arguments.
    Argv,
    /// An absolute URL.
    Url,
    /// SQL text: every statement in it is looked at.
    Sql,
}
