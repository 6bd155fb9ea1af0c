//! May one more call run now? So many run at the same time, so many more wait, and further ones are refused rather than
//! kept waiting behind a queue without end.

use crate::error::{Error, Kind, Step};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Calls that may wait for a free slot, for each slot.
const WAITING_PER_SLOT: u32 = 16;

/// The places for running calls. Lifetime: the runtime.
pub(super) struct Slots {
    free: Semaphore,
    /// Places of calls within others. Who is around holds a place already, so none of them waits for one.
    nested: Semaphore,
    waiting: AtomicU32,
    places: u32,
    slots: u32,
}

impl Slots {
    pub(super) fn new(slots: u32) -> Slots {
        Slots {
            free: Semaphore::new(slots as usize),
            nested: Semaphore::new(slots as usize),
            waiting: AtomicU32::new(0),
            places: slots.saturating_mul(WAITING_PER_SLOT),
            slots,
        }
    }

    /// How many calls run, those within others too, and how many wait.
    pub(super) fn busy(&self) -> (u64, u64) {
        let running = [&self.free, &self.nested].map(|places| self.slots as usize - places.available_permits());
        (running.iter().sum::<usize>() as u64, u64::from(self.waiting.load(Ordering::Relaxed)))
    }

    /// A place to run in. Dropping the future gives up the place in the queue.
    pub(super) async fn take(&self, deadline: Instant, nested: bool) -> Result<SemaphorePermit<'_>, Error> {
        if nested {
            return self.nested.try_acquire().map_err(|_| overloaded("too many calls run within others"));
        }
        if let Ok(slot) = self.free.try_acquire() {
            return Ok(slot);
        }
        let waiting = Waiting::enter(&self.waiting);
        if waiting.ahead >= self.places {
            return Err(overloaded("too many calls wait for a free slot"));
        }
        match tokio::time::timeout_at(deadline.into(), self.free.acquire()).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) => Err(overloaded("the runtime is shutting down")),
            Err(_) => Err(overloaded("no slot became free within the call's time")),
        }
    }
}

fn overloaded(why: &'static str) -> Error {
    Error::new(Step::Sandbox, Kind::Overloaded, why).retry_after(Duration::from_secs(1))
}

/// Counts a waiting call for as long as it waits.
struct Waiting<'a> {
    count: &'a AtomicU32,
    ahead: u32,
}

impl Waiting<'_> {
    fn enter(count: &AtomicU32) -> Waiting<'_> {
        Waiting { count, ahead: count.fetch_add(1, Ordering::SeqCst) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}
