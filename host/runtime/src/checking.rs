//! What is wrong with a folder of manifests? Looks at it as loading it would, and says all of it. Runs, compiles and writes
//! nothing. Part of the spine.

use crate::adapter::plugin::{self, Embedded};
use crate::config::Config;
use crate::document::Fault;
use crate::registry::admin::{self, Around};
use crate::toolbox::read_plugins;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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
