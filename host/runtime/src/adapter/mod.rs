//! Step 2 of 7: which adapter runs the tool?

pub mod choice;
pub mod health;
pub mod plugin;

use crate::call::Digest;
use crate::envelope::{RouteAlternative, RouteNote};
use crate::error::{Error, Kind, Step};
use crate::map::Map;
use crate::registry::Tool;
use crate::registry::manifest::LimitsManifest;
use crate::registry::running::Backend;
use crate::servers;
use choice::{Choice, Why};
use health::{Health, Observed, Rule, Standing};
use plugin::ProfileName;
use std::any::Any;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// A component that runs a kind of tool. Lifetime: until the next reload.
#[derive(Debug)]
pub struct Adapter {
    /// Its own name.
    pub name: Arc<str>,
    /// Its version.
    pub version: String,
    /// Its manifest's file.
    pub origin: PathBuf,
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
    /// Where its component runs.
    pub profile: ProfileName,
    /// The tools that it may call, as far as its caller may.
    pub invokes: Arc<BTreeSet<String>>,
    /// What has to be there as long as it can be called; the sandbox's own.
    pub alive: Option<Arc<dyn Any + Send + Sync>>,
}

/// Capabilities whose results come from outside of what the operator controls.
const OUTSIDE: &[&str] = &["browser", "http", "mcp"];

impl Adapter {
    /// Whether what it returns comes from outside.
    pub(crate) fn is_outside(&self) -> bool {
        OUTSIDE.iter().any(|capability| self.capabilities.contains(*capability))
    }
}

/// All adapters by each of their names.
#[derive(Debug)]
pub struct Adapters {
    by_name: Map<String, Arc<Adapter>>,
    failed: Map<String, String>,
    own: Arc<Adapter>,
    /// The servers in service; those of the configuration, once it was read.
    servers: BTreeSet<String>,
}

impl Default for Adapters {
    fn default() -> Adapters {
        Adapters { by_name: Map::default(), failed: Map::default(), own: Arc::new(own()), servers: BTreeSet::new() }
    }
}

/// What stands for the runtime itself, which answers calls of its own tools. No manifest can name it.
fn own() -> Adapter {
    let program = Digest::of(concat!("hermes-runtime ", env!("CARGO_PKG_VERSION")).as_bytes());
    Adapter {
        name: "runtime".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        origin: PathBuf::new(),
        component: program,
        linked: program,
        capabilities: BTreeSet::new(),
        reasons: BTreeSet::new(),
        limits: LimitsManifest::default(),
        profile: ProfileName::default(),
        invokes: Arc::default(),
        alive: None,
    }
}

/// The way that a call takes: one of the tool's backends, and the adapter that runs it.
#[derive(Clone, Debug)]
pub struct Route<'a> {
    /// The adapter.
    pub adapter: &'a Arc<Adapter>,
    /// The backend.
    pub backend: &'a Backend,
    /// The backends that can be asked when this one got nothing, the best first, each with what runs it.
    pub others: Vec<Other<'a>>,
    /// How it was decided, where there was something to decide.
    pub note: Option<Box<RouteNote>>,
}

impl<'a> Route<'a> {
    fn only(adapter: &'a Arc<Adapter>, backend: &'a Backend) -> Route<'a> {
        Route { adapter, backend, others: Vec::new(), note: None }
    }
}

/// Another backend, and the adapter that runs it.
pub type Other<'a> = (&'a Backend, &'a Arc<Adapter>);

type Way<'a> = (usize, &'a Backend, &'a Arc<Adapter>);

