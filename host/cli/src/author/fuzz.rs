//! Which inputs break a plugin? Shows what was found, how to see it again, and a test that keeps it from coming back.

use crate::args::{Arguments, Format};
use crate::failure::Failure;
use crate::{output, setup};
use hermes_runtime::injection::audit::Reader;
use hermes_testkit::fuzz::{Plan, Report, fuzz};
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
        calls: u64::MAX,
        enough: wanted.enough.unwrap_or(usize::MAX),
        seed: wanted.seed,
        corpus: Some(corpus.clone()),
        seeds: if wanted.recorded { recorded(arguments)? } else { Vec::new() },
        known_only: wanted.replay,
    };
    let report = fuzz(&read, &plan).map_err(Failure::usage)?;
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
    let Report { calls, accepted, findings, .. } = report;
    output::line(&format!("{calls} calls, {accepted} inputs that the tools take, findings: {}", findings.len()));
}

fn described(report: &Report) -> Value {
    json!({ "calls": report.calls, "accepted": report.accepted, "findings": report.findings })
}
