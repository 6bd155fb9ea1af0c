//! What is known of one call? What a test asserts on.

use hermes_runtime::envelope::Envelope;
use hermes_runtime::record::Record;
use serde_json::{Value, json};

/// One call and all that is known of it.
#[derive(Debug)]
pub struct Called {
    /// The answer.
    pub envelope: Envelope,
    /// The outcome's record.
    pub record: Option<Record>,
}

impl Called {
    /// The result.
    ///
    /// # Panics
    /// If the call failed; says why, with what only the log has.
    pub fn ok(&self) -> &Value {
        match &self.envelope.error {
            None => &self.envelope.data,
            Some(error) => {
                panic!("the call failed: {error}\n{}", serde_json::to_string_pretty(&self.record).unwrap_or_default())
            }
        }
    }

    /// The kind and the reason of a failure, as `tool_failed/not_found`.
    ///
    /// # Panics
    /// If the call did not fail.
    pub fn failure(&self) -> String {
        let error =
            self.envelope.error.as_ref().unwrap_or_else(|| panic!("the call did not fail: {}", self.envelope.data));
        match &error.reason {
            Some(reason) => format!("{}/{reason}", error.kind.name()),
            None => error.kind.name().to_owned(),
        }
    }

    /// Lines that the component logged and printed, and what the host says of its requests.
    pub fn log(&self) -> Vec<String> {
        self.record.as_ref().map(|record| record.facts.log.clone()).unwrap_or_default()
    }

    /// The whole trail without what differs from run to run, for a comparison with what was kept.
    pub fn snapshot(&self) -> String {
        let mut envelope = serde_json::to_value(&self.envelope).unwrap_or_default();
        for key in ["call_id", "audit_id", "duration_ms", "durability"] {
            envelope["metadata"].as_object_mut().map(|metadata| metadata.remove(key));
        }
        for key in ["wall_us", "cpu_us"] {
            envelope["metadata"]["usage"].as_object_mut().map(|usage| usage.remove(key));
        }
        let steps = self.record.iter().flat_map(|record| &record.steps);
        let steps: Vec<Value> = steps.map(|step| json!([step.step.name(), step.verdict.to_string()])).collect();
        serde_json::to_string_pretty(&json!({ "envelope": envelope, "steps": steps, "log": self.log() }))
            .unwrap_or_default()
    }
}
