//! What does a component see of an answer's body? No more than the limit, not later than it waits for, and no secret.

use super::{Notes, Open};
use crate::sandbox::capability::secrets::mask::{Mask, Pieces};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::Error;

/// The body of an answer.
pub(super) struct Answer {
    incoming: UnsyncBoxBody<Bytes, Error>,
    left: u64,
    limit: u64,
    wait: Option<(Duration, Pin<Box<Sleep>>)>,
    pieces: Option<Pieces>,
    ended: bool,
    notes: Notes,
    _open: Open,
}

impl Answer {
    pub(super) fn new(
        incoming: Incoming,
        limit: u64,
        wait: Option<Duration>,
        mask: Mask,
        open: Open,
        notes: Notes,
    ) -> Answer {
        use http_body_util::BodyExt;
        let wait = wait.map(|wait| (wait, Box::pin(tokio::time::sleep(wait))));
        let pieces = (!mask.is_empty()).then(|| Pieces::new(mask));
        let incoming = incoming.map_err(Error::from).boxed_unsync();
        Answer { incoming, left: limit, limit, wait, pieces, ended: false, notes, _open: open }
    }

    fn take(&mut self, frame: Frame<Bytes>) -> Result<Option<Frame<Bytes>>, Error> {
        let bytes = match frame.into_data() {
            Ok(bytes) => bytes,
            // What stands after a body could have a secret in any field.
            Err(trailers) => return Ok(Some(trailers).filter(|_| self.pieces.is_none())),
        };
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            self.notes.add(&format!("the answer is larger than {} bytes", self.limit));
            return Err(Error::HttpResponseBodySize(Some(self.limit)));
        };
        self.left = left;
        let shown = match &mut self.pieces {
            Some(pieces) => Bytes::from(pieces.push(&bytes)),
            None => bytes,
        };
        Ok((!shown.is_empty()).then(|| Frame::data(shown)))
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            if self.ended {
                let rest = self.pieces.as_mut().map(Pieces::finish).filter(|rest| !rest.is_empty());
                return Poll::Ready(rest.map(|rest| Ok(Frame::data(Bytes::from(rest)))));
            }
            let next = Pin::new(&mut self.incoming).poll_frame(cx);
            let next = match (next, &mut self.wait) {
                (Poll::Pending, Some((_, sleep))) => {
                    ready!(sleep.as_mut().poll(cx));
                    return Poll::Ready(Some(Err(Error::ConnectionReadTimeout)));
                }
                (next, Some((wait, sleep))) => {
                    sleep.as_mut().reset(Instant::now() + *wait);
                    ready!(next)
                }
                (next, None) => ready!(next),
            };
            match next {
                None => self.ended = true,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => match self.take(frame) {
                    Ok(None) => {}
                    Ok(Some(frame)) => return Poll::Ready(Some(Ok(frame))),
                    Err(error) => return Poll::Ready(Some(Err(error))),
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_none() && self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.pieces.is_none() { self.incoming.size_hint() } else { SizeHint::default() }
    }
}
