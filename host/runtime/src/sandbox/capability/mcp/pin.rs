//! What did a server offer when it was first looked at? Kept in the state folder, so that a start does not wait for
//! servers, and so that a tool which is another one now is not called until a person has seen that.
#![expect(clippy::disallowed_methods, reason = "what servers offer is kept in the state folder")]

use crate::call::Digest;
use crate::servers::Server;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Largest file that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// All that a server offers, as it says it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Catalogue {
    /// Which program or address it was.
    #[serde(default)]
    pub(super) server: String,
    pub(super) tools: Vec<Value>,
    #[serde(default)]
    pub(super) resources: bool,
    #[serde(default)]
    pub(super) prompts: bool,
    #[serde(default)]
    pub(super) completions: bool,
}

/// A tool that is not what it was, and how.
pub(super) type Changes = BTreeMap<String, &'static str>;

impl Catalogue {
    pub(super) fn new(server: &Server, tools: Vec<Value>) -> Catalogue {
        Catalogue { server: which(server), tools, ..Catalogue::default() }
    }

    /// The tools that are others in a later catalogue.
    pub(super) fn changes(&self, now: &Catalogue) -> Changes {
        let (before, now) = (by_name(&self.tools), by_name(&now.tools));
        let mut changes = Changes::new();
        for (name, tool) in &before {
            match now.get(name) {
                None => drop(changes.insert(name.clone(), "is not offered any more")),
                Some(other) if other != tool => drop(changes.insert(name.clone(), "is described otherwise now")),
                Some(_) => {}
            }
        }
        let new = now.keys().filter(|name| !before.contains_key(*name));
        changes.extend(new.map(|name| (name.clone(), "was not offered before")));
        changes
    }
}

/// What counts of each tool: all that it says.
fn by_name(tools: &[Value]) -> BTreeMap<String, Digest> {
    let named = |tool: &Value| {
        let name = tool.get("name")?.as_str()?.to_owned();
        Some((name, Digest::of(crate::canonical::to_string(tool).as_bytes())))
    };
    tools.iter().filter_map(named).collect()
}

/// What makes a server another one.
fn which(server: &Server) -> String {
    let parts = serde_json::json!([server.argv, server.env, server.directory, server.url]);
    Digest::of(parts.to_string().as_bytes()).to_string()
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

/// What is kept of a server; nothing for one that is new, or another one by this name.
pub(super) fn read(folder: &Path, name: &str, server: &Server) -> Option<Catalogue> {
    let bytes = crate::document::read_regular(&file(folder, name), LARGEST).ok()?;
    let catalogue: Catalogue = serde_json::from_slice(&bytes).ok()?;
    (catalogue.server == which(server)).then_some(catalogue)
}

/// Keeps what a server offers. Where that cannot be written, the next start looks again.
pub(super) fn write(folder: &Path, name: &str, catalogue: &Catalogue) {
    let written = || -> std::io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let new = folder.join(format!(".{name}.{}.new", ulid::Ulid::generate()));
        let mut options = std::fs::OpenOptions::new();
        let mut file_of = options.write(true).create_new(true).mode(0o600).open(&new)?;
        file_of.write_all(&serde_json::to_vec(catalogue)?)?;
        file_of.sync_all()?;
        std::fs::rename(&new, file(folder, name))
    };
    if let Err(error) = written() {
        tracing::warn!(server = name, %error, "what a server offers cannot be kept");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn catalogue(tools: Value) -> Catalogue {
        Catalogue::new(&Server::default(), tools.as_array().unwrap().clone())
    }

    #[test]
    fn whatever_is_said_of_a_tool_makes_it_another_one() {
        let before = catalogue(json!([{ "name": "a", "description": "x" }, { "name": "b" }, { "name": "c" }]));
        let now = catalogue(json!([{ "name": "b" }, { "description": "y", "name": "a" }, { "name": "d" }]));
        let changes = before.changes(&now);
        assert_eq!(changes.keys().collect::<Vec<_>>(), ["a", "c", "d"]);
        let same = catalogue(json!([{ "name": "b" }, { "description": "x", "name": "a" }, { "name": "c" }]));
        assert!(before.changes(&same).is_empty());
    }

    #[test]
    fn another_program_by_the_same_name_is_another_server() {
        let folder = tempfile::tempdir().unwrap();
        let server = |word: &str| Server { argv: vec![word.into()], ..Server::default() };
        write(folder.path(), "s", &Catalogue::new(&server("a"), vec![json!({ "name": "t" })]));
        assert!(read(folder.path(), "s", &server("a")).is_some_and(|kept| kept.tools.len() == 1));
        assert_eq!(read(folder.path(), "s", &server("b")), None);
    }
}
