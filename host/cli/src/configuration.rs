//! Which settings are in force, and where does each come from?

use crate::args::{Arguments, ConfigCommand, Format};
use crate::failure::Failure;
use crate::{output, setup};
use hermes_runtime::config::{Loaded, Origin};
use serde_json::{Map, Value, json};

pub(crate) fn run(arguments: &Arguments, command: &ConfigCommand) -> Result<u8, Failure> {
    let ConfigCommand::Show { origin } = command;
    let mut setup = setup::load(arguments)?;
    setup.loaded.config = setup.loaded.config.with_own_places_protected();
    let settings = flatten(&setup.loaded);
    let format = arguments.output.format();
    if format != Format::Text {
        let origins =
            settings.iter().map(|(key, value, origin)| json!({ "key": key, "value": value, "origin": said(origin) }));
        let values: Map<String, Value> = settings.iter().map(|(key, value, _)| (key.clone(), value.clone())).collect();
        let document = if *origin { origins.collect() } else { Value::Object(values) };
        output::document(&document, format);
        return Ok(0);
    }
    for (key, value, from) in &settings {
        let from = if *origin { format!("  # {}", said(from)) } else { String::new() };
        output::line(&crate::terminal::printable_lines(&format!("{key} = {value}{from}")));
    }
    Ok(0)
}

/// Every setting by its dotted key, with what it is and where it comes from.
fn flatten(loaded: &Loaded) -> Vec<(String, Value, Origin)> {
    let tree = serde_json::to_value(&loaded.config).unwrap_or_default();
    let mut rows = Vec::new();
    walk("", &tree, &mut rows);
    let origin = |key: &str| {
        let set = loaded.origins.get(key).or_else(|| loaded.origins.get(key.split('.').next().unwrap_or_default()));
        set.cloned().unwrap_or(Origin::Default)
    };
    rows.into_iter()
        .map(|(key, value)| {
            let origin = origin(&key);
            (key, value, origin)
        })
        .collect()
}

fn walk(prefix: &str, value: &Value, rows: &mut Vec<(String, Value)>) {
    match value.as_object().filter(|members| !members.is_empty()) {
        Some(members) => {
            for (key, member) in members {
                let dotted = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                walk(&dotted, member, rows);
            }
        }
        None => rows.push((prefix.to_owned(), value.clone())),
    }
}

pub(crate) fn said(origin: &Origin) -> String {
    match origin {
        Origin::Flag => "command line".into(),
        Origin::Environment => "environment".into(),
        Origin::Project(file) => format!("project {}", file.display()),
        Origin::User(file) => format!("user {}", file.display()),
        Origin::System(file) => format!("system {}", file.display()),
        Origin::Default => "default".into(),
    }
}
