//! How is a broken rule said so that a model can mend its call? Turns the validator's errors into problems. Pure.

use super::{reveal, union};
use crate::document::{excerpt, nearest};
use crate::error::Problem;
use crate::registry::schema::InputSchema;
use crate::registry::schema::shape::{ROOT, Shape};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// Most problems of one answer; more only bury the first ones.
pub(super) const MOST: usize = 20;
/// Most values that an answer lists.
const MOST_OPTIONS: usize = 20;
/// Longest text about what is expected, in bytes.
const LONG: usize = 400;

/// All arguments, and what is known about them.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) value: &'a Value,
    pub(super) schema: &'a InputSchema,
}

/// All that one error of the validator says; an object with several unknown keys has one problem for each.
pub(super) fn of(error: &ValidationError<'_>, whole: Whole<'_>) -> Vec<Problem> {
    let path = error.instance_path().to_string();
    let at = At { is_secret: is_secret(&path, whole), path, value: error.instance(), whole };
    use ValidationErrorKind as Error;
    let one = match error.kind() {
        Error::AdditionalProperties { unexpected } | Error::UnevaluatedProperties { unexpected } => {
            return at.unknown_keys(unexpected);
        }
        Error::AnyOf { context } | Error::OneOfNotValid { context } => return union::problems(context, error, whole),
        Error::Required { property } => return vec![at.missing(property.as_str().unwrap_or_default())],
        Error::Type { kind } => at.type_(kind),
        Error::Enum { options } => at.options(options.as_array().map_or(&[], Vec::as_slice)),
        Error::Constant { expected_value } => at.options(std::slice::from_ref(&**expected_value)),
        Error::Minimum { limit } => at.bound("range", format!("at least {limit}")),
        Error::Maximum { limit } => at.bound("range", format!("at most {limit}")),
        Error::ExclusiveMinimum { limit } => at.bound("range", format!("more than {limit}")),
        Error::ExclusiveMaximum { limit } => at.bound("range", format!("less than {limit}")),
        Error::MultipleOf { multiple_of } => at.bound("multiple_of", format!("a multiple of {multiple_of}")),
        Error::MinLength { limit } => at.length(format!("at least {limit} characters")),
        Error::MaxLength { limit } => at.length(format!("at most {limit} characters")),
        Error::MinItems { limit } => at.bound("length", format!("at least {limit} items")),
        Error::MaxItems { limit } => at.bound("length", format!("at most {limit} items")),
        Error::AdditionalItems { limit } => at.bound("length", format!("at most {limit} items")),
        Error::UnevaluatedItems { .. } => at.bound("length", "only the items that the schema has".into()),
        Error::MinProperties { limit } => at.bound("length", format!("at least {limit} keys")),
        Error::MaxProperties { limit } => at.bound("length", format!("at most {limit} keys")),
        Error::Custom { keyword, message } if keyword == "forbiddenPatterns" => at.problem(
            "forbidden_pattern",
            format!("no text that matches `{}`", excerpt(message, LONG)),
            "leave out what the pattern describes".into(),
        ),
        Error::Custom { message: pattern, .. } | Error::Pattern { pattern } => at.pattern(pattern),
        Error::Format { format } => {
            at.problem("format", format!("a text of the format `{format}`"), format_hint(format).to_owned())
        }
        Error::UniqueItems => at.unique(),
        Error::Contains => at.problem(
            "contains",
            "as many items of one form as the schema says".into(),
            "add or remove such items".into(),
        ),
        Error::FalseSchema => at.problem("not_allowed", "nothing".into(), "leave it out".into()),
        Error::Not { .. } => at.problem(
            "not",
            "a value that another rule does not describe".into(),
            "see the tool's schema for what is excluded".into(),
        ),
        Error::OneOfMultipleValid { .. } => at.problem(
            "one_of",
            "just one of the alternatives".into(),
            "it fits several of them; give the keys of one alternative only".into(),
        ),
        Error::PropertyNames { error } => at.problem(
            "key",
            excerpt(&format!("keys that follow a rule: {}", error.kind().keyword()), LONG),
            format!("rename the key {}", reveal::value(error.instance(), false)),
        ),
        other => at.problem(
            other.keyword(),
            excerpt(&format!("what `{}` of the schema says", other.keyword()), LONG),
            "see the tool's schema".into(),
        ),
    };
    vec![one]
}

