//! How does the runtime speak with the browser? Over a pipe that nobody else has: requests with a number, answers to
//! them, events in between. Must not know what any of them mean: requests and answers have the types of `chromiumoxide`.
//!
//! A pipe, since the browser's other way is a port of this machine, which every program on it could drive the browser
//! through, and a page too.

use super::{Failure, Reason, failure};
use chromiumoxide::types::{CallId, Command, MethodCall};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

/// Longest message of the browser that is read. A longer one is skipped, and whoever waits for it learns that.
const LONGEST: usize = 48 << 20;
/// Bytes that are read at once.
const READ: usize = 256 << 10;

/// Something that the browser tells unasked.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) method: String,
    /// The session with a page or a part of one; none for the browser as a whole.
    pub(super) session: Option<String>,
    pub(super) params: Value,
}

/// One end of the pipe. Lifetime: the browser.
pub(super) struct Wire {
    speaker: Speaker,
    reading: AbortHandle,
    writing: AbortHandle,
}

/// Sends, and waits for answers.
#[derive(Clone)]
pub(super) struct Speaker {
    out: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<Mutex<Waiting>>,
    next: Arc<AtomicUsize>,
}

/// What the browser answers, unread: whoever asked knows what it should be.
type Answer = Result<Box<RawValue>, Failure>;

struct Waiting {
    alive: bool,
    calls: HashMap<usize, oneshot::Sender<Answer>>,
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

fn crashed() -> Failure {
    failure(Reason::Crashed, "the browser broke off; its tabs are gone, and the next call starts a fresh one")
}

impl Wire {
    /// Begins to read and write. `listen` is told each event, in order, on one task.
    pub(super) fn new(channel: UnixStream, listen: impl FnMut(&Speaker, Told) + Send + 'static) -> Wire {
        let (reader, writer) = channel.into_split();
        let (out, queue) = mpsc::unbounded_channel();
        let waiting = Arc::new(Mutex::new(Waiting { alive: true, calls: HashMap::new() }));
        let speaker = Speaker { out, waiting, next: Arc::default() };
        let writing = tokio::spawn(write(writer, queue)).abort_handle();
        let reading = tokio::spawn(read(reader, speaker.clone(), listen)).abort_handle();
        Wire { speaker, reading, writing }
    }

    pub(super) fn speaker(&self) -> &Speaker {
        &self.speaker
    }

    /// Whether the browser still speaks.
    pub(super) fn is_alive(&self) -> bool {
        lock(&self.speaker.waiting).alive && !self.reading.is_finished()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.reading.abort();
        self.writing.abort();
        self.speaker.end();
    }
}

/// Forgets a request when nobody waits for its answer any more.
struct Asked<'a> {
    waiting: &'a Mutex<Waiting>,
    number: usize,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        lock(self.waiting).calls.remove(&self.number);
    }
}

impl Speaker {
    /// Sends a request and waits for its answer, until the deadline.
    ///
    /// Dropping the future leaves the request with the browser and forgets it here.
    pub(super) async fn ask<C: Command>(
        &self,
        session: Option<&str>,
        command: C,
        deadline: Instant,
    ) -> Result<C::Response, Failure> {
        self.ask_for(session, command, deadline).await
    }

    /// The same for an answer of which only a part is of interest: the whole may have words in it that are newer than
    /// the types of our library, or be large.
    pub(super) async fn ask_for<C: Command, T: DeserializeOwned>(
        &self,
        session: Option<&str>,
        command: C,
        deadline: Instant,
    ) -> Result<T, Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        {
            let mut waiting = lock(&self.waiting);
            if !waiting.alive {
                return Err(crashed());
            }
            waiting.calls.insert(number, sender);
        }
        let _asked = Asked { waiting: &self.waiting, number };
        self.send(number, session, &command);
        match tokio::time::timeout_at(deadline.into(), answer).await {
            Ok(Ok(answer)) => meaning(&answer?),
            Ok(Err(_)) => Err(crashed()),
            Err(_) => Err(failure(Reason::TimedOut, "the page did not answer in time")),
        }
    }

    /// Sends a request whose answer nobody needs.
    pub(super) fn tell<C: Command>(&self, session: Option<&str>, command: C) {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(number, session, &command);
    }

    fn send<C: Command>(&self, number: usize, session: Option<&str>, command: &C) {
        let message = serde_json::to_value(command).and_then(|params| {
            let session_id = session.map(str::to_owned);
            serde_json::to_vec(&MethodCall {
                id: CallId::new(number),
                method: command.identifier(),
                session_id,
                params,
            })
        });
        match message {
            Ok(mut bytes) => {
                bytes.push(0);
                // When the writer is gone, so is the browser, and every wait has been ended.
                let _ = self.out.send(bytes);
            }
            Err(error) => self.answer(number, Err(failure(Reason::InvalidArgument, error.to_string()))),
        }
    }

    fn answer(&self, number: usize, answer: Answer) {
        if let Some(sender) = lock(&self.waiting).calls.remove(&number) {
            let _ = sender.send(answer);
        }
    }

    /// Everybody who waits learns that there will be no answer.
    fn end(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.alive = false;
        for (_, sender) in waiting.calls.drain() {
            let _ = sender.send(Err(crashed()));
        }
    }
}

