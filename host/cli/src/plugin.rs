//! What is a plugin made of, and what would it get? Looks at the component without compiling or running it.

use crate::args::{Arguments, Format, PluginCommand};
use crate::failure::Failure;
use crate::terminal::printable_lines;
use crate::{BUILT_IN, output};
use hermes_runtime::adapter::plugin::{self, Plugin};
use hermes_runtime::sandbox::install::{Inspection, inspect};
use std::collections::BTreeSet;
use std::path::Path;

/// Largest file that is read as a component.
const LARGEST: u64 = 64 << 20;

pub(crate) fn run(arguments: &Arguments, command: &PluginCommand) -> Result<u8, Failure> {
    match command {
        PluginCommand::Inspect { plugin } => inspect_one(plugin, arguments.output.format()),
        PluginCommand::Author(command) => crate::author::run(arguments, command),
    }
}

fn inspect_one(named: &Path, format: Format) -> Result<u8, Failure> {
    let (component, declared) = find(named)?;
    let nothing = BTreeSet::new();
    let inspection = inspect(&component, declared.as_ref().unwrap_or(&nothing))
        .map_err(|error| Failure::usage(format!("`{}`: {error}", named.display())))?;
    match format {
        Format::Json | Format::Ndjson => output::document(&inspection, format),
        Format::Text => show(&inspection, declared.as_ref()),
    }
    // A component that cannot be used is the answer to the question, and an outcome of its own for scripts.
    Ok(if inspection.refused.is_some() { 4 } else { 0 })
}

/// A component's bytes and the capabilities that its `adapter.toml` asks for, if it has one.
fn find(named: &Path) -> Result<(Vec<u8>, Option<BTreeSet<String>>), Failure> {
    let declared = |plugin: Plugin| {
        (plugin.component.into_owned(), Some(plugin.adapter.capabilities.into_iter().collect::<BTreeSet<String>>()))
    };
    if let Some(built_in) = BUILT_IN.iter().find(|built_in| Path::new(built_in.name) == named && !named.exists()) {
        return Ok(declared(plugin::read_embedded(built_in)?));
    }
    if named.is_dir() {
        let (mut plugins, mut faults) = plugin::read_folder(named);
        return match (plugins.pop(), plugins.is_empty(), faults.is_empty()) {
            (Some(plugin), true, true) => Ok(declared(plugin)),
            (Some(_), false, _) => {
                Err(Failure::usage(format!("`{}` holds several plugins; name the folder of one", named.display())))
            }
            _ => Err(Failure { faults: std::mem::take(&mut faults), ..Failure::usage("the plugin cannot be read") }),
        };
    }
    let bytes = hermes_runtime::document::read_regular(named, LARGEST);
    let failed = |error: std::io::Error| Failure::unknown(format!("`{}` cannot be read: {error}", named.display()));
    Ok((bytes.map_err(failed)?, None))
}

fn show(inspection: &Inspection, declared: Option<&BTreeSet<String>>) {
    let contents = &inspection.contents;
    let made_by = contents.producers.iter().map(|(field, values)| format!("{field}: {}", list(values)));
    let made_by = made_by.collect::<Vec<_>>().join("; ");
    let declared = match declared {
        Some(declared) => format!("   (adapter.toml asks for: {})", list(declared)),
        None => "   (no adapter.toml: nothing is granted)".to_owned(),
    };
    let rows = [
        ("component", inspection.digest.to_string()),
        (
            "size",
            format!(
                "{} bytes, {} parts, {} types, {} instances, {} KiB of memory at the start",
                contents.bytes,
                contents.parts,
                contents.types,
                contents.instances,
                contents.memory_bytes >> 10
            ),
        ),
        ("made by", if made_by.is_empty() { "nobody says".to_owned() } else { made_by }),
        ("exports", list(&contents.exports)),
        ("asked", format!("{}{declared}", list(&inspection.asked))),
        ("empty", list(&inspection.empty)),
        ("granted", list(&inspection.granted)),
    ];
    for (label, value) in rows {
        output::line(&printable_lines(&format!("{label:<10} {value}")));
    }
    let functions = inspection.functions.iter().map(|path| ("function", path.clone()));
    let left_out = inspection.left_out.iter().map(|(path, why)| ("no tool", format!("{path}: {why}")));
    for (label, value) in functions.chain(left_out) {
        output::line(&printable_lines(&format!("{label:<10} {value}")));
    }
    if !inspection.functions.is_empty() {
        output::line("           (functions become tools by `[functions]` in adapter.toml)");
    }
    if let Some(why) = &inspection.refused {
        output::line(&printable_lines(&format!("{:<10} {why}", "refused")));
    }
}

fn list(names: &BTreeSet<String>) -> String {
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.iter().cloned().collect::<Vec<_>>().join(", "),
    }
}
