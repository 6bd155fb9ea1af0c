//! Does a recorded call go the same way again? Its component runs on what was recorded; nothing real is reached and nothing
//! is written. Part of the spine.

use crate::dispatch::Runtime;
use crate::error::{Error, Kind, Step};
use crate::injection::trajectory;
use crate::sandbox::Rerun;
use serde::Serialize;

/// What came of running a recorded call's component again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// The call.
    pub call_id: String,
    /// Its tool.
    pub tool: String,
    /// Whether the component that serves the tool now is the one that ran.
    pub same_component: bool,
    /// What it did, if it could run again.
    #[serde(flatten)]
    pub rerun: Option<Rerun>,
    /// Why contents were not compared, only what it asked for in which order: a mask stands in what was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inexact: Option<String>,
    /// Why it could not run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_replayed: Option<String>,
}

impl Replayed {
    /// Whether all was as it was, as far as it could be compared.
    pub fn is_same(&self) -> bool {
        self.same_component && self.rerun.as_ref().is_some_and(|rerun| rerun.divergence.is_none())
    }
}

impl Runtime {
    /// Runs the component of a recorded call again, with the recorded answers of its capabilities, times and randomness,
    /// and says what first was not as it was then.
    ///
    /// # Errors
    /// `invalid_input` if there is no such call, `audit_unavailable` if the journal cannot be read.
    pub async fn replay(&self, call_id: &str) -> Result<Replayed, Error> {
        let id = call_id.to_owned();
        let found = self.journal().read(move |tables| trajectory::tape(tables, &id)).await?;
        let (record, cassette) = found.ok_or_else(|| {
            let shown = crate::document::excerpt(call_id, 80);
            Error::new(Step::Injection, Kind::InvalidInput, format!("no call with the id `{shown}` is recorded"))
        })?;
        let toolbox = self.toolbox();
        let name = record.facts.tool.to_string();
        let mut replayed = Replayed {
            call_id: call_id.to_owned(),
            tool: name.clone(),
            same_component: false,
            rerun: None,
            inexact: record.facts.inexact.as_deref().map(str::to_owned),
            not_replayed: None,
        };
        let tool = toolbox.registry.tools().find(|tool| *tool.name == *name);
        let adapter = toolbox.adapters.all().find(|adapter| Some(&adapter.name) == record.facts.adapter.as_ref());
        let why = match (&record.facts.not_replayable, record.facts.replayable, &record.error) {
            (Some(why), ..) => why,
            (None, Some(_), _) => "what it needs is not kept any more",
            (None, None, Some(_)) => "it ended before a component ran",
            (None, None, None) => "it is one of the runtime's own tools, which have no component",
        };
        match (cassette, tool, adapter) {
            (None, _, _) => replayed.not_replayed = Some(why.to_owned()),
            (_, None, _) => replayed.not_replayed = Some(format!("there is no tool `{name}` any more")),
            (_, _, None) => replayed.not_replayed = Some("its adapter is not there any more".into()),
            (Some(cassette), Some(tool), Some(adapter)) => {
                replayed.same_component = record.facts.component == Some(adapter.component);
                let played = (cassette, replayed.inexact.is_none());
                replayed.rerun = Some(self.sandbox().rerun(&adapter.linked, tool, &adapter.limits, played).await?);
            }
        }
        Ok(replayed)
    }
}
