//! What of a result was used? Compares each cut result with what the next calls of its session asked about, and keeps the
//! weights that were fitted to that, version by version.
#![expect(clippy::disallowed_methods, reason = "fitted weights lie beside the journal")]

use crate::artifact::Artifacts;
use crate::injection::audit::{AuditError, Reader};
use crate::record::{Kept, Record};
use crate::result::relevance::{FEATURES, Feature, Weights};
use crate::result::tune::{self, Sample};
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
}

/// What became of the cut results, and the samples that weights can be fitted to.
pub fn gather(state_dir: &Path, budget_tokens: u32) -> Result<(Usage, Vec<Sample>), AuditError> {
    let reader = Reader::open(state_dir)?;
    let artifacts = Artifacts::beneath(state_dir);
    let (mut usage, mut samples) = (Usage::default(), Vec::new());
    for session in reader.sessions(SESSIONS)? {
        let calls = reader.calls(&session.session, CALLS)?;
        for (index, (record, kept)) in calls.iter().enumerate() {
            look(&artifacts, (record, kept.as_ref()), &calls[index + 1..], budget_tokens, &mut usage, &mut samples);
        }
    }
    if usage.cut > 0 {
        usage.shown /= usage.cut as f64;
    }
    Ok((usage, samples))
}

fn look(
    artifacts: &Artifacts,
    (record, kept): (&Record, Option<&Kept>),
    after: &[(Record, Option<Kept>)],
    budget_tokens: u32,
    usage: &mut Usage,
    samples: &mut Vec<Sample>,
) {
    let same = |(next, _): &(Record, Option<Kept>)| {
        next.facts.args_digest.is_some()
            && next.facts.args_digest == record.facts.args_digest
            && next.facts.tool == record.facts.tool
    };
    usage.repeats += usize::from(after.first().is_some_and(same));
    let Some(shown) = record.facts.shown.as_ref().filter(|shown| shown.handle.is_some()) else { return };
    usage.cut += 1;
    usage.shown += shown.kept as f64 / shown.total.max(1) as f64;
    let handle = shown.handle.as_deref().unwrap_or_default();
    let next: Vec<&Kept> = after.iter().take(NEXT).filter_map(|(_, kept)| kept.as_ref()).collect();
    usage.read_on += usize::from(next.iter().any(|kept| kept.args.contains(handle)));
    let (Some(kept), Some(whole)) = (kept, artifacts.get(&record.caller, handle)) else { return };
    let asked: Vec<String> =
        next.iter().flat_map(|kept| texts(&kept.args)).filter(|text| !text.contains(handle)).collect();
    let mut needed = Vec::new();
    for text in asked {
        let in_whole = tune::contains(&whole.data, &text);
        let in_shown = tune::contains(&kept.data, &text);
        usage.used_from_shown += usize::from(in_shown);
        usage.used_from_left_out += usize::from(in_whole && !in_shown);
        usage.in_no_result += usize::from(!in_whole && !in_shown);
        needed.extend(in_whole.then_some(text));
    }
    if !needed.is_empty() {
        let task = record.situation.task.clone().unwrap_or_else(|| kept.args.to_string());
        samples.push(Sample { data: whole.data, texts: vec![task], budget_tokens, needed });
    }
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
