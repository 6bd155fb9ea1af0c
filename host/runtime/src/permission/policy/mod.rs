//! Which policies are in force, and which of them can apply to a tool? Reads and checks all of them at load; a
//! mistake in one is shown with its place, and none of them counts until it is mended.
#![expect(clippy::disallowed_methods, reason = "the loader reads the policies that the configuration names")]

pub mod evaluate;
pub mod schema;
pub mod written;

use super::labels::Labels;
use super::role::Commands;
use crate::call::Digest;
use crate::config::Config;
use crate::document::{Fault, Faults, nearest};
use crate::map::Map;
use crate::registry::{Registry, Tool};
use crate::rules::{PolicySettings, RiskSettings};
use cedar_policy::{
    ActionConstraint, EntityUid, PolicySet, PrincipalConstraint, ResourceConstraint, Schema, ValidationMode, Validator,
};
pub use evaluate::{Holds, Inputs, Slice};
use schema::{Argument, Shown};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, RwLock};
use written::{Said, Set, Statement};

/// The policies that come with the runtime, by file name.
const SHIPPED: &[(&str, Set, &str)] = &[
    ("shipped/permissions.cedar", Set::Permissions, include_str!("shipped/permissions.cedar")),
    ("shipped/factors.cedar", Set::Factors, include_str!("shipped/factors.cedar")),
];
/// The shipped statement that permits what a manifest lists.
const BY_ROLE: &str = "listed_roles";

/// All policies, labels and points in force. Lifetime: until they change.
#[derive(Debug)]
pub struct Policies {
    statements: Vec<Arc<Statement>>,
    /// What is known about targets.
    pub labels: Labels,
    /// Which commands each role may give.
    pub(super) commands: Commands,
    /// What points come to.
    pub risk: RiskSettings,
    slices: RwLock<Slices>,
}

/// The slices that were made, by the digest of the tool that each was made for: versions of a tool have one each.
type Slices = Map<Digest, Arc<Sliced>>;

/// One statement, for people.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Described {
    /// Its id.
    pub id: String,
    /// What it does.
    pub does: &'static str,
    /// Its points, if it adds any.
    pub points: Option<u8>,
    /// Why.
    pub reason: String,
    /// The file.
    pub file: String,
}

/// What of the policies applies to one tool.
#[derive(Debug)]
pub struct Sliced {
    /// The statements, or why they cannot be used, which denies every call.
    pub slice: Result<Slice, String>,
    /// Digest of all that decides about the tool: statements, points and labels.
    pub digest: Digest,
}

/// The files of policies as they are written, not yet held against tools.
#[derive(Debug)]
pub(crate) struct Files {
    /// The text of each with its statements.
    read: Vec<(String, Vec<Statement>)>,
    faults: Vec<Fault>,
}

impl Files {
    /// Reads them, the shipped ones first.
    pub(crate) fn read(config: &Config) -> Files {
        let mut files = Files { read: Vec::new(), faults: Vec::new() };
        for (file, set, text) in texts(&config.policies, &mut files.faults) {
            match written::read(Path::new(&file), &text, set, &config.risk.points) {
                Ok(found) => files.read.push((text, found)),
                Err(found) => files.faults.extend(found),
            }
        }
        files
    }
}

impl Policies {
    /// Reads all policies and checks them against the tools that there are.
    ///
    /// # Errors
    /// Every mistake of every file.
    pub fn load(config: &Config, registry: &Registry) -> Result<Policies, Faults> {
        Policies::check(Files::read(config), config, registry)
    }

    /// The same with files that were read before there were tools.
    pub(crate) fn check(files: Files, config: &Config, registry: &Registry) -> Result<Policies, Faults> {
        let Files { mut faults, read } = files;
        let mut statements = Vec::new();
        let known = Known::new(config, registry);
        for (text, found) in read {
            faults.extend(found.iter().flat_map(|statement| check(statement, &text, &known)));
            statements.extend(found.into_iter().map(Arc::new));
        }
        if !config.policies.permit_listed_roles {
            statements.retain(|statement| &*statement.id != BY_ROLE);
        }
        faults.extend(repeated(&statements));
        faults.extend(unknown_points(&config.risk, &statements));
        faults.extend(thresholds(&config.risk));
        let words: BTreeSet<&str> =
            statements.iter().flat_map(|statement| &statement.words).map(String::as_str).collect();
        let labels = Labels::new(&config.labels, registry, &words).unwrap_or_else(|found| {
            faults.extend(found);
            Labels::default()
        });
        let commands = Commands::new(&config.roles).unwrap_or_else(|found| {
            faults.extend(found);
            Commands::default()
        });
        match faults.is_empty() {
            true => Ok(Policies { statements, labels, commands, risk: config.risk.clone(), slices: RwLock::default() }),
            false => Err(Faults(faults)),
        }
    }

