//! What has the operator set, and where does each setting come from? System, user and project files become one
//! [`Config`]. Must not decide about calls.
#![expect(clippy::disallowed_methods, reason = "the configuration knows where granted and protected places really are")]

use crate::authority::Authority;
pub use crate::browsing::BrowserSettings;
use crate::browsing::WrittenBrowser;
use crate::document::{self, Fault, Faults};
use crate::faults::FileFaults;
use crate::outbound::{HttpSettings, SecretSettings};
use crate::profile::{Named, Profile};
use crate::rules::{LabelRule, PolicySettings, RiskSettings};
use crate::servers::McpSettings;
pub use crate::settings::{
    Access, ApprovalSettings, BackendCompletion, Ceiling, Completion, FolderSettings, Grant, InstallSettings, Pin,
    ProcessSettings, ResultSettings, Role, Situations, Unattended,
};
use crate::settings::{CeilingKey, WrittenProcess};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The settings of one runtime, checked. Built by [`Config::load`] or by an embedding program.
#[derive(Clone, Debug, Serialize)]
pub struct Config {
    /// Where the journal and large outputs are.
    pub state_dir: PathBuf,
    /// Where compiled components are kept. Can be deleted at any time.
    pub cache_dir: PathBuf,
    /// The directories that tools may reach, by virtual name.
    pub grants: BTreeMap<String, Grant>,
    /// Folders that hold one plugin each, or several in subfolders.
    pub plugin_folders: Vec<PathBuf>,
    /// Folders of further tool manifests.
    pub tool_folders: Vec<PathBuf>,
    /// What is set about folders of plugins and tools, and all that is in them.
    pub folders: BTreeMap<PathBuf, FolderSettings>,
    /// What is added to manifests, by tool.
    #[serde(rename = "tools")]
    pub completions: BTreeMap<String, Completion>,
    /// The roles this user may take, beside the built-in ones.
    pub roles: BTreeMap<String, Role>,
    /// Which circumstances this user may claim.
    pub situations: Situations,
    /// No call gets more than this, whatever a manifest says.
    pub ceiling: Ceiling,
    /// How results are shaped.
    pub result: ResultSettings,
    /// Secrets of an embedding program, which are masked in whatever form they come back. Shown nowhere.
    #[serde(skip)]
    pub masked: Vec<String>,
    /// How people are asked.
    pub approval: ApprovalSettings,
    /// What programs of the machine get.
    pub process: ProcessSettings,
    /// What compiling a component may take.
    pub install: InstallSettings,
    /// Which policies count beside the shipped ones.
    pub policies: PolicySettings,
    /// What points of risk come to.
    pub risk: RiskSettings,
    /// What is known about targets.
    pub labels: Vec<LabelRule>,
    /// Which hosts requests of tools may reach.
    pub http: HttpSettings,
    /// Where secrets come from and where they may go, by name. Their values are never here.
    pub secrets: BTreeMap<String, SecretSettings>,
    /// Which tools an adapter may call that asks for the capability `invoke`, by the adapter's name.
    pub invoke: BTreeMap<String, BTreeSet<String>>,
    /// The servers whose tools are served too.
    pub mcp: McpSettings,
    /// What the browser may reach and use up.
    pub browser: BrowserSettings,
    /// Host paths that no grant includes, whatever it says: state, configuration, plugins, keys.
    pub protected: BTreeSet<PathBuf>,
    /// Capabilities that the embedding program adds.
    #[serde(skip)]
    pub authorities: Vec<Authority>,
    /// Where components can run that the embedding program runs itself.
    #[serde(skip)]
    pub profiles: Vec<Named>,
    /// What goes wrong with files, in a test.
    #[serde(skip)]
    pub file_faults: FileFaults,
    /// Those of them that are kept from tools for what they do, not for what they say: git may show what they were.
    #[serde(skip)]
    pub no_secrets: BTreeSet<PathBuf>,
}

