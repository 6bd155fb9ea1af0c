//! How does a call make others? While its component runs, the spine makes the calls that it asks for, one after the
//! other, as calls of the same caller. Part of the spine.

use crate::call::{Arguments, Call, Parent};
use crate::dispatch::Runtime;
use crate::injection::Injection;
use crate::sandbox::{Invocation, Invoker};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A component waits for each call that it makes, so there is never more than one.
const ASKED: usize = 1;

/// What a call needs to make others, and where what it asks for arrives.
pub(crate) fn invoker(around: Parent) -> (Invoker, mpsc::Receiver<Invocation>) {
    let (asked, requests) = mpsc::channel(ASKED);
    (Invoker { asked, around: Arc::new(around) }, requests)
}

impl Runtime {
    /// Runs what a component does, and meanwhile makes the calls that it asks for. When it is over, so are they.
    pub(crate) async fn alongside<T>(
        &self,
        call: &Call,
        mut requests: mpsc::Receiver<Invocation>,
        execution: impl Future<Output = T>,
    ) -> T {
        let mut execution = std::pin::pin!(execution);
        loop {
            let invocation = tokio::select! {
                biased;
                done = &mut execution => return done,
                Some(invocation) = requests.recv() => invocation,
            };
            tokio::select! {
                biased;
                done = &mut execution => return done,
                () = self.invoked(call, invocation) => {}
            }
        }
    }

    async fn invoked(&self, call: &Call, invocation: Invocation) {
        let Invocation { tool, args, parent, answer } = invocation;
        let nested = Call {
            tool,
            args: Arguments::Json(args),
            caller: call.caller.clone(),
            situation: call.situation.clone(),
            session: call.session.clone(),
            progress: None,
            fixed: call.fixed.clone(),
            parent: Some(parent),
            asks_itself: false,
            cancel: None,
        };
        let _ = answer.send(self.boxed(nested).await.envelope);
    }

    /// The whole way again. Boxed, since a future cannot hold itself.
    fn boxed(&self, call: Call) -> Pin<Box<dyn Future<Output = Injection> + Send + '_>> {
        Box::pin(self.call(call))
    }
}
