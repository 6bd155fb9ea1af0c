//! What of a result was used? Compares each cut result with what the next calls of its session asked about, and keeps the
//! weights that were fitted to that, version by version.
#![expect(clippy::disallowed_methods, reason = "fitted weights lie beside the journal")]

use crate::artifact::Artifacts;
use crate::injection::audit::{AuditError, Reader};
use crate::journal::{self, Numbered, Projection};
use crate::record::{Kept, Record};
use crate::result::relevance::{FEATURES, Feature, Weights};
use crate::result::truncate;
use crate::result::tune::{self, Sample};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Sessions that are looked at.
const SESSIONS: u32 = 1000;
/// Calls of one session that are looked at.
const CALLS: usize = 1000;
/// How many of the next calls tell what was used.
const NEXT: usize = 3;
/// A shorter text is in every result.
const SHORTEST: usize = 4;

/// What programs around the runtime have said about results.
pub(crate) const PROJECTION: Projection = Projection {
    tables: "CREATE TABLE IF NOT EXISTS reports (call_id TEXT PRIMARY KEY, used TEXT NOT NULL, right INTEGER NOT NULL) STRICT;",
    apply,
};

/// What the event says that tells of a result's use.
pub(crate) const REPORTED: &str = "result.outcome";

fn apply(connection: &Connection, records: &[Numbered<'_>]) -> rusqlite::Result<()> {
    for event in journal::events(records).filter(|event| *event.what == *REPORTED) {
        let details = &event.details;
        let (call_id, right) = (details["call_id"].as_str().unwrap_or_default(), details["right"] == true);
        // The last word about a call counts.
        connection
            .prepare_cached("INSERT OR REPLACE INTO reports (call_id, used, right) VALUES (?1, ?2, ?3)")?
            .execute((call_id, details["used"].to_string(), right))?;
    }
    Ok(())
}

/// What a program around the runtime said about the result of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Texts of it that were used.
    pub used: Vec<String>,
    /// Whether it was right.
    pub right: bool,
}

/// All reports, by the call's id.
pub(crate) fn reports(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Report>> {
    let mut statement = connection.prepare("SELECT call_id, used, right FROM reports")?;
    let report = |row: &rusqlite::Row<'_>| {
        let used: String = row.get(1)?;
        Ok((row.get(0)?, Report { used: serde_json::from_str(&used).unwrap_or_default(), right: row.get(2)? }))
    };
    statement.query_map((), report)?.collect()
}

/// What became of the cut results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Results of which a part was left out.
    pub cut: usize,
    /// The mean share of them that was shown.
    pub shown: f64,
    /// Texts of the next calls that were in the part that was shown.
    pub used_from_shown: usize,
    /// Texts that were only in the part that was left out.
    pub used_from_left_out: usize,
    /// Texts that were in no result.
    pub in_no_result: usize,
    /// Results that were read on by their handle.
    pub read_on: usize,
    /// Calls that were made again with the same arguments.
    pub repeats: usize,
    /// Results of any size about which a program around the runtime has said what became of them.
    pub reported: usize,
    /// Those of them that were right.
    pub reported_right: usize,
}

/// What became of the cut results, and the samples that weights can be fitted to.
pub fn gather(state_dir: &Path) -> Result<(Usage, Vec<Sample>), AuditError> {
    let reader = Reader::open(state_dir)?;
    let artifacts = Artifacts::beneath(state_dir);
    let (mut usage, mut samples) = (Usage::default(), Vec::new());
    let reports = reader.reports()?;
    for session in reader.sessions(SESSIONS)? {
        let calls = reader.calls(&session.session, CALLS)?;
        for (index, (record, kept)) in calls.iter().enumerate() {
            let seen =
                Seen { record, kept: kept.as_ref(), after: &calls[index + 1..], report: reports.get(&*record.call_id) };
            samples.extend(look(&artifacts, &seen, &mut usage));
        }
    }
    if usage.cut > 0 {
        usage.shown /= usage.cut as f64;
    }
    Ok((usage, samples))
}

/// One call, and what is known about the use of its result.
struct Seen<'a> {
    record: &'a Record,
    kept: Option<&'a Kept>,
    after: &'a [(Record, Option<Kept>)],
    report: Option<&'a Report>,
}

