//! Which tools are there? Puts a registry together from manifests and keeps every fault for one report. One bad
//! manifest never takes a good one down.
#![expect(clippy::disallowed_methods, reason = "the registry reads the folders of manifests")]

use super::Registry;
use super::tool::{self, Tool};
use crate::config::Completion;
use crate::document::{Fault, Faults};
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One manifest, not yet read.
#[derive(Clone, Debug)]
pub struct ManifestText {
    /// Where it comes from, for messages.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
}

/// Reads all manifests. The registry has the good ones; the faults are those of all others.
pub fn load(manifests: &[ManifestText], completions: &BTreeMap<String, Completion>) -> (Registry, Vec<Fault>) {
    let mut registry = Registry::default();
    let mut faults = Vec::new();
    for ManifestText { file, text } in manifests {
        match parse_with_completion(file, text, completions) {
            Ok(tool) => faults.extend(insert(&mut registry, Arc::new(tool), file, text, completions)),
            Err(Faults(found)) => faults.extend(found),
        }
    }
    faults.extend(completions.keys().filter_map(|name| unknown_completion(&registry, name)));
    (registry, faults)
}

/// A setting for a tool that is not there narrows nothing, which nobody would notice.
fn unknown_completion(registry: &Registry, name: &str) -> Option<Fault> {
    let known = registry.by_name.contains_key(name) || registry.disabled.contains(name);
    let near = crate::document::nearest(name, registry.by_name.keys().map(String::as_str));
    let hint = near.map_or("remove it, or install the tool".to_owned(), |near| format!("did you mean `{near}`?"));
    (!known).then(|| Fault::whole(Path::new("configuration"), format!("`[tools.{name}]` names no tool")).hint(hint))
}

fn parse_with_completion(file: &Path, text: &str, completions: &BTreeMap<String, Completion>) -> Result<Tool, Faults> {
    let tool = tool::parse(file, text, None)?;
    match completions.get(&*tool.name) {
        Some(completion) => tool::parse(file, text, Some(completion)),
        None => Ok(tool),
    }
}

fn insert(
    registry: &mut Registry,
    tool: Arc<Tool>,
    file: &Path,
    text: &str,
    completions: &BTreeMap<String, Completion>,
) -> Option<Fault> {
    let names: Vec<String> = std::iter::once(tool.name.to_string()).chain(tool.aliases.iter().cloned()).collect();
    if completions.get(&*tool.name).is_some_and(|completion| completion.disabled) {
        registry.disabled.extend(names);
        return None;
    }
    let taken = names.iter().find(|name| registry.by_name.contains_key(*name));
    if let Some(name) = taken {
        return Some(
            Fault::at_key(file, text, name, format!("another tool is already called `{name}`"))
                .hint("give one of them another name; the first one stays in service"),
        );
    }
    for name in names {
        if let Entry::Vacant(place) = registry.by_name.entry(name) {
            place.insert(tool.clone());
        }
    }
    None
}

/// Reads the manifests of a folder: every `*.toml` in it, sorted by name.
pub fn read_folder(folder: &Path) -> Result<Vec<ManifestText>, Fault> {
    let unreadable = |error: std::io::Error| {
        Fault::whole(folder, format!("the folder of tools cannot be read: {error}"))
            .hint("correct `tool_folders` in the configuration, or make the folder")
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
        .into_iter()
        .map(|file| match std::fs::read_to_string(&file) {
            Ok(text) => Ok(ManifestText { file, text }),
            Err(error) => Err(Fault::whole(&file, format!("the manifest cannot be read: {error}"))),
        })
        .collect()
}
