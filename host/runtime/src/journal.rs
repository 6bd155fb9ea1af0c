//! What happened, in which order, and is it on disk? The only writer of records: a thread that commits in groups,
//! shared by many processes through one SQLite file with one dense hash chain. Must not know what a record says.
#![expect(clippy::disallowed_methods, reason = "the journal owns its folder")]

use crate::call::Digest;
use crate::canonical;
use crate::error::{Error, Kind, Step};
use crate::key;
use crate::record::{Event, Masking, Record, RecordKind, Written};
use crate::signed::{self, SignedHead};
use crate::trail::{Trail, TrailStart};
use crate::wal;
use ed25519_dalek::SigningKey;
use rusqlite::{Connection, OpenFlags, Savepoint, Transaction, TransactionBehavior};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot};

/// Records that may wait for the writer. Past that, new calls are refused rather than held in memory without bound.
const QUEUE: usize = 8192;
/// How long a call waits for a place in the queue.
const QUEUE_WAIT: Duration = Duration::from_secs(2);
/// How long a call waits for its record to be on disk; above SQLite's own wait for other processes.
const DURABLE_WAIT: Duration = Duration::from_secs(20);
/// How long SQLite waits for another process that holds the file.
const BUSY_WAIT: Duration = Duration::from_secs(10);
/// How often the writer tries again to write what it could not write.
const RETRY_EVERY: Duration = Duration::from_millis(250);
/// How long records that nobody waits for are gathered; well below the 50 ms within which they are on disk.
const GATHER: Duration = Duration::from_millis(12);
/// How often it is looked whether somebody waits now.
const GATHER_STEP: Duration = Duration::from_micros(500);
/// Connections for reading. They are kept: SQLite holds on to the descriptors of closed ones while others read.
const READERS: usize = 4;
/// Statements that are kept prepared: more than the writer ever has.
const STATEMENTS: usize = 128;
/// Records of one transaction at most, so that no process keeps the others waiting.
const BATCH: usize = 1024;

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
    places: Arc<tokio::sync::Semaphore>,
    presence: Presence,
}

/// What a step keeps beside the records, made from them in their own transactions.
#[derive(Clone, Copy)]
pub(crate) struct Projection {
    /// The step's tables, as SQL that can be run at every start.
    pub(crate) tables: &'static str,
    /// What a record adds to them. A failure leaves the record and takes this record's additions back.
    pub(crate) apply: fn(&Connection, i64, &Written) -> rusqlite::Result<()>,
}

/// What has to hold, and what is taken, in the transaction in which something is written. Says no with an error; then
/// nothing of the write is there.
pub(crate) type Claim = Box<dyn Fn(&Connection) -> rusqlite::Result<Result<(), Error>> + Send + Sync>;

/// What the writer is asked to do.
pub(crate) enum Message {
    Write(Write),
    Flush { done: oneshot::Sender<bool> },
}

/// One thing to write, all of it or nothing.
pub(crate) struct Write {
    entry: Option<Written>,
    /// The entry as it is written, where somebody waits for it: who waits makes it, so that the writer is not the one that
    /// all wait for. What nobody waits for is made by the writer, off the way of the call.
    body: Option<String>,
    claims: Vec<Claim>,
    written: Option<oneshot::Sender<Result<(), Unwritten>>>,
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
    pub(crate) fn outcome(record: Record, written: Option<oneshot::Sender<Result<(), Unwritten>>>) -> Message {
        Message::Write(Write::new(Some(Written::Call(Box::new(record))), Vec::new(), written))
    }
}

impl Write {
    fn new(
        entry: Option<Written>,
        claims: Vec<Claim>,
        written: Option<oneshot::Sender<Result<(), Unwritten>>>,
    ) -> Write {
        // What cannot be made here is tried by the writer, which tells why.
        let body = entry.as_ref().filter(|_| written.is_some()).and_then(|entry| canonical::of(entry).ok());
        Write { entry, body, claims, written }
    }
}

/// A way to the writer. Lifetime: whatever holds it.
#[derive(Clone)]
pub(crate) struct Writing {
    sender: mpsc::Sender<Message>,
    failing: Arc<AtomicBool>,
    masking: Option<Arc<Masking>>,
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
            writing: Some(Writing { sender, failing, masking: None }),
            writer: Some(writer),
            ended: Mutex::new(ended),
            path,
            readers: Arc::default(),
            places: Arc::new(tokio::sync::Semaphore::new(READERS)),
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
                let _ = writing.sender.try_send(Message::outcome(outcome, None));
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
    pub(crate) fn masking(mut self, masking: Arc<Masking>) -> Journal {
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

fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = std::fs::metadata(folder)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(std::io::Error::other("it belongs to another user"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn connect(path: &Path, projections: &[Projection]) -> rusqlite::Result<Connection> {
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

fn write_until_closed(
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

/// What the writer keeps to.
struct Rules {
    projections: &'static [Projection],
    signing: SigningKey,
}

/// That a process uses a journal, seen by others as a lock on a file beside it. Lifetime: the journal.
struct Presence {
    _file: std::fs::File,
    alone: bool,
}

impl Presence {
    /// Whoever finds nobody else may close what earlier processes left open.
    fn announce(folder: &Path) -> std::io::Result<Presence> {
        use rustix::fs::{FlockOperation, flock};
        use std::os::unix::fs::OpenOptionsExt;
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("journal.lock"))?;
        let alone = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !alone {
            // Somebody else looks whether it is alone at most for a moment.
            let until = Instant::now() + BUSY_WAIT;
            while flock(&file, FlockOperation::NonBlockingLockShared).is_err() && Instant::now() < until {
                std::thread::sleep(GATHER_STEP);
            }
        }
        Ok(Presence { _file: file, alone })
    }

    /// Others may come from now on.
    fn share(&self) {
        if self.alone {
            let _ = rustix::fs::flock(&self._file, rustix::fs::FlockOperation::LockShared);
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

/// Writes everything in one transaction. Each write has a verdict of its own: whether its claims held.
fn write_all(
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
    for write in writes {
        verdicts.push(write_one(&mut transaction, write, (rules.projections, tables), &mut head)?);
    }
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

fn write_one(
    transaction: &mut Transaction<'_>,
    write: &Write,
    (projections, tables): (&[Projection], Tables),
    head: &mut (i64, Vec<u8>),
) -> Result<Result<(), Box<Error>>, Stopped> {
    if !write.claims.is_empty() {
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
        for projection in projections {
            match tables {
                Tables::AllOrNothing => {
                    // Which one, and why, is told when each is tried alone.
                    (projection.apply)(transaction, head.0, entry).map_err(|_| Stopped::Table)?;
                }
                Tables::OneByOne => project(transaction.savepoint()?, projection, head.0, entry)?,
            }
        }
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
fn project(savepoint: Savepoint<'_>, projection: &Projection, seq: i64, entry: &Written) -> rusqlite::Result<()> {
    match (projection.apply)(&savepoint, seq, entry) {
        Ok(()) => savepoint.commit(),
        Err(error) => {
            tracing::error!(%error, seq, "a table beside the records could not be kept up");
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
