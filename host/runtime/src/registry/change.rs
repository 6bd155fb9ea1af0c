//! How does a tool differ from what it was, and does that widen what can be done? Pure. What cannot be known to narrow
//! counts as widening.

use super::Tool;
use super::manifest::RequiresApproval;
use crate::document::excerpt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Longest form of a value in a difference, in bytes; what is held back is shown whole by its file.
const SHOWN: usize = 2000;

/// One thing that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What.
    pub what: String,
    /// As it was.
    pub from: String,
    /// As it is.
    pub to: String,
    /// Whether it widens what can be done, or what an agent is told.
    pub widens: bool,
}

/// All that differs, but for what decides nothing.
pub fn differences(old: &Tool, new: &Tool) -> Vec<Difference> {
    let (was, is) = (&old.manifest, &new.manifest);
    let mut found = Found(Vec::new());
    let roles = |tool: &Tool| json!({ "required": tool.required_roles, "denied": tool.denied_roles });
    let fewer = new.required_roles.is_subset(&old.required_roles) && old.denied_roles.is_subset(&new.denied_roles);
    found.note("roles", roles(old), roles(new), !fewer || (new.for_every_role && !old.for_every_role));
    found.note("risk_level", json!(old.risk_level), json!(new.risk_level), new.risk_level < old.risk_level);
    let asks = asks_less(old.requires_approval, new.requires_approval);
    found.note("requires_approval", json!(old.requires_approval), json!(new.requires_approval), asks);
    found.note("description", json!(old.description), json!(new.description), true);
    found.note("outputs", json!([was.outputs, was.output_schema]), json!([is.outputs, is.output_schema]), true);
    let names = |tool: &Tool| tool.aliases.iter().cloned().collect::<BTreeSet<String>>();
    found.note("aliases", json!(names(old)), json!(names(new)), !names(new).is_subset(&names(old)));
    let inputs = |tool: &Tool| {
        let manifest = &tool.manifest;
        json!([manifest.inputs, manifest.input_schema, manifest.schemas, manifest.coercion])
    };
    found.note("inputs", inputs(old), inputs(new), true);
    let effect = (new.effect.kind < old.effect.kind)
        || (new.effect.idempotent && !old.effect.idempotent)
        || (old.effect.open_world && !new.effect.open_world)
        || is.effect.as_ref().map(|effect| &effect.read_only) != was.effect.as_ref().map(|effect| &effect.read_only);
    found.note("effect", json!(was.effect), json!(is.effect), effect);
    found.note("target", json!(was.target), json!(is.target), true);
    found.note("backend", json!(was.backend), json!(is.backend), true);
    found.note("stands_for", json!(was.stands_for), json!(is.stands_for), true);
    found.note("retry_policy", json!(was.retry_policy), json!(is.retry_policy), true);
    found.note("timeout_argument", json!(was.timeout_argument), json!(is.timeout_argument), true);
    for (what, was, is) in [
        ("rate_limit", json!(was.rate_limit), json!(is.rate_limit)),
        ("timeout_ms", json!(was.timeout_ms), json!(is.timeout_ms)),
        ("deadline_ms", json!(was.deadline_ms), json!(is.deadline_ms)),
        // Without one there is none.
        ("grace_ms", json!(was.grace_ms.unwrap_or(0)), json!(is.grace_ms.unwrap_or(0))),
        ("limits", json!(was.limits), json!(is.limits)),
    ] {
        let less = is_less(&was, &is);
        found.note(what, was, is, !less);
    }
    found.0
}

struct Found(Vec<Difference>);

impl Found {
    fn note(&mut self, what: &str, from: Value, to: Value, widens: bool) {
        if from != to {
            let shown = |value: &Value| excerpt(&value.to_string(), SHOWN);
            self.0.push(Difference { what: what.to_owned(), from: shown(&from), to: shown(&to), widens });
        }
    }
}

/// Whether fewer calls ask a person, or more may run.
fn asks_less(old: RequiresApproval, new: RequiresApproval) -> bool {
    match (old, new) {
        // Without a person to say yes what is of high risk is denied.
        (RequiresApproval::WhenHigh, RequiresApproval::Always | RequiresApproval::Never) => false,
        (old, new) => old != new,
    }
}

/// Whether every number that limits is there still and no greater. What is not there does not limit.
fn is_less(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Null, _) => true,
        (Value::Number(old), Value::Number(new)) => new.as_f64() <= old.as_f64(),
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(key, old)| is_less(old, new.get(key).unwrap_or(&Value::Null)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tool::{Surroundings, parse};
    use super::*;
    use std::path::Path;

    const BEFORE: &str = "[tool]\nname = 't'\nversion = '1.0.0'\ndescription = 'x'\ntimeout_ms = 1000\n\
        permissions = { required_roles = ['A', 'B'], denied_roles = ['C'], risk_level = 'medium' }\n\
        effect = { kind = 'write' }\nbackend = { type = 'custom', adapter = 'a' }\nmetadata = { author = 'x' }\n\
        rate_limit = { max_calls_per_minute = 10 }\n[[tool.inputs]]\nname = 'i'\ntype = 'string'\n";

    /// What differs when a part of the text is another one, each with whether it widens.
    fn check(from: &str, to: &str, expect: &[(&str, bool)]) {
        assert!(BEFORE.contains(from), "{from}");
        let tool = |text: &str| parse(Path::new("t.toml"), text, &Surroundings::default()).unwrap();
        let found = differences(&tool(BEFORE), &tool(&BEFORE.replace(from, to)));
        let found: Vec<(&str, bool)> = found.iter().map(|found| (found.what.as_str(), found.widens)).collect();
        assert_eq!(found, expect, "{from} {to}");
    }

    #[test]
    fn what_narrows_is_told_from_what_widens() {
        check("['A', 'B']", "['A']", &[("roles", false)]);
        check("['A', 'B']", "['A', 'D']", &[("roles", true)]);
        check("['C']", "['C', 'D']", &[("roles", false)]);
        check("['C']", "[]", &[("roles", true)]);
        check("'medium'", "'high'", &[("risk_level", false)]);
        check("'medium'", "'low'", &[("risk_level", true)]);
        check("'medium' }", "'medium', requires_approval = 'always' }", &[("requires_approval", false)]);
        check("kind = 'write'", "kind = 'destructive'", &[("effect", false)]);
        check("kind = 'write'", "kind = 'read'", &[("effect", true)]);
        check("kind = 'write'", "kind = 'write', idempotent = true", &[("effect", true)]);
        check("timeout_ms = 1000", "timeout_ms = 500", &[("timeout_ms", false)]);
        check("timeout_ms = 1000", "timeout_ms = 1500", &[("timeout_ms", true)]);
        check("timeout_ms = 1000", "", &[("timeout_ms", true)]);
        check("timeout_ms = 1000", "timeout_ms = 1000\ndeadline_ms = 9000", &[("deadline_ms", false)]);
        check("minute = 10", "minute = 9, burst_allowance = 2", &[("rate_limit", false)]);
        check("minute = 10", "hour = 9", &[("rate_limit", true)]);
        check("description = 'x'", "description = 'y'", &[("description", true)]);
        check("adapter = 'a'", "adapter = 'b'", &[("backend", true)]);
        check("name = 'i'", "name = 'j'", &[("inputs", true)]);
        check("timeout_ms", "aliases = ['u']\ntimeout_ms", &[("aliases", true)]);
        check("author = 'x'", "author = 'y'", &[]);
    }
}
