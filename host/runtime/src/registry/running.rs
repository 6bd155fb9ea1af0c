//! How is a tool run, checked: its backends, retries, rate limit and health check. Must not see a call.

use super::manifest::{Backend as WrittenBackend, BackoffStrategy, HealthCheckManifest, InputType, ToolManifest};
use super::template::{Filling, Template};
use crate::call::Digest;
use crate::config::BackendCompletion;
use crate::document::nearest;
use crate::error::{Kind, REASONS};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// One thing that can run a tool. Lifetime: as its tool.
#[derive(Clone, Debug)]
pub struct Backend {
    /// The adapter that runs it.
    pub adapter: String,
    /// What the adapter's component calls the tool.
    pub name_in_component: String,
    /// What the adapter talks to.
    pub endpoint: Option<String>,
    /// Connections that are kept open at most.
    pub connection_pool_size: Option<u32>,
    /// How the call's arguments become the backend's.
    pub arguments: Option<Template>,
    /// How the backend's facts become the tool's.
    pub result: Option<Template>,
    /// Tells it from the tool's other backends, also after a restart.
    pub digest: Digest,
    /// The beginning of the digest, for records.
    pub key: Arc<str>,
}

/// Which failures are tried again, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts after the first one.
    pub max_retries: u32,
    /// How the waits grow.
    pub backoff: BackoffStrategy,
    /// The first wait.
    pub initial_delay: Duration,
    /// The longest one.
    pub max_delay: Duration,
    /// Kinds of failures that are tried again.
    pub kinds: Vec<Kind>,
    /// Reasons of failures that are tried again.
    pub reasons: Vec<String>,
}

/// How often each caller may call a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// In any 60 seconds.
    pub per_minute: Option<u32>,
    /// In any hour.
    pub per_hour: Option<u32>,
    /// Within one second.
    pub burst: Option<u32>,
}

/// How it is found out whether a tool's backends work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// From one check to the next.
    pub interval: Duration,
    /// What a check may take.
    pub timeout: Duration,
    /// Checks that fail in a row until a backend counts as unhealthy.
    pub threshold: u32,
}

/// Without a limit of its own, a wait between attempts is no longer than this.
const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// More attempts serve nobody.
const MOST_RETRIES: u32 = 100;

impl Retry {
    /// Whether a failure is one that is tried again.
    pub fn covers(&self, kind: Kind, reason: Option<&str>) -> bool {
        self.kinds.contains(&kind) || reason.is_some_and(|reason| self.reasons.iter().any(|known| known == reason))
    }

    /// How long to wait before a retry, counted from 1.
    pub fn delay(&self, retry: u32) -> Duration {
        let times = match self.backoff {
            BackoffStrategy::Fixed => 1,
            BackoffStrategy::Linear => retry,
            BackoffStrategy::Exponential => 2u32.saturating_pow(retry.saturating_sub(1)),
        };
        self.initial_delay.saturating_mul(times).min(self.max_delay)
    }

    /// How long all retries wait together.
    pub fn waits(&self) -> Duration {
        (1..=self.max_retries).map(|retry| self.delay(retry)).fold(Duration::ZERO, Duration::saturating_add)
    }
}

type Problems = Vec<(String, String)>;

/// Checks the backends. Each problem comes with its place.
pub(super) fn backends(
    manifest: &ToolManifest,
    completion: Option<&BackendCompletion>,
    problems: &mut Problems,
) -> Vec<Backend> {
    if manifest.backend.is_empty() {
        problems.push(("/tool/backend".into(), "a tool needs a backend".into()));
    }
    let outputs: Vec<&str> = manifest.outputs.iter().map(|output| output.name.as_str()).collect();
    let single = manifest.backend.0.len() == 1;
    let mut backends: Vec<Backend> = Vec::new();
    for (index, written) in manifest.backend.iter().enumerate() {
        let at = if single { "/tool/backend".to_owned() } else { format!("/tool/backend/{index}") };
        let backend = backend(manifest, written, completion, &outputs, &at, problems);
        if backends.iter().any(|other| other.digest == backend.digest) {
            problems.push((at.clone(), "this backend stands there twice".into()));
        }
        backends.push(backend);
    }
    backends
}

fn backend(
    manifest: &ToolManifest,
    written: &WrittenBackend,
    completion: Option<&BackendCompletion>,
    outputs: &[&str],
    at: &str,
    problems: &mut Problems,
) -> Backend {
    for (key, text) in [("type", &written.type_), ("adapter", &written.adapter)] {
        if text.trim().is_empty() {
            problems.push((format!("{at}/{key}"), format!("the backend's `{key}` is empty")));
        }
    }
    if written.endpoint.as_ref().is_some_and(|endpoint| url::Url::parse(endpoint).is_err()) {
        problems.push((format!("{at}/endpoint"), "the endpoint is no URL such as mcp://server/tool".into()));
    }
    if written.connection_pool_size == Some(0) {
        problems.push((format!("{at}/connection_pool_size"), "a backend needs at least one connection".into()));
    }
    let own = |what: &str, text: &Option<Map<String, Value>>, other: Option<&Map<String, Value>>| {
        let place = if other.is_some() { format!("configuration backend/{what}") } else { format!("{at}/{what}") };
        other.or(text.as_ref()).cloned().map(|template| (place, template))
    };
    let arguments = own("arguments", &written.arguments, completion.and_then(|known| known.arguments.as_ref()));
    let result = own("result", &written.result, completion.and_then(|known| known.result.as_ref()));
    let mut template = |place: String, read: Result<Template, Problems>| match read {
        Ok(template) => Some(template),
        Err(found) => {
            problems.extend(found.into_iter().map(|(at, why)| (format!("{place}{at}"), why)));
            None
        }
    };
    let digest = digest(written, arguments.as_ref().map(|(_, map)| map));
    Backend {
        adapter: written.adapter.clone(),
        name_in_component: written.tool.clone().unwrap_or_else(|| manifest.name.clone()),
        endpoint: written.endpoint.clone(),
        connection_pool_size: written.connection_pool_size,
        key: digest.hex()[..16].into(),
        digest,
        arguments: arguments.and_then(|(place, written)| {
            template(place, Template::of_arguments(&written, |name| filling(manifest, name)))
        }),
        result: result.and_then(|(place, written)| template(place, Template::of_result(&written, outputs))),
    }
}

