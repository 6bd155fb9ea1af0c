//! Without the feature `http`, no attempt can send anything.

use crate::adapter::Adapter;
use crate::config::Config;
use std::time::Instant;

/// What an attempt can send: nothing.
pub(crate) struct Sending;

/// How requests leave: not at all.
pub(crate) struct Outbound;

impl Outbound {
    pub(crate) fn of(_: &Config) -> Result<Outbound, String> {
        Ok(Outbound)
    }

    pub(crate) fn reach(&self, _: &Adapter, _: bool, _: Instant) -> Sending {
        Sending
    }
}

/// Nothing at all.
pub(crate) fn nothing() -> Sending {
    Sending
}

impl Sending {
    pub(crate) fn was_used(&self) -> bool {
        false
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
