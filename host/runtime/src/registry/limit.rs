//! Has a caller called a tool too often? Places in time windows, taken in the journal's transaction, so that restarts,
//! several processes and a clock that goes back change nothing. Must not know why a call is made.

use super::Tool;
use super::running::RateLimit;
use crate::error::{Error, Kind, Step};
use crate::journal::{Claim, Projection, Writing, now_ms};
use rusqlite::{Connection, params};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// Callers whose refused calls are counted at the same time; past that the oldest are forgotten.
const CALLERS: usize = 10_000;

/// The places that were taken.
pub(crate) const PROJECTION: Projection = Projection {
    tables: "CREATE TABLE IF NOT EXISTS rate_places (
                tool TEXT NOT NULL, caller TEXT NOT NULL, at_ms INTEGER NOT NULL, call_id TEXT NOT NULL,
                PRIMARY KEY (tool, caller, at_ms, call_id)
             ) STRICT, WITHOUT ROWID;
             CREATE INDEX IF NOT EXISTS rate_place_of_a_call ON rate_places (call_id);",
    apply: |_, _| Ok(()),
};

/// A clock that never goes back: the wall clock, or the time that has passed since it was last ahead.
#[derive(Debug)]
struct Clock {
    seen: Instant,
    at_ms: u64,
}

impl Clock {
    fn now(&mut self) -> u64 {
        let passed = self.seen.elapsed().as_millis() as u64;
        let now = now_ms().max(self.at_ms + passed);
        (self.seen, self.at_ms) = (Instant::now(), now);
        now
    }

    fn catch_up(&mut self, at_ms: u64) -> u64 {
        let now = self.now().max(at_ms);
        (self.seen, self.at_ms) = (Instant::now(), now);
        now
    }
}

/// When calls were refused, by tool and caller.
type Refused = HashMap<(String, String), VecDeque<Instant>>;

/// What is kept about limits beside the journal. Lifetime: the process.
#[derive(Clone)]
pub(crate) struct Limits {
    clock: Arc<Mutex<Clock>>,
    refused: Arc<Mutex<Refused>>,
}

impl Default for Limits {
    fn default() -> Limits {
        let clock = Clock { seen: Instant::now(), at_ms: now_ms() };
        Limits { clock: Arc::new(Mutex::new(clock)), refused: Arc::default() }
    }
}

/// The limits as one call meets them. Lifetime: the call.
pub(crate) struct Limiter<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) writing: Writing,
    pub(crate) call_id: Arc<str>,
}

impl Limiter<'_> {
    /// Takes a place for a call that would run. A tool without a limit takes no transaction.
    ///
    /// # Errors
    /// `rate_limited` with the time after which there is a place again.
    pub(crate) async fn take(&self, tool: &Tool, caller: &str) -> Result<(), Error> {
        match self.claim(tool, caller, true) {
            None => Ok(()),
            Some(claim) => self.writing.write(None, vec![claim]).await,
        }
    }

    /// The same places looked at once more, for the transaction of an intent.
    pub(crate) fn again(&self, tool: &Tool, caller: &str) -> Option<Claim> {
        self.claim(tool, caller, false)
    }

    /// Gives the place back, of a call that did not run after all.
    pub(crate) async fn give_back(&self, tool: &Tool) {
        if tool.rate_limit.is_none() {
            return;
        }
        let call_id = self.call_id.clone();
        let delete: Claim = Box::new(move |connection: &Connection| {
            connection.prepare_cached("DELETE FROM rate_places WHERE call_id = ?1")?.execute([&*call_id])?;
            Ok(Ok(()))
        });
        if let Err(error) = self.writing.write(None, vec![delete]).await {
            tracing::warn!(%error, "a place of a rate limit could not be given back");
        }
    }

    /// Refuses a caller whose calls of this tool were refused as often in a minute as it may call.
    pub(crate) fn refuse_insistent(&self, tool: &Tool, caller: &str) -> Result<(), Error> {
        let Some(most) = tool.rate_limit.and_then(|limit| limit.per_minute) else { return Ok(()) };
        let mut refused = self.limits.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(times) = refused.get_mut(&(tool.name.to_string(), caller.to_owned())) else { return Ok(()) };
        while times.front().is_some_and(|at| at.elapsed() >= Duration::from_millis(MINUTE)) {
            times.pop_front();
        }
        match times.front().filter(|_| times.len() >= most as usize) {
            None => Ok(()),
            Some(first) => {
                let wait = Duration::from_millis(MINUTE).saturating_sub(first.elapsed());
                let message = format!("calls of `{}` were refused {most} times in a minute", tool.name);
                Err(limited(message, wait).reason("too_many_refusals"))
            }
        }
    }

    /// Counts a call that permission refused.
    pub(crate) fn note(&self, tool: &Tool, caller: &str, refused: Option<&Error>) {
        let is_no = |error: &Error| matches!(error.kind, Kind::Denied | Kind::PolicyError | Kind::ApprovalDenied);
        if tool.rate_limit.is_none() || !refused.is_some_and(is_no) {
            return;
        }
        let mut refused = self.limits.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= CALLERS {
            refused.retain(|_, times| times.back().is_some_and(|at| at.elapsed() < Duration::from_millis(MINUTE)));
        }
        if refused.len() < CALLERS {
            refused.entry((tool.name.to_string(), caller.to_owned())).or_default().push_back(Instant::now());
        }
    }

    fn claim(&self, tool: &Tool, caller: &str, take: bool) -> Option<Claim> {
        let limit = tool.rate_limit?;
        let (name, caller, call_id) = (tool.name.clone(), caller.to_owned(), self.call_id.clone());
        let clock = self.limits.clock.clone();
        Some(Box::new(move |connection: &Connection| {
            let newest = "SELECT coalesce(max(at_ms), 0) FROM rate_places WHERE tool = ?1 AND caller = ?2";
            let newest: i64 = connection.prepare_cached(newest)?.query_row((&*name, &*caller), |row| row.get(0))?;
            let now = clock.lock().unwrap_or_else(PoisonError::into_inner).catch_up(newest.max(0) as u64);
            let old = now.saturating_sub(HOUR) as i64;
            connection
                .prepare_cached("DELETE FROM rate_places WHERE tool = ?1 AND caller = ?2 AND at_ms <= ?3")?
                .execute((&*name, &*caller, old))?;
            let taken =
                "SELECT at_ms FROM rate_places WHERE tool = ?1 AND caller = ?2 AND call_id <> ?3 ORDER BY at_ms DESC";
            let taken: Vec<u64> = connection
                .prepare_cached(taken)?
                .query_map((&*name, &*caller, &*call_id), |row| row.get::<_, i64>(0))?
                .map(|at| at.map(|at| at as u64))
                .collect::<rusqlite::Result<_>>()?;
            if let Some((what, wait)) = exceeded(&limit, &taken, now) {
                return Ok(Err(limited(format!("`{name}` takes {what} of one caller"), wait)));
            }
            if take {
                connection
                    .prepare_cached("INSERT OR REPLACE INTO rate_places VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![&*name, &*caller, now as i64, &*call_id])?;
            }
            Ok(Ok(()))
        }))
    }
}