/// Finds the way to a tool: by health, then by what was observed.
///
/// # Errors
/// `no_adapter` that says what differs: no adapter has the name, or the one that has it could not be loaded;
/// `unavailable` when no backend can be asked now.
pub fn route<'a>(
    adapters: &'a Adapters,
    tool: &'a Tool,
    observed: &Observed,
    now: Instant,
) -> Result<Route<'a>, Error> {
    if let (Some(_), Some(backend)) = (tool.built_in, tool.backends.first()) {
        return Ok(Route::only(&adapters.own, backend));
    }
    let way = |(place, backend): (usize, &'a Backend)| match adapters.missing_server(backend) {
        Some(_) => None,
        None => Some((place, backend, adapters.by_name.get(&backend.adapter)?)),
    };
    // Most tools have one backend, and what was seen of it changes nothing.
    if let ([backend], None) = (tool.backends.as_slice(), &tool.health_check) {
        let (_, backend, adapter) = way((0, backend)).ok_or_else(|| no_adapter(adapters, tool))?;
        return Ok(Route::only(adapter, backend));
    }
    let ways: Vec<Way<'a>> = tool.backends.iter().enumerate().filter_map(way).collect();
    let Some((_, first, _)) = ways.first() else { return Err(no_adapter(adapters, tool)) };
    let standings: Vec<Standing> = ways.iter().map(|(_, backend, _)| observed.standing(&backend.digest, now)).collect();
    let turn = if ways.len() > 1 { observed.turn(&first.digest) } else { 1 };
    let Some(Choice { order, why }) = choice::choose(&standings, turn) else {
        return Err(unavailable(tool, &ways, observed));
    };
    let (_, backend, adapter) = ways[order[0]];
    // Who may make calls of its own is given a way to do so before it runs, and no other one in its place is.
    let can_follow = |other: &Arc<Adapter>| {
        other.linked == adapter.linked || (other.invokes.is_empty() && adapter.invokes.is_empty())
    };
    let other = |place: &usize| Some((ways[*place].1, ways[*place].2)).filter(|(_, other)| can_follow(other));
    let others = order[1..].iter().filter_map(other).collect();
    let note = (tool.backends.len() > 1).then(|| Box::new(note(&ways, &standings, order[0], why)));
    Ok(Route { adapter, backend, others, note })
}

fn note(ways: &[Way<'_>], standings: &[Standing], chosen: usize, why: Why) -> RouteNote {
    let alternative = |place: usize| {
        let ((number, backend, adapter), standing) = (ways[place], standings[place]);
        RouteAlternative {
            backend: number + 1,
            key: backend.key.to_string(),
            adapter: adapter.name.to_string(),
            health: match standing.health {
                Health::Healthy => "healthy",
                Health::HalfOpen => "half_open",
                Health::Unhealthy => "unhealthy",
            }
            .to_owned(),
            success: (standing.success * 1000.0).round() / 1000.0,
            latency_ms: standing.latency_ms.map(|ms| (ms * 10.0).round() / 10.0),
            calls: standing.calls,
        }
    };
    let why = match why {
        Why::Preferred => "preferred",
        Why::Better => "better",
        Why::OthersUnhealthy => "others_unhealthy",
        Why::Trial => "trial",
        Why::Explored => "explored",
    };
    RouteNote {
        why: why.to_owned(),
        chosen: alternative(chosen),
        alternatives: (0..ways.len()).filter(|place| *place != chosen).map(alternative).collect(),
        moved: Vec::new(),
    }
}

fn unavailable(tool: &Tool, ways: &[Way<'_>], observed: &Observed) -> Error {
    let last = ways.iter().find_map(|(_, backend, _)| observed.last_failure(&backend.digest));
    let last = last.map(|last| format!(": {last}")).unwrap_or_default();
    let which = if ways.len() == 1 { "the backend" } else { "every backend" };
    Error::new(Step::Adapter, Kind::Unavailable, format!("{which} of `{}` is unhealthy{last}", tool.name))
        .reason("unhealthy")
        .retry_after(rule(tool).pause)
}

/// When a tool's backends become unhealthy.
pub fn rule(tool: &Tool) -> Rule {
    match &tool.health_check {
        Some(check) => Rule { threshold: check.threshold, pause: check.interval },
        None => Rule { threshold: health::USUAL_THRESHOLD, pause: health::USUAL_PAUSE },
    }
}

/// Whether it matters for a tool what is seen of its backends.
pub fn is_observed(tool: &Tool) -> bool {
    tool.backends.len() > 1 || tool.health_check.is_some()
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
    pub fn insert(&mut self, adapter: Arc<Adapter>, names: &[String]) -> Vec<String> {
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

    /// All names of an adapter.
    pub fn names_of(&self, adapter: &Arc<Adapter>) -> Vec<String> {
        let own = self.by_name.iter().filter(|(_, other)| Arc::ptr_eq(other, adapter));
        own.map(|(name, _)| name.clone()).collect()
    }

    /// The adapter of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Adapter>> {
        self.by_name.get(name)
    }

    /// Every adapter once, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Adapter>> {
        self.by_name.iter().filter(|(name, adapter)| name.as_str() == &*adapter.name).map(|(_, adapter)| adapter)
    }
}
