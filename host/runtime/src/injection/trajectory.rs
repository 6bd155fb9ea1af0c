//! What happened in a session, in order? Keeps an index of the records by session, and reads calls and trajectories from
//! it. Must not know what is done with them.

use crate::injection::memory::{self, Line};
use crate::journal::{self, Numbered, Projection};
use crate::record::{Kept, Record};
use crate::tape::Cassette;
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use std::collections::BTreeMap;

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
             ) STRICT;
             CREATE TABLE IF NOT EXISTS tapes (
                seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, tape BLOB NOT NULL
             ) STRICT;",
    apply,
};

/// What outcomes add to one session.
struct Added<'a> {
    role: &'a str,
    first_ms: i64,
    last_ms: i64,
    calls: i64,
    failed: i64,
    refused: i64,
}

fn apply(connection: &Connection, records: &[Numbered<'_>]) -> rusqlite::Result<()> {
    let mut sessions: BTreeMap<(&str, &str), Added<'_>> = BTreeMap::new();
    let mut call = connection.prepare_cached("INSERT INTO session_calls (session, caller, seq) VALUES (?1, ?2, ?3)")?;
    let mut kept = connection.prepare_cached("INSERT INTO kept (seq, time_ms, args, data) VALUES (?1, ?2, ?3, ?4)")?;
    let mut tapes = connection.prepare_cached("INSERT INTO tapes (seq, time_ms, tape) VALUES (?1, ?2, ?3)")?;
    for (seq, record) in journal::outcomes(records) {
        let (session, caller, time_ms) = (&*record.session, &*record.caller.id, record.time_ms as i64);
        call.execute((session, caller, seq))?;
        if let Some(Kept { args, data, .. }) = record.kept.as_deref() {
            kept.execute((seq, time_ms, &**args, data.to_string()))?;
        }
        if let Some(tape) = record.tape.as_ref().and_then(|tape| tape.encoded()) {
            tapes.execute((seq, time_ms, tape))?;
        }
        let code = record.code.unwrap_or(500);
        let refused = matches!(code, 202 | 400 | 403 | 404 | 409 | 410 | 413 | 429);
        let new =
            Added { role: &record.caller.role, first_ms: time_ms, last_ms: time_ms, calls: 0, failed: 0, refused: 0 };
        let added = sessions.entry((session, caller)).or_insert(new);
        added.last_ms = added.last_ms.max(time_ms);
        added.calls += 1;
        added.refused += i64::from(refused);
        added.failed += i64::from(code != 200 && !refused);
    }
    let mut add = connection.prepare_cached(
        "INSERT INTO sessions (session, caller, role, first_ms, last_ms, calls, failed, refused)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (session, caller) DO UPDATE SET
            last_ms = max(last_ms, excluded.last_ms), calls = calls + excluded.calls,
            failed = failed + excluded.failed, refused = refused + excluded.refused",
    )?;
    for ((session, caller), Added { role, first_ms, last_ms, calls, failed, refused }) in sessions {
        add.execute((session, caller, role, first_ms, last_ms, calls, failed, refused))?;
    }
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
        let kept = args.zip(data).and_then(|(args, data)| {
            let bytes = args.len() + data.len();
            Some(Kept { args: args.into(), data: serde_json::from_str(&data).ok()?, bytes })
        });
        calls.extend(serde_json::from_str::<Record>(&body).ok().map(|record| (record, kept)));
    }
    calls.reverse();
    Ok(calls)
}

/// A call's outcome with what is needed to run its component again, as far as that is kept.
pub(crate) fn tape(connection: &Connection, call_id: &str) -> rusqlite::Result<Option<(Record, Option<Cassette>)>> {
    let sql = "SELECT records.body, tapes.tape FROM records LEFT JOIN tapes USING (seq)
               WHERE call_id = ?1 AND kind = 'outcome'";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Option<Vec<u8>>>(1)?));
    let found = connection.query_row(sql, [call_id], row).optional()?;
    Ok(found.and_then(|(body, tape)| {
        let record = serde_json::from_str(&body).ok()?;
        Some((record, tape.and_then(|tape| Cassette::decode(&tape))))
    }))
}

/// Removes what is kept beside records and older than a time, or beyond a number of bytes, the oldest first. The records
/// stay, and with them the chain.
pub(crate) fn prune(connection: &Connection, before_ms: u64, most: u64) -> rusqlite::Result<usize> {
    let (before, most) = (i64::try_from(before_ms).unwrap_or(i64::MAX), i64::try_from(most).unwrap_or(i64::MAX));
    let file: i64 = connection.query_row(
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
        (),
        |row| row.get(0),
    )?;
    let mut removed = 0;
    for (table, size) in [("kept", "length(args) + length(data)"), ("tapes", "length(tape)")] {
        // Rows are in the order of time, so that the oldest that stays is found at once.
        let stays: Option<i64> = connection
            .query_row(&format!("SELECT seq FROM {table} WHERE time_ms >= ?1 ORDER BY seq LIMIT 1"), [before], |row| {
                row.get(0)
            })
            .optional()?;
        removed += connection.execute(&format!("DELETE FROM {table} WHERE seq < ?1"), [stays.unwrap_or(i64::MAX)])?;
        // A file that is smaller has not too much in it; only a larger one is looked through.
        if file > most {
            let sql = format!(
                "DELETE FROM {table} WHERE seq <= (SELECT max(seq) FROM (
                    SELECT seq, sum({size}) OVER (ORDER BY seq DESC) AS total FROM {table}
                 ) WHERE total > ?1)"
            );
            removed += connection.execute(&sql, [most / 2])?;
        }
    }
    Ok(removed)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(connection: &Connection) -> Vec<i64> {
        let mut rows = connection.prepare("SELECT seq FROM kept ORDER BY seq").unwrap();
        rows.query_map((), |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn what_is_old_or_too_much_goes_and_the_newest_stays() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(PROJECTION.tables).unwrap();
        for seq in 1..=10 {
            let text = "x".repeat(10_000);
            connection.execute("INSERT INTO kept VALUES (?1, ?1, '{}', ?2)", (seq, &text)).unwrap();
        }
        assert_eq!(prune(&connection, 4, u64::MAX).unwrap(), 3);
        assert_eq!(kept(&connection), [4, 5, 6, 7, 8, 9, 10]);
        prune(&connection, 0, 50_000).unwrap();
        assert_eq!(kept(&connection), [9, 10], "half of it, so that it is not done at every start");
    }
}
