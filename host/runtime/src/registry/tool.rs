//! Is a manifest right, and what does it come to? `ToolManifest` as written becomes [`Tool`] as checked; after this,
//! nobody checks it again. Must not know who calls.

use super::forms::Forms;
use super::manifest::{
    Effect, EffectManifest, InputType, LimitsManifest, ManifestFile, OutputField, RequiresApproval, RiskLevel, Target,
    TargetSyntax, TimeoutArgument, TimeoutUnit, ToolManifest, WrittenEffect, WrittenEffectKind,
};
use super::schema::{self, InputSchema};
use crate::call::Digest;
use crate::config::Completion;
use crate::document::{self, Fault, Faults, is_deceptive};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Longest name of a tool; what MCP clients accept.
const NAME: usize = 64;
/// Longest description, in bytes. Longer ones only serve to instruct the reader.
const DESCRIPTION: usize = 8192;

/// A tool that an agent can call: its manifest, checked and compiled. Lifetime: until the next reload.
#[derive(Debug)]
pub struct Tool {
    /// Its own name.
    pub name: Arc<str>,
    /// Further names.
    pub aliases: Vec<String>,
    /// Semantic version.
    pub version: Arc<str>,
    /// What it does.
    pub description: String,
    /// For people who look for a tool.
    pub category: Option<String>,
    /// What its arguments look like.
    pub input: InputSchema,
    /// The facts of its result.
    pub outputs: Vec<OutputField>,
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
    /// Which argument names what is acted on.
    pub target: Option<Target>,
    /// The adapter that runs it.
    pub adapter: String,
    /// What the adapter's component calls it.
    pub name_in_component: String,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// The argument that says so for one call.
    pub timeout_argument: Option<TimeoutArgument>,
    /// What one attempt may use up.
    pub limits: LimitsManifest,
    /// Tokens that a result may have.
    pub budget_tokens: Option<u32>,
    /// Digest of the manifest's text and of what configuration added to it.
    pub digest: Digest,
    /// The manifest, for people.
    pub manifest: ToolManifest,
}

/// Reads one manifest and checks it.
pub fn parse(file: &Path, text: &str, completion: Option<&Completion>) -> Result<Tool, Faults> {
    let manifest = document::from_toml::<ManifestFile>(file, text)?.tool;
    check(manifest, completion, Digest::of_parts([text.as_bytes(), format!("{completion:?}").as_bytes()]))
        .map_err(|found| Faults(found.into_iter().map(|(key, why)| Fault::at_key(file, text, &key, why)).collect()))
}

/// Checks a manifest. Each problem comes with the word of the manifest that it is about.
fn check(
    manifest: ToolManifest,
    completion: Option<&Completion>,
    digest: Digest,
) -> Result<Tool, Vec<(String, String)>> {
    let default = Completion::default();
    let completion = completion.unwrap_or(&default);
    let mut problems = words(&manifest);
    problems.extend(target(&manifest));
    problems.extend(timeout_argument(&manifest));
    let read_only = read_only(&manifest).unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    let input = match schema::compile(&manifest) {
        Ok(input) => input,
        Err(found) => {
            problems.extend(found);
            return Err(problems);
        }
    };
    if !problems.is_empty() {
        return Err(problems);
    }
    let permissions = &manifest.permissions;
    let required = completion.required_roles.as_ref().unwrap_or(&permissions.required_roles);
    Ok(Tool {
        name: manifest.name.as_str().into(),
        aliases: manifest.aliases.iter().chain(&completion.aliases).cloned().collect(),
        version: manifest.version.as_str().into(),
        description: manifest.description.clone(),
        category: manifest.category.clone(),
        input,
        outputs: manifest.outputs.clone(),
        required_roles: required.iter().cloned().collect(),
        denied_roles: permissions.denied_roles.iter().chain(&completion.denied_roles).cloned().collect(),
        risk_level: permissions.risk_level,
        requires_approval: permissions.requires_approval,
        effect: manifest.effect.as_ref().map_or(UNDECLARED, at_most),
        read_only,
        network: completion.network,
        target: manifest.target.clone(),
        adapter: manifest.backend.adapter.clone(),
        name_in_component: manifest.backend.tool.clone().unwrap_or_else(|| manifest.name.clone()),
        timeout: manifest.timeout_ms.map(Duration::from_millis),
        timeout_argument: manifest.timeout_argument.clone().or_else(|| usual_timeout_argument(&manifest)),
        limits: manifest.limits.clone(),
        budget_tokens: manifest.result.as_ref().and_then(|result| result.budget_tokens),
        digest,
        manifest,
    })
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

fn read_only(manifest: &ToolManifest) -> Result<Option<Forms>, (String, String)> {
    let Some(effect) = &manifest.effect else { return Ok(None) };
    let problem = |why: &str| Err(("read_only".to_owned(), why.to_owned()));
    let has_commands = manifest
        .target
        .as_ref()
        .is_some_and(|target| matches!(target.syntax, TargetSyntax::Shell | TargetSyntax::Argv));
    match (effect.kind, effect.read_only.is_empty()) {
        (WrittenEffectKind::ByTarget, _) if !has_commands => {
            problem("an effect `by_target` needs a target whose syntax is `shell` or `argv`")
        }
        (WrittenEffectKind::ByTarget, _) => {
            Forms::parse(&effect.read_only).map(Some).map_err(|why| ("read_only".into(), why))
        }
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
    (!known).then(|| ("timeout_argument".to_owned(), why()))
}

fn words(manifest: &ToolManifest) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    let mut problem = |key: &str, why: String| problems.push((key.to_owned(), why));
    for name in std::iter::once(&manifest.name).chain(&manifest.aliases) {
        if !is_name(name) {
            let shown = document::excerpt(name, 80);
            problem(name, format!("`{shown}` cannot be a tool's name: 1 to {NAME} of a-z, A-Z, 0-9, `_`, `-` and `.`"));
        }
    }
    if !is_version(&manifest.version) {
        problem(
            "version",
            format!("`{}` is no semantic version such as 1.0.0", document::excerpt(&manifest.version, 40)),
        );
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
    if manifest.timeout_ms == Some(0) {
        problem("timeout_ms", "a tool needs more than 0 milliseconds".into());
    }
    problems
}

fn target(manifest: &ToolManifest) -> Option<(String, String)> {
    let target = manifest.target.as_ref()?;
    let name = target.argument.as_str();
    let in_schema = || manifest.input_schema.as_ref()?.get("properties")?.get(name).cloned();
    let known = manifest.inputs.iter().any(|input| input.name == name) || in_schema().is_some();
    if !known {
        return Some((
            "target".into(),
            format!("the target names the argument `{name}`, which the tool does not have"),
        ));
    }
    let listed = manifest.inputs.iter().find(|input| input.name == name);
    let is_path = listed.and_then(|input| input.validation.as_ref()?.format) == Some(super::manifest::Format::Path);
    (target.syntax == TargetSyntax::Path && !is_path)
        .then(|| ("target".into(), format!("the target `{name}` is a path, so its input needs `format = \"path\"`")))
}

fn is_name(name: &str) -> bool {
    (1..=NAME).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

fn is_version(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u64>().is_ok() && !part.starts_with('+'))
}
