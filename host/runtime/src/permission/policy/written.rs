//! What does a Cedar file say? Text in; statements with their place, what each does and what it looks at, or every
//! mistake of the file with its place, out. Must not know which tools there are.

use crate::document::Fault;
use cedar_policy::{Effect, Policy, PolicyId, PolicySet};
use miette::Diagnostic;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The two sets of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Whether a call may be made at all.
    Permissions,
    /// What adds to its risk, and when a person is asked whatever it is.
    Factors,
}

/// What a statement does when it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It permits.
    Permits,
    /// It forbids; no approval lifts one that is a floor.
    Forbids {
        /// Whether it is one.
        floor: bool,
    },
    /// It adds to the risk.
    Adds {
        /// So many points.
        points: u8,
        /// What would take them away.
        lower: Arc<str>,
    },
    /// It has a person asked, whatever the risk is.
    Asks,
}

/// What of a call a statement looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Attributes of the context.
    pub attributes: BTreeSet<String>,
    /// Arguments of the tool.
    pub arguments: BTreeSet<String>,
    /// Whether it looks at the context or the arguments as a whole.
    pub whole: bool,
}

/// One statement of a file.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its `@id`, or where it stands.
    pub id: Arc<str>,
    /// What it does.
    pub said: Said,
    /// Why, for the caller.
    pub reason: Arc<str>,
    /// The policy as Cedar has it. One that asks or adds is a `permit`, so that all that hold are found.
    pub policy: Policy,
    /// What it looks at.
    pub reads: Reads,
    /// The texts in it.
    pub words: BTreeSet<String>,
    /// Its form without white space, for digests.
    pub canonical: String,
    /// The file.
    pub file: PathBuf,
    /// Where in the file, in bytes.
    pub offset: usize,
}

/// Annotations that mean something.
const KNOWN: &[&str] = &["id", "reason", "risk", "lower", "ask", "floor"];

/// Reads a file. Other points for some ids are those of the configuration.
///
/// # Errors
/// Every mistake that can be seen without the tools.
pub fn read(file: &Path, text: &str, set: Set, points: &BTreeMap<String, u8>) -> Result<Vec<Statement>, Vec<Fault>> {
    let policies: PolicySet = text.parse().map_err(|error| syntax(file, text, &error))?;
    let mut faults = Vec::new();
    if policies.num_of_templates() > 0 {
        faults.push(Fault::whole(file, "templates (`?principal`, `?resource`) have no meaning here"));
    }
    let mut statements = Vec::new();
    for policy in policies.policies() {
        let offset = offset(policy);
        match statement(file, offset, policy, set, points) {
            Ok(statement) => statements.push(statement),
            Err(found) => faults.extend(found.into_iter().map(|why| Fault::at(file, text, offset, why))),
        }
    }
    statements.sort_by_key(|statement| statement.offset);
    if faults.is_empty() { Ok(statements) } else { Err(faults) }
}

fn syntax(file: &Path, text: &str, error: &cedar_policy::ParseErrors) -> Vec<Fault> {
    let fault = |error: &cedar_policy::ParseError| {
        let offset = error.labels().and_then(|mut labels| labels.next()).map_or(0, |label| label.offset());
        let fault = Fault::at(file, text, offset, error.to_string());
        match error.help() {
            Some(help) => fault.hint(help.to_string()),
            None => fault,
        }
    };
    error.iter().map(fault).collect()
}

fn offset(policy: &Policy) -> usize {
    policy.as_ref().loc().map_or(0, |place| place.start())
}

fn statement(
    file: &Path,
    offset: usize,
    policy: &Policy,
    set: Set,
    points: &BTreeMap<String, u8>,
) -> Result<Statement, Vec<String>> {
    let mut problems = Vec::new();
    for (name, _) in policy.annotations().filter(|(name, _)| !KNOWN.contains(name)) {
        let near = crate::document::nearest(name, KNOWN.iter().copied());
        let hint = near.map_or(String::new(), |near| format!("; did you mean `@{near}`?"));
        problems.push(format!("`@{name}` has no meaning{hint}"));
    }
    let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let id: Arc<str> = match policy.annotation("id") {
        Some(id) if !id.is_empty() => id.into(),
        Some(_) => {
            problems.push("`@id` is empty".into());
            "".into()
        }
        None => format!("{name}@{offset}").into(),
    };
    let said = said(policy, set, &id, points).map_err(|found| problems.extend(found)).ok();
    let tree = policy.to_json().map_err(|error| problems.push(error.to_string())).unwrap_or_default();
    let (Some(said), true) = (said, problems.is_empty()) else { return Err(problems) };
    let mut reads = Reads::default();
    let mut words = BTreeSet::new();
    for condition in tree.get("conditions").and_then(Value::as_array).into_iter().flatten() {
        look(condition, &mut reads);
        texts(condition, &mut words);
    }
    let canonical = crate::canonical::to_string(&tree);
    let wanted = match said {
        Said::Permits | Said::Adds { .. } | Said::Asks => "permit",
        Said::Forbids { .. } => "forbid",
    };
    let policy = with_effect(tree, wanted, &id).map_err(|error| vec![error])?;
    let reason = policy.annotation("reason").filter(|reason| !reason.is_empty()).unwrap_or(&id).into();
    Ok(Statement { id, said, reason, policy, reads, words, canonical, file: file.to_owned(), offset })
}

