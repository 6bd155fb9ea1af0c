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
