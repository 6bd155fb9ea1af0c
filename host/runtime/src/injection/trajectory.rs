//! What happened in a session, in order? Keeps an index of the records by session, and reads calls and trajectories from
//! it. Must not know what is done with them.

use crate::injection::memory::{self, Line};
use crate::journal::Projection;
use crate::record::{Kept, Record, RecordKind, Written};
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

/// An index of the records by session, and what each session comes to.
pub(crate) const PROJECTION: Projection = Projection {
    tables: "CREATE TABLE IF NOT EXISTS session_calls (
                session TEXT NOT NULL, caller TEXT NOT NULL, seq INTEGER NOT NULL,
                PRIMARY KEY (session, seq)
             ) STRICT, WITHOUT ROWID;
             CREATE TABLE IF NOT EXISTS sessions (
                session TEXT NOT NULL, caller TEXT NOT NULL, role TEXT NOT NULL,
                first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
                calls INTEGER NOT NULL, failed INTEGER NOT NULL, refused INTEGER NOT NULL,
                PRIMARY KEY (session, caller)
             ) STRICT, WITHOUT ROWID;
             CREATE INDEX IF NOT EXISTS sessions_by_time ON sessions (last_ms);
             CREATE TABLE IF NOT EXISTS kept (
                seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, args TEXT NOT NULL, data TEXT NOT NULL
             ) STRICT;",
    apply,
};

fn apply(connection: &Connection, seq: i64, written: &Written) -> rusqlite::Result<()> {
    let Written::Call(record) = written else { return Ok(()) };
    if record.kind != RecordKind::Outcome {
        return Ok(());
    }
    connection.prepare_cached("INSERT INTO session_calls (session, caller, seq) VALUES (?1, ?2, ?3)")?.execute((
        &*record.session,
        &record.caller.id,
        seq,
    ))?;
    if let Some(kept) = &record.kept {
        connection.prepare_cached("INSERT INTO kept (seq, time_ms, args, data) VALUES (?1, ?2, ?3, ?4)")?.execute((
            seq,
            record.time_ms as i64,
            &*kept.args,
            kept.data.to_string(),
        ))?;
    }
    let code = record.code.unwrap_or(500);
    let refused = matches!(code, 202 | 400 | 403 | 404 | 409 | 410 | 413 | 429);
    let failed = code != 200 && !refused;
    connection
        .prepare_cached(
            "INSERT INTO sessions (session, caller, role, first_ms, last_ms, calls, failed, refused)
             VALUES (?1, ?2, ?3, ?4, ?4, 1, ?5, ?6)
             ON CONFLICT (session, caller) DO UPDATE SET
                last_ms = max(last_ms, excluded.last_ms), calls = calls + 1,
                failed = failed + excluded.failed, refused = refused + excluded.refused",
        )?
        .execute((
            &*record.session,
            &record.caller.id,
            &record.caller.role,
            record.time_ms as i64,
            i64::from(failed),
            i64::from(refused),
        ))?;
    Ok(())
}

/// What one session came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionLine {
    /// Its name.
    pub session: String,
    /// Whose it is.
    pub caller: String,
    /// In which role it began.
    pub role: String,
    /// Its first call, in milliseconds since 1970-01-01 UTC.
    pub first_ms: u64,
    /// Its last call.
    pub last_ms: u64,
    /// How many calls.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many were refused.
    pub refused: u64,
}

/// The last sessions, the newest first.
pub(crate) fn sessions(connection: &Connection, limit: u32) -> rusqlite::Result<Vec<SessionLine>> {
    let mut statement = connection.prepare(
        "SELECT session, caller, role, first_ms, last_ms, calls, failed, refused FROM sessions
         ORDER BY last_ms DESC LIMIT ?1",
    )?;
    let line = |row: &rusqlite::Row<'_>| {
        let number = |index: usize| row.get::<_, i64>(index).map(|number| number.max(0) as u64);
        Ok(SessionLine {
            session: row.get(0)?,
            caller: row.get(1)?,
            role: row.get(2)?,
            first_ms: number(3)?,
            last_ms: number(4)?,
            calls: number(5)?,
            failed: number(6)?,
            refused: number(7)?,
        })
    };
    statement.query_map([limit], line)?.collect()
}

/// The one session whose name begins so; nothing if there are several or none.
pub(crate) fn find(connection: &Connection, prefix: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT DISTINCT session FROM sessions WHERE substr(session, 1, length(?1)) = ?1 LIMIT 2";
    let exact: Option<String> = connection
        .query_row("SELECT session FROM sessions WHERE session = ?1 LIMIT 1", [prefix], |row| row.get(0))
        .optional()?;
    match exact {
        Some(session) => Ok(vec![session]),
        None => connection.prepare(sql)?.query_map([prefix], |row| row.get(0))?.collect(),
    }
}

/// The outcomes of a session in order, the last `limit` of them, of one caller or of all.
pub(crate) fn outcomes(
    connection: &Connection,
    session: &str,
    caller: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<Record>> {
    let mut statement = connection.prepare_cached(
        "SELECT records.body FROM session_calls JOIN records USING (seq)
         WHERE session = ?1 AND (?2 IS NULL OR caller = ?2) ORDER BY seq DESC LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let bodies = statement.query_map((session, caller, limit), |row| row.get::<_, String>(0))?;
    let mut records = Vec::new();
    for body in bodies {
        // One that cannot be read is for `audit verify` to tell.
        records.extend(serde_json::from_str::<Record>(&body?).ok());
    }
    records.reverse();
    Ok(records)
}

/// The same with what was kept beside each record.
pub(crate) fn calls(
    connection: &Connection,
    session: &str,
    limit: usize,
) -> rusqlite::Result<Vec<(Record, Option<Kept>)>> {
    let mut statement = connection.prepare_cached(
        "SELECT records.body, kept.args, kept.data FROM session_calls JOIN records USING (seq)
         LEFT JOIN kept USING (seq) WHERE session = ?1 ORDER BY seq DESC LIMIT ?2",
    )?;
    let rows = statement.query_map((session, i64::try_from(limit).unwrap_or(i64::MAX)), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, Option<String>>(2)?))
    })?;
    let mut calls = Vec::new();
    for row in rows {
        let (body, args, data) = row?;
        let kept = args
            .zip(data)
            .and_then(|(args, data)| Some(Kept { args: args.into(), data: serde_json::from_str(&data).ok()? }));
        calls.extend(serde_json::from_str::<Record>(&body).ok().map(|record| (record, kept)));
    }
    calls.reverse();
    Ok(calls)
}

/// The working memory of a session.
pub(crate) fn memory(
    connection: &Connection,
    session: &str,
    caller: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<Line>> {
    Ok(outcomes(connection, session, caller, limit)?.iter().map(memory::line).collect())
}
