//! Under which ids does the protocol library know the requests of one connection? Under names of ours, each used once: a
//! client may use an id again as soon as it took a request back, and the library would take the late end of the first for
//! the answer to the second. Must not know what is asked.

use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The requests of one connection that are not answered, by the library's ids and by the client's. Lifetime: the
/// connection.
#[derive(Debug, Default)]
pub(crate) struct Ids(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    last: u64,
    theirs: HashMap<RequestId, RequestId>,
    ours: HashMap<RequestId, RequestId>,
}

impl Ids {
    /// A request comes; returns the library's id for it. `is_named` says that what is told later names the id itself,
    /// which then stays.
    pub(crate) fn begin(&self, theirs: &RequestId, is_named: bool) -> RequestId {
        let mut known = self.lock();
        known.last += 1;
        let ours = match is_named {
            true => theirs.clone(),
            false => RequestId::String(format!("of this connection {}", known.last).into()),
        };
        known.theirs.insert(ours.clone(), theirs.clone());
        known.ours.insert(theirs.clone(), ours.clone());
        ours
    }

    /// A request is taken back; returns the library's id for it, if it is not answered. Its answer is nobody's from now on.
    pub(crate) fn take_back(&self, theirs: &RequestId) -> Option<RequestId> {
        let mut known = self.lock();
        let ours = known.ours.remove(theirs)?;
        known.theirs.remove(&ours);
        Some(ours)
    }

    /// A request is answered; returns the client's id for it, unless it was taken back.
    pub(crate) fn end(&self, ours: &RequestId) -> Option<RequestId> {
        let mut known = self.lock();
        let theirs = known.theirs.remove(ours)?;
        known.ours.remove(&theirs);
        Some(theirs)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_late_answer_to_what_was_taken_back_is_nobodys() {
        let ids = Ids::default();
        let id = RequestId::Number(7);
        let first = ids.begin(&id, false);
        assert_eq!(ids.take_back(&id), Some(first.clone()));
        assert_eq!(ids.take_back(&id), None);
        let second = ids.begin(&id, false);
        assert_ne!(first, second);
        assert_eq!(ids.end(&first), None);
        assert_eq!(ids.end(&second), Some(id.clone()));
        assert_eq!(ids.take_back(&id), None);
        assert_eq!(ids.begin(&id, true), id);
    }
}