    /// All statements, the shipped ones first.
    pub fn statements(&self) -> &[Arc<Statement>] {
        &self.statements
    }

    /// All statements in one line each.
    pub fn described(&self) -> Vec<Described> {
        let described = |statement: &Arc<Statement>| Described {
            id: statement.id.to_string(),
            does: match statement.said {
                Said::Permits => "permits",
                Said::Forbids { floor: false } => "forbids",
                Said::Forbids { floor: true } => "forbids for good",
                Said::Adds { .. } => "adds",
                Said::Asks => "asks",
            },
            points: match statement.said {
                Said::Adds { points, .. } => Some(points),
                Said::Permits | Said::Forbids { .. } | Said::Asks => None,
            },
            reason: statement.reason.to_string(),
            file: statement.file.display().to_string(),
        };
        self.statements.iter().map(described).collect()
    }

    /// A schema in Cedar's own words.
    pub fn cedar_text(schema: serde_json::Value) -> String {
        let text = cedar_policy::SchemaFragment::from_json_value(schema.clone())
            .ok()
            .and_then(|schema| schema.to_cedarschema().ok());
        text.unwrap_or_else(|| schema.to_string())
    }

    /// What applies to a tool as it is now. Put together once for each version of the tool.
    pub fn of_tool(&self, tool: &Tool) -> Arc<Sliced> {
        if let Ok(slices) = self.slices.read()
            && let Some(sliced) = slices.get(&tool.digest)
        {
            return sliced.clone();
        }
        let sliced = Arc::new(self.slice(tool));
        if let Ok(mut slices) = self.slices.write() {
            slices.insert(tool.digest, sliced.clone());
        }
        sliced
    }

    fn slice(&self, tool: &Tool) -> Sliced {
        let applying: Vec<Arc<Statement>> =
            self.statements.iter().filter(|statement| applies(statement, tool)).cloned().collect();
        // A tool may have come after the policies were read.
        let faults: Vec<String> = applying
            .iter()
            .filter(|statement| statement.reads.whole || !statement.reads.arguments.is_empty())
            .flat_map(|statement| validate(statement, &[tool]))
            .collect();
        let digest = self.digest(tool, &applying);
        let slice = match faults.first() {
            Some(fault) => Err(fault.clone()),
            None => Slice::new(tool, applying),
        };
        Sliced { slice, digest }
    }

    fn digest(&self, tool: &Tool, applying: &[Arc<Statement>]) -> Digest {
        let points = |statement: &Statement| match &statement.said {
            Said::Adds { points, .. } => *points,
            Said::Permits | Said::Forbids { .. } | Said::Asks => 0,
        };
        let risk = format!("{:?}", (&self.risk.medium_from, self.risk.high_from, &self.risk.base, &self.risk.effect));
        let labels = self.labels.digest(tool);
        let mut parts: Vec<Vec<u8>> = vec![risk.into_bytes(), labels.bytes().to_vec()];
        for statement in applying {
            parts.push(statement.canonical.clone().into_bytes());
            parts.push(vec![points(statement)]);
        }
        Digest::of_parts(parts.iter().map(Vec::as_slice))
    }
}

fn texts(settings: &PolicySettings, faults: &mut Vec<Fault>) -> Vec<(String, Set, String)> {
    let mut texts: Vec<(String, Set, String)> =
        SHIPPED.iter().map(|(file, set, text)| ((*file).to_owned(), *set, (*text).to_owned())).collect();
    let own = settings.permissions.iter().map(|file| (file, Set::Permissions));
    for (file, set) in own.chain(settings.factors.iter().map(|file| (file, Set::Factors))) {
        // The user may keep its own files elsewhere and link to them.
        match file.canonicalize().and_then(|file| crate::document::read_text(&file)) {
            Ok(text) => texts.push((file.display().to_string(), set, text)),
            Err(error) => faults.push(
                Fault::whole(file, format!("the policies cannot be read: {error}"))
                    .hint("correct `policies` in your configuration, or make the file"),
            ),
        }
    }
    texts
}

/// Two statements with one id could stand for each other in records and in settings of points.
fn repeated(statements: &[Arc<Statement>]) -> Vec<Fault> {
    let mut seen = Map::default();
    let mut faults = Vec::new();
    for statement in statements {
        if let Some(first) = seen.insert(&statement.id, statement) {
            let why = format!("`@id(\"{}\")` is that of another statement in `{}`", statement.id, first.file.display());
            faults.push(place(statement, why));
        }
    }
    faults
}

