//! Calls of other tools. What a component asks for is handed to the spine, which makes the call as it makes any other;
//! this side knows which tools were granted, and how much the call around has left. Must not dispatch anything.

#[cfg(feature = "mcp")]
pub(crate) mod back;

use crate::call::Parent;
use crate::document::excerpt;
use crate::envelope::Envelope;
use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::invoke::{Answer, Failure, Host, Reason};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Longest name of a tool in a message, in bytes.
const NAME: usize = 80;

/// One call that a component asks for.
pub(crate) struct Invocation {
    /// The tool, as it was granted.
    pub(crate) tool: String,
    /// The arguments, unchecked.
    pub(crate) args: String,
    /// Where the new call stands.
    pub(crate) parent: Arc<Parent>,
    /// Where its answer goes; nobody waits there any more when the call around is over.
    pub(crate) answer: oneshot::Sender<Envelope>,
}

/// What the spine gives a call that may make others. Lifetime: the call.
#[derive(Clone)]
pub(crate) struct Invoker {
    pub(crate) asked: mpsc::Sender<Invocation>,
    /// The call around.
    pub(crate) around: Arc<Parent>,
}

/// What one attempt can call. Lifetime: the attempt.
pub(crate) struct Invokes {
    granted: Arc<BTreeSet<String>>,
    invoker: Option<Invoker>,
    until: Instant,
}

impl Invokes {
    /// What an adapter was granted, until the attempt is over. Without an invoker nothing can be called.
    pub(crate) fn new(granted: Arc<BTreeSet<String>>, invoker: Option<Invoker>, until: Instant) -> Invokes {
        Invokes { granted, invoker, until }
    }

    #[cfg(feature = "mcp")]
    fn granted(&self) -> &BTreeSet<String> {
        &self.granted
    }

    /// `from_outside` says that somebody outside asks, whatever the call around has read.
    async fn call(&self, tool: String, args: String, from_outside: bool) -> Result<Envelope, Failure> {
        let Some(invoker) = self.invoker.as_ref().filter(|_| self.granted.contains(&tool)) else {
            let granted: Vec<&str> = self.granted.iter().map(String::as_str).collect();
            let may = if granted.is_empty() { "none".into() } else { granted.join(", ") };
            let message = format!("the tool `{}` is not granted to this adapter; granted: {may}", excerpt(&tool, NAME));
            return Err(Failure { reason: Reason::NotGranted, message });
        };
        let mut parent = invoker.around.within(self.until).map_err(|refusal| Failure {
            reason: if refusal.is_depth() { Reason::TooDeep } else { Reason::TooMany },
            message: format!("the tool `{}` was not called: {refusal}", excerpt(&tool, NAME)),
        })?;
        parent.from_outside |= from_outside;
        let late = || Failure {
            reason: Reason::TimedOut,
            message: format!("the time was over before `{}` answered", excerpt(&tool, NAME)),
        };
        let (answer, answered) = oneshot::channel();
        let invocation = Invocation { tool: tool.clone(), args, parent: Arc::new(parent), answer };
        let asking = async {
            invoker.asked.send(invocation).await.map_err(|_| late())?;
            answered.await.map_err(|_| late())
        };
        // The inner call ends itself at that time and says so; this is for one that cannot.
        tokio::time::timeout_at(self.until.into(), asking).await.unwrap_or_else(|_| Err(late()))
    }
}

impl Host for State {
    fn granted(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.invokes.granted.iter().cloned().collect())
    }

    async fn call(&mut self, tool: String, args: String) -> wasmtime::Result<Result<Answer, Failure>> {
        let answered = self.invokes.call(tool, args, false).await;
        Ok(answered.map(|envelope| Answer {
            code: envelope.error.as_ref().map_or(200, |error| error.code),
            envelope: serde_json::to_string(&envelope).unwrap_or_default(),
        }))
    }
}
