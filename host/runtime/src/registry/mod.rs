//! Step 1 of 7: which tool is meant?

pub mod admin;
pub mod discovery;
pub mod forms;
pub(crate) mod limit;
pub mod manifest;
pub mod running;
pub mod schema;
pub mod source;
pub mod stands_for;
pub mod statistics;
pub mod template;
pub mod tool;

use crate::document::{excerpt, nearest_many};
use crate::error::{Error, Kind, Step};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
pub use tool::Tool;

/// All tools by name and alias. Lifetime: until the next reload.
#[derive(Debug, Default)]
pub struct Registry {
    by_name: HashMap<String, Arc<Tool>>,
    by_endpoint: HashMap<String, Arc<Tool>>,
    disabled: HashSet<String>,
    in_order: OnceLock<Vec<Arc<Tool>>>,
    index: OnceLock<discovery::Index>,
}

/// Finds the tool that a caller named.
///
/// # Errors
/// `unknown_tool` with up to three near names of tools that the role may see; `retired` for a disabled one.
pub fn lookup<'a>(registry: &'a Registry, name: &str, role: &str) -> Result<&'a Arc<Tool>, Error> {
    registry.by_name.get(name).ok_or_else(|| not_found(registry, name, role))
}

fn not_found(registry: &Registry, name: &str, role: &str) -> Error {
    let shown = excerpt(name, 80);
    if registry.disabled.contains(name) {
        return Error::new(Step::Registry, Kind::Retired, format!("tool `{shown}` was taken out of service"));
    }
    let visible = registry.tools().filter(|tool| is_visible(tool, role)).map(|tool| &*tool.name);
    let near: Vec<String> = nearest_many(name, visible, 3).into_iter().map(|name| format!("`{name}`")).collect();
    let error = Error::new(Step::Registry, Kind::UnknownTool, format!("no tool is called `{shown}`"));
    match near.is_empty() {
        true => error,
        false => error.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// Whether a role sees a tool at all.
pub fn is_visible(tool: &Tool, role: &str) -> bool {
    tool.admits(role)
}

impl Registry {
    /// Every tool once, in no order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.by_name.iter().filter(|(name, tool)| name.as_str() == &*tool.name).map(|(_, tool)| tool)
    }

    /// Every tool once, by name.
    pub fn in_order(&self) -> &[Arc<Tool>] {
        self.in_order.get_or_init(|| {
            let mut tools: Vec<Arc<Tool>> = self.tools().cloned().collect();
            tools.sort_by(|a, b| a.name.cmp(&b.name));
            tools
        })
    }
}
