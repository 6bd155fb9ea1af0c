//! Which mistakes are made with a tool's arguments, and how do calls look that went well? Kept beside the records, from
//! what they say; no value of an argument is kept, but for choices that the schema lists.

use super::reveal;
use crate::call::Judged;
use crate::error::Error;
use crate::journal::{self, Numbered, Projection};
use crate::registry::Tool;
use crate::registry::schema::shape::{ROOT, Shape};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Different mistakes, and different forms of calls, that are kept of one tool.
const KEPT: u32 = 200;
/// Mistakes and forms that are told.
const MISTAKES: u32 = 50;
const TEMPLATES: u32 = 5;
/// Longest form of a call, in bytes; longer ones are like no other.
const LONG: usize = 1000;
/// How deep a form shows objects and arrays.
const DEPTH: usize = 3;

/// A mistake that was made with a tool's arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// The tool.
    pub tool: String,
    /// Where, as a JSON Pointer with `*` for any item.
    pub path: String,
    /// Which rule was broken.
    pub rule: String,
    /// What the rule wants.
    pub expected: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How often.
    pub count: i64,
    /// When last, in milliseconds since 1970-01-01 UTC.
    pub last_ms: i64,
}

/// A form of arguments that went well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Template {
    /// The arguments: listed choices as they were, `<string>` and the like for other values.
    pub arguments: Value,
    /// How many calls had this form and went well.
    pub count: i64,
    /// When last, in milliseconds since 1970-01-01 UTC.
    pub last_ms: i64,
}

pub(crate) const PROJECTION: Projection = Projection {
    tables: "CREATE TABLE IF NOT EXISTS argument_mistakes (tool TEXT NOT NULL, path TEXT NOT NULL, rule TEXT NOT NULL,
               expected TEXT NOT NULL, hint TEXT, count INTEGER NOT NULL, last_ms INTEGER NOT NULL,
               PRIMARY KEY (tool, path, rule)) WITHOUT ROWID;
             CREATE TABLE IF NOT EXISTS argument_forms (tool TEXT NOT NULL, form TEXT NOT NULL, count INTEGER NOT NULL,
               last_ms INTEGER NOT NULL, PRIMARY KEY (tool, form)) WITHOUT ROWID;",
    apply,
};

