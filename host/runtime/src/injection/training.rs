//! What can be learnt from a trajectory? Its calls as lines for evaluation and reinforcement learning, and as a chat with
//! tools for fine-tuning. Pure; `trajectory.md` describes the form.

use crate::envelope::Usage;
use crate::injection::feedback::Report;
use crate::record::{Kept, Record};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One call as a line of a data set: what was observed and asked, what came of it, and what it is worth.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The form of this line; it changes when a field changes its meaning.
    pub schema: &'static str,
    /// The session.
    pub trajectory: String,
    /// Its place in the trajectory, from 0.
    pub index: usize,
    /// Whether it is the last one.
    pub last: bool,
    /// The call's id, under which the audit knows it.
    pub call_id: String,
    /// When it ended, in milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// The agent's role.
    pub role: String,
    /// What it works on, as it says, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The tool that was called.
    pub tool: String,
    /// The arguments, masked; `null` where they were not recorded.
    pub arguments: Value,
    /// What the agent got, masked and cut as it got it; `null` where it was not recorded.
    pub observation: Value,
    /// 200, or the code of the refusal or failure.
    pub code: u16,
    /// The kind of the refusal or failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it is worth, signal by signal; each between -1 and 1.
    pub reward: BTreeMap<&'static str, f64>,
    /// What it used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Usage>,
}

/// The form of lines written now.
pub const SCHEMA: &str = "hermes trajectory step 1";

/// A latency that is worth nothing, in microseconds; a faster call is worth more, a slower one less.
const USUAL_US: f64 = 1_000_000.0;

/// The lines of a trajectory. `reports` are what programs around the runtime have said about results.
pub fn steps(session: &str, calls: &[(Record, Option<Kept>)], reports: &BTreeMap<String, Report>) -> Vec<Step> {
    let step = |(index, (record, kept)): (usize, &(Record, Option<Kept>))| Step {
        schema: SCHEMA,
        trajectory: session.to_owned(),
        index,
        last: index + 1 == calls.len(),
        call_id: record.call_id.to_string(),
        time_ms: record.time_ms,
        role: record.caller.role.clone(),
        task: record.situation.task.clone(),
        tool: record.facts.tool.to_string(),
        arguments: arguments(record, kept.as_ref()),
        observation: kept.as_ref().map_or(Value::Null, |kept| kept.data.clone()),
        code: record.code.unwrap_or(500),
        error: record.error.as_ref().map(|error| error.kind.name().to_owned()),
        reward: reward(record, reports.get(&*record.call_id)),
        resources: record.facts.usage,
    };
    calls.iter().enumerate().map(step).collect()
}

/// What a call is worth: success, refusals, repairs, what was cut, time and fuel; and whether its result was right, if
/// anybody has said so.
fn reward(record: &Record, report: Option<&Report>) -> BTreeMap<&'static str, f64> {
    let code = record.code.unwrap_or(500);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let shown = record.facts.shown.as_ref();
    let cut = shown.map_or(0.0, |shown| share((shown.total - shown.kept.min(shown.total)) as f64, shown.total as f64));
    let us = record.duration_us as f64;
    let mut reward = BTreeMap::from([
        ("success", if code == 200 { 1.0 } else { -1.0 }),
        ("denial", if code == 403 { -1.0 } else { 0.0 }),
        ("invalid", if code == 400 { -1.0 } else { 0.0 }),
        ("repair", -(f64::from(record.facts.repairs.min(10)) / 10.0)),
        ("truncation", -cut),
        ("latency", (USUAL_US - us) / (USUAL_US + us)),
        ("resources", -record.facts.usage.map_or(0.0, |usage| usage.fuel as f64 / (usage.fuel as f64 + 1e9))),
    ]);
    // Nothing is worth minus nothing.
    reward.values_mut().for_each(|worth| *worth += 0.0);
    reward.extend(report.map(|report| ("reported", if report.right { 1.0 } else { -1.0 })));
    reward
}

fn arguments(record: &Record, kept: Option<&Kept>) -> Value {
    let text = kept.map(|kept| &kept.args).or(record.facts.args.as_ref());
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The trajectory as messages of a chat with tools: each call an assistant's turn, each result a tool's.
pub fn chat(session: &str, calls: &[(Record, Option<Kept>)]) -> Value {
    let mut messages = Vec::new();
    let mut task = None;
    for (record, kept) in calls {
        if record.situation.task.is_some() && record.situation.task != task {
            task.clone_from(&record.situation.task);
            messages.push(json!({ "role": "user", "content": task }));
        }
        messages.push(json!({
            "role": "assistant", "content": null,
            "tool_calls": [{
                "id": record.call_id, "type": "function",
                "function": { "name": record.facts.tool, "arguments": arguments(record, kept.as_ref()).to_string() },
            }],
        }));
        let content = match (&record.error, kept) {
            (Some(error), _) => json!({ "error": { "code": error.code, "kind": error.kind.name(), "message": error.message, "hint": error.hint } }).to_string(),
            (None, Some(kept)) => kept.data.as_str().map_or_else(|| kept.data.to_string(), str::to_owned),
            (None, None) => record.facts.shown.as_ref().map(|shown| shown.gist.clone()).unwrap_or_default(),
        };
        messages.push(json!({ "role": "tool", "tool_call_id": record.call_id, "content": content }));
    }
    json!({ "session": session, "messages": messages })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documented form is the one that is written.
    #[test]
    fn every_field_and_signal_is_described() {
        let described = include_str!("trajectory.md");
        let reward = ["success", "denial", "invalid", "repair", "truncation", "latency", "resources", "reported"];
        let step = Step {
            schema: SCHEMA,
            trajectory: "s".into(),
            index: 0,
            last: true,
            call_id: "c".into(),
            time_ms: 1,
            role: "r".into(),
            task: Some("t".into()),
            tool: "t".into(),
            arguments: Value::Null,
            observation: Value::Null,
            code: 502,
            error: Some("e".into()),
            reward: reward.into_iter().map(|signal| (signal, 0.0)).collect(),
            resources: Some(Usage::default()),
        };
        let step = serde_json::to_value(step).unwrap();
        let words = step.as_object().unwrap().keys().chain(step["reward"].as_object().unwrap().keys());
        for word in words {
            assert!(described.contains(&format!("`{word}`")), "`{word}` is not described");
        }
        assert!(described.contains(SCHEMA));
    }
}
