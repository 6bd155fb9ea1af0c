//! What did a client post, as far as it may pass? Read within a time and a size, and sifted like a line on a pipe.

use super::{Answer, refuse};
use crate::frame::{self, LONGEST, Refusal, Sifted};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a body may take.
const TIME: Duration = Duration::from_secs(30);
/// What all bodies together may take while their calls run, in KiB.
const TOGETHER: usize = 256 << 10;

/// The room for all bodies. Lifetime: the server.
pub(super) struct Bodies {
    room: Arc<Semaphore>,
}

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies { room: Arc::new(Semaphore::new(TOGETHER)) }
    }
}

impl Bodies {
    /// Reads and sifts a body. The arguments of a call go into the head's extensions, with the room they take.
    pub(super) async fn read(&self, head: &mut Parts, body: Incoming) -> Result<Bytes, Box<Answer>> {
        let said = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let most = said.unwrap_or(LONGEST).min(LONGEST);
        if said.is_some_and(|said| said > LONGEST) {
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long"));
        }
        let room = u32::try_from(most / 1024 + 1).unwrap_or(u32::MAX);
        let Ok(room) = self.room.clone().try_acquire_many_owned(room) else {
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, "too many messages at once; try again"));
        };
        let bytes = match tokio::time::timeout(TIME, Limited::new(body, most).collect()).await {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long"));
            }
            Ok(Err(_)) => return Err(refuse(StatusCode::BAD_REQUEST, "the message ends before it is complete")),
            Err(_) => return Err(refuse(StatusCode::REQUEST_TIMEOUT, "the message takes too long")),
        };
        match frame::sift(&bytes) {
            Ok(Some(Sifted { body, arguments, .. })) => {
                if let Some(arguments) = arguments {
                    head.extensions.insert(arguments);
                }
                head.extensions.insert(Arc::new(room));
                head.headers.remove(TRANSFER_ENCODING);
                head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
                Ok(body.into())
            }
            Ok(None) => Err(refuse(StatusCode::BAD_REQUEST, "there is no message")),
            Err(refusal) => Err(answer(&refusal)),
        }
    }
}

fn answer(Refusal { id, error }: &Refusal) -> Box<Answer> {
    let id = id.clone().map(|id| id.into_json_value());
    let text = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    let mut answer = Response::new(Full::new(Bytes::from(text)).boxed());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Box::new(answer)
}
