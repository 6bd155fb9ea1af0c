//! How do a call's arguments become what a backend wants, and its facts what the tool declares? Values with
//! placeholders, checked at load, filled in without any choice left. Pure.
//!
//! In a template of arguments a text that is `{name}` stands for that argument, with its type; where the argument is
//! not there, the key or item is left out. Within a longer text `{name}` is filled in too, if the argument is a number,
//! a boolean or one of listed values: free text next to other text could mean something else there. In a template of a
//! result a text that is `{/a/0/b}` stands for that part of the backend's facts, by JSON Pointer, and `{}` for all of
//! them. `{{` and `}}` stand for one brace.

use serde_json::{Map, Value};

/// What an argument may be filled into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Any place of its own.
    Whole,
    /// Also the middle of a text.
    Anywhere,
}

/// A checked template. Lifetime: as its tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Part);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Fixed(Value),
    Whole(String),
    Text(Vec<Piece>),
    List(Vec<Part>),
    Table(Vec<(String, Part)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Fixed(String),
    Filled(String),
}

impl Template {
    /// Reads a template of arguments. `known` says of each argument what it may be filled into.
    ///
    /// # Errors
    /// Each part that cannot be mapped: where it is, as a JSON Pointer, and why.
    pub fn of_arguments(
        written: &Map<String, Value>,
        known: impl Fn(&str) -> Option<Filling>,
    ) -> Result<Template, Vec<(String, String)>> {
        read(written, &|name, alone| match known(name) {
            None => Err(format!("`{{{name}}}` stands for an argument that the tool does not have")),
            Some(Filling::Whole) if !alone => Err(format!(
                "the argument `{name}` is free text, which must not stand within another text; give it a place of its own"
            )),
            Some(Filling::Whole | Filling::Anywhere) => Ok(()),
        })
    }

    /// Reads a template of a result. `known` are the facts that the tool declares, if it declares any.
    ///
    /// # Errors
    /// As for [`Template::of_arguments`].
    pub fn of_result(written: &Map<String, Value>, known: &[&str]) -> Result<Template, Vec<(String, String)>> {
        let undeclared = written.keys().filter(|key| !known.is_empty() && !known.contains(&key.as_str()));
        let mut problems: Vec<(String, String)> = undeclared
            .map(|key| (format!("/{}", escape(key)), format!("`{key}` is no fact that the tool declares")))
            .collect();
        let template = read(written, &|path, _| match path.is_empty() || path.starts_with('/') {
            true => Ok(()),
            false => Err(format!("`{{{path}}}` names no part of the facts: `{{/key/0}}` or `{{}}` would")),
        });
        match template {
            Ok(template) if problems.is_empty() => Ok(template),
            Ok(_) => Err(problems),
            Err(found) => {
                problems.extend(found);
                Err(problems)
            }
        }
    }

    /// What the backend gets for a call's arguments.
    pub fn fill_arguments(&self, args: &Value) -> Value {
        fill(&self.0, &|name| args.get(name)).unwrap_or_default()
    }

    /// What the caller gets for a backend's facts. A part that is not there leaves its key out.
    pub fn fill_facts(&self, facts: Map<String, Value>) -> Map<String, Value> {
        let facts = Value::Object(facts);
        match fill(&self.0, &|path| facts.pointer(path)) {
            Some(Value::Object(filled)) => filled,
            _ => Map::new(),
        }
    }
}

type Check<'a> = &'a dyn Fn(&str, bool) -> Result<(), String>;

fn read(written: &Map<String, Value>, check: Check<'_>) -> Result<Template, Vec<(String, String)>> {
    let mut problems = Vec::new();
    let part = table("", written, check, &mut problems);
    if problems.is_empty() { Ok(Template(part)) } else { Err(problems) }
}

fn table(at: &str, written: &Map<String, Value>, check: Check<'_>, problems: &mut Vec<(String, String)>) -> Part {
    let part =
        |(key, value): (&String, &Value)| (key.clone(), part(&format!("{at}/{}", escape(key)), value, check, problems));
    Part::Table(written.iter().map(part).collect())
}

fn part(at: &str, written: &Value, check: Check<'_>, problems: &mut Vec<(String, String)>) -> Part {
    match written {
        Value::String(text) => match pieces(text, check) {
            Ok(part) => part,
            Err(why) => {
                problems.push((at.to_owned(), why));
                Part::Fixed(Value::Null)
            }
        },
        Value::Array(items) => {
            let item = |(index, item)| part(&format!("{at}/{index}"), item, check, problems);
            Part::List(items.iter().enumerate().map(item).collect())
        }
        Value::Object(members) => table(at, members, check, problems),
        fixed => Part::Fixed(fixed.clone()),
    }
}

