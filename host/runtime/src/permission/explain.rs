//! Why would a call run, ask or be refused? The whole of layers 1 and 2 for one call, with every number and where it
//! comes from, without asking anybody or running anything. Pure.

use super::judgement::{judge, refuse_out_of_bounds};
use super::policy::Policies;
use super::policy::written::{Said, Statement};
use super::subject::Subject;
use super::target::path::Places;
use super::target::{self, effect_name};
use super::{reason_to_ask, role};
use crate::call::{Call, Digest, Judged};
use crate::error::Error;
use crate::record::History;
use crate::registry::Tool;
use serde::{Deserialize, Serialize};

/// What would become of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It runs.
    Runs,
    /// A person is asked.
    Asks,
    /// It is refused.
    Denied,
}

/// One thing that adds to the risk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its id.
    pub id: String,
    /// Its points.
    pub points: u8,
    /// Why.
    pub reason: String,
    /// What would take it away.
    pub lower: String,
}

/// One statement that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holding {
    /// Its id.
    pub id: String,
    /// What it does.
    pub does: &'static str,
    /// Why.
    pub reason: String,
    /// The file.
    pub file: String,
}

/// All that is decided about one call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The tool.
    pub tool: String,
    /// The role.
    pub role: String,
    /// What would become of the call.
    pub outcome: Outcome,
    /// Why, if it does not simply run.
    pub why: Option<String>,
    /// The layer that decides.
    pub layer: u8,
    /// What it acts on.
    pub targets: Vec<String>,
    /// What is known about that.
    pub labels: Vec<String>,
    /// What it does.
    pub effect: &'static str,
    /// What the caller did before.
    pub history: History,
    /// Points, 0 to 100.
    pub risk: Option<u8>,
    /// What that comes to.
    pub level: Option<&'static str>,
    /// What the points are made of.
    pub parts: Vec<Part>,
    /// Statements that hold.
    pub statements: Vec<Holding>,
    /// Points from which on the risk is medium, and high.
    pub thresholds: (u8, u8),
    /// Digest of the policies, points and labels of the tool.
    pub policies: Digest,
}

/// Explains a call with checked arguments.
pub fn explain(
    call: &Call,
    tool: &Tool,
    judged: &Judged,
    places: &Places,
    policies: &Policies,
    history: History,
    is_granted: impl Fn(&str) -> bool,
) -> Explanation {
    let targets = target::of(tool, judged, places);
    let subject = Subject::new(tool, &targets, &policies.labels);
    let sliced = policies.of_tool(tool);
    let mut explanation = Explanation {
        tool: tool.name.to_string(),
        role: call.caller.role.clone(),
        outcome: Outcome::Runs,
        why: None,
        layer: 1,
        targets: targets.iter().map(|target| target.text().to_owned()).collect(),
        labels: subject.labels.iter().cloned().collect(),
        effect: effect_name(target::effect(tool, &targets)),
        history,
        risk: None,
        level: None,
        parts: Vec::new(),
        statements: Vec::new(),
        thresholds: (policies.risk.medium_from, policies.risk.high_from),
        policies: sliced.digest,
    };
    let first = role::check(tool, &call.caller.role)
        .and_then(|()| refuse_out_of_bounds(&targets, is_granted))
        .and_then(|()| policies.commands.check(&call.caller.role, &targets))
        .and_then(|()| judge(call, tool, judged, &targets, history, policies, &sliced));
    let judgement = match first {
        Ok(judgement) => judgement,
        Err(error) => return denied(explanation, &error),
    };
    let part = |factor: &super::risk::Factor| Part {
        id: factor.id.to_string(),
        points: factor.points,
        reason: factor.reason.to_string(),
        lower: factor.lower.to_string(),
    };
    explanation.layer = 2;
    explanation.risk = Some(judgement.risk.points);
    explanation.level = Some(judgement.risk.level.name());
    explanation.parts = judgement.risk.factors.iter().map(part).collect();
    explanation.statements = judgement.holding.iter().map(|statement| holding(statement)).collect();
    match reason_to_ask(tool, &judgement.risk, &judgement.asks) {
        Ok(None) => explanation,
        Ok(Some(why)) => Explanation { outcome: Outcome::Asks, why: Some(why), layer: 3, ..explanation },
        Err(error) => denied(explanation, &error),
    }
}

fn denied(explanation: Explanation, error: &Error) -> Explanation {
    let reason = error.reason.as_ref().map(|reason| format!("{reason}: ")).unwrap_or_default();
    let inside = error.log.as_ref().map(|log| format!(" ({log})")).unwrap_or_default();
    Explanation { outcome: Outcome::Denied, why: Some(format!("{reason}{}{inside}", error.message)), ..explanation }
}

fn holding(statement: &Statement) -> Holding {
    let does = match statement.said {
        Said::Permits => "permits",
        Said::Forbids { floor: false } => "forbids",
        Said::Forbids { floor: true } => "forbids for good",
        Said::Adds { .. } => "adds to the risk",
        Said::Asks => "has a person asked",
    };
    Holding {
        id: statement.id.to_string(),
        does,
        reason: statement.reason.to_string(),
        file: statement.file.display().to_string(),
    }
}
