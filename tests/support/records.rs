//! What does the journal say, and is it whole? The checks that every test of a call makes. Must not know any tool.

use hermes_runtime::injection::audit::{Entry, Reader, Verification};
use hermes_runtime::record::{Record, RecordKind};
use std::path::Path;

/// The records of a call: at most one intent, then those of further attempts, and exactly one outcome, which comes last.
pub(crate) fn of_call(state_dir: &Path, call_id: &str) -> (Option<Record>, Record) {
    let mut entries: Vec<Entry> = Reader::open(state_dir).unwrap().show(call_id).unwrap();
    entries.retain(|entry| entry.record.kind != RecordKind::Attempt);
    let kinds: Vec<RecordKind> = entries.iter().map(|entry| entry.record.kind).collect();
    assert!(
        matches!(kinds.as_slice(), [RecordKind::Outcome] | [RecordKind::Intent, RecordKind::Outcome]),
        "call {call_id} has the records {kinds:?}, not one outcome"
    );
    let outcome = entries.pop().unwrap().record;
    (entries.pop().map(|entry| entry.record), outcome)
}

/// The whole chain, found unbroken.
pub(crate) fn verified(state_dir: &Path) -> Verification {
    let verification = Reader::open(state_dir).unwrap().verify().unwrap();
    assert_eq!(verification.broken, None);
    verification
}

/// The steps of an outcome, each as `step verdict` or `step verdict reason`.
pub(crate) fn steps(record: &Record) -> Vec<String> {
    let entry = |entry: &hermes_runtime::record::StepEntry| {
        let reason = entry.reason.as_ref().map(|reason| format!(" {reason}")).unwrap_or_default();
        format!("{} {}{reason}", entry.step.name(), entry.verdict)
    };
    record.steps.iter().map(entry).collect()
}
