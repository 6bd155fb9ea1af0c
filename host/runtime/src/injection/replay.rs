//! What would an agent get that makes the calls of a recorded session again? The recorded answers, each once, by
//! occurrence and not by likeness; the first call that was not made then is a divergence. Runs no tool. Pure.

use crate::call::Digest;
use crate::error::Error;
use crate::record::{Kept, Record};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A recorded session that is replayed. Lifetime: one replay.
#[derive(Debug)]
pub struct Replay {
    calls: Vec<Recorded>,
}

#[derive(Debug)]
struct Recorded {
    record: Record,
    kept: Option<Kept>,
    given: bool,
}

/// A recorded answer.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The recorded call's id.
    pub call_id: Arc<str>,
    /// What it got.
    pub data: Value,
    /// Why it was refused or failed then, so it is now.
    pub error: Option<Error>,
    /// How often it was tried then.
    pub attempts: u32,
    /// Why the answer is not just what it was: a mask stands in it, or it was too large to be recorded.
    pub inexact: Option<&'static str>,
}

/// How a replay differs from what was recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Divergence {
    /// Such a call was not made then, or not so often.
    #[error("`{tool}` was not called with these arguments {}", if *times == 0 { "then".to_owned() } else { format!("more than {times} times then") })]
    Extra {
        /// The tool.
        tool: String,
        /// How often it was called so.
        times: usize,
    },
    /// Calls of then were not made.
    #[error("{} recorded calls were not made again, the first is `{tool}` ({call_id})", count)]
    Missing {
        /// How many.
        count: usize,
        /// The first one's tool.
        tool: String,
        /// And id.
        call_id: String,
    },
    /// Another component serves the tool now.
    #[error("`{tool}` ran in the component {recorded} then, and {now} serves it now")]
    Component {
        /// The tool.
        tool: String,
        /// What ran.
        recorded: Digest,
        /// What would run.
        now: Digest,
    },
}

impl Replay {
    /// A replay of a session's calls, in order.
    pub fn of(calls: Vec<(Record, Option<Kept>)>) -> Replay {
        let recorded = |(record, kept)| Recorded { record, kept, given: false };
        Replay { calls: calls.into_iter().map(recorded).collect() }
    }

    /// The components that serve the recorded tools now and are not those that ran.
    pub fn changed_components(&self, now: &HashMap<String, Digest>) -> Vec<Divergence> {
        let mut changed: Vec<Divergence> = Vec::new();
        for Recorded { record, .. } in &self.calls {
            let (Some(recorded), Some(now)) = (record.facts.component, now.get(&*record.facts.tool)) else { continue };
            let divergence = Divergence::Component { tool: record.facts.tool.to_string(), recorded, now: *now };
            if recorded != *now && !changed.contains(&divergence) {
                changed.push(divergence);
            }
        }
        changed
    }

    /// The next recorded answer to a call; equal calls get their answers in the order in which they were made.
    ///
    /// # Errors
    /// If no such call is left.
    pub fn answer(&mut self, tool: &str, args: &Value) -> Result<Replayed, Divergence> {
        let canonical = crate::canonical::to_string(args);
        let digest = Digest::of(canonical.as_bytes());
        let is_it = |recorded: &Recorded| {
            let facts = &recorded.record.facts;
            let same = match (&recorded.kept, facts.args_digest) {
                (_, Some(known)) if known == digest => true,
                (Some(kept), _) => *kept.args == *canonical,
                (None, _) => false,
            };
            *facts.tool == *tool && same
        };
        let times = self.calls.iter().filter(|recorded| is_it(recorded)).count();
        match self.calls.iter_mut().find(|recorded| !recorded.given && is_it(recorded)) {
            None => Err(Divergence::Extra { tool: tool.to_owned(), times }),
            Some(recorded) => {
                recorded.given = true;
                Ok(replayed(recorded))
            }
        }
    }

    /// The next recorded answer to a call of a tool whose arguments were not recorded, as those of a call are not that was
    /// refused before they were looked at.
    ///
    /// # Errors
    /// If no such call is left.
    pub fn answer_unseen(&mut self, tool: &str) -> Result<Replayed, Divergence> {
        let is_it = |recorded: &Recorded| {
            !recorded.given && *recorded.record.facts.tool == *tool && arguments(recorded).is_none()
        };
        match self.calls.iter_mut().find(|recorded| is_it(recorded)) {
            None => Err(Divergence::Extra { tool: tool.to_owned(), times: 0 }),
            Some(recorded) => {
                recorded.given = true;
                Ok(replayed(recorded))
            }
        }
    }

    /// What is left when the replay is over.
    ///
    /// # Errors
    /// If calls were not made again.
    pub fn end(self) -> Result<(), Divergence> {
        let mut left = self.calls.iter().filter(|recorded| !recorded.given);
        match left.next() {
            None => Ok(()),
            Some(first) => Err(Divergence::Missing {
                tool: first.record.facts.tool.to_string(),
                call_id: first.record.call_id.to_string(),
                count: 1 + left.count(),
            }),
        }
    }
}

/// The arguments of a recorded call, as far as they were recorded.
fn arguments(recorded: &Recorded) -> Option<&Arc<str>> {
    recorded.kept.as_ref().map(|kept| &kept.args).or(recorded.record.facts.args.as_ref())
}

fn replayed(recorded: &Recorded) -> Replayed {
    let record = &recorded.record;
    let masked = record.facts.shown.as_ref().is_some_and(|shown| shown.masks > 0)
        || recorded.kept.as_ref().is_some_and(|kept| kept.args.contains("[masked:"));
    let inexact = match (&recorded.kept, masked) {
        (None, _) if record.error.is_none() => Some("the answer was too large to be recorded"),
        (_, true) => Some("a mask stands for a secret"),
        (_, false) => None,
    };
    Replayed {
        call_id: record.call_id.clone(),
        data: recorded.kept.as_ref().map_or(Value::Null, |kept| kept.data.clone()),
        error: record.error.clone(),
        attempts: record.steps.iter().filter(|entry| entry.step == crate::error::Step::Sandbox).count() as u32,
        inexact,
    }
}