fn place(statement: &Statement, why: String) -> Fault {
    match crate::document::read_text(&statement.file) {
        Ok(text) => Fault::at(&statement.file, &text, statement.offset, why),
        Err(_) => Fault::whole(&statement.file, why),
    }
}

fn unknown_points(risk: &RiskSettings, statements: &[Arc<Statement>]) -> Vec<Fault> {
    let adds = |statement: &&Arc<Statement>| matches!(statement.said, Said::Adds { .. });
    let known: Vec<&str> = statements.iter().filter(adds).map(|statement| &*statement.id).collect();
    let unknown = risk.points.keys().filter(|id| !known.contains(&id.as_str()));
    unknown
        .map(|id| {
            let hint = nearest(id, known.iter().copied())
                .map_or("`hermes-dispatch policy list` shows all".to_owned(), |near| format!("did you mean `{near}`?"));
            Fault::whole(Path::new("configuration"), format!("`risk.points.{id}` names no factor")).hint(hint)
        })
        .collect()
}

fn thresholds(risk: &RiskSettings) -> Option<Fault> {
    let good = (1..=risk.high_from).contains(&risk.medium_from) && risk.high_from <= 100;
    let why = "`risk.medium_from` is at least 1 and at most `risk.high_from`, which is at most 100";
    (!good).then(|| Fault::whole(Path::new("configuration"), why))
}

/// Whether a statement can apply to a tool, by its head.
fn applies(statement: &Statement, tool: &Tool) -> bool {
    let is = |uid: &EntityUid, type_: &str, id: &str| uid.type_name().basename() == type_ && uid.id().unescaped() == id;
    let action = match statement.policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(action) => is(&action, "Action", &tool.name),
        ActionConstraint::In(actions) => actions.iter().any(|action| is(action, "Action", &tool.name)),
    };
    let within = |uid: &EntityUid| {
        is(uid, "Tool", &tool.name)
            || tool.category.as_ref().is_some_and(|category| is(uid, "Category", category))
            || tool.backends.iter().any(|backend| is(uid, "Adapter", &backend.adapter))
    };
    action
        && match statement.policy.resource_constraint() {
            ResourceConstraint::Any => true,
            ResourceConstraint::Eq(uid) => is(&uid, "Tool", &tool.name),
            ResourceConstraint::In(uid) | ResourceConstraint::IsIn(_, uid) => within(&uid),
            ResourceConstraint::Is(type_) => type_.basename() == "Tool",
        }
}

/// What statements can name. Most name nothing, so that names and roles are put together for the first that does.
struct Known<'a> {
    config: &'a Config,
    registry: &'a Registry,
    tools: Vec<&'a Arc<Tool>>,
    names: OnceCell<BTreeSet<&'a str>>,
    roles: OnceCell<BTreeSet<String>>,
}

impl<'a> Known<'a> {
    fn new(config: &'a Config, registry: &'a Registry) -> Known<'a> {
        let (names, roles) = (OnceCell::new(), OnceCell::new());
        Known { config, registry, tools: registry.tools().collect(), names, roles }
    }

    fn names(&self) -> &BTreeSet<&'a str> {
        self.names.get_or_init(|| self.tools.iter().map(|tool| &*tool.name).collect())
    }

    fn roles(&self) -> &BTreeSet<String> {
        self.roles.get_or_init(|| known_roles(self.registry, self.config))
    }
}

/// What is wrong with a statement, given the tools and roles that there are.
fn check(statement: &Statement, text: &str, known: &Known<'_>) -> Vec<Fault> {
    let at = |why: String| Fault::at(&statement.file, text, statement.offset, why);
    let names = unknown_names(statement, known);
    if !names.is_empty() {
        return names.into_iter().map(|(why, hint)| at(why).hint(hint)).collect();
    }
    let everywhere = matches!(statement.policy.action_constraint(), ActionConstraint::Any)
        && matches!(statement.policy.resource_constraint(), ResourceConstraint::Any);
    let applying = || known.tools.iter().copied().filter(|tool| applies(statement, tool)).collect::<Vec<_>>();
    let tools = if everywhere { Cow::Borrowed(&known.tools) } else { Cow::Owned(applying()) };
    let hidden: Vec<Fault> = hidden_arguments(statement, &tools).into_iter().map(at).collect();
    if !hidden.is_empty() {
        return hidden;
    }
    let chosen = representatives(statement, &tools);
    validate(statement, &chosen).into_iter().map(at).collect()
}

