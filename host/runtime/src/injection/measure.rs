//! What does a monitor see of the calls? Counters and histograms of the crate `metrics`, for whatever exporter the program
//! installs. Only words of a closed set are labels, and tools' names, which an operator chose.

use crate::envelope::{Durability, Metadata};

/// Notes one outcome.
pub(crate) fn note(metadata: &Metadata, code: u16) {
    let labels = [("tool", metadata.tool.clone()), ("code", code.to_string())];
    // What a caller made up is no label: there would be no end of them.
    let labels =
        if metadata.version.is_some() { labels } else { [("tool", String::new()), ("code", code.to_string())] };
    metrics::counter!("hermes_calls_total", &labels).increment(1);
    metrics::histogram!("hermes_call_seconds", &labels).record(metadata.duration_ms / 1000.0);
    if let Some(usage) = &metadata.usage {
        metrics::histogram!("hermes_fuel", &labels).record(usage.fuel as f64);
        metrics::histogram!("hermes_memory_bytes", &labels).record(usage.memory_bytes as f64);
    }
    if metadata.masked > 0 {
        metrics::counter!("hermes_masks_total").increment(metadata.masked as u64);
    }
    if metadata.truncated {
        metrics::counter!("hermes_truncated_total").increment(1);
    }
    if metadata.durability == Some(Durability::Failed) {
        metrics::counter!("hermes_unwritten_total").increment(1);
    }
}
