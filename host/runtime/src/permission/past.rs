//! What did a caller do before? A row for each caller, kept in the transactions of the records, and beside it what this
//! process has seen and not yet written, so that a call counts for the next one at once, and for other processes and
//! after a restart as well.

use crate::error::{Error, Kind, Step};
use crate::journal::{Journal, Numbered, now_ms};
use crate::map::Map;
use crate::record::{Facts, History, RecordKind, Written};
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The table.
pub(crate) const TABLES: &str =
    "CREATE TABLE IF NOT EXISTS pasts (caller TEXT PRIMARY KEY, past TEXT NOT NULL) STRICT;";

/// Calls that count as the last ones.
const LAST: usize = 10;
/// How long a denial counts.
const DENIAL_MS: u64 = 60 * 60 * 1000;
/// Denials that are kept; more add nothing.
const DENIALS: usize = 8;
/// How long it counts that something from outside was read.
const TAINT_MS: u64 = 24 * 60 * 60 * 1000;
/// How long what was read from the table counts as new.
const FRESH_MS: u64 = 250;
/// Refused requests that are told apart for each caller.
const REFUSED: usize = 256;

/// What is kept of one caller. Lifetime: the caller, over sessions and restarts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Past {
    /// The last calls by id, the newest last, and whether each was of high risk and approved by nobody.
    last: VecDeque<(String, bool)>,
    /// When calls were denied.
    denials: VecDeque<u64>,
    /// When something from outside was last read.
    tainted_ms: u64,
    /// Since when no call of it may run, until a person says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    halted_ms: Option<u64>,
    /// Refused requests, by key: how often, and when last.
    refused: BTreeMap<String, (u32, u64)>,
}

/// What one call adds.
#[derive(Clone, Debug)]
struct Noted {
    call_id: String,
    time_ms: u64,
    high: bool,
    denied: bool,
    halted: bool,
    outside: bool,
    refused: Option<String>,
}

impl Noted {
    fn of(call_id: &str, time_ms: u64, facts: &Facts, error: Option<&Error>) -> Noted {
        let by_permission = error.filter(|error| error.step == Step::Permission).map(|error| error.kind);
        Noted {
            call_id: call_id.to_owned(),
            time_ms,
            high: facts.risk_level.as_deref() == Some("high") && facts.approver.is_none(),
            denied: matches!(by_permission, Some(Kind::Denied | Kind::PolicyError | Kind::ApprovalDenied)),
            halted: by_permission == Some(Kind::SessionHalted),
            outside: facts.from_outside,
            refused: facts.refused_key.map(|key| key.hex()),
        }
    }
}

impl Past {
    fn add(&mut self, noted: &Noted) {
        self.last.push_back((noted.call_id.clone(), noted.high));
        self.denials.extend(noted.denied.then_some(noted.time_ms));
        while self.last.len() > LAST {
            self.last.pop_front();
        }
        while self.denials.len() > DENIALS {
            self.denials.pop_front();
        }
        if noted.outside {
            self.tainted_ms = self.tainted_ms.max(noted.time_ms);
        }
        if noted.halted && self.halted_ms.is_none() {
            self.halted_ms = Some(noted.time_ms);
        }
        if let Some(key) = &noted.refused {
            let entry = self.refused.entry(key.clone()).or_default();
            let recent = noted.time_ms < entry.1.saturating_add(DENIAL_MS);
            *entry = (if recent { entry.0 + 1 } else { 1 }, noted.time_ms);
            self.refused.retain(|_, (_, time)| noted.time_ms < time.saturating_add(DENIAL_MS));
            while self.refused.len() > REFUSED {
                let oldest = self.refused.iter().min_by_key(|(_, (_, time))| *time).map(|(key, _)| key.clone());
                oldest.map(|key| self.refused.remove(&key));
            }
        }
    }

    fn history(&self, now: u64) -> History {
        let recent = self.denials.iter().filter(|time| now < time.saturating_add(DENIAL_MS)).count();
        History {
            high: self.last.iter().filter(|(_, high)| *high).count() as u8,
            denials: recent as u8,
            tainted: self.tainted_ms > 0 && now < self.tainted_ms.saturating_add(TAINT_MS),
            halted: self.halted_ms.is_some(),
        }
    }
}

/// What this process knows about callers. Lifetime: the process.
#[derive(Debug, Default)]
pub(crate) struct Pasts {
    known: Mutex<Map<String, Known>>,
}

#[derive(Debug, Default)]
struct Known {
    written: Past,
    /// The same with what is not written yet.
    all: Past,
    read_ms: u64,
    /// What was handed to the journal and may not be in the table yet.
    unwritten: VecDeque<Noted>,
}

/// Callers whose pasts are kept in memory. Past that it is read anew.
const CALLERS: usize = 4096;

impl Pasts {
    /// The past of a caller as of now.
    ///
    /// # Errors
    /// `audit_unavailable` if it cannot be read: an unknown past is no clean one.
    pub(super) async fn of(&self, journal: &Journal, caller: &str) -> Result<History, Error> {
        let now = now_ms();
        if let Some(history) = self.fresh(caller, now) {
            return Ok(history);
        }
        let name = caller.to_owned();
        let written = journal.read(move |connection| read(connection, &name)).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CALLERS {
            known.retain(|_, known| !known.unwritten.is_empty());
        }
        let entry = known.entry(caller.to_owned()).or_default();
        entry.unwritten.retain(|noted| !written.last.iter().any(|(id, _)| *id == noted.call_id));
        entry.written = written;
        entry.all = entry.with_unwritten();
        entry.read_ms = now;
        Ok(entry.all.history(now))
    }

