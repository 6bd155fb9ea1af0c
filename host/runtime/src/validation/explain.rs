//! What is wrong, where counting up all errors could take for ever? Goes by what is known for certain about each place,
//! a bounded number of steps. Pure.

use super::problems::{self, MOST, Whole, pointer};
use super::reveal;
use crate::document::{excerpt, nearest};
use crate::error::Problem;
use crate::registry::schema::kinds::Kinds;
use crate::registry::schema::shape::ROOT;
use serde_json::Value;

/// Places that are looked at.
const STEPS: usize = 20_000;

/// The problems of arguments that are wrong.
pub(super) fn explain(whole: Whole<'_>) -> Vec<Problem> {
    let mut walk = Walk { whole, found: Vec::new(), left: STEPS };
    walk.look(whole.value, ROOT, "");
    match walk.found.is_empty() {
        false => walk.found,
        true => vec![Problem {
            path: String::new(),
            rule: "schema".into(),
            expected: "arguments that fit the schema".into(),
            received: reveal::value(whole.value, false),
            hint: Some("compare them with the tool's schema; its alternatives fold into themselves".into()),
        }],
    }
}

struct Walk<'a> {
    whole: Whole<'a>,
    found: Vec<Problem>,
    left: usize,
}

impl Walk<'_> {
    fn look(&mut self, value: &Value, id: usize, path: &str) {
        if self.left == 0 || self.found.len() > MOST || id < ROOT {
            return;
        }
        self.left -= 1;
        let shape = self.whole.schema.shape();
        let place = shape.place(id);
        if !place.kinds.has(Kinds::of(value)) {
            let expected = names(place.kinds);
            let hint = problems::type_hint(&expected, value);
            return self.tell(path, "type", expected, value, hint);
        }
        if let Some(allowed) = place.allowed.as_ref().filter(|_| shape.refuses(id, value) && !value.is_object()) {
            let texts: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
            let near = value.as_str().and_then(|text| nearest(text, texts.iter().copied()));
            let hint = near.map_or_else(
                || "send one of these values exactly".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let list: Vec<String> = allowed.iter().take(MOST).map(Value::to_string).collect();
            return self.tell(path, "enum", excerpt(&format!("one of [{}]", list.join(",")), 400), value, hint);
        }
        match value {
            Value::Object(object) => {
                for name in place.required.iter().filter(|name| !object.contains_key(*name)) {
                    self.found.push(Problem {
                        path: pointer(path, name),
                        rule: "required".into(),
                        expected: "a value".into(),
                        received: "nothing".into(),
                        hint: Some(format!("add `{name}`")),
                    });
                }
                for (key, member) in object {
                    self.look(member, shape.member(id, key), &pointer(path, key));
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look(item, shape.item(id, index), &format!("{path}/{index}"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        for branch in shape.branches(id, value).collect::<Vec<_>>() {
            self.look(value, branch, path);
        }
    }

    fn tell(&mut self, path: &str, rule: &str, expected: String, value: &Value, hint: String) {
        let received = reveal::value(value, problems::is_secret(path, self.whole));
        self.found.push(Problem { path: path.to_owned(), rule: rule.into(), expected, received, hint: Some(hint) });
    }
}

fn names(kinds: Kinds) -> String {
    let all = [
        (Kinds::INTEGER.or(Kinds::FRACTION), "number"),
        (Kinds::INTEGER, "integer"),
        (Kinds::STRING, "string"),
        (Kinds::BOOLEAN, "boolean"),
        (Kinds::ARRAY, "array"),
        (Kinds::OBJECT, "object"),
        (Kinds::NULL, "null"),
    ];
    let is_number = kinds.has(all[0].0);
    let named = all.iter().filter(|(kind, name)| kinds.has(*kind) && !(is_number && *name == "integer"));
    let named: Vec<&str> = named.map(|(_, name)| *name).collect();
    if named.is_empty() { "nothing".to_owned() } else { named.join(" or ") }
}
