//! How is a tool run, as its author wrote it? Backends, times, retries, limits and health. Must not check what the
//! words mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The argument by which a caller says how long one attempt may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeoutArgument {
    /// Its name.
    pub name: String,
    /// What it counts.
    pub unit: TimeoutUnit,
}

/// What a time is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutUnit {
    /// Seconds.
    Seconds,
    /// Thousandths of them.
    Milliseconds,
}

/// How often each caller may call a tool. What is left out does not limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimitManifest {
    /// Calls in any 60 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls_per_minute: Option<u32>,
    /// Calls in any hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls_per_hour: Option<u32>,
    /// Calls within one second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_allowance: Option<u32>,
}

/// Which failures are tried again, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// Attempts after the first one.
    pub max_retries: u32,
    /// How the waits between attempts grow.
    #[serde(default)]
    pub backoff_strategy: BackoffStrategy,
    /// The first wait, in milliseconds.
    #[serde(default = "half_a_second")]
    pub initial_delay_ms: u64,
    /// The longest wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delay_ms: Option<u64>,
    /// Kinds and reasons of failures, in any case.
    #[serde(default)]
    pub retryable_errors: Vec<String>,
}

fn half_a_second() -> u64 {
    500
}

/// How the waits between attempts grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackoffStrategy {
    /// They are alike.
    Fixed,
    /// By the first one each time.
    Linear,
    /// Each is twice the one before.
    #[default]
    Exponential,
}

/// What one attempt may use up. What is left out is the runtime's default, and nothing exceeds its ceiling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsManifest {
    /// Units of fuel, about one for each WebAssembly instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Sum of all linear memories, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// What it may return, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// What it may log, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// What it may log and print, in lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_lines: Option<u64>,
    /// Calls to the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_calls: Option<u64>,
    /// What it may hand to the host in one call, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_call_bytes: Option<u64>,
    /// Handles that it may hold at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handles: Option<u64>,
    /// Core instances that its component is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<u64>,
    /// Elements of all tables together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_elements: Option<u64>,
}

impl LimitsManifest {
    /// The same with what is usual where it says nothing about memory and fuel.
    pub fn or_usual(self, usual: &LimitsManifest) -> LimitsManifest {
        LimitsManifest { fuel: self.fuel.or(usual.fuel), memory_mb: self.memory_mb.or(usual.memory_mb), ..self }
    }

    /// The same where another one says nothing, and never more than that one.
    pub fn under(&self, cap: &LimitsManifest) -> LimitsManifest {
        let lower = |own: Option<u64>, cap: Option<u64>| own.into_iter().chain(cap).min();
        LimitsManifest {
            fuel: lower(self.fuel, cap.fuel),
            memory_mb: lower(self.memory_mb, cap.memory_mb),
            output_bytes: lower(self.output_bytes, cap.output_bytes),
            log_bytes: lower(self.log_bytes, cap.log_bytes),
            log_lines: lower(self.log_lines, cap.log_lines),
            host_calls: lower(self.host_calls, cap.host_calls),
            host_call_bytes: lower(self.host_call_bytes, cap.host_call_bytes),
            handles: lower(self.handles, cap.handles),
            instances: lower(self.instances, cap.instances),
            table_elements: lower(self.table_elements, cap.table_elements),
        }
    }
}

/// What runs a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// The kind of backend, for people.
    #[serde(rename = "type")]
    pub type_: String,
    /// The name of the adapter, one of those that its `adapter.toml` declares.
    pub adapter: String,
    /// What the component calls the tool, if that is not the tool's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the adapter talks to, such as `mcp://server/tool`. The server's address itself is configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Connections that are kept open at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_pool_size: Option<u32>,
    /// What the backend gets instead of the call's arguments: any value in which `{name}` stands for an argument. See
    /// `registry::template`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// What the caller gets instead of the backend's facts: a value in which `{/path}` stands for a part of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
}

/// How it is found out whether a tool's backends work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HealthCheckManifest {
    /// Whether it is.
    pub enabled: bool,
    /// Seconds from one check to the next.
    pub interval_seconds: u64,
    /// Seconds that a check may take.
    pub timeout_seconds: u64,
    /// Checks that fail in a row until the backend counts as unhealthy.
    pub unhealthy_threshold: u32,
}

impl Default for HealthCheckManifest {
    fn default() -> HealthCheckManifest {
        HealthCheckManifest { enabled: true, interval_seconds: 60, timeout_seconds: 5, unhealthy_threshold: 3 }
    }
}
