//! What happened, in which order, and is it on disk? The only writer of records: a thread that commits in groups,
//! shared by many processes through one SQLite file with one dense hash chain. Must not know what a record says.

use crate::error::{Error, Kind, Step};
use crate::key;
use crate::presence::{Presence, make_private_folder};
use crate::record::{Event, Masking, Record, RecordKind, Written};
use crate::signed;
pub(crate) use crate::store::{GENESIS, chain, connect_for_reading};
use crate::store::{Rules, connect};
use crate::trail::{Trail, TrailStart};
use crate::wal;
pub(crate) use crate::writer::{Message, Unwritten};
use crate::writer::{Room, Write, write_until_closed};
use ed25519_dalek::SigningKey;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Records that may wait for the writer. Past that, new calls are refused rather than held in memory without bound.
const QUEUE: usize = 8192;
/// How long a call waits for a place in the queue.
const QUEUE_WAIT: Duration = Duration::from_secs(2);
/// How long a call waits for its record to be on disk; above SQLite's own wait for other processes.
const DURABLE_WAIT: Duration = Duration::from_secs(20);
/// Connections for reading. They are kept: SQLite holds on to the descriptors of closed ones while others read.
const READERS: usize = 4;

/// What the record says that tells of a write which was cut off by a crash.
pub(crate) const REPAIRED: &str = "journal.repaired";

/// Why the journal could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be made or is not safe.
    #[error("cannot use the state folder `{path}`: {source} (make it yours and writable, or set `state_dir`)")]
    Folder {
        /// Which folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is there and cannot be used.
    #[error("cannot open the journal `{path}`: {source} (move the file away and keep it; a new one is made then)")]
    Database {
        /// Which file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

/// The journal of one process. Lifetime: the process; the file belongs to all processes.
pub struct Journal {
    writing: Option<Writing>,
    writer: Option<std::thread::JoinHandle<()>>,
    /// Its other side goes with the writer.
    ended: Mutex<std::sync::mpsc::Receiver<()>>,
    path: PathBuf,
    readers: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
    presence: Presence,
}

/// What a step keeps beside the records, made from them in their own transactions.
#[derive(Clone, Copy)]
pub(crate) struct Projection {
    /// The step's tables, as SQL that can be run at every start.
    pub(crate) tables: &'static str,
    /// What records that come together add to them. A failure leaves the record that it comes from and takes back what
    /// that one adds.
    pub(crate) apply: fn(&Connection, &[Numbered<'_>]) -> rusqlite::Result<()>,
}

/// A record and its place in the chain.
pub(crate) type Numbered<'a> = (i64, &'a Written);

/// The outcomes among records.
pub(crate) fn outcomes<'a>(records: &[Numbered<'a>]) -> impl Iterator<Item = (i64, &'a Record)> {
    let outcome = |(seq, written): &Numbered<'a>| match written {
        Written::Call(record) if record.kind == RecordKind::Outcome => Some((*seq, &**record)),
        Written::Call(_) | Written::Event(_) => None,
    };
    records.iter().filter_map(outcome)
}

/// The events among records.
pub(crate) fn events<'a>(records: &[Numbered<'a>]) -> impl Iterator<Item = &'a Event> {
    let event = |(_, written): &Numbered<'a>| match written {
        Written::Event(event) => Some(&**event),
        Written::Call(_) => None,
    };
    records.iter().filter_map(event)
}

/// What has to hold, and what is taken, in the transaction in which something is written. Says no with an error; then
/// nothing of the write is there.
pub(crate) type Claim = Box<dyn Fn(&Connection) -> rusqlite::Result<Result<(), Error>> + Send + Sync>;

/// A way to the writer. Lifetime: whatever holds it.
#[derive(Clone)]
pub(crate) struct Writing {
    sender: mpsc::Sender<Message>,
    failing: Arc<AtomicBool>,
    masking: Option<Arc<dyn Masking>>,
    pub(crate) room: Room,
}

impl Writing {
    /// Masks what is secret in the texts of a record that is about to be handed over.
    pub(crate) fn mask(&self, record: &mut Record) {
        if let Some(masking) = &self.masking {
            record.mask(&**masking);
        }
    }

    /// Whether the last write failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Hands an entry to the writer without waiting for it.
    pub(crate) fn queue(&self, entry: Written) -> Result<(), Error> {
        let message = Message::Write(Write::new(Some(entry), Vec::new(), None));
        self.sender.try_send(message).map_err(|_| unavailable("its queue is full"))
    }

    /// Writes if all claims hold, and waits for the disk. Dropping the future leaves open whether it was written.
    pub(crate) async fn write(&self, entry: Option<Written>, claims: Vec<Claim>) -> Result<(), Error> {
        let (written, waiting) = oneshot::channel();
        let message = Message::Write(Write::new(entry, claims, Some(written)));
        let sent = tokio::time::timeout(QUEUE_WAIT, self.sender.send(message)).await;
        if !matches!(sent, Ok(Ok(()))) {
            return Err(unavailable("its queue is full"));
        }
        wait_for_disk(waiting).await.map_err(|why| match why {
            Unwritten::Disk(why) => unavailable(&why),
            Unwritten::Refused(error) => *error,
        })
    }
}

