//! How is a broken rule said so that a model can mend its call? Turns the validator's errors into problems. Pure.

use super::parse::kind_of;
use crate::document::{excerpt, nearest};
use crate::error::Problem;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// Most problems of one answer; more only bury the first ones.
pub(super) const MOST: usize = 20;

/// All that one error of the validator says; an object with several unknown keys has one problem for each.
pub(super) fn of(error: &ValidationError<'_>, known: &[&str]) -> Vec<Problem> {
    let path = error.instance_path().to_string();
    let received = received(error.instance());
    let problem = |rule: &str, expected: String, hint: Option<String>| Problem {
        path: path.clone(),
        rule: rule.into(),
        expected,
        received: received.clone(),
        hint,
    };
    let one = |rule: &str, expected: String| vec![problem(rule, expected, None)];
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.iter().map(|key| unknown_key(&path, key, known)).collect()
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![Problem {
                path: super::parse::pointer(&path, name),
                rule: "required".into(),
                expected: "a value".into(),
                received: "nothing".into(),
                hint: Some(format!("add `{name}`")),
            }]
        }
        ValidationErrorKind::Type { kind } => one("type", types(kind)),
        ValidationErrorKind::Enum { options } => {
            let texts: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let hint = error.instance().as_str().and_then(|text| nearest(text, texts));
            vec![problem("enum", format!("one of {options}"), hint.map(|text| format!("did you mean `{text}`?")))]
        }
        ValidationErrorKind::Minimum { limit } => one("range", format!("at least {limit}")),
        ValidationErrorKind::Maximum { limit } => one("range", format!("at most {limit}")),
        ValidationErrorKind::MinLength { limit } => one("length", format!("at least {limit} characters")),
        ValidationErrorKind::MaxLength { limit } => one("length", format!("at most {limit} characters")),
        ValidationErrorKind::MinItems { limit } => one("length", format!("at least {limit} items")),
        ValidationErrorKind::MaxItems { limit } => one("length", format!("at most {limit} items")),
        ValidationErrorKind::Pattern { pattern } => one("pattern", format!("text that matches `{pattern}`")),
        _ => one(error.kind().keyword(), excerpt(&error.to_string(), 200)),
    }
}

/// A key that no argument has.
fn unknown_key(path: &str, key: &str, known: &[&str]) -> Problem {
    let hint = match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the arguments are {}", known.join(", ")),
    };
    Problem {
        path: super::parse::pointer(path, &excerpt(key, 80)),
        rule: "unknown_key".into(),
        expected: "only declared arguments".into(),
        received: format!("`{}`", excerpt(key, 80)),
        hint: Some(hint),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(type_) => type_.to_string(),
        TypeKind::Multiple(types) => types.iter().map(|type_| type_.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

/// What came, short enough to read and without showing more of it than needed.
fn received(value: &Value) -> String {
    match value {
        Value::String(text) => format!("string {:?}", excerpt(text, 60)),
        Value::Array(items) => format!("array of {} items", items.len()),
        Value::Object(members) => format!("object of {} keys", members.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => format!("{} {value}", kind_of(value)),
    }
}