/// Names in the head of a statement that stand for nothing, each with a way out.
fn unknown_names(statement: &Statement, known: &Known<'_>) -> Vec<(String, String)> {
    let mut unknown = Vec::new();
    let mut tool = |uid: &EntityUid| {
        let name = uid.id().unescaped();
        if !known.names().contains(name) {
            unknown.push(said_unknown("tool", name, known.names().iter().copied()));
        }
    };
    match statement.policy.action_constraint() {
        ActionConstraint::Any => {}
        ActionConstraint::Eq(action) => tool(&action),
        ActionConstraint::In(actions) => actions.iter().for_each(&mut tool),
    }
    match statement.policy.resource_constraint() {
        ResourceConstraint::Eq(uid) | ResourceConstraint::In(uid) | ResourceConstraint::IsIn(_, uid)
            if uid.type_name().basename() == "Tool" =>
        {
            tool(&uid);
        }
        _ => {}
    }
    match statement.policy.principal_constraint() {
        PrincipalConstraint::Eq(uid) | PrincipalConstraint::In(uid) | PrincipalConstraint::IsIn(_, uid)
            if uid.type_name().basename() == "Role" && !known.roles().contains(uid.id().unescaped()) =>
        {
            unknown.push(said_unknown("role", uid.id().unescaped(), known.roles().iter().map(String::as_str)));
        }
        _ => {}
    }
    unknown
}

fn said_unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> (String, String) {
    let near = nearest(name, known);
    let hint = near.map_or(format!("no {what} is called so"), |near| format!("did you mean `{near}`?"));
    (format!("the policy names the {what} `{}`, which there is not", crate::document::excerpt(name, 80)), hint)
}

/// Every role that configuration or a manifest names.
pub fn known_roles(registry: &Registry, config: &Config) -> BTreeSet<String> {
    let of_tools = registry.tools().flat_map(|tool| tool.required_roles.iter().chain(&tool.denied_roles));
    let built_in = [super::role::OPERATOR, super::role::GUEST].map(str::to_owned);
    config.roles.keys().chain(of_tools).cloned().chain(built_in).collect()
}

/// Arguments that a statement looks at and that no policy can see.
fn hidden_arguments(statement: &Statement, tools: &[&Arc<Tool>]) -> Vec<String> {
    let mut hidden = BTreeSet::new();
    if statement.reads.arguments.is_empty() {
        return Vec::new();
    }
    for tool in tools {
        let arguments = schema::arguments(tool);
        for name in &statement.reads.arguments {
            if let Some(Argument { shown: Shown::Absent(why), .. }) = arguments.get(name) {
                hidden.insert(format!("no policy can judge the argument `{name}` of `{}`: {why}", tool.name));
            }
        }
    }
    hidden.into_iter().collect()
}

/// Tools that stand for all that a statement applies to: one of each way in which its arguments look to it.
fn representatives<'a>(statement: &Statement, tools: &[&'a Arc<Tool>]) -> Vec<&'a Tool> {
    let named = !matches!(statement.policy.action_constraint(), ActionConstraint::Any);
    if named || statement.reads.whole {
        return tools.iter().map(|tool| &***tool).collect();
    }
    if statement.reads.arguments.is_empty() {
        return tools.first().map(|tool| &***tool).into_iter().collect();
    }
    let mut chosen: BTreeMap<Vec<Option<Argument>>, &Tool> = BTreeMap::new();
    for tool in tools {
        let arguments = schema::arguments(tool);
        let look = statement.reads.arguments.iter().map(|name| arguments.get(name).copied()).collect();
        chosen.entry(look).or_insert(tool);
    }
    chosen.into_values().collect()
}

/// What Cedar says about a statement, given the arguments of some tools.
fn validate(statement: &Statement, tools: &[&Tool]) -> Vec<String> {
    if tools.is_empty() {
        return Vec::new();
    }
    let check = || {
        let schema =
            Schema::from_json_value(schema::of_tools(tools.iter().copied())).map_err(|error| error.to_string())?;
        let mut set = PolicySet::new();
        set.add(statement.policy.clone()).map_err(|error| error.to_string())?;
        let result = Validator::new(schema).validate(&set, ValidationMode::Strict);
        Ok::<_, String>(result.validation_errors().map(|error| error.to_string()).collect::<Vec<_>>())
    };
    match check() {
        Ok(mut found) => {
            found.dedup();
            found
        }
        Err(error) => vec![error],
    }
}
