//! How do people see what waits for them, and decide it? What the command, the gateway's page and an embedding program
//! use. Nothing here can be reached by a call: whoever uses it has the state folder and says who decides.

use super::claim;
use super::store::{self, Parked, State, Verdict};
use super::wake;
use crate::call::Situation;
use crate::error::{Error, Kind, Step};
use crate::journal::{Journal, now_ms};
use crate::record::Event;
use serde_json::json;
use std::path::Path;

/// Requests, the oldest first: those that wait, or all of the last ones.
///
/// # Errors
/// `audit_unavailable`.
pub async fn list(journal: &Journal, all: bool, limit: u32) -> Result<Vec<Parked>, Error> {
    let found = journal.read(move |connection| store::list(connection, all, limit)).await?;
    let now = now_ms();
    Ok(found.into_iter().filter(|parked| all || parked.state_at(now) == State::Pending).collect())
}

/// One request, by its id or the beginning of it.
///
/// # Errors
/// `invalid_input` if several or none begin so.
pub async fn find(journal: &Journal, prefix: &str) -> Result<Parked, Error> {
    let wanted = prefix.to_owned();
    let found = journal
        .read(move |connection| {
            let ids = store::find(connection, &wanted)?;
            match ids.as_slice() {
                [id] => store::by_id(connection, id).map(|parked| (1, parked)),
                others => Ok((others.len(), None)),
            }
        })
        .await?;
    let shown = crate::document::excerpt(prefix, 40);
    match found {
        (_, Some(parked)) => Ok(parked),
        (0, None) => Err(unknown(format!("no request for approval begins with `{shown}`"))),
        (_, None) => Err(unknown(format!("several requests for approval begin with `{shown}`"))),
    }
}

fn unknown(why: String) -> Error {
    Error::new(Step::Permission, Kind::InvalidInput, why)
}

/// Decides a request, once: the first answer counts. Whoever waits for it is woken; nothing is started by it.
///
/// # Errors
/// `conflict` if it does not wait any more.
pub async fn decide(
    journal: &Journal,
    parked: &Parked,
    verdict: Verdict,
    by: &str,
    redeem_s: u64,
) -> Result<(), Error> {
    let redeem_ms = now_ms().saturating_add(redeem_s.saturating_mul(1000));
    let claim = claim::decide(&parked.id, &verdict, by, redeem_ms);
    let (said, scope, reason) = match &verdict {
        Verdict::Approve(scope) => ("approved", Some(*scope), None),
        Verdict::Deny { reason } => ("denied", None, reason.clone()),
    };
    let details = json!({
        "approval": parked.id, "verdict": said, "scope": scope, "reason": reason, "tool": parked.request.tool,
        "caller": parked.request.caller, "role": parked.request.role, "args_digest": parked.request.args_digest,
        "risk": parked.request.risk, "runs": parked.runs,
    });
    journal.note(Event::now("permission.decision", by, details), vec![claim]).await?;
    ring(journal, &parked.id);
    Ok(())
}

/// Takes back a standing yes, a no, or a request that waits.
///
/// # Errors
/// `conflict` if there is nothing to take back.
pub async fn forget(journal: &Journal, parked: &Parked, by: &str) -> Result<(), Error> {
    let details = json!({ "approval": parked.id, "tool": parked.request.tool, "was": parked.state });
    journal.note(Event::now("permission.forgotten", by, details), vec![claim::forget(&parked.id)]).await?;
    ring(journal, &parked.id);
    Ok(())
}

/// Lets what a caller read from outside count no more.
///
/// # Errors
/// `audit_unavailable`.
pub async fn clear_taint(journal: &Journal, caller: &str, by: &str) -> Result<(), Error> {
    journal.note(Event::now("permission.taint_cleared", by, json!({ "caller": caller })), Vec::new()).await
}

/// Writes down that a person has set the circumstances of a session; nothing where they took that back. Whoever serves the
/// session applies them.
///
/// # Errors
/// `audit_unavailable`.
pub async fn note_situation(
    journal: &Journal,
    session: &str,
    situation: Option<&Situation>,
    by: &str,
) -> Result<(), Error> {
    let details = json!({ "session": session, "situation": situation });
    journal.note(Event::now("session.situation_set", by, details), Vec::new()).await
}

/// Lets the calls of a halted caller run again.
///
/// # Errors
/// `audit_unavailable`.
pub async fn resume(journal: &Journal, caller: &str, by: &str) -> Result<(), Error> {
    journal.note(Event::now("permission.resumed", by, json!({ "caller": caller })), Vec::new()).await
}

pub(super) fn ring(journal: &Journal, id: &str) {
    wake::ring(journal.path().parent().unwrap_or(Path::new("/")), id);
}
