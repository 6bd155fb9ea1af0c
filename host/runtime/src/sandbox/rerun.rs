//! Does a component do again what it did? It runs on what was recorded, with nothing real behind its capabilities, its
//! clocks and its randomness. Must not know whose call it was.

use super::attempt::{self, Surroundings};
use super::fixed::{Clock, Shown};
use super::limits::Limits;
use super::{Sandbox, failure, wit};
use crate::call::Digest;
use crate::error::{Error, Step};
use crate::registry::Tool;
use crate::registry::manifest::LimitsManifest;
use crate::tape::{Cassette, Tape, Times};
use serde::Serialize;
use std::time::{Duration, Instant};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rerun {
    /// How often it crossed the border of its capabilities as it did then.
    pub crossings: usize,
    /// The first thing that was not as it was; nothing if all was.
    pub divergence: Option<String>,
}

impl Sandbox {
    /// Runs a component again on what was recorded of it. What is not `exact` holds masks: contents are not compared.
    ///
    /// # Errors
    /// If the component is not loaded.
    pub(crate) async fn rerun(
        &self,
        linked: &Digest,
        tool: &Tool,
        limits: &LimitsManifest,
        (cassette, exact): (Cassette, bool),
    ) -> Result<Rerun, Error> {
        let internal = |why: String| Error::internal(Step::Sandbox, why);
        let component = self.ready(linked).ok_or_else(|| internal("the component is not loaded".into()))?;
        let Cassette { asked, seed, times, entries, requests, outcome } = cassette;
        let time = Duration::from_millis(asked.deadline_ms.max(1));
        let written = tool.limits.under(limits).or_usual(&component.usual);
        let limits = Limits::of(&written, Some(time), &self.ceiling);
        let _slot = self.slots.take(Instant::now() + time, false).await?;
        let _tick = self.ticking.hold();
        let deadline = Instant::now() + time;
        let call = wit::Call {
            tool: asked.tool,
            args: asked.args,
            context: wit::Context {
                call_id: asked.call_id,
                attempt: asked.attempt,
                deadline_ms: asked.deadline_ms,
                task: asked.task,
            },
        };
        let clock = Clock { shown: Shown::Real(Instant::now()), times: Times::play(times) };
        let surroundings = Surroundings { progress: None, cancel: None, clock, seed, tape: Tape::play(entries, exact) };
        let mut reach = self.no_reach(deadline);
        reach.http.play(requests, exact);
        let mut store = attempt::store(self, reach, &limits, deadline, surroundings)
            .map_err(|error| internal(format!("{error:#}")))?;
        let running = component.entry.execute(&mut store, &call);
        let returned = tokio::time::timeout_at(deadline.into(), running).await;
        let raw = attempt::raw(&returned).or_else(|| {
            let Ok(Err(trap)) = &returned else { return None };
            let error = failure::from_trap(&tool.name, store.data().meter.hit, &limits, trap)?;
            attempt::ended_by_itself(&Err(error))
        });
        let Tape::Playing(playing) = std::mem::take(&mut store.data_mut().tape) else {
            return Err(internal("a replay has lost what it plays".into()));
        };
        let requests = store.data_mut().http.played();
        drop(store);
        let requests = requests.await;
        // A crossing that differs ends the component, so what differs in a request came before it.
        let divergence = requests.divergence.or(playing.divergence.clone());
        let other_outcome = || match (raw, playing.rest() + requests.rest) {
            (None, _) => Some("its time was over, and it was not then".to_owned()),
            (Some(raw), _) if exact && Digest::of(&raw) != outcome => Some("it returned something else".to_owned()),
            (Some(_), 0) => None,
            (Some(_), rest) => Some(format!("it returned the same, {rest} crossings earlier")),
        };
        let crossings = playing.played + requests.requests;
        Ok(Rerun { crossings, divergence: divergence.or_else(other_outcome) })
    }
}
