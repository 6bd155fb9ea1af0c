//! Which tools and adapters are in service together? Reads plugins and manifests, makes components ready, and keeps
//! every fault for one report. Part of the spine.

use crate::adapter::plugin::{self, Embedded, Plugin};
use crate::adapter::{Adapter, Adapters};
use crate::call::Digest;
use crate::config::{Completion, Config, FolderSettings, Pin};
use crate::document::{Fault, Faults};
use crate::early::Early;
use crate::listed;
use crate::permission::policy::Policies;
use crate::registry::admin::{self, Around, Entry, ManifestText};
use crate::registry::change::Difference;
use crate::registry::parsed::Parsed;
use crate::registry::pinned::{self, Accepted, AcceptedAdapter, Held, Lock, Then};
use crate::registry::{Out, Registry};
use crate::sandbox::Sandbox;
use crate::sandbox::install::Installing;
use crate::spread::joined;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All tools and adapters at one time. A call uses one from its beginning to its end. Lifetime: until the next reload.
pub struct Toolbox {
    /// The tools.
    pub registry: Registry,
    /// The adapters.
    pub adapters: Arc<Adapters>,
    /// What is permitted, sliced by tool.
    pub policies: Arc<Policies>,
    /// What is wrong with plugins and manifests that were found. The good ones are in service.
    pub faults: Vec<Fault>,
    /// What waits until a person has accepted it.
    pub held: Vec<Held>,
    /// The reasons of failures that components declare.
    reasons: BTreeMap<String, BTreeSet<String>>,
}

/// Why nothing can be served.
#[derive(Debug)]
pub(crate) enum Unloadable {
    /// Policies that cannot be read: without them nothing is judged.
    Policies(Faults),
    /// It cannot be told what is accepted.
    Lock(String),
}

/// What is read, and what was there before.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) config: &'a Config,
    /// Plugins that are part of the program.
    pub(crate) embedded: &'a [Embedded],
    pub(crate) sandbox: &'a Sandbox,
    /// What people took out of service.
    pub(crate) out: &'a BTreeMap<String, Out>,
    /// The toolbox in service. What is not another one is taken over from it.
    pub(crate) known: Option<&'a Toolbox>,
}