fn pieces(text: &str, check: Check<'_>) -> Result<Part, String> {
    let mut found = Vec::new();
    let mut fixed = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        fixed.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            fixed.push_str(brace);
            rest = after;
            continue;
        }
        let (name, after) = match rest.split_once('}').filter(|_| brace == "{") {
            Some(parts) => parts,
            None => return Err(format!("a brace in `{text}` has no partner; write `{brace}{brace}` for one brace")),
        };
        if !fixed.is_empty() {
            found.push(Piece::Fixed(std::mem::take(&mut fixed)));
        }
        found.push(Piece::Filled(name.to_owned()));
        rest = after;
    }
    fixed.push_str(rest);
    if !fixed.is_empty() {
        found.push(Piece::Fixed(fixed));
    }
    let alone = found.len() == 1;
    for piece in &found {
        if let Piece::Filled(name) = piece {
            check(name, alone)?;
        }
    }
    Ok(match found.pop() {
        None => Part::Fixed(Value::String(String::new())),
        Some(Piece::Fixed(text)) if found.is_empty() => Part::Fixed(Value::String(text)),
        Some(Piece::Filled(name)) if found.is_empty() => Part::Whole(name),
        Some(last) => {
            found.push(last);
            Part::Text(found)
        }
    })
}

/// The value of a part; nothing if it stands for something that is not there.
fn fill<'a>(part: &Part, get: &impl Fn(&str) -> Option<&'a Value>) -> Option<Value> {
    match part {
        Part::Fixed(value) => Some(value.clone()),
        Part::Whole(name) => get(name).cloned(),
        Part::Text(pieces) => {
            let text = |piece: &Piece| match piece {
                Piece::Fixed(text) => Some(text.clone()),
                Piece::Filled(name) => get(name).map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                }),
            };
            pieces.iter().map(text).collect::<Option<String>>().map(Value::String)
        }
        Part::List(items) => Some(Value::Array(items.iter().filter_map(|item| fill(item, get)).collect())),
        Part::Table(members) => {
            let member = |(key, part): &(String, Part)| Some((key.clone(), fill(part, get)?));
            Some(Value::Object(members.iter().filter_map(member).collect()))
        }
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn known(name: &str) -> Option<Filling> {
        match name {
            "query" => Some(Filling::Whole),
            "database" | "limit" => Some(Filling::Anywhere),
            _ => None,
        }
    }

    fn arguments(written: Value) -> Result<Template, Vec<(String, String)>> {
        Template::of_arguments(written.as_object().unwrap(), known)
    }

    #[test]
    fn arguments_keep_their_types_and_what_is_not_there_is_left_out() {
        let written = json!({ "sql": "{query}", "uri": "db://{database}/{{x}}", "options": { "limit": "{limit}", "fixed": 3 }, "list": ["{query}", "{limit}"] });
        let template = arguments(written).unwrap();
        let filled = template.fill_arguments(&json!({ "query": "SELECT {database}", "database": "content" }));
        assert_eq!(
            filled,
            json!({ "sql": "SELECT {database}", "uri": "db://content/{x}", "options": { "fixed": 3 }, "list": ["SELECT {database}"] })
        );
        assert_eq!(template.fill_arguments(&json!({ "limit": 5 }))["options"]["limit"], 5);
    }

    #[test]
    fn what_cannot_be_mapped_is_refused_by_its_place() {
        let found = arguments(json!({ "a": "{nobody}", "b": ["x {query}"], "c": { "d": "{" }, "e": "}" })).unwrap_err();
        let places: Vec<&str> = found.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(places, ["/a", "/b/0", "/c/d", "/e"], "{found:?}");
    }

    #[test]
    fn a_result_is_picked_from_the_facts() {
        let written = json!({ "rows": "{/structured/rows}", "row_count": "{/structured/count}", "all": "{}" });
        let template = Template::of_result(written.as_object().unwrap(), &[]).unwrap();
        let facts = json!({ "structured": { "rows": [[1]] } });
        let filled = template.fill_facts(facts.as_object().unwrap().clone());
        assert_eq!(Value::Object(filled), json!({ "rows": [[1]], "all": facts }));
        let found = Template::of_result(written.as_object().unwrap(), &["rows", "row_count"]).unwrap_err();
        assert_eq!(found[0].0, "/all");
        assert!(Template::of_result(json!({ "a": "{x}" }).as_object().unwrap(), &[]).is_err());
    }
}
