//! Is every record what was written, in its place, up to the end? Goes through the whole chain; needs no key but the
//! public one in the signed head.

use super::{AuditError, Reader, failure};
use crate::call::Digest;
use crate::journal;
use crate::record::{RecordKind, Written};
use crate::signed::SignedHead;
use rusqlite::OptionalExtension;
use serde::Serialize;
use std::collections::BTreeSet;

/// Reads the signed head.
pub(super) const HEAD: &str = "SELECT seq, hash, time_ms, key, signature FROM head";

/// What checking the chain came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Records that were checked.
    pub records: i64,
    /// The last one's hash, to be kept elsewhere.
    pub head: Digest,
    /// The public key that signed the end, if it is signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Calls that were about to run and have no outcome: what came of them is unknown.
    pub unknown: Vec<String>,
    /// Where writes were cut off by a crash and dropped at the next start, before anybody was told that they were done.
    pub repaired: Vec<Repaired>,
    /// The first record that is not what was written, and why.
    pub broken: Option<(i64, String)>,
}

/// A write that was cut off and dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// The record that says so.
    pub seq: i64,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// Bytes that were dropped.
    pub bytes: u64,
}

/// One row, from a journal or an export.
pub(super) struct Row<'a> {
    pub(super) seq: i64,
    pub(super) call_id: &'a str,
    pub(super) kind: &'a str,
    pub(super) body: &'a str,
    pub(super) hash: &'a [u8],
}

/// The chain as far as it was walked.
pub(super) struct Walk {
    records: i64,
    hash: Vec<u8>,
    open: BTreeSet<String>,
    repaired: Vec<Repaired>,
    broken: Option<(i64, String)>,
    /// The number and hash that have to be met on the way.
    checkpoint: Option<(i64, Digest)>,
    signed_by: Option<String>,
}

impl Walk {
    pub(super) fn new() -> Walk {
        Walk {
            records: 0,
            hash: journal::GENESIS.to_vec(),
            open: BTreeSet::new(),
            repaired: Vec::new(),
            broken: None,
            checkpoint: None,
            signed_by: None,
        }
    }

    /// Expects what a checkpoint says.
    pub(super) fn expect(&mut self, checkpoint: &SignedHead) {
        match checkpoint.is_valid() {
            true => self.checkpoint = Some((checkpoint.seq, checkpoint.hash)),
            false => self.broken = Some((checkpoint.seq, "the checkpoint's signature is not valid".into())),
        }
    }

    /// Takes one step. Whether to go on.
    pub(super) fn step(&mut self, row: &Row<'_>) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let expected = self.records + 1;
        match fault(row, expected, &self.hash) {
            Err(why) => self.broken = Some((row.seq, why)),
            Ok(entry) => {
                self.records = row.seq;
                self.hash = row.hash.to_vec();
                self.note(&entry);
                let differs = |(seq, hash): (i64, Digest)| seq == row.seq && hash.bytes().as_slice() != row.hash;
                if self.checkpoint.is_some_and(differs) {
                    self.broken = Some((row.seq, "it is not the record that the checkpoint saw".into()));
                }
            }
        }
        self.broken.is_none()
    }

    fn note(&mut self, entry: &Written) {
        match entry {
            Written::Call(record) if record.kind == RecordKind::Intent => {
                self.open.insert(record.call_id.to_string());
            }
            Written::Call(record) if record.kind == RecordKind::Outcome => {
                let reason = record.error.as_ref().and_then(|error| error.reason.as_deref());
                if reason != Some("outcome_unknown") {
                    self.open.remove(&*record.call_id);
                }
            }
            Written::Event(event) if *event.what == *journal::REPAIRED => {
                let bytes = event.details["bytes"].as_u64().unwrap_or_default();
                self.repaired.push(Repaired { seq: self.records, time_ms: event.time_ms, bytes });
            }
            Written::Call(_) | Written::Event(_) => {}
        }
    }

    /// Something else than a record is wrong.
    pub(super) fn damaged(&mut self, why: impl Into<String>) {
        let at = self.records + 1;
        self.broken.get_or_insert_with(|| (at, why.into()));
    }

