//! Do backends work, as far as this runtime has seen? What its own calls and checks found, each newer one counting more.
//! Time is handed in; must not know how anything is called or checked, nor what a backend says of itself.

use crate::call::Digest;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much of what was seen before still counts after one more call: about the last ten calls count.
const KEEPS: f64 = 0.9;
/// Failures in a row until a backend counts as unhealthy, where no health check says how many.
pub const USUAL_THRESHOLD: u32 = 3;
/// How long an unhealthy backend is left alone, where no health check says how long.
pub const USUAL_PAUSE: Duration = Duration::from_secs(10);
/// Backends that are remembered; past that nothing new is, and unknown ones count as good.
const MOST: usize = 100_000;

/// Whether a backend can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It can.
    Healthy,
    /// A check has passed after it was unhealthy; one call tries it.
    HalfOpen,
    /// It failed too often.
    Unhealthy,
}

/// What is known of a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Whether it can be asked.
    pub health: Health,
    /// Whether a call tries it right now.
    pub on_trial: bool,
    /// The part of the last calls that it answered; 1 if nothing is known.
    pub success: f64,
    /// Milliseconds of its last calls.
    pub latency_ms: Option<f64>,
    /// Calls that this is known from.
    pub calls: u64,
}

/// When a backend becomes unhealthy, and how long it then is left alone.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Failures in a row.
    pub threshold: u32,
    /// The pause.
    pub pause: Duration,
}

/// One attempt at a call, as far as its backend is concerned.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// How it ended.
    pub answered: Answered,
    /// How long it took, as the host measured it.
    pub took: Duration,
    /// What its failure said.
    pub message: String,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It did what it was asked, or said what was wrong with it.
    Yes,
    /// It did not answer, or its service did not.
    No,
    /// That says nothing about it.
    Unknown,
}

#[derive(Debug)]
struct Seen {
    good: f64,
    bad: f64,
    latency_ms: Option<f64>,
    calls: u64,
    failures: u32,
    /// What the last failure said, for people.
    last: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Healthy,
    HalfOpen { on_trial: Option<Instant> },
    Unhealthy { until: Instant },
}

/// A trial that was never heard of again is over after this time.
const TRIAL: Duration = Duration::from_secs(60);

/// What was seen of all backends. Lifetime: the process.
#[derive(Debug, Default)]
pub struct Observed {
    backends: Mutex<HashMap<Digest, Seen>>,
    turns: Mutex<HashMap<Digest, u64>>,
}

impl Observed {
    /// What is known of a backend.
    pub fn standing(&self, backend: &Digest, now: Instant) -> Standing {
        match self.lock().get(backend) {
            None => Standing { health: Health::Healthy, on_trial: false, success: 1.0, latency_ms: None, calls: 0 },
            Some(seen) => Standing {
                health: match seen.state {
                    State::Healthy => Health::Healthy,
                    State::HalfOpen { .. } => Health::HalfOpen,
                    State::Unhealthy { .. } => Health::Unhealthy,
                },
                on_trial: matches!(seen.state, State::HalfOpen { on_trial: Some(since) } if now < since + TRIAL),
                success: (seen.good + 1.0) / (seen.good + seen.bad + 1.0),
                latency_ms: seen.latency_ms,
                calls: seen.calls,
            },
        }
    }

    /// What its last failure said; nothing if there was none.
    pub fn last_failure(&self, backend: &Digest) -> Option<String> {
        self.lock().get(backend).map(|seen| seen.last.clone()).filter(|last| !last.is_empty())
    }

    /// Counts the calls of a tool with several backends, by the first of them.
    pub fn turn(&self, first: &Digest) -> u64 {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= MOST && !turns.contains_key(first) {
            return 0;
        }
        let turn = turns.entry(*first).or_default();
        *turn += 1;
        *turn
    }

    /// A call is about to try a half-open backend.
    pub fn begin_trial(&self, backend: &Digest, now: Instant) {
        if let Some(Seen { state: State::HalfOpen { on_trial }, .. }) = self.lock().get_mut(backend) {
            *on_trial = Some(now);
        }
    }

    /// Notes how an attempt ended.
    pub fn note_call(&self, backend: &Digest, call: &Attempt, rule: Rule, now: Instant) {
        self.with(backend, |seen| {
            let is_trial = matches!(seen.state, State::HalfOpen { .. });
            match call.answered {
                Answered::Unknown => {
                    if let State::HalfOpen { on_trial } = &mut seen.state {
                        *on_trial = None;
                    }
                }
                Answered::Yes => {
                    if is_trial {
                        // What was before it was mended says nothing any more.
                        *seen = Seen::new();
                    }
                    let ms = call.took.as_secs_f64() * 1000.0;
                    seen.latency_ms = Some(seen.latency_ms.map_or(ms, |old| old * KEEPS + ms * (1.0 - KEEPS)));
                    (seen.good, seen.bad, seen.failures) = (seen.good * KEEPS + 1.0, seen.bad * KEEPS, 0);
                    seen.calls += 1;
                }
                Answered::No => {
                    (seen.good, seen.bad) = (seen.good * KEEPS, seen.bad * KEEPS + 1.0);
                    seen.calls += 1;
                    seen.fail(&call.message, rule, now);
                }
            }
        });
    }

