//! What do a tool's arguments look like? The manifest's `inputs` or `input_schema` become one compiled JSON Schema
//! (2020-12) and its shape. Must not see a call.

mod cost;
mod format;
mod inputs;
pub(crate) mod kinds;
pub(crate) mod pattern;
pub(crate) mod shape;
mod subschema;

use super::manifest::{Input, InputType, Target, TargetSyntax, ToolManifest};
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use shape::Shape;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The form of a tool's arguments.
pub struct InputSchema {
    /// The arguments that it names.
    pub fields: BTreeMap<String, Field>,
    /// Whether the manifest lists its inputs, so that nothing else is accepted.
    pub listed: bool,
    /// Whether loose types are repaired.
    pub coercion: bool,
    /// Whether looking for all errors of a wrong value could take for ever.
    pub(crate) is_explosive: bool,
    written: Written,
    /// What `written` comes to. Where inputs are listed that is right, so it can wait until a call needs it or the start is
    /// over.
    made: OnceLock<Made>,
    validator: OnceLock<Option<Validator>>,
}

/// What a schema is made of.
struct Written {
    /// The listed inputs, where there is no whole schema.
    inputs: Vec<Input>,
    /// Arguments whose text is judged, and those that are paths.
    strict: Vec<String>,
    paths: Vec<String>,
}

/// A schema and what follows from it.
struct Made {
    /// As agents see it.
    json: Value,
    /// The same with the manifest's own keywords, where it has some.
    whole: Option<Value>,
    /// What it says for certain about each place.
    shape: Shape,
}

impl Made {
    fn of(json: Value, whole: Option<Value>, written: &Written) -> Made {
        let shape = Shape::of(whole.as_ref().unwrap_or(&json), &written.strict, &written.paths);
        Made { json, whole, shape }
    }

    fn whole(&self) -> &Value {
        self.whole.as_ref().unwrap_or(&self.json)
    }
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

impl InputSchema {
    /// The schema, compiled. Fetches nothing. `None` where listed inputs come to a schema that is none, which is a fault of
    /// the runtime.
    pub(crate) fn validator(&self) -> Option<&Validator> {
        self.validator.get_or_init(|| validator(self.made().whole(), &BTreeMap::new(), true).ok()).as_ref()
    }

    /// The schema as agents see it.
    pub fn json(&self) -> &Value {
        &self.made().json
    }

    /// What it says for certain about each place.
    pub(crate) fn shape(&self) -> &Shape {
        &self.made().shape
    }

    fn made(&self) -> &Made {
        self.made.get_or_init(|| {
            let [json, whole] = [false, true].map(|with_own| inputs::schema(&self.written.inputs, with_own));
            Made::of(json, Some(whole), &self.written)
        })
    }
}

impl std::fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputSchema").field("json", self.json()).finish_non_exhaustive()
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

/// Checks the arguments of a manifest, whose targets are those, and compiles a whole schema of them. The problems are
/// sentences that name the argument, each with its place.
pub fn compile(manifest: &ToolManifest, targets: &[Target]) -> Result<InputSchema, Vec<Problem>> {
    let input = match &manifest.input_schema {
        Some(_) if !manifest.inputs.is_empty() => {
            return Err(vec![problem("`inputs` and `input_schema` exclude each other")]);
        }
        Some(schema) => whole(schema, manifest, targets)?,
        None => {
            // Listed inputs refer to no document; what is wrong with one is said all the same.
            if !manifest.schemas.is_empty() {
                validator(&Value::Bool(true), &manifest.schemas, true).map_err(|why| vec![problem(why)])?;
            }
            InputSchema {
                fields: inputs::fields(&manifest.inputs)?,
                listed: true,
                coercion: manifest.coercion,
                is_explosive: false,
                written: Written::of(&manifest.inputs, targets),
                made: OnceLock::new(),
                validator: OnceLock::new(),
            }
        }
    };
    let wrong = wrong_values(manifest);
    if wrong.is_empty() { Ok(input) } else { Err(wrong) }
}

/// Arguments as one schema. What its author wrote is compiled now, so that what is wrong with it is said now.
fn whole(schema: &Value, manifest: &ToolManifest, targets: &[Target]) -> Result<InputSchema, Vec<Problem>> {
    let takes_objects = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|type_| type_ == "object"),
        Some(type_) => type_ == "object",
        None => *schema != Value::Bool(false),
    };
    if !takes_objects {
        return Err(vec![problem("the arguments of a tool are a JSON object")]);
    }
    let cost = cost::weigh(schema).map_err(|why| vec![problem(format!("the schema cannot be used: {why}"))])?;
    let validator = validator(schema, &manifest.schemas, false).map_err(|why| vec![problem(why)])?;
    let written = Written::of(&[], targets);
    Ok(InputSchema {
        fields: inputs::fields_of(schema),
        listed: false,
        coercion: manifest.coercion,
        is_explosive: cost == cost::Cost::Explosive,
        made: OnceLock::from(Made::of(schema.clone(), None, &written)),
        written,
        validator: OnceLock::from(Some(validator)),
    })
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

impl Written {
    /// Arguments whose text permission judges can be read by a person, and paths have one form.
    fn of(inputs: &[Input], targets: &[Target]) -> Written {
        let named = |is: fn(TargetSyntax) -> bool| {
            targets.iter().filter(|target| is(target.syntax)).map(|target| target.argument.clone()).collect()
        };
        Written {
            inputs: inputs.to_vec(),
            // Commands and statements are read by their meaning, and what they have in quotes is theirs.
            strict: named(|syntax| matches!(syntax, TargetSyntax::Name | TargetSyntax::Url)),
            paths: named(|syntax| syntax == TargetSyntax::Path),
        }
    }
}

/// Defaults that a call could not send. Whoever leaves the argument out would be refused for it.
fn wrong_values(manifest: &ToolManifest) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, input) in manifest.inputs.iter().enumerate() {
        let Some(default) = &input.default else { continue };
        let property = inputs::property(input, false);
        let is_right = validator(&property, &BTreeMap::new(), true).is_ok_and(|validator| validator.is_valid(default));
        if !is_right {
            let why = format!("the default of input `{}` is none of its values", input.name);
            problems.push((format!("/tool/inputs/{index}/default"), why));
        }
    }
    problems
}
