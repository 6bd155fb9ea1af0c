//! Which tools and adapters are in service together? Reads plugins and manifests, makes components ready, and keeps
//! every fault for one report. Part of the spine.

use crate::adapter::plugin::{self, Embedded, Plugin, Profile};
use crate::adapter::{Adapter, Adapters};
use crate::built_in;
use crate::call::Digest;
use crate::config::{Completion, Config};
use crate::document::{Fault, Faults};
use crate::permission::policy::Policies;
use crate::registry::admin::{self, Around, ManifestText};
use crate::registry::{Out, Registry};
use crate::sandbox::install::Installing;
use crate::sandbox::{Offer, Sandbox};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::watch;

/// All tools and adapters at one time. A call uses one from its beginning to its end. Lifetime: until the next reload.
pub struct Toolbox {
    /// The tools.
    pub registry: Registry,
    /// The adapters.
    pub adapters: Arc<Adapters>,
    /// What is permitted, sliced by tool.
    pub policies: Arc<Policies>,
    /// What is wrong with plugins and manifests that were found. The good ones are in service.
    pub faults: Vec<Fault>,
}

/// Reads everything that configuration names. `watch` is told of each component that has to be compiled.
///
/// # Errors
/// Policies that cannot be read: without them nothing is judged, so nothing is served.
pub(crate) fn load(
    config: &Config,
    embedded: &[Embedded],
    (sandbox, out): (&Sandbox, BTreeMap<String, Out>),
    watch: &mut dyn FnMut(Installing<'_>),
) -> Result<Toolbox, Faults> {
    let (plugins, mut faults) = read_plugins(config, embedded);
    let mut adapters = Adapters::default();
    let mut manifests = built_in_manifests();
    let mut listed = Vec::new();
    let mut reasons = BTreeMap::new();
    let plugins: Vec<Plugin> = plugins.into_iter().filter(|plugin| can_serve(plugin, config)).collect();
    let of = plugins.iter().filter(|plugin| sandbox.needs_compiling(&plugin.component)).count();
    let mut number = 0;
    for plugin in plugins {
        if sandbox.needs_compiling(&plugin.component) {
            number += 1;
            watch(Installing { adapter: &plugin.adapter.name, number, of });
        }
        faults.extend(load_adapter(sandbox, &plugin, &mut adapters));
        reasons.extend(plugin.adapter.declared_reasons());
        let (offered, left_out) = offered(sandbox, &plugin);
        faults.extend(left_out);
        listed.extend(offered);
        manifests.extend(plugin.tools);
    }
    for folder in &config.tool_folders {
        let (found, wrong) = admin::read_folder(folder);
        manifests.extend(found);
        faults.extend(wrong);
    }
    // What others offer comes last: it takes no name of what is here.
    manifests.extend(listed);
    let around = Around { completions: &config.completions, reasons: &reasons, out: &out };
    let (entries, found) = admin::parse(&manifests, &around);
    faults.extend(found);
    let (registry, found) = admin::assemble(entries, &around);
    faults.extend(found);
    faults.extend(admin::unknown_completions(&registry, &config.completions));
    let policies = Policies::load(config, &registry)?.into();
    Ok(Toolbox { registry, adapters: adapters.into(), policies, faults })
}

/// Where the toolbox in service stands. Whoever takes it has it whole, and a change never waits for them. Lifetime: the
/// runtime.
pub(crate) struct Shelf {
    toolbox: RwLock<Arc<Toolbox>>,
    completions: BTreeMap<String, Completion>,
    /// One change at a time; calls do not wait for it.
    changing: Mutex<()>,
    revision: watch::Sender<u64>,
}

impl Shelf {
    pub(crate) fn new(toolbox: Toolbox, config: &Config) -> Shelf {
        Shelf {
            toolbox: RwLock::new(Arc::new(toolbox)),
            completions: config.completions.clone(),
            changing: Mutex::default(),
            revision: watch::Sender::new(0),
        }
    }

    /// The toolbox in service now.
    pub(crate) fn get(&self) -> Arc<Toolbox> {
        self.toolbox.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts the changes.
    pub(crate) fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Takes tools out of service, and brings back those that are not named any more.
    pub(crate) fn take_out(&self, out: &BTreeMap<String, Out>) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.get();
        if old.registry.taken_out() == out {
            return;
        }
        let reasons = BTreeMap::new();
        let around = Around { completions: &self.completions, reasons: &reasons, out };
        // What was left out for its name was told when it was read.
        let (registry, _) = admin::assemble(old.registry.entries().to_vec(), &around);
        let (adapters, policies, faults) = (old.adapters.clone(), old.policies.clone(), old.faults.clone());
        self.put(Toolbox { registry, adapters, policies, faults });
    }

    fn put(&self, toolbox: Toolbox) {
        *self.toolbox.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(toolbox);
        self.revision.send_modify(|revision| *revision += 1);
    }
}

/// What was found in a folder that was only looked at.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Checked {
    /// How many manifests there are, of tools and of plugins.
    pub files: usize,
    /// The tools that are right, with their versions.
    pub tools: Vec<String>,
    /// All that is wrong.
    pub faults: Vec<Fault>,
}

