//! When is written what is waiting? One thread takes what has arrived and commits it together; what could not be written
//! stays until it can be. Must not know what a record is in the file.

use crate::canonical;
use crate::error::Error;
use crate::journal::Claim;
use crate::record::{Record, RecordKind, Written};
use crate::store::{Rules, write_all};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// How often the writer tries again to write what it could not write.
const RETRY_EVERY: Duration = Duration::from_millis(250);
/// How long records that nobody waits for are gathered; well below the 50 ms within which they are on disk.
const GATHER: Duration = Duration::from_millis(12);
/// How often it is looked whether somebody waits now.
const GATHER_STEP: Duration = Duration::from_micros(500);
/// Records of one transaction at most, so that no process keeps the others waiting.
const BATCH: usize = 1024;

/// Most of what is kept beside records that wait for the writer, in KiB.
const KEPT: u32 = 64 << 10;

/// Room for what is kept beside records that wait, a permit for each KiB. Lifetime: the journal.
#[derive(Clone)]
pub(crate) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Room {
        Room(Arc::new(Semaphore::new(KEPT as usize)))
    }
}

impl Room {
    /// Takes room for what is kept beside a record until that is written. Where there is none, nothing is kept but the
    /// record, which says so.
    pub(crate) fn make(&self, record: &mut Record) -> Option<OwnedSemaphorePermit> {
        let bytes = record.kept_bytes();
        if bytes < 1024 {
            // The places of the queue bound those.
            return None;
        }
        // One that is larger than all of the room may have all of it.
        let wanted = u32::try_from(bytes.div_ceil(1024)).unwrap_or(KEPT).min(KEPT);
        let room = self.0.clone().try_acquire_many_owned(wanted).ok();
        if room.is_none() {
            record.keep_nothing("more waits to be written than is held");
        }
        room
    }
}

/// What the writer is asked to do.
pub(crate) enum Message {
    Write(Write),
    Flush { done: oneshot::Sender<bool> },
}

/// One thing to write, all of it or nothing.
pub(crate) struct Write {
    pub(crate) entry: Option<Written>,
    /// The entry as it is written, where somebody waits for it: who waits makes it, and the tape's bytes, so that the
    /// writer is not the one that all wait for. What nobody waits for is made by the writer, off the way of the call.
    pub(crate) body: Option<String>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) written: Option<oneshot::Sender<Result<(), Unwritten>>>,
    /// The room that is taken by what is kept beside it; given back once it is written.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// Why something is not on disk.
#[derive(Clone, Debug)]
pub(crate) enum Unwritten {
    /// The disk, or who writes to it.
    Disk(String),
    /// A claim did not hold.
    Refused(Box<Error>),
}

