//! Which requests of a connection are not answered yet, and is there room for one more? Must not know what they ask.

use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Calls that run or wait in one connection.
const CALLS: usize = 1024;
/// Bytes of their arguments together.
const BYTES: usize = 64 << 20;

/// The unanswered requests of one connection.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    requests: Mutex<Requests>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Requests {
    sizes: HashMap<RequestId, usize>,
    bytes: usize,
}

impl InFlight {
    /// Takes a request in; `false` if it is a call and there is no room for it.
    pub(crate) fn begin(&self, id: RequestId, size: usize, is_call: bool) -> bool {
        let mut requests = self.lock();
        let is_full = requests.sizes.len() >= CALLS || requests.bytes + size > BYTES;
        if is_call && is_full {
            return false;
        }
        requests.bytes += size;
        requests.sizes.insert(id, size);
        true
    }

    /// A request was answered or taken back.
    pub(crate) fn end(&self, id: &RequestId) {
        let mut requests = self.lock();
        if let Some(size) = requests.sizes.remove(id) {
            requests.bytes -= size;
        }
        if requests.sizes.is_empty() {
            self.ended.notify_waiters();
        }
    }

    /// Whether a request is not answered yet.
    pub(crate) fn contains(&self, id: &RequestId) -> bool {
        self.lock().sizes.contains_key(id)
    }

    /// Waits until every request is answered. Dropping the future loses nothing.
    pub(crate) async fn none_left(&self) {
        loop {
            let ended = self.ended.notified();
            if self.lock().sizes.is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_again_when_a_call_ended() {
        let in_flight = InFlight::default();
        assert!(in_flight.begin(RequestId::Number(1), BYTES, true));
        assert!(!in_flight.begin(RequestId::Number(2), 1, true));
        assert!(in_flight.begin(RequestId::Number(3), 1, false), "only calls are refused");
        in_flight.end(&RequestId::Number(1));
        assert!(in_flight.begin(RequestId::Number(2), 1, true));
    }
}
