//! Which tools are there that nobody wrote a manifest for? The runtime's own, those that a capability finds to offer, and
//! functions of components. Part of the spine.

use crate::adapter::plugin::Plugin;
use crate::built_in::{self, BuiltIn};
use crate::document::Fault;
use crate::registry::admin::ManifestText;
use crate::sandbox::{Offer, Sandbox, component, values};
use serde_json::Value;
use std::path::PathBuf;

/// The runtime's own tools.
pub(crate) fn built_in() -> Vec<ManifestText> {
    let manifest = |(place, tool): (usize, &BuiltIn)| ManifestText {
        file: PathBuf::from(format!("built in/runtime/{place}.toml")),
        text: tool.manifest.to_owned(),
        built_in: Some(place),
    };
    built_in::TOOLS.iter().enumerate().map(manifest).collect()
}

/// The tools that an adapter serves beside those of its manifests, and what of them is left out and why.
pub(crate) fn offered(sandbox: &Sandbox, plugin: &Plugin) -> (Vec<ManifestText>, Vec<Fault>) {
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

/// The tools that nobody wrote a manifest for: functions of a component by their types.
pub(crate) fn functions(plugin: &Plugin) -> (Vec<ManifestText>, Vec<Fault>) {
    let Some(said) = &plugin.adapter.functions else { return Default::default() };
    // What cannot be read was said when it was loaded.
    let Ok(binary) = component::binary(&plugin.component) else { return Default::default() };
    let Ok(functions) = values::functions_of(&binary) else { return Default::default() };
    let (tools, missing) = values::tools(&plugin.adapter, said, &functions.usable);
    let manifest = |tool: Value| ManifestText { file: plugin.file.clone(), text: tool.to_string(), built_in: None };
    let fault = |why| Fault::whole(&plugin.file, why);
    (tools.into_iter().map(manifest).collect(), missing.into_iter().map(fault).collect())
}
