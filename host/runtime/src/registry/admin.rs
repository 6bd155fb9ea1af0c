//! Which tools are there? Puts a registry together from manifests and keeps every fault for one report. One bad
//! manifest never takes a good one down.
#![expect(clippy::disallowed_methods, reason = "the registry reads the folders of manifests")]

use super::manifest::ToolManifest;
use super::parsed::Parsed;
use super::source;
use super::tool::{self, Surroundings, Tool};
use super::{Out, Registry};
use crate::call::Digest;
use crate::config::Completion;
use crate::document::{Fault, Faults, nearest};
use crate::map::Map;
use crate::spread;
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

/// A manifest that was read and is right. Lifetime: until its file says something else.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where it comes from.
    pub file: PathBuf,
    /// Digest of its text alone.
    pub text: Digest,
    /// What it says.
    pub tool: Arc<Tool>,
}

/// What manifests are held against besides themselves.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// What configuration adds, by tool.
    pub completions: &'a BTreeMap<String, Completion>,
    /// The reasons of failures that components declare, by each name of their adapter.
    pub reasons: &'a BTreeMap<String, BTreeSet<String>>,
    /// What people took out of service, by tool.
    pub out: &'a BTreeMap<String, Out>,
}

/// Reads manifests. The faults are those of all that are not right.
pub fn parse(manifests: &[ManifestText], around: &Around<'_>) -> (Vec<Entry>, Vec<Fault>) {
    parse_known(manifests, around, &[], &Parsed::default())
}

/// The same, and takes those over that are what they were. They were held against the same surroundings. What was parsed
/// before is not parsed again.
pub fn parse_known(
    manifests: &[ManifestText],
    around: &Around<'_>,
    known: &[Entry],
    parsed: &Parsed,
) -> (Vec<Entry>, Vec<Fault>) {
    let known: Map<(&Path, Digest), &Entry> =
        known.iter().map(|entry| ((entry.file.as_path(), entry.text), entry)).collect();
    let (mut entries, mut faults) = (Vec::with_capacity(manifests.len()), Vec::new());
    let read = |manifest: &ManifestText| {
        let text = Digest::of(manifest.text.as_bytes());
        if let Some(known) = known.get(&(manifest.file.as_path(), text)) {
            return Ok((*known).clone());
        }
        let tool = parse_with_completion(manifest, around, parsed.get(&manifest.file, &text))?;
        Ok(Entry { file: manifest.file.clone(), text, tool: Arc::new(tool) })
    };
    for entry in spread::over(manifests, read) {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(Faults(found)) => faults.extend(found),
        }
    }
    (entries, faults)
}

fn parse_with_completion(
    ManifestText { file, text, built_in }: &ManifestText,
    around: &Around<'_>,
    parsed: Option<ToolManifest>,
) -> Result<Tool, Faults> {
    let alone = Surroundings { completion: None, reasons: Some(around.reasons), built_in: *built_in };
    let tool = match parsed {
        Some(manifest) => tool::of(manifest, file, text, &alone)?,
        None => tool::parse(file, text, &alone)?,
    };
    match around.completions.get(&*tool.name) {
        Some(completion) => {
            tool::of(tool.manifest, file, text, &Surroundings { completion: Some(completion), ..alone })
        }
        None => Ok(tool),
    }
}

/// Puts a registry together. What has a name that another one has is left out; the faults say so.
pub fn assemble(entries: Vec<Entry>, around: &Around<'_>) -> (Registry, Vec<Fault>) {
    let mut names = Names::with_room(entries.len());
    let mut faults = Vec::new();
    for entry in &entries {
        if let Err(why) = names.insert(entry, around) {
            faults.push(why.fault(entry));
        }
    }
    let registry = names.into_registry();
    (Registry { taken_out: around.out.clone(), entries: entries.into(), ..registry }, faults)
}

/// Settings for tools that are not there narrow nothing, which nobody would notice.
pub fn unknown_completions(registry: &Registry, completions: &BTreeMap<String, Completion>) -> Vec<Fault> {
    let unknown =
        completions.keys().filter(|name| !registry.by_name.contains_key(*name) && !registry.out.contains_key(*name));
    let fault = |name: &String| {
        let near = nearest(name, registry.by_name.keys().map(String::as_str));
        let hint = near.map_or("remove it, or install the tool".to_owned(), |near| format!("did you mean `{near}`?"));
        Fault::whole(Path::new("configuration"), format!("`[tools.{name}]` names no tool")).hint(hint)
    };
    unknown.map(fault).collect()
}

/// The names that are given so far. Lifetime: putting one registry together.
struct Names<'e> {
    /// The versions of each tool, and the folder that they all lie in.
    tools: Map<&'e str, (Option<&'e Path>, Vec<&'e Arc<Tool>>)>,
    /// Which tool has a name or an alias.
    owners: Map<&'e str, &'e str>,
    /// Which tool has a name that looks so, and by which name.
    looks: Map<&'e str, (&'e str, &'e str)>,
    /// Tools that are out of service, by name and alias.
    out: Map<String, (Out, Arc<str>)>,
}

/// Why a manifest that is right is not in service.
struct Taken {
    /// The name that it is about.
    name: String,
    why: String,
    hint: &'static str,
}

