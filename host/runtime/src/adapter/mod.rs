//! Step 2 of 7: which adapter runs the tool?

pub mod plugin;

use crate::call::Digest;
use crate::error::{Error, Kind, Step};
use crate::registry::Tool;
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
}

/// All adapters by each of their names.
#[derive(Debug, Default)]
pub struct Adapters {
    by_name: HashMap<String, Arc<Adapter>>,
    failed: HashMap<String, String>,
}

/// Finds the adapter of a tool.
///
/// # Errors
/// `no_adapter` that says what differs: no adapter has the name, or the one that has it could not be loaded.
pub fn route<'a>(adapters: &'a Adapters, tool: &Tool) -> Result<&'a Arc<Adapter>, Error> {
    adapters.by_name.get(&tool.adapter).ok_or_else(|| no_adapter(adapters, tool))
}

fn no_adapter(adapters: &Adapters, tool: &Tool) -> Error {
    let name = &tool.adapter;
    let error = |message| Error::new(Step::Adapter, Kind::NoAdapter, message);
    match adapters.failed.get(name) {
        Some(why) => error(format!("the adapter `{name}` of tool `{}` cannot be used: {why}", tool.name)),
        None => error(format!("no adapter is called `{name}`, which tool `{}` wants", tool.name))
            .hint("the operator installs the plugin that declares this name in its `adapter.toml`"),
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