impl Journal {
    /// Opens or makes the journal in a folder, which it keeps for its owner alone.
    pub(crate) fn open(folder: &Path, projections: &'static [Projection]) -> Result<Journal, OpenError> {
        make_private_folder(folder).map_err(|source| OpenError::Folder { path: folder.to_owned(), source })?;
        let path = folder.join("journal.db");
        let unusable = |source| OpenError::Folder { path: folder.to_owned(), source };
        let signing = SigningKey::from_bytes(&key::read_or_make(folder, signed::KEY).map_err(unusable)?);
        let presence = Presence::announce(folder).map_err(unusable)?;
        let unfinished = if presence.alone { wal::unfinished(&path) } else { None };
        let connection =
            connect(&path, projections).map_err(|source| OpenError::Database { path: path.clone(), source })?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let failing = Arc::new(AtomicBool::new(false));
        let (running, ended) = std::sync::mpsc::channel();
        let writer = std::thread::Builder::new()
            .name("hermes-journal".into())
            .spawn({
                let failing = failing.clone();
                move || {
                    let _running: std::sync::mpsc::Sender<()> = running;
                    write_until_closed(connection, receiver, Rules { projections, signing }, &failing);
                }
            })
            .map_err(|source| OpenError::Folder { path: folder.to_owned(), source })?;
        if let Some(bytes) = unfinished {
            tracing::warn!(
                bytes,
                "the last write of an earlier process was cut off and is dropped; nobody was told that it was done"
            );
            let event = Event::now(REPAIRED, "runtime", serde_json::json!({ "bytes": bytes }));
            let write = Write::new(Some(Written::Event(Box::new(event))), Vec::new(), None);
            // There is room: nothing else was written yet.
            let _ = sender.try_send(Message::Write(write));
        }
        Ok(Journal {
            writing: Some(Writing { sender, failing, masking: None, room: Room::default() }),
            writer: Some(writer),
            ended: Mutex::new(ended),
            path,
            readers: Arc::default(),
            places: Arc::new(Semaphore::new(READERS)),
            presence,
        })
    }

    /// Closes what earlier processes left open, if no other process uses the journal: `find` reads the outcomes that
    /// are missing. Others wait so long before they begin.
    pub(crate) fn close_open(
        &self,
        find: impl FnOnce(&Connection, u64) -> rusqlite::Result<Vec<Record>>,
    ) -> Result<usize, OpenError> {
        let unusable = |source| OpenError::Database { path: self.path.clone(), source };
        let outcomes = match self.presence.alone {
            true => {
                connect_for_reading(&self.path).and_then(|connection| find(&connection, now_ms())).map_err(unusable)?
            }
            false => Vec::new(),
        };
        let count = outcomes.len();
        if let Some(writing) = &self.writing {
            for outcome in outcomes {
                // There is room: nothing was called yet.
                let _ = writing.sender.try_send(Message::outcome(outcome, None, None));
            }
        }
        self.presence.share();
        Ok(count)
    }

    /// Reads at start, when nothing else runs yet.
    pub(crate) fn look<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, OpenError> {
        let unusable = |source| OpenError::Database { path: self.path.clone(), source };
        let connection = connect_for_reading(&self.path).map_err(unusable)?;
        let found = query(&connection).map_err(unusable)?;
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(found)
    }

    /// The same, with a way to mask what is secret in what is written from now on.
    pub(crate) fn masking(mut self, masking: Arc<dyn Masking>) -> Journal {
        if let Some(writing) = &mut self.writing {
            writing.masking = Some(masking);
        }
        self
    }

    /// Lets the writer do something when it comes to it; nobody waits, and what fails is tried at the next start.
    pub(crate) fn tidy(&self, work: Claim) {
        if let Some(writing) = &self.writing {
            let write = Write::new(None, vec![work], None);
            let _ = writing.sender.try_send(Message::Write(write));
        }
    }

    /// The SQLite file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many places of the queue are taken, how many there are, and whether the last write failed.
    pub(crate) fn queue(&self) -> (u64, u64, bool) {
        let Some(Writing { sender, failing, .. }) = &self.writing else { return (0, 0, true) };
        let (free, places) = (sender.capacity(), sender.max_capacity());
        ((places - free) as u64, places as u64, failing.load(Ordering::Relaxed))
    }

