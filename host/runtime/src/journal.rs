//! What happened, in which order, and is it on disk? The only writer of records: a thread that commits in groups,
//! shared by many processes through one SQLite file with one dense hash chain. Must not know what a record says.
#![expect(clippy::disallowed_methods, reason = "the journal owns its folder")]

use crate::call::{Caller, Digest, Situation};
use crate::envelope::{Durability, Usage};
use crate::error::{Error, Kind, Step};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
/// Records of one transaction at most, so that no process keeps the others waiting.
const BATCH: usize = 1024;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A call with an effect is about to run.
    Intent,
    /// A call is over.
    Outcome,
}

/// One step that a call reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepEntry {
    /// Which one.
    pub step: Step,
    /// `ok`, or the kind of the refusal or failure.
    pub verdict: std::borrow::Cow<'static, str>,
    /// Why, where there is more to say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// How long the step took, in microseconds.
    pub us: u64,
}

/// What is written about a call, at its intent and at its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Intent or outcome.
    pub kind: RecordKind,
    /// The call's id. There is exactly one outcome for each.
    pub call_id: Arc<str>,
    /// Milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// Who called, in which role.
    pub caller: Arc<Caller>,
    /// The caller's session.
    pub session: Arc<str>,
    /// In which circumstances.
    pub situation: Arc<Situation>,
    /// What was learnt about the call on its way.
    #[serde(flatten)]
    pub facts: Facts,
    /// The steps that were reached.
    pub steps: Vec<StepEntry>,
    /// 200, or the error's code. Absent in an intent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<u16>,
    /// The error, as the caller got it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<Error>,
    /// What only an operator may see of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub insides: Option<String>,
    /// Wall time of the whole call, in microseconds.
    pub duration_us: u64,
}

/// What the steps learn about a call for the record.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The tool's own name, or what the caller wrote.
    pub tool: Arc<str>,
    /// The tool's version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<Arc<str>>,
    /// The adapter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub adapter: Option<Arc<str>>,
    /// Digest of the component that ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub component: Option<Digest>,
    /// Digest of the canonical arguments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args_digest: Option<Digest>,
    /// The canonical arguments themselves, for calls above LOW.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub args: Option<Arc<str>>,
    /// What the call acts on.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub targets: Vec<String>,
    /// The layer of permission that decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub layer: Option<u8>,
    /// Risk in points, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub risk: Option<u8>,
    /// `low`, `medium` or `high`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub risk_level: Option<std::borrow::Cow<'static, str>>,
    /// What made the risk, as `reason +points`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub risk_factors: Vec<String>,
    /// Who said yes or no, if a person was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approver: Option<String>,
    /// What the component logged, capped.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub log: Vec<String>,
    /// What the call used up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usage: Option<Usage>,
}

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
    sender: Option<mpsc::Sender<Message>>,
    failing: Arc<AtomicBool>,
    writer: Option<std::thread::JoinHandle<()>>,
    path: PathBuf,
}

enum Message {
    Write { record: Box<Record>, written: Option<oneshot::Sender<Result<(), String>>> },
    Flush { done: oneshot::Sender<bool> },
}

impl Journal {
    /// Opens or makes the journal in a folder, which it keeps for its owner alone.
    pub fn open(folder: &Path) -> Result<Journal, OpenError> {
        make_private_folder(folder).map_err(|source| OpenError::Folder { path: folder.to_owned(), source })?;
        let path = folder.join("journal.db");
        let connection = connect(&path).map_err(|source| OpenError::Database { path: path.clone(), source })?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let failing = Arc::new(AtomicBool::new(false));
        let writer = std::thread::Builder::new()
            .name("hermes-journal".into())
            .spawn({
                let failing = failing.clone();
                move || write_until_closed(connection, receiver, &failing)
            })
            .map_err(|source| OpenError::Folder { path: folder.to_owned(), source })?;
        Ok(Journal { sender: Some(sender), failing, writer: Some(writer), path })
    }

