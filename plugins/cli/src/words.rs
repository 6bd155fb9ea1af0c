//! Which words does a program get, when a manifest says so by a template? No shell reads it. An argument of a call
//! fills its slot and nothing else: it never becomes two words, and an option only where the template says so.
//!
//! The template is one text, split at blanks; single quotes hold a word with blanks together. In a word:
//!
//! | slot | becomes |
//! | --- | --- |
//! | `{name}` | the value; for a list a word for each item; nothing without a value. Beginning with `-` it is refused, unless a `--` stands before |
//! | `{-name}` | the same, and the value may be an option |
//! | `--key={name}` | the word with the value at its end; for a list one for each item |
//! | `{name?--flag}` | `--flag` if the value is true |
//!
//! A word of an option whose value is a word of its own is written with both in brackets, `[--key {name}]`; without a
//! value both are left out.

use std::collections::BTreeMap;

use serde_json::Value;

/// Arguments by name.
pub(crate) type Values = BTreeMap<String, Value>;

/// Why no words come of it: a mistake in the manifest, or a value that may not stand there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Template(String),
    Value(String),
}

/// The words, the program's name first.
pub(crate) fn fill(template: &str, values: &Values) -> Result<Vec<String>, Refused> {
    let mut words = Vec::new();
    let mut group: Option<Vec<Vec<String>>> = None;
    let mut no_options = false;
    for word in split(template)? {
        let (opens, word) = match word.strip_prefix('[') {
            Some(rest) => (true, rest),
            None => (false, word.as_str()),
        };
        let (closes, word) = match word.strip_suffix(']') {
            Some(rest) if opens || group.is_some() => (true, rest),
            _ => (false, word),
        };
        if opens {
            group = Some(Vec::new());
        }
        let filled = fill_word(word, values, no_options)?;
        no_options |= word == "--";
        match &mut group {
            Some(parts) => parts.push(filled),
            None => words.extend(filled),
        }
        if closes && let Some(parts) = group.take() {
            words.extend(together(parts));
        }
    }
    match group {
        Some(_) => Err(Refused::Template("a bracket is not closed".into())),
        None => Ok(words),
    }
}

/// The words of a bracket: all of them, once for each item of a list, or none.
fn together(parts: Vec<Vec<String>>) -> Vec<String> {
    let count = parts.iter().map(Vec::len).max().unwrap_or(0);
    if parts.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let at = |part: &Vec<String>, index: usize| part.get(index).or(part.last()).cloned().unwrap_or_default();
    (0..count).flat_map(|index| parts.iter().map(move |part| at(part, index))).collect()
}

fn split(template: &str) -> Result<Vec<String>, Refused> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in template.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if quoted { Err(Refused::Template("a quote is not closed".into())) } else { Ok(words) }
}

fn fill_word(word: &str, values: &Values, no_options: bool) -> Result<Vec<String>, Refused> {
    let Some((before, rest)) = word.split_once('{') else { return Ok(vec![word.to_owned()]) };
    let Some(slot) = rest.strip_suffix('}').filter(|slot| !slot.contains(['{', '}'])) else {
        return Err(Refused::Template(format!("`{word}`: one slot, at the end of its word")));
    };
    if let Some((name, flag)) = slot.split_once('?') {
        return match values.get(name) {
            Some(Value::Bool(true)) => Ok(vec![format!("{before}{flag}")]),
            None | Some(Value::Bool(false) | Value::Null) => Ok(Vec::new()),
            Some(_) => Err(Refused::Template(format!("`{word}` wants a value that is true or false"))),
        };
    }
    let (name, may_be_option) = match slot.strip_prefix('-') {
        Some(name) => (name, true),
        None => (slot, no_options || !before.is_empty()),
    };
    let texts = texts(values.get(name).unwrap_or(&Value::Null), word)?;
    if let Some(option) = texts.iter().find(|text| text.starts_with('-') && !may_be_option) {
        let shown: String = option.chars().take(40).collect();
        return Err(Refused::Value(format!("`{name}` is {shown:?}, which would be an option of the program")));
    }
    Ok(texts.into_iter().map(|text| format!("{before}{text}")).collect())
}

fn texts(value: &Value, word: &str) -> Result<Vec<String>, Refused> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Bool(_) | Value::Number(_) => Ok(vec![value.to_string()]),
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Array(items) => Ok(items.iter().map(|item| texts(item, word)).collect::<Result<Vec<_>, _>>()?.concat()),
        Value::Object(_) => Err(Refused::Template(format!("`{word}` wants a text, a number or a list of them"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(template: &str, values: Value, expect: &[&str]) {
        let values: Values = serde_json::from_value(values).unwrap();
        let expect: Vec<String> = expect.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(fill(template, &values), Ok(expect), "{template}");
    }

    fn refused(template: &str, values: Value) -> Refused {
        fill(template, &serde_json::from_value(values).unwrap()).unwrap_err()
    }

    #[test]
    fn an_argument_stays_one_word() {
        check(
            "rg -n -- {pattern} {path}",
            json!({"pattern": "a b; $(x) 'y'", "path": "/workspace"}),
            &["rg", "-n", "--", "a b; $(x) 'y'", "/workspace"],
        );
        check("p 'two words' {a}", json!({"a": ""}), &["p", "two words", ""]);
        check("p --max={n} {files}", json!({"n": 3, "files": ["a", "b"]}), &["p", "--max=3", "a", "b"]);
        check("p --glob={globs}", json!({"globs": ["*.rs", "-x"]}), &["p", "--glob=*.rs", "--glob=-x"]);
        check("p {deep?--deep} {flat?--flat}", json!({"deep": true, "flat": false}), &["p", "--deep"]);
        check(
            "p [--user {user}] [-e {patterns}] {missing}",
            json!({"patterns": ["a", "b"]}),
            &["p", "-e", "a", "-e", "b"],
        );
    }

    #[test]
    fn an_argument_is_an_option_only_where_the_template_says_so() {
        assert!(matches!(refused("rg {pattern}", json!({"pattern": "--pre=sh"})), Refused::Value(_)));
        assert!(matches!(
            refused("rg [-e {patterns}]", json!({"patterns": ["a", "-f/etc/passwd"]})),
            Refused::Value(_)
        ));
        check("rg -- {pattern}", json!({"pattern": "--pre=sh"}), &["rg", "--", "--pre=sh"]);
        check("p {-options}", json!({"options": ["-v"]}), &["p", "-v"]);
        // A value that is `--` ends nothing for the slots after it.
        assert!(matches!(refused("p {a} {b}", json!({"a": "--", "b": "-x"})), Refused::Value(_)));
    }

    #[test]
    fn mistakes_of_a_template_are_named() {
        for template in ["p {a", "p {a}b", "p {a}{b}", "p [-e {a}", "p 'a", "p {a?--b}"] {
            assert!(matches!(refused(template, json!({"a": "x"})), Refused::Template(_)), "{template}");
        }
        assert!(matches!(refused("p {a}", json!({"a": {}})), Refused::Template(_)));
    }
}
