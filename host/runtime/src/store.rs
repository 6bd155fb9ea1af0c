//! What is a record in the file, and how do several come into it together? One transaction, with the chain's next links,
//! what the steps keep beside the records, and the signed head. Must not know who waits for it.
#![expect(clippy::disallowed_methods, reason = "the journal owns its file")]

use crate::call::Digest;
use crate::canonical;
use crate::error::Error;
use crate::journal::{Numbered, Projection, now_ms};
use crate::record::Written;
use crate::signed::SignedHead;
use crate::writer::Write;
use ed25519_dalek::SigningKey;
use rusqlite::{Connection, OpenFlags, Savepoint, Transaction, TransactionBehavior};
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// How long SQLite waits for another process that holds the file.
const BUSY_WAIT: Duration = Duration::from_secs(10);
/// Statements that are kept prepared: more than the writer ever has.
const STATEMENTS: usize = 128;

/// What the writer keeps to.
pub(crate) struct Rules {
    pub(crate) projections: &'static [Projection],
    pub(crate) signing: SigningKey,
}

pub(crate) fn connect(path: &Path, projections: &[Projection]) -> rusqlite::Result<Connection> {
    use std::os::unix::fs::OpenOptionsExt;
    // SQLite would make it readable for others, and gives its side files the same mode. If this fails, opening says why.
    let _ = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS records (
            seq     INTEGER PRIMARY KEY,
            call_id TEXT NOT NULL,
            kind    TEXT NOT NULL,
            body    TEXT NOT NULL,
            hash    BLOB NOT NULL
         ) STRICT;
         CREATE UNIQUE INDEX IF NOT EXISTS one_record_of_a_kind ON records (call_id, kind);
         CREATE TABLE IF NOT EXISTS probe (at INTEGER) STRICT;
         CREATE TABLE IF NOT EXISTS head (
            one       INTEGER PRIMARY KEY CHECK (one = 1),
            seq       INTEGER NOT NULL,
            hash      BLOB NOT NULL,
            time_ms   INTEGER NOT NULL,
            key       TEXT NOT NULL,
            signature TEXT NOT NULL
         ) STRICT;",
    )?;
    projections.iter().try_for_each(|projection| connection.execute_batch(projection.tables))?;
    Ok(connection)
}

/// Opens a journal for reading only.
pub(crate) fn connect_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_WAIT)?;
    Ok(connection)
}

/// The hash of a record, bound to all records before it.
pub(crate) fn chain(previous: &[u8], body: &str) -> Digest {
    Digest::of_parts([previous, body.as_bytes()])
}

/// What stands before the first record.
pub(crate) const GENESIS: &[u8] = b"hermes journal 1";

/// Writes everything in one transaction. Each write has a verdict of its own: whether its claims held.
pub(crate) fn write_all(
    connection: &mut Connection,
    writes: &[Write],
    rules: &Rules,
) -> rusqlite::Result<Vec<Result<(), Box<Error>>>> {
    match write_together(connection, writes, rules, Tables::AllOrNothing) {
        Err(Stopped::Table) => write_together(connection, writes, rules, Tables::OneByOne).map_err(Stopped::why),
        written => written.map_err(Stopped::why),
    }
}

/// How the tables beside the records are kept up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tables {
    /// As fast as it goes: one that cannot be kept up stops everything.
    AllOrNothing,
    /// Each in a savepoint of its own, so that one that cannot be kept up leaves the others and the record.
    OneByOne,
}

/// Why a transaction came to nothing.
enum Stopped {
    /// A table beside the records could not be kept up.
    Table,
    /// Anything else.
    Sql(rusqlite::Error),
}

