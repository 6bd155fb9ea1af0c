//! What do the records say, and are they whole? Reads the journal; writes nothing.
#![expect(clippy::disallowed_methods, reason = "the reader looks whether there is a journal")]

use crate::call::Digest;
use crate::journal;
use crate::record::{Record, Written};
use rusqlite::Connection;
use serde::Serialize;
use std::path::Path;

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

/// What checking the chain came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Records that were checked.
    pub records: i64,
    /// The last one's hash, to be kept elsewhere.
    pub head: Digest,
    /// Calls that were about to run and have no outcome: what came of them is unknown.
    pub unknown: Vec<String>,
    /// The first record that is not what was written, and why.
    pub broken: Option<(i64, String)>,
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
            Err(source) => Err(AuditError::Unreadable { path, source }),
        }
    }

    /// The last outcomes, the newest first.
    pub fn list(&self, limit: u32) -> Result<Vec<Entry>, AuditError> {
        self.entries("SELECT seq, body, hash FROM records WHERE kind = 'outcome' ORDER BY seq DESC LIMIT ?1", limit)
    }

    /// All records of one call, in order.
    pub fn show(&self, call_id: &str) -> Result<Vec<Entry>, AuditError> {
        self.entries("SELECT seq, body, hash FROM records WHERE call_id = ?1 ORDER BY seq", call_id)
    }

    /// Checks every record against the chain. A journal that others write to meanwhile is checked as it was at the
    /// start.
    pub fn verify(&self) -> Result<Verification, AuditError> {
        self.verify_rows().map_err(|source| self.unreadable(source))
    }

    fn verify_rows(&self) -> rusqlite::Result<Verification> {
        let mut statement =
            self.connection.prepare("SELECT seq, call_id, kind, body, hash FROM records ORDER BY seq")?;
        let mut rows = statement.query(())?;
        let mut hash = journal::GENESIS.to_vec();
        let mut records = 0;
        let mut open = std::collections::BTreeSet::new();
        let mut broken = None;
        while let Some(row) = rows.next()? {
            let (seq, call_id, kind, body, stored): (i64, String, String, String, Vec<u8>) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
            let why = fault(seq, records + 1, &call_id, &kind, &body, &hash, &stored);
            if let Some(why) = why {
                broken = Some((seq, why));
                break;
            }
            match kind.as_str() {
                "intent" => drop(open.insert(call_id)),
                "outcome" => drop(open.remove(&call_id)),
                _ => {}
            }
            records = seq;
            hash = stored;
        }
        let head = <[u8; 32]>::try_from(hash.as_slice()).map_or(Digest::of(&hash), Digest::from_bytes);
        Ok(Verification { records, head, unknown: open.into_iter().collect(), broken })
    }

    fn entries(&self, sql: &str, parameter: impl rusqlite::ToSql) -> Result<Vec<Entry>, AuditError> {
        let read = || {
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([parameter], |row| {
                let (seq, body, hash): (i64, String, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let record = serde_json::from_str(&body).map_err(|error| conversion(1, error))?;
                let hash = <[u8; 32]>::try_from(hash.as_slice()).map_err(|error| conversion(2, error))?;
                Ok(Entry { seq, record, hash: Digest::from_bytes(hash) })
            })?;
            rows.collect::<rusqlite::Result<Vec<Entry>>>()
        };
        read().map_err(|source| self.unreadable(source))
    }

    /// The ids of up to two calls that begin like this, so that people need not type whole ids.
    pub fn find(&self, prefix: &str) -> Result<Vec<String>, AuditError> {
        let read = || {
            let sql = "SELECT DISTINCT call_id FROM records WHERE substr(call_id, 1, length(?1)) = ?1 LIMIT 2";
            let mut statement = self.connection.prepare(sql)?;
            statement.query_map([prefix], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
        };
        read().map_err(|source| self.unreadable(source))
    }

    fn unreadable(&self, source: rusqlite::Error) -> AuditError {
        AuditError::Unreadable { path: self.path.clone(), source }
    }
}

fn conversion(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

fn fault(
    seq: i64,
    expected: i64,
    call_id: &str,
    kind: &str,
    body: &str,
    previous: &[u8],
    stored: &[u8],
) -> Option<String> {
    if seq != expected {
        return Some(format!("record {expected} is missing"));
    }
    if journal::chain(previous, body).bytes().as_slice() != stored {
        return Some("its content or its place in the chain was changed".into());
    }
    match Written::parse(kind, body) {
        Ok(entry) if entry.index() != kind || entry.id() != call_id => Some("its index was changed".into()),
        Ok(_) => None,
        Err(error) => Some(format!("it cannot be read: {error}")),
    }
}