/// Which limit one more call would exceed, and how long to wait. `taken` are the places so far, the newest first.
fn exceeded(limit: &RateLimit, taken: &[u64], now: u64) -> Option<(String, Duration)> {
    let windows = [
        (limit.burst, SECOND, "within one second"),
        (limit.per_minute, MINUTE, "in 60 seconds"),
        (limit.per_hour, HOUR, "in an hour"),
    ];
    let full = windows.into_iter().filter_map(|(most, window, words)| {
        let most = most?;
        // The place that has to leave the window before there is one more.
        let blocking = *taken.get((most as usize).checked_sub(1)?)?;
        let free = blocking + window;
        (free > now).then(|| (format!("at most {most} calls {words}"), Duration::from_millis(free - now)))
    });
    full.max_by_key(|(_, wait)| *wait)
}

fn limited(message: String, wait: Duration) -> Error {
    Error::new(Step::Permission, Kind::RateLimited, message).retry_after(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit { per_minute: Some(10), per_hour: Some(200), burst: Some(3) };

    /// Calls that come as fast as they may for so long: when each got its place.
    fn greedy(limit: &RateLimit, until: u64, step: u64) -> Vec<u64> {
        let mut taken: Vec<u64> = Vec::new();
        let mut now = 1_000_000;
        while now < 1_000_000 + until {
            if exceeded(limit, &taken, now).is_none() {
                taken.insert(0, now);
            }
            now += step;
        }
        taken
    }

    #[test]
    fn no_window_ever_holds_more_than_its_number() {
        let taken = greedy(&LIMIT, 2 * HOUR, 7);
        for (most, window) in [(3, SECOND), (10, MINUTE), (200, HOUR)] {
            for (index, start) in taken.iter().enumerate() {
                let within = taken[..=index].iter().filter(|at| **at < start + window).count();
                assert!(within <= most, "{within} within {window} ms from {start}");
            }
        }
        assert_eq!(taken.len(), 400, "and what is allowed is allowed");
    }

    #[test]
    fn the_wait_is_as_long_as_it_takes_and_no_longer() {
        let taken = [1000, 900, 500];
        let (_, wait) = exceeded(&LIMIT, &taken, 1100).unwrap();
        assert_eq!(wait, Duration::from_millis(400));
        assert!(exceeded(&LIMIT, &taken, 1500).is_none() && exceeded(&LIMIT, &taken, 1499).is_some());
    }

    #[test]
    fn a_clock_that_goes_back_stands_still_at_most() {
        let mut clock = Clock { seen: Instant::now(), at_ms: now_ms() + 10 * HOUR };
        let first = clock.now();
        assert!(first >= now_ms() + 9 * HOUR && clock.now() >= first);
        assert!(clock.catch_up(first + 5) >= first + 5);
    }
}
