//! Can a backend be asked now? The component says so, with no more authority than a call that only reads, within the time
//! of the check. Must not know what follows from it.

use super::attempt::{self, Reach, Surroundings};
use super::capability::files::Files;
use super::capability::invoke::Invokes;
use super::capability::outbound;
use super::capability::process::Programs;
use super::limits::Limits;
use super::worker::{Answer, Ask, Order};
use super::{Sandbox, failure};
use crate::call::Digest;
use crate::document::excerpt;
use crate::registry::manifest::LimitsManifest;
use crate::registry::running::Backend;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It can be asked.
    Passed,
    /// It cannot, and why.
    Failed(String),
    /// Nobody knows: there was no room to look.
    Unknown,
}

impl Sandbox {
    /// Asks a component whether a backend can be asked. Dropping the future ends it.
    pub(crate) async fn check_health(&self, linked: &Digest, backend: &Backend, time: Duration) -> Checked {
        let Some(component) = self.ready(linked) else { return Checked::Unknown };
        let limits = Limits::of(&LimitsManifest::default(), Some(time), &self.ceiling);
        let deadline = Instant::now() + limits.timeout;
        // Calls that wait for a place come first; a machine that is busy is not sick.
        let Ok(_slot) = self.slots.take(deadline, false).await else { return Checked::Unknown };
        let _tick = self.ticking.hold();
        let (machine, roots) = (self.machine.clone(), self.roots.clone());
        let programs = Programs::new(machine, roots.clone(), false, false, deadline);
        let reach = Reach {
            files: Files::new(roots, false),
            tabs: self.no_tabs(deadline, programs.late()),
            programs,
            http: outbound::nothing(),
            #[cfg(feature = "mcp")]
            reached: self.servers.reached(backend, "{}", deadline, None),
            invokes: Invokes::new(Arc::default(), None, deadline),
        };
        #[cfg(not(feature = "mcp"))]
        let _ = backend;
        let store = attempt::store(self, reach, &limits, deadline, Surroundings::default());
        let Ok(mut store) = store else { return Checked::Unknown };
        if let Some(worker) = &component.worker {
            let order = Order::question(Ask::Health, &limits, deadline, store);
            return match worker.run(self, order).await.map(|ended| ended.answer) {
                Ok(Answer::Healthy(Ok(()))) => Checked::Passed,
                Ok(Answer::Healthy(Err(error))) => Checked::Failed(excerpt(&error.message, 400)),
                Ok(Answer::Late) => Checked::Failed("it does not say in time whether it works".into()),
                Ok(_) => Checked::Failed("its component breaks off when it is asked".into()),
                Err(error) => Checked::Failed(error.to_string()),
            };
        }
        match tokio::time::timeout_at(deadline.into(), component.entry.check_health(&mut store)).await {
            Ok(Ok(Ok(()))) => Checked::Passed,
            Ok(Ok(Err(error))) => Checked::Failed(excerpt(&error.message, 400)),
            Ok(Err(error)) if failure::is_no_room(&error) => Checked::Unknown,
            Ok(Err(_)) => Checked::Failed("its component breaks off when it is asked".into()),
            Err(_) => Checked::Failed("it does not say in time whether it works".into()),
        }
    }
}
