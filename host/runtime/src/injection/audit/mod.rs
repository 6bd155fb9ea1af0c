//! What do the records say, and are they whole? Reads the journal; writes nothing.
#![expect(clippy::disallowed_methods, reason = "the reader looks whether there is a journal")]

pub mod export;
pub mod incident;
mod verify;

use crate::call::Digest;
use crate::injection::feedback::{self, Report};
use crate::injection::memory::Line;
use crate::injection::trajectory::{self, SessionLine};
use crate::journal;
use crate::record::{Event, Kept, Record};
use crate::signed::SignedHead;
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
pub use verify::{Repaired, Verification};

/// Why the journal could not be read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is none yet.
    #[error("there is no journal at `{0}` yet; the first call makes it")]
    Missing(std::path::PathBuf),
    /// SQLite could not read it.
    #[error("the journal `{path}` cannot be read: {source}")]
    Unreadable {
        /// Which file.
        path: std::path::PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// It holds what no runtime wrote.
    #[error("the journal `{path}` is damaged: {why}")]
    Damaged {
        /// Which file.
        path: std::path::PathBuf,
        /// How.
        why: String,
    },
}

/// One record with its place in the chain.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Its number, dense from 1.
    pub seq: i64,
    /// What it says.
    pub record: Record,
    /// Its hash.
    pub hash: Digest,
}

/// One event with its place in the chain.
#[derive(Clone, Debug, Serialize)]
pub struct EventEntry {
    /// Its number, dense from 1.
    pub seq: i64,
    /// What it says.
    pub event: Event,
    /// Its hash.
    pub hash: Digest,
}

/// What happened, to a call or beside the calls.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Happened {
    /// A call came to its end.
    Call(Box<Entry>),
    /// Something beside the calls: a person's decision, a change of a session, a repair.
    Event(EventEntry),
}

/// The journal, open for reading.
pub struct Reader {
    connection: Connection,
    path: std::path::PathBuf,
}

impl Reader {
    /// Opens the journal of a state folder.
    pub fn open(state_dir: &Path) -> Result<Reader, AuditError> {
        let path = state_dir.join("journal.db");
        if !path.exists() {
            return Err(AuditError::Missing(path));
        }
        match journal::connect_for_reading(&path) {
            Ok(connection) => Ok(Reader { connection, path }),
            Err(source) => Err(failure(&path, source)),
        }
    }

    /// The last outcomes, the newest first.
    pub fn list(&self, limit: u32) -> Result<Vec<Entry>, AuditError> {
        self.entries("SELECT seq, body, hash FROM records WHERE kind = 'outcome' ORDER BY seq DESC LIMIT ?1", limit)
    }

