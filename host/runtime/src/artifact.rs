//! Where is the whole of a result of which a part was shown? Files beside the journal, named by their content and by
//! whom they are for, so that a handle opens nothing for anybody else. Must not know how a result is cut.
#![expect(clippy::disallowed_methods, reason = "whole results lie beside the journal")]

use crate::call::{Caller, Digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Hexadecimal digits of a handle: 128 bits, which nobody guesses.
const DIGITS: usize = 32;
/// What a handle begins with.
const PREFIX: &str = "result-";

/// The whole results of one state folder. Lifetime: the runtime.
#[derive(Clone, Debug)]
pub struct Artifacts {
    folder: PathBuf,
}

/// A whole result, masked as it was when a part of it was shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// The tool that it came from.
    pub tool: String,
    /// Whether it came from outside.
    pub untrusted: bool,
    /// Where from outside it came, such as `web`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<String>,
    /// Words about what it holds, such as `personal`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitivity: Vec<String>,
    /// The result.
    pub data: Value,
}

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Bytes of all files together.
    pub bytes: u64,
    /// Time since a file was written.
    pub age: Duration,
}

impl Artifacts {
    /// Those beneath a state folder.
    pub fn beneath(state_dir: &Path) -> Artifacts {
        Artifacts { folder: state_dir.join("results") }
    }

    /// Keeps a whole result for one caller in one role, and returns its handle.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn put(&self, caller: &Caller, artifact: &Artifact) -> std::io::Result<String> {
        let body = serde_json::to_vec(artifact)?;
        let handle = handle(caller, &body);
        let path = self.path(&handle);
        if path.exists() {
            return Ok(handle);
        }
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let draft = self.folder.join(format!(".{}", ulid::Ulid::generate()));
        let written = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| file.write_all(&body))
            .and_then(|()| std::fs::rename(&draft, &path));
        if written.is_err() {
            let _ = std::fs::remove_file(&draft);
        }
        written.map(|()| handle)
    }

    /// The whole result of a handle, if it was made for this caller in this role and is still what it was.
    pub fn get(&self, caller: &Caller, asked: &str) -> Option<Artifact> {
        let digits = asked.strip_prefix(PREFIX)?;
        if digits.len() != DIGITS || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let body = std::fs::read(self.path(asked)).ok()?;
        // Somebody else's and a damaged one are the same to whoever asks: not there.
        (handle(caller, &body) == asked).then(|| serde_json::from_slice(&body).ok())?
    }

    /// Removes what is too old, then the oldest of what is too much. Returns how many files and bytes went.
    pub fn prune(&self, keep: Keep, now: SystemTime) -> (usize, u64) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return (0, 0) };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        let mut gone = (0, 0);
        for (written, length, path) in files {
            let is_old = now.duration_since(written).is_ok_and(|age| age > keep.age);
            if !is_old && total <= keep.bytes {
                break;
            }
            if std::fs::remove_file(path).is_ok() {
                total -= length;
                gone = (gone.0 + 1, gone.1 + length);
            }
        }
        gone
    }

    fn path(&self, handle: &str) -> PathBuf {
        self.folder.join(format!("{handle}.json"))
    }
}

fn handle(caller: &Caller, body: &[u8]) -> String {
    let digest = Digest::of_parts([caller.id.as_bytes(), caller.role.as_bytes(), body]);
    format!("{PREFIX}{}", &digest.hex()[..DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn caller(id: &str, role: &str) -> Caller {
        Caller { id: id.into(), role: role.into() }
    }

    #[test]
    fn a_handle_is_for_its_caller_in_its_role_alone() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::beneath(folder.path());
        let artifact =
            Artifact { tool: "t".into(), untrusted: true, taint: vec![], sensitivity: vec![], data: json!(["a", "b"]) };
        let handle = artifacts.put(&caller("a", "Builder"), &artifact).unwrap();
        assert_eq!(artifacts.get(&caller("a", "Builder"), &handle), Some(artifact));
        assert_eq!(artifacts.get(&caller("b", "Builder"), &handle), None);
        assert_eq!(artifacts.get(&caller("a", "Admin"), &handle), None);
        for other in ["result-../../etc/passwd", "result-", "x", &handle.replace('a', "b")] {
            assert_eq!(artifacts.get(&caller("a", "Builder"), other), None, "{other}");
        }
    }

    #[test]
    fn a_file_that_was_changed_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::beneath(folder.path());
        let artifact =
            Artifact { tool: "t".into(), untrusted: false, taint: vec![], sensitivity: vec![], data: json!("abc") };
        let handle = artifacts.put(&caller("a", "r"), &artifact).unwrap();
        let path = artifacts.path(&handle);
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replace("abc", "abd")).unwrap();
        assert_eq!(artifacts.get(&caller("a", "r"), &handle), None);
    }

    #[test]
    fn the_oldest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::beneath(folder.path());
        let put = |text: &str| {
            let artifact =
                Artifact { tool: text.into(), untrusted: false, taint: vec![], sensitivity: vec![], data: json!(text) };
            artifacts.put(&caller("a", "r"), &artifact).unwrap()
        };
        let old = put("old");
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        std::fs::File::options().append(true).open(artifacts.path(&old)).unwrap().set_modified(hour_ago).unwrap();
        let new = put("new");
        let keep = Keep { bytes: 60, age: Duration::from_secs(7200) };
        assert_eq!(artifacts.prune(keep, SystemTime::now()).0, 1);
        assert!(artifacts.get(&caller("a", "r"), &old).is_none() && artifacts.get(&caller("a", "r"), &new).is_some());
    }
}
