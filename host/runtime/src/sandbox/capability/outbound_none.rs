//! Without the feature `http`, no attempt can send anything.

use crate::adapter::Adapter;
use crate::config::Config;
use std::sync::Arc;
use std::time::Instant;

/// Reads a secret, by its name, for a URL; or says why it does not go there.
pub(crate) type Credentials = Arc<dyn Fn(&str, &str) -> Result<String, String> + Send + Sync>;

/// What an attempt can send: nothing.
pub(crate) struct Sending;

/// How requests leave: not at all.
pub(crate) struct Outbound;

impl Outbound {
    pub(crate) fn of(_: &Config) -> Result<Outbound, String> {
        Ok(Outbound)
    }

    pub(crate) fn credentials(&self) -> Credentials {
        Arc::new(|_, _| Err("this program was built without the feature `http`, which reads secrets".into()))
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
