//! Is a manifest right, and what does it come to? `ToolManifest` as written becomes [`Tool`] as checked; after this,
//! nobody checks it again. Must not know who calls.

use super::forms::Forms;
use super::manifest::{
    Effect, EffectManifest, InputType, LimitsManifest, OneOrMany, OutputField, RankingManifest, RequiresApproval,
    RiskLevel, Target, TargetSyntax, TimeoutArgument, TimeoutUnit, ToolManifest, WrittenEffect, WrittenEffectKind,
};
use super::name;
use super::running::{self, Backend, HealthCheck, RateLimit, Retry};
use super::schema::{self, InputSchema};
use super::source;
use crate::call::Digest;
use crate::config::Completion;
use crate::document::{self, Fault, Faults, is_deceptive};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Longest time to clean up, in milliseconds. Whoever gave up does not see how long the tool still runs.
const GRACE_MS: u64 = 10_000;
/// Longest description, in bytes. Longer ones only serve to instruct the reader.
const DESCRIPTION: usize = 8192;

/// A tool that an agent can call: its manifest, checked and compiled. Lifetime: until the next reload.
#[derive(Debug)]
pub struct Tool {
    /// Its own name.
    pub name: Arc<str>,
    /// Further names.
    pub aliases: Vec<String>,
    /// What a reader sees in its name and its further ones, in this order; see [`name::looks`].
    pub looks: Vec<[String; 2]>,
    /// Semantic version.
    pub version: Arc<str>,
    /// The same, to be compared.
    pub semver: semver::Version,
    /// What it does.
    pub description: String,
    /// For people who look for a tool.
    pub category: Option<String>,
    /// What its arguments look like.
    pub input: InputSchema,
    /// The facts of its result.
    pub outputs: Vec<OutputField>,
    /// The facts of its result as a schema, if its author gave one.
    pub output_schema: Option<schema::OutputSchema>,
    /// Its place among the runtime's own tools, if it is one.
    pub built_in: Option<usize>,
    /// Whether any role may call it that is not denied: one of the runtime's own that nobody narrowed.
    pub for_every_role: bool,
    /// Roles that may call it.
    pub required_roles: BTreeSet<String>,
    /// Roles that may not.
    pub denied_roles: BTreeSet<String>,
    /// How much harm a call can do.
    pub risk_level: RiskLevel,
    /// Whether a person is asked.
    pub requires_approval: RequiresApproval,
    /// What a call does, at most.
    pub effect: EffectManifest,
    /// The commands that only read, for a tool whose effect depends on its target.
    pub read_only: Option<Forms>,
    /// Whether its programs may use the network.
    pub network: bool,
    /// Which arguments name what is acted on.
    pub targets: Vec<Target>,
    /// What configuration says about targets: patterns with `*`, each with words such as `production` or `personal`.
    pub labels: Vec<(String, Vec<String>)>,
    /// What can run it, the preferred one first. There is at least one.
    pub backends: Vec<Backend>,
    /// How it is found out whether they work.
    pub health_check: Option<HealthCheck>,
    /// How often each caller may call it.
    pub rate_limit: Option<RateLimit>,
    /// Which failures are tried again.
    pub retry: Option<Retry>,
    /// How long a whole call may take, if its author says so; see [`Tool::longest_call`].
    pub deadline: Option<Duration>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// How long it may clean up once nobody waits for its answer any more.
    pub grace: Duration,
    /// The argument that says so for one call.
    pub timeout_argument: Option<TimeoutArgument>,
    /// What one attempt may use up.
    pub limits: LimitsManifest,
    /// Tokens that a result may have.
    pub budget_tokens: Option<u32>,
    /// What is looked at when the parts of a result are ranked.
    pub ranking: Option<RankingManifest>,
    /// Digest of the manifest's text and of what configuration added to it.
    pub digest: Digest,
    /// The manifest, for people.
    pub manifest: ToolManifest,
}

/// What a manifest is held against besides itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a> {
    /// What configuration adds to the tool.
    pub completion: Option<&'a Completion>,
    /// The reasons of failures that components declare, by each name of their adapter.
    pub reasons: Option<&'a BTreeMap<String, BTreeSet<String>>>,
    /// The tool's place among the runtime's own, if it is one.
    pub built_in: Option<usize>,
}

impl Tool {
    /// How long a whole call may take when one attempt may take so long: what its author says, or all attempts and the
    /// waits between them.
    pub fn longest_call(&self, attempt: Duration) -> Duration {
        let retries = self.retry.as_ref().map_or(0, |retry| retry.max_retries);
        let waits = self.retry.as_ref().map_or(Duration::ZERO, Retry::waits);
        self.deadline.unwrap_or_else(|| attempt.saturating_mul(retries.saturating_add(1)).saturating_add(waits))
    }

