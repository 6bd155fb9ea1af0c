//! What does a tool answer to a call? Cases in a file, for authors who do not want to write Rust for it.
//!
//! ```toml
//! description = "A name is greeted"
//! files = { "a.txt" = "hello" }        # in the workspace
//! settings = ""                        # as in a configuration file: hosts, secrets
//!
//! [[calls]]
//! tool = "greet"
//! args = { name = "Ada" }
//! expect = { status = "ok", data = { greeting = "Hello, Ada!" } }   # a part of the envelope
//! ```

use crate::Setting;
use crate::plugin::Plugin;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    description: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    settings: Option<String>,
    calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    args: toml::Table,
    expect: toml::Table,
}

/// Runs the cases of one file; the texts say what differs.
///
/// # Errors
/// The file is no list of cases, or the plugin cannot be loaded.
pub fn run(plugin: &Plugin, file: &Path, cache: Option<&Path>) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("`{}`: {error}", file.display()))?;
    let case: Case = toml::from_str(&text).map_err(|error| format!("`{}`: {error}", file.display()))?;
    let mut setting = Setting::new(plugin.clone())?;
    for (name, content) in &case.files {
        setting = setting.file(name, content);
    }
    if let Some(settings) = &case.settings {
        setting = setting.settings(settings);
    }
    if let Some(cache) = cache {
        setting = setting.cache(cache);
    }
    let bench = setting.start()?;
    let mut differences = Vec::new();
    for (index, call) in case.calls.iter().enumerate() {
        let value = |table: &toml::Table| serde_json::to_value(table).unwrap_or_default();
        let called = bench.call(&call.tool, value(&call.args));
        let answer = serde_json::to_value(&called.envelope).unwrap_or_default();
        let mut found = Vec::new();
        compare(&value(&call.expect), &answer, "", &mut found);
        if !found.is_empty() {
            // What a component says before it breaks off names the file and the line.
            let log: String = called.log().iter().map(|line| format!("\n    log: {line}")).collect();
            let insides = called.record.and_then(|record| record.insides).map(|text| format!("\n{text}"));
            let insides = log + &insides.unwrap_or_default();
            let found = found.join("\n    ");
            differences.push(format!(
                "{} (call {} of `{}`)\n    {found}{insides}",
                case.description,
                index + 1,
                call.tool
            ));
        }
    }
    Ok(differences)
}

/// What is expected is a part of what is there.
fn compare(expected: &Value, actual: &Value, path: &str, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(members), Value::Object(there)) => {
            for (key, member) in members {
                compare(member, there.get(key).unwrap_or(&Value::Null), &format!("{path}/{key}"), found);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (expected, actual) if expected == actual => {}
        (expected, actual) => {
            let shown: String = actual.to_string().chars().take(300).collect();
            found.push(format!("{path}: expected {expected}, found {shown}"));
        }
    }
}