async fn write(mut writer: OwnedWriteHalf, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn read(mut reader: OwnedReadHalf, speaker: Speaker, mut listen: impl FnMut(&Speaker, Told)) {
    let mut message = Vec::new();
    let mut too_long = false;
    let mut buffer = vec![0; READ];
    while let Ok(count @ 1..) = reader.read(&mut buffer).await {
        let mut rest = &buffer[..count];
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            message.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            match std::mem::take(&mut too_long) {
                true => skip(&message, &speaker),
                false => understand(&message, &speaker, &mut listen),
            }
            message.clear();
            message.shrink_to(READ);
        }
        if message.len() + rest.len() > LONGEST {
            // Its beginning says who waits for it.
            too_long = true;
            message.truncate(64);
        }
        if !too_long {
            message.extend_from_slice(rest);
        }
    }
    speaker.end();
}

/// A message that is too long to be read.
fn skip(message: &[u8], speaker: &Speaker) {
    if let Some(number) = number_of(message) {
        let why = format!("the page's answer is larger than {} MiB", LONGEST >> 20);
        speaker.answer(number, Err(failure(Reason::TooLarge, why)));
    }
}

/// The number that an answer begins with.
fn number_of(message: &[u8]) -> Option<usize> {
    let digits = message.strip_prefix(b"{\"id\":")?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

/// A message of the browser: an answer or an event.
#[derive(Deserialize)]
struct Said<'a> {
    id: Option<usize>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(rename = "sessionId")]
    session: Option<String>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    error: Option<Value>,
}

fn understand(message: &[u8], speaker: &Speaker, listen: &mut impl FnMut(&Speaker, Told)) {
    let Ok(said) = serde_json::from_slice::<Said>(message) else {
        // What cannot be read is no reason to let anybody wait.
        if let Some(number) = number_of(message) {
            speaker.answer(number, Err(unreadable()));
        }
        return;
    };
    match (said.id, said.method) {
        (Some(number), _) => speaker.answer(
            number,
            match (said.error, said.result) {
                (Some(error), _) => Err(refused(&error)),
                (None, Some(result)) => Ok(result.to_owned()),
                (None, None) => Err(unreadable()),
            },
        ),
        (None, Some(method)) => {
            let params = said.params.and_then(|params| meaning(params).ok()).unwrap_or_default();
            listen(speaker, Told { method: method.into_owned(), session: said.session, params });
        }
        (None, None) => {}
    }
}

/// Reads what was left unread. Text may have half a character in it, which no text of ours can have.
fn meaning<T: DeserializeOwned>(raw: &RawValue) -> Result<T, Failure> {
    let read = serde_json::from_str(raw.get());
    read.or_else(|_| serde_json::from_slice(&without_lone_surrogates(raw.get().as_bytes()))).map_err(|error| {
        tracing::debug!(%error, "an answer of the browser is not what it should be");
        unreadable()
    })
}

fn unreadable() -> Failure {
    failure(Reason::TooLarge, "the page's answer is nested too deeply or in a form that is not known")
}

fn refused(error: &Value) -> Failure {
    let text = error["message"].as_str().unwrap_or_default();
    let data = error["data"].as_str().map(|data| format!(": {data}")).unwrap_or_default();
    let shown = crate::document::excerpt(&format!("{text}{data}"), 500);
    let session_gone = text.contains("Session with given id not found") || text.contains("Target closed");
    match session_gone {
        true => failure(Reason::NoSuchTab, "the tab was closed"),
        false => failure(Reason::Refused, format!("the browser refuses: {shown}")),
    }
}

/// JSON text in which half of a pair of surrogates, which no text can have, is the sign for an unknown character.
pub(super) fn without_lone_surrogates(json: &[u8]) -> Vec<u8> {
    let code = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut out = Vec::with_capacity(json.len());
    let mut at = 0;
    while at < json.len() {
        if json[at] != b'\\' {
            out.push(json[at]);
            at += 1;
            continue;
        }
        let length = match (code(at), code(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                out.extend_from_slice(b"\\ufffd");
                at += 6;
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        let end = (at + length).min(json.len());
        out.extend_from_slice(&json[at..end]);
        at = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_spoils_no_message() {
        let raw = RawValue::from_string("{\"a\":\"\\ud83d\"}".into()).unwrap();
        assert_eq!(meaning::<Value>(&raw).unwrap()["a"], "\u{fffd}");
        let check = |json: &str, expect: &str| {
            let mended = without_lone_surrogates(json.as_bytes());
            assert_eq!(serde_json::from_slice::<Value>(&mended).unwrap(), Value::from(expect), "{json}");
        };
        check(r#""a\ud83db""#, "a\u{fffd}b");
        check(r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}");
        check(r#""\ud83d\ude00""#, "😀");
        check(r#""\\ud83d\n""#, "\\ud83d\n");
        check(r#""\ud83d\u0041""#, "\u{fffd}A");
    }

    #[test]
    fn a_long_answer_still_says_whose_it_is() {
        assert_eq!(number_of(b"{\"id\":42,\"result\":{"), Some(42));
        assert_eq!(number_of(b"{\"method\":\"x\""), None);
    }
}
