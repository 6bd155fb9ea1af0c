//! When is a page as far as it is worth waiting for? It has been read, and either all of it is there, or the network has
//! been quiet for a while, or what is missing has had its chance. What is still pending is said, not waited for.

use std::time::{Duration, Instant};

use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::bindings::hermes::tool::browser::{self, Stage, TabState};
use crate::failure;

/// How long the network is quiet before a page that was read counts as there.
const QUIET: Duration = Duration::from_millis(500);
/// How long a page that was read may take for what is missing.
const REST: Duration = Duration::from_secs(3);
/// How long something done on a page may take to show that it leads elsewhere.
const REACTION: Duration = Duration::from_millis(150);
/// How often the tab is looked at when nothing is told of it, in milliseconds.
const LOOK: u32 = 100;

/// The time that a call has left.
pub(crate) struct Time {
    end: Instant,
}

impl Time {
    /// Keeps back what it takes to tell what there is.
    pub(crate) fn left(deadline_ms: u64) -> Time {
        let all = Duration::from_millis(deadline_ms);
        let kept = (all / 10).clamp(Duration::from_millis(50), Duration::from_millis(800)).min(all);
        Time { end: Instant::now() + (all - kept) }
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Milliseconds for one wait.
    pub(crate) fn step(&self) -> u32 {
        let left = self.end.saturating_duration_since(Instant::now());
        u32::try_from(left.as_millis()).unwrap_or(u32::MAX).clamp(1, LOOK)
    }
}

/// How a wait for a page ended.
pub(crate) struct Settled {
    pub(crate) state: TabState,
    /// Whether the page was read to its end. If not, the time was over.
    pub(crate) is_there: bool,
}

/// Waits until another page than `before` is there.
pub(crate) fn next_page(tab: u32, before: u32, time: &Time) -> Result<Settled, Error> {
    settle(tab, time, |state| state.page > before)
}

/// Waits for what something done on a page leads to: nothing, requests, or another page.
pub(crate) fn reaction(tab: u32, time: &Time) -> Result<Settled, Error> {
    let end = Instant::now() + REACTION;
    while Instant::now() < end && !time.is_over() {
        browser::wait(tab, time.step()).map_err(failure::of)?;
    }
    settle(tab, time, |_| true)
}

fn settle(tab: u32, time: &Time, is_wanted: impl Fn(&TabState) -> bool) -> Result<Settled, Error> {
    let mut read = None;
    let mut quiet = None;
    loop {
        let state = browser::state(tab).map_err(failure::of)?;
        let now = Instant::now();
        let is_read = is_wanted(&state) && matches!(state.stage, Stage::Interactive | Stage::Complete);
        read = if is_read { read.or(Some(now)) } else { None };
        quiet = if is_read && state.pending == 0 { quiet.or(Some(now)) } else { None };
        let since = |moment: Option<Instant>| moment.map_or(Duration::ZERO, |moment| now.duration_since(moment));
        let is_whole = is_read && state.stage == Stage::Complete && state.pending == 0;
        if is_whole || since(quiet) >= QUIET || since(read) >= REST {
            return Ok(Settled { state, is_there: true });
        }
        if time.is_over() || state.stage == Stage::Crashed {
            return Ok(Settled { is_there: is_read, state });
        }
        browser::wait(tab, time.step()).map_err(failure::of)?;
    }
}
