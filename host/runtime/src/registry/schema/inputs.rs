//! Which JSON Schema do listed inputs come to? Must not see a call.

use super::pattern::Pattern;
use super::{Field, Problem};
use crate::registry::manifest::{Format, Input, InputRules, InputType};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

type Fields = BTreeMap<String, Field>;

/// What is known about each input, if they are right.
pub(super) fn fields(inputs: &[Input]) -> Result<Fields, Vec<Problem>> {
    let mut fields = Fields::new();
    let mut problems = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let at = format!("/tool/inputs/{index}/name");
        problems.extend(wrong(input).into_iter().map(|why| (at.clone(), why)));
        let field = Field { type_: Some(input.type_), required: input.required, default: input.default.clone() };
        if fields.insert(input.name.clone(), field).is_some() {
            problems.push((at, format!("input `{}` stands there twice", input.name)));
        }
    }
    if problems.is_empty() { Ok(fields) } else { Err(problems) }
}

/// The schema of inputs that are right, as agents see it or with the manifest's own keywords.
pub(super) fn schema(inputs: &[Input], with_own: bool) -> Value {
    let required: Vec<&str> = inputs.iter().filter(|input| input.required).map(|input| input.name.as_str()).collect();
    let properties: Map<String, Value> =
        inputs.iter().map(|input| (input.name.clone(), property(input, with_own))).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn wrong(input: &Input) -> Vec<String> {
    let name = &input.name;
    let default = InputRules::default();
    let rules = input.validation.as_ref().unwrap_or(&default);
    let mut problems = Vec::new();
    for pattern in rules.forbidden_patterns.iter().chain(&rules.pattern) {
        if let Err(why) = Pattern::compile(pattern) {
            let shown = crate::document::excerpt(pattern, 80);
            problems.push(format!("the pattern `{shown}` of input `{name}` cannot be used: {why}"));
        }
    }
    // A list has the rules of its items, but for its length.
    let of = if input.type_ == InputType::Array { input.items } else { Some(input.type_) };
    let is_text = matches!(of, Some(InputType::String | InputType::Enum));
    let no_values = input.allowed_values.as_ref().is_none_or(Vec::is_empty);
    let mut check = |is_wrong: bool, what: &str| {
        if is_wrong {
            problems.push(format!("input `{name}` {what}"));
        }
    };
    check(input.type_ == InputType::Enum && no_values, "is an enum without `allowed_values`");
    check(
        input.range.is_some() && !matches!(of, Some(InputType::Integer | InputType::Number)),
        "has a range and is no number",
    );
    check(input.range.is_some_and(|[low, high]| low > high), "has a range that ends before it begins");
    check(input.range.is_some_and(|ends| ends.iter().any(|end| !end.is_finite())), "has a range that does not end");
    check(input.items.is_some() && input.type_ != InputType::Array, "has items and is no array");
    check(rules.format.is_some() && !is_text, "has a format and is no text");
    check(rules.pattern.is_some() && !is_text, "has a pattern and is no text");
    check(!rules.forbidden_patterns.is_empty() && !is_text, "has forbidden patterns and is no text");
    check(input.required && input.default.is_some(), "is required, so its default can never count");
    let has_length = rules.min_length.is_some() || rules.max_length.is_some();
    check(
        has_length && !matches!(input.type_, InputType::String | InputType::Enum | InputType::Array),
        "has a length and is no text and no list",
    );
    check(
        rules.min_length.zip(rules.max_length).is_some_and(|(least, most)| least > most),
        "has lengths that nothing has",
    );
    problems
}

/// The schema of one input.
pub(super) fn property(input: &Input, with_own: bool) -> Value {
    let mut schema = type_schema(input.type_);
    if let Some(description) = &input.description {
        schema.insert("description".into(), json!(description));
    }
    if let Some(default) = &input.default {
        schema.insert("default".into(), default.clone());
    }
    let lengths = input.validation.iter().flat_map(|rules| lengths(input.type_, rules));
    schema.extend(lengths);
    let rules = rules(input, with_own);
    if input.type_ == InputType::Array {
        if let Some(items) = input.items.map(type_schema).or_else(|| (!rules.is_empty()).then(Map::new)) {
            let items: Map<String, Value> = items.into_iter().chain(rules).collect();
            schema.insert("items".into(), Value::Object(items));
        }
    } else {
        schema.extend(rules);
    }
    Value::Object(schema)
}

fn lengths(type_: InputType, rules: &InputRules) -> impl Iterator<Item = (String, Value)> {
    let (fewest, most) = match type_ {
        InputType::Array => ("minItems", "maxItems"),
        _ => ("minLength", "maxLength"),
    };
    let pair = |key: &str, length: Option<u64>| length.map(|length| (key.to_owned(), json!(length)));
    [pair(fewest, rules.min_length), pair(most, rules.max_length)].into_iter().flatten()
}

/// The rules of a value, or of each item of a list.
fn rules(input: &Input, with_own: bool) -> Map<String, Value> {
    let mut schema = Map::new();
    if let Some(values) = &input.allowed_values {
        schema.insert("enum".into(), json!(values));
    }
    if let Some([low, high]) = input.range {
        schema.insert("minimum".into(), number(low));
        schema.insert("maximum".into(), number(high));
    }
    let Some(rules) = &input.validation else { return schema };
    if let Some(pattern) = &rules.pattern {
        schema.insert("pattern".into(), json!(pattern));
    }
    // How a text is treated here says nothing to a reader elsewhere.
    if let Some(format) = rules.format.filter(|format| with_own || !matches!(format, Format::Text | Format::Path)) {
        schema.insert("format".into(), json!(format));
    }
    if with_own && !rules.forbidden_patterns.is_empty() {
        schema.insert("forbiddenPatterns".into(), json!(rules.forbidden_patterns));
    }
    schema
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}

fn type_schema(type_: InputType) -> Map<String, Value> {
    let name = match type_ {
        InputType::String => "string",
        InputType::Integer => "integer",
        InputType::Number => "number",
        InputType::Boolean => "boolean",
        InputType::Array => "array",
        InputType::Object => "object",
        InputType::Enum => return Map::new(),
    };
    Map::from_iter([("type".to_owned(), json!(name))])
}

/// What a whole schema says of the arguments that it names.
pub(super) fn fields_of(schema: &Value) -> Fields {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let field = |(name, property): (&String, &Value)| {
        let type_ = property.get("type").cloned().and_then(|type_| serde_json::from_value(type_).ok());
        let field =
            Field { type_, required: required.contains(&name.as_str()), default: property.get("default").cloned() };
        (name.clone(), field)
    };
    properties.into_iter().flatten().map(field).collect()
}
