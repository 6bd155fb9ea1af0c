//! Which statements hold for a call? Shows the call to Cedar as far as the statements of its tool look at it, and
//! remembers what they came to for calls that look the same. Pure but for that memory.

use super::schema::{self, Argument};
use super::written::{Reads, Said, Statement};
use crate::call::{Mode, Situation};
use crate::map::Map;
use crate::permission::subject::Subject;
use crate::permission::target::effect_name;
use crate::record::History;
use crate::registry::manifest::Effect;
use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityId, EntityTypeName, EntityUid, PolicySet, Request,
    RestrictedExpression,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, RwLock};

/// Looks of calls that are remembered for each tool. Past that the memory begins anew.
const REMEMBERED: usize = 512;
/// Longest look that is remembered, in bytes.
const LONGEST: usize = 4096;

/// What a policy may ask about a call, besides its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Its name in `context`.
    pub name: &'static str,
    /// Its type in Cedar.
    pub type_: Type,
    /// What it says.
    pub meaning: &'static str,
}

/// The types of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A text that is always there.
    Text,
    /// A text that may be absent.
    OptionalText,
    /// A whole number.
    Whole,
    /// `true` or `false`.
    Truth,
    /// A set of texts.
    Texts,
}

const fn attribute(name: &'static str, type_: Type, meaning: &'static str) -> Attribute {
    Attribute { name, type_, meaning }
}

/// All attributes but `args`.
pub const ATTRIBUTES: &[Attribute] = &[
    attribute("caller", Type::Text, "who calls"),
    attribute("workflow", Type::OptionalText, "the workflow that the caller is in"),
    attribute(
        "purpose",
        Type::OptionalText,
        "what the caller says it is doing this for, confirmed by a person or configuration",
    ),
    attribute("mode", Type::Text, "`explore` or `workflow`"),
    attribute("effect", Type::Text, "what the call does: `read`, `write` or `destructive`"),
    attribute("open_world", Type::Truth, "whether it reaches beyond what the operator controls"),
    attribute("workspace_read", Type::Truth, "whether it only reads, and only beneath grants"),
    attribute("labels", Type::Texts, "what is known about its targets: `production`, `personal`, …"),
    attribute("targets", Type::Texts, "what it acts on, as records name it"),
    attribute("hosts", Type::Texts, "hosts of its URLs"),
    attribute("tables", Type::Texts, "names in its SQL, in small letters"),
    attribute("statements", Type::Texts, "first words of its SQL statements, in small letters"),
    attribute("programs", Type::Texts, "programs that it runs, alone and with their first argument"),
    attribute(
        "high_calls",
        Type::Whole,
        "how many of the caller's last ten calls were of high risk and approved by nobody",
    ),
    attribute("denials", Type::Whole, "how many calls of the caller were denied in the last hour"),
    attribute("tainted", Type::Truth, "whether the caller has read what came from outside in the last day"),
];

impl Attribute {
    pub(super) fn schema(&self) -> Value {
        match self.type_ {
            Type::Text => json!({ "type": "String" }),
            Type::OptionalText => json!({ "type": "String", "required": false }),
            Type::Whole => json!({ "type": "Long" }),
            Type::Truth => json!({ "type": "Boolean" }),
            Type::Texts => json!({ "type": "Set", "element": { "type": "String" } }),
        }
    }
}

/// One call as it is judged.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The caller's role.
    pub role: &'a str,
    /// Who calls.
    pub caller: &'a str,
    /// In which circumstances.
    pub situation: &'a Situation,
    /// What the call does.
    pub effect: Effect,
    /// Whether it reaches beyond what the operator controls.
    pub open_world: bool,
    /// What it acts on, and what is known about that.
    pub subject: &'a Subject,
    /// What the caller did before.
    pub history: History,
    /// The checked arguments.
    pub args: &'a Value,
}

