//! Step 3 of 7: may this caller do this, here and now?

pub mod approval;
pub mod history;
pub mod labels;
pub mod policy;
pub mod risk;
pub mod role;
pub mod subject;
pub mod target;

use crate::adapter::Adapter;
use crate::call::{Call, Digest, Judged};
use crate::config::ApprovalSettings;
use crate::error::{Error, Kind, Step};
use crate::outbound::HttpSettings;
use crate::record::Facts;
use crate::registry::Tool;
use crate::registry::limit::Limiter;
use crate::registry::manifest::{Effect, RequiresApproval};
use approval::{Approver, Request};
use history::History;
use policy::written::{Said, Statement};
use policy::{Holds, Inputs, Policies, Slice};
use risk::{Level, Risk};
use std::sync::Arc;
use std::time::Duration;
use subject::Subject;
use target::Target;
use target::path::Places;

/// Proof that a call was permitted. Only this step makes one; the sandbox takes nothing else. Lifetime: the call.
#[derive(Debug)]
pub struct Grant {
    args: Digest,
    linked: Digest,
    writable: bool,
    network: bool,
    level: Level,
}

impl Grant {
    /// Digest of the arguments that were judged.
    pub fn args(&self) -> &Digest {
        &self.args
    }

    /// Digest of the component, with its capabilities, that may run.
    pub fn linked(&self) -> &Digest {
        &self.linked
    }

    /// Whether the call may change anything; its grants are read-only otherwise.
    pub fn writable(&self) -> bool {
        self.writable
    }

    /// Whether its programs may use the network.
    pub fn network(&self) -> bool {
        self.network
    }

    /// Whether intent and outcome have to be on disk before and after.
    pub fn durable(&self) -> bool {
        self.writable || self.level > Level::Low
    }
}

/// What permission has to know besides the call. Lifetime: the process.
pub struct Authority<'a> {
    /// Where virtual paths can lead.
    pub places: &'a Places,
    /// What is permitted, what adds to a risk, and what is known about targets.
    pub policies: &'a Policies,
    /// Which hosts are granted.
    pub http: &'a HttpSettings,
    /// How people are asked.
    pub settings: &'a ApprovalSettings,
    /// Who can be asked.
    pub approver: Option<&'a dyn Approver>,
    /// How often the caller may call.
    pub(crate) limiter: Limiter<'a>,
}

/// Judges a call: role, then the arguments as `preview` checks them, then policies, then risk, then a person.
///
/// What is learnt for the record goes into `facts`, also when the answer is no. Dropping the future withdraws a
/// question to a person.
///
/// # Errors
/// `denied`, `policy_error`, `no_approver`, `approval_denied`, `approval_expired`, or what `preview` says about the
/// arguments.
pub async fn permit(
    call: &Call,
    tool: &Tool,
    adapter: &Adapter,
    authority: &Authority<'_>,
    preview: impl FnOnce() -> Result<Judged, Error>,
    facts: &mut Facts,
) -> Result<(Grant, Judged), Error> {
    facts.layer = Some(1);
    authority.limiter.refuse_insistent(tool, &call.caller.id)?;
    role::check(tool, &call.caller.role)?;
    let judged = preview()?;
    let targets = target::of(tool, &judged, authority.places);
    facts.args_digest = Some(judged.digest);
    facts.targets = targets.iter().map(|target| target.text().to_owned()).collect();
    refuse_out_of_bounds(&targets, |url| authority.http.grants_private(&adapter.name, url))?;
    authority.policies.commands.check(&call.caller.role, &targets)?;

    let judgement = judge(call, tool, &judged, &targets, authority.policies)?;
    let Judgement { effect, risk, asks } = &judgement;
    note_risk(facts, risk, &judged);
    // The runtime's own tools show a caller what it may see anyway.
    let asks: &[Arc<str>] = if tool.built_in.is_some() && *effect == Effect::Read { &[] } else { asks };
    let limiter = &authority.limiter;
    limiter.take(tool, &call.caller.id).await?;
    if let Some(why) = reason_to_ask(tool, risk, asks)? {
        facts.layer = Some(3);
        facts.args = Some(judged.canonical.clone());
        let request = request(call, tool, &judged, risk, &why, facts, authority.settings);
        if let Err(error) = approval::ask(authority.approver, &request, &mut facts.approver).await {
            // What does not run takes nobody's place.
            limiter.give_back(tool).await;
            return Err(error);
        }
    }
    let writable = *effect != Effect::Read;
    let network = tool.network && writable;
    let grant = Grant { args: judged.digest, linked: adapter.linked, writable, network, level: risk.level };
    Ok((grant, judged))
}

/// What policies and risk say about a call.
struct Judgement {
    effect: Effect,
    risk: Risk,
    /// Why a person is asked whatever the risk is.
    asks: Vec<Arc<str>>,
}

/// Layers 1 and 2 for checked arguments. Pure but for what the policies remember.
fn judge(
    call: &Call,
    tool: &Tool,
    judged: &Judged,
    targets: &[Target],
    policies: &Policies,
) -> Result<Judgement, Error> {
    let sliced = policies.of_tool(tool);
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
        history: History::default(),
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
    let asks = found.iter().filter(|statement| statement.said == Said::Asks);
    Ok(Judgement { effect, risk, asks: asks.map(|statement| statement.reason.clone()).collect() })
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
fn refuse_out_of_bounds(targets: &[Target], is_granted: impl Fn(&str) -> bool) -> Result<(), Error> {
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

/// Whether a person has to be asked, and why.
fn reason_to_ask(tool: &Tool, risk: &Risk, asks: &[Arc<str>]) -> Result<Option<String>, Error> {
    if risk.level == Level::High && tool.requires_approval == RequiresApproval::Never {
        let why = format!("the risk of `{}` is high here and its manifest lets nobody approve it", tool.name);
        return Err(Error::new(Step::Permission, Kind::Denied, why).reason("risk_high"));
    }
    if tool.requires_approval == RequiresApproval::Always {
        return Ok(Some("its manifest says so for every call".into()));
    }
    if risk.level == Level::High {
        return Ok(Some("its risk is high here".into()));
    }
    Ok((!asks.is_empty()).then(|| asks.join("; ")))
}

fn note_risk(facts: &mut Facts, risk: &Risk, judged: &Judged) {
    facts.layer = Some(2);
    facts.risk = Some(risk.points);
    facts.risk_level = Some(risk.level.name().into());
    if risk.level > Level::Low {
        facts.args = Some(judged.canonical.clone());
        facts.risk_factors =
            risk.factors.iter().map(|factor| format!("{} +{}", factor.reason, factor.points)).collect();
    }
}

fn request(
    call: &Call,
    tool: &Tool,
    judged: &Judged,
    risk: &Risk,
    why: &str,
    facts: &Facts,
    settings: &ApprovalSettings,
) -> Request {
    let factor = |factor: &risk::Factor| format!("+{} {} (lower: {})", factor.points, factor.reason, factor.lower);
    Request {
        tool: tool.name.to_string(),
        description: tool.description.clone(),
        caller: call.caller.id.clone(),
        role: call.caller.role.clone(),
        args: judged.canonical.to_string(),
        args_digest: judged.digest,
        targets: facts.targets.clone(),
        why: why.to_owned(),
        risk: risk.points,
        factors: risk.factors.iter().map(factor).collect(),
        expires: Duration::from_secs(settings.expires_seconds),
    }
}
