//! Layers 1 and 2 once the role has passed: what lies out of bounds whatever anybody says, what policies say, and what
//! the risk comes to. Pure but for what the policies remember.

use super::policy::written::{Said, Statement};
use super::policy::{Holds, Inputs, Policies, Slice, Sliced};
use super::risk::{self, Risk};
use super::subject::Subject;
use super::target::{self, Target};
use crate::call::{Call, Judged};
use crate::error::{Error, Kind, Step};
use crate::record::History;
use crate::registry::Tool;
use crate::registry::manifest::Effect;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What policies and risk say about a call.
pub(super) struct Judgement {
    pub(super) effect: Effect,
    pub(super) risk: Risk,
    /// Words for what it acts on.
    pub(super) labels: BTreeSet<String>,
    /// Why a person is asked whatever the risk is.
    pub(super) asks: Vec<Arc<str>>,
    /// Statements that hold.
    pub(super) holding: Vec<Arc<Statement>>,
}

/// Layers 1 and 2 for checked arguments. Pure but for what the policies remember.
pub(super) fn judge(
    call: &Call,
    tool: &Tool,
    judged: &Judged,
    targets: &[Target],
    history: History,
    policies: &Policies,
    sliced: &Sliced,
) -> Result<Judgement, Error> {
    let slice = sliced.slice.as_ref().map_err(|why| policy_error(tool, why))?;
    let effect = target::effect(tool, targets);
    let subject = Subject::new(tool, targets, &policies.labels);
    let inputs = Inputs {
        role: &call.caller.role,
        caller: &call.caller.id,
        situation: &call.situation,
        effect,
        open_world: tool.effect.open_world,
        subject: &subject,
        history,
        args: &judged.value,
    };
    let holds = slice.holds(&inputs);
    if let Some(error) = holds.errors.first() {
        return Err(policy_error(tool, error));
    }
    if !holds.permitted {
        return Err(forbidden(tool, slice, &holds));
    }
    let found: Vec<&Arc<Statement>> = holds.factors.iter().map(|index| &slice.statements()[*index]).collect();
    let adds = found.iter().filter_map(|statement| match &statement.said {
        Said::Adds { points, lower } => {
            Some(risk::Factor::new(statement.id.clone(), *points, statement.reason.clone(), lower.clone()))
        }
        Said::Asks | Said::Permits | Said::Forbids { .. } => None,
    });
    let risk = risk::score(tool, effect, &policies.risk, adds);
    // The runtime's own tools show a caller what it may see anyway.
    let harmless = tool.built_in.is_some() && effect == Effect::Read;
    let asks = found.iter().filter(|statement| statement.said == Said::Asks && !harmless);
    let asks = asks.map(|statement| statement.reason.clone()).collect();
    let deciding = holds.deciding.iter().map(|index| slice.statements()[*index].clone());
    let holding = deciding.chain(found.iter().map(|statement| (*statement).clone())).collect();
    Ok(Judgement { effect, risk, labels: subject.labels, asks, holding })
}

fn policy_error(tool: &Tool, why: &str) -> Error {
    let message = format!("a policy about `{}` cannot be evaluated, so the call is refused", tool.name);
    Error::new(Step::Permission, Kind::PolicyError, message).log(why.to_owned())
}

/// What the caller learns of a policy that says no: its reason, never what would change its mind.
fn forbidden(tool: &Tool, slice: &Slice, holds: &Holds) -> Error {
    let forbids = holds.deciding.iter().map(|index| &slice.statements()[*index]);
    let reasons: Vec<&str> = forbids.map(|statement| &*statement.reason).collect();
    let denied = |why: String| Error::new(Step::Permission, Kind::Denied, why);
    match reasons.is_empty() {
        true => denied(format!("no policy permits this call of `{}`", tool.name)).reason("not_permitted"),
        false => {
            denied(format!("a policy forbids this call of `{}`: {}", tool.name, reasons.join("; "))).reason("forbidden")
        }
    }
}

/// A place outside every grant is refused, not asked about: no approval widens a grant.
pub(super) fn refuse_out_of_bounds(targets: &[Target], is_granted: impl Fn(&str) -> bool) -> Result<(), Error> {
    let shown = |text: &str| crate::document::excerpt(text, 200);
    for target in targets {
        let denied = |reason, why: String| Err(Error::new(Step::Permission, Kind::Denied, why).reason(reason));
        match target {
            Target::OutOfBounds(path) => {
                let why = format!("`{}` is outside every directory granted to tools", shown(path));
                return denied("path_out_of_bounds", why);
            }
            Target::Protected(path) => {
                return denied("path_out_of_bounds", format!("`{}` is kept from every tool", shown(path)));
            }
            Target::ForbiddenUrl(url) => {
                return denied("scheme_not_allowed", format!("`{}` leads to no host of the network", shown(url)));
            }
            Target::Url { text, private: true, .. } if !is_granted(text) => {
                let why = format!("`{}` leads to this machine or its own network, which is not granted", shown(text));
                return denied("private_host", why);
            }
            Target::Granted(_)
            | Target::Name(_)
            | Target::Url { .. }
            | Target::Statement { .. }
            | Target::Command { .. }
            | Target::Unreadable(_) => {}
        }
    }
    Ok(())
}