/// A value of an attribute.
enum Shown<'a> {
    Text(&'a str),
    Whole(i64),
    Truth(bool),
    Texts(&'a BTreeSet<String>),
}

impl<'a> Inputs<'a> {
    fn shown(&self, attribute: &str) -> Option<Shown<'a>> {
        let subject = self.subject;
        Some(match attribute {
            "caller" => Shown::Text(self.caller),
            "workflow" => Shown::Text(self.situation.workflow.as_deref()?),
            "purpose" => Shown::Text(self.situation.purpose.as_deref()?),
            "mode" => Shown::Text(match self.situation.mode {
                Mode::Explore => "explore",
                Mode::Workflow => "workflow",
            }),
            "effect" => Shown::Text(effect_name(self.effect)),
            "open_world" => Shown::Truth(self.open_world),
            "workspace_read" => Shown::Truth(self.effect == Effect::Read && subject.beneath_grants),
            "labels" => Shown::Texts(&subject.labels),
            "targets" => Shown::Texts(&subject.targets),
            "hosts" => Shown::Texts(&subject.hosts),
            "tables" => Shown::Texts(&subject.tables),
            "statements" => Shown::Texts(&subject.statements),
            "programs" => Shown::Texts(&subject.programs),
            "high_calls" => Shown::Whole(i64::from(self.history.high)),
            "denials" => Shown::Whole(i64::from(self.history.denials)),
            "tainted" => Shown::Truth(self.history.tainted),
            _ => return None,
        })
    }
}

/// What the statements of a tool came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Whether a statement permits and none forbids.
    pub permitted: bool,
    /// What permits, or what forbids, by its place among the statements.
    pub deciding: Vec<usize>,
    /// Factors that add to the risk, and statements that have a person asked.
    pub factors: Vec<usize>,
    /// Statements whose evaluation failed. One is enough to deny.
    pub errors: Vec<String>,
}

/// The statements that can apply to one tool, in one version. Lifetime: until tool or policies change.
#[derive(Debug)]
pub struct Slice {
    statements: Vec<Arc<Statement>>,
    by_id: Map<String, usize>,
    permissions: PolicySet,
    factors: PolicySet,
    reads: Reads,
    arguments: BTreeMap<String, Argument>,
    action: EntityUid,
    resource: EntityUid,
    entities: Entities,
    remembered: RwLock<Map<Vec<u8>, Arc<Holds>>>,
}

static ROLE: LazyLock<Option<EntityTypeName>> = LazyLock::new(|| "Role".parse().ok());

fn entity(type_: &str, id: &str) -> Result<EntityUid, String> {
    let type_: EntityTypeName = type_.parse().map_err(|error| format!("{error}"))?;
    Ok(EntityUid::from_type_name_and_id(type_, EntityId::new(id)))
}

impl Slice {
    /// Puts the statements for one tool together.
    pub(super) fn new(tool: &crate::registry::Tool, statements: Vec<Arc<Statement>>) -> Result<Slice, String> {
        let mut reads = Reads::default();
        let (mut permissions, mut factors) = (PolicySet::new(), PolicySet::new());
        let mut by_id = Map::default();
        for (index, statement) in statements.iter().enumerate() {
            let set = match statement.said {
                Said::Permits | Said::Forbids { .. } => &mut permissions,
                Said::Adds { .. } | Said::Asks => &mut factors,
            };
            set.add(statement.policy.clone()).map_err(|error| error.to_string())?;
            by_id.insert(statement.id.to_string(), index);
            reads.attributes.extend(statement.reads.attributes.iter().cloned());
            reads.arguments.extend(statement.reads.arguments.iter().cloned());
            reads.whole |= statement.reads.whole;
        }
        let resource = entity("Tool", &tool.name)?;
        let category = tool.category.as_deref().map(|category| entity("Category", category));
        let adapters = tool.backends.iter().map(|backend| entity("Adapter", &backend.adapter));
        let parents = category.into_iter().chain(adapters).collect::<Result<_, _>>()?;
        let entities = Entities::from_entities([cedar_policy::Entity::new_no_attrs(resource.clone(), parents)], None)
            .map_err(|error| error.to_string())?;
        Ok(Slice {
            arguments: schema::arguments(tool),
            action: entity("Action", &tool.name)?,
            statements,
            by_id,
            permissions,
            factors,
            reads,
            resource,
            entities,
            remembered: RwLock::default(),
        })
    }

    /// The statements.
    pub fn statements(&self) -> &[Arc<Statement>] {
        &self.statements
    }

    /// What the statements come to for a call.
    pub fn holds(&self, inputs: &Inputs<'_>) -> Arc<Holds> {
        let look = self.look(inputs);
        if let Some(look) = &look
            && let Some(known) = self.remembered.read().ok().and_then(|known| known.get(look).cloned())
        {
            return known;
        }
        let holds = Arc::new(self.evaluate(inputs).unwrap_or_else(failed));
        if let Some(look) = look
            && let Ok(mut known) = self.remembered.write()
        {
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(look, holds.clone());
        }
        holds
    }

