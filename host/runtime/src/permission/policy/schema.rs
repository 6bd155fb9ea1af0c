//! How do a tool's arguments look to a policy? Makes the Cedar schema of tools, and says of each argument that it
//! cannot be shown to a policy why. Pure.
//!
//! | argument | in `context.args` |
//! | --- | --- |
//! | text, or one of listed texts | `String` |
//! | whole number | `Long`; absent if it needs more than 64 bits |
//! | `true` or `false` | `Bool` |
//! | list of one of these | `Set<…>`; order and repetitions are lost |
//! | number with a fraction, object, list of lists, of objects or of anything | absent: Cedar has no such type |
//! | `null`, or not given and without a default | absent; guard it with `context.args has name` |

use super::evaluate::ATTRIBUTES;
use crate::registry::Tool;
use crate::registry::manifest::{Input, InputType};
use cedar_policy::RestrictedExpression;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What one argument is to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `String`.
    Text,
    /// `Long`.
    Whole,
    /// `Bool`.
    Truth,
}

/// How one argument is shown to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// As one value.
    One(Kind),
    /// As a set of values.
    Many(Kind),
    /// Not at all, and why.
    Absent(&'static str),
}

/// How an argument is shown, and whether it is always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Argument {
    /// How it is shown.
    pub shown: Shown,
    /// Whether every call has it.
    pub always: bool,
}

/// The arguments of a tool as policies see them.
pub fn arguments(tool: &Tool) -> BTreeMap<String, Argument> {
    match &tool.manifest.input_schema {
        Some(schema) => of_schema(schema),
        None => tool.manifest.inputs.iter().map(|input| (input.name.clone(), of_input(input))).collect(),
    }
}

fn of_input(input: &Input) -> Argument {
    let one_of = |value: &Value| input.allowed_values.iter().flatten().all(|allowed| same_kind(allowed, value));
    let shown = match input.type_ {
        InputType::Enum => match input.allowed_values.iter().flatten().next() {
            Some(first) if one_of(first) => {
                kind_of(first).map_or(Shown::Absent("its values are of no plain type"), Shown::One)
            }
            _ => Shown::Absent("its values are of several types"),
        },
        InputType::Array => match input.items.map(of_type) {
            Some(Shown::One(kind)) => Shown::Many(kind),
            Some(_) => Shown::Absent("its items are no plain values"),
            None => Shown::Absent("its items can be anything"),
        },
        plain => of_type(plain),
    };
    Argument { shown, always: input.required || input.default.is_some() }
}

fn of_type(type_: InputType) -> Shown {
    match type_ {
        InputType::String | InputType::Enum => Shown::One(Kind::Text),
        InputType::Integer => Shown::One(Kind::Whole),
        InputType::Boolean => Shown::One(Kind::Truth),
        InputType::Number => Shown::Absent("Cedar has no numbers with a fraction"),
        InputType::Array => Shown::Absent("its items are lists"),
        InputType::Object => Shown::Absent("it is an object"),
    }
}

fn kind_of(value: &Value) -> Option<Kind> {
    match value {
        Value::String(_) => Some(Kind::Text),
        Value::Number(number) if number.is_i64() => Some(Kind::Whole),
        Value::Bool(_) => Some(Kind::Truth),
        Value::Number(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn same_kind(a: &Value, b: &Value) -> bool {
    kind_of(a) == kind_of(b)
}

fn of_schema(schema: &Value) -> BTreeMap<String, Argument> {
    let required = |name: &str| {
        let listed = schema.get("required").and_then(Value::as_array);
        listed.is_some_and(|listed| listed.iter().any(|listed| listed == name))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let argument = |(name, property): (&String, &Value)| {
        let always = required(name) || property.get("default").is_some();
        (name.clone(), Argument { shown: of_property(property), always })
    };
    properties.into_iter().flatten().map(argument).collect()
}

fn of_property(property: &Value) -> Shown {
    match property.get("type").and_then(Value::as_str) {
        Some("string") => Shown::One(Kind::Text),
        Some("integer") => Shown::One(Kind::Whole),
        Some("boolean") => Shown::One(Kind::Truth),
        Some("array") => match property.get("items").map(of_property) {
            Some(Shown::One(kind)) => Shown::Many(kind),
            Some(_) => Shown::Absent("its items are no plain values"),
            None => Shown::Absent("its items can be anything"),
        },
        Some("number") => Shown::Absent("Cedar has no numbers with a fraction"),
        Some("object") => Shown::Absent("it is an object"),
        _ => Shown::Absent("its schema names no single plain type"),
    }
}

/// A value as a policy sees it; nothing if it cannot.
pub(super) fn expression(argument: Argument, value: &Value) -> Option<RestrictedExpression> {
    match (argument.shown, value) {
        (Shown::One(kind), value) => plain(kind, value),
        (Shown::Many(kind), Value::Array(items)) => {
            let items: Option<Vec<_>> = items.iter().map(|item| plain(kind, item)).collect();
            items.map(RestrictedExpression::new_set)
        }
        (Shown::Many(_) | Shown::Absent(_), _) => None,
    }
}

fn plain(kind: Kind, value: &Value) -> Option<RestrictedExpression> {
    match (kind, value) {
        (Kind::Text, Value::String(text)) => Some(RestrictedExpression::new_string(text.clone())),
        (Kind::Whole, Value::Number(number)) => number.as_i64().map(RestrictedExpression::new_long),
        (Kind::Truth, Value::Bool(truth)) => Some(RestrictedExpression::new_bool(*truth)),
        _ => None,
    }
}

/// The Cedar schema of some tools, as JSON. Each tool is an action of its own, so that its arguments have their types.
pub fn of_tools<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Value {
    let actions: Map<String, Value> = tools.into_iter().map(|tool| (tool.name.to_string(), action(tool))).collect();
    json!({ "": {
        "entityTypes": {
            "Role": {},
            "Category": {},
            "Adapter": {},
            "Tool": { "memberOfTypes": ["Category", "Adapter"] },
        },
        "actions": actions,
    } })
}

fn action(tool: &Tool) -> Value {
    let argument = |(name, argument): (String, Argument)| {
        let kind = |kind: Kind| match kind {
            Kind::Text => json!({ "type": "String" }),
            Kind::Whole => json!({ "type": "Long" }),
            Kind::Truth => json!({ "type": "Boolean" }),
        };
        let mut written = match argument.shown {
            Shown::One(one) => kind(one),
            Shown::Many(many) => json!({ "type": "Set", "element": kind(many) }),
            Shown::Absent(_) => return None,
        };
        written["required"] = argument.always.into();
        Some((name, written))
    };
    let mut attributes: Map<String, Value> =
        ATTRIBUTES.iter().map(|attribute| (attribute.name.to_owned(), attribute.schema())).collect();
    let arguments: Map<String, Value> = arguments(tool).into_iter().filter_map(argument).collect();
    attributes.insert("args".into(), json!({ "type": "Record", "attributes": arguments }));
    json!({ "appliesTo": {
        "principalTypes": ["Role"],
        "resourceTypes": ["Tool"],
        "context": { "type": "Record", "attributes": attributes },
    } })
}