fn apply(connection: &Connection, records: &[Numbered<'_>]) -> rusqlite::Result<()> {
    // The same form often comes again and again, so it is written once.
    let mut forms: BTreeMap<(&str, &str), (i64, i64)> = BTreeMap::new();
    for (_, record) in journal::outcomes(records) {
        let time_ms = i64::try_from(record.time_ms).unwrap_or(i64::MAX);
        match (&record.error, &record.facts.form) {
            (None, Some(form)) => {
                let (count, last_ms) = forms.entry((&*record.facts.tool, &**form)).or_default();
                (*count, *last_ms) = (*count + 1, time_ms);
            }
            (Some(error), _) => add_mistakes(connection, &record.facts.tool, error, time_ms)?,
            (None, None) => {}
        }
    }
    let mut add = connection.prepare_cached(
        "INSERT INTO argument_forms SELECT ?1, ?2, ?3, ?4
           WHERE (SELECT count(*) FROM argument_forms WHERE tool = ?1) < ?5
              OR EXISTS (SELECT 1 FROM argument_forms WHERE tool = ?1 AND form = ?2)
         ON CONFLICT DO UPDATE SET count = count + excluded.count, last_ms = excluded.last_ms",
    )?;
    for ((tool, form), (count, last_ms)) in forms {
        add.execute((tool, form, count, last_ms, KEPT))?;
    }
    Ok(())
}

fn add_mistakes(connection: &Connection, tool: &str, error: &Error, time_ms: i64) -> rusqlite::Result<()> {
    let mut add = connection.prepare_cached(
        "INSERT INTO argument_mistakes SELECT ?1, ?2, ?3, ?4, ?5, 1, ?6
           WHERE (SELECT count(*) FROM argument_mistakes WHERE tool = ?1) < ?7
              OR EXISTS (SELECT 1 FROM argument_mistakes WHERE tool = ?1 AND path = ?2 AND rule = ?3)
         ON CONFLICT DO UPDATE SET count = count + 1, last_ms = excluded.last_ms",
    )?;
    for problem in &error.problems {
        let path = any_item(&problem.path);
        add.execute((tool, path, &problem.rule, &problem.expected, &problem.hint, time_ms, KEPT))?;
    }
    Ok(())
}

fn any_item(path: &str) -> String {
    let part = |part: &str| match !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
        true => "*".to_owned(),
        false => part.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// The most frequent mistakes with one tool, or with all.
pub(crate) fn mistakes(connection: &Connection, tool: Option<&str>) -> rusqlite::Result<Vec<Mistake>> {
    let mut query = connection.prepare_cached(
        "SELECT tool, path, rule, expected, hint, count, last_ms FROM argument_mistakes
           WHERE ?1 IS NULL OR tool = ?1 ORDER BY count DESC, last_ms DESC, tool, path, rule LIMIT ?2",
    )?;
    let rows = query.query_map((tool, MISTAKES), |row| {
        Ok(Mistake {
            tool: row.get(0)?,
            path: row.get(1)?,
            rule: row.get(2)?,
            expected: row.get(3)?,
            hint: row.get(4)?,
            count: row.get(5)?,
            last_ms: row.get(6)?,
        })
    })?;
    rows.collect()
}

/// The most frequent forms of a tool's calls that went well.
pub(crate) fn templates(connection: &Connection, tool: &str) -> rusqlite::Result<Vec<Template>> {
    let mut query = connection.prepare_cached(
        "SELECT form, count, last_ms FROM argument_forms WHERE tool = ?1 ORDER BY count DESC, last_ms DESC, form LIMIT ?2",
    )?;
    let rows = query.query_map((tool, TEMPLATES), |row| {
        let form: String = row.get(0)?;
        let arguments = serde_json::from_str(&form).unwrap_or(Value::Null);
        Ok(Template { arguments, count: row.get(1)?, last_ms: row.get(2)? })
    })?;
    rows.collect()
}

/// The form of a call's arguments: which ones there are, of which kinds. Defaults are left out.
pub(crate) fn form(tool: &Tool, judged: &Judged) -> Option<std::sync::Arc<str>> {
    let shape = tool.input.shape();
    let members = judged.value.as_object()?;
    let is_default = |key: &str, value: &Value| {
        tool.input.fields.get(key).is_some_and(|field| field.default.as_ref() == Some(value))
    };
    let said = members.iter().filter(|(key, value)| !is_default(key, value));
    let form = object(said, ROOT, shape, DEPTH).to_string();
    (form.len() <= LONG).then(|| form.into())
}

fn object<'a>(
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    place: usize,
    shape: &Shape,
    depth: usize,
) -> Value {
    let mut form = Map::new();
    for (key, value) in members {
        // Free keys may be anything, secrets too.
        let is_declared = shape.place(place).members.contains_key(key);
        if !is_declared {
            form.insert("<key>".to_owned(), Value::String("<value>".to_owned()));
        } else if reveal::is_secret_name(key) {
            form.insert(key.clone(), Value::String("<secret>".to_owned()));
        } else {
            form.insert(key.clone(), like(value, shape.member(place, key), shape, depth));
        }
    }
    form.sort_keys();
    Value::Object(form)
}

fn like(value: &Value, id: usize, shape: &Shape, depth: usize) -> Value {
    let place = shape.place(id);
    let named = |name: &str| Value::String(name.to_owned());
    match value {
        _ if place.text.is_secret => named("<secret>"),
        Value::Null | Value::Bool(_) => value.clone(),
        _ if place.allowed.is_some() => value.clone(),
        Value::Number(number) if number.is_f64() => named("<number>"),
        Value::Number(_) => named("<integer>"),
        Value::String(_) if place.text.is_path => named("<path>"),
        Value::String(_) => named("<string>"),
        Value::Array(_) | Value::Object(_) if depth == 0 => named("<value>"),
        Value::Array(items) => {
            let mut forms: Vec<Value> = Vec::new();
            for (index, item) in items.iter().take(20).enumerate() {
                let form = like(item, shape.item(id, index), shape, depth - 1);
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
            Value::Array(forms)
        }
        Value::Object(members) => object(members.iter(), id, shape, depth - 1),
    }
}
