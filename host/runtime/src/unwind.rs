//! What becomes of a panic in a step? A failure like any other, with its record, instead of the end of whoever asked.
//! Must not know what panicked.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs to the end, or to a panic, of which the message is given.
///
/// What the future borrows may be half done when it panicked: the caller uses nothing of it but what it handed in for
/// its records. Locks of this crate take no notice of it. Dropping the future drops what it runs.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    Caught { future: std::pin::pin!(future) }.await
}

struct Caught<'a, F> {
    future: Pin<&'a mut F>,
}

impl<F: Future> Future for Caught<'_, F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.future.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(message(&*panic))),
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".into())
}
