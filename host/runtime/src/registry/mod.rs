//! Step 1 of 7: which tool is meant?

pub mod admin;
pub mod change;
pub mod discovery;
pub mod export;
pub mod forms;
pub mod import;
pub(crate) mod life;
pub(crate) mod limit;
pub mod low_use;
pub mod manifest;
pub mod name;
pub mod parsed;
pub mod pinned;
mod places;
pub mod published;
pub mod running;
pub mod schema;
pub mod source;
pub mod stands_for;
pub mod statistics;
pub mod template;
pub mod tool;

use crate::document::{excerpt, nearest_many};
use crate::error::{Error, Kind, Step};
use crate::map::Map;
use admin::Entry;
use semver::VersionReq;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
pub use tool::Tool;

/// All tools by name and alias. Lifetime: until the next reload.
#[derive(Debug, Default)]
pub struct Registry {
    /// The newest version of each tool, by name and alias.
    by_name: Map<String, Arc<Tool>>,
    /// All versions of the tools that have several, the newest first.
    versions: Map<Arc<str>, Vec<Arc<Tool>>>,
    by_endpoint: Map<String, Arc<Tool>>,
    /// How tools are not in service, with each one's own name, by name and alias.
    out: Map<String, (Out, Arc<str>)>,
    /// What people took out of service, by tool.
    taken_out: BTreeMap<String, Out>,
    /// Every manifest that is right, whether its tool is in service or not.
    entries: Arc<[Entry]>,
    in_order: OnceLock<Vec<Arc<Tool>>>,
    index: OnceLock<discovery::Index>,
}

/// How a tool is not in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Out {
    /// For now.
    Disabled,
    /// For good.
    Retired,
}

/// Finds the tool that a caller named: by name or alias, with `@` and a requirement such as `^2` for another version
/// than the newest.
///
/// # Errors
/// `unknown_tool` with up to three near names of tools that the role may see, or the versions that there are; `retired`
/// for one that was taken out of service.
pub fn lookup<'a>(registry: &'a Registry, name: &str, role: &str) -> Result<&'a Arc<Tool>, Error> {
    match registry.by_name.get(name) {
        Some(tool) => Ok(tool),
        None => registry.find(name).ok_or_else(|| not_found(registry, name, role)),
    }
}

/// What is written down of a name that leads to no tool in service: the tool that is out of service, or the name itself.
pub(crate) fn meant_in_vain(registry: &Registry, name: &str) -> Arc<str> {
    let base = name.split_once('@').map_or(name, |(base, _)| base);
    registry.out.get(base).map_or_else(|| excerpt(name, 200).into(), |(_, tool)| tool.clone())
}

pub(crate) fn not_found(registry: &Registry, name: &str, role: &str) -> Error {
    let shown = excerpt(name, 80);
    let (base, wanted) = name.split_once('@').map_or((name, None), |(base, wanted)| (base, Some(wanted)));
    if let Some((out, _)) = registry.out.get(base) {
        let how = match out {
            Out::Disabled => "was taken out of service",
            Out::Retired => "was retired",
        };
        return Error::new(Step::Registry, Kind::Retired, format!("tool `{}` {how}", excerpt(base, 80)));
    }
    if let (Some(wanted), Some(newest)) = (wanted, registry.by_name.get(base))
        && is_visible(newest, role)
    {
        return no_version(registry, newest, wanted);
    }
    let visible = registry.tools().filter(|tool| is_visible(tool, role)).map(|tool| &*tool.name);
    let near: Vec<String> = nearest_many(base, visible, 3).into_iter().map(|name| format!("`{name}`")).collect();
    let error = Error::new(Step::Registry, Kind::UnknownTool, format!("no tool is called `{shown}`"));
    match near.is_empty() {
        true => error,
        false => error.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

fn no_version(registry: &Registry, newest: &Tool, wanted: &str) -> Error {
    let (name, shown) = (&newest.name, excerpt(wanted, 40));
    let why = match VersionReq::parse(wanted) {
        Ok(_) => format!("no version of `{name}` fits `{shown}`"),
        Err(_) => format!("`{shown}` is no requirement of a version such as `^{}`", newest.semver.major),
    };
    let versions: Vec<&str> = registry.versions_of(newest).map(|tool| &*tool.version).collect();
    Error::new(Step::Registry, Kind::UnknownTool, why).hint(format!("there is {}", versions.join(", ")))
}

/// Whether a role sees a tool at all.
pub fn is_visible(tool: &Tool, role: &str) -> bool {
    tool.admits(role)
}

impl Registry {
    /// The tool that is meant by a name or an alias, with `@` and a requirement for another version than the newest.
    pub fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        if let Some(tool) = self.by_name.get(name) {
            return Some(tool);
        }
        let (name, wanted) = name.split_once('@')?;
        let newest = self.by_name.get(name)?;
        let wanted = VersionReq::parse(wanted).ok()?;
        match self.versions.get(&newest.name) {
            Some(versions) => versions.iter().find(|tool| wanted.matches(&tool.semver)),
            None => wanted.matches(&newest.semver).then_some(newest),
        }
    }

    /// Every tool once, each in its newest version, in no order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.by_name.iter().filter(|(name, tool)| name.as_str() == &*tool.name).map(|(_, tool)| tool)
    }

    /// All versions of a tool, the newest first.
    pub fn versions_of<'a>(&'a self, newest: &'a Tool) -> impl Iterator<Item = &'a Tool> {
        let several = self.versions.get(&newest.name);
        let alone = several.is_none().then_some(newest);
        several.into_iter().flatten().map(|tool| &**tool).chain(alone)
    }

    /// Every manifest that is right, whether its tool is in service or not.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What people took out of service, by tool.
    pub fn taken_out(&self) -> &BTreeMap<String, Out> {
        &self.taken_out
    }

    /// Every tool once, each in its newest version, by name.
    pub fn in_order(&self) -> &[Arc<Tool>] {
        self.in_order.get_or_init(|| {
            let mut tools: Vec<Arc<Tool>> = self.tools().cloned().collect();
            tools.sort_by(|a, b| a.name.cmp(&b.name));
            tools
        })
    }
}