    fn fresh(&self, caller: &str, now: u64) -> Option<History> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = known.get(caller)?;
        // A clock that goes back makes nothing fresh.
        (entry.read_ms <= now && now < entry.read_ms + FRESH_MS).then(|| entry.all.history(now))
    }

    /// How often a refused request came before, as far as is known here.
    pub(super) fn repeats(&self, caller: &str, key: &crate::call::Digest) -> u32 {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = known.get(caller) else { return 0 };
        let refused = entry.all.refused.get(&key.hex());
        refused.filter(|(_, time)| now_ms() < time.saturating_add(DENIAL_MS)).map_or(0, |(count, _)| *count)
    }

    /// Notes how a call ended, before its record is on disk.
    pub(crate) fn note(&self, caller: &str, call_id: &str, facts: &Facts, error: Option<&Error>) {
        let noted = Noted::of(call_id, now_ms(), facts, error);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a row that was read, the row will be read and has it by then, or is read with it missing for a moment.
        let entry = known.entry(caller.to_owned()).or_default();
        entry.all.add(&noted);
        entry.unwritten.push_back(noted);
        while entry.unwritten.len() > 4 * LAST {
            entry.unwritten.pop_front();
        }
    }
}

impl Known {
    fn with_unwritten(&self) -> Past {
        let mut past = self.written.clone();
        for noted in &self.unwritten {
            if !past.last.iter().any(|(id, _)| *id == noted.call_id) {
                past.add(noted);
            }
        }
        past
    }
}

fn read(connection: &Connection, caller: &str) -> rusqlite::Result<Past> {
    let row: Option<String> = connection
        .prepare_cached("SELECT past FROM pasts WHERE caller = ?1")?
        .query_row([caller], |row| row.get(0))
        .optional()?;
    row.map_or(Ok(Past::default()), |text| {
        serde_json::from_str(&text)
            .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error)))
    })
}

fn write(connection: &Connection, caller: &str, past: &Past) -> rusqlite::Result<()> {
    let text = serde_json::to_string(past).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    connection
        .prepare_cached(
            "INSERT INTO pasts (caller, past) VALUES (?1, ?2) ON CONFLICT (caller) DO UPDATE SET past = ?2",
        )?
        .execute((caller, text))?;
    Ok(())
}

/// Adds records to the pasts of their callers, each of which is read and written once.
pub(crate) fn apply(connection: &Connection, records: &[Numbered<'_>]) -> rusqlite::Result<()> {
    let mut pasts: BTreeMap<&str, Past> = BTreeMap::new();
    for (_, written) in records {
        let Some(caller) = whose(written) else { continue };
        let past = match pasts.entry(caller) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(read(connection, caller)?),
        };
        match written {
            Written::Call(record) => {
                past.add(&Noted::of(&record.call_id, record.time_ms, &record.facts, record.error.as_ref()));
            }
            Written::Event(event) if *event.what == *RESUMED => past.halted_ms = None,
            Written::Event(_) => past.tainted_ms = 0,
        }
    }
    pasts.into_iter().try_for_each(|(caller, past)| write(connection, caller, &past))
}

/// What events say that a person did about a caller's past.
const TAINT_CLEARED: &str = "permission.taint_cleared";
const RESUMED: &str = "permission.resumed";

/// Whose past a record adds to.
fn whose(written: &Written) -> Option<&str> {
    match written {
        Written::Call(record) => (record.kind == RecordKind::Outcome).then_some(&*record.caller.id),
        Written::Event(event) if matches!(&*event.what, TAINT_CLEARED | RESUMED) => {
            event.details.get("caller").and_then(serde_json::Value::as_str)
        }
        Written::Event(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(id: &str, time_ms: u64) -> Noted {
        Noted { call_id: id.into(), time_ms, high: false, denied: false, halted: false, outside: false, refused: None }
    }

    #[test]
    fn the_last_ten_calls_count_and_older_ones_do_not() {
        let mut past = Past::default();
        for number in 0..5 {
            past.add(&Noted { high: true, ..noted(&format!("h{number}"), 1) });
        }
        assert_eq!(past.history(2).high, 5);
        for number in 0..7 {
            past.add(&noted(&format!("l{number}"), 1));
        }
        assert_eq!(past.history(2).high, 3);
    }

    #[test]
    fn a_denial_counts_for_an_hour_and_taint_for_a_day() {
        let mut past = Past::default();
        past.add(&Noted { denied: true, outside: true, ..noted("a", 1000) });
        assert_eq!((past.history(1000).denials, past.history(1000).tainted), (1, true));
        assert_eq!(past.history(1000 + DENIAL_MS).denials, 0);
        assert!(past.history(1000 + DENIAL_MS).tainted && !past.history(1000 + TAINT_MS).tainted);
    }

    #[test]
    fn what_was_written_meanwhile_counts_once() {
        let mut known = Known::default();
        known.unwritten.push_back(Noted { denied: true, ..noted("a", 1000) });
        known.unwritten.push_back(Noted { denied: true, ..noted("b", 1000) });
        assert_eq!(known.with_unwritten().history(1001).denials, 2);
        known.written.add(&Noted { denied: true, ..noted("a", 1000) });
        assert_eq!(known.with_unwritten().history(1001).denials, 2);
    }

    #[test]
    fn a_repeated_refusal_is_counted() {
        let mut past = Past::default();
        for time in [1000, 2000, 3000] {
            past.add(&Noted { denied: true, refused: Some("k".into()), ..noted("a", time) });
        }
        assert_eq!(past.refused["k"].0, 3);
        past.add(&Noted { refused: Some("k".into()), ..noted("b", 3000 + DENIAL_MS) });
        assert_eq!(past.refused["k"].0, 1);
    }
}
