//! Which inputs break a plugin? Shows what was found, how to see it again, and a test that keeps it from coming back.

use super::cache;
use crate::args::{Arguments, Format};
use crate::failure::Failure;
use crate::{output, setup};
use hermes_runtime::injection::audit::Reader;
use hermes_testkit::corpus::read_corpus;
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
    pub(crate) recorded: bool,
}

/// Records of past calls that are looked through for arguments.
const RECORDS: u32 = 2000;

pub(crate) fn run(arguments: &Arguments, plugin: &Path, wanted: &Wanted<'_>) -> Result<u8, Failure> {
    let read = Plugin::read(plugin).map_err(|why| Failure::usage(format!("`{}`: {why}", plugin.display())))?;
    let beside = if plugin.is_dir() { plugin.join("fuzz") } else { plugin.with_extension("fuzz") };
    let corpus = wanted.corpus.map_or(beside, Path::to_owned);
    let kept = read_corpus(&corpus).map_err(Failure::usage)?.len() as u64;
    let plan = Plan {
        time: wanted.time,
        // Every input of the corpus is run twice, to see whether it gives the same again.
        calls: if wanted.replay { kept.max(1) } else { u64::MAX },
        enough: usize::MAX,
        seed: wanted.seed,
        corpus: Some(corpus.clone()),
        seeds: if wanted.recorded { recorded(arguments)? } else { Vec::new() },
        cache: Some(cache()?),
    };
    let report = fuzz(&read, &plan).map_err(Failure::usage)?;
    match arguments.output.format() {
        Format::Text => show(&report, plugin, &corpus),
        format => output::document(&described(&report), format),
    }
    Ok(if report.findings.is_empty() { 0 } else { 5 })
}

/// The arguments of past calls, as far as they are in the journal.
fn recorded(arguments: &Arguments) -> Result<Vec<(String, Value)>, Failure> {
    let reader = Reader::open(&setup::state_dir(arguments)?)?;
    let args = |text: &str| serde_json::from_str(text).ok();
    let entries = reader.list(RECORDS)?.into_iter();
    Ok(entries
        .filter_map(|entry| Some((entry.record.facts.tool.to_string(), args(entry.record.facts.args.as_deref()?)?)))
        .collect())
}

fn show(report: &Report, plugin: &Path, corpus: &Path) {
    for finding in &report.findings {
        let file: PathBuf = corpus.join(finding.file());
        output::line(&crate::terminal::printable_lines(&format!(
            "{finding}\n  kept in {}\n  see it again: hermes-dispatch plugin fuzz {} --replay --corpus {}\n\n{}\n",
            file.display(),
            plugin.display(),
            corpus.display(),
            finding.test(plugin)
        )));
    }
    let Report { calls, accepted, findings } = report;
    output::line(&format!("{calls} calls, {accepted} inputs that the tools take, findings: {}", findings.len()));
}

fn described(report: &Report) -> Value {
    json!({ "calls": report.calls, "accepted": report.accepted, "findings": report.findings })
}