/// A configuration file as written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigFile {
    state_dir: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    plugin_folders: Vec<PathBuf>,
    tool_folders: Vec<PathBuf>,
    folders: BTreeMap<PathBuf, FolderSettings>,
    grants: BTreeMap<String, Grant>,
    roles: BTreeMap<String, Role>,
    situations: Option<Situations>,
    ceiling: BTreeMap<CeilingKey, u64>,
    result: Option<ResultSettings>,
    approval: Option<ApprovalSettings>,
    process: WrittenProcess,
    install: Option<InstallSettings>,
    policies: Option<PolicySettings>,
    risk: Option<RiskSettings>,
    labels: Vec<LabelRule>,
    http: Option<HttpSettings>,
    secrets: BTreeMap<String, SecretSettings>,
    invoke: BTreeMap<String, BTreeSet<String>>,
    mcp: McpSettings,
    browser: WrittenBrowser,
    protected: Vec<PathBuf>,
    tools: BTreeMap<String, Completion>,
}

/// Where a setting comes from, from the strongest to the weakest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An option of the command.
    Flag,
    /// An environment variable.
    Environment,
    /// `hermes.toml` in the workspace.
    Project(PathBuf),
    /// The user's file.
    User(PathBuf),
    /// The machine's file.
    System(PathBuf),
    /// Nobody set it.
    Default,
}

/// One configuration file that was found.
#[derive(Clone, Debug)]
pub struct Source {
    /// Whose it is.
    pub origin: Origin,
    /// Its text.
    pub text: String,
    /// For a project's file: whether a person has trusted it as it stands.
    pub trusted: bool,
}

/// A configuration and where each of its settings comes from, by dotted key.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Where each setting that somebody set comes from.
    pub origins: BTreeMap<String, Origin>,
}

/// What a project's file may say without being trusted, since it only narrows.
const NARROWING: &[&str] = &["protected", "ceiling", "result", "tools"];
/// What a project's file may say once it is trusted.
const TRUSTED: &[&str] = &["plugin_folders", "tool_folders"];

impl Config {
    /// A configuration that grants nothing, for an embedding program.
    pub fn new(state_dir: impl Into<PathBuf>, cache_dir: impl Into<PathBuf>) -> Config {
        Config {
            state_dir: state_dir.into(),
            cache_dir: cache_dir.into(),
            grants: BTreeMap::new(),
            plugin_folders: Vec::new(),
            tool_folders: Vec::new(),
            folders: BTreeMap::new(),
            completions: BTreeMap::new(),
            roles: BTreeMap::new(),
            situations: Situations::default(),
            ceiling: Ceiling::default(),
            result: ResultSettings::default(),
            masked: Vec::new(),
            approval: ApprovalSettings::default(),
            process: ProcessSettings::default(),
            install: InstallSettings::default(),
            policies: PolicySettings::default(),
            risk: RiskSettings::default(),
            labels: Vec::new(),
            http: HttpSettings::default(),
            secrets: BTreeMap::new(),
            invoke: BTreeMap::new(),
            mcp: McpSettings::default(),
            browser: BrowserSettings::default(),
            protected: BTreeSet::new(),
            authorities: Vec::new(),
            profiles: Vec::new(),
            file_faults: FileFaults::default(),
            no_secrets: BTreeSet::new(),
        }
    }

    /// With a capability of the embedding program's own.
    pub fn authority(mut self, authority: Authority) -> Config {
        self.authorities.push(authority);
        self
    }

    /// With a profile of the embedding program's own, by the name that `adapter.toml` asks for.
    pub fn profile(mut self, name: &str, profile: impl Profile + 'static) -> Config {
        self.profiles.push(Named::new(name, profile));
        self
    }

    /// The same with a program that compiles components and starts programs, one that calls
    /// [`helper_main`](crate::helper_main). A program that calls it itself needs none.
    pub fn helper(mut self, program: impl Into<PathBuf>) -> Config {
        self.process.helper = Some(program.into());
        self
    }

