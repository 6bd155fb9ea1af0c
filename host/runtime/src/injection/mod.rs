//! Step 7 of 7: what goes back to the agent, and what stays written down?

pub mod audit;
pub mod feedback;
pub mod memory;
pub mod place;
pub(crate) mod recovery;
pub mod render;
pub mod replay;
pub(crate) mod session;
pub mod training;
pub mod trajectory;

use crate::envelope::{Durability, Envelope, Metadata};
use crate::error::{Error, Step};
use crate::record::Masking;
use crate::record::{Kept, Shown};
use crate::result::secret::Masks;
use crate::trail::Trail;
pub use place::{Answer, Unplaced, into};
use serde_json::Value;
use std::sync::Arc;
use tracing::Instrument;

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
    /// The arguments, if they and the result are kept beside the record.
    pub(crate) keep: Option<Arc<str>>,
}

/// Writes the one outcome of a call and makes the answer of it, with no secret in either.
pub(crate) async fn inject(
    mut trail: Trail,
    mut ending: Ending,
    mut metadata: Box<Metadata>,
    masks: &Masks,
) -> Injection {
    if let Some(error) = &mut ending.error {
        metadata.masked += masks.error(error);
    }
    if let Some(masked) = masks.masked(&metadata.tool) {
        metadata.tool = masked;
    }
    for repair in &mut metadata.repairs {
        metadata.masked += masks.value(&mut repair.from) + repair.to.as_mut().map_or(0, |to| masks.value(to));
    }
    trail.facts.repairs = u32::try_from(metadata.repairs.len()).unwrap_or(u32::MAX);
    trail.facts.shown = Some(shown(&ending.data, &metadata));
    if let Some(args) = ending.keep.take() {
        let bytes = args.len() + crate::result::truncate::size(&ending.data);
        trail.kept = Some(Box::new(Kept { args, data: ending.data.clone(), bytes }));
    }
    let approved = trail.facts.approver.is_some() && ending.error.is_none();
    if approved && trail.facts.risk_level.as_deref() == Some("high") {
        trail.facts.result = Some(ending.data.clone());
    }
    metadata.duration_ms = trail.elapsed().as_micros() as f64 / 1000.0;
    let code = ending.error.as_ref().map_or(200, |error| error.code);
    let span = trail.enter(Step::Injection);
    let finishing = trail.finish(code, ending.error.as_ref(), ending.durable).instrument(span.clone());
    let durability = finishing.await;
    span.record("verdict", durability.name());
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

/// What of the result is shown, for the record.
fn shown(data: &Value, metadata: &Metadata) -> Shown {
    let cut = metadata.truncation.as_ref();
    let size = cut.map_or_else(|| crate::result::truncate::size(data), |cut| cut.kept);
    Shown {
        total: cut.map_or(size, |cut| cut.total),
        kept: size,
        handle: cut.and_then(|cut| cut.handle.clone()),
        masks: u32::try_from(metadata.masked).unwrap_or(u32::MAX),
        untrusted: metadata.untrusted,
        gist: memory::gist(data),
    }
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
