//! Step 3 of 7: may this caller do this, here and now?

pub mod approval;
pub(crate) mod change;
pub mod explain;
mod judgement;
pub mod labels;
pub(crate) mod past;
pub mod policy;
pub mod risk;
pub mod role;
mod shown;
pub mod subject;
pub mod target;

use crate::adapter::{Adapter, Other};
use crate::call::{Arguments, Call, Digest, Judged};
use crate::config::ApprovalSettings;
use crate::error::{Error, Kind, Step};
use crate::journal::{Claim, Journal, Projection};
use crate::outbound::HttpSettings;
use crate::record::{Facts, History};
use crate::registry::Tool;
use crate::registry::limit::Limiter;
use crate::registry::manifest::{Effect, RequiresApproval};
use approval::binding::{self, Binding, Runs};
use approval::{Approver, Channels, Request};
use change::Look;
use judgement::{Judgement, judge, refuse_out_of_bounds};
use past::Pasts;
use policy::Policies;
use risk::{Level, Risk};
use std::sync::Arc;
use std::time::{Duration, Instant};
use target::Target;
use target::path::Places;
use tokio::sync::Semaphore;

/// Proof that a call was permitted. Only this step makes one; the sandbox takes nothing else. Lifetime: the call.
#[derive(Debug)]
pub struct Grant {
    args: Digest,
    linked: Digest,
    /// Further components that may run in its place.
    also: Vec<Digest>,
    /// Whether a person was asked, who was told of one component.
    asked: bool,
    /// URLs of hosts that are granted to each adapter by its name.
    private: Vec<String>,
    writable: bool,
    network: bool,
    level: Level,
    claims: Claims,
}

/// What has to hold when the call is about to run.
struct Claims(Vec<Claim>);

impl std::fmt::Debug for Claims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} claims", self.0.len())
    }
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

    /// Whether a component, with its capabilities, may run.
    pub(crate) fn covers(&self, linked: &Digest) -> bool {
        self.linked == *linked || self.also.contains(linked)
    }

    /// Covers further components that may run in the first one's place, and returns those: what a person has approved is
    /// one component, and hosts that are no public ones are granted to each adapter by its name.
    pub(crate) fn cover<'a>(&mut self, mut others: Vec<Other<'a>>, http: &HttpSettings) -> Vec<Other<'a>> {
        others.retain(|(_, adapter)| {
            let granted = || self.private.iter().all(|url| http.grants_private(&adapter.name, url));
            adapter.linked == self.linked || (!self.asked && granted())
        });
        self.also.extend(others.iter().map(|(_, adapter)| adapter.linked));
        others
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
        self.writable || self.level > Level::Low || !self.claims.0.is_empty()
    }

    /// What has to hold in the transaction of the call's intent; taken out, since it counts once.
    pub(crate) fn take_claims(&mut self) -> Vec<Claim> {
        std::mem::take(&mut self.claims.0)
    }
}

/// What permission has to know besides the call. Lifetime: the call.
pub struct Authority<'a> {
    /// The call's id.
    pub call_id: &'a str,
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
    /// Where questions and pasts are kept.
    pub journal: &'a Journal,
    /// What this process knows of callers.
    pub memory: &'a Memory,
    /// Looks at the files that calls would change.
    pub(crate) look: &'a Look<'a>,
}

/// What permission remembers in this process; all of it is in the journal too. Lifetime: the process.
#[derive(Debug)]
pub struct Memory {
    pasts: Pasts,
    waiting: Semaphore,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { pasts: Pasts::default(), waiting: Semaphore::new(approval::WAITING) }
    }
}

impl Memory {
    /// What counts of a caller's past.
    pub(crate) async fn history(&self, journal: &Journal, caller: &str) -> Result<History, Error> {
        self.pasts.of(journal, caller).await
    }