    /// Notes what a health check found.
    pub fn note_check(&self, backend: &Digest, found: Result<(), &str>, rule: Rule, now: Instant) {
        self.with(backend, |seen| match (found, &seen.state) {
            (Ok(()), State::Unhealthy { .. }) => seen.state = State::HalfOpen { on_trial: None },
            (Ok(()), State::Healthy) => seen.failures = 0,
            (Ok(()), State::HalfOpen { .. }) => {}
            (Err(why), _) => seen.fail(why, rule, now),
        });
    }

    /// The unhealthy backends whose pause is over: it is time to look whether they work again.
    pub fn to_be_looked_at(&self, now: Instant) -> Vec<Digest> {
        let over = |seen: &Seen| matches!(seen.state, State::Unhealthy { until } if until <= now);
        self.lock().iter().filter(|(_, seen)| over(seen)).map(|(backend, _)| *backend).collect()
    }

    fn with(&self, backend: &Digest, change: impl FnOnce(&mut Seen)) {
        let mut backends = self.lock();
        if backends.len() < MOST || backends.contains_key(backend) {
            change(backends.entry(*backend).or_insert_with(Seen::new));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Seen>> {
        self.backends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn new() -> Seen {
        Seen {
            good: 0.0,
            bad: 0.0,
            latency_ms: None,
            calls: 0,
            failures: 0,
            last: String::new(),
            state: State::Healthy,
        }
    }

    fn fail(&mut self, why: &str, rule: Rule, now: Instant) {
        why.clone_into(&mut self.last);
        self.failures = self.failures.saturating_add(1);
        let until = now + rule.pause;
        match self.state {
            State::Healthy if self.failures < rule.threshold => {}
            State::Healthy | State::HalfOpen { .. } => self.state = State::Unhealthy { until },
            // What was on its way when it became unhealthy does not put off the next look.
            State::Unhealthy { until: known } if known > now => {}
            State::Unhealthy { .. } => self.state = State::Unhealthy { until },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { threshold: 3, pause: Duration::from_secs(5) };

    fn health(observed: &Observed, backend: &Digest, now: Instant) -> Health {
        observed.standing(backend, now).health
    }

    #[test]
    fn a_backend_goes_after_the_threshold_and_comes_back_by_a_trial() {
        let (observed, backend, now) = (Observed::default(), Digest::of(b"a"), Instant::now());
        let attempt = |answered| Attempt { answered, took: Duration::from_millis(5), message: "gone".into() };
        let call = |answered, now| observed.note_call(&backend, &attempt(answered), RULE, now);
        call(Answered::No, now);
        call(Answered::No, now);
        call(Answered::Yes, now);
        call(Answered::No, now);
        call(Answered::No, now);
        assert_eq!(health(&observed, &backend, now), Health::Healthy, "not three in a row");
        call(Answered::No, now);
        assert_eq!(health(&observed, &backend, now), Health::Unhealthy);
        assert_eq!(observed.to_be_looked_at(now), []);
        let later = now + RULE.pause;
        assert_eq!(observed.to_be_looked_at(later), [backend]);
        observed.note_check(&backend, Err("still gone"), RULE, later);
        assert_eq!(observed.last_failure(&backend).as_deref(), Some("still gone"));
        assert_eq!(observed.to_be_looked_at(later), [], "it waits anew");
        observed.note_check(&backend, Ok(()), RULE, later);
        assert_eq!(health(&observed, &backend, later), Health::HalfOpen);
        call(Answered::No, later);
        assert_eq!(health(&observed, &backend, later), Health::Unhealthy, "one failure of the trial is enough");
        observed.note_check(&backend, Ok(()), RULE, later);
        observed.begin_trial(&backend, later);
        assert!(observed.standing(&backend, later).on_trial);
        call(Answered::Yes, later);
        let standing = observed.standing(&backend, later);
        assert_eq!((standing.health, standing.success, standing.calls), (Health::Healthy, 1.0, 1));
    }

    #[test]
    fn checks_alone_make_a_backend_unhealthy() {
        let (observed, backend, now) = (Observed::default(), Digest::of(b"a"), Instant::now());
        for found in [Err("x"), Err("x"), Ok(()), Err("x"), Err("x")] {
            observed.note_check(&backend, found, RULE, now);
        }
        assert_eq!(health(&observed, &backend, now), Health::Healthy);
        observed.note_check(&backend, Err("x"), RULE, now);
        assert_eq!(health(&observed, &backend, now), Health::Unhealthy);
    }

    #[test]
    fn a_trial_that_nobody_hears_of_does_not_keep_others_out_for_ever() {
        let (observed, backend, now) = (Observed::default(), Digest::of(b"a"), Instant::now());
        (0..3).for_each(|_| observed.note_check(&backend, Err("it is down"), RULE, now));
        observed.note_check(&backend, Ok(()), RULE, now);
        observed.begin_trial(&backend, now);
        assert!(!observed.standing(&backend, now + TRIAL).on_trial);
    }
}
