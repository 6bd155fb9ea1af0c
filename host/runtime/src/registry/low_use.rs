//! What is the matter with a tool that nobody calls? Its figures beside those of its neighbours, and what to do about it.
//! Pure: what is known is handed in.

use super::discovery::Found;
use super::life::Unused;
use super::statistics::Use;
use serde::{Deserialize, Serialize};

/// Neighbours that are named.
const NEIGHBOURS: usize = 3;
/// How much of the best match another tool has to have to be a neighbour.
const NEAR: f64 = 0.2;

/// What was found about a tool that is hardly used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The tool.
    pub tool: String,
    /// Since when it is known, in milliseconds since 1970-01-01 UTC.
    pub known_since_ms: u64,
    /// When it was last called; nothing if it never was.
    pub last_used_ms: Option<u64>,
    /// Calls that ran.
    pub calls: u64,
    /// How many of them failed.
    pub failures: u64,
    /// Calls that were refused, by role, policy, risk or a person.
    pub denials: u64,
    /// Calls with wrong arguments.
    pub invalid: u64,
    /// Tools like it that are used more.
    pub neighbours: Vec<Neighbour>,
    /// What to do.
    pub suggestion: String,
}

/// A tool like another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Its name.
    pub tool: String,
    /// Its calls that ran.
    pub calls: u64,
    /// What its success rate is at least.
    pub success_lower: f64,
}

/// Evaluates a tool. `uses` are its figures by version, `alike` what a search for its own words finds.
pub(crate) fn evaluate(unused: &Unused, uses: &[&Use], alike: &[Found<'_>]) -> Evaluation {
    let sum = |count: fn(&Use) -> u64| uses.iter().map(|used| count(used)).sum::<u64>();
    let calls = sum(|used| used.calls);
    let failures = calls - sum(|used| used.ok).min(calls);
    let denials = sum(|used| used.denied_role + used.denied_risk + used.denied_person);
    let invalid = sum(|used| used.invalid);
    let best = alike.iter().map(|found| found.matching).fold(f64::MIN_POSITIVE, f64::max);
    let neighbour = |found: &Found<'_>| {
        let quality = found.quality.filter(|quality| quality.calls > calls)?;
        let is_near = *found.tool.name != *unused.tool && found.matching / best >= NEAR;
        is_near.then(|| Neighbour {
            tool: found.tool.name.to_string(),
            calls: quality.calls,
            success_lower: (quality.success_lower * 1000.0).round() / 1000.0,
        })
    };
    let neighbours: Vec<Neighbour> = alike.iter().filter_map(neighbour).take(NEIGHBOURS).collect();
    let suggestion = suggestion(&unused.tool, [calls, failures, denials, invalid], &neighbours);
    Evaluation {
        tool: unused.tool.clone(),
        known_since_ms: unused.first_ms,
        last_used_ms: unused.last_ms,
        calls,
        failures,
        denials,
        invalid,
        neighbours,
        suggestion,
    }
}

fn suggestion(tool: &str, [calls, failures, denials, invalid]: [u64; 4], neighbours: &[Neighbour]) -> String {
    if denials > calls {
        return format!("rework its roles and its risk: {denials} calls were refused and {calls} ran");
    }
    if invalid > calls {
        return format!("rework its inputs: {invalid} calls had wrong arguments and {calls} ran");
    }
    if failures * 2 > calls {
        return format!("rework it: {failures} of {calls} calls failed");
    }
    match neighbours.first() {
        Some(other) => format!("retire it: `{}` is like it and was called {} times", other.tool, other.calls),
        None if calls == 0 => {
            format!("rework its description, or retire it with `tools retire {tool}`: nobody has found it")
        }
        None => format!("retire it with `tools retire {tool}`, or keep it for what comes rarely"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_suggested_follows_from_the_figures() {
        let other = Neighbour { tool: "other".into(), calls: 12, success_lower: 0.7 };
        let check = |figures, neighbours: &[Neighbour], word: &str| {
            let found = suggestion("t", figures, neighbours);
            assert!(found.contains(word), "{found}");
        };
        check([0, 0, 5, 0], std::slice::from_ref(&other), "rework its roles");
        check([1, 0, 0, 9], &[], "rework its inputs");
        check([10, 6, 0, 0], std::slice::from_ref(&other), "6 of 10 calls failed");
        check([10, 2, 0, 0], &[other], "`other` is like it");
        check([0, 0, 0, 0], &[], "rework its description");
        check([10, 0, 0, 0], &[], "tools retire t");
    }
}