impl Message {
    /// The outcome of a call, which is never given up.
    pub(crate) fn outcome(
        record: Record,
        written: Option<oneshot::Sender<Result<(), Unwritten>>>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Message {
        let write = Write::new(Some(Written::Call(Box::new(record))), Vec::new(), written);
        Message::Write(Write { room, ..write })
    }
}

impl Write {
    pub(crate) fn new(
        mut entry: Option<Written>,
        claims: Vec<Claim>,
        written: Option<oneshot::Sender<Result<(), Unwritten>>>,
    ) -> Write {
        if written.is_some()
            && let Some(Written::Call(record)) = &mut entry
            && let Some(tape) = &mut record.tape
        {
            tape.encode();
        }
        // What cannot be made here is tried by the writer, which tells why.
        let body = entry.as_ref().filter(|_| written.is_some()).and_then(|entry| canonical::of(entry).ok());
        Write { entry, body, claims, written, room: None }
    }
}

pub(crate) fn write_until_closed(
    mut connection: Connection,
    mut receiver: mpsc::Receiver<Message>,
    rules: Rules,
    failing: &AtomicBool,
) {
    let mut batch = Batch::default();
    while batch.take(&mut receiver) {
        match batch.commit(&mut connection, &rules) {
            Ok(()) => failing.store(false, Ordering::Relaxed),
            Err(error) => {
                failing.store(true, Ordering::Relaxed);
                tracing::error!(%error, unwritten = batch.unwritten.len(), "the journal cannot be written");
                if batch.answer_rest(&mut receiver, &error.to_string()) {
                    return; // The process ends; whoever waited for these records was told that they are not on disk.
                }
                std::thread::sleep(RETRY_EVERY);
            }
        }
    }
}

/// What is committed together. What could not be written stays for the next round.
#[derive(Default)]
struct Batch {
    unwritten: Vec<Write>,
    waited_for: usize,
    flushes: Vec<oneshot::Sender<bool>>,
}

impl Batch {
    /// Takes what has arrived, waiting for the first message if there is nothing left to write. `false` at the end.
    fn take(&mut self, receiver: &mut mpsc::Receiver<Message>) -> bool {
        if self.unwritten.is_empty() {
            match receiver.blocking_recv() {
                Some(message) => self.put(message),
                None => return false,
            }
        }
        self.take_waiting(receiver);
        // Nobody waits for records of the first class, so a few more may join them: fewer commits, fewer wake-ups.
        let joins = Instant::now() + GATHER;
        while self.waited_for == 0 && self.flushes.is_empty() && self.unwritten.len() < BATCH && !receiver.is_closed() {
            let now = Instant::now();
            if now >= joins {
                break;
            }
            std::thread::sleep(GATHER_STEP.min(joins - now));
            self.take_waiting(receiver);
        }
        true
    }

    fn take_waiting(&mut self, receiver: &mut mpsc::Receiver<Message>) {
        while self.unwritten.len() < BATCH {
            match receiver.try_recv() {
                Ok(message) => self.put(message),
                Err(_) => break,
            }
        }
    }

    /// Takes what else has arrived while nothing can be written, and tells everybody who waits. Whether the senders
    /// are gone.
    fn answer_rest(&mut self, receiver: &mut mpsc::Receiver<Message>, why: &str) -> bool {
        let gone = loop {
            match receiver.try_recv() {
                Ok(message) => self.put(message),
                Err(mpsc::error::TryRecvError::Empty) => break false,
                Err(mpsc::error::TryRecvError::Disconnected) => break true,
            }
        };
        self.give_up(why);
        gone
    }

    fn put(&mut self, message: Message) {
        match message {
            Message::Write(write) => {
                self.waited_for += usize::from(write.written.is_some());
                self.unwritten.push(write);
            }
            Message::Flush { done } => self.flushes.push(done),
        }
    }

    fn commit(&mut self, connection: &mut Connection, rules: &Rules) -> rusqlite::Result<()> {
        match write_all(connection, &self.unwritten, rules) {
            Ok(verdicts) => {
                for (write, verdict) in self.unwritten.drain(..).zip(verdicts) {
                    drop(write.room);
                    if let Some(written) = write.written {
                        let _ = written.send(verdict.map_err(Unwritten::Refused));
                    }
                }
                self.waited_for = 0;
                for done in self.flushes.drain(..) {
                    let _ = done.send(true);
                }
                Ok(())
            }
            Err(error) => {
                self.give_up(&error.to_string());
                Err(error)
            }
        }
    }

    /// Tells everybody who waits that it is not on disk. Outcomes stay and are written when they can be; an intent whose
    /// call was refused because of this did not happen and is not written later, nor is anything that claims.
    fn give_up(&mut self, why: &str) {
        for write in &mut self.unwritten {
            if let Some(written) = write.written.take() {
                let _ = written.send(Err(Unwritten::Disk(why.to_owned())));
            }
        }
        self.waited_for = 0;
        self.unwritten.retain(|write| {
            write.claims.is_empty() && write.entry.as_ref().is_some_and(|entry| entry.kind() == RecordKind::Outcome)
        });
        for done in self.flushes.drain(..) {
            let _ = done.send(false);
        }
    }
}
