//! Step 3 of 7: may this caller do this, here and now?

pub mod approval;
pub mod risk;
pub mod role;
pub mod target;

use crate::adapter::Adapter;
use crate::call::{Call, Digest, Judged};
use crate::config::ApprovalSettings;
use crate::error::{Error, Kind, Step};
use crate::record::Facts;
use crate::registry::Tool;
use crate::registry::manifest::{Effect, RequiresApproval};
use approval::{Approver, Request};
use risk::{Level, Risk};
use std::time::Duration;
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
    /// How people are asked.
    pub settings: &'a ApprovalSettings,
    /// Who can be asked.
    pub approver: Option<&'a dyn Approver>,
}

/// Judges a call: role, then the arguments as `preview` checks them, then risk, then a person.
///
/// What is learnt for the record goes into `facts`, also when the answer is no. Dropping the future withdraws a
/// question to a person.
///
/// # Errors
/// `denied`, `no_approver`, `approval_denied`, `approval_expired`, or what `preview` says about the arguments.
pub async fn permit(
    call: &Call,
    tool: &Tool,
    adapter: &Adapter,
    authority: &Authority<'_>,
    preview: impl FnOnce() -> Result<Judged, Error>,
    facts: &mut Facts,
) -> Result<(Grant, Judged), Error> {
    facts.layer = Some(1);
    role::check(tool, &call.caller.role)?;
    let judged = preview()?;
    let targets = target::of(tool, &judged, authority.places);
    facts.args_digest = Some(judged.digest);
    facts.targets = targets.iter().map(|target| target.text().to_owned()).collect();
    refuse_out_of_bounds(&targets)?;

    let effect = target::effect(tool, &targets);
    let risk = risk::score(tool, effect, &targets, &call.situation);
    note_risk(facts, &risk, &judged);
    if let Some(why) = reason_to_ask(tool, call, effect, &risk, &targets)? {
        facts.layer = Some(3);
        facts.args = Some(judged.canonical.clone());
        let request = request(call, tool, &judged, &risk, why, facts, authority.settings);
        approval::ask(authority.approver, &request, &mut facts.approver).await?;
    }
    let writable = effect != Effect::Read;
    let network = tool.network && writable;
    let grant = Grant { args: judged.digest, linked: adapter.linked, writable, network, level: risk.level };
    Ok((grant, judged))
}

/// A place outside every grant is refused, not asked about: no approval widens a grant.
fn refuse_out_of_bounds(targets: &[Target]) -> Result<(), Error> {
    let shown = |text: &str| crate::document::excerpt(text, 200);
    for target in targets {
        let denied = |why: String| Err(Error::new(Step::Permission, Kind::Denied, why).reason("path_out_of_bounds"));
        match target {
            Target::OutOfBounds(path) => {
                return denied(format!("`{}` is outside every directory granted to tools", shown(path)));
            }
            Target::Protected(path) => return denied(format!("`{}` is kept from every tool", shown(path))),
            Target::Granted(_) | Target::Name(_) | Target::Command { .. } | Target::Unreadable(_) => {}
        }
    }
    Ok(())
}

/// Whether a person has to be asked, and why.
fn reason_to_ask(
    tool: &Tool,
    call: &Call,
    effect: Effect,
    risk: &Risk,
    targets: &[Target],
) -> Result<Option<&'static str>, Error> {
    if risk.level == Level::High && tool.requires_approval == RequiresApproval::Never {
        let why = format!("the risk of `{}` is high here and its manifest lets nobody approve it", tool.name);
        return Err(Error::new(Step::Permission, Kind::Denied, why).reason("risk_high"));
    }
    if tool.requires_approval == RequiresApproval::Always {
        return Ok(Some("its manifest says so for every call"));
    }
    if risk.level == Level::High {
        return Ok(Some("its risk is high here"));
    }
    // A command that only reads runs where the grants are all that it sees, and sees them read-only.
    let reads_workspace = effect == Effect::Read
        && !targets.is_empty()
        && targets.iter().all(|target| matches!(target, Target::Granted(_) | Target::Command { read_only: true, .. }));
    if role::is_built_in(&call.caller.role) && !reads_workspace {
        return Ok(Some("nothing is configured for this caller, so only reading granted places runs unasked"));
    }
    Ok(None)
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