    /// The SQLite file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the trail of a call with a place in the writer's queue, so that its outcome can always be handed over.
    pub(crate) async fn begin(&self, start: TrailStart) -> Result<Trail, Error> {
        let sender = self.sender.clone().ok_or_else(|| unavailable("the runtime is shutting down"))?;
        let reserved = match sender.clone().try_reserve_owned() {
            Ok(permit) => Ok(permit),
            Err(mpsc::error::TrySendError::Full(sender)) => {
                match tokio::time::timeout(QUEUE_WAIT, sender.reserve_owned()).await {
                    Ok(reserved) => reserved.map_err(|_| unavailable("its writer has ended")),
                    Err(_) => Err(Error::new(Step::Injection, Kind::Overloaded, "too many calls wait for the journal")
                        .retry_after(QUEUE_WAIT)),
                }
            }
            Err(mpsc::error::TrySendError::Closed(_)) => Err(unavailable("its writer has ended")),
        }?;
        Ok(Trail {
            place: Some(reserved),
            sender,
            failing: self.failing.clone(),
            began: Instant::now(),
            step_began: Instant::now(),
            start,
            facts: Facts::default(),
            steps: Vec::with_capacity(7),
        })
    }

    /// Waits until everything handed over before is on disk. `false` if something could not be written.
    pub async fn flush(&self) -> bool {
        let Some(sender) = &self.sender else { return true };
        let (done, waiting) = oneshot::channel();
        if sender.send(Message::Flush { done }).await.is_err() {
            return false;
        }
        matches!(tokio::time::timeout(DURABLE_WAIT, waiting).await, Ok(Ok(true)))
    }
}

impl Drop for Journal {
    /// Ends the writer after it has written what it was given.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// What is known about a call before the first step.
#[derive(Clone, Debug)]
pub(crate) struct TrailStart {
    pub(crate) call_id: Arc<str>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) session: Arc<str>,
    pub(crate) situation: Arc<Situation>,
}

/// The trail that one call leaves. Lifetime: the call. Dropped before its end, it records that the call was
/// cancelled.
pub(crate) struct Trail {
    place: Option<mpsc::OwnedPermit<Message>>,
    sender: mpsc::Sender<Message>,
    failing: Arc<AtomicBool>,
    began: Instant,
    step_began: Instant,
    start: TrailStart,
    pub(crate) facts: Facts,
    steps: Vec<StepEntry>,
}

impl Trail {
    /// Notes what a step said, and passes it on.
    pub(crate) fn step<T>(&mut self, step: Step, said: Result<T, Error>) -> Result<T, Error> {
        match &said {
            Ok(_) => self.note(step, "ok".into(), None),
            Err(error) => self.ended(error),
        }
        said
    }

    /// Notes the failure that ended the call, by the step that it belongs to.
    fn ended(&mut self, error: &Error) {
        let reason = error.reason.as_ref().map(|reason| reason.to_string());
        self.note(error.step, error.kind.name().into(), reason);
    }

    fn note(&mut self, step: Step, verdict: std::borrow::Cow<'static, str>, reason: Option<String>) {
        let now = Instant::now();
        let us = now.duration_since(self.step_began).as_micros() as u64;
        self.step_began = now;
        self.steps.push(StepEntry { step, verdict, reason, us });
    }

    /// Time since the call arrived.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes durably that the call is about to run. Without it nothing with an effect may run.
    pub(crate) async fn intent(&mut self) -> Result<(), Error> {
        let record = self.record(RecordKind::Intent, None);
        let (written, waiting) = oneshot::channel();
        let message = Message::Write { record: Box::new(record), written: Some(written) };
        let sent = tokio::time::timeout(QUEUE_WAIT, self.sender.send(message)).await;
        if !matches!(sent, Ok(Ok(()))) {
            return Err(unavailable("its queue is full"));
        }
        wait_for_disk(waiting).await.map_err(|why| unavailable(&why))
    }

    /// Refuses early when the journal is known to fail, which spares a call with an effect the wait.
    pub(crate) fn refuse_if_failing(&self) -> Result<(), Error> {
        match self.failing.load(Ordering::Relaxed) {
            true => Err(unavailable("its last write failed")),
            false => Ok(()),
        }
    }

    /// Writes the outcome: waits for the disk if `durable`, else hands it to the writer.
    pub(crate) async fn finish(mut self, code: u16, error: Option<&Error>, durable: bool) -> Durability {
        let record = self.record(RecordKind::Outcome, Some((code, error)));
        let Some(place) = self.place.take() else {
            return Durability::Failed;
        };
        if !durable {
            place.send(Message::Write { record: Box::new(record), written: None });
            return Durability::Queued;
        }
        let (written, waiting) = oneshot::channel();
        place.send(Message::Write { record: Box::new(record), written: Some(written) });
        match wait_for_disk(waiting).await {
            Ok(()) => Durability::Durable,
            Err(_) => Durability::Failed,
        }
    }

