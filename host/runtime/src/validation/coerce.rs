//! What did the model mean? Repairs loose types by one written table, only where the value is wrong for certain and
//! the schema wants just one type, never losing anything, and notes each repair. Pure.

use super::parse::{self, Parsed};
use super::problems::pointer;
use super::reveal;
use crate::envelope::Repair;
use crate::registry::schema::kinds::Kinds;
use crate::registry::schema::shape::{ROOT, Shape};
use serde_json::{Map, Value};

/// One row of the table.
pub(super) struct Rule {
    /// What a note calls it.
    pub(super) name: &'static str,
    /// What came.
    pub(super) from: Kinds,
    /// What the schema wants, and nothing else.
    pub(super) wants: Kinds,
    /// The value that was meant; nothing where it is not plain.
    convert: fn(&Value, &Site<'_>) -> Option<Value>,
}

/// What is known about the place of a value.
struct Site<'a> {
    shape: &'a Shape,
    place: usize,
}

const NUMBER: Kinds = Kinds::INTEGER.or(Kinds::FRACTION);
const SCALAR: Kinds = Kinds::STRING.or(Kinds::BOOLEAN).or(NUMBER);

/// The table. The first row that fits and gives a value counts. What is not here is a 400.
pub(super) const TABLE: [Rule; 7] = [
    Rule { name: "decimal integer in text", from: Kinds::STRING, wants: Kinds::INTEGER, convert: integer_in_text },
    Rule { name: "number without a fraction", from: Kinds::INTEGER, wants: Kinds::INTEGER, convert: whole },
    Rule { name: "boolean in text", from: Kinds::STRING, wants: Kinds::BOOLEAN, convert: boolean_in_text },
    Rule { name: "JSON in text", from: Kinds::STRING, wants: Kinds::OBJECT, convert: json_in_text },
    Rule { name: "JSON in text", from: Kinds::STRING, wants: Kinds::ARRAY, convert: json_in_text },
    Rule { name: "one item for an array", from: SCALAR, wants: Kinds::ARRAY, convert: one_item },
    Rule { name: NULL_IS_ABSENT, from: Kinds::NULL, wants: Kinds::NONE, convert: |_, _| None },
];

/// The last row is about members: what holds them takes the null away.
const NULL_IS_ABSENT: &str = "null is an absent argument";

/// Repairs arguments in place.
pub(super) fn coerce(args: &mut Value, shape: &Shape) -> Vec<Repair> {
    let mut repairs = Vec::new();
    if let Value::Object(object) = args {
        members(object, ROOT, shape, "", &mut repairs);
    }
    branches(args, ROOT, shape, "", &mut repairs);
    repairs
}

/// Repairs all arguments that came as one text of JSON.
pub(super) fn whole_in_text(text: &str) -> Option<(Parsed, Repair)> {
    let parsed = parse::parse(text).ok().filter(|parsed| parsed.value.is_object())?;
    let repair = Repair {
        path: String::new(),
        from: Value::String(reveal::excerpt(text)),
        to: None,
        rule: "JSON in text".to_owned(),
    };
    Some((parsed, repair))
}

