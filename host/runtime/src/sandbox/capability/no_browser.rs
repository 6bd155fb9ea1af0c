//! What stands for the browser in a runtime that was built without it? Types of the same names that do nothing; no
//! component is given the capability.

use super::files::Roots;
use super::own::Own;
use crate::call::Caller;
use crate::config::Config;
use crate::sandbox::Layer;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// No browser.
pub(crate) struct Browsers;

/// A session, which has no part of it.
pub(crate) struct Session {
    /// Who calls.
    #[expect(dead_code, reason = "only a runtime with a browser tells sessions apart here")]
    pub(crate) caller: Arc<Caller>,
    /// In which of its sessions.
    #[expect(dead_code, reason = "only a runtime with a browser tells sessions apart here")]
    pub(crate) name: Arc<str>,
}

/// No tabs.
pub(crate) struct Tabs;

impl Browsers {
    pub(crate) fn of(_: &Config, _: Option<PathBuf>, _: Arc<Roots>, _: Arc<Own>) -> Browsers {
        Browsers
    }

    pub(crate) async fn try_out(self: &Arc<Self>) -> Result<Vec<Layer>, String> {
        Err("this runtime was built without the feature `browser`".into())
    }

    pub(crate) async fn end_session(&self, _: &Session) {}
}

impl Tabs {
    pub(crate) fn new(_: Arc<Browsers>, _: Session, _: Instant, _: Arc<AtomicBool>) -> Tabs {
        Tabs
    }

    pub(crate) fn keep(&mut self) {}
}