    /// Whether a role may call it. A denied role stays denied though it is also a required one.
    pub fn admits(&self, role: &str) -> bool {
        let listed = self.for_every_role && !role.is_empty() || self.required_roles.contains(role);
        listed && !self.denied_roles.contains(role)
    }

    /// The words that configuration says about a target.
    pub fn labels_of<'a>(&'a self, target: &str) -> impl Iterator<Item = &'a str> {
        let fits = self.labels.iter().filter(|(pattern, _)| crate::config::matches_pattern(pattern, target));
        let fits: Vec<&'a Vec<String>> = fits.map(|(_, words)| words).collect();
        fits.into_iter().flatten().map(String::as_str)
    }
}

/// Reads one manifest and checks it.
///
/// # Errors
/// All that is wrong with it, each with its place.
pub fn parse(file: &Path, text: &str, surroundings: &Surroundings<'_>) -> Result<Tool, Faults> {
    match source::read(file, text) {
        Ok(manifest) => of(manifest.tool, file, text, surroundings),
        Err(source::Unread { mut faults, rest: Some(rest) }) => {
            faults.0.extend(of(rest.tool, file, text, surroundings).err().into_iter().flat_map(|found| found.0));
            Err(faults)
        }
        Err(source::Unread { faults, rest: None }) => Err(faults),
    }
}

/// Checks a manifest that was read. `text` is where it was read from.
///
/// # Errors
/// All that is wrong with it, each with its place.
pub(super) fn of(
    manifest: ToolManifest,
    file: &Path,
    text: &str,
    surroundings: &Surroundings<'_>,
) -> Result<Tool, Faults> {
    let digest = Digest::of_parts([text.as_bytes(), format!("{:?}", surroundings.completion).as_bytes()]);
    check(manifest, surroundings, digest).map_err(|found| Faults(placed(file, text, found)))
}

fn placed(file: &Path, text: &str, found: Vec<(String, String)>) -> Vec<Fault> {
    let of_configuration = |(at, _): &(String, String)| at.starts_with(CONFIGURATION);
    let (others, found): (Vec<_>, Vec<_>) = found.into_iter().partition(of_configuration);
    let other = |(at, why): (String, String)| {
        let at = at.trim_start_matches(CONFIGURATION).replace('/', ".");
        Fault::whole(Path::new("configuration"), format!("{at}: {why}"))
    };
    source::faults_at(file, text, found).into_iter().chain(others.into_iter().map(other)).collect()
}

/// What the place of a problem begins with that is not in the manifest but in what configuration adds to it.
const CONFIGURATION: &str = "configuration ";

