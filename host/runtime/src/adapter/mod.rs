//! Step 2 of 7: which adapter runs the tool?

pub mod plugin;

use crate::call::Digest;
use crate::error::{Error, Kind, Step};
use crate::registry::Tool;
use crate::registry::manifest::LimitsManifest;
use crate::registry::running::Backend;
use crate::servers;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A component that runs a kind of tool. Lifetime: until the next reload.
#[derive(Debug)]
pub struct Adapter {
    /// Its own name.
    pub name: Arc<str>,
    /// Its version.
    pub version: String,
    /// Digest of the component's file.
    pub component: Digest,
    /// Digest of the component together with the capabilities that it is linked to: what the sandbox runs.
    pub linked: Digest,
    /// The capabilities it asked for and got.
    pub capabilities: BTreeSet<String>,
    /// The reasons of failures that it declares.
    pub reasons: BTreeSet<String>,
    /// What no tool of it exceeds.
    pub limits: LimitsManifest,
}

/// All adapters by each of their names.
#[derive(Debug)]
pub struct Adapters {
    by_name: HashMap<String, Arc<Adapter>>,
    failed: HashMap<String, String>,
    own: Arc<Adapter>,
    /// The servers in service; those of the configuration, once it was read.
    servers: BTreeSet<String>,
}

impl Default for Adapters {
    fn default() -> Adapters {
        Adapters { by_name: HashMap::new(), failed: HashMap::new(), own: Arc::new(own()), servers: BTreeSet::new() }
    }
}

/// What stands for the runtime itself, which answers calls of its own tools. No manifest can name it.
fn own() -> Adapter {
    let program = Digest::of(concat!("hermes-runtime ", env!("CARGO_PKG_VERSION")).as_bytes());
    Adapter {
        name: "runtime".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        component: program,
        linked: program,
        capabilities: BTreeSet::new(),
        reasons: BTreeSet::new(),
        limits: LimitsManifest::default(),
    }
}

/// The way that a call takes: one of the tool's backends, and the adapter that runs it.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// The adapter.
    pub adapter: &'a Arc<Adapter>,
    /// The backend.
    pub backend: &'a Backend,
}

/// Finds the way to a tool.
///
/// # Errors
/// `no_adapter` that says what differs: no adapter has the name, or the one that has it could not be loaded.
pub fn route<'a>(adapters: &'a Adapters, tool: &'a Tool) -> Result<Route<'a>, Error> {
    if let (Some(_), Some(backend)) = (tool.built_in, tool.backends.first()) {
        return Ok(Route { adapter: &adapters.own, backend });
    }
    let ways = tool.backends.iter();
    let ways = ways.filter(|backend| adapters.missing_server(backend).is_none());
    let found = ways.filter_map(|backend| Some(Route { adapter: adapters.by_name.get(&backend.adapter)?, backend }));
    found.into_iter().next().ok_or_else(|| no_adapter(adapters, tool))
}

fn no_adapter(adapters: &Adapters, tool: &Tool) -> Error {
    let missing: Vec<String> = tool.backends.iter().map(|backend| what_is_missing(adapters, tool, backend)).collect();
    let hint = match tool.backends.iter().any(|backend| adapters.missing_server(backend).is_some()) {
        true => "the operator adds the server under `[mcp.servers]` of their own configuration",
        false => "the operator installs the plugin that declares this name in its `adapter.toml`",
    };
    Error::new(Step::Adapter, Kind::NoAdapter, missing.join("; ")).hint(hint)
}

fn what_is_missing(adapters: &Adapters, tool: &Tool, backend: &Backend) -> String {
    let name = &backend.adapter;
    let endpoint = backend.endpoint.as_ref().map(|endpoint| format!(" for `{endpoint}`")).unwrap_or_default();
    if let Some(server) = adapters.missing_server(backend) {
        let server = crate::document::excerpt(server, 80);
        return format!("tool `{}` is one of the server `{server}`, which is configured nowhere", tool.name);
    }
    match adapters.failed.get(name) {
        Some(why) => format!("the adapter `{name}` of tool `{}` cannot be used: {why}", tool.name),
        None => format!("no adapter is called `{name}`, which tool `{}` wants{endpoint}", tool.name),
    }
}

impl Adapters {
    /// Adds an adapter under its names. The names that another one has already are returned.
    pub fn insert(&mut self, adapter: Adapter, names: &[String]) -> Vec<String> {
        let adapter = Arc::new(adapter);
        let all = std::iter::once(adapter.name.to_string()).chain(names.iter().cloned());
        let mut taken = Vec::new();
        for name in all {
            match self.by_name.get(&name) {
                Some(other) if !Arc::ptr_eq(other, &adapter) => taken.push(name),
                _ => drop(self.by_name.insert(name, adapter.clone())),
            }
        }
        taken
    }

    /// Notes which servers are in service.
    pub fn knows_servers(&mut self, servers: BTreeSet<String>) {
        self.servers = servers;
    }

    /// The server that a backend names and that is not in service.
    fn missing_server<'a>(&self, backend: &'a Backend) -> Option<&'a str> {
        let reaches = |adapter: &Arc<Adapter>| adapter.capabilities.contains("mcp");
        self.by_name.get(&backend.adapter).filter(|adapter| reaches(adapter))?;
        let server = servers::named_in(backend.endpoint.as_deref()?)?;
        // What stands for others names none itself.
        (!server.starts_with('{') && !self.servers.contains(server)).then_some(server)
    }

    /// Notes why an adapter cannot be used.
    pub fn insert_failed(&mut self, name: &str, names: &[String], why: &str) {
        for name in std::iter::once(name).chain(names.iter().map(String::as_str)) {
            self.failed.insert(name.to_owned(), why.to_owned());
        }
    }

    /// Every adapter once, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Adapter>> {
        self.by_name.iter().filter(|(name, adapter)| name.as_str() == &*adapter.name).map(|(_, adapter)| adapter)
    }
}
