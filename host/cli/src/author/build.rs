//! How does a plugin's source become its component? By what its language has for that, into the place that
//! `adapter.toml` names; then it says what was made and what that imports.

use super::language::Language;
use super::{component, plugin_folder};
use crate::failure::Failure;
use crate::output;
use hermes_runtime::sandbox::component::contents;
use std::path::{Path, PathBuf};

/// Compiles a plugin; returns the component's file.
pub(crate) fn run(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = plugin_folder(folder)?;
    let started = std::time::Instant::now();
    let made = Language::of(&folder)?.build(&folder)?;
    let place = component::place(&folder)?;
    let moved = match made.starts_with(&folder) {
        true => std::fs::rename(&made, &place).map(drop),
        false => std::fs::copy(&made, &place).map(drop),
    };
    moved.map_err(|error| Failure::internal(format!("`{}` cannot be put in its place: {error}", made.display())))?;
    let size = place.metadata().map_or(0, |metadata| metadata.len());
    let seconds = started.elapsed().as_secs_f64();
    output::line(&format!("built {} ({size} bytes) in {seconds:.1} s{}", place.display(), imports(&place)));
    Ok(place)
}

/// What a component imports, for the eye.
fn imports(component: &Path) -> String {
    let Some(contents) = std::fs::read(component).ok().and_then(|bytes| contents(&bytes).ok()) else {
        return String::new();
    };
    let (wasi, own): (Vec<_>, Vec<_>) = contents.imports.into_iter().partition(|name| name.starts_with("wasi:"));
    let wasi = if wasi.is_empty() { String::new() } else { format!(" and {} of WASI, which are empty", wasi.len()) };
    format!("; it imports {}{wasi}", own.join(", "))
}