    /// Puts files together, the weakest first, over a base. All faults of all files are reported at once.
    pub fn load(base: Config, sources: &[Source]) -> Result<Loaded, Faults> {
        let mut config = base;
        let mut origins = BTreeMap::new();
        let mut faults = Vec::new();
        for source in sources {
            let path = source.path();
            match document::from_toml::<ConfigFile>(&path, &source.text) {
                Ok(file) => {
                    let refused = refused_keys(source);
                    match refused.is_empty() {
                        true => apply(&mut config, file, source, &mut origins),
                        false => faults.extend(refused),
                    }
                }
                Err(fault) => faults.push(fault),
            }
        }
        faults.extend(config.grants.keys().filter_map(|name| bad_grant_name(name)));
        faults.extend(config.mcp.faults());
        faults.extend(config.approval.webhook.iter().flat_map(|webhook| webhook.faults()));
        match faults.is_empty() {
            true => Ok(Loaded { config, origins }),
            false => Err(Faults(faults)),
        }
    }

    /// The virtual name of the directory in which an agent works.
    pub const WORKSPACE: &'static str = "workspace";

    /// Grants a directory under a virtual name.
    pub fn grant(mut self, name: &str, path: impl Into<PathBuf>, mode: Access) -> Config {
        self.grants.insert(name.to_owned(), Grant { path: path.into(), mode });
        self
    }

    /// What the runtime itself lives on is part of no grant.
    pub fn with_own_places_protected(mut self) -> Config {
        let own = [&self.state_dir, &self.cache_dir];
        let policies = self.policies.permissions.iter().chain(&self.policies.factors);
        let secrets = self.secrets.values().filter_map(|secret| secret.file.as_ref());
        let secrets = secrets.chain(self.approval.webhook.as_ref().map(|webhook| &webhook.key_file));
        let places =
            own.into_iter().chain(&self.plugin_folders).chain(&self.tool_folders).chain(policies).chain(secrets);
        self.protected.extend(places.cloned().collect::<Vec<_>>());
        let plain = self.plugin_folders.iter().chain(&self.tool_folders);
        let policies = self.policies.permissions.iter().chain(&self.policies.factors);
        self.no_secrets.extend(plain.chain(policies).cloned().collect::<Vec<_>>());
        self
    }

    /// The grants as tools name them, with a leading slash.
    pub(crate) fn virtual_grants(&self) -> BTreeSet<String> {
        self.grants.keys().map(|name| format!("/{name}")).collect()
    }

    /// The protected places as tools would name them.
    pub(crate) fn virtual_protected(&self) -> BTreeSet<String> {
        self.virtual_places(self.protected.iter())
    }

    /// Those of them whose content is to stay unknown.
    pub(crate) fn virtual_secrets(&self) -> BTreeSet<String> {
        self.virtual_places(self.protected.difference(&self.no_secrets))
    }

    fn virtual_places<'a>(&self, places: impl Iterator<Item = &'a PathBuf>) -> BTreeSet<String> {
        let protected: Vec<PathBuf> = places.map(|place| real(place)).collect();
        let mut places = BTreeSet::new();
        for (name, grant) in &self.grants {
            let root = real(&grant.path);
            for place in &protected {
                match place.strip_prefix(&root) {
                    _ if root.starts_with(place) => drop(places.insert(format!("/{name}"))),
                    Ok(rest) => drop(places.insert(format!("/{name}/{}", rest.display()))),
                    Err(_) => {}
                }
            }
        }
        places
    }

    /// Masks a secret in results and records, in whatever form it comes back.
    pub fn mask(mut self, secret: impl Into<String>) -> Config {
        self.masked.push(secret.into());
        self
    }

    /// Every secret that is known: those of an embedding program and those of the environment.
    pub(crate) fn known_secrets(&self) -> Vec<String> {
        let of_environment = self.result.mask_environment.iter().filter_map(|name| std::env::var(name).ok());
        // What a program of a credential store prints is masked where it is used; asking for it here may ask a person.
        let of_settings = self.secrets.values().filter_map(|secret| match (&secret.environment, &secret.file) {
            (Some(name), _) => std::env::var(name).ok(),
            (None, Some(file)) => std::fs::read_to_string(file).ok(),
            (None, None) => None,
        });
        self.masked.iter().cloned().chain(of_environment).chain(of_settings).collect()
    }

    /// Lets what changes in a folder count at once, for a plugin that is being written.
    pub fn follow(mut self, folder: impl Into<PathBuf>) -> Config {
        self.folders.insert(folder.into(), FolderSettings { pin: Pin::Follow });
        self
    }

    /// Adds a folder of plugins.
    pub fn plugin(mut self, folder: impl Into<PathBuf>) -> Config {
        self.plugin_folders.push(folder.into());
        self
    }
}

