//! What does a component say of itself? Asked without any authority; what it answers grants nothing.

use super::Sandbox;
use super::attempt::{self, Surroundings};
use super::limits::Limits;
use super::worker::{Answer, Ask, Order};
use crate::call::Digest;
use crate::document::excerpt;
use crate::error::{Error, Kind, Step};
use crate::registry::manifest::LimitsManifest;
use std::time::{Duration, Instant};

/// How long a component may take to say what it is.
const TIME: Duration = Duration::from_secs(5);

/// What a component says of itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Description {
    /// The adapter's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its tools.
    pub tools: Vec<ToolDescription>,
}

/// What a component says of one of its tools.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolDescription {
    /// The name by which it knows it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, as text.
    pub input_schema: String,
}

impl Sandbox {
    /// Asks an installed component what it is. Dropping the future ends it.
    ///
    /// # Errors
    /// `internal` for one that is not installed, `trap` for one that breaks off, `timeout` for one that does not answer.
    pub async fn describe(&self, linked: &Digest) -> Result<Description, Error> {
        let component =
            self.ready(linked).ok_or_else(|| Error::internal(Step::Sandbox, "the component is not installed"))?;
        let limits = Limits::of(&LimitsManifest::default(), Some(TIME), &self.ceiling);
        let deadline = Instant::now() + TIME;
        let _tick = self.ticking.hold();
        let reach = self.no_reach(deadline);
        let broken = |error: wasmtime::Error| {
            Error::new(Step::Sandbox, Kind::Trap, "the component breaks off when it is asked what it is")
                .log(format!("{error:#}"))
        };
        let mut store = attempt::store(self, reach, &limits, deadline, Surroundings::default()).map_err(broken)?;
        if let Some(worker) = &component.worker {
            let order = Order::question(Ask::Description, &limits, deadline, store);
            return match worker.run(self, order).await?.answer {
                Answer::Described(described) => Ok(described),
                _ => Err(Error::new(Step::Sandbox, Kind::Trap, "the component does not say what it is")),
            };
        }
        let described = tokio::time::timeout_at(deadline.into(), component.entry.describe(&mut store)).await;
        described
            .map_err(|_| Error::new(Step::Sandbox, Kind::Timeout, "the component does not say what it is"))?
            .map_err(broken)
    }
}

impl Description {
    /// What a component said, no longer than anybody reads.
    pub(super) fn of(said: super::bindings::exports::hermes::tool::tool_execution::Description) -> Description {
        let tool = |tool: super::wit::ToolDescription| ToolDescription {
            name: excerpt(&tool.name, 200),
            description: excerpt(&tool.description, 8192),
            input_schema: tool.input_schema,
        };
        Description {
            name: excerpt(&said.name, 200),
            version: excerpt(&said.version, 200),
            tools: said.tools.into_iter().map(tool).collect(),
        }
    }
}
