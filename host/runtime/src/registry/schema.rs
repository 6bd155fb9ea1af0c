//! What do a tool's arguments look like? The manifest's `inputs` or `input_schema` become one compiled JSON Schema
//! (2020-12) and its shape. Must not see a call.

mod cost;
mod format;
mod inputs;
pub(crate) mod kinds;
pub(crate) mod pattern;
pub(crate) mod shape;
mod subschema;

use super::manifest::{InputType, Target, TargetSyntax, ToolManifest};
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use shape::Shape;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The compiled form of a tool's arguments.
pub struct InputSchema {
    /// The schema as agents see it.
    pub json: Value,
    /// The arguments that it names.
    pub fields: BTreeMap<String, Field>,
    /// Whether the manifest lists its inputs, so that nothing else is accepted.
    pub listed: bool,
    /// Whether loose types are repaired.
    pub coercion: bool,
    /// The schema with the manifest's own keywords.
    compiled: Compiled,
    /// What it says for certain about each place.
    pub(crate) shape: Shape,
    /// Whether looking for all errors of a wrong value could take for ever.
    pub(crate) is_explosive: bool,
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
}

/// A schema that is compiled once, at the latest when it is needed first.
struct Compiled {
    schema: Value,
    validator: OnceLock<Option<Validator>>,
}

impl InputSchema {
    /// The schema, compiled. Fetches nothing. `None` where listed inputs come to a schema that is none, which is a fault of
    /// the runtime.
    pub(crate) fn validator(&self) -> Option<&Validator> {
        let Compiled { schema, validator: compiled } = &self.compiled;
        compiled.get_or_init(|| validator(schema, &BTreeMap::new(), true).ok()).as_ref()
    }
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
    pub validator: Validator,
    /// Whether looking for all errors of a wrong value could take for ever.
    pub(crate) is_explosive: bool,
}

impl std::fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputSchema").field("json", &self.json).finish_non_exhaustive()
    }
}

/// A place in the manifest, as a JSON Pointer, and what is wrong there.
type Problem = (String, String);

/// Compiles the schema of a manifest's result, if it has one.
pub fn compile_output(manifest: &ToolManifest) -> Result<Option<OutputSchema>, Problem> {
    let at = |why: String| ("/tool/output_schema".to_owned(), why);
    match &manifest.output_schema {
        None => Ok(None),
        Some(_) if !manifest.outputs.is_empty() => Err(at("`outputs` and `output_schema` exclude each other".into())),
        Some(json) => {
            let cost = cost::weigh(json).map_err(|why| at(format!("the schema cannot be used: {why}")))?;
            let validator = validator(json, &manifest.schemas, false).map_err(at)?;
            Ok(Some(OutputSchema { json: json.clone(), validator, is_explosive: cost == cost::Cost::Explosive }))
        }
    }
}

/// Compiles the arguments of a manifest, whose targets are those. The problems are sentences that name the argument,
/// each with its place.
pub fn compile(manifest: &ToolManifest, targets: &[Target]) -> Result<InputSchema, Vec<Problem>> {
    let listed = manifest.input_schema.is_none();
    let (json, whole, fields) = match &manifest.input_schema {
        Some(_) if !manifest.inputs.is_empty() => {
            return Err(vec![problem("`inputs` and `input_schema` exclude each other")]);
        }
        Some(schema) => (schema.clone(), schema.clone(), inputs::fields_of(schema)),
        None => {
            let listed = inputs::schema(&manifest.inputs)?;
            (listed.published, listed.whole, listed.fields)
        }
    };
    let takes_objects = match json.get("type") {
        Some(Value::Array(types)) => types.iter().any(|type_| type_ == "object"),
        Some(type_) => type_ == "object",
        None => json != Value::Bool(false),
    };
    if !takes_objects {
        return Err(vec![problem("the arguments of a tool are a JSON object")]);
    }
    let cost = cost::weigh(&whole).map_err(|why| vec![problem(format!("the schema cannot be used: {why}"))])?;
    // What listed inputs come to is made here and right; compiling it can wait until the tool is called or the start over.
    let compiled = match listed && manifest.schemas.is_empty() {
        true => OnceLock::new(),
        false => OnceLock::from(Some(validator(&whole, &manifest.schemas, listed).map_err(|why| vec![problem(why)])?)),
    };
    let (strict, paths) = target_texts(targets);
    let shape = Shape::of(&whole, &strict, &paths);
    let input = InputSchema {
        json,
        fields,
        listed,
        coercion: manifest.coercion,
        compiled: Compiled { schema: whole, validator: compiled },
        shape,
        is_explosive: cost == cost::Cost::Explosive,
    };
    let wrong = wrong_values(&input, manifest);
    if wrong.is_empty() { Ok(input) } else { Err(wrong) }
}

fn problem(why: impl Into<String>) -> Problem {
    ("/tool/input_schema".to_owned(), why.into())
}

/// Compiles a schema against documents that the manifest brings along, and no others.
fn validator(schema: &Value, documents: &BTreeMap<String, Value>, with_formats: bool) -> Result<Validator, String> {
    let wrong = |error: &dyn std::fmt::Display| {
        format!("the schema is wrong: {}", crate::document::excerpt(&error.to_string(), 400))
    };
    let mut registry = jsonschema::Registry::new().draft(Draft::Draft202012);
    for (uri, document) in documents {
        registry = registry.add(uri, document).map_err(|error| format!("`schemas`: `{uri}`: {error}"))?;
    }
    let registry = registry.prepare().map_err(|error| wrong(&error))?;
    let options = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex())
        .with_keyword("pattern", pattern::wanted)
        .with_keyword("forbiddenPatterns", pattern::forbidden)
        .should_validate_formats(with_formats)
        .offline()
        .with_registry(&registry);
    format::add(options).build(schema).map_err(|error| wrong(&error))
}

/// Arguments whose text permission judges: they can be read by a person, and paths have one form.
fn target_texts(targets: &[Target]) -> (Vec<&str>, Vec<&str>) {
    let named = |is: fn(TargetSyntax) -> bool| {
        targets.iter().filter(|target| is(target.syntax)).map(|target| target.argument.as_str()).collect()
    };
    // Commands and statements are read by their meaning, and what they have in quotes is theirs.
    (
        named(|syntax| matches!(syntax, TargetSyntax::Name | TargetSyntax::Url)),
        named(|syntax| syntax == TargetSyntax::Path),
    )
}

/// Defaults that a call could not send. Whoever leaves the argument out would be refused for it.
fn wrong_values(input: &InputSchema, manifest: &ToolManifest) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, listed) in manifest.inputs.iter().enumerate().filter(|(_, listed)| listed.default.is_some()) {
        let Some(property) = input.json["properties"].get(&listed.name) else { continue };
        let default = listed.default.as_ref().unwrap_or(&Value::Null);
        let is_right = validator(property, &BTreeMap::new(), true).is_ok_and(|validator| validator.is_valid(default));
        if !is_right {
            let why = format!("the default of input `{}` is none of its values", listed.name);
            problems.push((format!("/tool/inputs/{index}/default"), why));
        }
    }
    problems
}
