//! Which scenarios are there? Makes one test of each folder in `scenarios/`, so that each has a name of its own in the
//! report. Must not read what is in them.
#![expect(clippy::disallowed_methods, reason = "a build script reads folders and writes its output")]

use std::fmt::Write;
use std::path::Path;

fn main() {
    // Asked when it runs: a target folder may be shared by several checkouts, and this may have been compiled in another one.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the folder of the package");
    let folder = Path::new(&here).join("scenarios");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder of scenarios is beside this script")
        .map(|entry| entry.expect("the folder can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut tests = String::new();
    for name in names {
        writeln!(tests, "#[test]\nfn {name}() {{\n    super::run({name:?});\n}}\n").expect("a string takes all");
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo names the folder for output");
    std::fs::write(Path::new(&out).join("scenarios.rs"), tests).expect("the output can be written");
}
