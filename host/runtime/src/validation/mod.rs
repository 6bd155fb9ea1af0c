//! Step 4 of 7: are these arguments what the tool can trust?

mod coerce;
mod parse;
mod path;
mod problems;

use crate::call::{Arguments, Digest, Judged};
use crate::canonical;
use crate::document::{excerpt, is_deceptive};
use crate::error::{Error, Kind, Problem, Step};
use crate::permission::Grant;
use crate::registry::Tool;
use crate::registry::manifest::{Format, InputType, TargetSyntax, TimeoutUnit};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// Errors of the validator that are looked at; a list of a million wrong items has one each.
const MOST_ERRORS: usize = 200;

/// Checked arguments that were also permitted. Only this step makes them; the sandbox takes nothing else.
#[derive(Clone, Debug)]
pub struct Args {
    value: Arc<Value>,
    canonical: Arc<str>,
    digest: Digest,
    timeout: Option<Duration>,
}

impl Args {
    /// The arguments as a value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The arguments as the component gets them.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Their digest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// How long an attempt may take, when they say so.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

/// Checks arguments without running anything: the pure preview that permission judges. `longest` is what the runtime
/// lets any attempt take.
///
/// # Errors
/// `invalid_input` with all problems, sorted by place.
pub fn judge(tool: &Tool, args: &Arguments, longest: Duration) -> Result<Judged, Error> {
    let mut object = read(args).map_err(|problem| refuse(tool, vec![problem]))?;
    let repairs = coerce::coerce(&mut object, &tool.input);
    coerce::fill_defaults(&mut object, &tool.input);
    let mut found = sanitise(tool, &mut object);
    let value = Value::Object(object);
    if !tool.input.validator.is_valid(&value) {
        let known: Vec<&str> = tool.input.fields.keys().map(String::as_str).collect();
        let errors = tool.input.validator.iter_errors(&value).take(MOST_ERRORS);
        found.extend(errors.flat_map(|error| problems::of(&error, &known)));
    }
    let timeout = timeout(tool, &value, longest).unwrap_or_else(|problem| {
        found.push(problem);
        None
    });
    if !found.is_empty() {
        return Err(refuse(tool, found));
    }
    let canonical = canonical::to_string(&value);
    Ok(Judged {
        digest: Digest::of(canonical.as_bytes()),
        canonical: canonical.into(),
        value: Arc::new(value),
        repairs: repairs.into(),
        timeout,
    })
}

/// Turns what was judged into what runs.
///
/// # Errors
/// `conflict` if the grant is for other arguments.
pub fn admit(judged: Judged, grant: &Grant) -> Result<Args, Error> {
    match judged.digest == *grant.args() {
        true => Ok(Args {
            value: judged.value,
            canonical: judged.canonical,
            digest: judged.digest,
            timeout: judged.timeout,
        }),
        false => Err(Error::new(Step::Validation, Kind::Conflict, "the arguments are not those that were permitted")),
    }
}

/// What the arguments say about how long an attempt may take. More than the runtime allows is refused at once: a call
/// that is cut short later has cost more.
fn timeout(tool: &Tool, args: &Value, longest: Duration) -> Result<Option<Duration>, Problem> {
    let Some(argument) = &tool.timeout_argument else { return Ok(None) };
    let Some(count) = args.get(&argument.name).and_then(Value::as_f64) else { return Ok(None) };
    let unit = match argument.unit {
        TimeoutUnit::Seconds => 1.0,
        TimeoutUnit::Milliseconds => 0.001,
    };
    let wanted = Duration::try_from_secs_f64(count * unit).unwrap_or(Duration::MAX);
    match (Duration::from_millis(1)..=longest).contains(&wanted) {
        true => Ok(Some(wanted)),
        false => {
            let expected = format!("more than 0 and at most {} s, the limit of this runtime", longest.as_secs_f64());
            Err(problem(&argument.name, "ceiling", &expected, &count.to_string()))
        }
    }
}

fn read(args: &Arguments) -> Result<Map<String, Value>, Problem> {
    match args {
        Arguments::Json(text) => parse::parse(text),
        Arguments::Value(Value::Object(object)) => {
            object.values().try_for_each(parse::check_depth)?;
            Ok(object.clone())
        }
        Arguments::Value(other) => Err(Problem {
            path: String::new(),
            rule: "type".into(),
            expected: "a JSON object".into(),
            received: parse::kind_of(other).into(),
            hint: None,
        }),
    }
}

/// Brings paths into their normal form and finds what the schema cannot say: characters that deceive, and patterns
/// that must not be there.
fn sanitise(tool: &Tool, object: &mut Map<String, Value>) -> Vec<Problem> {
    let mut found = Vec::new();
    for (name, field) in &tool.input.fields {
        let Some(value) = object.get_mut(name) else { continue };
        let is_strict = match (field.format, field.type_) {
            (Some(Format::Path), _) | (_, Some(InputType::Enum)) => true,
            (Some(Format::Text), _) => false,
            (None, _) => !field.forbidden.is_empty() || field.patterned || is_target(tool, name),
        };
        let Value::String(text) = value else { continue };
        if is_strict && let Some(bad) = text.chars().find(|c| is_deceptive(*c)) {
            found.push(problem(name, "characters", "visible characters only", &format!("{bad:?}")));
        }
        // Patterns are held against the form that runs, so that another spelling gets round none of them.
        if field.format == Some(Format::Path) {
            *text = path::normalise(text);
        }
        if let Some(pattern) = field.forbidden.iter().find(|pattern| pattern.is_match(text)) {
            found.push(problem(name, "forbidden_pattern", &format!("no text that matches `{pattern}`"), text));
        }
    }
    found
}

/// Whether an argument names what is acted on, so that a person has to be able to read it.
fn is_target(tool: &Tool, name: &str) -> bool {
    tool.targets.iter().any(|target| target.argument == name && target.syntax == TargetSyntax::Name)
}

fn problem(name: &str, rule: &str, expected: &str, received: &str) -> Problem {
    Problem {
        path: parse::pointer("", name),
        rule: rule.into(),
        expected: expected.into(),
        received: excerpt(received, 60),
        hint: None,
    }
}

fn refuse(tool: &Tool, mut found: Vec<Problem>) -> Error {
    found.sort();
    found.dedup();
    let count = found.len();
    found.truncate(problems::MOST);
    let noun = if count == 1 { "problem" } else { "problems" };
    let mut error = Error::new(
        Step::Validation,
        Kind::InvalidInput,
        format!("the arguments of `{}` have {count} {noun}", tool.name),
    );
    error.problems = found;
    error
}