fn digest(written: &WrittenBackend, arguments: Option<&Map<String, Value>>) -> Digest {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let arguments = arguments.map(|map| Value::Object(map.clone()).to_string()).unwrap_or_default();
    let parts = [written.adapter.clone(), text(&written.tool), text(&written.endpoint), arguments];
    Digest::of_parts(parts.iter().map(|part| part.as_bytes()))
}

/// What an argument may be filled into: only values that nobody can choose freely stand within a text.
fn filling(manifest: &ToolManifest, name: &str) -> Option<Filling> {
    if let Some(input) = manifest.inputs.iter().find(|input| input.name == name) {
        let bounded = match input.type_ {
            InputType::Integer | InputType::Number | InputType::Boolean | InputType::Enum => true,
            InputType::String | InputType::Array | InputType::Object => input.allowed_values.is_some(),
        };
        return Some(if bounded { Filling::Anywhere } else { Filling::Whole });
    }
    let property = manifest.input_schema.as_ref()?.get("properties")?.get(name)?;
    let type_ = property.get("type").and_then(Value::as_str);
    let bounded = property.get("enum").is_some() || matches!(type_, Some("integer" | "number" | "boolean"));
    Some(if bounded { Filling::Anywhere } else { Filling::Whole })
}

/// Checks the retry policy. `declared` are the reasons that the adapters' components declare.
pub(super) fn retry(manifest: &ToolManifest, declared: &BTreeSet<String>, problems: &mut Problems) -> Option<Retry> {
    let written = manifest.retry_policy.as_ref()?;
    let at = "/tool/retry_policy";
    if written.max_retries > MOST_RETRIES {
        problems.push((format!("{at}/max_retries"), format!("no call is tried again more than {MOST_RETRIES} times")));
    }
    let (mut kinds, mut reasons) = (Vec::new(), Vec::new());
    for (index, word) in written.retryable_errors.iter().enumerate() {
        let lower = word.to_lowercase();
        if let Some(kind) = Kind::by_name(&lower) {
            kinds.push(kind);
            // A call whose own time is over is over; what its author means is the time of one attempt.
            kinds.extend((kind == Kind::Timeout).then_some(Kind::AttemptTimeout));
        } else if REASONS.contains(&lower.as_str()) || declared.contains(&lower) {
            reasons.push(lower);
        } else {
            let known = Kind::ALL.iter().map(|kind| kind.name()).chain(REASONS.iter().copied());
            let near = nearest(&lower, known.chain(declared.iter().map(String::as_str)));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let shown = crate::document::excerpt(word, 60);
            let why =
                format!("`{shown}` is no kind and no reason of failures that the runtime or a plugin knows{near}");
            problems.push((format!("{at}/retryable_errors/{index}"), why));
        }
    }
    Some(Retry {
        max_retries: written.max_retries,
        backoff: written.backoff_strategy,
        initial_delay: Duration::from_millis(written.initial_delay_ms),
        max_delay: written.max_delay_ms.map_or(LONGEST_DELAY, Duration::from_millis),
        kinds,
        reasons,
    })
}

/// Checks the rate limit.
pub(super) fn rate_limit(manifest: &ToolManifest, problems: &mut Problems) -> Option<RateLimit> {
    let written = manifest.rate_limit.as_ref()?;
    let limits = [
        ("max_calls_per_minute", written.max_calls_per_minute),
        ("max_calls_per_hour", written.max_calls_per_hour),
        ("burst_allowance", written.burst_allowance),
    ];
    for (key, limit) in limits {
        if limit == Some(0) {
            let why = format!("with `{key} = 0` nobody could call the tool; to take it out of service, disable it");
            problems.push((format!("/tool/rate_limit/{key}"), why));
        }
    }
    if limits.iter().all(|(_, limit)| limit.is_none()) {
        problems.push(("/tool/rate_limit".into(), "the rate limit limits nothing".into()));
    }
    Some(RateLimit {
        per_minute: written.max_calls_per_minute,
        per_hour: written.max_calls_per_hour,
        burst: written.burst_allowance,
    })
}

/// Checks the health check; nothing if it is not enabled.
pub(super) fn health_check(manifest: &ToolManifest, problems: &mut Problems) -> Option<HealthCheck> {
    let HealthCheckManifest { enabled, interval_seconds, timeout_seconds, unhealthy_threshold } =
        manifest.health_check?;
    let numbers = [
        ("interval_seconds", interval_seconds),
        ("timeout_seconds", timeout_seconds),
        ("unhealthy_threshold", u64::from(unhealthy_threshold)),
    ];
    for (key, number) in numbers {
        if number == 0 {
            problems.push((format!("/tool/health_check/{key}"), format!("`{key}` has to be at least 1")));
        }
    }
    enabled.then_some(HealthCheck {
        interval: Duration::from_secs(interval_seconds),
        timeout: Duration::from_secs(timeout_seconds),
        threshold: unhealthy_threshold,
    })
}
