//! How does the runtime speak with the browser? Over a pipe that nobody else has: requests with a number, answers to
//! them, events in between. Must not know what any of them mean.
//!
//! A pipe, since the browser's other way is a port of this machine, which every program on it could drive the browser
//! through, and a page too.

use super::{Failure, Reason, failure};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
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
    next: Arc<AtomicU64>,
}

struct Waiting {
    alive: bool,
    calls: HashMap<u64, oneshot::Sender<Result<Value, Failure>>>,
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
    number: u64,
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
    pub(super) async fn ask(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        deadline: Instant,
    ) -> Result<Value, Failure> {
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
        self.send(number, session, method, params);
        match tokio::time::timeout_at(deadline.into(), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(crashed()),
            Err(_) => Err(failure(Reason::TimedOut, "the page did not answer in time")),
        }
    }

    /// Sends a request whose answer nobody needs.
    pub(super) fn tell(&self, session: Option<&str>, method: &str, params: Value) {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(number, session, method, params);
    }

    fn send(&self, number: u64, session: Option<&str>, method: &str, params: Value) {
        let mut message = json!({ "id": number, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        // When the writer is gone, so is the browser, and every wait has been ended.
        let _ = self.out.send(bytes);
    }

    fn answer(&self, number: u64, answer: Result<Value, Failure>) {
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
fn number_of(message: &[u8]) -> Option<u64> {
    let digits = message.strip_prefix(b"{\"id\":")?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn understand(message: &[u8], speaker: &Speaker, listen: &mut impl FnMut(&Speaker, Told)) {
    let parsed =
        serde_json::from_slice::<Value>(message).or_else(|_| serde_json::from_slice(&without_lone_surrogates(message)));
    let Ok(Value::Object(mut fields)) = parsed else {
        // What cannot be read, such as a value nested without end, is no reason to let anybody wait.
        if let Some(number) = number_of(message) {
            speaker.answer(number, Err(failure(Reason::TooLarge, "the page's answer is nested too deeply to be read")));
        }
        return;
    };
    if let Some(number) = fields.get("id").and_then(Value::as_u64) {
        let answer = match fields.remove("error") {
            Some(error) => Err(refused(&error)),
            None => Ok(fields.remove("result").unwrap_or_default()),
        };
        return speaker.answer(number, answer);
    }
    let Some(Value::String(method)) = fields.remove("method") else { return };
    let session = match fields.remove("sessionId") {
        Some(Value::String(session)) => Some(session),
        _ => None,
    };
    listen(speaker, Told { method, session, params: fields.remove("params").unwrap_or_default() });
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
