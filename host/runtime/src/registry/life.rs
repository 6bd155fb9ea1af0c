//! Since when is a tool known, is it in service, and does anybody use it? Tables beside the records, so that all
//! processes say the same. Must not judge; see `low_use`.

use super::Out;
use super::low_use::Evaluation;
use crate::journal::{self, Claim, Numbered, Projection};
use crate::record::Event;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What happened when a person changed whether a tool is in service.
const SERVICE: &str = "registry.service";
/// What happened when a tool was found to be hardly used.
const LOW_USE: &str = "registry.low_use";
/// Milliseconds after which a tool that nobody calls counts as hardly used.
pub(crate) const UNUSED_MS: u64 = 30 * 86_400_000;

/// What is kept of each tool's life.
pub(crate) const PROJECTION: Projection = Projection {
    tables: "CREATE TABLE IF NOT EXISTS tool_life (
                tool TEXT NOT NULL PRIMARY KEY, first_ms INTEGER NOT NULL, out TEXT, flagged_ms INTEGER,
                evaluation TEXT
             ) STRICT, WITHOUT ROWID;
             CREATE INDEX IF NOT EXISTS tools_out_of_service ON tool_life (out) WHERE out IS NOT NULL;",
    apply,
};

fn apply(connection: &Connection, records: &[Numbered<'_>]) -> rusqlite::Result<()> {
    journal::events(records).try_for_each(|event| note(connection, event))
}

fn note(connection: &Connection, event: &Event) -> rusqlite::Result<()> {
    let text = |key: &str| event.details.get(key).and_then(Value::as_str);
    let Some(tool) = text("tool") else { return Ok(()) };
    let time = event.time_ms as i64;
    match &*event.what {
        SERVICE => {
            let statement = "INSERT INTO tool_life (tool, first_ms, out) VALUES (?1, ?2, ?3)
                             ON CONFLICT DO UPDATE SET out = excluded.out";
            connection.prepare_cached(statement)?.execute((tool, time, text("out")))?;
        }
        LOW_USE => {
            let statement = "UPDATE tool_life SET flagged_ms = ?2, evaluation = ?3 WHERE tool = ?1";
            let evaluation = event.details.get("evaluation").map(Value::to_string);
            connection.prepare_cached(statement)?.execute((tool, time, evaluation))?;
        }
        _ => {}
    }
    Ok(())
}

/// That a person took a tool out of service, or back into it.
pub(crate) fn changed(tool: &str, out: Option<Out>, by: &str) -> Event {
    Event::now(SERVICE, by, json!({ "tool": tool, "out": out }))
}

/// That a tool was found to be hardly used, and what it comes from.
pub(crate) fn flagged(evaluation: &Evaluation) -> Event {
    Event::now(LOW_USE, "runtime", json!({ "tool": evaluation.tool, "evaluation": evaluation }))
}

/// Holds only as long as nobody else has flagged the tool since it was last used: of many processes one says it.
pub(crate) fn not_flagged(tool: &str, last_ms: Option<u64>) -> Claim {
    let (tool, last) = (tool.to_owned(), last_ms.unwrap_or(0) as i64);
    Box::new(move |connection: &Connection| {
        let flagged = "SELECT flagged_ms > ?2 FROM tool_life WHERE tool = ?1 AND flagged_ms IS NOT NULL";
        let mut statement = connection.prepare_cached(flagged)?;
        let mut rows = statement.query((&*tool, last))?;
        let is_flagged = rows.next()?.map(|row| row.get::<_, bool>(0)).transpose()?.unwrap_or(false);
        Ok(match is_flagged {
            true => Err(crate::error::Error::internal(crate::error::Step::Registry, "somebody else has said so")),
            false => Ok(()),
        })
    })
}

/// Notes tools that are seen for the first time.
pub(crate) fn seen(tools: Vec<String>, now_ms: u64) -> Claim {
    Box::new(move |connection: &Connection| {
        let insert = "INSERT OR IGNORE INTO tool_life (tool, first_ms) VALUES (?1, ?2)";
        let mut statement = connection.prepare_cached(insert)?;
        for tool in &tools {
            statement.execute((tool, now_ms as i64))?;
        }
        Ok(Ok(()))
    })
}

/// Those of some tools that were not seen before.
pub(crate) fn unseen(connection: &Connection, tools: Vec<String>) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT tool FROM tool_life")?;
    let known: std::collections::HashSet<String> =
        statement.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(tools.into_iter().filter(|tool| !known.contains(tool)).collect())
}

/// The tools that people took out of service.
pub(crate) fn out(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Out>> {
    let mut statement = connection.prepare_cached("SELECT tool, out FROM tool_life WHERE out IS NOT NULL")?;
    let mut rows = statement.query(())?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        // A word that this version does not know keeps the tool out, too.
        let out = if row.get::<_, String>(1)? == "retired" { Out::Retired } else { Out::Disabled };
        found.insert(row.get(0)?, out);
    }
    Ok(found)
}

/// A tool that nobody has called for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unused {
    pub(crate) tool: String,
    pub(crate) first_ms: u64,
    pub(crate) last_ms: Option<u64>,
}

/// Tools in service that nobody has called for thirty days, or ever since they were seen, and that are not flagged.
pub(crate) fn unused(connection: &Connection, now_ms: u64) -> rusqlite::Result<Vec<Unused>> {
    let mut statement = connection.prepare_cached(
        "SELECT tool, first_ms, last_ms FROM (
            SELECT tool, first_ms, out, flagged_ms,
                (SELECT max(last_ms) FROM tool_use WHERE tool_use.tool = tool_life.tool AND last_ms > 0) AS last_ms
            FROM tool_life
         ) WHERE out IS NULL AND coalesce(last_ms, first_ms) <= ?1 AND coalesce(flagged_ms <= last_ms, flagged_ms IS NULL)
         ORDER BY tool",
    )?;
    let before = now_ms.saturating_sub(UNUSED_MS) as i64;
    let unused = statement.query_map([before], |row| {
        let time = |column: usize| row.get::<_, Option<i64>>(column).map(|time| time.map(|time| time.max(0) as u64));
        Ok(Unused { tool: row.get(0)?, first_ms: time(1)?.unwrap_or(0), last_ms: time(2)? })
    })?;
    unused.collect()
}

/// The evaluations of tools that are hardly used as things stand, by tool.
pub(crate) fn evaluations(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Value>> {
    let mut statement = connection.prepare_cached(
        "SELECT tool, evaluation FROM tool_life WHERE flagged_ms IS NOT NULL AND out IS NULL AND flagged_ms >
            coalesce((SELECT max(last_ms) FROM tool_use WHERE tool_use.tool = tool_life.tool), 0)",
    )?;
    let mut rows = statement.query(())?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let text: Option<String> = row.get(1)?;
        found.insert(row.get(0)?, text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default());
    }
    Ok(found)
}