/// Checks a folder of manifests, a plugin's folder or a folder of plugins as it would be loaded, without loading it:
/// nothing runs, nothing is compiled, and nothing is written down.
pub fn check(folder: &Path, config: &Config, embedded: &[Embedded]) -> Checked {
    let (installed, _) = read_plugins(config, embedded);
    let mut reasons: BTreeMap<String, BTreeSet<String>> =
        installed.iter().flat_map(|plugin| plugin.adapter.declared_reasons()).collect();
    let (mut manifests, mut faults) = admin::read_folder(folder);
    let mut files = manifests.len();
    // In a plugin's folder `adapter.toml` is no tool; who looks at a folder of plugins has none of either there.
    manifests.retain(|manifest| !manifest.file.ends_with("adapter.toml"));
    if manifests.is_empty() && faults.is_empty() {
        let (plugins, found) = plugin::read_folder(folder);
        let none = plugins.is_empty() && found.iter().all(|fault| fault.file == folder);
        if none && files == 0 {
            faults.push(Fault::whole(folder, "there is neither a manifest nor a plugin in this folder"));
        } else {
            faults.extend(found);
        }
        files = 0;
        for plugin in plugins {
            files += 1 + plugin.tools.len();
            reasons.extend(plugin.adapter.declared_reasons());
            manifests.extend(plugin.tools);
        }
    }
    let around = Around { completions: &config.completions, reasons: &reasons, out: &BTreeMap::new() };
    let (entries, found) = admin::parse(&manifests, &around);
    faults.extend(found);
    let tools = entries.iter().map(|entry| format!("{} {}", entry.tool.name, entry.tool.version)).collect();
    faults.extend(admin::assemble(entries, &around).1);
    faults.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    Checked { files, tools, faults }
}

fn built_in_manifests() -> Vec<ManifestText> {
    let manifest = |(place, tool): (usize, &built_in::BuiltIn)| ManifestText {
        file: PathBuf::from(format!("built in/runtime/{place}.toml")),
        text: tool.manifest.to_owned(),
        built_in: Some(place),
    };
    built_in::TOOLS.iter().enumerate().map(manifest).collect()
}

fn read_plugins(config: &Config, embedded: &[Embedded]) -> (Vec<Plugin>, Vec<Fault>) {
    let mut plugins = Vec::new();
    let mut faults = Vec::new();
    for embedded in embedded {
        match plugin::read_embedded(embedded) {
            Ok(plugin) => plugins.push(plugin),
            Err(found) => faults.extend(found.0),
        }
    }
    for folder in &config.plugin_folders {
        let (found, wrong) = plugin::read_folder(folder);
        plugins.extend(found);
        faults.extend(wrong);
    }
    (plugins, faults)
}

/// Without a granted directory there is nothing that a tool for files could do.
fn can_serve(plugin: &Plugin, config: &Config) -> bool {
    !config.grants.is_empty() || !plugin.adapter.capabilities.iter().any(|capability| capability == "files")
}

/// The tools that an adapter serves beside those of its manifests, and what of them is left out and why.
fn offered(sandbox: &Sandbox, plugin: &Plugin) -> (Vec<ManifestText>, Vec<Fault>) {
    let (mut manifests, mut faults) = (Vec::new(), Vec::new());
    for capability in &plugin.adapter.lists {
        let (offers, left_out) = sandbox.offered(capability, &plugin.adapter.name);
        manifests.extend(offers.into_iter().map(|offer: Offer| ManifestText {
            file: offer.origin.into(),
            text: offer.manifest.to_string(),
            built_in: None,
        }));
        faults.extend(left_out.into_iter().map(|why| Fault::whole(&plugin.file, why)));
    }
    (manifests, faults)
}

fn load_adapter(sandbox: &Sandbox, plugin: &Plugin, adapters: &mut Adapters) -> Vec<Fault> {
    let manifest = &plugin.adapter;
    let capabilities: BTreeSet<String> = manifest.capabilities.iter().cloned().collect();
    if manifest.sandbox.profile == Profile::Process {
        let why = "it asks for the profile `process`, which this runtime does not have";
        adapters.insert_failed(&manifest.name, &manifest.names, why);
        return vec![Fault::whole(&plugin.file, format!("the adapter `{}` cannot be used: {why}", manifest.name))];
    }
    let linked = match sandbox.install(&plugin.component, &capabilities) {
        Ok(linked) => linked,
        Err(error) => {
            let why = error.to_string();
            adapters.insert_failed(&manifest.name, &manifest.names, &why);
            return vec![Fault::whole(
                &plugin.file,
                format!("the component of adapter `{}` cannot be used: {why}", manifest.name),
            )];
        }
    };
    let adapter = Adapter {
        name: manifest.name.as_str().into(),
        version: manifest.version.clone(),
        component: Digest::of(&plugin.component),
        linked,
        capabilities,
        reasons: manifest.reasons.iter().cloned().collect(),
        limits: manifest.sandbox.limits.clone(),
    };
    let taken = adapters.insert(adapter, &manifest.names);
    let fault = |name: String| Fault::whole(&plugin.file, format!("another adapter is already called `{name}`"));
    taken.into_iter().map(fault).collect()
}
