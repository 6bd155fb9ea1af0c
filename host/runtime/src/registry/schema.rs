//! What do a tool's arguments look like? The manifest's `inputs` or `input_schema` become one compiled JSON Schema.
//! Must not see a call.

use super::manifest::{Format, Input, InputRules, InputType, ToolManifest};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The compiled form of a tool's arguments.
pub struct InputSchema {
    /// The schema as agents see it.
    pub json: Value,
    /// The same, compiled. Linear-time patterns, fetches nothing.
    pub validator: jsonschema::Validator,
    /// Arguments that the manifest says more about than a schema can.
    pub fields: BTreeMap<String, Field>,
    /// Whether the manifest lists its inputs, so that loose types are repaired and nothing else is accepted.
    pub listed: bool,
}

/// What is known about one argument besides its schema.
#[derive(Debug, Default)]
pub struct Field {
    /// Its type, as far as one is declared.
    pub type_: Option<InputType>,
    /// Whether it must be there.
    pub required: bool,
    /// What it is when it is not there.
    pub default: Option<Value>,
    /// What its text is.
    pub format: Option<Format>,
    /// Whether its text has to match a pattern.
    pub patterned: bool,
    /// What must not be found in its text.
    pub forbidden: Vec<regex::Regex>,
}

impl std::fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputSchema").field("json", &self.json).finish_non_exhaustive()
    }
}

/// The compiled form of a tool's facts.
pub struct OutputSchema {
    /// The schema as its author wrote it.
    pub json: Value,
    /// The same, compiled.
    pub validator: jsonschema::Validator,
}

impl std::fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputSchema").field("json", &self.json).finish_non_exhaustive()
    }
}

/// Compiles the schema of a manifest's result, if it has one.
pub fn compile_output(manifest: &ToolManifest) -> Result<Option<OutputSchema>, (String, String)> {
    let at = |why: &str| ("/tool/output_schema".to_owned(), why.to_owned());
    match &manifest.output_schema {
        None => Ok(None),
        Some(_) if !manifest.outputs.is_empty() => Err(at("`outputs` and `output_schema` exclude each other")),
        Some(json) => {
            let validator = validator(json).map_err(|why| at(&why))?;
            Ok(Some(OutputSchema { json: json.clone(), validator }))
        }
    }
}

fn validator(json: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .offline()
        .build(json)
        .map_err(|error| format!("the schema is wrong: {error}"))
}

/// Compiles the arguments of a manifest. The problems are sentences that name the argument, each with its place.
pub fn compile(manifest: &ToolManifest) -> Result<InputSchema, Vec<(String, String)>> {
    let (json, fields) = match &manifest.input_schema {
        Some(schema) if manifest.inputs.is_empty() => (schema.clone(), fields_of_schema(schema)),
        Some(_) => {
            return Err(vec![("/tool/input_schema".into(), "`inputs` and `input_schema` exclude each other".into())]);
        }
        None => from_inputs(&manifest.inputs)?,
    };
    if json.get("type").is_some_and(|type_| type_ != "object") {
        return Err(vec![("/tool/input_schema".into(), "the arguments of a tool are a JSON object".into())]);
    }
    let validator = validator(&json).map_err(|why| vec![("/tool/input_schema".into(), why)])?;
    Ok(InputSchema { json, validator, fields, listed: manifest.input_schema.is_none() })
}

type Fields = BTreeMap<String, Field>;

fn from_inputs(inputs: &[Input]) -> Result<(Value, Fields), Vec<(String, String)>> {
    let mut properties = Map::new();
    let mut fields = Fields::new();
    let mut problems = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let at = format!("/tool/inputs/{index}/name");
        match field(input) {
            Ok(field) if !fields.contains_key(&input.name) => {
                fields.insert(input.name.clone(), field);
            }
            Ok(_) => problems.push((at, format!("input `{}` stands there twice", input.name))),
            Err(found) => problems.extend(found.into_iter().map(|problem| (at.clone(), problem))),
        }
        properties.insert(input.name.clone(), property(input));
    }
    let required: Vec<&str> = inputs.iter().filter(|input| input.required).map(|input| input.name.as_str()).collect();
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    if problems.is_empty() { Ok((schema, fields)) } else { Err(problems) }
}

fn field(input: &Input) -> Result<Field, Vec<String>> {
    let name = &input.name;
    let default = InputRules::default();
    let rules = input.validation.as_ref().unwrap_or(&default);
    let mut problems = Vec::new();
    let mut forbidden = Vec::new();
    for pattern in rules.forbidden_patterns.iter().chain(&rules.pattern) {
        match regex::Regex::new(pattern) {
            Ok(regex) => forbidden.push(regex),
            Err(error) => problems.push(format!("a pattern of input `{name}` is not a linear-time one: {error}")),
        }
    }
    forbidden.truncate(rules.forbidden_patterns.len());
    if input.type_ == InputType::Enum && input.allowed_values.as_ref().is_none_or(Vec::is_empty) {
        problems.push(format!("input `{name}` is an enum without `allowed_values`"));
    }
    if input.range.is_some() && !matches!(input.type_, InputType::Integer | InputType::Number) {
        problems.push(format!("input `{name}` has a range and is no number"));
    }
    if input.range.is_some_and(|[low, high]| low > high) {
        problems.push(format!("the range of input `{name}` ends before it begins"));
    }
    if input.items.is_some() && input.type_ != InputType::Array {
        problems.push(format!("input `{name}` has items and is no array"));
    }
    if rules.format.is_some() && !matches!(input.type_, InputType::String | InputType::Enum) {
        problems.push(format!("input `{name}` has a format and is no text"));
    }
    if input.required && input.default.is_some() {
        problems.push(format!("input `{name}` is required, so its default can never count"));
    }
    match problems.is_empty() {
        true => Ok(Field {
            type_: Some(input.type_),
            required: input.required,
            default: input.default.clone(),
            format: rules.format,
            patterned: rules.pattern.is_some(),
            forbidden,
        }),
        false => Err(problems),
    }
}

fn property(input: &Input) -> Value {
    let mut schema = type_schema(input.type_);
    let mut set = |key: &str, value: Value| schema.insert(key.to_owned(), value);
    if let Some(description) = &input.description {
        set("description", json!(description));
    }
    if let Some(default) = &input.default {
        set("default", default.clone());
    }
    if let Some(values) = &input.allowed_values {
        set("enum", json!(values));
    }
    if let Some([low, high]) = input.range {
        set("minimum", number(low));
        set("maximum", number(high));
    }
    if let Some(items) = input.items {
        set("items", Value::Object(type_schema(items)));
    }
    if let Some(rules) = &input.validation {
        let (fewest, most) = match input.type_ {
            InputType::Array => ("minItems", "maxItems"),
            _ => ("minLength", "maxLength"),
        };
        rules.min_length.map(|length| set(fewest, json!(length)));
        rules.max_length.map(|length| set(most, json!(length)));
        rules.pattern.as_ref().map(|pattern| set("pattern", json!(pattern)));
    }
    Value::Object(schema)
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

fn fields_of_schema(schema: &Value) -> Fields {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let field = |(name, property): (&String, &Value)| {
        let field = Field {
            required: required.contains(&name.as_str()),
            default: property.get("default").cloned(),
            ..Field::default()
        };
        (name.clone(), field)
    };
    properties.into_iter().flatten().map(field).collect()
}
