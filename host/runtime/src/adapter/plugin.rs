//! What is in a plugin? `adapter.toml`, the tools' manifests and the component's bytes, from a folder or from the
//! program itself. Must not run or compile anything.
#![expect(clippy::disallowed_methods, reason = "the adapter step reads the folders of plugins")]

use crate::document::{self, Fault, Faults};
use crate::registry::admin::{self, ManifestText};
use crate::registry::manifest::{LimitsManifest, RiskLevel};
use crate::registry::source;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Largest component that is read, in bytes.
const COMPONENT: u64 = 64 << 20;

/// `adapter.toml` as written.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdapterManifest {
    /// The adapter's own name.
    pub name: String,
    /// The names by which tool manifests may call it.
    #[serde(default)]
    pub names: Vec<String>,
    /// Semantic version.
    pub version: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// The component's file, beside `adapter.toml`.
    pub component: PathBuf,
    /// The world it was written for, for example `hermes:tool/file-tool@0.1.0`.
    pub world: String,
    /// The capabilities it asks for. It gets no other one.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The capabilities whose own tools it serves: what they find to offer becomes tools of this adapter.
    #[serde(default)]
    pub lists: Vec<String>,
    /// The reasons of failures that it declares, beside the runtime's own.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Where its component runs.
    #[serde(default)]
    pub sandbox: SandboxManifest,
    /// Says that the component knows nothing of the contract, and that functions of its own become tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<FunctionsManifest>,
}

/// How the functions of a component become tools. Their types are the schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionsManifest {
    /// The roles that may call them. With none, no tool is made of a function: manifests in `tools/` name those that are.
    #[serde(default)]
    pub required_roles: Vec<String>,
    /// How much can go wrong; low without it.
    #[serde(default = "low")]
    pub risk_level: RiskLevel,
    /// Only these, by name or as `INTERFACE#NAME`; all without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// What the tools' names begin with; the adapter's name and `_` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

fn low() -> RiskLevel {
    RiskLevel::Low
}

/// Where a component runs, and what all calls of it may use up at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxManifest {
    /// Around it.
    pub profile: ProfileName,
    /// No tool of the adapter gets more, whatever its manifest says.
    pub limits: LimitsManifest,
}

/// What is around a component, by its name. `in-process`: WebAssembly's own sandbox, in the runtime's process. `process`:
/// the same in a process of its own for each call, in the sandbox of the operating system, with no directory and no
/// network; the capabilities `files`, `invoke`, `process` and `mcp` and those of the embedding program stay in the runtime's
/// process, which answers for them, and a component that asks for another one is refused when it is loaded; its calls cannot
/// be run again. Any other name is one that the embedding program added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ProfileName(pub String);

impl Default for ProfileName {
    fn default() -> ProfileName {
        ProfileName("in-process".to_owned())
    }
}

/// The schema of `adapter.toml` (JSON Schema 2020-12), made from the type that reads it.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<AdapterManifest>().to_value()
    })
}

impl AdapterManifest {
    /// The reasons of failures that it declares, by each of its names.
    pub fn declared_reasons(&self) -> impl Iterator<Item = (String, BTreeSet<String>)> {
        let names = std::iter::once(&self.name).chain(&self.names);
        names.map(|name| (name.clone(), self.reasons.iter().cloned().collect()))
    }
}

/// A plugin that was read and not yet loaded.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// The adapter's manifest.
    pub adapter: AdapterManifest,
    /// Where the manifest is, for messages.
    pub file: PathBuf,
    /// The component, binary or as text.
    pub component: Cow<'static, [u8]>,
    /// The manifests of its tools.
    pub tools: Vec<ManifestText>,
}

/// A plugin that is part of the program: its folder's name and its files by relative path.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// The folder's name.
    pub name: &'static str,
    /// Its files: `adapter.toml`, `tools/*.toml` and the component.
    pub files: &'static [(&'static str, &'static [u8])],
}

/// Reads a plugin that is part of the program.
pub fn read_embedded(embedded: &Embedded) -> Result<Plugin, Faults> {
    let folder = Path::new("built in").join(embedded.name);
    let find = |name: &Path| embedded.files.iter().find(|(path, _)| Path::new(path) == name).map(|(_, bytes)| *bytes);
    let file = folder.join("adapter.toml");
    let bytes = find(Path::new("adapter.toml")).ok_or_else(|| Fault::whole(&file, "the plugin has no adapter.toml"))?;
    let adapter: AdapterManifest = document::from_toml(&file, &String::from_utf8_lossy(bytes))?;
    let component = find(&adapter.component)
        .ok_or_else(|| Fault::whole(&file, format!("the component `{}` is not there", adapter.component.display())))?;
    let is_manifest = |path: &str| {
        path.starts_with("tools/") && source::ENDINGS.iter().any(|ending| path.ends_with(&format!(".{ending}")))
    };
    let tools = embedded.files.iter().filter(|(path, _)| is_manifest(path)).map(|(path, bytes)| ManifestText {
        file: folder.join(path),
        text: String::from_utf8_lossy(bytes).into_owned(),
        built_in: None,
    });
    Ok(Plugin { tools: tools.collect(), adapter, file, component: Cow::Borrowed(component) })
}

/// Reads a plugin's folder, or all plugins in the subfolders of a folder. Good ones are returned beside the faults of
/// the others.
pub fn read_folder(folder: &Path) -> (Vec<Plugin>, Vec<Fault>) {
    let mut plugins = Vec::new();
    let mut faults = Vec::new();
    let folders = match plugin_folders(folder) {
        Ok(folders) => folders,
        Err(fault) => return (plugins, vec![fault]),
    };
    for folder in folders {
        match read_one(&folder) {
            Ok((plugin, unreadable)) => {
                plugins.push(plugin);
                faults.extend(unreadable);
            }
            Err(Faults(found)) => faults.extend(found),
        }
    }
    (plugins, faults)
}

fn plugin_folders(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    if folder.join("adapter.toml").is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let unreadable = |error: std::io::Error| {
        Fault::whole(folder, format!("the folder of plugins cannot be read: {error}"))
            .hint("correct `plugin_folders` in the configuration, or make the folder")
    };
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.join("adapter.toml").is_file() {
            folders.push(path);
        }
    }
    folders.sort();
    match folders.is_empty() {
        false => Ok(folders),
        true => Err(Fault::whole(folder, "there is no plugin in this folder: no adapter.toml in it or beneath")),
    }
}

fn read_one(folder: &Path) -> Result<(Plugin, Vec<Fault>), Faults> {
    let file = folder.join("adapter.toml");
    let text = document::read_text(&file)
        .map_err(|error| Fault::whole(&file, format!("the manifest cannot be read: {error}")))?;
    let adapter: AdapterManifest = document::from_toml(&file, &text)?;
    let inside = adapter.component.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !inside {
        return Err(
            Fault::at_key(&file, &text, "component", "the component has to be beneath the plugin's folder").into()
        );
    }
    let component = read_component(&folder.join(&adapter.component)).map_err(|why| {
        Fault::at_key(&file, &text, "component", why).hint("build the plugin, or correct `component`")
    })?;
    let (tools, unreadable) = match folder.join("tools").is_dir() {
        true => admin::read_folder(&folder.join("tools")),
        false => (Vec::new(), Vec::new()),
    };
    let plugin = Plugin { adapter, file, component: Cow::Owned(component), tools };
    Ok((plugin, unreadable))
}

fn read_component(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("the component `{}` cannot be read: {error}", path.display());
    document::read_regular(path, COMPONENT).map_err(failed)
}
