//! How does a plugin's source become its component? By cargo, with the compiler that was found, into the place that
//! `adapter.toml` names.

use super::toolchain::{TARGET, Toolchain};
use super::{cache, plugin_folder};
use crate::failure::Failure;
use crate::output;
use std::path::{Path, PathBuf};

/// Compiles a plugin; returns the component's file.
pub(crate) fn run(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = plugin_folder(folder)?;
    let started = std::time::Instant::now();
    let toolchain = Toolchain::find()?;
    // One folder for all plugins, so that the library is compiled once.
    let target = cache()?.join("guest-target");
    let mut command = toolchain.command(&folder);
    command.arg("build");
    if toolchain.is_debian() {
        command.args(["-Z", "build-std=std,panic_abort"]);
    }
    command.args(["--release", "--target", TARGET, "--offline", "--target-dir"]).arg(&target);
    let status = command.status().map_err(|error| {
        Failure::unavailable(format!("cargo cannot be run: {error}; install Rust from https://rustup.rs"))
    })?;
    if !status.success() {
        return Err(Failure { exit: 5, ..Failure::usage("the plugin does not compile") });
    }
    let made = target.join(TARGET).join("release").join(format!("{}.wasm", library(&folder)?));
    let component = folder.join(component(&folder)?);
    std::fs::copy(&made, &component)
        .map_err(|error| Failure::internal(format!("`{}` cannot be copied: {error}", made.display())))?;
    let size = component.metadata().map_or(0, |metadata| metadata.len());
    let seconds = started.elapsed().as_secs_f64();
    output::line(&format!("built {} ({size} bytes) in {seconds:.1} s", component.display()));
    Ok(component)
}

/// The component that `adapter.toml` names.
fn component(folder: &Path) -> Result<PathBuf, Failure> {
    let manifest = table(&folder.join("adapter.toml"))?;
    let named = manifest.get("component").and_then(toml::Value::as_str);
    named.map(PathBuf::from).ok_or_else(|| Failure::usage("adapter.toml names no `component`"))
}

/// The name of what cargo makes.
fn library(folder: &Path) -> Result<String, Failure> {
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
