//! What did manifests say when they were read before? A file in the state folder has each one as JSON, by the digest of
//! its text, because TOML and YAML take many times as long to parse. What a manifest means is checked at each start all
//! the same. Must not decide what counts.
#![expect(clippy::disallowed_methods, reason = "what was parsed before is kept in the state folder")]

use super::admin::Entry;
use super::manifest::ToolManifest;
use super::source;
use crate::call::Digest;
use crate::spread;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file: a line for each manifest with its key, a digest of the line, and the JSON.
pub const FILE: &str = "manifests.parsed";
/// What belongs to the key, so that no line of a program that reads manifests otherwise counts.
const FORM: &str = concat!(env!("CARGO_PKG_VERSION"), "/1");
/// Largest file that is read, in bytes.
const LARGEST: u64 = 256 << 20;
/// Lines that may be of no use until the file is written anew.
const IDLE: usize = 1000;
/// Hexadecimal digits of a digest.
const HEX: usize = 64;

/// The manifests of the file. Lifetime: one reading of all manifests.
#[derive(Debug, Default)]
pub struct Parsed {
    text: String,
    /// Where the lines are, by key; of two with one key the later.
    lines: HashMap<[u8; 32], Range<usize>>,
    /// How many there are.
    count: usize,
}

impl Parsed {
    /// Reads the file. One that is not there or cannot be read has nothing.
    pub fn read(state_dir: &Path) -> Parsed {
        let bytes = crate::document::read_regular(&state_dir.join(FILE), LARGEST).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        let (mut lines, mut count, mut start) = (HashMap::with_capacity(text.len() >> 10), 0, 0);
        for line in text.split('\n') {
            if let Some(key) = line.get(..HEX).and_then(|key| blake3::Hash::from_hex(key).ok()) {
                lines.insert(*key.as_bytes(), start..start + line.len());
                count += 1;
            }
            start += line.len() + 1;
        }
        Parsed { text, lines, count }
    }

    /// The manifest of a text with this digest in this file, if it was parsed before and its line is whole.
    pub(super) fn get(&self, file: &Path, text: &Digest) -> Option<ToolManifest> {
        let key = key(file, text);
        let line = self.text.get(self.lines.get(key.bytes())?.clone())?;
        let (sum, json) = line.get(HEX..)?.split_at_checked(HEX)?;
        (digest(&key, json).hex() == sum).then(|| serde_json::from_str(json).ok())?
    }

    /// Adds to the file what was neither there nor known. That it cannot be written costs the next start its time and
    /// nothing else.
    pub fn remember(&self, state_dir: &Path, entries: &[Entry], known: &[Entry]) {
        let known: HashSet<Digest> = known.iter().map(|entry| key(&entry.file, &entry.text)).collect();
        let is_new = |entry: &&Entry| {
            let key = key(&entry.file, &entry.text);
            !known.contains(&key) && !self.lines.contains_key(key.bytes())
        };
        let new: Vec<&Entry> = entries.iter().filter(is_new).collect();
        if new.is_empty() {
            return;
        }
        let is_idle = self.count > entries.len() + IDLE;
        let lines = match is_idle {
            true => lines(&entries.iter().collect::<Vec<_>>()),
            false => lines(&new),
        };
        let file = state_dir.join(FILE);
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = std::fs::OpenOptions::new();
        options.mode(0o600).custom_flags(no_follow);
        // A line that is cut off, by a full disk or a kill, fails its digest; the next one begins on a line of its own.
        let written = match is_idle {
            false => options.append(true).create(true).open(&file).and_then(|mut out| out.write_all(lines.as_bytes())),
            true => {
                let new = state_dir.join(format!(".{FILE}.{}.new", ulid::Ulid::generate()));
                let out = options.write(true).create_new(true).open(&new);
                out.and_then(|mut out| out.write_all(lines.as_bytes())).and_then(|()| std::fs::rename(&new, &file))
            }
        };
        if let Err(error) = written {
            tracing::debug!(%error, "what manifests say is not kept for the next start");
        }
    }
}

/// Lines for what says the same when it is read again. Others are left out.
fn lines(entries: &[&Entry]) -> String {
    let line = |entry: &&Entry| -> Option<String> {
        let manifest = &entry.tool.manifest;
        let json = serde_json::to_string(manifest).ok()?;
        let again: ToolManifest = serde_json::from_str(&json).ok()?;
        let key = key(&entry.file, &entry.text);
        (again == *manifest).then(|| format!("\n{}{}{json}\n", key.hex(), digest(&key, &json).hex()))
    };
    spread::over(entries, line).into_iter().flatten().collect()
}

/// One text can say one thing as TOML and another one as YAML.
fn key(file: &Path, text: &Digest) -> Digest {
    Digest::of_parts([FORM.as_bytes(), &[u8::from(source::is_yaml(file))], text.bytes()])
}

