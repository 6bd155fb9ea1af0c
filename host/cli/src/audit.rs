//! What do the records say, and are they whole? Reads the journal without starting a runtime.

use crate::args::{Arguments, AuditCommand, Format};
use crate::failure::Failure;
use crate::terminal::printable_lines;
use crate::{output, setup};
use hermes_runtime::injection::audit::{self, Entry, EventEntry, Happened, Reader, Repaired, Verification};
use hermes_runtime::record::{Event, Record, RecordKind};
use hermes_runtime::signed::SignedHead;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What the process exits with when the chain is broken.
const BROKEN: u8 = 10;

pub(crate) fn run(arguments: &Arguments, command: &AuditCommand) -> Result<u8, Failure> {
    if let AuditCommand::Verify { export: Some(file), checkpoint } = command {
        return verify_export(file, checkpoint.as_deref(), arguments.output.format());
    }
    let reader = Reader::open(&setup::state_dir(arguments)?)?;
    let format = arguments.output.format();
    match command {
        AuditCommand::List { limit } => list(&reader, *limit, format),
        AuditCommand::Show { call_id } => show(&reader, call_id, format),
        AuditCommand::Incidents { limit } => print(reader.incidents(*limit)?, format),
        AuditCommand::Verify { checkpoint, .. } => {
            verify(&reader.verify_against(read_checkpoint(checkpoint.as_deref())?.as_ref())?, format)
        }
        AuditCommand::Export { file } => export(&reader, file),
        AuditCommand::Checkpoint => match reader.head()? {
            Some(head) => {
                output::document(&head, Format::Ndjson);
                Ok(0)
            }
            None => Err(Failure::unavailable("nothing is signed yet; the first call does it")),
        },
    }
}

/// Checks an export, for which no journal is needed.
fn verify_export(file: &Path, checkpoint: Option<&Path>, format: Format) -> Result<u8, Failure> {
    let open = std::fs::File::open(file)
        .map_err(|error| Failure::usage(format!("`{}` cannot be opened: {error}", file.display())))?;
    let checkpoint = read_checkpoint(checkpoint)?;
    match audit::export::verify(std::io::BufReader::new(open), checkpoint.as_ref()) {
        Ok(verification) => verify(&verification, format),
        Err(error) => Err(Failure { exit: BROKEN, ..Failure::usage(error.to_string()) }),
    }
}

