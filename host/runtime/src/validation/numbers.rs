//! Is a number the one that was written, where it has to be? Pure.

use super::coerce::EXACT;
use super::parse::Part;
use super::problems::pointer;
use crate::error::Problem;
use crate::registry::schema::kinds::Kinds;
use crate::registry::schema::shape::{ROOT, Shape};
use serde_json::Value;

const NUMBER: Kinds = Kinds::INTEGER.or(Kinds::FRACTION);

/// Whether the schema says that a place takes any number, so that the nearest double will do.
pub(super) fn is_any_number(path: &[Part], shape: &Shape) -> bool {
    let place = path.iter().fold(ROOT, |id, part| match part {
        Part::Key(key) => shape.member(id, key),
        Part::Item(index) => shape.item(id, *index),
    });
    let kinds = shape.place(place).kinds;
    kinds != Kinds::ALL && kinds.has(NUMBER)
}

/// Doubles where integers are wanted that may not be the integer which was written.
pub(super) fn too_large(args: &Value, shape: &Shape) -> Vec<Problem> {
    let mut found = Vec::new();
    walk(
        args,
        ROOT,
        shape,
        &mut |path, value| {
            found.push(Problem {
                path: path.to_owned(),
                rule: "number".into(),
                expected: "an integer of 64 bits".into(),
                received: format!("number {value}"),
                hint: Some(
                    "send one from -9223372036854775808 to 18446744073709551615, with all its digits and no exponent"
                        .into(),
                ),
            });
        },
        "",
    );
    found
}

fn walk(value: &Value, id: usize, shape: &Shape, tell: &mut dyn FnMut(&str, f64), path: &str) {
    if id < ROOT {
        return;
    }
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            let kinds = shape.place(id).kinds;
            // One of listed values is that value, however it is written.
            let is_wanted = shape.place(id).allowed.is_none() && kinds.and(NUMBER) == Kinds::INTEGER;
            if is_wanted && float.fract() == 0.0 && float.abs() >= EXACT {
                tell(path, float);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate().filter(|(_, item)| is_worth_it(item)) {
                walk(item, shape.item(id, index), shape, tell, &format!("{path}/{index}"));
            }
        }
        Value::Object(members) => {
            for (key, member) in members.iter().filter(|(_, member)| is_worth_it(member)) {
                walk(member, shape.member(id, key), shape, tell, &pointer(path, key));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_worth_it(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(_) | Value::Object(_) => true,
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}
