//! Which tools are there? Puts a registry together from manifests and keeps every fault for one report. One bad
//! manifest never takes a good one down.
#![expect(clippy::disallowed_methods, reason = "the registry reads the folders of manifests")]

use super::Registry;
use super::source;
use super::tool::{self, Surroundings, Tool};
use crate::config::Completion;
use crate::document::{Fault, Faults};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One manifest, not yet read.
#[derive(Clone, Debug)]
pub struct ManifestText {
    /// Where it comes from, for messages.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// Its place among the runtime's own tools, if it is one.
    pub built_in: Option<usize>,
}

/// Reads all manifests. The registry has the good ones; the faults are those of all others. `reasons` are those that
/// components declare, by each name of their adapter.
pub fn load(
    manifests: &[ManifestText],
    completions: &BTreeMap<String, Completion>,
    reasons: &BTreeMap<String, BTreeSet<String>>,
) -> (Registry, Vec<Fault>) {
    let mut registry = Registry::default();
    let mut faults = Vec::new();
    for manifest in manifests {
        let ManifestText { file, text, .. } = manifest;
        match parse_with_completion(manifest, completions, reasons) {
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

fn parse_with_completion(
    ManifestText { file, text, built_in }: &ManifestText,
    completions: &BTreeMap<String, Completion>,
    reasons: &BTreeMap<String, BTreeSet<String>>,
) -> Result<Tool, Faults> {
    let alone = Surroundings { completion: None, reasons: Some(reasons), built_in: *built_in };
    let tool = tool::parse(file, text, &alone)?;
    match completions.get(&*tool.name) {
        Some(completion) => tool::parse(file, text, &Surroundings { completion: Some(completion), ..alone }),
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
    for endpoint in tool.backends.iter().filter_map(|backend| backend.endpoint.as_ref()) {
        registry.by_endpoint.entry(endpoint.clone()).or_insert_with(|| tool.clone());
    }
    for name in names {
        if let Entry::Vacant(place) = registry.by_name.entry(name) {
            place.insert(tool.clone());
        }
    }
    None
}

/// Reads the manifests of a folder: every TOML and YAML file in it, sorted by name, beside the faults of those that
/// cannot be read.
pub fn read_folder(folder: &Path) -> (Vec<ManifestText>, Vec<Fault>) {
    let unreadable = |error: std::io::Error| {
        Fault::whole(folder, format!("the folder of tools cannot be read: {error}"))
            .hint("correct `tool_folders` in the configuration, or make the folder")
    };
    let entries = std::fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut files: Vec<PathBuf> = match entries {
        Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
        Err(error) => return (Vec::new(), vec![unreadable(error)]),
    };
    files.retain(|file| file.extension().is_some_and(|ending| source::ENDINGS.iter().any(|known| ending == *known)));
    files.sort();
    let (mut manifests, mut faults) = (Vec::new(), Vec::new());
    for file in files {
        match crate::document::read_text(&file) {
            Ok(text) => manifests.push(ManifestText { file, text, built_in: None }),
            Err(error) => faults.push(Fault::whole(&file, format!("the manifest cannot be read: {error}"))),
        }
    }
    (manifests, faults)
}
