//! What of an earlier process was left open? Calls whose intent has no outcome get one that says that nobody knows what
//! came of them. Must only be asked while no other process uses the journal.

use crate::error::{Error, Step};
use crate::journal::{Numbered, Projection};
use crate::record::{Record, RecordKind, Written};
use rusqlite::Connection;

/// Calls that are closed in one start; more are closed by the next ones.
const MOST: usize = 2048;

/// Intents without an outcome.
pub(crate) const PROJECTION: Projection = Projection {
    tables: "CREATE TABLE IF NOT EXISTS open_intents (seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL) STRICT;
             CREATE INDEX IF NOT EXISTS open_intents_by_call ON open_intents (call_id);",
    apply,
};

fn apply(connection: &Connection, records: &[Numbered<'_>]) -> rusqlite::Result<()> {
    for (seq, written) in records {
        let Written::Call(record) = written else { continue };
        match record.kind {
            RecordKind::Intent => connection
                .prepare_cached("INSERT INTO open_intents (seq, call_id) VALUES (?1, ?2)")?
                .execute((seq, &*record.call_id)),
            RecordKind::Outcome if record.facts.writes || record.facts.risk_level.as_deref() != Some("low") => {
                connection.prepare_cached("DELETE FROM open_intents WHERE call_id = ?1")?.execute([&*record.call_id])
            }
            RecordKind::Attempt | RecordKind::Outcome | RecordKind::Event => Ok(0),
        }?;
    }
    Ok(())
}

/// The outcomes of calls that were about to run when their process ended.
pub(crate) fn unknown_outcomes(connection: &Connection, now_ms: u64) -> rusqlite::Result<Vec<Record>> {
    let mut statement =
        connection.prepare("SELECT body FROM open_intents JOIN records USING (seq) ORDER BY seq LIMIT ?1")?;
    let bodies = statement.query_map([MOST as i64], |row| row.get::<_, String>(0))?;
    let mut outcomes = Vec::new();
    for body in bodies {
        let Ok(intent) = serde_json::from_str::<Record>(&body?) else { continue };
        let error = Error::internal(Step::Sandbox, "its process ended before it wrote an outcome");
        let mut error = error.reason("outcome_unknown");
        error.message = "the runtime ended while this call ran; what came of it is unknown".into();
        outcomes.push(Record {
            kind: RecordKind::Outcome,
            time_ms: now_ms,
            code: Some(error.code),
            insides: error.log.clone(),
            error: Some(error),
            ..intent
        });
    }
    Ok(outcomes)
}
