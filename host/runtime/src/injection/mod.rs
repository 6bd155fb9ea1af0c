//! Step 7 of 7: what goes back to the agent, and what stays written down?

pub mod audit;

use crate::envelope::{Durability, Envelope, Metadata};
use crate::error::Error;
use crate::trail::Trail;
use serde_json::Value;

/// What goes back into the agent's context.
#[derive(Clone, Debug)]
pub struct Injection {
    /// The answer.
    pub envelope: Envelope,
}

/// How a call ended.
pub(crate) struct Ending {
    /// The result, or what there was of it before a failure.
    pub(crate) data: Value,
    /// Why it failed.
    pub(crate) error: Option<Error>,
    /// Whether the record has to be on disk before the answer.
    pub(crate) durable: bool,
}

/// Writes the one outcome of a call and makes the answer of it.
pub(crate) async fn inject(trail: Trail, ending: Ending, mut metadata: Metadata) -> Injection {
    metadata.duration_ms = trail.elapsed().as_micros() as f64 / 1000.0;
    let code = ending.error.as_ref().map_or(200, |error| error.code);
    let durability = trail.finish(code, ending.error.as_ref(), ending.durable).await;
    if durability == Durability::Failed {
        metadata.warnings.push("the outcome could not be written to the journal yet; the runtime keeps trying".into());
    }
    metadata.durability = Some(durability);
    let envelope = match ending.error {
        None => Envelope::ok(ending.data, metadata),
        Some(error) => Envelope::error(error, ending.data, metadata),
    };
    Injection { envelope }
}

impl Injection {
    /// The answer to a call of which no trail could be kept.
    pub(crate) fn refused(error: Error, call_id: &str, tool: &str) -> Injection {
        let metadata = Metadata {
            call_id: call_id.to_owned(),
            tool: crate::document::excerpt(tool, 80),
            durability: Some(Durability::Failed),
            ..Metadata::default()
        };
        Injection { envelope: Envelope::error(error, Value::Null, metadata) }
    }
}
