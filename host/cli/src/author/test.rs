//! Does a plugin do what its author says? Its own tests run natively, where its language has some, then the cases in `tests/*.toml` run through all
//! seven steps on the component.

use super::language::Language;
use super::{build, cache, plugin_folder};
use crate::failure::Failure;
use crate::output;
use hermes_testkit::{case, plugin::Plugin};
use std::path::{Path, PathBuf};

pub(crate) fn run(folder: &Path) -> Result<u8, Failure> {
    let folder = plugin_folder(folder)?;
    let own = Language::of(&folder)?.test(&folder)?;
    build::run(&folder)?;
    let failed = cases(&folder)?;
    match own && failed == 0 {
        true => Ok(0),
        false => Ok(5),
    }
}

/// Runs all cases; returns how many files of them failed.
pub(super) fn cases(folder: &Path) -> Result<usize, Failure> {
    let plugin = Plugin::read(folder).map_err(Failure::usage)?;
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder.join("tests")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let cache = cache()?;
    let mut failed = 0;
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match case::run(&plugin, file, Some(&cache)).map_err(Failure::usage)?.as_slice() {
            [] => output::line(&format!("ok    tests/{name}")),
            differences => {
                failed += 1;
                output::line(&format!("FAILED tests/{name}\n  {}", differences.join("\n  ")));
            }
        }
    }
    output::line(&format!("{} of {} cases hold", files.len() - failed, files.len()));
    Ok(failed)
}