impl Stopped {
    fn why(self) -> rusqlite::Error {
        match self {
            Stopped::Table => rusqlite::Error::ExecuteReturnedResults,
            Stopped::Sql(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Stopped {
    fn from(error: rusqlite::Error) -> Stopped {
        Stopped::Sql(error)
    }
}

fn write_together(
    connection: &mut Connection,
    writes: &[Write],
    rules: &Rules,
    tables: Tables,
) -> Result<Vec<Result<(), Box<Error>>>, Stopped> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if writes.is_empty() {
        // Somebody asks whether the journal can be written: try, and leave nothing behind.
        transaction.execute("INSERT INTO probe (at) VALUES (?1)", [now_ms() as i64])?;
        transaction.execute("DELETE FROM probe", ())?;
        transaction.commit()?;
        return Ok(Vec::new());
    }
    let mut head = head(&transaction)?;
    let before = head.0;
    let mut verdicts = Vec::with_capacity(writes.len());
    let mut beside = Beside { projections: rules.projections, tables, records: Vec::with_capacity(writes.len()) };
    for write in writes {
        verdicts.push(write_one(&mut transaction, write, &mut beside, &mut head)?);
    }
    beside.keep_up(&mut transaction)?;
    if head.0 > before {
        sign(&transaction, &rules.signing, &head)?;
    }
    transaction.commit()?;
    Ok(verdicts)
}

/// Vouches for the end of the journal, in the transaction that makes it.
fn sign(connection: &Connection, signing: &SigningKey, head: &(i64, Vec<u8>)) -> rusqlite::Result<()> {
    let hash = <[u8; 32]>::try_from(head.1.as_slice()).map_or_else(|_| Digest::of(&head.1), Digest::from_bytes);
    let head = SignedHead::sign(signing, head.0, hash, now_ms());
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO head (one, seq, hash, time_ms, key, signature) VALUES (1, ?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((head.seq, head.hash.bytes().as_slice(), head.time_ms as i64, head.key, head.signature))?;
    Ok(())
}

/// The tables beside the records, and the records that they do not have yet: what comes together is added together.
struct Beside<'a> {
    projections: &'a [Projection],
    tables: Tables,
    records: Vec<Numbered<'a>>,
}

impl Beside<'_> {
    fn keep_up(&mut self, transaction: &mut Transaction<'_>) -> Result<(), Stopped> {
        if self.records.is_empty() {
            return Ok(());
        }
        for projection in self.projections {
            match self.tables {
                // Which one, and why, is told when each is tried alone.
                Tables::AllOrNothing => (projection.apply)(transaction, &self.records).map_err(|_| Stopped::Table)?,
                Tables::OneByOne => {
                    for record in &self.records {
                        project(transaction.savepoint()?, projection, record)?;
                    }
                }
            }
        }
        self.records.clear();
        Ok(())
    }
}

fn write_one<'a>(
    transaction: &mut Transaction<'_>,
    write: &'a Write,
    beside: &mut Beside<'a>,
    head: &mut (i64, Vec<u8>),
) -> Result<Result<(), Box<Error>>, Stopped> {
    if !write.claims.is_empty() {
        // What has to hold is looked for in the tables, with all that came before.
        beside.keep_up(transaction)?;
        let claiming = transaction.savepoint()?;
        for claim in &write.claims {
            if let Err(refused) = claim(&claiming)? {
                // Dropped, the savepoint takes back what other claims of this write took.
                return Ok(Err(Box::new(refused)));
            }
        }
        claiming.commit()?;
    }
    if let Some(entry) = &write.entry {
        insert(transaction, (entry, write.body.as_deref()), head)?;
        beside.records.push((head.0, entry));
    }
    Ok(Ok(()))
}

fn insert(
    connection: &Connection,
    (entry, body): (&Written, Option<&str>),
    head: &mut (i64, Vec<u8>),
) -> rusqlite::Result<()> {
    let unwritable = |error| rusqlite::Error::ToSqlConversionFailure(Box::new(error));
    let body = body.map_or_else(|| canonical::of(entry).map(Cow::Owned), |body| Ok(Cow::Borrowed(body)));
    let body = body.map_err(unwritable)?;
    let (seq, hash) = (head.0 + 1, chain(&head.1, &body).bytes().to_vec());
    connection
        .prepare_cached("INSERT INTO records (seq, call_id, kind, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute((seq, entry.id(), entry.index(), &body, &hash))?;
    *head = (seq, hash);
    Ok(())
}

/// A table that cannot be kept up is no reason to lose a record.
fn project(savepoint: Savepoint<'_>, projection: &Projection, record: &Numbered<'_>) -> rusqlite::Result<()> {
    match (projection.apply)(&savepoint, std::slice::from_ref(record)) {
        Ok(()) => savepoint.commit(),
        Err(error) => {
            tracing::error!(%error, seq = record.0, "a table beside the records could not be kept up");
            savepoint.finish()
        }
    }
}

/// Sequence number and hash of the last record.
pub(crate) fn head(connection: &Connection) -> rusqlite::Result<(i64, Vec<u8>)> {
    let mut statement = connection.prepare_cached("SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1")?;
    let mut rows = statement.query(())?;
    match rows.next()? {
        Some(row) => Ok((row.get(0)?, row.get(1)?)),
        None => Ok((0, GENESIS.to_vec())),
    }
}