fn look(artifacts: &Artifacts, seen: &Seen<'_>, usage: &mut Usage) -> Option<Sample> {
    let Seen { record, kept, after, report } = seen;
    let same = |(next, _): &(Record, Option<Kept>)| {
        next.facts.args_digest.is_some()
            && next.facts.args_digest == record.facts.args_digest
            && next.facts.tool == record.facts.tool
    };
    usage.repeats += usize::from(after.first().is_some_and(same));
    usage.reported += usize::from(report.is_some());
    usage.reported_right += usize::from(report.is_some_and(|report| report.right));
    let shown = record.facts.shown.as_ref().filter(|shown| shown.handle.is_some())?;
    usage.cut += 1;
    usage.shown += shown.kept as f64 / shown.total.max(1) as f64;
    let handle = shown.handle.as_deref().unwrap_or_default();
    let next: Vec<&Kept> = after.iter().take(NEXT).filter_map(|(_, kept)| kept.as_ref()).collect();
    usage.read_on += usize::from(next.iter().any(|kept| kept.args.contains(handle)));
    let kept = (*kept)?;
    let whole = artifacts.get(&record.caller, handle)?;
    let asked = next.iter().flat_map(|kept| texts(&kept.args)).filter(|text| !text.contains(handle));
    let asked: Vec<String> = asked.chain(report.iter().flat_map(|report| report.used.clone())).collect();
    let mut needed = Vec::new();
    for text in asked {
        let in_whole = tune::contains(&whole.data, &text);
        let in_shown = tune::contains(&kept.data, &text);
        usage.used_from_shown += usize::from(in_shown);
        usage.used_from_left_out += usize::from(in_whole && !in_shown);
        usage.in_no_result += usize::from(!in_whole && !in_shown);
        needed.extend(in_whole.then_some(text));
    }
    let task = record.situation.task.clone().unwrap_or_else(|| kept.args.to_string());
    // As much as was shown then, whatever the budget is now.
    let budget_tokens = truncate::tokens(shown.kept);
    (!needed.is_empty()).then(|| Sample { data: whole.data, texts: vec![task], budget_tokens, needed })
}

/// The texts of arguments that say what was used: paths and words, not content.
fn texts(args: &str) -> Vec<String> {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) if (SHORTEST..200).contains(&text.len()) && !text.contains('\n') => {
                found.push(text.strip_prefix("/workspace/").unwrap_or(text).to_owned());
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            Value::Object(members) => members.values().for_each(|member| walk(member, found)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(args) {
        walk(&value, &mut found);
    }
    found
}

fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join("weights")
}

/// The versions of fitted weights that there are, the last one in force.
pub fn versions(state_dir: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder(state_dir)).into_iter().flatten();
    let number = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.strip_suffix(".toml")?.parse().ok()
    };
    let mut versions: Vec<u32> = entries.filter_map(number).collect();
    versions.sort_unstable();
    versions
}

/// The weights in force: the last version that was fitted, or the shipped ones. What cannot be read is not in force.
pub fn weights(state_dir: &Path) -> Weights {
    let read = |version: &u32| {
        let text = std::fs::read_to_string(folder(state_dir).join(format!("{version}.toml"))).ok()?;
        let written: BTreeMap<Feature, f32> = toml::from_str(&text).ok()?;
        let mut weights = [0.0; FEATURES];
        for feature in Feature::ALL {
            weights[feature as usize] = *written.get(&feature).filter(|weight| weight.is_finite())?;
        }
        Some(Weights(weights))
    };
    versions(state_dir).last().and_then(read).unwrap_or_default()
}

/// Writes weights as the next version, which is in force from the next start on.
///
/// # Errors
/// If the disk does not take it.
pub fn keep(state_dir: &Path, weights: &Weights) -> std::io::Result<u32> {
    let version = versions(state_dir).last().map_or(1, |last| last + 1);
    let written: BTreeMap<Feature, f32> =
        Feature::ALL.iter().map(|feature| (*feature, weights.0[*feature as usize])).collect();
    let text = toml::to_string(&written).map_err(std::io::Error::other)?;
    std::fs::create_dir_all(folder(state_dir))?;
    let path = folder(state_dir).join(format!("{version}.toml"));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all())?;
    Ok(version)
}

/// Takes the last version back. Which one that was; nothing if the shipped weights are in force.
///
/// # Errors
/// If the disk does not do it.
pub fn undo(state_dir: &Path) -> std::io::Result<Option<u32>> {
    let Some(version) = versions(state_dir).last().copied() else { return Ok(None) };
    std::fs::remove_file(folder(state_dir).join(format!("{version}.toml")))?;
    Ok(Some(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_kept_by_version_and_can_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut other = Weights::default();
        other.0[0] = 9.5;
        assert_eq!(weights(folder.path()), Weights::default());
        assert_eq!(keep(folder.path(), &other).unwrap(), 1);
        assert_eq!(weights(folder.path()), other);
        assert_eq!(undo(folder.path()).unwrap(), Some(1));
        assert_eq!((weights(folder.path()), undo(folder.path()).unwrap()), (Weights::default(), None));
    }
}