fn with_effect(mut tree: Value, effect: &str, id: &str) -> Result<Policy, String> {
    tree["effect"] = effect.into();
    Policy::from_json(Some(PolicyId::new(id)), tree).map_err(|error| error.to_string())
}

fn said(policy: &Policy, set: Set, id: &str, points: &BTreeMap<String, u8>) -> Result<Said, Vec<String>> {
    let has = |name: &str| policy.annotation(name).is_some();
    let (asks, floor, adds) = (has("ask"), has("floor"), has("risk"));
    let mut problems = Vec::new();
    let mut problem = |why: &str| problems.push(why.to_owned());
    let said = match (set, policy.effect()) {
        (Set::Permissions, _) if adds => {
            problem("`@risk` belongs to factors; put the statement into a file of `policies.factors`");
            None
        }
        (Set::Permissions, Effect::Permit) if floor => {
            problem("`@floor` is for `forbid`: a permission can always be narrowed");
            None
        }
        (Set::Permissions, Effect::Permit) if asks => {
            problem("`@ask` is for `forbid` here, or for a factor: a permission alone asks nobody");
            None
        }
        (Set::Permissions, Effect::Permit) => Some(Said::Permits),
        (Set::Permissions, Effect::Forbid) if floor && asks => {
            problem("what is forbidden as a `@floor` cannot be asked for with `@ask`");
            None
        }
        (Set::Permissions, Effect::Forbid) if asks => Some(Said::Asks),
        (Set::Permissions, Effect::Forbid) => Some(Said::Forbids { floor }),
        (Set::Factors, Effect::Forbid) => {
            problem("a factor is a `permit` with `@risk` or `@ask`; what forbids belongs to `policies.permissions`");
            None
        }
        (Set::Factors, Effect::Permit) if asks && adds => {
            problem("a factor has either `@risk` or `@ask`");
            None
        }
        (Set::Factors, Effect::Permit) if asks => Some(Said::Asks),
        (Set::Factors, Effect::Permit) => match policy.annotation("risk").map(str::parse::<u8>) {
            Some(Ok(written)) if written <= 100 => {
                let points = points.get(id).copied().unwrap_or(written);
                let lower = policy.annotation("lower").unwrap_or("nothing that is known").into();
                Some(Said::Adds { points, lower })
            }
            Some(_) => {
                problem("`@risk` is a whole number from 0 to 100");
                None
            }
            None => {
                problem("a factor needs `@risk(\"points\")`, or `@ask`");
                None
            }
        },
    };
    match said {
        Some(said) => Ok(said),
        None => Err(problems),
    }
}

/// Finds which attributes of the context an expression looks at.
fn look(tree: &Value, reads: &mut Reads) {
    if let Some(object) = tree.as_object() {
        for (operator, operand) in object {
            if matches!(operator.as_str(), "." | "has")
                && let (Some(left), Some(attribute)) =
                    (operand.get("left"), operand.get("attr").and_then(Value::as_str))
            {
                if is_context(left) {
                    reads.attributes.insert(attribute.to_owned());
                    // The arguments as such, not one of them.
                    reads.whole |= attribute == "args" && operator == ".";
                    continue;
                }
                if is_args(left) {
                    reads.attributes.insert("args".into());
                    reads.arguments.insert(attribute.to_owned());
                    continue;
                }
            }
            if operator == "Var" && operand == "context" {
                reads.whole = true;
            }
            if operator != "Value" {
                look(operand, reads);
            }
        }
    }
    tree.as_array().into_iter().flatten().for_each(|item| look(item, reads));
}

fn is_context(tree: &Value) -> bool {
    tree.get("Var").is_some_and(|name| name == "context")
}

fn is_args(tree: &Value) -> bool {
    let Some(operand) = tree.get(".") else { return false };
    operand.get("attr").is_some_and(|name| name == "args") && operand.get("left").is_some_and(is_context)
}

fn texts(tree: &Value, words: &mut BTreeSet<String>) {
    match tree {
        Value::Object(members) => {
            if let Some(Value::String(text)) = members.get("Value") {
                words.insert(text.clone());
            }
            members.values().for_each(|member| texts(member, words));
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
