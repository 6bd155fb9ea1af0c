//! Layer 3: what does a person say? A question is stored, so that any channel can answer it and a restart loses nothing;
//! the first answer counts, it counts for just what was shown, and silence is a no. The channels themselves belong to
//! the command, the gateway or the embedding program.

pub mod binding;
mod claim;
pub mod desk;
pub(crate) mod status;
pub mod store;
mod wake;

use crate::call::Digest;
use crate::config::{ApprovalSettings, Unattended};
use crate::error::{Error, Kind, Step};
use crate::journal::{Claim, Journal, now_ms};
use crate::record::Event;
use binding::Binding;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;
use store::{Known, Parked, Scope, State, Verdict};
use tokio::sync::Semaphore;

/// Calls that may wait for a person at the same time in one process; further ones are told at once to come back.
pub(super) const WAITING: usize = 512;

/// What a person is asked. A channel that cannot show all of it must not answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Its id among the questions.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What the tool says it does.
    pub description: String,
    /// Who wants it.
    pub caller: String,
    /// In which role.
    pub role: String,
    /// In which workflow and mode, and for what.
    pub situation: String,
    /// The exact arguments, canonical JSON.
    pub args: String,
    /// Their digest; the answer is bound to it.
    pub args_digest: Digest,
    /// What the call acts on.
    pub targets: Vec<String>,
    /// What it would do to that, as the runtime reads it.
    pub effect: Vec<String>,
    /// Why a person is asked.
    pub why: String,
    /// Points, 0 to 100.
    pub risk: u8,
    /// What the points are made of, and what would lower them.
    pub factors: Vec<String>,
    /// The last decisions about the same tool.
    pub similar: Vec<String>,
    /// How long it can be answered.
    pub expires: Duration,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this once.
    Approved {
        /// Who said so.
        by: String,
    },
    /// No.
    Denied {
        /// Who said so.
        by: String,
        /// Why, if they said.
        reason: Option<String>,
    },
    /// Nobody can be asked.
    Nobody,
}

/// An answer that is on its way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A channel to a person. Dropping the future withdraws the question.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a>;
}

/// Who can be asked, and where questions are kept. Lifetime: the process.
pub(super) struct Channels<'a> {
    pub(super) journal: &'a Journal,
    pub(super) settings: &'a ApprovalSettings,
    pub(super) approver: Option<&'a dyn Approver>,
    /// Whether whoever made the call asks a person itself.
    pub(super) asks_itself: bool,
    pub(super) waiting: &'a Semaphore,
    /// Whether the caller is told at once to come back: a call within another one would hold that one up.
    pub(super) at_once: bool,
}

/// A yes, and what has to hold when the call is about to run.
pub(super) struct Yes {
    pub(super) by: String,
    pub(super) approval: String,
    pub(super) claim: Claim,
}

/// Asks, unless it is already known what a person says. Dropping the future leaves the question to be answered.
pub(super) async fn ask(
    channels: &Channels<'_>,
    request: Request,
    binding: &Binding,
    call_id: &str,
) -> Result<Yes, Error> {
    let (key, now) = (binding.key, now_ms());
    let rows = channels.journal.read(move |connection| store::of_request(connection, &key)).await?;
    let ttl = channels.settings.denial_ttl_seconds.saturating_mul(1000);
    let parked = match store::known(rows, binding, now, ttl) {
        Known::Allowed(parked) => return Ok(yes(&parked, binding, call_id)),
        Known::Refused(parked) => return Err(refused_again(channels.journal, &parked).await),
        Known::Changed(parked, what) => return Err(changed(channels.journal, &parked, what).await),
        Known::Waits(parked) => *parked,
        Known::Nothing => {
            unattended(channels, &request)?;
            park(channels, request, binding).await?
        }
    };
    wait(channels, parked, binding, call_id).await
}

fn yes(parked: &Parked, binding: &Binding, call_id: &str) -> Yes {
    Yes {
        by: parked.decided_by.clone().unwrap_or_default(),
        approval: parked.id.clone(),
        claim: claim::redeem(&parked.id, binding, parked.runs, call_id),
    }
}

/// What happens where nobody looks on, unless questions wait.
fn unattended(channels: &Channels<'_>, request: &Request) -> Result<(), Error> {
    let is_attended = channels.approver.is_some() || channels.asks_itself;
    match channels.settings.unattended {
        _ if is_attended => Ok(()),
        Unattended::Wait => Ok(()),
        Unattended::Deny => Err(no_approver(request)),
        Unattended::Halt => {
            let why = format!("`{}` needs a person, so the caller is halted until one lets it go on", request.tool);
            Err(Error::new(Step::Permission, Kind::SessionHalted, why))
        }
    }
}

async fn park(channels: &Channels<'_>, mut request: Request, binding: &Binding) -> Result<Parked, Error> {
    let tool = request.tool.clone();
    request.similar = channels.journal.read(move |connection| store::similar(connection, &tool)).await?;
    let expires_ms = now_ms().saturating_add(request.expires.as_millis() as u64);
    let details = json!({
        "approval": request.id, "tool": request.tool, "caller": request.caller, "role": request.role,
        "args_digest": request.args_digest, "risk": request.risk, "why": request.why, "expires_ms": expires_ms,
        "runs": binding.runs,
    });
    let event = Event::now("permission.parked", request.caller.clone(), details);
    channels.journal.note(event, vec![claim::park(binding, &request, expires_ms)]).await?;
    // Another call may have asked the same meanwhile; then both wait for one answer.
    let key = binding.key;
    let rows = channels.journal.read(move |connection| store::of_request(connection, &key)).await?;
    rows.into_iter()
        .find(|row| row.state == State::Pending || row.id == request.id)
        .ok_or_else(|| Error::internal(Step::Permission, "a question that was stored is not there"))
}

