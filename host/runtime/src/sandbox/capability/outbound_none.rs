//! Without the feature `http`, no attempt can send anything.

use crate::adapter::Adapter;
use crate::config::Config;
use crate::tape::Entry;
use std::sync::Arc;
use std::time::Instant;

/// Reads a secret, by its name, for a URL; or says why it does not go there.
pub(crate) type Credentials = Arc<dyn Fn(&str, &str) -> Result<String, String> + Send + Sync>;

/// What a replay of requests has come to: there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    pub(crate) requests: usize,
    pub(crate) rest: usize,
    pub(crate) divergence: Option<String>,
}

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
    pub(crate) fn bytes(&self) -> u64 {
        0
    }

    pub(crate) fn record(&mut self, _: usize) {}

    pub(crate) fn play(&mut self, _: Vec<Entry>, _: bool) {}

    pub(crate) fn recorded(&self) -> Result<Vec<Entry>, &'static str> {
        Ok(Vec::new())
    }

    pub(crate) fn played(&mut self) -> impl Future<Output = Played> + use<> {
        std::future::ready(Played::default())
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