fn value(value: &mut Value, place: usize, shape: &Shape, path: &str, repairs: &mut Vec<Repair>) {
    if let Some((to, rule)) = repair(value, &Site { shape, place }) {
        let is_secret = shape.place(place).text.is_secret || path.split('/').any(reveal::is_secret_name);
        let from = std::mem::replace(value, to);
        repairs.push(Repair {
            path: path.to_owned(),
            from: reveal::note(&from, is_secret),
            to: Some(reveal::note(value, is_secret)),
            rule: rule.to_owned(),
        });
    }
    match value {
        Value::Object(object) => members(object, place, shape, path, repairs),
        Value::Array(array) => {
            for (index, item) in array.iter_mut().enumerate() {
                let place = shape.item(place, index);
                if says_something(place) {
                    self::value(item, place, shape, &format!("{path}/{index}"), repairs);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    }
    branches(value, place, shape, path, repairs);
}

/// Goes on where a union leaves but one branch.
fn branches(value: &mut Value, place: usize, shape: &Shape, path: &str, repairs: &mut Vec<Repair>) {
    let branches: Vec<usize> = shape.branches(place, value).collect();
    for branch in branches {
        self::value(value, branch, shape, path, repairs);
    }
}

fn members(object: &mut Map<String, Value>, place: usize, shape: &Shape, path: &str, repairs: &mut Vec<Repair>) {
    let mut absent = Vec::new();
    for (key, member) in object.iter_mut() {
        let id = shape.member(place, key);
        if !says_something(id) {
            continue;
        }
        if member.is_null() && !shape.place(id).kinds.has(Kinds::NULL) {
            absent.extend((!is_required(shape, place, key)).then(|| key.clone()));
        } else {
            let wrong_or_deep =
                member.is_object() || member.is_array() || repair(member, &Site { shape, place: id }).is_some();
            if wrong_or_deep {
                value(member, id, shape, &pointer(path, key), repairs);
            }
        }
    }
    for key in absent {
        object.shift_remove(&key);
        let rule = NULL_IS_ABSENT.to_owned();
        repairs.push(Repair { path: pointer(path, &key), from: Value::Null, to: None, rule });
    }
}

/// Whether an object has to have a member, in any branch too: rather a refusal than a doubt.
fn is_required(shape: &Shape, place: usize, key: &str) -> bool {
    let place = shape.place(place);
    let in_branch = |branch: &usize| shape.place(*branch).required.iter().any(|name| name == key);
    place.required.iter().any(|name| name == key) || place.unions.iter().flatten().any(in_branch)
}

fn says_something(place: usize) -> bool {
    place >= ROOT
}

/// The value that was meant, and the rule that says so.
fn repair(value: &Value, site: &Site<'_>) -> Option<(Value, &'static str)> {
    let kind = Kinds::of(value);
    let kinds = site.shape.place(site.place).kinds;
    // A right value stays; only a whole number may be written as one that is not.
    let is_float = value.as_number().is_some_and(serde_json::Number::is_f64);
    if kinds.has(kind) && !(is_float && kinds.and(NUMBER) == Kinds::INTEGER) {
        return None;
    }
    let wanted = if kinds.has(kind) { kinds.and(NUMBER) } else { kinds.without(Kinds::NULL) };
    let fits = |rule: &&Rule| rule.from.has(kind) && rule.wants == wanted;
    TABLE.iter().filter(fits).find_map(|rule| Some(((rule.convert)(value, site)?, rule.name)))
}

fn integer_in_text(value: &Value, _: &Site<'_>) -> Option<Value> {
    let text = value.as_str()?;
    let signed: Option<Value> = text.parse::<i64>().ok().map(Value::from);
    let integer = signed.or_else(|| text.parse::<u64>().ok().map(Value::from))?;
    (serde_json::to_string(&integer).ok()? == text).then_some(integer)
}

/// A double below this is exactly the integer that was written.
pub(super) const EXACT: f64 = 9_007_199_254_740_992.0;

fn whole(value: &Value, _: &Site<'_>) -> Option<Value> {
    let float = value.as_f64().filter(|float| value.is_f64() && float.fract() == 0.0 && float.abs() < EXACT)?;
    Some(Value::from(float as i64))
}

fn boolean_in_text(value: &Value, _: &Site<'_>) -> Option<Value> {
    match value.as_str()? {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn json_in_text(value: &Value, site: &Site<'_>) -> Option<Value> {
    let parsed = parse::parse(value.as_str()?).ok()?;
    let is_meant = site.shape.place(site.place).kinds.has(Kinds::of(&parsed.value)) && parsed.inexact.is_empty();
    is_meant.then_some(parsed.value)
}

/// One value where an array of such is wanted. Text that looks like JSON is none: it is a list with a mistake in it,
/// or encoded twice.
fn one_item(value: &Value, site: &Site<'_>) -> Option<Value> {
    let looks_like_json = value.as_str().is_some_and(|text| text.trim_start().starts_with(['[', '{', '"']));
    let item = Site { shape: site.shape, place: site.shape.item(site.place, 0) };
    let is_item = item.shape.place(item.place).kinds.has(Kinds::of(value)) || repair(value, &item).is_some();
    (!looks_like_json && is_item).then(|| Value::Array(vec![value.clone()]))
}

#[cfg(test)]
#[path = "coerce_tests.rs"]
mod tests;
