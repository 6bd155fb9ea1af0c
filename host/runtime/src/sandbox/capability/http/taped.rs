//! What was sent over HTTP, and what came back? Recorded as the component sees it, after credentials were masked. Of what
//! was sent only digests are kept. Must not know whether a request was allowed.

use super::Sent;
use super::fault::Fault;
use super::playing::Playing;
use crate::call::Digest;
use crate::tape::{Entry, Raw, TOO_MUCH, digest};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use serde::{Deserialize, Serialize};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use wasmtime_wasi_http::{Error, WasiBody};

/// What an entry costs beside what came back, in bytes.
const ENTRY: usize = 256;

/// A recording of requests that is made or played. Lifetime: the attempt.
#[derive(Default)]
pub(crate) enum Requests {
    /// Neither.
    #[default]
    Off,
    /// It is made.
    Recording(Recording),
    /// It is played.
    Playing(Playing),
}

/// Requests that are recorded. They run beside the store, so it is shared.
#[derive(Clone)]
pub(crate) struct Recording(Arc<Mutex<Log>>);

struct Log {
    requests: Vec<Asked>,
    left: usize,
    /// Of all bodies, both ways, also of what is not kept.
    bytes: u64,
    lost: Option<&'static str>,
}

struct Asked {
    name: String,
    head: Digest,
    sent: blake3::Hasher,
    sent_bytes: u64,
    sent_whole: bool,
    answer: Answer,
}

/// What came back, as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// Nothing, before the component had ended.
    Nothing,
    /// No answer, for that reason.
    Failed(Fault),
    /// An answer, as far as it was read.
    Came { status: u16, headers: Vec<Field>, body: Vec<Piece>, text: Raw, end: End },
}

pub(super) type Field = (String, Raw);

/// One frame of a body, in the sizes in which it came: a component may look at them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Piece {
    /// So many bytes of the text.
    Data(u32),
    Trailers(Vec<Field>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum End {
    /// Nothing more was read.
    Unread,
    Whole,
    Broken(Fault),
}

/// What is kept of one request and its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) sent: Digest,
    pub(super) sent_bytes: u64,
    pub(super) sent_whole: bool,
    pub(super) answer: Answer,
}

/// What stands for a request where it is compared: its method and host, and a digest of all of its head.
pub(super) fn head(request: &http::Request<WasiBody>) -> (String, Option<Digest>) {
    let (method, uri) = (request.method().as_str(), request.uri());
    // Who asks with a name and a password in the URL is refused; they are not kept either.
    let host = uri.authority().and_then(|authority| authority.as_str().rsplit('@').next()).unwrap_or_default();
    let headers: Vec<(&str, &[u8])> =
        request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    (format!("http {method} {host}"), digest(&(method, uri.to_string(), headers)).ok())
}

fn fields(headers: &http::HeaderMap) -> Vec<Field> {
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), Raw(value.as_bytes().to_vec()))).collect()
}

pub(super) fn headers(fields: Vec<Field>) -> http::HeaderMap {
    let field = |(name, value): Field| {
        Some((http::HeaderName::try_from(name).ok()?, http::HeaderValue::from_bytes(&value.0).ok()?))
    };
    fields.into_iter().filter_map(field).collect()
}

impl Requests {
    /// Records at most so many bytes.
    pub(crate) fn record(bytes: usize) -> Requests {
        Requests::Recording(Recording(Arc::new(Mutex::new(Log {
            requests: Vec::new(),
            left: bytes,
            bytes: 0,
            lost: None,
        }))))
    }

    /// Plays what was recorded.
    pub(crate) fn play(entries: Vec<Entry>, exact: bool) -> Requests {
        Requests::Playing(Playing::of(entries, exact))
    }

    /// Bytes of all bodies, both ways.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Requests::Off | Requests::Playing(_) => 0,
            Requests::Recording(recording) => recording.log().bytes,
        }
    }

    /// What was recorded so far, or why it is nothing.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, &'static str> {
        match self {
            Requests::Off | Requests::Playing(_) => Ok(Vec::new()),
            Requests::Recording(recording) => recording.entries(),
        }
    }
}