fn digest(key: &Digest, json: &str) -> Digest {
    Digest::of_parts([key.bytes().as_slice(), json.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tool::{self, Surroundings};
    use std::path::PathBuf;
    use std::sync::Arc;

    fn entry(file: &str, text: &str) -> Entry {
        let tool = tool::parse(Path::new(file), text, &Surroundings::default()).unwrap();
        Entry { file: file.into(), text: Digest::of(text.as_bytes()), tool: Arc::new(tool) }
    }

    fn manifest(name: &str) -> String {
        format!(
            "[tool]\nname = \"{name}\"\nversion = \"1.0.0\"\ndescription = \"does\"\n[tool.permissions]\nrisk_level = \"low\"\n[tool.backend]\ntype = \"x\"\nadapter = \"x\"\n"
        )
    }

    fn found(state: &Path, entry: &Entry) -> bool {
        let found = Parsed::read(state).get(&entry.file, &entry.text);
        assert!(found.as_ref().is_none_or(|manifest| *manifest == entry.tool.manifest));
        found.is_some()
    }

    /// Every manifest that comes with the runtime, and the one with all fields.
    #[test]
    fn what_was_parsed_is_found_as_it_was() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders =
            std::fs::read_dir(root.join("plugins")).unwrap().map(|folder| folder.unwrap().path().join("tools"));
        let tools =
            folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().map(|file| file.unwrap().path());
        let files: Vec<PathBuf> = tools.chain([root.join("tests/fixtures/database_query.yaml")]).collect();
        assert!(files.len() > 10, "{files:?}");
        let read = |file: &PathBuf| entry(&file.to_string_lossy(), &std::fs::read_to_string(file).unwrap());
        let entries: Vec<Entry> = files.iter().map(read).collect();
        let state = tempfile::tempdir().unwrap();
        Parsed::default().remember(state.path(), &entries, &[]);
        for entry in &entries {
            assert!(found(state.path(), entry), "{}", entry.file.display());
        }
    }

    #[test]
    fn another_text_or_another_kind_of_file_is_parsed_anew() {
        let state = tempfile::tempdir().unwrap();
        let known = entry("a.toml", &manifest("one"));
        Parsed::default().remember(state.path(), std::slice::from_ref(&known), &[]);
        assert!(found(state.path(), &known));
        assert!(found(state.path(), &Entry { file: "elsewhere/b.toml".into(), ..known.clone() }));
        assert!(!found(state.path(), &Entry { file: "a.yaml".into(), ..known.clone() }));
        assert!(!found(state.path(), &Entry { text: Digest::of(b"other"), ..known }));
    }

    #[test]
    fn a_damaged_line_counts_as_none_and_costs_no_other_one() {
        let state = tempfile::tempdir().unwrap();
        let entries = ["one", "two", "three"].map(|name| entry("a.toml", &manifest(name)));
        Parsed::default().remember(state.path(), &entries[..2], &[]);
        let file = state.path().join(FILE);
        let damaged = std::fs::read_to_string(&file).unwrap().replace("\"one\"", "\"ten\"");
        // And the last line was cut off.
        std::fs::write(&file, &damaged[..damaged.len() - 9]).unwrap();
        assert!(!found(state.path(), &entries[0]) && !found(state.path(), &entries[1]));
        Parsed::default().remember(state.path(), &entries[1..], &[]);
        assert!(
            !found(state.path(), &entries[0]) && found(state.path(), &entries[1]) && found(state.path(), &entries[2])
        );
    }

    #[test]
    fn what_nobody_uses_any_more_goes_when_there_is_much_of_it() {
        let state = tempfile::tempdir().unwrap();
        let many: Vec<Entry> =
            (0..=IDLE + 1).map(|number| entry("a.toml", &manifest(&format!("tool_{number}")))).collect();
        Parsed::default().remember(state.path(), &many, &[]);
        let one = entry("a.toml", &manifest("one"));
        Parsed::read(state.path()).remember(state.path(), std::slice::from_ref(&one), &[]);
        assert!(found(state.path(), &one) && !found(state.path(), &many[0]));
        assert_eq!(Parsed::read(state.path()).count, 1);
    }

    /// A number that JSON does not have would come back as another one.
    #[test]
    fn what_would_not_say_the_same_is_left_out() {
        let state = tempfile::tempdir().unwrap();
        let mut odd = entry("a.toml", &manifest("odd"));
        let tool = Arc::get_mut(&mut odd.tool).unwrap();
        tool.manifest.output_schema = None;
        tool.manifest.inputs = toml::from_str::<ToolManifest>(
            "name = \"a\"\nversion = \"1.0.0\"\ndescription = \"d\"\ninputs = [{ name = \"n\", type = \"number\", range = [0, inf] }]\n[permissions]\nrisk_level = \"low\"\n[backend]\ntype = \"x\"\nadapter = \"x\"\n",
        )
        .unwrap()
        .inputs;
        Parsed::default().remember(state.path(), std::slice::from_ref(&odd), &[]);
        assert!(!found(state.path(), &odd));
    }
}
