//! Can a person read what a text says, and has a path its one form? Only texts that a reader goes by are looked at;
//! free text passes byte for byte. Pure.

use super::problems::pointer;
use super::{path, reveal};
use crate::document::is_deceptive;
use crate::error::Problem;
use crate::registry::schema::kinds::Kinds;
use crate::registry::schema::shape::{ROOT, Shape, Text};
use serde_json::Value;

/// Brings paths into their normal form and finds characters that deceive.
pub(super) fn sanitise(args: &mut Value, shape: &Shape) -> Vec<Problem> {
    let mut found = Vec::new();
    walk(args, ROOT, shape, "", &mut found);
    found
}

fn walk(value: &mut Value, id: usize, shape: &Shape, at: &str, found: &mut Vec<Problem>) {
    let place = shape.place(id);
    if !place.has_text {
        return;
    }
    match value {
        Value::String(text) => {
            let rule = text_rule(id, shape);
            // A value that its author listed is what its author wrote.
            let is_listed = place.allowed.as_ref().is_some_and(|allowed| allowed.iter().any(|it| it == text.as_str()));
            if rule.is_strict
                && !is_listed
                && !text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
                && let Some(bad) = text.chars().find(|c| is_deceptive(*c))
            {
                found.push(Problem {
                    path: at.to_owned(),
                    rule: "characters".into(),
                    expected: "visible characters only".into(),
                    received: reveal::value(&Value::String(bad.to_string()), rule.is_secret),
                    hint: Some(format!("leave out the character U+{:04X}", u32::from(bad))),
                });
            }
            if rule.is_path {
                let normal = path::normalise(text);
                if normal != *text {
                    *text = normal;
                }
            }
        }
        Value::Object(object) => {
            for (key, member) in object.iter_mut() {
                let id = shape.member(id, key);
                if shape.place(id).has_text {
                    walk(member, id, shape, &pointer(at, key), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                walk(item, shape.item(id, index), shape, &format!("{at}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => return,
    }
    if !value.is_string() {
        for branch in place.unions.iter().flatten() {
            walk(value, *branch, shape, at, found);
        }
    }
}

/// What a text is at a place, with all branches that take text: the strictest counts.
fn text_rule(id: usize, shape: &Shape) -> Text {
    let place = shape.place(id);
    let taking = place.unions.iter().flatten().filter(|branch| shape.place(**branch).kinds.has(Kinds::STRING));
    let all = taking.fold(place.text, |all, branch| {
        let branch = shape.place(*branch).text;
        Text {
            is_free: all.is_free || branch.is_free,
            is_path: all.is_path || branch.is_path,
            is_strict: all.is_strict || branch.is_strict,
            is_secret: all.is_secret || branch.is_secret,
        }
    });
    Text { is_strict: all.is_strict && !place.text.is_free, ..all }
}
