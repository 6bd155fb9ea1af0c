//! What does a manifest file say, and where in it? TOML or YAML in, the manifest as written or faults with their places
//! out. Must not know what a manifest means.

use super::manifest::ManifestFile;
use crate::document::{self, Fault, Faults};
use std::path::Path;

/// The endings of manifest files.
pub const ENDINGS: &[&str] = &["toml", "yaml", "yml"];

/// Reads a manifest file.
///
/// # Errors
/// What is no TOML or YAML, unknown keys, and values of another type, each with its place.
pub fn read(file: &Path, text: &str) -> Result<ManifestFile, Faults> {
    // Not written by a person: what a capability found. No YAML and no TOML begins so.
    if text.starts_with('{') {
        return serde_json::from_str(text).map_err(|error| Fault::whole(file, error.to_string()).into());
    }
    match is_yaml(file) {
        true => serde_saphyr::from_str(text).map_err(|error| yaml_fault(file, &error).into()),
        false => document::from_toml(file, text).map_err(Faults::from),
    }
}

/// Whether a file is YAML by its name.
pub fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// A fault at a place of the file, by JSON Pointer.
pub fn fault_at(file: &Path, text: &str, pointer: &str, message: String) -> Fault {
    let key = pointer.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default();
    Fault::at_key(file, text, key, message)
}

fn yaml_fault(file: &Path, error: &serde_saphyr::Error) -> Fault {
    let message = error.without_snippet().to_string();
    let mut fault = Fault::whole(file, message);
    if let Some(location) = error.location() {
        fault.line = location.line() as usize;
        fault.column = location.column() as usize;
    }
    fault
}
