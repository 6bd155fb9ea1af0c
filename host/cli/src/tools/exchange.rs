//! How do tools come from and go to models elsewhere? Lists of functions out, and manifests from them in.

use super::arguments::{ExportFormat, ImportArguments};
use crate::args::Format;
use crate::failure::Failure;
use crate::output;
use hermes_runtime::document::{self, Fault, printable};
use hermes_runtime::registry::export::{self, Form};
use hermes_runtime::registry::import::{self, Missing};
use hermes_runtime::registry::tool::{self, Surroundings};
use hermes_runtime::registry::{Tool, is_visible};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The version that an imported tool begins with.
const FIRST: &str = "0.1.0";

/// `tools export`: the listed tools of a role.
pub(super) fn export(tools: &[Arc<Tool>], role: &str, format: ExportFormat, shape: Format) {
    let form = match format {
        ExportFormat::Openai => Form::OpenAi,
        ExportFormat::Anthropic => Form::Anthropic,
        ExportFormat::Mcp => Form::Mcp,
    };
    let listed = tools.iter().filter(|tool| !tool.manifest.unlisted && is_visible(tool, role));
    let mut exported = Vec::new();
    for tool in listed {
        match export::tool(tool, form) {
            Ok(described) => exported.push(described),
            Err(why) => output::warn(&format!("left out: {why}")),
        }
    }
    match shape {
        Format::Ndjson => exported.iter().for_each(|tool| output::document(tool, shape)),
        Format::Json | Format::Text => output::document(&exported, Format::Json),
    }
}

/// `tools import`: all manifests, or all that is wrong and none of them.
pub(super) fn import(command: &ImportArguments, format: Format) -> Result<u8, Failure> {
    let file = &command.file;
    let text = document::read_text(file)
        .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", file.display())))?;
    let list: Value = serde_json::from_str(&text)
        .map_err(|error| Failure { faults: vec![misread(file, &error)], ..Failure::usage("the list is no JSON") })?;
    let missing = Missing { adapter: command.adapter.clone(), roles: command.roles.clone(), version: FIRST.to_owned() };
    let imported = import::functions(&list, &missing);
    let fault =
        |(at, why): (String, String)| Fault::whole(file, format!("{}: {why}", if at.is_empty() { "/" } else { &at }));
    let mut faults: Vec<Fault> = imported.problems.into_iter().map(fault).collect();
    let mut manifests: Vec<(String, String)> = Vec::new();
    for tool in &imported.tools {
        let name = &tool.name;
        let about = |why: String| Fault::whole(file, format!("the function `{}`: {why}", document::excerpt(name, 80)));
        let written = import::as_toml(tool).map_err(|why| vec![about(why)]).and_then(|text| {
            let checked = tool::parse(Path::new("imported.toml"), &text, &Surroundings::default());
            checked.map(|_| text).map_err(|found| found.0.into_iter().map(|fault| about(fault.message)).collect())
        });
        match written {
            Ok(_) if manifests.iter().any(|(known, _)| known == name) => {
                faults.push(about("it stands there twice".into()))
            }
            Ok(text) => manifests.push((name.clone(), text)),
            Err(found) => faults.extend(found),
        }
    }
    if !faults.is_empty() {
        let failure = Failure::usage("the list cannot be imported, so nothing was written");
        return Err(Failure { exit: 8, faults, ..failure });
    }
    imported.repaired.iter().for_each(|repair| output::warn(repair));
    if command.roles.is_empty() {
        output::warn("nobody may call them: name roles with `--allow ROLE`, or in the manifests");
    }
    match &command.to {
        Some(folder) => write(folder, &manifests, format),
        None => {
            match format {
                Format::Text => {
                    output::line(&manifests.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n"))
                }
                Format::Json => output::document(&documents(&manifests), format),
                Format::Ndjson => documents(&manifests).iter().for_each(|manifest| output::document(manifest, format)),
            }
            Ok(0)
        }
    }
}

fn documents(manifests: &[(String, String)]) -> Vec<Value> {
    manifests.iter().map(|(name, text)| json!({ "name": name, "manifest": text })).collect()
}

fn misread(file: &Path, error: &serde_json::Error) -> Fault {
    Fault { line: error.line(), column: error.column(), ..Fault::whole(file, error.to_string()) }
}

/// Writes all files, or none if one of them is there already.
fn write(folder: &Path, manifests: &[(String, String)], format: Format) -> Result<u8, Failure> {
    let failed =
        |file: &Path, error: std::io::Error| Failure::usage(format!("`{}` cannot be written: {error}", file.display()));
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let files: Vec<_> = manifests.iter().map(|(name, text)| (folder.join(format!("{name}.toml")), text)).collect();
    if let Some((file, _)) = files.iter().find(|(file, _)| file.exists()) {
        return Err(Failure::usage(format!("`{}` is there already, so nothing was written", file.display())));
    }
    for (file, text) in &files {
        let mut out =
            std::fs::OpenOptions::new().write(true).create_new(true).open(file).map_err(|error| failed(file, error))?;
        out.write_all(text.as_bytes()).map_err(|error| failed(file, error))?;
    }
    match format {
        Format::Text => files.iter().for_each(|(file, _)| output::line(&printable(&file.display().to_string()))),
        Format::Json => output::document(&files.iter().map(|(file, _)| file).collect::<Vec<_>>(), format),
        Format::Ndjson => files.iter().for_each(|(file, _)| output::document(file, format)),
    }
    Ok(0)
}