    /// Notes how a call ended, so that it counts for the next one at once.
    pub(crate) fn note(&self, call: &Call, call_id: &str, facts: &Facts, error: Option<&Error>) {
        self.pasts.note(&call.caller.id, call_id, facts, error);
    }
}

/// What permission keeps beside the records.
pub(crate) const APPROVALS: Projection = Projection { tables: approval::store::TABLES, apply: |_, _| Ok(()) };
/// What permission keeps of each caller.
pub(crate) const PASTS: Projection = Projection { tables: past::TABLES, apply: past::apply };
/// Most bytes of the arguments of a refused call that are written down.
const EXCERPT: usize = 2048;

/// Judges a call: role, then the arguments as `preview` checks them, then policies, then risk, then a person.
///
/// What is learnt for the record goes into `facts`, also when the answer is no. Dropping the future leaves a question to
/// a person, which nothing runs by.
///
/// # Errors
/// `denied`, `policy_error`, `no_approver`, `approval_pending`, `approval_denied`, `approval_expired`, `conflict`,
/// `session_halted`, or what `preview` says about the arguments.
pub async fn permit(
    call: &Call,
    tool: &Tool,
    adapter: &Adapter,
    authority: &Authority<'_>,
    preview: impl FnOnce() -> Result<Judged, Error>,
    facts: &mut Facts,
) -> Result<(Grant, Judged), Error> {
    match decide(call, tool, adapter, authority, preview, facts).await {
        Ok(permitted) => Ok(permitted),
        Err(error) => Err(Box::pin(refused(call, tool, authority, facts, error)).await),
    }
}

async fn decide(
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
    let began = Instant::now();
    let judged = preview();
    facts.preview = began.elapsed();
    let judged = judged?;
    let mut history = authority.memory.pasts.of(authority.journal, &call.caller.id).await?;
    history.tainted |= call.parent.as_ref().is_some_and(|parent| parent.from_outside);
    facts.history = (history != History::default()).then_some(history);
    if history.halted {
        return Err(halted(call));
    }
    let targets = target::of(tool, &judged, authority.places);
    facts.args_digest = Some(judged.digest);
    facts.targets = targets.iter().map(|target| target.text().to_owned()).collect();
    refuse_out_of_bounds(&targets, |url| authority.http.grants_private(&adapter.name, url))?;
    authority.policies.commands.check(&call.caller.role, &targets)?;

    let sliced = authority.policies.of_tool(tool);
    facts.policies = Some(sliced.digest);
    let judgement = judge(call, tool, &judged, &targets, history, authority.policies, &sliced)?;
    let Judgement { effect, risk, asks, labels, .. } = &judgement;
    facts.sensitivity = labels::sensitive(labels);
    note_risk(facts, risk, &judged);
    authority.limiter.take(tool, &call.caller.id).await?;
    let mut claims = Vec::new();
    if let Some(why) = reason_to_ask(tool, risk, asks)? {
        facts.layer = Some(3);
        facts.args = Some(judged.canonical.clone());
        let changes = change::declared(tool, &judged);
        let now = match changes {
            Some((_, path)) => Some((authority.look)(path).await),
            None => None,
        };
        let target = now.as_ref().map(|now| now.digest);
        let runs = Runs { component: adapter.linked, manifest: tool.digest, policies: sliced.digest, target };
        let binding = Binding {
            key: binding::key(call, &tool.name, &judged.canonical),
            runs,
            caller: call.caller.id.clone(),
            session: call.session.to_string(),
        };
        let mut request = request(call, tool, &judged, risk, why, &targets, authority.settings);
        if let (Some((change, path)), Some(now)) = (changes, &now) {
            request.effect.extend(change::lines(change, path, &judged, now));
        }
        match Box::pin(ask(call, authority, request, &binding, facts)).await {
            Ok(claim) => {
                // What the person saw is what is there, also after a while.
                if let Some((_, path)) = changes
                    && runs.target != Some((authority.look)(path).await.digest)
                {
                    authority.limiter.give_back(tool).await;
                    return Err(approval::target_changed(path));
                }
                claims.push(claim);
            }
            Err(error) => {
                // What does not run takes nobody's place.
                authority.limiter.give_back(tool).await;
                return Err(error);
            }
        }
    }
    facts.from_outside = adapter.is_outside();
    let writable = *effect != Effect::Read;
    let network = tool.network && writable;
    let claims = Claims(claims);
    let grant = Grant {
        args: judged.digest,
        linked: adapter.linked,
        also: Vec::new(),
        asked: facts.layer == Some(3),
        private: target::private_urls(&targets),
        writable,
        network,
        level: risk.level,
        claims,
    };
    Ok((grant, judged))
}

