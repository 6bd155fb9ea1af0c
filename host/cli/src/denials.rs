//! What was denied, and what have denials in common?

use crate::args::Format;
use crate::failure::Failure;
use crate::output;
use crate::terminal::printable_lines;
use hermes_runtime::error::Step;
use hermes_runtime::injection::audit::Reader;
use hermes_runtime::record::Record;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Records that are looked at, the newest.
const LIMIT: u32 = 100_000;

/// What makes two denials alike.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Alike {
    tool: String,
    role: String,
    layer: Option<u8>,
    kind: &'static str,
    reason: Option<String>,
}

#[derive(Serialize)]
struct Denials {
    #[serde(flatten)]
    alike: Alike,
    calls: u32,
    callers: usize,
    last_ms: u64,
    message: String,
}

/// `stats denials`: how often what was denied, of one tool or of all.
pub(crate) fn show(state_dir: &Path, tool: Option<&str>, format: Format) -> Result<u8, Failure> {
    let mut groups: BTreeMap<Alike, Vec<Record>> = BTreeMap::new();
    for entry in Reader::open(state_dir)?.list(LIMIT)? {
        let record = entry.record;
        let Some(error) = record.error.as_ref().filter(|error| error.step == Step::Permission) else { continue };
        if tool.is_some_and(|tool| *record.facts.tool != *tool) {
            continue;
        }
        let alike = Alike {
            tool: record.facts.tool.to_string(),
            role: record.caller.role.clone(),
            layer: record.facts.layer,
            kind: error.kind.name(),
            reason: error.reason.as_ref().map(|reason| reason.to_string()),
        };
        groups.entry(alike).or_default().push(record);
    }
    let mut rows: Vec<Denials> = groups.into_iter().map(|(alike, records)| counted(alike, &records)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.calls, row.last_ms)));
    match format {
        Format::Json | Format::Ndjson => output::document(&rows, format),
        Format::Text if rows.is_empty() => output::line("nothing was denied"),
        Format::Text => rows.iter().for_each(|row| output::line(&printable_lines(&line(row)))),
    }
    Ok(0)
}

fn counted(alike: Alike, records: &[Record]) -> Denials {
    let callers: std::collections::BTreeSet<&str> = records.iter().map(|record| record.caller.id.as_str()).collect();
    let last = records.iter().max_by_key(|record| record.time_ms);
    let said = last.and_then(|record| record.error.as_ref()).map(|error| error.message.clone());
    Denials {
        alike,
        calls: u32::try_from(records.len()).unwrap_or(u32::MAX),
        callers: callers.len(),
        last_ms: last.map_or(0, |record| record.time_ms),
        message: said.unwrap_or_default(),
    }
}

fn line(row: &Denials) -> String {
    let Alike { tool, role, layer, kind, reason } = &row.alike;
    let layer = layer.map_or("-".into(), |layer| layer.to_string());
    let reason = reason.as_ref().map(|reason| format!(" {reason}")).unwrap_or_default();
    format!("{:>6}  {tool} as {role}, layer {layer}: {kind}{reason}; {}", row.calls, row.message)
}
