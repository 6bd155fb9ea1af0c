//! May a call be tried again, when, and until when? Pure: time and randomness are handed in. Must not know how an
//! attempt runs.

use crate::adapter::health::Answered;
use crate::error::{Error, Kind};
use crate::registry::Tool;
use crate::registry::running::Retry;
use std::time::Duration;

/// The most that chance adds to a pause, as a part of it: callers that failed together do not come back together.
const JITTER: f64 = 0.25;

/// How long a call and each of its attempts may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// One attempt.
    pub(super) attempt: Duration,
    /// The whole call, from its intent on.
    pub(super) call: Duration,
    /// Whether somebody said so, and did not leave it to the sum of the attempts.
    pub(super) declared: bool,
}

/// What is known after an attempt that failed.
pub(super) struct Failed<'a> {
    pub(super) error: &'a Error,
    /// How many attempts there were.
    pub(super) attempts: u32,
    /// Whether doing the call twice is doing it once.
    pub(super) repeatable: bool,
    /// Whether something with a possible effect may have left the component.
    pub(super) sent: bool,
}

/// The pause before the next attempt, if there is one. `chance` is between 0 and 1.
pub(super) fn next(retry: Option<&Retry>, failed: &Failed<'_>, chance: f64) -> Option<Duration> {
    let retry = retry?;
    let safe = failed.repeatable || !failed.sent;
    let left = failed.attempts <= retry.max_retries;
    (safe && left && covers(retry, failed.error)).then(|| {
        let pause = retry.delay(failed.attempts);
        pause + pause.mul_f64(JITTER * chance.clamp(0.0, 1.0))
    })
}

/// Whether another backend may do better after a failure, if this one got nothing.
pub(super) fn is_out_of_reach(kind: Kind) -> bool {
    matches!(kind, Kind::Unavailable | Kind::Upstream | Kind::AttemptTimeout)
}

/// How an attempt ended for its backend: that a backend refuses a call is an answer, too.
pub(super) fn answered(failure: Option<Kind>) -> Answered {
    match failure {
        None => Answered::Yes,
        Some(Kind::Unavailable | Kind::Upstream | Kind::AttemptTimeout | Kind::Timeout | Kind::Trap) => Answered::No,
        Some(Kind::InvalidInput | Kind::Denied | Kind::Conflict | Kind::TooLarge | Kind::ToolFailed) => Answered::Yes,
        Some(_) => Answered::Unknown,
    }
}

/// Whether there is another attempt after a failure. Whoever writes `timeout` means the time of an attempt: after the
/// time of the call there is no other one.
fn covers(retry: &Retry, error: &Error) -> bool {
    let also = match error.kind {
        Kind::AttemptTimeout => Kind::Timeout,
        kind => kind,
    };
    retry.covers(error.kind, error.reason.as_deref()) || retry.covers(also, None)
}

impl Times {
    /// The times of a call of which one attempt may take so long: as declared, or what all attempts and pauses can
    /// take, never above the ceiling.
    pub(super) fn of(tool: &Tool, attempt: Duration, ceiling: Duration) -> Times {
        let chance = tool.retry.as_ref().map_or(Duration::ZERO, |retry| retry.waits().mul_f64(JITTER));
        let declared = tool.deadline.is_some();
        let usual = tool.longest_call(attempt).saturating_add(chance);
        let call = if declared { tool.longest_call(attempt) } else { usual };
        Times { attempt, call: call.min(ceiling), declared }
    }
}

/// A number between 0 and 1 that nobody foresees.
pub(super) fn chance() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    let number = std::collections::hash_map::RandomState::new().build_hasher().finish();
    number as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Step;
    use crate::registry::manifest::BackoffStrategy;

    fn retry(kinds: &[Kind], reasons: &[&str]) -> Retry {
        let reasons = reasons.iter().map(|word| (*word).to_owned()).collect();
        let (initial_delay, max_delay) = (Duration::from_millis(100), Duration::from_millis(150));
        let (max_retries, backoff) = (2, BackoffStrategy::Linear);
        Retry { max_retries, backoff, initial_delay, max_delay, kinds: kinds.to_vec(), reasons }
    }

    fn failed(error: &Error, attempts: u32, repeatable: bool, sent: bool) -> Failed<'_> {
        Failed { error, attempts, repeatable, sent }
    }

    #[test]
    fn chance_only_adds_to_a_pause() {
        let error = Error::new(Step::Sandbox, Kind::Upstream, "x");
        let pause = |attempts, chance| {
            let retry = retry(&[Kind::Upstream], &[]);
            next(Some(&retry), &failed(&error, attempts, true, true), chance).unwrap().as_millis()
        };
        assert_eq!([pause(1, 0.0), pause(2, 0.0), pause(1, 1.0), pause(1, 7.0)], [100, 150, 125, 125]);
    }

    #[test]
    fn only_what_is_named_is_tried_again_and_no_oftener_than_it_says() {
        let retry = retry(&[Kind::Timeout], &["connection_lost"]);
        let again = |kind, reason: Option<&'static str>, attempts| {
            let mut error = Error::new(Step::Sandbox, kind, "x");
            error.reason = reason.map(Into::into);
            next(Some(&retry), &failed(&error, attempts, true, true), 0.0).is_some()
        };
        assert!(again(Kind::Timeout, None, 1));
        assert!(again(Kind::AttemptTimeout, None, 2));
        assert!(!again(Kind::AttemptTimeout, None, 3));
        assert!(again(Kind::Upstream, Some("connection_lost"), 1));
        assert!(!again(Kind::Upstream, Some("protocol_error"), 1));
        assert!(!again(Kind::Trap, None, 1));
    }

    #[test]
    fn what_may_have_had_its_effect_is_never_repeated() {
        let retry = retry(&[Kind::Upstream], &[]);
        let error = Error::new(Step::Sandbox, Kind::Upstream, "x");
        let again = |repeatable, sent| next(Some(&retry), &failed(&error, 1, repeatable, sent), 0.0).is_some();
        assert_eq!([again(true, true), again(true, false), again(false, false)], [true; 3]);
        assert!(!again(false, true));
    }
}
