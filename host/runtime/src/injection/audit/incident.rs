//! Which outcomes does somebody have to look at? Keeps a list of them beside the records.

use crate::error::{Kind, Step};
use crate::journal::{self, Numbered, Projection};
use crate::record::Record;
use rusqlite::Connection;

/// The list.
pub(crate) const PROJECTION: Projection =
    Projection { tables: "CREATE TABLE IF NOT EXISTS incidents (seq INTEGER PRIMARY KEY) STRICT;", apply };

fn apply(connection: &Connection, records: &[Numbered<'_>]) -> rusqlite::Result<()> {
    for (seq, _) in journal::outcomes(records).filter(|(_, record)| is_incident(record)) {
        connection.prepare_cached("INSERT INTO incidents (seq) VALUES (?1)")?.execute([seq])?;
    }
    Ok(())
}

/// Whether an outcome is one: a call of high risk that was refused, a person's no, a place that is kept from tools, a
/// mask that was to be written, or a call of which nobody knows what came of it.
pub fn is_incident(record: &Record) -> bool {
    let Some(error) = &record.error else { return false };
    let reason = error.reason.as_deref().unwrap_or_default();
    let high = record.facts.risk_level.as_deref() == Some("high") && error.step == Step::Permission;
    let refused = matches!(error.kind, Kind::ApprovalDenied | Kind::SessionHalted | Kind::PolicyError)
        || high && error.kind != Kind::ApprovalPending;
    refused || matches!(reason, "masked_secret" | "outcome_unknown" | "path_out_of_bounds")
}