/// Checks a manifest. Each problem comes with its place in the file, as a JSON Pointer.
fn check(
    manifest: ToolManifest,
    surroundings: &Surroundings<'_>,
    digest: Digest,
) -> Result<Tool, Vec<(String, String)>> {
    let default = Completion::default();
    let completion = surroundings.completion.unwrap_or(&default);
    let completed = |place: &str, is_completed: bool| match is_completed {
        true => format!("configuration tools/{}/{place}", manifest.name),
        false => format!("/tool/{place}"),
    };
    let mut problems = words(&manifest);
    let mut unreadable = |place: &str, error: serde_json::Error| {
        problems.push((completed(place, true), error.to_string()));
    };
    let other_targets: Option<OneOrMany<Target>> = read_setting(&completion.target).unwrap_or_else(|error| {
        unreadable("target", error);
        None
    });
    let other_effect: Option<WrittenEffect> = read_setting(&completion.effect).unwrap_or_else(|error| {
        unreadable("effect", error);
        None
    });
    let written_targets = other_targets.as_ref().unwrap_or(&manifest.target);
    let written_effect = other_effect.as_ref().or(manifest.effect.as_ref());
    for target in written_targets.iter() {
        let why = target_problem(&manifest, target);
        problems.extend(why.map(|why| (completed("target", completion.target.is_some()), why)));
    }
    problems.extend(timeout_argument(&manifest));
    let read_only = read_only(written_effect, &written_targets.0).unwrap_or_else(|why| {
        problems.push((completed("effect", completion.effect.is_some()), why));
        None
    });
    let declared = surroundings.reasons.into_iter().flat_map(|reasons| {
        manifest.backend.iter().filter_map(|backend| reasons.get(&backend.adapter)).flatten().cloned()
    });
    let retry = running::retry(&manifest, &declared.collect(), &mut problems);
    let rate_limit = running::rate_limit(&manifest, &mut problems);
    let health_check = running::health_check(&manifest, &mut problems);
    let backends = running::backends(&manifest, completion.backend.as_ref(), &mut problems);
    let output_schema = schema::compile_output(&manifest).unwrap_or_else(|found| {
        problems.push(found);
        None
    });
    let input = match schema::compile(&manifest, &written_targets.0) {
        Ok(input) => Some(input),
        Err(found) => {
            problems.extend(found);
            None
        }
    };
    let semver = semver::Version::parse(&manifest.version);
    let (Some(input), Ok(semver), true) = (input, semver, problems.is_empty()) else { return Err(problems) };
    let permissions = &manifest.permissions;
    let required = completion.required_roles.as_ref().unwrap_or(&permissions.required_roles);
    let aliases: Vec<String> = manifest.aliases.iter().chain(&completion.aliases).cloned().collect();
    Ok(Tool {
        name: manifest.name.as_str().into(),
        looks: std::iter::once(&manifest.name).chain(&aliases).map(|name| name::looks(name)).collect(),
        aliases,
        version: manifest.version.as_str().into(),
        semver,
        description: manifest.description.clone(),
        category: manifest.category.clone(),
        input,
        outputs: manifest.outputs.clone(),
        output_schema,
        built_in: surroundings.built_in,
        for_every_role: surroundings.built_in.is_some() && completion.required_roles.is_none(),
        required_roles: required.iter().cloned().collect(),
        denied_roles: permissions.denied_roles.iter().chain(&completion.denied_roles).cloned().collect(),
        risk_level: permissions.risk_level,
        requires_approval: permissions.requires_approval,
        effect: written_effect.map_or(UNDECLARED, at_most),
        read_only,
        network: completion.network,
        targets: written_targets.0.clone(),
        labels: completion.labels.clone().into_iter().collect(),
        backends,
        health_check,
        rate_limit,
        retry,
        deadline: manifest.deadline_ms.map(Duration::from_millis),
        timeout: manifest.timeout_ms.map(Duration::from_millis),
        grace: Duration::from_millis(manifest.grace_ms.unwrap_or(0)),
        timeout_argument: manifest.timeout_argument.clone().or_else(|| usual_timeout_argument(&manifest)),
        limits: manifest.limits.clone(),
        budget_tokens: manifest.result.as_ref().and_then(|result| result.budget_tokens),
        ranking: manifest.result.as_ref().and_then(|result| result.ranking.clone()),
        digest,
        manifest,
    })
}

fn read_setting<T: serde::de::DeserializeOwned>(setting: &Option<serde_json::Value>) -> serde_json::Result<Option<T>> {
    setting.as_ref().map(T::deserialize).transpose()
}

/// A tool that does not say what it does can do anything.
const UNDECLARED: EffectManifest = EffectManifest { kind: Effect::Destructive, idempotent: false, open_world: true };

/// The worst that a call can do.
fn at_most(effect: &WrittenEffect) -> EffectManifest {
    let kind = match effect.kind {
        WrittenEffectKind::Read => Effect::Read,
        WrittenEffectKind::Write => Effect::Write,
        WrittenEffectKind::Destructive | WrittenEffectKind::ByTarget => Effect::Destructive,
    };
    EffectManifest { kind, idempotent: effect.idempotent, open_world: effect.open_world }
}

fn read_only(effect: Option<&WrittenEffect>, targets: &[Target]) -> Result<Option<Forms>, String> {
    let Some(effect) = effect else { return Ok(None) };
    let problem = |why: &str| Err(why.to_owned());
    let is_command =
        |target: &Target| matches!(target.syntax, TargetSyntax::Shell | TargetSyntax::Argv | TargetSyntax::Sql);
    let has_commands = targets.iter().any(is_command);
    match (effect.kind, effect.read_only.is_empty()) {
        (WrittenEffectKind::ByTarget, _) if !has_commands => {
            problem("an effect `by_target` needs a target whose syntax is `shell`, `argv` or `sql`")
        }
        (WrittenEffectKind::ByTarget, _) => Forms::parse(&effect.read_only).map(Some),
        (_, false) => problem("`read_only` has a meaning only with the effect `by_target`"),
        (_, true) => Ok(None),
    }
}

/// The argument that most tools call so, where it is a number.
fn usual_timeout_argument(manifest: &ToolManifest) -> Option<TimeoutArgument> {
    let input = manifest.inputs.iter().find(|input| input.name == "timeout_seconds")?;
    let is_number = matches!(input.type_, InputType::Integer | InputType::Number);
    is_number.then(|| TimeoutArgument { name: input.name.clone(), unit: TimeoutUnit::Seconds })
}