impl Source {
    fn path(&self) -> PathBuf {
        match &self.origin {
            Origin::Project(path) | Origin::User(path) | Origin::System(path) => path.clone(),
            Origin::Flag => "command line".into(),
            Origin::Environment => "environment".into(),
            Origin::Default => "defaults".into(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.path().parent().map(Path::to_owned).unwrap_or_default()
    }
}

/// Where a path really is, also one that is not there yet: links above it count.
pub(crate) fn real(path: &Path) -> PathBuf {
    let known =
        path.ancestors().find_map(|above| Some(above.canonicalize().ok()?.join(path.strip_prefix(above).ok()?)));
    known.unwrap_or_else(|| path.to_owned())
}

/// What is wrong with the name of a grant, if anything is.
pub fn bad_grant_name(name: &str) -> Option<Fault> {
    let good = !name.is_empty()
        && !TAKEN.contains(&name)
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
    (!good).then(|| {
        Fault::whole(
            Path::new("configuration"),
            format!("`{}` cannot be the name of a grant", document::printable(name)),
        )
        .hint("use small letters, digits, `_` and `-`, and no name that programs expect at the root")
    })
}

/// What stands at the root of the view that programs have, beside the grants.
const TAKEN: &[&str] = &["bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr", "var"];

/// What a project's file says although it may not.
fn refused_keys(source: &Source) -> Vec<Fault> {
    let Origin::Project(path) = &source.origin else {
        return Vec::new();
    };
    let Ok(table) = source.text.parse::<toml::Table>() else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for (key, value) in &table {
        if NARROWING.contains(&key.as_str()) {
            faults.extend(widening_completions(path, &source.text, key, value));
        } else if !TRUSTED.contains(&key.as_str()) {
            faults.push(
                Fault::at_key(
                    path,
                    &source.text,
                    key,
                    format!("a project may not set `{key}`, which widens what tools may do"),
                )
                .hint("set it in your own configuration; `hermes-dispatch config show --origin` names the file"),
            );
        } else if let Some(outside) = names_outside(value) {
            faults.push(
                Fault::at_key(path, &source.text, key, format!("`{outside}` is not beneath the project's folder"))
                    .hint("name folders of the project by relative paths without `..`"),
            );
        } else if !source.trusted {
            faults.push(
                Fault::at_key(
                    path,
                    &source.text,
                    key,
                    format!("`{key}` counts only in a project that a person trusts"),
                )
                .hint("read the project's files, then run `hermes-dispatch trust` there, or remove the key"),
            );
        }
    }
    faults
}

/// A folder that a project names and that is not its own.
fn names_outside(value: &toml::Value) -> Option<&str> {
    let is_own = |name: &&str| {
        Path::new(name)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir))
            && !name.starts_with('~')
    };
    value.as_array().into_iter().flatten().filter_map(toml::Value::as_str).find(|name| !is_own(name))
}

fn widening_completions(path: &Path, text: &str, key: &str, value: &toml::Value) -> Vec<Fault> {
    let tools = match (key, value.as_table()) {
        ("tools", Some(tools)) => tools,
        _ => return Vec::new(),
    };
    let keys = tools.values().filter_map(toml::Value::as_table).flat_map(|completion| completion.keys());
    keys.filter(|key| *key != "denied_roles" && *key != "disabled")
        .map(|key| {
            Fault::at_key(
                path,
                text,
                key,
                format!("a project may not set `{key}` of a tool, which widens who may use it"),
            )
            .hint("a project may set `denied_roles` and `disabled`; the rest belongs into your own configuration")
        })
        .collect()
}

