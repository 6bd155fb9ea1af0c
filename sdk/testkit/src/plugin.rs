//! What is tested? A plugin's folder as it is, or a bare component, for which manifests are made of what it says of
//! itself: nothing more is granted than it imports, and all of that leads into the test's own world.

use crate::coverage::{self, Counted, MEMORY_MB};
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

    /// The same with a component that counts what it does, and what that tells. It has room and fuel for it.
    pub(crate) fn counted(&self) -> Result<(Plugin, Counted), String> {
        let mut copy = self.clone();
        let mut adapter = self.adapter()?;
        let file = adapter.get("component").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let bytes = self.files.get(Path::new(&file)).ok_or("the component is not among the plugin's files")?;
        let counted = coverage::counted(bytes)?;
        copy.capabilities.push(coverage::CAPABILITY.to_owned());
        let list = copy.capabilities.iter().cloned().map(toml::Value::String).collect();
        adapter.insert("capabilities".into(), toml::Value::Array(list));
        if let Some(limits) = adapter.get_mut("sandbox").and_then(|sandbox| sandbox.get_mut("limits")) {
            widen(limits);
        }
        let text = |table: &toml::Table| toml::to_string(table).map_err(|error| error.to_string());
        copy.files.insert("adapter.toml".into(), text(&adapter)?.into_bytes());
        for (path, bytes) in copy.files.iter_mut().filter(|(path, _)| path.starts_with("tools")) {
            let manifest: toml::Table = String::from_utf8_lossy(bytes)
                .parse()
                .map_err(|error| format!("`{}` is no manifest: {error}", path.display()))?;
            let mut manifest = manifest;
            if let Some(limits) = manifest.get_mut("tool").and_then(|tool| tool.get_mut("limits")) {
                widen(limits);
            }
            *bytes = text(&manifest)?.into_bytes();
        }
        copy.files.insert(file.into(), counted.component.clone());
        Ok((copy, counted))
    }

    /// What the component takes of memory before anything runs, in MiB, rounded up.
    ///
    /// # Errors
    /// What is wrong with the component.
    pub(crate) fn least_memory_mb(&self) -> Result<u64, String> {
        let adapter = self.adapter()?;
        let file = adapter.get("component").and_then(toml::Value::as_str).unwrap_or_default();
        let bytes = self.files.get(Path::new(file)).ok_or("the component is not among the plugin's files")?;
        let inside = binary(bytes).and_then(|binary| contents(&binary)).map_err(|error| error.to_string())?;
        Ok(inside.memory_bytes.div_ceil(1 << 20))
    }

    /// The least fuel that one of its manifests gives.
    pub(crate) fn least_fuel(&self) -> Option<u64> {
        let tools = self.files.iter().filter(|(path, _)| path.starts_with("tools"));
        let tools = tools.filter_map(|(_, bytes)| {
            let manifest: toml::Table = String::from_utf8_lossy(bytes).parse().ok()?;
            manifest.get("tool")?.get("limits")?.get("fuel")?.as_integer()
        });
        let own =
            self.adapter().ok().and_then(|adapter| adapter.get("sandbox")?.get("limits")?.get("fuel")?.as_integer());
        tools.chain(own).min().and_then(|fuel| u64::try_from(fuel).ok())
    }

    fn adapter(&self) -> Result<toml::Table, String> {
        let bytes = self.files.get(Path::new("adapter.toml")).ok_or("there is no `adapter.toml`")?;
        String::from_utf8_lossy(bytes).parse().map_err(|error| format!("`adapter.toml`: {error}"))
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
        let mut tools: Vec<_> = tools.map(|tool| (tool.name.to_string(), tool.input.json().clone())).collect();
        tools.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(tools)
    }

    /// The capabilities that it asks for.
    pub fn capabilities(&self) -> &[String] {
        &self.capabilities
    }

    /// A role that the first tool admits.
    pub fn role(&self) -> Option<String> {
        let adapter = self.adapter().ok()?;
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

/// What counting takes of fuel, as a factor.
const FUEL: i64 = 8;

/// Limits with room for counting.
fn widen(limits: &mut toml::Value) {
    let Some(limits) = limits.as_table_mut() else { return };
    for (name, value) in limits.iter_mut() {
        let Some(number) = value.as_integer() else { continue };
        let wide = match name.as_str() {
            "fuel" => number.saturating_mul(FUEL),
            "memory_mb" => number.saturating_add(MEMORY_MB as i64),
            "host_calls" => number.saturating_add(1),
            "instances" => number.saturating_add(3),
            "host_call_bytes" => number.max((MEMORY_MB as i64) << 20),
            _ => number,
        };
        *value = toml::Value::Integer(wide);
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
