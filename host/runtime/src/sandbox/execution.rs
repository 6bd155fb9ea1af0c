//! What came of running a call, over all its attempts? Must not know how one runs.

use super::attempt::Tried;
use super::{Output, retry};
use crate::adapter::health::Attempt;
use crate::call::Digest;
use crate::envelope::Usage;
use crate::error::Error;
use crate::registry::running::Backend;
use crate::tape::Recorded;
use std::time::Duration;

/// What came of running a call.
pub struct Execution {
    /// What the component returned, or why it did not.
    pub outcome: Result<Output, Error>,
    /// What was produced before a failure.
    pub partial: Option<Output>,
    /// What all attempts used up.
    pub usage: Usage,
    /// What it logged and printed.
    pub log: Vec<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// What is needed to run the last attempt again, or why it cannot be.
    pub(crate) tape: Result<Box<Recorded>, &'static str>,
    /// How each attempt ended for its backend.
    pub(crate) answers: Vec<(Digest, Attempt)>,
}

/// Why nothing of a call was recorded.
pub(super) const NOT_RUN: &str = "no component ran";

impl Execution {
    pub(super) fn refused(error: Error) -> Execution {
        let usage = Usage::default();
        let (log, answers, tape) = (Vec::new(), Vec::new(), Err(NOT_RUN));
        Execution { outcome: Err(error), partial: None, usage, log, attempts: 0, answers, tape }
    }

    pub(super) fn note_answer(&mut self, backend: &Backend, took: Duration) {
        let error = self.outcome.as_ref().err();
        let answered = retry::answered(error.map(|error| error.kind));
        let message = error.map(|error| error.message.clone()).unwrap_or_default();
        self.answers.push((backend.digest, Attempt { answered, took, message }));
    }

    /// What the first attempt came to.
    pub(super) fn first(tried: Tried) -> Execution {
        let Tried { outcome, partial, mut usage, log, sent: _, tape } = tried;
        usage.attempts = 1;
        Execution { outcome, partial, usage, log, attempts: 1, answers: Vec::new(), tape }
    }

    /// Adds what another attempt came to.
    pub(super) fn again(&mut self, number: u32, tried: Tried) -> &mut Execution {
        self.log.push(format!("attempt {number}"));
        self.log.extend(tried.log);
        self.usage.add(&tried.usage);
        self.usage.attempts = number;
        (self.outcome, self.partial, self.attempts) = (tried.outcome, tried.partial, number);
        self.tape = tried.tape;
        self
    }
}
