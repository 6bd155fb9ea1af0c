//! Step 4 of 7: are these arguments what the tool can trust?

mod coerce;
mod explain;
pub mod learning;
mod number;
mod numbers;
pub mod parse;
mod path;
mod problems;
mod reveal;
mod sanitise;
mod text;
mod union;

use crate::call::{Arguments, Digest, Judged};
use crate::canonical;
use crate::document::excerpt;
use crate::envelope::Repair;
use crate::error::{Error, Kind, Problem, Step};
use crate::permission::Grant;
use crate::registry::Tool;
use crate::registry::manifest::TimeoutUnit;
use crate::registry::schema::InputSchema;
use parse::{Inexact, Parsed};
use problems::Whole;
use serde_json::Value;
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
    let schema = &tool.input;
    let Read { mut value, inexact, mut repairs } = read(args, schema).map_err(|problem| refuse(tool, vec![problem]))?;
    let mut found: Vec<Problem> = inexact.iter().filter_map(|number| inexact_problem(number, schema)).collect();
    if schema.coercion {
        repairs.extend(coerce::coerce(&mut value, schema.shape()));
    }
    fill_defaults(&mut value, schema);
    found.extend(sanitise::sanitise(&mut value, schema.shape()));
    found.extend(numbers::too_large(&value, schema.shape()));
    let validator = schema.validator().ok_or_else(|| {
        Error::internal(
            Step::Validation,
            format!("the inputs of `{}` come to a schema that cannot be compiled", tool.name),
        )
    })?;
    if !validator.is_valid(&value) {
        let whole = Whole { value: &value, schema };
        found.extend(match schema.is_explosive {
            true => explain::explain(whole),
            false => validator.iter_errors(&value).take(MOST_ERRORS).flat_map(|e| problems::of(&e, whole)).collect(),
        });
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

/// Arguments as they were read.
struct Read {
    value: Value,
    inexact: Vec<Inexact>,
    repairs: Vec<Repair>,
}

fn read(args: &Arguments, schema: &InputSchema) -> Result<Read, Problem> {
    let (value, inexact) = match args {
        Arguments::Json(text) => {
            let Parsed { value, inexact } = parse::parse(text)?;
            (value, inexact)
        }
        Arguments::Value(value) => {
            parse::check_bounds(value)?;
            (value.clone(), Vec::new())
        }
    };
    match value {
        Value::Object(_) => Ok(Read { value, inexact, repairs: Vec::new() }),
        // Some clients write JSON twice. Once more is read, as for every argument; not more often.
        Value::String(text)
            if schema.coercion
                && let Some((parsed, repair)) = coerce::whole_in_text(&text) =>
        {
            Ok(Read { value: parsed.value, inexact: parsed.inexact, repairs: vec![repair] })
        }
        other => Err(Problem {
            path: String::new(),
            rule: "type".into(),
            expected: "a JSON object".into(),
            received: reveal::value(&other, false),
            hint: Some("send the arguments as one JSON object, in curly brackets".into()),
        }),
    }
}

/// Puts defaults in where arguments are absent. Not a repair: the schema announces them.
fn fill_defaults(args: &mut Value, schema: &InputSchema) {
    let Value::Object(args) = args else { return };
    for (name, field) in &schema.fields {
        if let (Some(default), false) = (&field.default, args.contains_key(name)) {
            args.insert(name.clone(), default.clone());
        }
    }
}

/// A number that is not quite what was written is right only where any number is wanted.
fn inexact_problem(number: &Inexact, schema: &InputSchema) -> Option<Problem> {
    match numbers::is_any_number(&number.path, schema.shape()) {
        true => None,
        false => Some(Problem {
            path: parse::pointer_of(&number.path),
            rule: "number".into(),
            expected: "an integer of 64 bits, or a decimal that a double holds".into(),
            received: excerpt(&number.literal, 60),
            hint: Some("send a number with fewer digits, or text where text is taken".into()),
        }),
    }
}

fn problem(name: &str, rule: &str, expected: &str, received: &str) -> Problem {
    Problem {
        path: problems::pointer("", name),
        rule: rule.into(),
        expected: expected.into(),
        received: excerpt(received, 60),
        hint: Some(format!("send {expected}")),
    }
}

/// The answer to wrong arguments: the first problems by their place, and how many there are.
fn refuse(tool: &Tool, mut found: Vec<Problem>) -> Error {
    found.sort();
    found.dedup();
    found.dedup_by(|one, other| one.rule == "number" && (&one.rule, &one.path) == (&other.rule, &other.path));
    // A number that was not read as it was written breaks further rules that say nothing more.
    let misread: Vec<String> = found.iter().filter(|it| it.rule == "number").map(|it| it.path.clone()).collect();
    found.retain(|problem| problem.rule == "number" || !misread.contains(&problem.path));
    let count = found.len();
    found.truncate(problems::MOST);
    let noun = if count == 1 { "problem" } else { "problems" };
    let more = if count > problems::MOST { format!("; the first {} are told", problems::MOST) } else { String::new() };
    let message = format!("the arguments of `{}` have {count} {noun}{more}", tool.name);
    let mut error = Error::new(Step::Validation, Kind::InvalidInput, message);
    error.problems = found;
    error
}

#[cfg(test)]
mod keyword_tests;
