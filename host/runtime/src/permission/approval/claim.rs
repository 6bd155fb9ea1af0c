//! What has to hold when a question is asked, decided or used, and what is changed by that? Each is checked and done in the
//! transaction in which the journal writes it down, so that no two processes do it twice.

use super::Request;
use super::binding::{Binding, Runs};
use super::store::{Scope, Verdict};
use crate::error::{Error, Kind, Step};
use crate::journal::{Claim, now_ms};
use serde::Serialize;

/// Open requests of one caller. Past that nobody could look at them all, and the caller is told to wait.
const OPEN_OF_CALLER: i64 = 1000;

/// A time as the table has it.
fn ms(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

fn text<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Puts a request into the table, unless the same one waits already.
pub(super) fn park(binding: &Binding, request: &Request, expires_ms: u64) -> Claim {
    let (binding, request) = (binding.clone(), request.clone());
    Box::new(move |connection| {
        let now = ms(now_ms());
        let (key, runs) = (binding.key.to_string(), text(&binding.runs)?);
        connection
            .prepare_cached(
                "UPDATE approvals SET state = CASE WHEN expires_ms <= ?2 THEN 'expired' ELSE 'void' END
                 WHERE request_key = ?1 AND state = 'pending' AND (expires_ms <= ?2 OR runs <> ?3)",
            )?
            .execute((&key, now, &runs))?;
        let open: i64 = connection
            .prepare_cached(
                "SELECT count(*) FROM approvals WHERE state = 'pending' AND caller = ?1 AND expires_ms > ?2",
            )?
            .query_row((&binding.caller, now), |row| row.get(0))?;
        if open >= OPEN_OF_CALLER {
            let why = "too many requests of this caller wait for a person";
            return Ok(Err(Error::new(Step::Permission, Kind::Overloaded, why)));
        }
        connection
            .prepare_cached(
                "INSERT INTO approvals (id, request_key, runs, caller, session, tool, request, created_ms, expires_ms, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending') ON CONFLICT DO NOTHING",
            )?
            .execute((
                &request.id, &key, &runs, &binding.caller, &binding.session, &request.tool, text(&request)?, now, ms(expires_ms),
            ))?;
        Ok(Ok(()))
    })
}

/// Writes a decision, if the request still waits. `redeem_ms` is until when a yes to one run can be used.
pub(super) fn decide(id: &str, verdict: &Verdict, by: &str, redeem_ms: u64) -> Claim {
    let (id, by, verdict) = (id.to_owned(), by.to_owned(), verdict.clone());
    Box::new(move |connection| {
        let (state, scope, until, reason) = match &verdict {
            Verdict::Approve(Scope::Once) => ("approved", Some("once"), None, None),
            Verdict::Approve(Scope::Session) => ("approved", Some("session"), None, None),
            Verdict::Approve(Scope::Until(until)) => ("approved", Some("until"), Some(ms(*until)), None),
            Verdict::Deny { reason } => ("denied", None, None, reason.clone()),
        };
        let now = ms(now_ms());
        let changed = connection
            .prepare_cached(
                "UPDATE approvals SET state = ?2, scope = ?3, until_ms = ?4, reason = ?5, decided_ms = ?6, decided_by = ?7,
                 expires_ms = ?8 WHERE id = ?1 AND state = 'pending' AND expires_ms > ?6",
            )?
            .execute((&id, state, scope, until, reason, now, &by, ms(redeem_ms)))?;
        Ok(match changed {
            0 => Err(Error::new(Step::Permission, Kind::Conflict, "the request does not wait any more")
                .reason("not_pending")),
            _ => Ok(()),
        })
    })
}

/// Uses a yes up, or checks that a standing one still stands, in the transaction in which the call's intent is written.
pub(super) fn redeem(id: &str, binding: &Binding, decided: Runs, call_id: &str) -> Claim {
    let (id, key, call_id) = (id.to_owned(), binding.key.to_string(), call_id.to_owned());
    let session = binding.session.clone();
    // Whether the file still is what was shown is known before; a yes to more than one run leaves it open.
    let wanted = Runs { target: decided.target, ..binding.runs };
    Box::new(move |connection| {
        let used = connection
            .prepare_cached(
                "UPDATE approvals SET state = CASE WHEN scope = 'once' THEN 'used' ELSE state END, used_by = ?3
                 WHERE id = ?1 AND request_key = ?2 AND state = 'approved' AND runs = ?6
                 AND ((scope = 'once' AND expires_ms > ?4) OR (scope = 'until' AND until_ms > ?4)
                      OR (scope = 'session' AND session = ?5))",
            )?
            .execute((&id, &key, &call_id, ms(now_ms()), &session, text(&wanted)?))?;
        Ok(match used {
            0 => {
                let why = "the approval was used, taken back or has expired meanwhile";
                Err(Error::new(Step::Permission, Kind::Conflict, why).reason("approval_used"))
            }
            _ => Ok(()),
        })
    })
}

/// Takes back what was decided or asked: a standing yes, a no, or a request that waits.
pub(super) fn forget(id: &str) -> Claim {
    let id = id.to_owned();
    Box::new(move |connection| {
        let changed = connection
            .prepare_cached(
                "UPDATE approvals SET state = 'forgotten' WHERE id = ?1 AND state IN ('pending', 'approved', 'denied')",
            )?
            .execute([&id])?;
        Ok(match changed {
            0 => Err(Error::new(Step::Permission, Kind::Conflict, "there is nothing to take back").reason("not_open")),
            _ => Ok(()),
        })
    })
}

/// Voids a yes to something that is not what would run now.
pub(super) fn void(id: &str) -> Claim {
    let id = id.to_owned();
    Box::new(move |connection| {
        connection
            .prepare_cached("UPDATE approvals SET state = 'void' WHERE id = ?1 AND state IN ('pending', 'approved')")?
            .execute([&id])?;
        Ok(Ok(()))
    })
}

/// Counts that a refused request came again.
pub(super) fn count_repeat(id: &str) -> Claim {
    let id = id.to_owned();
    Box::new(move |connection| {
        connection.prepare_cached("UPDATE approvals SET repeats = repeats + 1 WHERE id = ?1")?.execute([&id])?;
        Ok(Ok(()))
    })
}
