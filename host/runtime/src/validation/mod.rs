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
use crate::registry::manifest::{Format, InputType};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Checked arguments that were also permitted. Only this step makes them; the sandbox takes nothing else.
#[derive(Clone, Debug)]
pub struct Args {
    canonical: Arc<str>,
    digest: Digest,
}

impl Args {
    /// The arguments as the component gets them.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Their digest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }
}

/// Checks arguments without running anything: the pure preview that permission judges.
///
/// # Errors
/// `invalid_input` with all problems, sorted by place.
pub fn judge(tool: &Tool, args: &Arguments) -> Result<Judged, Error> {
    let mut object = read(args).map_err(|problem| refuse(tool, vec![problem]))?;
    let repairs = coerce::coerce(&mut object, &tool.input);
    coerce::fill_defaults(&mut object, &tool.input);
    let mut found = sanitise(tool, &mut object);
    let value = Value::Object(object);
    if !tool.input.validator.is_valid(&value) {
        let known: Vec<&str> = tool.input.fields.keys().map(String::as_str).collect();
        found.extend(tool.input.validator.iter_errors(&value).flat_map(|error| problems::of(&error, &known)));
    }
    if !found.is_empty() {
        return Err(refuse(tool, found));
    }
    let canonical = canonical::to_string(&value);
    Ok(Judged {
        digest: Digest::of(canonical.as_bytes()),
        canonical: canonical.into(),
        value: Arc::new(value),
        repairs: repairs.into(),
        timeout: None,
    })
}

/// Turns what was judged into what runs.
///
/// # Errors
/// `conflict` if the grant is for other arguments.
pub fn admit(judged: Judged, grant: &Grant) -> Result<Args, Error> {
    match judged.digest == *grant.args() {
        true => Ok(Args { canonical: judged.canonical, digest: judged.digest }),
        false => Err(Error::new(Step::Validation, Kind::Conflict, "the arguments are not those that were permitted")),
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
            (None, _) => !field.forbidden.is_empty(),
        };
        let Value::String(text) = value else { continue };
        if is_strict && let Some(bad) = text.chars().find(|c| is_deceptive(*c)) {
            found.push(problem(name, "characters", "visible characters only", &format!("{bad:?}")));
        }
        if let Some(pattern) = field.forbidden.iter().find(|pattern| pattern.is_match(text)) {
            found.push(problem(name, "forbidden_pattern", &format!("no text that matches `{pattern}`"), text));
        }
        if field.format == Some(Format::Path) {
            *text = path::normalise(text);
        }
    }
    found
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