/// Reads everything that configuration names. `watch` is told of each component that has to be compiled. One file that is
/// wrong takes nothing down; what it said before stays. Beside it stands what the folders were before they were read.
///
/// # Errors
/// What keeps everything from being served.
pub(crate) fn load(
    reading: &Reading<'_>,
    early: Early<'_>,
    watch: &mut dyn FnMut(Installing<'_>),
) -> Result<(Toolbox, Digest), Unloadable> {
    let Reading { config, embedded, sandbox, out, known } = *reading;
    let before = joined(early.folders);
    let lock = joined(early.lock).map_err(Unloadable::Lock)?;
    let (plugins, faults) = read_plugins(config, embedded);
    let mut new = New { adapters: Adapters::default(), faults, held: Vec::new(), accepted: Vec::new() };
    new.adapters.knows_servers(config.mcp.in_service());
    let mut manifests = listed::built_in();
    let mut listed = Vec::new();
    let mut reasons = BTreeMap::new();
    let plugins: Vec<Plugin> = plugins.into_iter().filter(|plugin| can_serve(plugin, config)).collect();
    let of = plugins.iter().filter(|plugin| sandbox.needs_compiling(&plugin.component)).count();
    let mut number = 0;
    for plugin in plugins {
        if sandbox.needs_compiling(&plugin.component) {
            number += 1;
            watch(Installing { adapter: &plugin.adapter.name, number, of });
        }
        new.load_adapter(reading, &plugin, &lock);
        let (functions, left_out) = listed::functions(&plugin);
        new.faults.extend(left_out);
        listed.extend(functions);
        reasons.extend(plugin.adapter.declared_reasons());
        let (offered, left_out) = listed::offered(sandbox, &plugin);
        new.faults.extend(left_out);
        listed.extend(offered);
        manifests.extend(plugin.tools);
    }
    for folder in &config.tool_folders {
        let (found, wrong) = admin::read_folder(folder);
        manifests.extend(found);
        new.faults.extend(wrong);
    }
    // What others offer comes last: it takes no name of what is here.
    manifests.extend(listed);
    new.keep_what_cannot_be_read(known);
    let around = Around { completions: &config.completions, reasons: &reasons, out };
    let usual = known.filter(|known| known.reasons == reasons).map(|known| known.registry.entries());
    let parsed = match usual {
        Some(_) => Parsed::default(),
        None => early.parsed.map_or_else(|| Parsed::read(&config.state_dir), joined),
    };
    let (entries, found) = admin::parse_known(&manifests, &around, usual.unwrap_or_default(), &parsed);
    parsed.remember(&config.state_dir, &entries, usual.unwrap_or_default());
    // Most are what was accepted, so whose text is needed is looked for when it is.
    let texts = OnceCell::new();
    let text = |file: &Path| {
        let by_file = || manifests.iter().map(|it| (it.file.as_os_str(), it.text.as_str())).collect::<HashMap<_, _>>();
        texts.get_or_init(by_file).get(file.as_os_str()).copied().unwrap_or_default()
    };
    let mut decided = pinned::decide(entries, text, &lock, &around, |entry| !is_pinned(config, &entry.file));
    let unread = [found.as_slice(), new.faults.as_slice()].concat();
    decided.entries.extend(as_before(&unread, &decided.entries, &lock, &around, known));
    new.faults.extend(found);
    new.faults.extend(decided.faults);
    new.held.extend(decided.held);
    new.write_down(config, decided.accepted);
    let (registry, found) = admin::assemble(decided.entries, &around);
    let New { adapters, mut faults, held, .. } = new;
    faults.extend(found);
    faults.extend(admin::unknown_completions(&registry, &config.completions));
    let policies = Policies::check(joined(early.policies), config, &registry).map_err(Unloadable::Policies)?.into();
    Ok((Toolbox { registry, adapters: adapters.into(), policies, faults, held, reasons }, before))
}

impl Toolbox {
    /// Whether another one says the same. What was taken over from the one is the same in the other.
    pub(crate) fn is_like(&self, other: &Toolbox) -> bool {
        let entries = |toolbox: &Toolbox| -> BTreeSet<(PathBuf, Digest)> {
            toolbox.registry.entries().iter().map(|entry| (entry.file.clone(), entry.text)).collect()
        };
        let adapters = |toolbox: &Toolbox| -> BTreeSet<(String, usize)> {
            toolbox.adapters.all().map(|it| (it.name.to_string(), Arc::as_ptr(it).cast::<()>() as usize)).collect()
        };
        self.faults == other.faults
            && self.held == other.held
            && self.registry.taken_out() == other.registry.taken_out()
            && adapters(self) == adapters(other)
            && entries(self) == entries(other)
    }

    /// The same with other tools out of service.
    pub(crate) fn with_out(&self, out: &BTreeMap<String, Out>, completions: &BTreeMap<String, Completion>) -> Toolbox {
        let around = Around { completions, reasons: &self.reasons, out };
        // What was left out for its name was told when it was read.
        let (registry, _) = admin::assemble(self.registry.entries().to_vec(), &around);
        Toolbox {
            registry,
            adapters: self.adapters.clone(),
            policies: self.policies.clone(),
            faults: self.faults.clone(),
            held: self.held.clone(),
            reasons: self.reasons.clone(),
        }
    }
}

/// Whether a file of a person's folder counts only as it was accepted.
fn is_pinned(config: &Config, file: &Path) -> bool {
    let is_beneath = |folder: &PathBuf| file.starts_with(folder);
    let follows = |(folder, set): (&PathBuf, &FolderSettings)| set.pin == Pin::Follow && is_beneath(folder);
    config.plugin_folders.iter().chain(&config.tool_folders).any(is_beneath) && !config.folders.iter().any(follows)
}

/// What files said before that cannot be read now: as it is in service, or as it was accepted.
fn as_before(
    faults: &[Fault],
    entries: &[Entry],
    lock: &Lock,
    around: &Around<'_>,
    known: Option<&Toolbox>,
) -> Vec<Entry> {
    let is_there = |name: &str, version: &str| {
        entries.iter().any(|entry| *entry.tool.name == *name && *entry.tool.version == *version)
    };
    let mut before: Vec<Entry> = Vec::new();
    for file in faults.iter().map(|fault| &fault.file).collect::<BTreeSet<_>>() {
        // Of a plugin whose own manifest is wrong all tools are meant.
        let folder = file.ends_with("adapter.toml").then(|| file.parent()).flatten();
        let is_meant = |other: &Path| other == file || folder.is_some_and(|folder| other.starts_with(folder));
        if let Some(known) = known {
            before.extend(known.registry.entries().iter().filter(|entry| is_meant(&entry.file)).cloned());
            continue;
        }
        let accepted = lock.tools.values().flat_map(BTreeMap::values).filter(|accepted| accepted.file == *file);
        let text =
            |accepted: &Accepted| ManifestText { file: file.clone(), text: accepted.text.clone(), built_in: None };
        before.extend(admin::parse(&accepted.map(text).collect::<Vec<_>>(), around).0);
    }
    before.retain(|entry| !is_there(&entry.tool.name, &entry.tool.version));
    before
}

/// What is put together.
struct New {
    adapters: Adapters,
    faults: Vec<Fault>,
    held: Vec<Held>,
    accepted: Vec<(String, AcceptedAdapter)>,
}

impl New {
    fn load_adapter(&mut self, reading: &Reading<'_>, plugin: &Plugin, lock: &Lock) {
        let manifest = &plugin.adapter;
        let capabilities: BTreeSet<String> = manifest.capabilities.iter().cloned().collect();
        let now = AcceptedAdapter { component: Digest::of(&plugin.component), capabilities };
        let known = reading.known.and_then(|known| known.adapters.get(&manifest.name));
        if is_pinned(reading.config, &plugin.file) {
            match lock.adapters.get(&manifest.name) {
                Some(accepted) if *accepted == now => {}
                Some(accepted) if is_wider(accepted, &now) => return self.hold(plugin, known, accepted, now),
                Some(_) | None => self.accepted.push((manifest.name.clone(), now.clone())),
            }
        }
        if let Some(known) = known.filter(|known| is_same(known, plugin, &now)) {
            return self.insert(known.clone(), plugin);
        }
        let failed = |new: &mut New, why: String, message: String| {
            new.adapters.insert_failed(&manifest.name, &manifest.names, &why);
            new.faults.push(Fault::whole(&plugin.file, message));
        };
        // What cannot be used leaves the one before in service; `keep_what_cannot_be_read` puts it back.
        let (profile, by_functions) = (&manifest.sandbox.profile.0, manifest.functions.is_some());
        let installed = match reading.sandbox.install(&plugin.component, &now.capabilities, profile, by_functions) {
            Ok(installed) => installed,
            Err(error) => {
                let why = error.to_string();
                let message = format!("the component of adapter `{}` cannot be used: {why}", manifest.name);
                return failed(self, why, message);
            }
        };
        let invokes = reading.config.invoke.get(&manifest.name).filter(|_| now.capabilities.contains("invoke"));
        let adapter = Adapter {
            invokes: invokes.cloned().unwrap_or_default().into(),
            name: manifest.name.as_str().into(),
            version: manifest.version.clone(),
            origin: plugin.file.clone(),
            component: now.component,
            linked: installed.linked,
            capabilities: now.capabilities,
            reasons: manifest.reasons.iter().cloned().collect(),
            limits: manifest.sandbox.limits.clone(),
            profile: manifest.sandbox.profile.clone(),
            alive: Some(installed.alive),
        };
        self.insert(adapter.into(), plugin);
    }

    fn insert(&mut self, adapter: Arc<Adapter>, plugin: &Plugin) {
        let taken = self.adapters.insert(adapter, &plugin.adapter.names);
        let fault = |name: String| Fault::whole(&plugin.file, format!("another adapter is already called `{name}`"));
        self.faults.extend(taken.into_iter().map(fault));
    }

    /// What a person has not accepted does not run: the one before stays, if it is there.
    fn hold(
        &mut self,
        plugin: &Plugin,
        known: Option<&Arc<Adapter>>,
        accepted: &AcceptedAdapter,
        now: AcceptedAdapter,
    ) {
        let manifest = &plugin.adapter;
        let difference =
            |what: &str, from: String, to: String| Difference { what: what.into(), from, to, widens: true };
        let list = |capabilities: &BTreeSet<String>| capabilities.iter().cloned().collect::<Vec<_>>().join(", ");
        let mut differences = Vec::new();
        if accepted.component != now.component {
            differences.push(difference("component", accepted.component.to_string(), now.component.to_string()));
        }
        if accepted.capabilities != now.capabilities {
            differences.push(difference("capabilities", list(&accepted.capabilities), list(&now.capabilities)));
        }
        match known.filter(|known| known.component == accepted.component) {
            Some(known) => self.insert(known.clone(), plugin),
            None => {
                let why = "its component is not the one that was accepted (`hermes-dispatch tools accept` shows it)";
                self.adapters.insert_failed(&manifest.name, &manifest.names, why);
            }
        }
        let (name, file, then) = (manifest.name.clone(), plugin.file.clone(), Then::Adapter(now));
        self.held.push(Held { name, file, differences, then });
    }

    /// Plugins whose manifests or components cannot be read now stay what they were.
    fn keep_what_cannot_be_read(&mut self, known: Option<&Toolbox>) {
        let Some(known) = known else { return };
        for adapter in known.adapters.all() {
            let is_faulty = self.faults.iter().any(|fault| fault.file == adapter.origin);
            if is_faulty && self.adapters.get(&adapter.name).is_none() {
                self.adapters.insert(adapter.clone(), &known.adapters.names_of(adapter));
            }
        }
    }

    /// What counts without a person's word is written down, so that it is known when it changes.
    fn write_down(&mut self, config: &Config, tools: Vec<(String, String, Accepted)>) {
        let adapters = std::mem::take(&mut self.accepted);
        if tools.is_empty() && adapters.is_empty() {
            return;
        }
        let written = pinned::change(&config.state_dir, |lock| {
            lock.adapters.extend(adapters);
            for (name, version, accepted) in tools {
                lock.tools.entry(name).or_default().insert(version, accepted);
            }
        });
        if let Err(why) = written {
            self.faults.push(Fault::whole(&config.state_dir.join(pinned::FILE), why));
        }
    }
}

fn is_wider(accepted: &AcceptedAdapter, now: &AcceptedAdapter) -> bool {
    accepted.component != now.component || !now.capabilities.is_subset(&accepted.capabilities)
}

fn is_same(known: &Adapter, plugin: &Plugin, now: &AcceptedAdapter) -> bool {
    let manifest = &plugin.adapter;
    known.component == now.component
        && known.capabilities == now.capabilities
        && known.version == manifest.version
        && known.origin == plugin.file
        && known.reasons == manifest.reasons.iter().cloned().collect()
        && known.limits == manifest.sandbox.limits
        && known.profile == manifest.sandbox.profile
}

pub(crate) fn read_plugins(config: &Config, embedded: &[Embedded]) -> (Vec<Plugin>, Vec<Fault>) {
    let mut plugins = Vec::new();
    let mut faults = Vec::new();
    for embedded in embedded {
        match plugin::read_embedded(embedded) {
            Ok(plugin) => plugins.push(plugin),
            Err(found) => faults.extend(found.0),
        }
    }
    for folder in &config.plugin_folders {
        let (found, wrong) = plugin::read_folder(folder);
        plugins.extend(found);
        faults.extend(wrong);
    }
    (plugins, faults)
}

/// Without a granted directory there is nothing that a tool for files could do.
fn can_serve(plugin: &Plugin, config: &Config) -> bool {
    !config.grants.is_empty() || !plugin.adapter.capabilities.iter().any(|capability| capability == "files")
}