/// Layer 3. Who answered goes into the facts, whatever they said.
async fn ask(
    call: &Call,
    authority: &Authority<'_>,
    request: Request,
    binding: &Binding,
    facts: &mut Facts,
) -> Result<Claim, Error> {
    let channels = Channels {
        journal: authority.journal,
        settings: authority.settings,
        approver: authority.approver,
        asks_itself: call.asks_itself,
        waiting: &authority.memory.waiting,
        at_once: call.parent.is_some(),
    };
    match approval::ask(&channels, request, binding, authority.call_id).await {
        Ok(yes) => {
            facts.approver = Some(yes.by);
            facts.approval = Some(yes.approval);
            Ok(yes.claim)
        }
        Err(error) => {
            facts.approval = error.approval_id.clone();
            facts.approver = error.decided_by.clone();
            Err(error)
        }
    }
}

/// What is kept of a refusal: a part of the arguments, and how often the same call was refused before.
async fn refused(call: &Call, tool: &Tool, authority: &Authority<'_>, facts: &mut Facts, mut error: Error) -> Error {
    if let Some(args) = facts.args.take() {
        facts.args_excerpt = Some(crate::document::excerpt(&args, EXCERPT));
    }
    if error.step != Step::Permission || !matches!(error.kind, Kind::Denied | Kind::PolicyError) {
        return error;
    }
    let args = match &call.args {
        Arguments::Json(text) => text.clone(),
        Arguments::Value(value) => crate::canonical::to_string(value),
    };
    let key = binding::key(call, &tool.name, &args);
    facts.refused_key = Some(key);
    // The memory has to be read before it can count.
    if authority.memory.pasts.of(authority.journal, &call.caller.id).await.is_ok() {
        let before = authority.memory.pasts.repeats(&call.caller.id, &key);
        error.repeat = (before > 0).then_some(before);
    }
    error
}

fn halted(call: &Call) -> Error {
    let why = format!("the calls of `{}` are halted until a person lets them go on", call.caller.id);
    Error::new(Step::Permission, Kind::SessionHalted, why).hint("tell the person you work for; only they can resume it")
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
    why: String,
    targets: &[Target],
    settings: &ApprovalSettings,
) -> Request {
    let factor = |factor: &risk::Factor| format!("+{} {} (lower: {})", factor.points, factor.reason, factor.lower);
    let situation = &call.situation;
    let said = |name: &str, value: &Option<String>| match value {
        Some(value) => format!("{name} {value}"),
        None => format!("no {name}"),
    };
    Request {
        id: ulid::Ulid::generate().to_string(),
        tool: tool.name.to_string(),
        description: tool.description.clone(),
        caller: call.caller.id.clone(),
        role: call.caller.role.clone(),
        situation: format!("{}, {}", said("workflow", &situation.workflow), said("purpose", &situation.purpose)),
        args: judged.canonical.to_string(),
        args_digest: judged.digest,
        targets: targets.iter().map(|target| target.text().to_owned()).collect(),
        effect: targets.iter().flat_map(shown::lines).collect(),
        why,
        risk: risk.points,
        factors: risk.factors.iter().map(factor).collect(),
        similar: Vec::new(),
        expires: Duration::from_secs(settings.expires_seconds),
    }
}
