//! Which requests wait for a person, and what was decided? A table beside the records, kept in their transactions, so
//! that a decision is used once however many processes ask. What a row means now is decided by pure functions.

use super::Request;
use super::binding::{Binding, Runs};
use crate::call::Digest;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};

/// The table.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS approvals (
        id          TEXT PRIMARY KEY,
        request_key TEXT NOT NULL,
        runs        TEXT NOT NULL,
        caller      TEXT NOT NULL,
        session     TEXT NOT NULL,
        tool        TEXT NOT NULL,
        request     TEXT NOT NULL,
        created_ms  INTEGER NOT NULL,
        expires_ms  INTEGER NOT NULL,
        state       TEXT NOT NULL,
        scope       TEXT,
        until_ms    INTEGER,
        decided_ms  INTEGER,
        decided_by  TEXT,
        reason      TEXT,
        used_by     TEXT,
        repeats     INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE UNIQUE INDEX IF NOT EXISTS one_open_request ON approvals (request_key) WHERE state = 'pending';
    CREATE INDEX IF NOT EXISTS approvals_of_request ON approvals (request_key, created_ms);
    CREATE INDEX IF NOT EXISTS approvals_by_state ON approvals (state, created_ms);";

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for a person.
    Pending,
    /// A person said yes; it has not run under this yet, or may run again.
    Approved,
    /// A person said no.
    Denied,
    /// It ran, the once that it might.
    Used,
    /// Nobody answered in time.
    Expired,
    /// What it would run changed after it was asked.
    Void,
    /// A person took back what was decided.
    Forgotten,
}

impl State {
    const ALL: &'static [(State, &'static str)] = &[
        (State::Pending, "pending"),
        (State::Approved, "approved"),
        (State::Denied, "denied"),
        (State::Used, "used"),
        (State::Expired, "expired"),
        (State::Void, "void"),
        (State::Forgotten, "forgotten"),
    ];

    /// As it stands in the table and in answers.
    pub fn name(self) -> &'static str {
        State::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }

    fn by_name(name: &str) -> Option<State> {
        State::ALL.iter().find(|(_, known)| *known == name).map(|(state, _)| *state)
    }
}

/// How far a yes goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For one run.
    Once,
    /// For the same request in the session that asked.
    Session,
    /// For the same request until a time, in milliseconds since 1970.
    Until(u64),
}

/// One request with what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Parked {
    /// Its id.
    pub id: String,
    /// What a person was or is asked.
    pub request: Request,
    /// What it would run.
    pub runs: Runs,
    /// The session that asked.
    pub session: String,
    /// When it was asked, in milliseconds since 1970.
    pub created_ms: u64,
    /// Until when it can be answered; for a yes to one run, until when that can be used.
    pub expires_ms: u64,
    /// What became of it.
    pub state: State,
    /// How far a yes goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_ms: Option<u64>,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The call that used it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
    /// How often it was asked again after a no.
    pub repeats: u32,
}

const COLUMNS: &str = "id, request, runs, session, created_ms, expires_ms, state, scope, until_ms, decided_ms, decided_by, reason, used_by, repeats";

fn parked(row: &Row<'_>) -> rusqlite::Result<Parked> {
    let json = |column: usize, error: serde_json::Error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    };
    let (request, runs, state, scope): (String, String, String, Option<String>) =
        (row.get(1)?, row.get(2)?, row.get(6)?, row.get(7)?);
    let until: Option<i64> = row.get(8)?;
    let until = until.map(|until| u64::try_from(until).unwrap_or_default());
    let scope = match scope.as_deref() {
        Some("once") => Some(Scope::Once),
        Some("session") => Some(Scope::Session),
        Some("until") => until.map(Scope::Until),
        Some(_) | None => None,
    };
    Ok(Parked {
        id: row.get(0)?,
        request: serde_json::from_str(&request).map_err(|error| json(1, error))?,
        runs: serde_json::from_str(&runs).map_err(|error| json(2, error))?,
        session: row.get(3)?,
        created_ms: time(row, 4)?,
        expires_ms: time(row, 5)?,
        // A state that this version does not know lets nothing run.
        state: State::by_name(&state).unwrap_or(State::Void),
        scope,
        decided_ms: row.get::<_, Option<i64>>(9)?.map(|time| u64::try_from(time).unwrap_or_default()),
        decided_by: row.get(10)?,
        reason: row.get(11)?,
        used_by: row.get(12)?,
        repeats: row.get(13)?,
    })
}

