//! What does a manifest file say, and where in it? TOML or YAML in, the manifest as written or all faults with their
//! places out. Must not know what a manifest means.

use super::manifest::ManifestFile;
use super::places::Places;
use super::published;
use crate::document::{self, Fault, Faults, excerpt, nearest};
use serde_json::Value;
use std::path::Path;

/// The endings of manifest files.
pub const ENDINGS: &[&str] = &["toml", "yaml", "yml"];

/// Why a file is no manifest.
#[derive(Debug)]
pub(super) struct Unread {
    /// What is wrong, each with its place.
    pub(super) faults: Faults,
    /// What the file says but for that, if it says a manifest then: more may be wrong with it.
    pub(super) rest: Option<Box<ManifestFile>>,
}

/// Reads a manifest file.
///
/// # Errors
/// What is no TOML or YAML, every unknown key, and values of another type, each with its place.
pub(super) fn read(file: &Path, text: &str) -> Result<ManifestFile, Unread> {
    // Not written by a person: what a capability found. No YAML and no TOML begins so.
    if text.starts_with('{') {
        let unread = |error: serde_json::Error| Fault::whole(file, error.to_string()).into();
        return serde_json::from_str(text).map_err(|error| Unread { faults: unread(error), rest: None });
    }
    let read = match is_yaml(file) {
        true => serde_saphyr::from_str(text).map_err(|error| yaml_fault(file, &error)),
        false => document::from_toml(file, text),
    };
    read.map_err(|first| all_faults(file, text, first))
}

/// Whether a file is YAML by its name.
pub fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Faults at places of the file, by JSON Pointer.
pub(super) fn faults_at(file: &Path, text: &str, found: Vec<(String, String)>) -> Vec<Fault> {
    let places = places(file, text);
    found.into_iter().map(|(pointer, message)| places.fault(file, &pointer, message)).collect()
}

fn places(file: &Path, text: &str) -> Places {
    match text.starts_with('{') {
        true => Places::default(),
        false if is_yaml(file) => Places::of_yaml(text),
        false => Places::of_toml(text),
    }
}

/// What else is wrong with a file of which the parser told the first fault only.
fn all_faults(file: &Path, text: &str, first: Fault) -> Unread {
    let is_key = first.message.starts_with("unknown field");
    let document: Option<Value> = match is_yaml(file) {
        true => serde_saphyr::from_str(text).ok(),
        false => text.parse::<toml::Table>().ok().and_then(|table| serde_json::to_value(table).ok()),
    };
    let Some(mut document) = document else { return Unread { faults: first.into(), rest: None } };
    let places = places(file, text);
    let unknown = published::take_unknown(&mut document);
    let mut faults: Vec<Fault> = unknown.iter().map(|unknown| unknown_key(file, &places, unknown)).collect();
    if !is_key || faults.is_empty() {
        faults.push(first);
        return Unread { faults: Faults(faults), rest: None };
    }
    match serde_json::from_value(document) {
        Ok(rest) => Unread { faults: Faults(faults), rest: Some(Box::new(rest)) },
        Err(error) => {
            // Read without its types, YAML can have other ones than its author means.
            let says_more = !is_yaml(file) || error.to_string().starts_with("missing field");
            faults.extend(says_more.then(|| places.fault(file, "/tool", error.to_string())));
            Unread { faults: Faults(faults), rest: None }
        }
    }
}

fn unknown_key(file: &Path, places: &Places, unknown: &published::Unknown) -> Fault {
    let known = unknown.known.iter().map(String::as_str);
    let hint = match nearest(&unknown.key, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("here stand {}", unknown.known.join(", ")),
    };
    let message = format!("unknown field `{}`", excerpt(&unknown.key, 80));
    places.fault(file, &unknown.pointer, message).hint(hint)
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
