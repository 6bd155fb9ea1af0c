//! What is tested? A plugin's folder as it is, or a bare component, for which manifests are made of what it says of
//! itself: nothing more is granted than it imports, and all of that leads into the test's own world.

use hermes_runtime::adapter::plugin as runtime;
use hermes_runtime::sandbox::component::{binary, contents};
use hermes_runtime::sandbox::install::imports;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A plugin as files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugin {
    /// The adapter's name.
    pub name: String,
    names: Vec<String>,
    capabilities: Vec<String>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// What is said of a component that knows nothing of the contract.
const BY_TYPES: &str = "[functions]\nrequired_roles = [\"tester\"]\nprefix = \"\"\n\
                        [sandbox.limits]\nfuel = 2000000000\nmemory_mb = 64\n";

/// The adapter of a bare component.
const BARE: &str = "component";

impl Plugin {
    /// Reads a plugin's folder or a component's file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(path: &Path) -> Result<Plugin, String> {
        if path.is_dir() {
            return Plugin::folder(path);
        }
        let bytes = std::fs::read(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
        Plugin::component(&bytes)
    }

    fn folder(path: &Path) -> Result<Plugin, String> {
        let (mut plugins, faults) = runtime::read_folder(path);
        if let Some(fault) = faults.first() {
            return Err(fault.to_string());
        }
        let plugin = plugins.pop().filter(|_| plugins.is_empty()).ok_or("name the folder of one plugin")?;
        let manifest = toml::to_string(&plugin.adapter).map_err(|error| error.to_string())?;
        let mut files = BTreeMap::from([
            (PathBuf::from("adapter.toml"), manifest.into_bytes()),
            (plugin.adapter.component.clone(), plugin.component.to_vec()),
        ]);
        for tool in &plugin.tools {
            let name = tool.file.file_name().unwrap_or_default();
            files.insert(Path::new("tools").join(name), tool.text.clone().into_bytes());
        }
        let runtime::AdapterManifest { name, names, capabilities, .. } = plugin.adapter;
        Ok(Plugin { name, names, capabilities, files })
    }

    /// A component alone: binary, or text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn component(bytes: &[u8]) -> Result<Plugin, String> {
        let wrong = |error: hermes_runtime::sandbox::install::InstallError| error.to_string();
        let inside = contents(&binary(bytes).map_err(wrong)?).map_err(wrong)?;
        let found = imports(&inside).map_err(wrong)?;
        let knows_contract = inside.exports.iter().any(|name| name.starts_with("hermes:tool/tool-execution"));
        let mut capabilities: Vec<String> = found.capabilities.into_iter().collect();
        if found.wasi.iter().any(|import| import.starts_with("wasi:http/")) {
            capabilities.push("http".to_owned());
        }
        let list: Vec<String> = capabilities.iter().map(|name| format!("{name:?}")).collect();
        let manifest = format!(
            "name = \"{BARE}\"\nversion = \"0.0.0\"\ncomponent = \"component.wasm\"\nworld = \"hermes:tool/tool@0.1.0\"\n\
             capabilities = [{}]\n",
            list.join(", ")
        );
        let mut plugin = Plugin { name: BARE.to_owned(), names: Vec::new(), capabilities, files: BTreeMap::new() };
        plugin.files.insert("component.wasm".into(), bytes.to_vec());
        if !knows_contract {
            // Its own functions are the tools, and their types the schemas.
            let manifest = manifest + BY_TYPES;
            plugin.files.insert("adapter.toml".into(), manifest.into_bytes());
            return match plugin.tools()?.is_empty() {
                false => Ok(plugin),
                true => Err("the component exports no function that can be a tool".into()),
            };
        }
        plugin.files.insert("adapter.toml".into(), manifest.into_bytes());
        let described = crate::Setting::new(plugin.clone())?.start()?.describe(BARE)?;
        for (index, tool) in described.tools.iter().enumerate() {
            let schema: Value = serde_json::from_str(&tool.input_schema)
                .map_err(|error| format!("the schema of tool `{}` is no JSON: {error}", tool.name))?;
            plugin
                .files
                .insert(format!("tools/{index}.toml").into(), manifest_of(&tool.name, &tool.description, &schema)?);
        }
        match described.tools.is_empty() {
            false => Ok(plugin),
            true => Err("the component describes no tool; test it in a plugin's folder with manifests".into()),
        }
    }

    /// The tools with the schemas of their arguments.
    ///
    /// # Errors
    /// A manifest that cannot be read.
    pub fn tools(&self) -> Result<Vec<(String, Value)>, String> {
        let bench = crate::Setting::new(self.clone())?.start()?;
        let toolbox = bench.runtime().toolbox();
        let own = |tool: &hermes_runtime::registry::Tool| {
            tool.backends.iter().any(|backend| backend.adapter == self.name || self.names.contains(&backend.adapter))
        };
        let tools = toolbox.registry.tools().filter(|tool| own(tool));
        let mut tools: Vec<_> = tools.map(|tool| (tool.name.to_string(), tool.input.json.clone())).collect();
        tools.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(tools)
    }

    /// The capabilities that it asks for.
    pub fn capabilities(&self) -> &[String] {
        &self.capabilities
    }

    /// A role that the first tool admits.
    pub fn role(&self) -> Option<String> {
        let adapter = self.files.get(Path::new("adapter.toml"))?;
        let adapter: toml::Table = String::from_utf8_lossy(adapter).parse().ok()?;
        if let Some(functions) = adapter.get("functions") {
            return chosen(functions.get("required_roles")?.as_array()?);
        }
        let (_, bytes) = self.files.iter().find(|(path, _)| path.starts_with("tools"))?;
        let manifest: toml::Table = String::from_utf8_lossy(bytes).parse().ok()?;
        chosen(manifest.get("tool")?.get("permissions")?.get("required_roles")?.as_array()?)
    }

    /// Writes it into a folder.
    pub(crate) fn put(&self, folder: &Path) -> Result<PathBuf, String> {
        for (path, bytes) in &self.files {
            let file = folder.join(path);
            let parent = file.parent().unwrap_or(folder);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(&file, bytes))
                .map_err(|error| error.to_string())?;
        }
        Ok(folder.to_owned())
    }
}

/// One of some roles, if possible none of the runtime's own.
fn chosen(roles: &[toml::Value]) -> Option<String> {
    let built_in = |role: &&str| !matches!(*role, "operator" | "guest");
    let roles: Vec<&str> = roles.iter().filter_map(toml::Value::as_str).collect();
    roles.iter().copied().find(built_in).or(roles.first().copied()).map(str::to_owned)
}

/// A manifest for a tool of a bare component.
fn manifest_of(name: &str, description: &str, schema: &Value) -> Result<Vec<u8>, String> {
    let description = if description.trim().is_empty() { "A tool" } else { description };
    let manifest = serde_json::json!({ "tool": {
        "name": name, "version": "0.0.0", "description": description, "input_schema": schema, "timeout_ms": 2000,
        "limits": { "fuel": 2_000_000_000_u64, "memory_mb": 64 },
        "permissions": { "required_roles": ["tester"], "risk_level": "low" },
        "effect": { "kind": "write", "idempotent": true, "open_world": false },
        "backend": { "type": "custom", "adapter": BARE },
    } });
    toml::to_string(&manifest)
        .map(String::into_bytes)
        .map_err(|error| format!("the schema of tool `{name}` cannot be kept: {error}"))
}
