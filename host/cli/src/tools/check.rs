//! What is wrong with a folder of manifests? One report, for people with the lines around each fault, for programs as
//! one document.

use crate::args::{Arguments, Format};
use crate::failure::Failure;
use crate::{BUILT_IN, output, setup};
use hermes_runtime::checking;
use serde_json::json;
use std::path::Path;

/// What the process exits with when something is wrong.
const WRONG: u8 = 8;

pub(crate) fn run(arguments: &Arguments, dir: &Path) -> Result<u8, Failure> {
    if !dir.is_dir() {
        return Err(Failure::usage(format!("`{}` is no folder", dir.display())));
    }
    let config = setup::load(arguments)?.loaded.config;
    let checked = checking::check(dir, &config, BUILT_IN);
    let (files, tools, faults) = (checked.files, checked.tools.len(), checked.faults.len());
    match arguments.output.format() {
        Format::Text => {
            output::faults(&checked.faults);
            let words = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
            let found = format!("{}, {}", words(files, "manifest"), words(tools, "good tool"));
            output::line(&match faults {
                0 => format!("{found}: nothing is wrong"),
                _ => format!("{found}, {}", words(faults, "fault")),
            });
        }
        format @ (Format::Json | Format::Ndjson) => output::document(
            &json!({ "folder": dir, "manifests": files, "tools": checked.tools, "faults": checked.faults }),
            format,
        ),
    }
    Ok(if faults == 0 { 0 } else { WRONG })
}