/// The place that an error is about.
struct At<'a> {
    path: String,
    value: &'a Value,
    is_secret: bool,
    whole: Whole<'a>,
}

impl At<'_> {
    fn problem(&self, rule: &str, expected: String, hint: String) -> Problem {
        let received = reveal::value(self.value, self.is_secret);
        Problem { path: self.path.clone(), rule: rule.into(), expected, received, hint: Some(hint) }
    }

    fn bound(&self, rule: &str, expected: String) -> Problem {
        let hint = format!("send {expected}");
        self.problem(rule, expected, hint)
    }

    fn length(&self, expected: String) -> Problem {
        let length = self.value.as_str().map_or(0, |text| text.chars().count());
        Problem { received: format!("{length} characters"), ..self.bound("length", expected) }
    }

    fn unknown_keys(&self, unexpected: &[String]) -> Vec<Problem> {
        let known = known_names(&self.path, self.whole);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        unexpected.iter().map(|key| unknown_key(&self.path, key, &known)).collect()
    }

    fn missing(&self, name: &str) -> Problem {
        let has_null = self.value.get(name).is_some();
        Problem {
            path: pointer(&self.path, name),
            rule: "required".into(),
            expected: "a value".into(),
            received: if has_null { "null" } else { "nothing" }.into(),
            hint: Some(format!("add `{}`", excerpt(name, 80))),
        }
    }

    fn type_(&self, kind: &TypeKind) -> Problem {
        let expected = match kind {
            TypeKind::Single(type_) => type_.to_string(),
            TypeKind::Multiple(types) => types.iter().map(|type_| type_.to_string()).collect::<Vec<_>>().join(" or "),
        };
        let hint = type_hint(&expected, self.value);
        self.problem("type", expected, hint)
    }

    fn options(&self, options: &[Value]) -> Problem {
        let shown: Vec<String> = options.iter().take(MOST_OPTIONS).map(Value::to_string).collect();
        let more = if options.len() > MOST_OPTIONS {
            format!(" and {} more", options.len() - MOST_OPTIONS)
        } else {
            String::new()
        };
        let expected = match shown.as_slice() {
            [only] => only.clone(),
            _ => format!("one of [{}]{more}", shown.join(",")),
        };
        let texts: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
        let near = self.value.as_str().and_then(|text| nearest(text, texts));
        let hint = match (near, options) {
            (Some(near), _) => format!("did you mean `{}`?", excerpt(near, 80)),
            (None, [only]) => format!("send {}", excerpt(&only.to_string(), 80)),
            (None, _) => "send one of these values exactly".to_owned(),
        };
        self.problem("enum", excerpt(&expected, LONG), hint)
    }

    fn pattern(&self, pattern: &str) -> Problem {
        use crate::registry::schema::pattern::LONGEST;
        let example = jsonschema_regex::pattern_witness(pattern).filter(|example| !example.is_empty());
        let hint = match (self.value.as_str(), example) {
            (Some(text), _) if text.len() > LONGEST && crate::registry::schema::pattern::is_bounded(pattern) => {
                format!("this pattern looks ahead or back, so the text has at most {LONGEST} bytes")
            }
            (_, Some(example)) => format!("for example `{}`", excerpt(&example, 80)),
            (_, None) => "change the text so that the pattern is found in it".to_owned(),
        };
        self.problem("pattern", format!("text that matches `{}`", excerpt(pattern, LONG)), hint)
    }

    fn unique(&self) -> Problem {
        let items = self.value.as_array().map_or(&[][..], Vec::as_slice);
        // Looking further would cost the square of their number.
        let few = &items[..items.len().min(200)];
        let twice = few
            .iter()
            .enumerate()
            .find_map(|(index, item)| Some((few[..index].iter().position(|it| it == item)?, index)));
        let hint = match twice {
            Some((first, second)) => format!("items {first} and {second} are equal; remove one"),
            None => "remove items that are there twice".to_owned(),
        };
        self.problem("unique_items", "items that differ".into(), hint)
    }
}