fn read_checkpoint(file: Option<&Path>) -> Result<Option<SignedHead>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let wrong = |why: String| Failure::usage(format!("`{}` is no checkpoint: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map(Some).map_err(|error| wrong(error.to_string()))
}

fn export(reader: &Reader, file: &Path) -> Result<u8, Failure> {
    let failed = |error: audit::export::ExportError| match error {
        audit::export::ExportError::Journal(error) => Failure::from(error),
        error => Failure::unavailable(error.to_string()),
    };
    if file == Path::new("-") {
        reader.export(&mut std::io::stdout().lock()).map_err(failed)?;
        return Ok(0);
    }
    // What is in the state folder is for its owner alone, and so is a copy of it.
    let made = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .map_err(|error| Failure::usage(format!("`{}` cannot be written: {error}", file.display())))?;
    let mut out = std::io::BufWriter::new(made);
    let records = reader.export(&mut out).map_err(failed)?;
    out.into_inner()
        .map_err(|error| error.into_error())
        .and_then(|file| file.sync_all())
        .map_err(|error| Failure::unavailable(format!("`{}` cannot be written: {error}", file.display())))?;
    output::line(&format!("{} in `{}`", output::counted(records, "record"), file.display()));
    Ok(0)
}

fn list(reader: &Reader, limit: u32, format: Format) -> Result<u8, Failure> {
    let mut happened = reader.happened(limit)?;
    happened.reverse();
    let line = |happened: &Happened| match happened {
        Happened::Call(entry) => one_line(&entry.record),
        Happened::Event(EventEntry { event, .. }) => {
            format!("{} {} [EVENT] {} by={}", time(event.time_ms), event.id, event.what, event.by)
        }
    };
    match format {
        Format::Text => happened.iter().for_each(|it| output::line(&printable_lines(&line(it)))),
        Format::Json => output::document(&happened, format),
        Format::Ndjson => happened.iter().for_each(|it| output::document(it, format)),
    }
    Ok(0)
}

fn print(mut entries: Vec<Entry>, format: Format) -> Result<u8, Failure> {
    entries.reverse();
    match format {
        Format::Text => entries.iter().for_each(|entry| output::line(&printable_lines(&one_line(&entry.record)))),
        Format::Json => output::document(&entries, format),
        Format::Ndjson => entries.iter().for_each(|entry| output::document(entry, format)),
    }
    Ok(0)
}

/// `2026-03-01T10:00:00Z 01J… [PERMISSION_DENIED] role=Builder tool=deploy layer=1`.
pub(crate) fn one_line(record: &Record) -> String {
    let outcome = match (record.kind, &record.error) {
        (RecordKind::Intent, _) => "INTENT".to_owned(),
        (RecordKind::Attempt, _) => format!("ATTEMPT {}", record.attempt.unwrap_or_default()),
        (_, None) => "OK".to_owned(),
        (_, Some(error)) => format!("{}_{}", error.step.name(), error.kind.name()).to_uppercase(),
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

pub(crate) fn time(ms: u64) -> String {
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
    if let Some(entry) = reader.event(&call_id)? {
        show_event(&entry, format);
        return Ok(0);
    }
    let entries = reader.show(&call_id)?;
    match format {
        Format::Json | Format::Ndjson => output::document(&entries, format),
        Format::Text => entries.iter().for_each(show_text),
    }
    Ok(0)
}

/// What happened beside the calls: a person's decision, a change of a session, a repair.
fn show_event(entry: &EventEntry, format: Format) {
    if format != Format::Text {
        return output::document(entry, format);
    }
    let Event { time_ms, what, by, details, .. } = &entry.event;
    output::line(&format!("record {} · event · {}", entry.seq, entry.hash));
    output::line(&printable_lines(&format!("{} {what} by {by}", time(*time_ms))));
    for (name, value) in details.as_object().into_iter().flatten() {
        let said = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        output::line(&format!("  {name:<10} {}", printable_lines(&said)));
    }
}

fn show_text(entry: &Entry) {
    let record = &entry.record;
    output::line(&format!("record {} · {:?} · {}", entry.seq, record.kind, entry.hash).to_lowercase());
    output::line(&printable_lines(&one_line(&entry.record)));
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
    let situation = &record.situation;
    let rows = [
        ("caller", Some(format!("{} in session {}", record.caller.id, record.session))),
        ("within", record.parent.as_ref().map(|parent| format!("call {parent}"))),
        ("workflow", situation.workflow.clone()),
        ("purpose", situation.purpose.clone()),
        ("task", situation.task.clone()),
        ("arguments", facts.args.as_deref().map(str::to_owned)),
        ("digest", facts.args_digest.map(|digest| digest.to_string())),
        ("component", facts.component.map(|digest| digest.to_string())),
        ("risk", (!facts.risk_factors.is_empty()).then(|| facts.risk_factors.join(", "))),
        ("approver", facts.approver.clone()),
        ("holds", (!facts.sensitivity.is_empty()).then(|| facts.sensitivity.join(", "))),
        ("replay", facts.not_replayable.as_ref().map(|why| format!("not possible: {why}"))),
        ("replay", facts.inexact.as_ref().map(|why| format!("contents cannot be compared: {why}"))),
        ("error", record.error.as_ref().map(|error| error.message.clone())),
        ("insides", record.insides.clone()),
        ("log", (!facts.log.is_empty()).then(|| facts.log.join("\n"))),
    ];
    for (label, value) in rows {
        if let Some(value) = value {
            let value = printable_lines(value.trim_end()).replace('\n', "\n             ");
            output::line(&format!("  {label:<10} {value}"));
        }
    }
    if let Some(usage) = facts.usage {
        output::line(&format!(
            "  used       {} fuel, {} KiB of memory, {}, {} bytes in, {} out, {} across, {} µs of {} µs on the \
             processor, {}",
            usage.fuel,
            usage.memory_bytes >> 10,
            output::counted(usage.host_calls, "host call"),
            usage.bytes_in,
            usage.bytes_out,
            usage.bytes_across,
            usage.cpu_us,
            usage.wall_us,
            output::counted(usage.attempts, "attempt")
        ));
    }
}

/// A write that a crash cut off.
pub(crate) fn said(repaired: &Repaired) -> String {
    format!(
        "record {}: an unfinished write of {} bytes was dropped at the start of {}; nobody had been told that it was done",
        repaired.seq,
        repaired.bytes,
        time(repaired.time_ms)
    )
}

fn verify(verification: &Verification, format: Format) -> Result<u8, Failure> {
    match format {
        Format::Json | Format::Ndjson => output::document(verification, format),
        Format::Text => {
            match &verification.broken {
                None => {
                    let signed = verification.signed_by.as_ref().map(|key| format!(", signed by {key}"));
                    output::line(&format!(
                        "{}, unbroken; head {}{}",
                        output::counted(verification.records, "record"),
                        verification.head,
                        signed.unwrap_or_default()
                    ))
                }
                Some((seq, why)) => output::line(&format!("record {seq} is not what was written: {why}")),
            }
            for repaired in &verification.repaired {
                output::line(&said(repaired));
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
