//! How does a call learn that nobody waits for its answer any more? It is told, and a tool whose manifest gives it time
//! to clean up uses that time; every other call is ended by dropping it. Must not end anything itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// Tells one call. Whoever makes the call keeps a copy.
///
/// ```no_run
/// # async fn example(runtime: &hermes_runtime::Runtime, gave_up: impl Future<Output = ()>) {
/// use hermes_runtime::{Call, cancel::Cancel};
///
/// let cancel = Cancel::default();
/// let call = Call { cancel: Some(cancel.clone()), ..Call::new("export", serde_json::json!({})) };
/// let mut running = std::pin::pin!(runtime.call(call));
/// tokio::select! {
///     answer = &mut running => println!("{:?}", answer.envelope),
///     // If it cleans up, it ends by itself within its time; otherwise dropping it ends it.
///     () = gave_up => if cancel.tell() { running.await; },
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    told: CancellationToken,
    held: Arc<AtomicBool>,
}

impl Cancel {
    /// Tells the call that nobody waits any more. `true` if a tool runs that cleans up: the call then ends by itself, after
    /// the time that the tool has for that at most, and is recorded as cancelled. `false` if the call is to be dropped.
    pub fn tell(&self) -> bool {
        self.told.cancel();
        self.held.load(Ordering::SeqCst)
    }

    pub(crate) fn is_told(&self) -> bool {
        self.told.is_cancelled()
    }

    /// As long as what it gives lives, the call is not to be dropped.
    pub(crate) fn hold(&self) -> Held {
        self.held.store(true, Ordering::SeqCst);
        Held(self.clone())
    }
}

/// A tool runs that cleans up when it is told. Lifetime: the attempt.
pub(crate) struct Held(Cancel);

impl Held {
    pub(crate) fn is_told(&self) -> bool {
        self.0.is_told()
    }

    /// Waits until it is told.
    pub(crate) async fn told(&self) {
        self.0.told.cancelled().await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.store(false, Ordering::SeqCst);
    }
}
