//! How does what a compiler made become the plugin's component? A core module gets the types of the contract; where the
//! component belongs is what `adapter.toml` says.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Makes a component of a core module that a compiler for WASI made.
pub(super) fn of_module(module: &[u8], wit: &Path, world: &str) -> Result<Vec<u8>, Failure> {
    fn failed(error: impl std::fmt::Display) -> Failure {
        Failure::usage(format!("no component can be made of it: {error:#}"))
    }
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit).map_err(failed)?;
    let world = resolve.select_world(&[package], Some(world)).map_err(failed)?;
    let mut module = module.to_vec();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(failed)?;
    // C libraries speak the first preview of WASI; this part translates it, as far as it is used.
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    let name = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;
    let encoder = ComponentEncoder::default().validate(true).module(&module).map_err(failed)?;
    encoder.adapter(name, adapter).map_err(failed)?.encode().map_err(failed)
}

/// A component that says by what it was made, which by itself it does not: the runtime goes by that for the limits of calls
/// whose manifest names none.
pub(super) fn made_by(mut component: Vec<u8>, tool: &str) -> Vec<u8> {
    /// What a section that no engine reads begins with.
    const CUSTOM: u8 = 0;
    let mut section = Vec::new();
    name(&mut section, "producers");
    // One field with one value: its name and its version.
    section.push(1);
    name(&mut section, "processed-by");
    section.push(1);
    let (tool, version) = tool.trim().split_once(' ').unwrap_or((tool, ""));
    name(&mut section, tool);
    name(&mut section, version);
    component.push(CUSTOM);
    number(&mut component, section.len());
    component.extend(section);
    component
}

fn name(section: &mut Vec<u8>, name: &str) {
    number(section, name.len());
    section.extend(name.as_bytes());
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn number(section: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            return section.push(low);
        }
        section.push(low | 0x80);
    }
}

/// The component that `adapter.toml` names.
pub(super) fn place(folder: &Path) -> Result<PathBuf, Failure> {
    let manifest = table(&folder.join("adapter.toml"))?;
    let named = manifest.get("component").and_then(toml::Value::as_str);
    named.map(|named| folder.join(named)).ok_or_else(|| Failure::usage("adapter.toml names no `component`"))
}

/// The world that `adapter.toml` names, without package and version: `hermes:tool/file-tool@0.1.0` is `file-tool`.
pub(super) fn world(folder: &Path) -> Result<String, Failure> {
    let manifest = table(&folder.join("adapter.toml"))?;
    let named = manifest.get("world").and_then(toml::Value::as_str).unwrap_or_default();
    let world = named.rsplit('/').next().unwrap_or_default().split('@').next().unwrap_or_default();
    match world.is_empty() {
        false => Ok(world.to_owned()),
        true => Err(Failure::usage("adapter.toml names no `world`")),
    }
}

/// The name of what cargo makes.
pub(super) fn library(folder: &Path) -> Result<String, Failure> {
    let manifest = table(&folder.join("Cargo.toml"))?;
    let name = |table: &str| manifest.get(table)?.get("name")?.as_str().map(str::to_owned);
    let name = name("lib").or_else(|| name("package"));
    name.map(|name| name.replace('-', "_")).ok_or_else(|| Failure::usage("Cargo.toml names no package"))
}

fn table(file: &Path) -> Result<toml::Table, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", file.display())))?;
    text.parse().map_err(|error| Failure::usage(format!("`{}`: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::made_by;
    use hermes_runtime::sandbox::component::{binary, contents};

    #[test]
    fn a_component_says_by_what_it_was_made() {
        let long = "x".repeat(100);
        for (tool, version) in [("componentize-py", "0.25.0"), ("componentize-qjs", ""), (&*long, &*long)] {
            let component = binary(b"(component (core module))").unwrap().into_owned();
            let stamped = contents(&made_by(component, &format!("{tool} {version}"))).unwrap();
            let said: Vec<&str> = stamped.producers["processed-by"].iter().map(String::as_str).collect();
            // What is longer than anybody reads is cut where it is read.
            let whole = format!("{tool} {version}");
            assert!(whole.trim().starts_with(said[0].trim_end_matches('…')), "{said:?}");
        }
        let component = binary(b"(component)").unwrap().into_owned();
        let usual = contents(&made_by(component, "componentize-qjs")).unwrap().usual_limits();
        assert_eq!(usual.memory_mb, Some(128));
    }
}
