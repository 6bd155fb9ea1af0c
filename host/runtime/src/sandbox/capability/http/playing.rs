//! What does a component get that sends again what it sent? The recorded answers, in order, with nothing real behind them;
//! the first request that is another one is a divergence. Must not know where requests would go.

use super::Sent;
use super::taped::{Answer, End, Kept, Piece, head, headers};
use crate::call::Digest;
use crate::tape::Entry;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::JoinSet;
use wasmtime_wasi_http::{Error, WasiBody};

/// How long the end of a replay waits for bodies that the component has ended already.
const LAST_BODIES: Duration = Duration::from_secs(2);

/// The first thing that was not as it was.
#[derive(Clone, Debug, Default)]
struct Divergence(Arc<Mutex<Option<String>>>);

impl Divergence {
    fn note(&self, what: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
    }

    fn first(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A recording of requests that is played. Lifetime: the replay.
pub(crate) struct Playing {
    entries: VecDeque<Entry>,
    exact: bool,
    played: usize,
    differs: Divergence,
    /// What reads the bodies that the component sends. They end with it.
    bodies: JoinSet<()>,
}

/// What a replay has come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    /// Requests that were as they were.
    pub(crate) requests: usize,
    /// Requests that were recorded and not made.
    pub(crate) rest: usize,
    /// The first thing that was not as it was.
    pub(crate) divergence: Option<String>,
}

impl Playing {
    /// Plays what was recorded. What is not `exact` holds masks, so that only the order of requests is compared.
    pub(super) fn of(entries: Vec<Entry>, exact: bool) -> Playing {
        let differs = Divergence::default();
        Playing { entries: entries.into(), exact, played: 0, differs, bodies: JoinSet::new() }
    }

    /// Answers a request as it was answered then.
    pub(super) fn answer(&mut self, request: http::Request<WasiBody>) -> Box<dyn Future<Output = Sent> + Send> {
        let number = self.played + 1;
        let (name, head) = head(&request);
        let differs = match self.entries.pop_front() {
            None => format!("request {number}: it asks for `{name}`, and nothing more was recorded"),
            Some(entry) if entry.name != name => {
                format!("request {number}: it asks for `{name}`, and `{}` was recorded", entry.name)
            }
            Some(entry) if self.exact && head != Some(entry.args) => {
                format!("request {number}: the URL or the headers of `{name}` are others")
            }
            Some(entry) => match postcard::from_bytes::<Kept>(&entry.answer) {
                Err(_) => format!("request {number}: what was recorded of `{name}` cannot be read"),
                Ok(kept) => {
                    self.played = number;
                    if self.exact {
                        let (body, differs) = (request.into_body(), self.differs.clone());
                        let sent = (kept.sent, kept.sent_bytes, kept.sent_whole);
                        self.bodies.spawn(compare(body, sent, number, differs));
                    }
                    return Box::new(given(kept.answer));
                }
            },
        };
        self.differs.note(differs);
        Box::new(std::future::ready(Err(Error::HttpRequestDenied)))
    }

    /// What it has come to, once the component has ended and everything of it is dropped.
    pub(crate) async fn end(mut self) -> Played {
        let all = async { while self.bodies.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_BODIES, all).await.is_err() {
            self.differs.note("the body of a request does not end".into());
        }
        Played { requests: self.played, rest: self.entries.len(), divergence: self.differs.first() }
    }
}

/// Reads what the component sends and compares it with what it sent then.
async fn compare(mut body: WasiBody, (sent, bytes, whole): (Digest, u64, bool), number: usize, differs: Divergence) {
    let mut hasher = blake3::Hasher::new();
    let mut left = bytes;
    let mut more = false;
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(data.len());
        hasher.update(&data[..part]);
        left -= part as u64;
        more |= part < data.len();
    }
    let same = Digest::from_bytes(*hasher.finalize().as_bytes()) == sent;
    if left > 0 || !same || (more && whole) {
        differs.note(format!("request {number}: its body is another one"));
    }
}

/// A recorded answer. What never came then never comes.
async fn given(answer: Answer) -> Sent {
    match answer {
        Answer::Nothing => std::future::pending().await,
        Answer::Failed(fault) => Err(fault.error()),
        Answer::Came { status, headers: recorded, body, text, end } => {
            let body = PlayedBody { pieces: body.into(), text: text.0.into(), end: Some(end) };
            let mut response = http::Response::new(body.boxed_unsync());
            *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
            *response.headers_mut() = headers(recorded);
            let io: Box<dyn Future<Output = Result<(), Error>> + Send> = Box::new(std::future::ready(Ok(())));
            Ok((response, io))
        }
    }
}

/// The body of a recorded answer, in the pieces in which it came.
struct PlayedBody {
    pieces: VecDeque<Piece>,
    text: Bytes,
    end: Option<End>,
}

impl Body for PlayedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match self.pieces.pop_front() {
            Some(Piece::Data(length)) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.text.len());
                return Poll::Ready(Some(Ok(Frame::data(self.text.split_to(length)))));
            }
            Some(Piece::Trailers(fields)) => return Poll::Ready(Some(Ok(Frame::trailers(headers(fields))))),
            None => {}
        }
        match self.end.take() {
            // It was not read further then; whoever waits now waits until its time is over, which is a divergence.
            Some(End::Unread) => {
                self.end = Some(End::Unread);
                Poll::Pending
            }
            Some(End::Broken(fault)) => Poll::Ready(Some(Err(fault.error()))),
            Some(End::Whole) | None => Poll::Ready(None),
        }
    }
}
