//! What do the records say, and are they whole? Reads the journal without starting a runtime.

use crate::args::{Arguments, AuditCommand, Format};
use crate::failure::Failure;
use crate::terminal::printable_lines;
use crate::{output, setup};
use hermes_runtime::injection::audit::{Entry, Reader, Verification};

/// What the process exits with when the chain is broken.
const BROKEN: u8 = 10;

pub(crate) fn run(arguments: &Arguments, command: &AuditCommand) -> Result<u8, Failure> {
    let reader = Reader::open(&setup::state_dir(arguments)?)?;
    let format = arguments.output.format();
    match command {
        AuditCommand::List { limit } => list(&reader, *limit, format),
        AuditCommand::Show { call_id } => show(&reader, call_id, format),
        AuditCommand::Verify => verify(&reader.verify()?, format),
    }
}

fn list(reader: &Reader, limit: u32, format: Format) -> Result<u8, Failure> {
    let mut entries = reader.list(limit)?;
    entries.reverse();
    match format {
        Format::Text => entries.iter().for_each(|entry| output::line(&printable_lines(&one_line(entry)))),
        Format::Json => output::document(&entries, format),
        Format::Ndjson => entries.iter().for_each(|entry| output::document(entry, format)),
    }
    Ok(0)
}

/// `2026-03-01T10:00:00Z 01J… [PERMISSION_DENIED] role=Builder tool=deploy layer=1`.
fn one_line(entry: &Entry) -> String {
    let record = &entry.record;
    let outcome = match &record.error {
        None => "OK".to_owned(),
        Some(error) => format!("{}_{}", error.step.name(), error.kind.name()).to_uppercase(),
    };
    let facts = &record.facts;
    let mut line = format!(
        "{} {} [{outcome}] role={} tool={}",
        time(record.time_ms),
        record.call_id,
        record.caller.role,
        facts.tool
    );
    if let Some(layer) = facts.layer {
        line.push_str(&format!(" layer={layer}"));
    }
    if let (Some(level), Some(points)) = (&facts.risk_level, facts.risk) {
        line.push_str(&format!(" risk={level}({points})"));
    }
    if !facts.targets.is_empty() {
        line.push_str(&format!(" target={}", facts.targets.join(",")));
    }
    line.push_str(&format!(" {:.1}ms", record.duration_us as f64 / 1000.0));
    line
}

fn time(ms: u64) -> String {
    let timestamp = jiff::Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(i64::MAX));
    timestamp.map(|timestamp| format!("{timestamp:.3}")).unwrap_or_default()
}

fn show(reader: &Reader, prefix: &str, format: Format) -> Result<u8, Failure> {
    let found = reader.find(prefix)?;
    let shown = hermes_runtime::document::printable(prefix);
    let call_id = match found.as_slice() {
        [call_id] => call_id.clone(),
        [] => return Err(Failure::unknown(format!("no call's id begins with `{shown}`"))),
        _ => {
            return Err(Failure::usage(format!(
                "several calls' ids begin with `{shown}`; give more of the one you mean"
            )));
        }
    };
    let entries = reader.show(&call_id)?;
    match format {
        Format::Json | Format::Ndjson => output::document(&entries, format),
        Format::Text => entries.iter().for_each(show_text),
    }
    Ok(0)
}

fn show_text(entry: &Entry) {
    let record = &entry.record;
    output::line(&format!("record {} · {:?} · {}", entry.seq, record.kind, entry.hash).to_lowercase());
    output::line(&printable_lines(&one_line(entry)));
    for step in &record.steps {
        let reason = step.reason.as_ref().map(|reason| format!(" · {reason}")).unwrap_or_default();
        output::line(&format!(
            "  {} {:<11} {:>8} µs  {}{reason}",
            step.step.number(),
            step.step.name(),
            step.us,
            step.verdict
        ));
    }
    let facts = &record.facts;
    let rows = [
        ("arguments", facts.args.as_deref().map(str::to_owned)),
        ("digest", facts.args_digest.map(|digest| digest.to_string())),
        ("component", facts.component.map(|digest| digest.to_string())),
        ("risk", (!facts.risk_factors.is_empty()).then(|| facts.risk_factors.join(", "))),
        ("approver", facts.approver.clone()),
        ("error", record.error.as_ref().map(|error| error.message.clone())),
        ("insides", record.insides.clone()),
        ("log", (!facts.log.is_empty()).then(|| format!("\n{}", facts.log.join("\n")))),
    ];
    for (label, value) in rows {
        if let Some(value) = value {
            output::line(&format!("  {label:<10} {}", printable_lines(&value)));
        }
    }
    if let Some(usage) = facts.usage {
        output::line(&format!(
            "  used       {} fuel, {} KiB of memory, {} host calls, {} µs",
            usage.fuel,
            usage.memory_bytes >> 10,
            usage.host_calls,
            usage.wall_us
        ));
    }
}

fn verify(verification: &Verification, format: Format) -> Result<u8, Failure> {
    match format {
        Format::Json | Format::Ndjson => output::document(verification, format),
        Format::Text => {
            match &verification.broken {
                None => {
                    output::line(&format!("{} records, unbroken; head {}", verification.records, verification.head))
                }
                Some((seq, why)) => output::line(&format!("record {seq} is not what was written: {why}")),
            }
            for call_id in &verification.unknown {
                output::line(&format!(
                    "call {call_id} was about to run and has no outcome: what came of it is unknown"
                ));
            }
        }
    }
    Ok(if verification.broken.is_some() { BROKEN } else { 0 })
}