    fn record(&mut self, kind: RecordKind, outcome: Option<(u16, Option<&Error>)>) -> Record {
        let intent = matches!(kind, RecordKind::Intent);
        let error = outcome.and_then(|(_, error)| error);
        Record {
            kind,
            call_id: self.start.call_id.clone(),
            time_ms: now_ms(),
            caller: self.start.caller.clone(),
            session: self.start.session.clone(),
            situation: self.start.situation.clone(),
            facts: if intent { self.facts.clone() } else { std::mem::take(&mut self.facts) },
            steps: if intent { self.steps.clone() } else { std::mem::take(&mut self.steps) },
            code: outcome.map(|(code, _)| code),
            error: error.cloned(),
            insides: error.and_then(|error| error.log.clone()),
            duration_us: self.elapsed().as_micros() as u64,
        }
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if self.place.is_none() {
            return;
        }
        let error = match std::thread::panicking() {
            true => Error::internal(Step::Sandbox, "a step panicked"),
            false => Error::new(Step::Sandbox, Kind::Cancelled, "the caller gave up"),
        };
        self.ended(&error);
        let record = self.record(RecordKind::Outcome, Some((error.code, Some(&error))));
        if let Some(place) = self.place.take() {
            place.send(Message::Write { record: Box::new(record), written: None });
        }
    }
}

async fn wait_for_disk(waiting: oneshot::Receiver<Result<(), String>>) -> Result<(), String> {
    match tokio::time::timeout(DURABLE_WAIT, waiting).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err("its writer has ended".into()),
        Err(_) => Err("its disk does not answer".into()),
    }
}

fn unavailable(why: &str) -> Error {
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

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    use std::os::unix::fs::OpenOptionsExt;
    // SQLite would make it readable for others, and gives its side files the same mode. If this fails, opening says why.
    let _ = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_WAIT)?;
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
         CREATE INDEX IF NOT EXISTS records_by_call ON records (call_id);",
    )?;
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

fn write_until_closed(mut connection: Connection, mut receiver: mpsc::Receiver<Message>, failing: &AtomicBool) {
    let mut batch = Batch::default();
    while batch.take(&mut receiver) {
        match batch.commit(&mut connection) {
            Ok(()) => failing.store(false, Ordering::Relaxed),
            Err(error) => {
                failing.store(true, Ordering::Relaxed);
                tracing::error!(%error, unwritten = batch.unwritten.len(), "the journal cannot be written");
                if receiver.is_closed() && receiver.is_empty() {
                    return; // The process ends; whoever waited for these records was told that they are not on disk.
                }
                std::thread::sleep(RETRY_EVERY);
            }
        }
    }
}

/// Records that are committed together. What could not be written stays for the next round.
#[derive(Default)]
struct Batch {
    unwritten: Vec<Record>,
    waiting: Vec<oneshot::Sender<Result<(), String>>>,
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
        while self.unwritten.len() < BATCH {
            match receiver.try_recv() {
                Ok(message) => self.put(message),
                Err(_) => break,
            }
        }
        true
    }

    fn put(&mut self, message: Message) {
        match message {
            Message::Write { record, written } => {
                self.unwritten.push(*record);
                self.waiting.extend(written);
            }
            Message::Flush { done } => self.flushes.push(done),
        }
    }

    fn commit(&mut self, connection: &mut Connection) -> rusqlite::Result<()> {
        let result = insert(connection, &self.unwritten);
        let answer = result.as_ref().map(|_| ()).map_err(|error| error.to_string());
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(answer.clone());
        }
        for done in self.flushes.drain(..) {
            let _ = done.send(answer.is_ok());
        }
        match &answer {
            Ok(()) => self.unwritten.clear(),
            // An intent whose call was refused because of this failure did not happen and is not written later.
            Err(_) => self.unwritten.retain(|record| record.kind == RecordKind::Outcome),
        }
        result
    }
}

fn insert(connection: &mut Connection, records: &[Record]) -> rusqlite::Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let (mut seq, mut hash) = head(&transaction)?;
        let mut statement = transaction
            .prepare_cached("INSERT INTO records (seq, call_id, kind, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for record in records {
            let body = serde_json_canonicalizer::to_string(record)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            seq += 1;
            hash = chain(&hash, &body).bytes().to_vec();
            let kind = match record.kind {
                RecordKind::Intent => "intent",
                RecordKind::Outcome => "outcome",
            };
            statement.execute((seq, &*record.call_id, kind, &body, &hash))?;
        }
    }
    transaction.commit()
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