impl Recording {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entries(&self) -> Result<Vec<Entry>, &'static str> {
        const BROKEN: &str = "what was sent over HTTP could not be written down";
        let log = self.log();
        if let Some(why) = log.lost {
            return Err(why);
        }
        let entry = |asked: &Asked| {
            let kept = Kept {
                sent: Digest::from_bytes(*asked.sent.finalize().as_bytes()),
                sent_bytes: asked.sent_bytes,
                sent_whole: asked.sent_whole,
                answer: asked.answer.clone(),
            };
            let answer = postcard::to_allocvec(&kept).map_err(|_| BROKEN)?;
            Ok(Entry { name: asked.name.clone(), args: asked.head, answer })
        };
        log.requests.iter().map(entry).collect()
    }

    /// Notes a request that is about to be judged.
    pub(super) fn begin(&self, request: http::Request<WasiBody>) -> (Slot, http::Request<WasiBody>) {
        let (name, head) = head(&request);
        let mut log = self.log();
        let slot = Slot { recording: self.clone(), number: log.requests.len() };
        log.pay(ENTRY + name.len());
        match head {
            Some(head) if log.lost.is_none() => log.requests.push(Asked {
                name,
                head,
                sent: blake3::Hasher::new(),
                sent_bytes: 0,
                sent_whole: false,
                answer: Answer::Nothing,
            }),
            _ => log.give_up(TOO_MUCH),
        }
        drop(log);
        let seen = slot.clone();
        (slot, request.map(|inner| SentBody { inner, slot: seen }.boxed_unsync()))
    }
}

impl Log {
    fn pay(&mut self, bytes: usize) {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.give_up(TOO_MUCH),
        }
    }

    fn give_up(&mut self, why: &'static str) {
        self.lost.get_or_insert(why);
        self.requests = Vec::new();
    }
}

/// The place of one request in a recording.
#[derive(Clone)]
pub(super) struct Slot {
    recording: Recording,
    number: usize,
}

impl Slot {
    fn note(&self, bytes: usize, note: impl FnOnce(&mut Asked)) {
        let mut log = self.recording.log();
        log.pay(bytes);
        if let Some(asked) = log.requests.get_mut(self.number) {
            note(asked);
        }
    }

    fn count(&self, bytes: usize) {
        self.recording.log().bytes += bytes as u64;
    }

    fn unknown(&self) {
        self.recording.log().give_up("a request failed in a way that is not recorded");
    }

    /// Notes what came of the request, and goes on noting while its answer is read.
    pub(super) fn answered(self, sent: Sent) -> Sent {
        match sent {
            Err(error) => {
                match Fault::of(&error) {
                    Some(fault) => self.note(0, |asked| asked.answer = Answer::Failed(fault)),
                    None => self.unknown(),
                }
                Err(error)
            }
            Ok((response, io)) => {
                let headers = fields(response.headers());
                let size = headers.iter().map(|(name, value)| name.len() + value.0.len() + 8).sum();
                let (status, text) = (response.status().as_u16(), Raw(Vec::new()));
                let came = Answer::Came { status, headers, body: Vec::new(), text, end: End::Unread };
                self.note(size, |asked| asked.answer = came);
                Ok((response.map(|inner| AnswerBody { inner, slot: self }.boxed_unsync()), io))
            }
        }
    }
}

/// The body of a request, digested as it leaves.
struct SentBody {
    inner: WasiBody,
    slot: Slot,
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let next = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        match &next {
            None => self.slot.note(0, |asked| asked.sent_whole = true),
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    self.slot.count(bytes.len());
                    self.slot.note(0, |asked| {
                        asked.sent.update(bytes);
                        asked.sent_bytes += bytes.len() as u64;
                    });
                }
            }
            Some(Err(_)) => {}
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of an answer, noted as it is read.
struct AnswerBody {
    inner: WasiBody,
    slot: Slot,
}

impl AnswerBody {
    fn note(&self, next: &Option<Result<Frame<Bytes>, Error>>) {
        let cost = match next {
            Some(Ok(frame)) => frame.data_ref().map_or(64, Bytes::len) + 8,
            Some(Err(_)) | None => 0,
        };
        if let Some(bytes) = next.as_ref().and_then(|next| next.as_ref().ok()?.data_ref()) {
            self.slot.count(bytes.len());
        }
        if let Some(Err(error)) = next
            && Fault::of(error).is_none()
        {
            return self.slot.unknown();
        }
        self.slot.note(cost, |asked| {
            let Answer::Came { body, text, end, .. } = &mut asked.answer else { return };
            match next {
                None => *end = End::Whole,
                Some(Err(error)) => *end = Fault::of(error).map_or(End::Unread, End::Broken),
                Some(Ok(frame)) => match (frame.data_ref(), frame.trailers_ref()) {
                    (Some(bytes), _) => {
                        body.push(Piece::Data(u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
                        text.0.extend_from_slice(bytes);
                    }
                    (None, Some(trailers)) => body.push(Piece::Trailers(fields(trailers))),
                    (None, None) => {}
                },
            }
        });
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let next = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        self.note(&next);
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