/// A key that nothing declares.
fn unknown_key(path: &str, key: &str, known: &[&str]) -> Problem {
    let visible: String = key.chars().filter(|c| !crate::document::is_deceptive(*c)).collect();
    let hint = match nearest(&visible, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "leave it out".to_owned(),
        None => excerpt(&format!("leave it out; the keys are {}", known.join(", ")), LONG),
    };
    Problem {
        path: pointer(path, &reveal::name(key)),
        rule: "unknown_key".into(),
        expected: "only declared arguments".into(),
        received: format!("`{}`", reveal::name(key)),
        hint: Some(hint),
    }
}

/// The member names that are known at a place.
pub(super) fn known_names(path: &str, whole: Whole<'_>) -> Vec<String> {
    let shape = whole.schema.shape();
    let names = places_at(path, whole).into_iter().flat_map(|id| shape.place(id).members.keys().cloned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// Whether what stands at a place is shown to nobody.
pub(super) fn is_secret(path: &str, whole: Whole<'_>) -> bool {
    let is_named = path.split('/').any(reveal::is_secret_name);
    is_named || places_at(path, whole).into_iter().any(|id| whole.schema.shape().place(id).text.is_secret)
}

/// All places of the shape that a pointer leads to.
fn places_at(path: &str, whole: Whole<'_>) -> Vec<usize> {
    let shape = whole.schema.shape();
    let mut value = Some(whole.value);
    let mut places = with_branches(vec![ROOT], shape);
    for part in path.split('/').skip(1) {
        let key = part.replace("~1", "/").replace("~0", "~");
        let index = value.and_then(|value| value.as_array()).and_then(|_| key.parse::<usize>().ok());
        places = places
            .iter()
            .map(|id| index.map_or_else(|| shape.member(*id, &key), |index| shape.item(*id, index)))
            .collect();
        places = with_branches(places, shape);
        value = value.and_then(|value| match index {
            Some(index) => value.get(index),
            None => value.get(&key),
        });
    }
    places
}

fn with_branches(mut places: Vec<usize>, shape: &Shape) -> Vec<usize> {
    let mut at = 0;
    while at < places.len() && places.len() < 100 {
        let found: Vec<usize> = shape.place(places[at]).unions.iter().flatten().copied().collect();
        places.extend(found.into_iter().filter(|id| !places.contains(id)).collect::<Vec<_>>());
        at += 1;
    }
    places.retain(|id| *id >= ROOT);
    places
}

/// What to do about a value of another type.
pub(super) fn type_hint(expected: &str, value: &Value) -> String {
    let text = value.as_str().unwrap_or_default().trim();
    let encoded = text.starts_with(['[', '{', '"']) && !text.is_empty();
    match (expected, value) {
        (_, Value::Null) => "leave it out, or send a value".into(),
        ("integer", Value::Number(_)) => "send a whole number".into(),
        ("integer" | "number", Value::String(_)) => "send the number without quotes".into(),
        ("boolean", _) => "send true or false, without quotes".into(),
        ("array", Value::String(_)) if encoded => "send the array itself, not its JSON in quotes".into(),
        ("object", Value::String(_)) if encoded => "send the object itself, not its JSON in quotes".into(),
        ("array", _) => "send an array, in square brackets".into(),
        ("object", _) => "send an object, in curly brackets".into(),
        ("string", _) => "send text, in double quotes".into(),
        _ => format!("send {expected}"),
    }
}

fn format_hint(format: &str) -> &'static str {
    match format {
        "date" => "for example 2026-01-31",
        "date-time" => "for example 2026-01-31T12:00:00Z",
        "time" => "for example 12:00:00Z",
        "url" | "uri" => "with its scheme, for example https://example.com/",
        "email" => "for example name@example.com",
        "uuid" => "for example 123e4567-e89b-12d3-a456-426614174000",
        "ipv4" => "for example 192.0.2.1",
        "ipv6" => "for example 2001:db8::1",
        "host" => "a host name or address, without a scheme",
        "name" => "one name, without `/`",
        _ => "see the tool's schema",
    }
}

/// What a value is, in the words of JSON Schema.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A JSON Pointer with one more key.
pub(super) fn pointer(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}
