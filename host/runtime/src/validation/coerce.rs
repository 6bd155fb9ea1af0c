//! What did the model mean? Repairs loose types by one written rule, only where the schema wants just that type, never
//! losing anything, and notes each repair. Pure.

use super::parse::{kind_of, pointer};
use crate::envelope::Repair;
use crate::registry::manifest::InputType;
use crate::registry::schema::{Field, InputSchema};
use serde_json::{Map, Value};

/// Repairs the members of arguments in place.
pub(super) fn coerce(args: &mut Map<String, Value>, schema: &InputSchema) -> Vec<Repair> {
    let mut repairs = Vec::new();
    if !schema.listed {
        return repairs;
    }
    for (name, field) in &schema.fields {
        let Some(value) = args.get(name) else { continue };
        let Some((to, rule)) = repair(value, field) else {
            continue;
        };
        let from = match &to {
            Some(to) => args.insert(name.clone(), to.clone()),
            None => args.shift_remove(name),
        };
        repairs.push(Repair { path: pointer("", name), from: from.unwrap_or_default(), to, rule: rule.to_owned() });
    }
    repairs
}

/// Puts defaults in where arguments are absent. Not a repair: the schema announces them.
pub(super) fn fill_defaults(args: &mut Map<String, Value>, schema: &InputSchema) {
    for (name, field) in &schema.fields {
        if let (Some(default), false) = (&field.default, args.contains_key(name)) {
            args.insert(name.clone(), default.clone());
        }
    }
}

/// The value that was meant, `None` for an absent one, and the rule that says so.
fn repair(value: &Value, field: &Field) -> Option<(Option<Value>, &'static str)> {
    let wanted = field.type_?;
    if value.is_null() && !field.required {
        return Some((None, "null is an absent argument"));
    }
    let (to, rule) = match (wanted, value) {
        (InputType::Integer, Value::String(text)) => (exact_integer(text)?, "decimal integer in text"),
        (InputType::Integer, Value::Number(number)) if number.is_f64() => {
            (whole(number.as_f64()?)?, "number without a fraction")
        }
        (InputType::Boolean, Value::String(text)) if text == "true" => (Value::Bool(true), "boolean in text"),
        (InputType::Boolean, Value::String(text)) if text == "false" => (Value::Bool(false), "boolean in text"),
        (InputType::Object, Value::String(text)) => (json_of(text, "object")?, "JSON in text"),
        (InputType::Array, Value::String(text)) => match json_of(text, "array") {
            Some(array) => (array, "JSON in text"),
            None => (Value::Array(vec![value.clone()]), "one item for an array"),
        },
        (InputType::Array, Value::Bool(_) | Value::Number(_)) => {
            (Value::Array(vec![value.clone()]), "one item for an array")
        }
        _ => return None,
    };
    Some((Some(to), rule))
}

fn exact_integer(text: &str) -> Option<Value> {
    let integer: i64 = text.parse().ok()?;
    (integer.to_string() == text).then(|| integer.into())
}

fn whole(float: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (float.fract() == 0.0 && float.abs() < EXACT).then(|| Value::from(float as i64))
}

fn json_of(text: &str, kind: &str) -> Option<Value> {
    let wrapped = super::parse::parse(&format!("{{\"value\":{text}}}")).ok()?;
    let value = wrapped.get("value").filter(|_| wrapped.len() == 1)?;
    (kind_of(value) == kind).then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(type_: InputType, from: Value, to: Option<Value>) {
        let field = Field { type_: Some(type_), ..Field::default() };
        let repaired = repair(&from, &field);
        match to {
            Some(to) => assert_eq!(repaired.map(|(to, _)| to), Some(Some(to)), "{from}"),
            None => assert_eq!(repaired, None, "{from}"),
        }
    }

    #[test]
    fn only_what_loses_nothing_is_repaired() {
        use InputType::*;
        check(Integer, json!("42"), Some(json!(42)));
        check(Integer, json!("-7"), Some(json!(-7)));
        check(Integer, json!("042"), None);
        check(Integer, json!("+42"), None);
        check(Integer, json!("4.2"), None);
        check(Integer, json!("99999999999999999999"), None);
        check(Integer, json!(30.0), Some(json!(30)));
        check(Integer, json!(30.5), None);
        check(Boolean, json!("true"), Some(json!(true)));
        check(Boolean, json!("True"), None);
        check(Boolean, json!(1), None);
        check(Object, json!("{\"a\":1}"), Some(json!({ "a": 1 })));
        check(Object, json!("[1]"), None);
        check(Array, json!("[\"a\",\"b\"]"), Some(json!(["a", "b"])));
        check(Array, json!("a.txt"), Some(json!(["a.txt"])));
        check(Array, json!("{\"a\":1},\"b\":2"), Some(json!(["{\"a\":1},\"b\":2"])));
        check(String, json!("[1]"), None);
        check(String, json!(5), None);
        check(Number, json!("5"), None);
    }

    #[test]
    fn null_is_absent_only_where_the_argument_may_be() {
        let optional = Field { type_: Some(InputType::Integer), ..Field::default() };
        let required = Field { required: true, ..Field { type_: Some(InputType::Integer), ..Field::default() } };
        assert_eq!(repair(&Value::Null, &optional).map(|(to, _)| to), Some(None));
        assert_eq!(repair(&Value::Null, &required), None);
    }
}