    /// The last outcomes and events, the newest first.
    pub fn happened(&self, limit: u32) -> Result<Vec<Happened>, AuditError> {
        let sql =
            "SELECT seq, body, hash, kind FROM records WHERE kind IN ('outcome', 'event') ORDER BY seq DESC LIMIT ?1";
        self.rows(|connection| {
            let happened = |row: &rusqlite::Row<'_>| match row.get_ref(3)?.as_str()? {
                "event" => event_entry(row).map(Happened::Event),
                _ => entry(row).map(|entry| Happened::Call(Box::new(entry))),
            };
            connection.prepare(sql)?.query_map([limit], happened)?.collect()
        })
    }

    /// The last incidents, the newest first.
    pub fn incidents(&self, limit: u32) -> Result<Vec<Entry>, AuditError> {
        if !self.has_table("incidents")? {
            return Ok(Vec::new());
        }
        self.entries("SELECT seq, body, hash FROM incidents JOIN records USING (seq) ORDER BY seq DESC LIMIT ?1", limit)
    }

    /// All records of one call, in order.
    pub fn show(&self, call_id: &str) -> Result<Vec<Entry>, AuditError> {
        self.entries("SELECT seq, body, hash FROM records WHERE call_id = ?1 AND kind != 'event' ORDER BY seq", call_id)
    }

    /// The event with an id: what happened beside the calls, such as a person's decision.
    pub fn event(&self, id: &str) -> Result<Option<EventEntry>, AuditError> {
        let sql = "SELECT seq, body, hash FROM records WHERE call_id = ?1 AND kind = 'event'";
        self.rows(|connection| connection.query_row(sql, [id], event_entry).optional())
    }

    /// The ids of up to two calls that begin like this, so that people need not type whole ids.
    pub fn find(&self, prefix: &str) -> Result<Vec<String>, AuditError> {
        self.rows(|connection| {
            let sql = "SELECT DISTINCT call_id FROM records WHERE substr(call_id, 1, length(?1)) = ?1 LIMIT 2";
            connection.prepare(sql)?.query_map([prefix], |row| row.get(0))?.collect()
        })
    }

    /// The end of the journal as it was last signed.
    pub fn head(&self) -> Result<Option<SignedHead>, AuditError> {
        match self.has_table("head")? {
            true => self.rows(|connection| connection.query_row(verify::HEAD, (), verify::head).optional()),
            false => Ok(None),
        }
    }

    /// The last sessions, the newest first.
    pub fn sessions(&self, limit: u32) -> Result<Vec<SessionLine>, AuditError> {
        match self.has_table("sessions")? {
            true => self.rows(|connection| trajectory::sessions(connection, limit)),
            false => Ok(Vec::new()),
        }
    }

    /// The names of up to two sessions that begin like this.
    pub fn find_session(&self, prefix: &str) -> Result<Vec<String>, AuditError> {
        match self.has_table("sessions")? {
            true => self.rows(|connection| trajectory::find(connection, prefix)),
            false => Ok(Vec::new()),
        }
    }

    /// The outcomes of a session in order, at most the last so many.
    pub fn trajectory(&self, session: &str, limit: usize) -> Result<Vec<Record>, AuditError> {
        self.rows(|connection| trajectory::outcomes(connection, session, None, limit))
    }

    /// The same with arguments and results, where they were kept.
    pub fn calls(&self, session: &str, limit: usize) -> Result<Vec<(Record, Option<Kept>)>, AuditError> {
        self.rows(|connection| trajectory::calls(connection, session, limit))
    }

    /// The working memory of a session.
    pub fn memory(&self, session: &str, limit: usize) -> Result<Vec<Line>, AuditError> {
        self.rows(|connection| trajectory::memory(connection, session, None, limit))
    }

    /// What programs around the runtime have said about results, by the call's id.
    pub fn reports(&self) -> Result<BTreeMap<String, Report>, AuditError> {
        match self.has_table("reports")? {
            true => self.rows(feedback::reports),
            false => Ok(BTreeMap::new()),
        }
    }

    fn has_table(&self, name: &str) -> Result<bool, AuditError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1)";
        self.rows(|connection| connection.query_row(sql, [name], |row| row.get(0)))
    }

    fn rows<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, AuditError> {
        read(&self.connection).map_err(|source| failure(&self.path, source))
    }

    fn entries(&self, sql: &str, parameter: impl rusqlite::ToSql) -> Result<Vec<Entry>, AuditError> {
        self.rows(|connection| connection.prepare(sql)?.query_map([parameter], entry)?.collect())
    }
}

fn entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
    let record = serde_json::from_str(row.get_ref(1)?.as_str()?).map_err(|error| conversion(1, error))?;
    Ok(Entry { seq: row.get(0)?, record, hash: hash(row, 2)? })
}

fn event_entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<EventEntry> {
    let event = serde_json::from_str(row.get_ref(1)?.as_str()?).map_err(|error| conversion(1, error))?;
    Ok(EventEntry { seq: row.get(0)?, event, hash: hash(row, 2)? })
}

fn hash(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    let bytes: Vec<u8> = row.get(column)?;
    let bytes = <[u8; 32]>::try_from(bytes.as_slice()).map_err(|error| conversion(column, error))?;
    Ok(Digest::from_bytes(bytes))
}

fn conversion(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// Whether the file cannot be read now, or holds what no runtime wrote.
fn failure(path: &Path, source: rusqlite::Error) -> AuditError {
    let damaged = match &source {
        rusqlite::Error::SqliteFailure(error, _) => {
            matches!(error.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        }
        rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) => true,
        rusqlite::Error::Utf8Error(..) | rusqlite::Error::IntegralValueOutOfRange(..) => true,
        _ => false,
    };
    match damaged {
        true => AuditError::Damaged { path: path.to_owned(), why: source.to_string() },
        false => AuditError::Unreadable { path: path.to_owned(), source },
    }
}
