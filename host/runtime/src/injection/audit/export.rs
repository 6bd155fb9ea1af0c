//! How does the journal leave the machine so that somebody else can check it? One line a record, with its text as it was
//! hashed, between a line that says what this is and the signed end.

use super::verify::{Row, Verification, Walk};
use super::{AuditError, Reader};
use crate::call::Digest;
use crate::signed::SignedHead;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{BufRead, Write};

/// What the first line says.
const FORMAT: &str = "hermes journal export 1";
/// Longest line of an export, in bytes.
const LONGEST: u64 = 256 << 20;

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line<'a> {
    /// The first one.
    Format(String),
    /// A record.
    #[serde(borrow)]
    Record(Exported<'a>),
    /// The last one.
    Head(Option<SignedHead>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported<'a> {
    seq: i64,
    call_id: std::borrow::Cow<'a, str>,
    kind: std::borrow::Cow<'a, str>,
    hash: Digest,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// Why an export could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] AuditError),
    /// Where it goes to or comes from.
    #[error("the export cannot be written or read: {0}")]
    Stream(#[from] std::io::Error),
    /// A line is none of an export.
    #[error("line {0} is no line of an export: {1}")]
    Line(usize, String),
}

impl Reader {
    /// Writes the whole journal, and how many records that were.
    ///
    /// # Errors
    /// If the journal cannot be read or the export not be written.
    pub fn export(&self, out: &mut impl Write) -> Result<i64, ExportError> {
        write_line(out, &Line::Format(FORMAT.to_owned()))?;
        // Signed before or with the last record that is read: a later one would name records that are not here.
        let transaction =
            self.connection.unchecked_transaction().map_err(|source| super::failure(&self.path, source))?;
        let mut statement =
            self.rows(|_| transaction.prepare("SELECT seq, call_id, kind, body, hash FROM records ORDER BY seq"))?;
        let mut rows = self.rows(|_| statement.query(()))?;
        let mut records = 0;
        while let Some(row) = self.rows(|_| rows.next())? {
            let (seq, call_id, kind, body, hash): (i64, String, String, String, Vec<u8>) =
                self.rows(|_| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
            let damaged =
                |why: String| AuditError::Damaged { path: self.path.clone(), why: format!("record {seq}: {why}") };
            let hash = <[u8; 32]>::try_from(hash.as_slice()).map_err(|error| damaged(error.to_string()))?;
            let body = RawValue::from_string(body).map_err(|error| damaged(error.to_string()))?;
            let exported = Exported {
                seq,
                call_id: call_id.into(),
                kind: kind.into(),
                hash: Digest::from_bytes(hash),
                body: &body,
            };
            write_line(out, &Line::Record(exported))?;
            records = seq;
        }
        write_line(out, &Line::Head(self.head()?))?;
        Ok(records)
    }
}

fn write_line(out: &mut impl Write, line: &Line<'_>) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Checks an export, without the journal that it came from.
///
/// # Errors
/// If it cannot be read. What is wrong with its records is in the verification.
pub fn verify(mut export: impl BufRead, checkpoint: Option<&SignedHead>) -> Result<Verification, ExportError> {
    let mut walk = Walk::new();
    checkpoint.into_iter().for_each(|checkpoint| walk.expect(checkpoint));
    let mut head = None;
    let mut ended = false;
    for number in 1.. {
        let mut text = String::new();
        if std::io::Read::take(&mut export, LONGEST).read_line(&mut text)? == 0 {
            break;
        }
        let line = match serde_json::from_str(text.trim_end()) {
            Ok(line) => line,
            Err(error) if number == 1 => return Err(ExportError::Line(number, error.to_string())),
            Err(error) => {
                walk.damaged(format!("line {number} of the export cannot be read: {error}"));
                break;
            }
        };
        match line {
            Line::Format(format) if number == 1 && format == FORMAT => {}
            Line::Record(record) if number > 1 && !ended => {
                let row = Row {
                    seq: record.seq,
                    call_id: &record.call_id,
                    kind: &record.kind,
                    body: record.body.get(),
                    hash: record.hash.bytes(),
                };
                if !walk.step(&row) {
                    ended = true;
                    break;
                }
            }
            Line::Head(signed) if !ended => {
                head = signed;
                ended = true;
            }
            Line::Format(_) | Line::Record(_) | Line::Head(_) => {
                return Err(ExportError::Line(number, "it is not where it belongs".into()));
            }
        }
    }
    if !ended {
        walk.damaged("the export ends before its last line");
    }
    Ok(walk.end(head))
}