fn apply(config: &mut Config, file: ConfigFile, source: &Source, origins: &mut BTreeMap<String, Origin>) {
    let folder = source.folder();
    let project = matches!(source.origin, Origin::Project(_));
    let at = |path: PathBuf| folder.join(expand_home(path));
    note_origins(source, config, origins);

    config.state_dir = file.state_dir.map(at).unwrap_or_else(|| config.state_dir.clone());
    config.cache_dir = file.cache_dir.map(at).unwrap_or_else(|| config.cache_dir.clone());
    config.plugin_folders.extend(file.plugin_folders.into_iter().map(at));
    config.tool_folders.extend(file.tool_folders.into_iter().map(at));
    config.folders.extend(file.folders.into_iter().map(|(path, set)| (at(path), set)));
    config.protected.extend(file.protected.into_iter().map(at));
    let grants = file.grants.into_iter().map(|(name, grant)| (name, Grant { path: at(grant.path), ..grant }));
    config.grants.extend(grants);
    config.roles.extend(file.roles);
    config.situations = file.situations.unwrap_or_else(|| config.situations.clone());
    config.approval = file.approval.unwrap_or_else(|| config.approval.clone());
    if let Some(webhook) = &mut config.approval.webhook {
        webhook.key_file = at(std::mem::take(&mut webhook.key_file));
    }
    file.process.apply(&mut config.process, at);
    config.install = file.install.unwrap_or_else(|| config.install.clone());
    if let Some(policies) = file.policies {
        config.policies.permissions.extend(policies.permissions.into_iter().map(&at));
        config.policies.factors.extend(policies.factors.into_iter().map(&at));
        config.policies.permit_listed_roles = policies.permit_listed_roles;
    }
    config.risk = file.risk.unwrap_or_else(|| config.risk.clone());
    config.labels.extend(file.labels);
    if let Some(mut http) = file.http {
        http.authorities = http.authorities.into_iter().map(&at).collect();
        config.http = http;
    }
    for (name, mut secret) in file.secrets {
        secret.file = secret.file.map(&at);
        config.secrets.insert(name, secret);
    }
    config.invoke.extend(file.invoke);
    config.mcp.extend(file.mcp, at);
    file.browser.apply(&mut config.browser, at);
    for (key, value) in file.ceiling {
        let known = config.ceiling.at(key);
        *known = if project { value.min(*known) } else { value };
    }
    if let Some(result) = file.result {
        let known = config.result.budget_tokens;
        let lowest = known.into_iter().chain(result.budget_tokens).min();
        config.result.budget_tokens = if project { lowest } else { result.budget_tokens.or(known) };
        config.result.mask_environment.extend(result.mask_environment);
        if !project {
            let known = &mut config.result;
            known.mask = result.mask.or(known.mask);
            known.record_bytes = result.record_bytes.or(known.record_bytes);
            known.record_days = result.record_days.or(known.record_days);
            known.record_mb = result.record_mb.or(known.record_mb);
            known.keep_days = result.keep_days.or(known.keep_days);
            known.keep_mb = result.keep_mb.or(known.keep_mb);
        }
    }
    for (tool, completion) in file.tools {
        complete(config.completions.entry(tool).or_default(), completion);
    }
}

fn complete(known: &mut Completion, new: Completion) {
    known.aliases.extend(new.aliases);
    known.denied_roles.extend(new.denied_roles);
    known.network |= new.network;
    known.disabled |= new.disabled;
    known.required_roles = new.required_roles.or(known.required_roles.take());
    known.target = new.target.or(known.target.take());
    known.labels.extend(new.labels);
    known.effect = new.effect.or(known.effect.take());
    let (old, new) = (known.backend.take(), new.backend);
    known.backend = match (old, new) {
        (Some(old), Some(new)) => {
            Some(BackendCompletion { arguments: new.arguments.or(old.arguments), result: new.result.or(old.result) })
        }
        (old, new) => new.or(old),
    };
}