fn timeout_argument(manifest: &ToolManifest) -> Option<(String, String)> {
    let name = &manifest.timeout_argument.as_ref()?.name;
    let known = manifest.inputs.iter().any(|input| input.name == *name)
        || manifest.input_schema.as_ref().and_then(|schema| schema.get("properties")?.get(name)).is_some();
    let why = || format!("`timeout_argument` names the argument `{name}`, which the tool does not have");
    (!known).then(|| ("/tool/timeout_argument/name".to_owned(), why()))
}

fn words(manifest: &ToolManifest) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut problem = |key: &str, why: String| problems.push((format!("/tool/{key}"), why));
    let aliases = manifest.aliases.iter().enumerate().map(|(index, alias)| (format!("aliases/{index}"), alias));
    for (at, word) in std::iter::once(("name".to_owned(), &manifest.name)).chain(aliases) {
        if let Some(why) = name::problem(word) {
            problem(&at, why);
        }
    }
    if let Err(error) = semver::Version::parse(&manifest.version) {
        let shown = document::excerpt(&manifest.version, 40);
        problem("version", format!("`{shown}` is no semantic version such as 1.0.0: {error}"));
    }
    if manifest.description.trim().is_empty() {
        problem("description", "an agent needs a description to choose the tool".into());
    }
    if manifest.description.len() > DESCRIPTION {
        problem("description", format!("the description is longer than {DESCRIPTION} bytes"));
    }
    if manifest.description.chars().any(|c| is_deceptive(c) && c != '\n' && c != '\t') {
        problem("description", "the description has control or invisible characters".into());
    }
    for (key, time) in [("timeout_ms", manifest.timeout_ms), ("deadline_ms", manifest.deadline_ms)] {
        if time == Some(0) {
            problem(key, "a tool needs more than 0 milliseconds".into());
        }
    }
    if manifest.grace_ms.is_some_and(|grace| grace > GRACE_MS) {
        problem("grace_ms", format!("a tool has at most {GRACE_MS} milliseconds to clean up"));
    }
    problems
}

/// What is wrong with a target, if anything is.
fn target_problem(manifest: &ToolManifest, target: &Target) -> Option<String> {
    let name = target.argument.as_str();
    let in_schema = || manifest.input_schema.as_ref()?.get("properties")?.get(name).cloned();
    let listed = manifest.inputs.iter().find(|input| input.name == name);
    if listed.is_none() && in_schema().is_none() {
        return Some(format!("the target names the argument `{name}`, which the tool does not have"));
    }
    if let Some(why) = change_problem(manifest, target) {
        return Some(why);
    }
    let format = listed.map(|input| input.validation.as_ref().and_then(|rules| rules.format));
    match target.syntax {
        // Of a whole schema the target itself says that the text is a path.
        TargetSyntax::Path if format.is_some_and(|format| format != Some(super::manifest::Format::Path)) => {
            Some(format!("the target `{name}` is a path, so its input needs `format = \"path\"`"))
        }
        TargetSyntax::Argv => target.before.iter().find_map(|word| {
            let slot = word.strip_prefix('{')?.strip_suffix('}')?;
            let is_input = manifest.inputs.iter().any(|input| input.name == slot);
            let is_known =
                is_input || manifest.input_schema.as_ref().is_some_and(|it| it["properties"].get(slot).is_some());
            (!is_known).then(|| format!("`before` names the argument `{slot}`, which the tool does not have"))
        }),
        _ if !target.before.is_empty() => Some("`before` has a meaning only with the syntax `argv`".into()),
        _ => None,
    }
}

/// What is wrong with what a target says about changes.
fn change_problem(manifest: &ToolManifest, target: &Target) -> Option<String> {
    let is_input = |name: &str| {
        let in_schema = || manifest.input_schema.as_ref()?.get("properties")?.get(name);
        manifest.inputs.iter().any(|input| input.name == name) || in_schema().is_some()
    };
    if !target.changes.is_empty() && target.syntax != TargetSyntax::Path {
        return Some("`changes` has a meaning only with the syntax `path`".into());
    }
    target.changes.iter().find_map(|change| {
        let said = [&change.whole, &change.end, &change.old].into_iter().flatten().count();
        if said != 1 || change.new.is_some() != change.old.is_some() {
            return Some("one of `changes` names not just `whole`, `end`, or `old` with `new`".into());
        }
        let named = [&change.whole, &change.end, &change.old, &change.new].into_iter().flatten();
        let unknown = named.chain(change.when.keys()).find(|name| !is_input(name))?;
        Some(format!("`changes` names the argument `{unknown}`, which the tool does not have"))
    })
}