    /// Compares the end with what was signed.
    pub(super) fn end(mut self, signed: Option<SignedHead>) -> Verification {
        let last = self.records;
        let head = <[u8; 32]>::try_from(self.hash.as_slice()).map_or(Digest::of(&self.hash), Digest::from_bytes);
        if let Some(signed) = signed {
            if !signed.is_valid() {
                self.damaged("the signature of the journal's end is not valid");
            } else if signed.seq > last {
                self.damaged(format!("records {} to {} were signed and are missing", last + 1, signed.seq));
            } else if signed.seq == last && signed.hash != head && last > 0 {
                self.damaged("the journal's end is not the one that was signed");
            } else if signed.seq < last {
                self.damaged(format!("record {} and those after it were never signed", signed.seq + 1));
            }
            self.signed_by = Some(signed.key);
        }
        if let Some((seq, _)) = self.checkpoint.filter(|(seq, _)| *seq > last) {
            self.damaged(format!("the checkpoint saw records up to {seq}; those after {last} are missing"));
        }
        Verification {
            records: last,
            head,
            signed_by: self.signed_by,
            unknown: self.open.into_iter().collect(),
            repaired: self.repaired,
            broken: self.broken,
        }
    }
}

pub(super) fn head(row: &rusqlite::Row<'_>) -> rusqlite::Result<SignedHead> {
    let hash: Vec<u8> = row.get(1)?;
    let hash = <[u8; 32]>::try_from(hash.as_slice()).map_err(|error| super::conversion(1, error))?;
    let time: i64 = row.get(2)?;
    Ok(SignedHead {
        seq: row.get(0)?,
        hash: Digest::from_bytes(hash),
        time_ms: time.max(0) as u64,
        key: row.get(3)?,
        signature: row.get(4)?,
    })
}

impl Reader {
    /// Checks every record against the chain, and the end against its signature. A journal that others write to
    /// meanwhile is checked as it was at the start.
    pub fn verify(&self) -> Result<Verification, AuditError> {
        self.verify_against(None)
    }

    /// The same, and that what a checkpoint saw is still there.
    pub fn verify_against(&self, checkpoint: Option<&SignedHead>) -> Result<Verification, AuditError> {
        let signed = match self.has_table("head") {
            Ok(has) => has,
            Err(AuditError::Damaged { why, .. }) => return Ok(damaged(why)),
            Err(error) => return Err(error),
        };
        let mut walk = Walk::new();
        checkpoint.into_iter().for_each(|checkpoint| walk.expect(checkpoint));
        let walked = self.walk(&mut walk, signed).map_err(|source| failure(&self.path, source));
        match walked {
            Ok(head) => Ok(walk.end(head)),
            Err(AuditError::Damaged { why, .. }) => {
                walk.damaged(format!("the file is damaged: {why}"));
                Ok(walk.end(None))
            }
            Err(error) => Err(error),
        }
    }

    fn walk(&self, walk: &mut Walk, signed: bool) -> rusqlite::Result<Option<SignedHead>> {
        // One transaction, so that the records and the head are those of one time.
        let transaction = self.connection.unchecked_transaction()?;
        {
            let mut statement =
                transaction.prepare("SELECT seq, call_id, kind, body, hash FROM records ORDER BY seq")?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let (call_id, kind): (String, String) = (row.get(1)?, row.get(2)?);
                let (body, hash): (String, Vec<u8>) = (row.get(3)?, row.get(4)?);
                let row = Row { seq: row.get(0)?, call_id: &call_id, kind: &kind, body: &body, hash: &hash };
                if !walk.step(&row) {
                    break;
                }
            }
        }
        let quick: String = transaction.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
        if quick != "ok" {
            walk.damaged(format!("the file is damaged: {quick}"));
        }
        match signed {
            true => transaction.query_row(HEAD, (), head).optional(),
            false => Ok(None),
        }
    }
}

fn damaged(why: String) -> Verification {
    let mut walk = Walk::new();
    walk.damaged(format!("the file is damaged: {why}"));
    walk.end(None)
}

fn fault(row: &Row<'_>, expected: i64, previous: &[u8]) -> Result<Written, String> {
    if row.seq != expected {
        return Err(format!("record {expected} is missing"));
    }
    if journal::chain(previous, row.body).bytes().as_slice() != row.hash {
        return Err("its content or its place in the chain was changed".into());
    }
    match Written::parse(row.kind, row.body) {
        Ok(entry) if entry.index() != row.kind || entry.id() != row.call_id => Err("its index was changed".into()),
        Ok(entry) => Ok(entry),
        Err(error) => Err(format!("it cannot be read: {error}")),
    }
}