async fn wait(channels: &Channels<'_>, parked: Parked, binding: &Binding, call_id: &str) -> Result<Yes, Error> {
    if channels.at_once {
        return Err(pending(&parked));
    }
    let Ok(_place) = channels.waiting.try_acquire() else { return Err(pending(&parked)) };
    let left = Duration::from_millis(parked.expires_ms.saturating_sub(now_ms()));
    // Who is asked in front of the caller may think as long as the question counts.
    let short = match channels.asks_itself {
        true => Duration::ZERO,
        false => Duration::from_secs(channels.settings.park_wait_seconds).min(left),
    };
    let mut patience = tokio::time::Instant::now() + if channels.approver.is_some() { left } else { short };
    let bell = wake::Bell::listen(channels.journal.path().parent().unwrap_or(Path::new("/")), &parked.id);
    let mut asking = channels.approver.map(|approver| approver.ask(&parked.request));
    loop {
        let id = parked.id.clone();
        let row = channels.journal.read(move |connection| store::by_id(connection, &id)).await?;
        let row = row.ok_or_else(|| Error::internal(Step::Permission, "a question that was stored is gone"))?;
        match row.state_at(now_ms()) {
            State::Pending if tokio::time::Instant::now() >= patience => return Err(pending(&row)),
            State::Pending => {}
            State::Approved => return Ok(yes(&row, binding, call_id)),
            State::Denied => return Err(denied(&row)),
            State::Expired => return Err(expired(&row)),
            State::Used | State::Void | State::Forgotten => return Err(taken_back(&row)),
        }
        let answer = async {
            match &mut asking {
                Some(asking) => asking.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            answer = answer => {
                asking = None;
                if !answered(channels, &row, answer).await? {
                    patience = patience.min(tokio::time::Instant::now() + short);
                    unattended(&Channels { approver: None, ..*channels }, &row.request)?;
                }
            }
            () = bell.rung() => {}
            () = tokio::time::sleep_until(patience) => {}
        }
    }
}

/// Writes down what a channel said; `false` if nobody was there. That somebody else was first is no failure.
async fn answered(channels: &Channels<'_>, parked: &Parked, answer: Answer) -> Result<bool, Error> {
    let (verdict, by) = match answer {
        Answer::Approved { by } => (Verdict::Approve(Scope::Once), by),
        Answer::Denied { by, reason } => (Verdict::Deny { reason }, by),
        Answer::Nobody => return Ok(false),
    };
    match desk::decide(channels.journal, parked, verdict, &by, channels.settings.expires_seconds).await {
        Ok(()) => Ok(true),
        Err(error) if error.kind == Kind::Conflict => Ok(true),
        Err(error) => Err(error),
    }
}

fn refuse(kind: Kind, message: String, parked: &Parked) -> Error {
    let mut error = Error::new(Step::Permission, kind, message);
    error.approval_id = Some(parked.id.clone());
    error.decided_by.clone_from(&parked.decided_by);
    error
}

fn pending(parked: &Parked) -> Error {
    let request = &parked.request;
    let left = parked.expires_ms.saturating_sub(now_ms()) / 1000;
    let message = format!("`{}` waits for a person ({}); it can be decided for {left} s", request.tool, request.why);
    let hint = "tell the person you work for: `hermes-dispatch approvals list` shows it. Make the same call again to \
                get the answer, or look with the tool `approval_status`; nothing runs by itself";
    refuse(Kind::ApprovalPending, message, parked).hint(hint).retry_after(Duration::from_secs(5))
}

fn denied(parked: &Parked) -> Error {
    let reason = parked.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    refuse(Kind::ApprovalDenied, format!("a person said no to `{}`{reason}", parked.request.tool), parked)
}

fn expired(parked: &Parked) -> Error {
    refuse(Kind::ApprovalExpired, format!("nobody answered about `{}` in time", parked.request.tool), parked)
}

fn taken_back(parked: &Parked) -> Error {
    let message = format!("what was asked about `{}` was taken back or used meanwhile; ask again", parked.request.tool);
    refuse(Kind::Conflict, message, parked).reason("approval_used")
}

fn no_approver(request: &Request) -> Error {
    let message =
        format!("`{}` needs a person's approval and nobody can be asked here ({})", request.tool, request.why);
    Error::new(Step::Permission, Kind::NoApprover, message).hint("ask the person you work for; only they can decide it")
}

/// The first reason again, and nobody is asked.
async fn refused_again(journal: &Journal, parked: &Parked) -> Error {
    let counted = match journal.writing() {
        Ok(writing) => writing.write(None, vec![claim::count_repeat(&parked.id)]).await,
        Err(error) => Err(error),
    };
    if let Err(error) = counted {
        tracing::warn!(%error, "a repeated question could not be counted");
    }
    let mut error = denied(parked);
    error.repeat = Some(parked.repeats + 1);
    error
}

/// The file is not what the person saw.
pub(super) fn target_changed(path: &str) -> Error {
    let path = crate::document::excerpt(path, 200);
    let message = format!("`{path}` is not what it was when a person was asked; ask again");
    Error::new(Step::Permission, Kind::Conflict, message).reason("target_changed")
}

/// Nobody has agreed to what would run now, so the yes is void and the next call asks anew.
async fn changed(journal: &Journal, parked: &Parked, what: &'static str) -> Error {
    let details = json!({ "approval": parked.id, "tool": parked.request.tool, "changed": what });
    let event = Event::now("permission.voided", parked.request.caller.clone(), details);
    if let Err(error) = journal.note(event, vec![claim::void(&parked.id)]).await {
        return error;
    }
    let message = format!("what `{}` would run is not what was approved; ask again", parked.request.tool);
    refuse(Kind::Conflict, message, parked).reason(what)
}
