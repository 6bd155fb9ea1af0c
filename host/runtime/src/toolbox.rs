//! Which tools and adapters are in service together? Reads plugins and manifests, makes components ready, and keeps
//! every fault for one report. Part of the spine.

use crate::adapter::plugin::{self, Embedded, Plugin, Profile};
use crate::adapter::{Adapter, Adapters};
use crate::built_in;
use crate::call::Digest;
use crate::config::Config;
use crate::document::{Fault, Faults};
use crate::permission::policy::Policies;
use crate::registry::Registry;
use crate::registry::admin::{self, ManifestText};
use crate::sandbox::install::Installing;
use crate::sandbox::values::{self, Functions};
use crate::sandbox::{Offer, Sandbox};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// All tools and adapters at one time. A call uses one from its beginning to its end. Lifetime: until the next reload.
pub struct Toolbox {
    /// The tools.
    pub registry: Registry,
    /// The adapters.
    pub adapters: Adapters,
    /// What is permitted, sliced by tool.
    pub policies: Policies,
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
    sandbox: &Sandbox,
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
        let loaded = load_adapter(config, sandbox, &plugin, &mut adapters);
        faults.extend(loaded.faults);
        listed.extend(loaded.tools);
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
    let (registry, found) = admin::load(&manifests, &config.completions, &reasons);
    faults.extend(found);
    let policies = Policies::load(config, &registry)?;
    Ok(Toolbox { registry, adapters, policies, faults })
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

/// What came of loading an adapter.
#[derive(Default)]
struct LoadedAdapter {
    /// Tools that nobody wrote a manifest for: functions of a component by their types.
    tools: Vec<ManifestText>,
    faults: Vec<Fault>,
}

fn load_adapter(config: &Config, sandbox: &Sandbox, plugin: &Plugin, adapters: &mut Adapters) -> LoadedAdapter {
    let manifest = &plugin.adapter;
    let mut loaded = LoadedAdapter::default();
    let capabilities: BTreeSet<String> = manifest.capabilities.iter().cloned().collect();
    if manifest.sandbox.profile == Profile::Process {
        let why = "it asks for the profile `process`, which this runtime does not have";
        adapters.insert_failed(&manifest.name, &manifest.names, why);
        let what = format!("the adapter `{}` cannot be used: {why}", manifest.name);
        loaded.faults.push(Fault::whole(&plugin.file, what));
        return loaded;
    }
    let installed = match &manifest.functions {
        None => sandbox.install(&plugin.component, &capabilities).map(|linked| (linked, Functions::default())),
        Some(_) => sandbox.install_functions(&plugin.component, &capabilities),
    };
    let (linked, functions) = match installed {
        Ok(installed) => installed,
        Err(error) => {
            let why = error.to_string();
            adapters.insert_failed(&manifest.name, &manifest.names, &why);
            let what = format!("the component of adapter `{}` cannot be used: {why}", manifest.name);
            loaded.faults.push(Fault::whole(&plugin.file, what));
            return loaded;
        }
    };
    if let Some(said) = &manifest.functions {
        let (tools, missing) = values::tools(manifest, said, &functions.usable);
        loaded.tools.extend(tools.into_iter().map(|tool| ManifestText {
            file: plugin.file.clone(),
            text: tool.to_string(),
            built_in: None,
        }));
        loaded.faults.extend(missing.into_iter().map(|why| Fault::whole(&plugin.file, why)));
    }
    let invokes = config.invoke.get(&manifest.name).filter(|_| capabilities.contains("invoke"));
    let adapter = Adapter {
        invokes: invokes.cloned().unwrap_or_default().into(),
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
    loaded.faults.extend(taken.into_iter().map(fault));
    loaded
}
