//! What is a decision about, and does it still fit? One key for the same request, and digests of all that decides what
//! the request does: if one of them changed, nobody has agreed to what would run now. Pure.

use crate::call::{Call, Digest, Mode};
use serde::{Deserialize, Serialize};

/// To what a decision is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Digest of caller, role, workflow, mode, tool and canonical arguments.
    pub key: Digest,
    /// What the request would run.
    pub runs: Runs,
    /// Who asks.
    pub caller: String,
    /// In which session.
    pub session: String,
}

/// What a request would run, in digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// The component with its capabilities.
    pub component: Digest,
    /// The manifest, with what configuration adds to it.
    pub manifest: Digest,
    /// The policies, points and labels that apply to the tool.
    pub policies: Digest,
    /// The file that it changes, as it is now. A yes to more than one run does not hold it fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Digest>,
}

impl Runs {
    /// What is not what it was, as a reason.
    pub fn changed(&self, other: &Runs) -> Option<&'static str> {
        match () {
            () if self.component != other.component => Some("component_changed"),
            () if self.manifest != other.manifest => Some("tool_changed"),
            () if self.policies != other.policies => Some("policies_changed"),
            () if self.target != other.target => Some("target_changed"),
            () => None,
        }
    }
}

/// The key of a request. `args` are canonical.
pub fn key(call: &Call, tool: &str, args: &str) -> Digest {
    let mode = match call.situation.mode {
        Mode::Explore => "explore",
        Mode::Workflow => "workflow",
    };
    let workflow = call.situation.workflow.as_deref();
    // An absent workflow and one without a name differ.
    let has_workflow = if workflow.is_some() { "1" } else { "0" };
    let parts = [&call.caller.id, &call.caller.role, has_workflow, workflow.unwrap_or_default(), mode, tool, args];
    Digest::of_parts(parts.iter().map(|part| part.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Caller, Situation};
    use serde_json::Value;
    use std::sync::Arc;

    fn call(id: &str, role: &str, workflow: Option<&str>, mode: Mode) -> Call {
        let situation = Situation { workflow: workflow.map(str::to_owned), mode, ..Situation::default() };
        Call::new("t", Value::Null)
            .caller(Arc::new(Caller { id: id.into(), role: role.into() }))
            .situation(Arc::new(situation))
    }

    #[test]
    fn every_part_of_a_request_is_in_its_key() {
        let keys = [
            key(&call("a", "r", None, Mode::Explore), "t", "{}"),
            key(&call("b", "r", None, Mode::Explore), "t", "{}"),
            key(&call("a", "s", None, Mode::Explore), "t", "{}"),
            key(&call("a", "r", Some(""), Mode::Explore), "t", "{}"),
            key(&call("a", "r", Some("w"), Mode::Explore), "t", "{}"),
            key(&call("a", "r", None, Mode::Workflow), "t", "{}"),
            key(&call("a", "r", None, Mode::Explore), "u", "{}"),
            key(&call("a", "r", None, Mode::Explore), "t", "{\"a\":1}"),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(keys[index + 1..].iter().all(|other| other != one), "{index}");
        }
    }
}
