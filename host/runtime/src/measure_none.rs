//! What a monitor sees of the calls where the feature `metrics` is off: nothing.

use crate::record::Record;
use std::time::Duration;

/// Counts nothing.
#[derive(Debug, Default)]
pub(crate) struct Measures;

/// What is so now and not counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) running: u64,
    pub(crate) waiting: u64,
    pub(crate) queued: u64,
    pub(crate) places: u64,
    pub(crate) failing: bool,
}

impl Measures {
    pub(crate) fn note(&self, _: &Record) {}

    pub(crate) fn refused(&self, _: u16) {}

    pub(crate) fn unwritten(&self) {}

    pub(crate) fn injected(&self, _: Duration) {}

    pub(crate) fn text(&self, now: Now) -> Option<String> {
        let Now { running, waiting, queued, places, failing } = now;
        let _ = (running, waiting, queued, places, failing);
        None
    }
}