fn note_origins(source: &Source, config: &Config, origins: &mut BTreeMap<String, Origin>) {
    fn walk(prefix: &str, value: &toml::Value, origin: &Origin, origins: &mut BTreeMap<String, Origin>) {
        match value.as_table() {
            Some(table) => {
                for (key, value) in table {
                    let dotted = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                    walk(&dotted, value, origin, origins);
                }
            }
            None => {
                origins.insert(prefix.to_owned(), origin.clone());
            }
        }
    }
    let Ok(mut table) = source.text.parse::<toml::Table>() else { return };
    if let (Origin::Project(_), Some(toml::Value::Table(ceiling))) = (&source.origin, table.get_mut("ceiling")) {
        // What a project does not lower is still what somebody else set.
        let mut known = config.ceiling.clone();
        ceiling.retain(|key, value| {
            let key = CeilingKey::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(key));
            key.is_ok_and(|key| value.as_integer().is_some_and(|value| (value as u64) < *known.at(key)))
        });
    }
    if let (Origin::Project(_), Some(toml::Value::Table(result))) = (&source.origin, table.get_mut("result")) {
        let known = config.result.budget_tokens.map(i64::from);
        result.retain(|_, value| known.is_none_or(|known| value.as_integer().is_some_and(|value| value < known)));
    }
    walk("", &toml::Value::Table(table), &source.origin, origins);
}

fn expand_home(path: PathBuf) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

/// Whether a name fits a pattern in which `*` stands for any text.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(before) else { return false };
    let (between, after) = match rest.rsplit_once('*') {
        Some((between, after)) => (Some(between), after),
        None => (None, rest),
    };
    // The first place of each part leaves the most for the parts after it.
    for part in between.into_iter().flat_map(|between| between.split('*')) {
        let Some((_, rest)) = left.split_once(part) else { return false };
        left = rest;
    }
    left.ends_with(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(text: &str, trusted: bool) -> Result<Loaded, Faults> {
        let source = Source { origin: Origin::Project("/w/hermes.toml".into()), text: text.into(), trusted };
        Config::load(Config::new("/s", "/c"), &[source])
    }

    #[test]
    fn a_project_may_narrow_and_nothing_else() {
        let config = project("[ceiling]\nfuel = 5\n[tools.x]\ndisabled = true", false).unwrap().config;
        assert_eq!(config.ceiling.fuel, 5);
        assert!(config.completions["x"].disabled);
        for widening in ["state_dir = '/x'", "[grants.a]\npath='/'", "[roles.Admin]", "[tools.x]\naliases = ['y']"] {
            let faults = project(widening, true).unwrap_err();
            assert!(faults.0[0].line > 0 && faults.0[0].hint.is_some(), "{widening}: {faults}");
        }
    }

    #[test]
    fn a_project_raises_no_ceiling() {
        let ceiling = project("[ceiling]\nfuel = 999999999999999\nmemory_mb = 9999999", true).unwrap().config.ceiling;
        assert_eq!((ceiling.fuel, ceiling.memory_mb), (Ceiling::default().fuel, Ceiling::default().memory_mb));
    }

    #[test]
    fn plugins_of_a_project_count_once_it_is_trusted() {
        assert!(project("plugin_folders = ['p']", false).unwrap_err().to_string().contains("hermes.toml:1:1"));
        assert_eq!(project("plugin_folders = ['p']", true).unwrap().config.plugin_folders, [PathBuf::from("/w/p")]);
    }

    #[test]
    fn patterns_match_whole_names() {
        assert!(
            matches_pattern("deploy_*", "deploy_v2") && matches_pattern("*", "") && matches_pattern("a*b*c", "a--b--c")
        );
        assert!(!matches_pattern("deploy", "deploy_v2") && !matches_pattern("a*b", "ab--"));
        assert!(!matches_pattern("a*a", "a") && matches_pattern("a**a", "aa") && matches_pattern("*é*", "née"));
    }

    /// What a pattern means, without a thought for how long it takes.
    fn means(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|at| means(rest, &name[at..])),
            Some((byte, rest)) => name.first() == Some(byte) && means(rest, &name[1..]),
        }
    }

    proptest::proptest! {
        #[test]
        fn patterns_match_what_they_mean(pattern in "[ab*]{0,7}", name in "[ab]{0,9}") {
            proptest::prop_assert_eq!(matches_pattern(&pattern, &name), means(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