    /// All of a call that the statements look at, in bytes that are equal for just the calls that look the same.
    fn look(&self, inputs: &Inputs<'_>) -> Option<Vec<u8>> {
        if self.reads.whole {
            return None;
        }
        let mut look = Vec::with_capacity(96);
        let put = |look: &mut Vec<u8>, text: &str| {
            look.extend_from_slice(&(text.len() as u32).to_le_bytes());
            look.extend_from_slice(text.as_bytes());
        };
        put(&mut look, inputs.role);
        for attribute in self.reads.attributes.iter().filter(|attribute| *attribute != "args") {
            match inputs.shown(attribute) {
                None => look.push(0),
                Some(Shown::Text(text)) => put(&mut look, text),
                Some(Shown::Whole(number)) => look.extend_from_slice(&number.to_le_bytes()),
                Some(Shown::Truth(truth)) => look.push(1 + u8::from(truth)),
                Some(Shown::Texts(texts)) => {
                    look.extend_from_slice(&(texts.len() as u32).to_le_bytes());
                    texts.iter().for_each(|text| put(&mut look, text));
                }
            }
            // A text of no length and an absent one differ.
            look.push(u8::from(inputs.shown(attribute).is_some()));
        }
        for name in &self.reads.arguments {
            match inputs.args.get(name) {
                Some(Value::String(text)) => put(&mut look, text),
                Some(other) => put(&mut look, &other.to_string()),
                None => {}
            }
            let kind = inputs.args.get(name).map_or(0, |value| if value.is_string() { 1 } else { 2 });
            look.push(kind);
        }
        (look.len() <= LONGEST).then_some(look)
    }

    fn evaluate(&self, inputs: &Inputs<'_>) -> Result<Holds, String> {
        let role = ROLE.as_ref().ok_or("the type of roles has no name")?;
        let principal = EntityUid::from_type_name_and_id(role.clone(), EntityId::new(inputs.role));
        let context = self.context(inputs)?;
        let request = Request::new(principal, self.action.clone(), self.resource.clone(), context, None)
            .map_err(|error| error.to_string())?;
        let authorizer = Authorizer::new();
        let permissions = authorizer.is_authorized(&request, &self.permissions, &self.entities);
        let factors = authorizer.is_authorized(&request, &self.factors, &self.entities);
        let index = |id: &cedar_policy::PolicyId| {
            let id: &str = id.as_ref();
            self.by_id.get(id).copied().ok_or_else(|| format!("statement `{id}` is unknown"))
        };
        let indices = |response: &cedar_policy::Response| {
            let mut indices = response.diagnostics().reason().map(index).collect::<Result<Vec<_>, _>>()?;
            indices.sort_unstable();
            Ok::<_, String>(indices)
        };
        let errors = permissions.diagnostics().errors().chain(factors.diagnostics().errors());
        Ok(Holds {
            permitted: permissions.decision() == Decision::Allow,
            deciding: indices(&permissions)?,
            factors: indices(&factors)?,
            errors: errors.map(|error| error.to_string()).collect(),
        })
    }

    /// What the statements look at; all of it, if one looks at the whole.
    fn context(&self, inputs: &Inputs<'_>) -> Result<Context, String> {
        let mut pairs = Vec::with_capacity(self.reads.attributes.len() + 1);
        for attribute in ATTRIBUTES {
            if !self.reads.whole && !self.reads.attributes.contains(attribute.name) {
                continue;
            }
            let value = match inputs.shown(attribute.name) {
                None => continue,
                Some(Shown::Text(text)) => RestrictedExpression::new_string(text.to_owned()),
                Some(Shown::Whole(number)) => RestrictedExpression::new_long(number),
                Some(Shown::Truth(truth)) => RestrictedExpression::new_bool(truth),
                Some(Shown::Texts(texts)) => {
                    RestrictedExpression::new_set(texts.iter().cloned().map(RestrictedExpression::new_string))
                }
            };
            pairs.push((attribute.name.to_owned(), value));
        }
        if self.reads.whole || self.reads.attributes.contains("args") {
            pairs.push(("args".to_owned(), self.args(inputs.args)?));
        }
        Context::from_pairs(pairs).map_err(|error| error.to_string())
    }

    fn args(&self, args: &Value) -> Result<RestrictedExpression, String> {
        let wanted = self.arguments.iter().filter(|(name, _)| self.reads.whole || self.reads.arguments.contains(*name));
        let shown =
            wanted.filter_map(|(name, argument)| Some((name.clone(), schema::expression(*argument, args.get(name)?)?)));
        RestrictedExpression::new_record(shown).map_err(|error| error.to_string())
    }
}

/// A call that cannot be shown to the policies is denied.
fn failed(error: String) -> Holds {
    Holds { errors: vec![error], ..Holds::default() }
}