impl Parked {
    /// What became of it, by the clock.
    pub fn state_at(&self, now: u64) -> State {
        let over = now >= self.expires_ms;
        match (self.state, self.scope) {
            (State::Pending, _) if over => State::Expired,
            (State::Approved, Some(Scope::Once) | None) if over => State::Expired,
            (State::Approved, Some(Scope::Until(until))) if now >= until => State::Expired,
            (state, _) => state,
        }
    }
}

/// What is known about a request before anybody is asked.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// A person said yes, and it counts.
    Allowed(Box<Parked>),
    /// A person said yes, and what would run is not what was shown.
    Changed(Box<Parked>, &'static str),
    /// A person said no, not long ago.
    Refused(Box<Parked>),
    /// It waits.
    Waits(Box<Parked>),
    /// Nothing.
    Nothing,
}

/// What rows about one request, the newest first, say about it now. Pure.
pub(super) fn known(rows: Vec<Parked>, binding: &Binding, now: u64, denial_ttl_ms: u64) -> Known {
    let mut waits = Known::Nothing;
    for row in rows {
        let standing = matches!(row.scope, Some(Scope::Session | Scope::Until(_)));
        let now_runs = if standing { Runs { target: row.runs.target, ..binding.runs } } else { binding.runs };
        let changed = row.runs.changed(&now_runs);
        match row.state_at(now) {
            // A decision counts before another question, which somebody in another session may have asked.
            State::Pending if changed.is_none() => waits = Known::Waits(Box::new(row)),
            State::Approved if row.scope == Some(Scope::Session) && row.session != binding.session => {}
            State::Approved => {
                return match changed {
                    None => Known::Allowed(Box::new(row)),
                    Some(what) => Known::Changed(Box::new(row), what),
                };
            }
            State::Denied => {
                let fresh = row.decided_ms.is_some_and(|decided| now < decided.saturating_add(denial_ttl_ms));
                if fresh && changed.is_none() {
                    return Known::Refused(Box::new(row));
                }
            }
            State::Pending | State::Used | State::Expired | State::Void | State::Forgotten => {}
        }
    }
    waits
}

/// The rows about a request, the newest first.
pub(super) fn of_request(connection: &Connection, key: &Digest) -> rusqlite::Result<Vec<Parked>> {
    let sql =
        format!("SELECT {COLUMNS} FROM approvals WHERE request_key = ?1 ORDER BY created_ms DESC, id DESC LIMIT 20");
    connection.prepare_cached(&sql)?.query_map([key.to_string()], parked)?.collect()
}

/// One row.
pub(super) fn by_id(connection: &Connection, id: &str) -> rusqlite::Result<Option<Parked>> {
    let sql = format!("SELECT {COLUMNS} FROM approvals WHERE id = ?1");
    connection.prepare_cached(&sql)?.query_row([id], parked).optional()
}

/// Up to two ids that begin so.
pub(super) fn find(connection: &Connection, prefix: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT id FROM approvals WHERE substr(id, 1, length(?1)) = ?1 LIMIT 2";
    connection.prepare_cached(sql)?.query_map([prefix], |row| row.get(0))?.collect()
}

/// Requests in order of their time: those that wait, or the last ones of all.
pub(super) fn list(connection: &Connection, all: bool, limit: u32) -> rusqlite::Result<Vec<Parked>> {
    let filter = if all { "1" } else { "state = 'pending'" };
    let sql = format!("SELECT {COLUMNS} FROM approvals WHERE {filter} ORDER BY created_ms DESC, id DESC LIMIT ?1");
    let mut found: Vec<Parked> =
        connection.prepare_cached(&sql)?.query_map([limit], parked)?.collect::<Result<_, _>>()?;
    found.reverse();
    Ok(found)
}

/// The last decisions about a tool, as one line each.
pub(super) fn similar(connection: &Connection, tool: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT state, decided_by, reason, request FROM approvals
               WHERE tool = ?1 AND decided_ms IS NOT NULL ORDER BY decided_ms DESC LIMIT 3";
    let line = |row: &Row<'_>| {
        let (state, by, reason, request): (String, Option<String>, Option<String>, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let targets =
            serde_json::from_str::<Request>(&request).map_or(String::new(), |request| request.targets.join(", "));
        let why = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let said = if state == "denied" { "denied" } else { "approved" };
        Ok(format!("{said} by {}{why}: {}", by.unwrap_or_default(), crate::document::excerpt(&targets, 120)))
    };
    connection.prepare_cached(sql)?.query_map([tool], line)?.collect()
}

/// A time from the table.
fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|time| u64::try_from(time).unwrap_or_default())
}

/// What a person says about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Approve(Scope),
    /// No.
    Deny {
        /// Why, if they said.
        reason: Option<String>,
    },
}
