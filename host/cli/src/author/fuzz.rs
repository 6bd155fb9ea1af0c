//! Which inputs break a plugin? Shows what was found, how to see it again, and a test that keeps it from coming back.
#![expect(clippy::disallowed_methods, reason = "a picture of a run is written where its author wants it")]

use crate::args::{Arguments, Format};
use crate::failure::Failure;
use crate::{output, setup};
use hermes_runtime::injection::audit::Reader;
use hermes_testkit::fuzz::{Coverage, Plan, Report, fuzz, plot};
use hermes_testkit::plugin::Plugin;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was asked for.
pub(crate) struct Wanted<'a> {
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) corpus: Option<&'a Path>,
    pub(crate) replay: bool,
    pub(crate) enough: Option<usize>,
    pub(crate) recorded: bool,
    pub(crate) calls: Option<u64>,
    pub(crate) blind: bool,
    pub(crate) plot: Option<&'a Path>,
}

/// Sessions that are looked through for arguments, and calls of each.
const SESSIONS: u32 = 200;
const CALLS: usize = 2000;

pub(crate) fn run(arguments: &Arguments, plugin: &Path, wanted: &Wanted<'_>) -> Result<u8, Failure> {
    let read = Plugin::read(plugin).map_err(|why| Failure::usage(format!("`{}`: {why}", plugin.display())))?;
    let beside = if plugin.is_dir() { plugin.join("fuzz") } else { plugin.with_extension("fuzz") };
    let corpus = wanted.corpus.map_or(beside, Path::to_owned);
    let plan = Plan {
        time: wanted.time,
        calls: wanted.calls.unwrap_or(u64::MAX),
        enough: wanted.enough.unwrap_or(usize::MAX),
        seed: wanted.seed,
        corpus: Some(corpus.clone()),
        seeds: if wanted.recorded { recorded(arguments)? } else { Vec::new() },
        known_only: wanted.replay,
        blind: wanted.blind,
    };
    let report = fuzz(&read, &plan).map_err(Failure::usage)?;
    if let Some(file) = wanted.plot {
        draw(&report, plugin, file)?;
    }
    match arguments.output.format() {
        Format::Text => show(&report, plugin, &corpus),
        format => output::document(&described(&report), format),
    }
    Ok(if report.findings.is_empty() { 0 } else { 5 })
}

/// The arguments of past calls, good and bad ones, as far as they are in the journal: beside records for trajectories,
/// in records of calls above low risk, and the beginning of those of refused ones where that is all of them.
fn recorded(arguments: &Arguments) -> Result<Vec<(String, Value)>, Failure> {
    let reader = Reader::open(&setup::state_dir(arguments)?)?;
    let mut found = Vec::new();
    for session in reader.sessions(SESSIONS)? {
        for (record, kept) in reader.calls(&session.session, CALLS)? {
            let facts = &record.facts;
            let kept = kept.as_ref().map(|kept| &*kept.args);
            let texts = [kept, facts.args.as_deref(), facts.args_excerpt.as_deref()];
            let args = texts.into_iter().flatten().find_map(|text| serde_json::from_str::<Value>(text).ok());
            found.extend(args.map(|args| (facts.tool.to_string(), args)));
        }
    }
    Ok(found)
}

fn show(report: &Report, plugin: &Path, corpus: &Path) {
    for (finding, after) in report.findings.iter().zip(&report.after) {
        let file: PathBuf = corpus.join(finding.file());
        output::line(&crate::terminal::printable_lines(&format!(
            "{finding}\n  found after {:.1} s, kept in {}\n  see it again: hermes-dispatch plugin fuzz {} --replay --corpus {}\n\n{}\n",
            after.as_secs_f64(),
            file.display(),
            plugin.display(),
            corpus.display(),
            finding.test(plugin)
        )));
    }
    if let Some(coverage) = &report.coverage {
        reached(coverage);
    }
    if let Some(why) = &report.unguided {
        output::line(&crate::terminal::printable_lines(&format!("what was reached is not known: {why}")));
    }
    let Report { calls, inputs, accepted, findings, .. } = report;
    output::line(&format!(
        "{calls} calls, {inputs} inputs, of which the tools take {accepted}, findings: {}",
        findings.len()
    ));
}

/// How much was reached, and when.
fn reached(coverage: &Coverage) {
    /// Rows of the table.
    const ROWS: usize = 10;
    let curve = &coverage.curve;
    output::line("  calls   seconds   edges");
    let mut shown = None;
    for row in 0..ROWS.min(curve.len()) {
        // The first, the last, and some between them.
        let index = row * (curve.len() - 1) / (ROWS.min(curve.len()) - 1).max(1);
        if shown.replace(index) != Some(index) {
            let point = curve[index];
            output::line(&format!("{:>7} {:>9.1} {:>7}", point.calls, point.after.as_secs_f64(), point.edges));
        }
    }
    output::line(&format!(
        "{} of {} edges reached, {} inputs kept because they led further",
        coverage.reached(),
        coverage.counted,
        coverage.kept
    ));
}

fn draw(report: &Report, plugin: &Path, file: &Path) -> Result<(), Failure> {
    let Some(coverage) = &report.coverage else {
        let why = report.unguided.as_deref().unwrap_or("the run was blind");
        return Err(Failure::usage(format!("there is nothing to draw: {why}")));
    };
    let title = format!("{}: {} of {} edges", plugin.display(), coverage.reached(), coverage.counted);
    std::fs::write(file, plot(&title, &coverage.curve, report.calls))
        .map_err(|error| Failure::usage(format!("`{}` cannot be written: {error}", file.display())))
}

fn described(report: &Report) -> Value {
    let Report { calls, inputs, accepted, findings, coverage, unguided, .. } = report;
    json!({
        "calls": calls, "inputs": inputs, "accepted": accepted, "findings": findings, "coverage": coverage,
        "unguided": unguided,
    })
}