impl Taken {
    fn fault(self, entry: &Entry) -> Fault {
        let text = crate::document::read_text(&entry.file).unwrap_or_default();
        Fault::at_key(&entry.file, &text, &self.name, self.why).hint(self.hint)
    }
}

impl<'e> Names<'e> {
    fn with_room(tools: usize) -> Names<'e> {
        Names {
            tools: Map::with_capacity_and_hasher(tools, Default::default()),
            owners: Map::with_capacity_and_hasher(tools, Default::default()),
            looks: Map::with_capacity_and_hasher(2 * tools, Default::default()),
            out: Map::default(),
        }
    }

    fn insert(&mut self, entry: &'e Entry, around: &Around<'_>) -> Result<(), Taken> {
        let tool = &entry.tool;
        let names = || std::iter::once(&*tool.name).chain(tool.aliases.iter().map(String::as_str));
        let disabled = around.completions.get(&*tool.name).is_some_and(|completion| completion.disabled);
        let out = if disabled { Some(Out::Disabled) } else { around.out.get(&*tool.name).copied() };
        if let Some(out) = out {
            self.out.extend(names().map(|name| (name.to_owned(), (out, tool.name.clone()))));
            return Ok(());
        }
        self.refuse_taken(entry)?;
        for (name, looks) in names().zip(&tool.looks) {
            self.owners.insert(name, &tool.name);
            for look in looks {
                self.looks.entry(look).or_insert((name, &tool.name));
            }
        }
        self.tools.entry(&tool.name).or_insert_with(|| (entry.file.parent(), Vec::new())).1.push(tool);
        Ok(())
    }

    fn refuse_taken(&self, entry: &Entry) -> Result<(), Taken> {
        let tool = &entry.tool;
        let taken = |name: &str, why: String, hint| Err(Taken { name: name.to_owned(), why, hint });
        let names = std::iter::once(&*tool.name).chain(tool.aliases.iter().map(String::as_str));
        for (name, looks) in names.zip(&tool.looks) {
            if self.owners.get(name).is_some_and(|owner| **owner != *tool.name) {
                let hint = "give one of them another name; the first one stays in service";
                return taken(name, format!("another tool is already called `{name}`"), hint);
            }
            let alike = looks.iter().filter_map(|look| self.looks.get(look.as_str()));
            if let Some((other, _)) = alike.into_iter().find(|(_, owner)| **owner != *tool.name) {
                let hint = "give one of them a name that nobody takes for the other; the first one stays in service";
                return taken(name, format!("`{name}` looks like `{other}`, which is another tool"), hint);
            }
        }
        let Some((folder, versions)) = self.tools.get(&*tool.name) else { return Ok(()) };
        let name = &*tool.name;
        // Whoever may add a file elsewhere must not become the newest version of what is here.
        if *folder != entry.file.parent() {
            let hint = "give one of them another name, or put versions of one tool into one folder; the first one stays in service";
            return taken(name, format!("another tool is already called `{name}`"), hint);
        }
        match versions.iter().any(|other| other.semver.cmp_precedence(&tool.semver).is_eq()) {
            true => {
                let hint = "raise the version of one of them; the first one stays in service";
                taken(name, format!("version {} of `{name}` is there already", tool.version), hint)
            }
            false => Ok(()),
        }
    }

    fn into_registry(self) -> Registry {
        let by_name = Map::with_capacity_and_hasher(self.owners.len(), Default::default());
        let mut registry = Registry { out: self.out, by_name, ..Registry::default() };
        for mut versions in self.tools.into_values().map(|(_, versions)| versions) {
            versions.sort_by(|a, b| newness(b).cmp(&newness(a)));
            let Some(newest) = versions.first().copied() else { continue };
            for tool in &versions {
                for endpoint in tool.backends.iter().filter_map(|backend| backend.endpoint.clone()) {
                    registry.by_endpoint.entry(endpoint).or_insert_with(|| Arc::clone(tool));
                }
            }
            registry.by_name.insert(newest.name.to_string(), newest.clone());
            if versions.len() > 1 {
                registry.versions.insert(newest.name.clone(), versions.into_iter().cloned().collect());
            }
        }
        for (name, owner) in self.owners.into_iter().filter(|(name, owner)| name != owner) {
            if let Some(newest) = registry.by_name.get(owner).cloned() {
                registry.by_name.entry(name.to_owned()).or_insert(newest);
            }
        }
        registry
    }
}

/// What makes a version newer than another one: a released one is newer than any that only precedes one.
fn newness(tool: &Tool) -> (bool, &semver::Version) {
    (tool.semver.pre.is_empty(), &tool.semver)
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
    let (mut manifests, mut faults) = (Vec::with_capacity(files.len()), Vec::new());
    let texts = spread::over(&files, |file| crate::document::read_text(file));
    for (file, text) in files.into_iter().zip(texts) {
        match text {
            Ok(text) => manifests.push(ManifestText { file, text, built_in: None }),
            Err(error) => faults.push(Fault::whole(&file, format!("the manifest cannot be read: {error}"))),
        }
    }
    (manifests, faults)
}
