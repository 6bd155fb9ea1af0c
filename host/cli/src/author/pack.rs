//! How does a plugin travel? As one file: what the runtime reads of its folder, each part with its length and all with a
//! digest.

use super::plugin_folder;
use crate::failure::Failure;
use crate::output;
use hermes_runtime::adapter::plugin;
use hermes_runtime::call::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// What a packed plugin begins with.
const MAGIC: &[u8] = b"hermes plugin 1\n";
/// Largest packed plugin, in bytes.
const LARGEST: u64 = 128 << 20;

/// What stands before the parts: their names and lengths in order, and the digest of all.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    parts: Vec<(String, u64)>,
    digest: String,
}

/// Packs a plugin; returns the file.
pub(crate) fn run(folder: &Path, to: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = plugin_folder(folder)?;
    let parts = parts(&folder)?;
    let manifest: toml::Table = String::from_utf8_lossy(&parts["adapter.toml"]).parse().unwrap_or_default();
    let text = |key: &str| manifest.get(key).and_then(toml::Value::as_str).unwrap_or("plugin").to_owned();
    let file = to.map_or_else(|| PathBuf::from(format!("{}-{}.hermes", text("name"), text("version"))), Path::to_owned);
    let body: Vec<u8> = parts.values().flatten().copied().collect();
    let lengths = parts.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect();
    let head = Head { parts: lengths, digest: Digest::of(&body).to_string() };
    let head = serde_json::to_string(&head).map_err(|error| Failure::internal(error.to_string()))?;
    let packed = [MAGIC, head.as_bytes(), b"\n", &body].concat();
    std::fs::write(&file, &packed)
        .map_err(|error| Failure::usage(format!("`{}` cannot be written: {error}", file.display())))?;
    output::line(&format!("packed {} ({} bytes, {})", file.display(), packed.len(), Digest::of(&packed)));
    Ok(file)
}

/// What the runtime reads of a plugin's folder, and its README.
pub(super) fn parts(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let (plugins, faults) = plugin::read_folder(folder);
    if !faults.is_empty() {
        return Err(Failure { faults, ..Failure::usage("the plugin is not whole") });
    }
    let plugin = plugins.into_iter().next().ok_or_else(|| Failure::usage("there is no plugin"))?;
    let read = |name: &str| std::fs::read(folder.join(name));
    let mut parts =
        BTreeMap::from([(plugin.adapter.component.to_string_lossy().into_owned(), plugin.component.to_vec())]);
    for tool in &plugin.tools {
        let name = format!("tools/{}", tool.file.file_name().unwrap_or_default().to_string_lossy());
        parts.insert(name, tool.text.clone().into_bytes());
    }
    let failed = |error: std::io::Error| Failure::usage(format!("the plugin cannot be read: {error}"));
    parts.insert("adapter.toml".into(), read("adapter.toml").map_err(failed)?);
    if let Ok(readme) = read("README.md") {
        parts.insert("README.md".into(), readme);
    }
    Ok(parts)
}

/// The parts of a packed plugin.
///
/// # Errors
/// It is none, was cut or changed, or has a part that would lie elsewhere.
pub(super) fn unpacked(file: &Path) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let wrong = |why: &str| Failure::usage(format!("`{}` is no packed plugin: {why}", file.display()));
    let packed = hermes_runtime::document::read_regular(file, LARGEST).map_err(|error| wrong(&error.to_string()))?;
    let rest = packed.strip_prefix(MAGIC).ok_or_else(|| wrong("it begins otherwise"))?;
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| wrong("it has no head"))?;
    let (head, body) = (&rest[..end], &rest[end + 1..]);
    let head: Head = serde_json::from_slice(head).map_err(|error| wrong(&error.to_string()))?;
    if Digest::of(body).to_string() != head.digest {
        return Err(wrong("its digest differs, so it was cut or changed"));
    }
    let mut parts = BTreeMap::new();
    let mut left = body;
    for (name, length) in head.parts {
        let inside = Path::new(&name).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || name.is_empty() {
            return Err(wrong("a part would lie outside of its folder"));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (part, rest) = left.split_at_checked(length).ok_or_else(|| wrong("a part is cut"))?;
        parts.insert(name, part.to_vec());
        left = rest;
    }
    match left.is_empty() {
        true => Ok(parts),
        false => Err(wrong("something follows its parts")),
    }
}
