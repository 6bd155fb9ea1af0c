//! What of each tool has a person accepted? A file in the state folder says it, by digest and with the text, so that what
//! narrows counts at once and what widens waits, also over a restart. A tool that was never there is accepted as it is
//! found: nobody has accepted anything else under its name.
#![expect(clippy::disallowed_methods, reason = "the lock file of tools is in the state folder")]

use super::admin::{self, Around, Entry, ManifestText};
use super::change::{self, Difference};
use crate::call::Digest;
use crate::document::Fault;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file.
pub const FILE: &str = "tools.lock";
/// Largest file that is read, in bytes.
const LARGEST: u64 = 512 << 20;
/// How long another process that changes the file is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// All that is accepted. Lifetime: until the file says something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lock {
    /// The manifests, by tool and version.
    pub tools: BTreeMap<String, BTreeMap<String, Accepted>>,
    /// The components, by adapter.
    pub adapters: BTreeMap<String, AcceptedAdapter>,
}

/// A manifest that is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Where it was.
    pub file: PathBuf,
    /// Digest of its text.
    pub digest: Digest,
    /// Its text.
    pub text: String,
}

/// A component that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedAdapter {
    /// Digest of its file.
    pub component: Digest,
    /// What it may ask for.
    pub capabilities: BTreeSet<String>,
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The tool's name, or the adapter's.
    pub name: String,
    /// Where it is.
    pub file: PathBuf,
    /// What differs from what is accepted.
    pub differences: Vec<Difference>,
    /// What is accepted when a person says yes.
    #[serde(skip)]
    pub then: Then,
}

/// What a yes accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// A manifest, by its version.
    Tool(String, Accepted),
    /// A component.
    Adapter(AcceptedAdapter),
}

/// What came of holding manifests against the lock.
#[derive(Debug, Default)]
pub struct Decided {
    /// The manifests that count.
    pub entries: Vec<Entry>,
    /// What is accepted by itself: what is new, and what only narrows.
    pub accepted: Vec<(String, String, Accepted)>,
    /// What waits.
    pub held: Vec<Held>,
    /// What cannot count in any form.
    pub faults: Vec<Fault>,
}

/// Holds manifests against what is accepted. `text` is what a file holds; one that is in `free` is not held.
pub fn decide<'t>(
    entries: Vec<Entry>,
    text: impl Fn(&Path) -> &'t str,
    lock: &Lock,
    around: &Around<'_>,
    free: impl Fn(&Entry) -> bool,
) -> Decided {
    let mut decided = Decided::default();
    for entry in entries {
        let known = lock.tools.get(&*entry.tool.name);
        let same = known.and_then(|versions| versions.get(&*entry.tool.version));
        if free(&entry) || same.is_some_and(|accepted| accepted.digest == entry.text) {
            decided.entries.push(entry);
            continue;
        }
        let (name, version) = (entry.tool.name.to_string(), entry.tool.version.to_string());
        let text = text(&entry.file);
        let now = Accepted { file: entry.file.clone(), digest: entry.text, text: text.to_owned() };
        // A version that was never there is held against the newest one that was.
        let newest = || known.and_then(|versions| versions.iter().max_by_key(|(version, _)| semver(version)));
        let Some((_, before)) = same.map(|accepted| (&version, accepted)).or_else(newest) else {
            decided.accepted.push((name, version, now));
            decided.entries.push(entry);
            continue;
        };
        let old = ManifestText { file: entry.file.clone(), text: before.text.clone(), built_in: None };
        let (mut old, _) = admin::parse(std::slice::from_ref(&old), around);
        let Some(old) = old.pop() else {
            let why = format!("`{name}` changed, and what was accepted of it cannot be read any more");
            decided
                .faults
                .push(Fault::whole(&entry.file, why).hint("look at it, then run `hermes-dispatch tools accept`"));
            let then = Then::Tool(version, now);
            decided.held.push(Held { name, file: entry.file, differences: Vec::new(), then });
            continue;
        };
        let differences = change::differences(&old.tool, &entry.tool);
        if differences.iter().any(|difference| difference.widens) {
            let then = Then::Tool(version, now);
            decided.held.push(Held { name, file: entry.file, differences, then });
            // A new version leaves the one before to its own file; a changed one stays what it was.
            if same.is_some() || old.tool.version != entry.tool.version {
                decided.entries.push(old);
            }
        } else {
            decided.accepted.push((name, version, now));
            decided.entries.push(entry);
        }
    }
    // The version before is there by its own file, and stands in for the held one besides.
    if !decided.held.is_empty() {
        let mut seen = BTreeSet::new();
        decided.entries.retain(|entry| seen.insert((entry.tool.name.clone(), entry.tool.version.clone(), entry.text)));
    }
    decided
}

fn semver(version: &str) -> Option<semver::Version> {
    semver::Version::parse(version).ok()
}

/// Reads the lock.
///
/// # Errors
/// If the file is damaged: what is not known to be accepted must not count.
pub fn read(state_dir: &Path) -> Result<Lock, String> {
    let file = state_dir.join(FILE);
    let damaged = |why: String| {
        format!(
            "the lock file of tools `{}` cannot be used: {why} (restore it, or remove it to accept all tools as they are now)",
            file.display()
        )
    };
    match crate::document::read_regular(&file, LARGEST) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Lock::default()),
        Err(error) => Err(damaged(error.to_string())),
    }
}

/// Changes the lock, alone among all processes. Nothing is written if nothing changes.
///
/// # Errors
/// If the file cannot be read or written.
pub fn change(state_dir: &Path, change: impl FnOnce(&mut Lock)) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the lock file of tools cannot be written: {error}");
    let _alone = alone(state_dir).map_err(failed)?;
    let before = read(state_dir)?;
    let mut now = before.clone();
    change(&mut now);
    if now == before {
        return Ok(());
    }
    let text = serde_json::to_vec(&now).map_err(|error| error.to_string())?;
    let new = state_dir.join(format!(".{FILE}.{}.new", ulid::Ulid::generate()));
    let written = || {
        let mut out = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        out.write_all(&text)?;
        out.sync_all()?;
        std::fs::rename(&new, state_dir.join(FILE))
    };
    written().map_err(failed)
}

/// Holds other processes off for as long as it lives.
fn alone(state_dir: &Path) -> std::io::Result<std::fs::File> {
    use rustix::fs::{FlockOperation, flock};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state_dir)?;
    let mut options = std::fs::OpenOptions::new();
    let guard =
        options.write(true).create(true).truncate(false).mode(0o600).open(state_dir.join(".tools.lock.guard"))?;
    let until = Instant::now() + PATIENCE;
    while flock(&guard, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() >= until {
            return Err(std::io::Error::other("another process changes it for too long"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(guard)
}

/// Accepts what a person has seen, as it was shown.
///
/// # Errors
/// If the lock cannot be changed.
pub fn accept(state_dir: &Path, held: &[Held]) -> Result<(), String> {
    change(state_dir, |lock| {
        for held in held {
            match &held.then {
                Then::Tool(version, accepted) => {
                    let versions = lock.tools.entry(held.name.clone()).or_default();
                    versions.insert(version.clone(), accepted.clone());
                }
                Then::Adapter(accepted) => drop(lock.adapters.insert(held.name.clone(), accepted.clone())),
            }
        }
    })
}
