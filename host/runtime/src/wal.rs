//! Was the last write to the journal cut off? SQLite drops such a write when it opens the file; this looks before that at
//! what a crash left in the write-ahead log, so that it can be said. Must not know what was written.
#![expect(clippy::disallowed_methods, reason = "the journal's own file")]

use std::io::{BufReader, Read};
use std::path::Path;

/// Bytes of the log's header, and of that of each frame (SQLite's file format, "The Write-Ahead Log").
const HEADER: usize = 32;
const FRAME: usize = 24;
/// The header's first number; its lowest bit says in which order of bytes sums are made.
const MAGIC: u32 = 0x377f_0682;
/// The page sizes that there are.
const PAGES: std::ops::RangeInclusive<usize> = 512..=65_536;

/// Bytes of writes that were begun and not finished, at the end of a database's log. Must be asked while nobody uses the
/// database. What cannot be told from a leftover of earlier writes is not counted.
pub(crate) fn unfinished(database: &Path) -> Option<u64> {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    let file = std::fs::File::open(Path::new(&name)).ok()?;
    let length = file.metadata().ok()?.len();
    walk(BufReader::new(file), length)
}

fn walk(mut log: impl Read, length: u64) -> Option<u64> {
    if length == 0 {
        return None;
    }
    let mut header = [0; HEADER];
    let got = fill(&mut log, &mut header)?;
    let magic = number(&header, 0);
    let mut sums = Sums { is_big_endian: magic & 1 == 1, sums: (0, 0) };
    sums.add(&header[..24]);
    let size = number(&header, 8) as usize;
    let is_header = got == HEADER && magic & !1 == MAGIC && PAGES.contains(&size);
    if !is_header || sums.sums != (number(&header, 24), number(&header, 28)) {
        return Some(length);
    }
    let (mut frame, mut at, mut finished) = (vec![0; FRAME + size], HEADER as u64, HEADER as u64);
    loop {
        let got = fill(&mut log, &mut frame)?;
        // Frames of an earlier round have other salts.
        if got < FRAME || frame[8..16] != header[16..24] {
            let rest = if (1..FRAME).contains(&got) { got as u64 } else { 0 };
            return Some(at - finished + rest).filter(|bytes| *bytes > 0);
        }
        sums.add(&frame[..8]);
        sums.add(&frame[FRAME..]);
        at += got as u64;
        if got < frame.len() || sums.sums != (number(&frame, 16), number(&frame, 20)) {
            return Some(at - finished);
        }
        if number(&frame, 4) > 0 {
            finished = at;
        }
    }
}

/// Reads as much as there is.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Option<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(filled)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The sums over everything before, which make each frame depend on all earlier ones.
struct Sums {
    is_big_endian: bool,
    sums: (u32, u32),
}

impl Sums {
    fn add(&mut self, bytes: &[u8]) {
        let (mut one, mut two) = self.sums;
        for pair in bytes.chunks_exact(8) {
            let words = [&pair[..4], &pair[4..]].map(|word| match self.is_big_endian {
                true => number(word, 0),
                false => number(word, 0).swap_bytes(),
            });
            one = one.wrapping_add(words[0]).wrapping_add(two);
            two = two.wrapping_add(words[1]).wrapping_add(one);
        }
        self.sums = (one, two);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    /// What a process leaves that is killed after its writes.
    fn left(folder: &Path, work: impl FnOnce(&Connection)) -> Vec<u8> {
        let path = folder.join("a.db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.execute_batch("CREATE TABLE IF NOT EXISTS t (x TEXT)").unwrap();
        work(&connection);
        std::fs::read(folder.join("a.db-wal")).unwrap()
    }

    fn check(log: &[u8], expect: Option<u64>) {
        assert_eq!(walk(log, log.len() as u64), expect);
    }

    #[test]
    fn what_was_finished_is_nothing_and_what_was_not_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let log = left(folder.path(), |connection| {
            for _ in 0..20 {
                connection.execute("INSERT INTO t VALUES (hex(randomblob(3000)))", ()).unwrap();
            }
        });
        let frame = FRAME + 4096;
        check(&log, None);
        check(&[], None);
        check(&log[..HEADER], None);
        // The last write is cut off somewhere.
        check(&log[..log.len() - 1], Some(frame as u64 - 1 + commit_before(&log, log.len() - frame)));
        check(&log[..log.len() - frame + 7], Some(7 + commit_before(&log, log.len() - frame)));
        // Something of it is not what it was.
        let mut torn = log.clone();
        let last = torn.len() - 1;
        torn[last] ^= 1;
        check(&torn, Some(frame as u64 + commit_before(&log, log.len() - frame)));
        check(&log[..10], Some(10));
        check(&[0; 5000], Some(5000));
    }

    /// Bytes of frames before a place that belong to the write that goes on there.
    fn commit_before(log: &[u8], mut at: usize) -> u64 {
        let frame = FRAME + 4096;
        let mut bytes = 0;
        while at > HEADER && number(log, at - frame + 4) == 0 {
            (at, bytes) = (at - frame, bytes + frame as u64);
        }
        bytes
    }

    #[test]
    fn what_an_earlier_round_left_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let log = left(folder.path(), |connection| {
            let big = "INSERT INTO t VALUES (hex(randomblob(30000)))";
            connection.execute(big, ()).unwrap();
            connection.query_row("PRAGMA wal_checkpoint(RESTART)", (), |_| Ok(())).unwrap();
            connection.execute("INSERT INTO t VALUES ('x')", ()).unwrap();
        });
        assert!(log.len() > 60_000, "the log keeps its size");
        check(&log, None);
    }

    #[test]
    fn a_database_without_a_log_has_nothing_unfinished() {
        assert_eq!(unfinished(Path::new("/nowhere/a.db")), None);
    }
}
