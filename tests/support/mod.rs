//! What do all tests share? Houses to run in, people to ask, and the journal's checks. Must not know any scenario.

pub(crate) mod child;
pub(crate) mod guest;
pub(crate) mod house;
pub(crate) mod people;
pub(crate) mod records;
pub(crate) mod server;
pub(crate) mod user;

use std::future::Future;
use std::time::Duration;

/// Far more than anything takes. Only a wait that nobody ends reaches it.
const WATCHDOG: Duration = Duration::from_secs(300);

/// Runs a test's future to its end, or fails when nobody ends it.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    block_on_within(WATCHDOG, future)
}

/// The same for tests that do a lot.
pub(crate) fn block_on_within<T>(watchdog: Duration, future: impl Future<Output = T>) -> T {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let ended = tokio.block_on(async { tokio::time::timeout(watchdog, future).await });
    // A thread that is stuck must not keep the failure from being reported.
    tokio.shutdown_background();
    ended.unwrap_or_else(|_| panic!("nobody ended it within {watchdog:?}"))
}
