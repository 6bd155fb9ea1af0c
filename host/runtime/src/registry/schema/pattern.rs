//! Does a text match a pattern, in bounded time? Patterns of the manifest's own keys and of JSON Schema, in the
//! dialect of ECMAScript as far as it has a linear-time meaning.

use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

/// Steps back that the bounded engine takes before it gives up.
const STEPS: usize = 10_000;
/// Longest text for the bounded engine, in bytes. A look-ahead may read the rest of the text at each place, so that the
/// steps alone bound nothing.
pub(crate) const LONGEST: usize = 4096;
/// Largest compiled pattern, in bytes; what counts up to a large number becomes large.
const LARGEST: usize = 1 << 20;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// Linear in the text.
    Linear(regex::Regex),
    /// Has a look-around or a reference back: goes through a bounded engine, on short texts only.
    Bounded(fancy_regex::Regex),
}

/// What a pattern says about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is in the text.
    Yes,
    /// It is not.
    No,
    /// The bounded engine has not found out.
    Unknown,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn compile(pattern: &str) -> Result<Pattern, String> {
        let translated =
            jsonschema_regex::to_rust_regex(pattern).map_err(|()| "it is no regular expression".to_owned())?;
        let linear = regex::RegexBuilder::new(&translated).size_limit(LARGEST).build();
        let error = match linear {
            Ok(regex) => return Ok(Pattern::Linear(regex)),
            Err(regex::Error::CompiledTooBig(_)) => {
                return Err("it is too large, with its repetitions written out".to_owned());
            }
            Err(error) => error,
        };
        let bounded =
            fancy_regex::RegexBuilder::new(&translated).backtrack_limit(STEPS).delegate_size_limit(LARGEST).build();
        match bounded {
            Ok(regex) => Ok(Pattern::Bounded(regex)),
            Err(_) => Err(error.to_string().lines().last().unwrap_or_default().trim().to_owned()),
        }
    }

    /// Looks for it in a text.
    pub(crate) fn find(&self, text: &str) -> Found {
        let found = match self {
            Pattern::Linear(regex) => Ok(regex.is_match(text)),
            Pattern::Bounded(_) if text.len() > LONGEST => return Found::Unknown,
            Pattern::Bounded(regex) => regex.is_match(text),
        };
        match found {
            Ok(true) => Found::Yes,
            Ok(false) => Found::No,
            Err(_) => Found::Unknown,
        }
    }
}

/// Whether a pattern goes through the bounded engine.
pub(crate) fn is_bounded(pattern: &str) -> bool {
    matches!(Pattern::compile(pattern), Ok(Pattern::Bounded(_)))
}

/// The keyword `pattern`: a text in which the pattern is not found, as far as can be told, is refused.
pub(super) fn wanted<'a>(
    _: &'a Map<String, Value>,
    pattern: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let pattern = compile_value(pattern)?;
    Ok(Box::new(Wanted(pattern)))
}

/// The keyword `forbiddenPatterns`: a text in which one is found, or may be, is refused.
pub(super) fn forbidden<'a>(
    _: &'a Map<String, Value>,
    patterns: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let patterns = patterns.as_array().into_iter().flatten().map(compile_value).collect::<Result<_, _>>()?;
    Ok(Box::new(Forbidden(patterns)))
}

fn compile_value(pattern: &Value) -> Result<(String, Pattern), ValidationError<'static>> {
    let text = pattern.as_str().ok_or_else(|| ValidationError::custom("a pattern is a text"))?;
    let compiled = Pattern::compile(text).map_err(|why| {
        ValidationError::custom(format!("the pattern `{}` cannot be used: {why}", crate::document::excerpt(text, 80)))
    })?;
    Ok((text.to_owned(), compiled))
}

struct Wanted((String, Pattern));

impl<'i> Keyword<'i> for Wanted {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        match self.is_valid(instance) {
            true => Ok(()),
            false => Err(ValidationError::custom(self.0.0.clone())),
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|text| self.0.1.find(text) == Found::Yes)
    }
}

struct Forbidden(Vec<(String, Pattern)>);

impl<'i> Keyword<'i> for Forbidden {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        let text = instance.as_str().unwrap_or_default();
        let found = self.0.iter().filter(|_| instance.is_string()).find(|(_, pattern)| pattern.find(text) != Found::No);
        found.map_or(Ok(()), |(pattern, _)| Err(ValidationError::custom(pattern.clone())))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|text| self.0.iter().all(|(_, pattern)| pattern.find(text) == Found::No))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, expect: Found) {
        assert_eq!(Pattern::compile(pattern).unwrap().find(text), expect, "{pattern} in {text}");
    }

    #[test]
    fn patterns_are_those_of_json_schema() {
        check("b+", "abc", Found::Yes);
        check("^b", "abc", Found::No);
        check(r"^\d+$", "१२", Found::No);
        check(r"^\p{Letter}+$", "été", Found::Yes);
        check(r"^\cA$", "\u{1}", Found::Yes);
        check(r"^(?!.*secret).*$", "a secret", Found::No);
        check(r"^(?!.*secret).*$", "a word", Found::Yes);
        check(r"(?<=\$)\d", "$5", Found::Yes);
        check(r"^(a+)b\1$", "aabaa", Found::Yes);
    }

    #[test]
    fn what_would_run_for_ever_is_given_up() {
        check(r"^(a|a)*\1b$", &format!("{}!", "a".repeat(60)), Found::Unknown);
        check(r"(?=a)b", &"a".repeat(LONGEST + 1), Found::Unknown);
        check(r"^(a+)+$", &format!("{}!", "a".repeat(1 << 20)), Found::No);
        for wrong in ["(", "[", "a{999999}{999}", "(?P<", "*"] {
            assert!(Pattern::compile(wrong).is_err(), "{wrong}");
        }
    }
}