    /// Begins the trail of a call with a place in the writer's queue, so that its outcome can always be handed over.
    pub(crate) async fn begin(&self, start: TrailStart) -> Result<Trail, Error> {
        let writing = self.writing()?;
        let place = match writing.sender.clone().try_reserve_owned() {
            Ok(permit) => Ok(permit),
            Err(mpsc::error::TrySendError::Full(sender)) => {
                match tokio::time::timeout(QUEUE_WAIT, sender.reserve_owned()).await {
                    Ok(reserved) => reserved.map_err(|_| unavailable("its writer has ended")),
                    Err(_) if writing.is_failing() => Err(unavailable("its queue is full")),
                    Err(_) => Err(Error::new(Step::Injection, Kind::Overloaded, "too many calls wait for the journal")
                        .retry_after(QUEUE_WAIT)),
                }
            }
            Err(mpsc::error::TrySendError::Closed(_)) => Err(unavailable("its writer has ended")),
        }?;
        Ok(Trail::begin(start, place, writing))
    }

    /// A way to write that does not borrow the journal.
    pub(crate) fn writing(&self) -> Result<Writing, Error> {
        self.writing.clone().ok_or_else(|| unavailable("the runtime is shutting down"))
    }

    /// Writes an event if all claims hold, and waits for the disk.
    pub(crate) async fn note(&self, event: Event, claims: Vec<Claim>) -> Result<(), Error> {
        let writing = self.writing()?;
        let mut entry = Written::Event(Box::new(event));
        if let Some(masking) = &writing.masking {
            entry.mask(&**masking);
        }
        writing.write(Some(entry), claims).await
    }

    /// Writes down something that happened beside the calls, and waits for the disk.
    ///
    /// # Errors
    /// `audit_unavailable` when it cannot be written.
    pub async fn event(&self, event: Event) -> Result<(), Error> {
        self.note(event, Vec::new()).await
    }

    /// Reads, off the executor's threads and without the writer. What was queued and is not yet on disk is not seen.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (path, readers) = (self.path.clone(), self.readers.clone());
        let places = self.places.clone();
        let place = tokio::time::timeout(DURABLE_WAIT, places.acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(unreadable("too many wait to read it")) };
        let read = tokio::task::spawn_blocking(move || -> rusqlite::Result<T> {
            let _place = place;
            let idle = readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = idle.map_or_else(|| connect_for_reading(&path), Ok)?;
            let found = query(&connection)?;
            readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok(found)
        });
        match tokio::time::timeout(DURABLE_WAIT, read).await {
            Ok(Ok(Ok(found))) => Ok(found),
            Ok(Ok(Err(error))) => Err(unreadable(&error.to_string())),
            Ok(Err(error)) => Err(unreadable(&error.to_string())),
            Err(_) => Err(unreadable("its disk does not answer")),
        }
    }

    /// Waits until everything handed over before is on disk. `false` if something could not be written.
    pub async fn flush(&self) -> bool {
        let Some(Writing { sender, .. }) = &self.writing else { return true };
        let (done, waiting) = oneshot::channel();
        if sender.send(Message::Flush { done }).await.is_err() {
            return false;
        }
        matches!(tokio::time::timeout(DURABLE_WAIT, waiting).await, Ok(Ok(true)))
    }
}

impl Drop for Journal {
    /// Ends the writer after it has written what it was given. A disk that does not answer holds nobody up for ever.
    fn drop(&mut self) {
        // The writer's connection is the last one, so that what SQLite keeps beside the file goes into it.
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.writing = None;
        let Some(writer) = self.writer.take() else { return };
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        match ends_within(ended, DURABLE_WAIT) {
            true => drop(writer.join()),
            false => tracing::error!("the journal's last records could not be written in time"),
        }
    }
}

/// Waits until the other side of a channel is gone; `false` if it is still there.
fn ends_within(ended: &std::sync::mpsc::Receiver<()>, time: Duration) -> bool {
    !matches!(ended.recv_timeout(time), Err(std::sync::mpsc::RecvTimeoutError::Timeout))
}

pub(crate) async fn wait_for_disk(waiting: oneshot::Receiver<Result<(), Unwritten>>) -> Result<(), Unwritten> {
    match tokio::time::timeout(DURABLE_WAIT, waiting).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Unwritten::Disk("its writer has ended".into())),
        Err(_) => Err(Unwritten::Disk("its disk does not answer".into())),
    }
}

fn unreadable(why: &str) -> Error {
    Error::new(Step::Injection, Kind::AuditUnavailable, "the journal cannot be read")
        .log(why.to_owned())
        .retry_after(Duration::from_secs(5))
}

pub(crate) fn unavailable(why: &str) -> Error {
    Error::new(Step::Injection, Kind::AuditUnavailable, "the journal cannot be written, so nothing with an effect runs")
        .hint("the operator finds the cause with `hermes-dispatch doctor`; the call can be repeated after that")
        .log(why.to_owned())
        .retry_after(Duration::from_secs(5))
}

/// Milliseconds since 1970-01-01 UTC.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_does_not_end_holds_nobody_up() {
        let (running, ended) = std::sync::mpsc::channel();
        assert!(!ends_within(&ended, Duration::ZERO));
        drop(running);
        assert!(ends_within(&ended, Duration::MAX));
    }
}
