//! Which plugins are part of the command? Those of `plugins/` whose component was built before this: their manifests
//! and components become bytes of the program, so that the one file can be copied and used.
#![allow(clippy::disallowed_methods, reason = "a build script reads files and its environment")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sources = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../plugins").canonicalize()?;
    let components = components_folder();
    println!("cargo:rerun-if-env-changed=HERMES_PLUGINS_DIR");
    println!("cargo:rerun-if-changed={}", sources.display());
    println!("cargo:rerun-if-changed={}", components.display());
    let mut code = String::from("&[\n");
    for folder in sorted(&sources)?.into_iter().filter(|folder| folder.join("adapter.toml").is_file()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let component = components.join(format!("{name}.wasm"));
        if component.is_file() {
            write_plugin(&mut code, &name, &folder, &component)?;
        }
    }
    code.push(']');
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("plugins.rs"), code)?;
    std::fs::write(out.join("templates.rs"), templates(&sources.join(".."), &components)?)?;
    Ok(())
}

/// The files of a new plugin, by language: the template and the contract, and for Rust the SDK with what it is made of.
fn templates(project: &Path, components: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut code = String::from("&[\n");
    let folder = project.join("sdk/templates");
    for language in sorted(&folder)?.into_iter().filter(|path| path.is_dir() && !path.ends_with("any")) {
        let name = language.file_name().unwrap_or_default().to_string_lossy().into_owned();
        writeln!(code, "    ({name:?}, &[")?;
        let mut add = |from: &Path, to: &str| -> Result<(), Box<dyn std::error::Error>> {
            println!("cargo:rerun-if-changed={}", from.display());
            for file in files(from)? {
                let name = file.strip_prefix(from)?.display().to_string();
                let is_test = to == "sdk/rust" && name.starts_with("tests/");
                if !is_test && name != "Cargo.lock" {
                    let name = if to.is_empty() { name } else { format!("{to}/{name}") };
                    writeln!(code, "        ({name:?}, include_bytes!({file:?})),")?;
                }
            }
            Ok(())
        };
        add(&folder.join("any"), "")?;
        add(&language, "")?;
        add(&project.join("wit"), "wit")?;
        if name == "rust" {
            add(&project.join("sdk/rust"), "sdk/rust")?;
            if components.join("vendor").is_dir() {
                add(&components.join("vendor"), "vendor")?;
            }
        }
        writeln!(code, "    ]),")?;
    }
    code.push(']');
    Ok(code)
}

/// All files beneath a folder.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in sorted(folder)? {
        match path.is_dir() {
            // Cargo marks its own folder.
            true if path.join("CACHEDIR.TAG").is_file() => {}
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

fn components_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("HERMES_PLUGINS_DIR") {
        return folder.into();
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
    cache.join("hermes-dispatch/plugins")
}

fn write_plugin(
    code: &mut String,
    name: &str,
    folder: &Path,
    component: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed={}", component.display());
    writeln!(code, "    hermes_runtime::adapter::plugin::Embedded {{ name: {name:?}, files: &[")?;
    let mut file = |name: &str, path: &Path| writeln!(code, "        ({name:?}, include_bytes!({path:?})),");
    file("adapter.toml", &folder.join("adapter.toml"))?;
    file(&format!("{name}.wasm"), component)?;
    for manifest in sorted(&folder.join("tools"))?.iter().filter(|path| path.extension().is_some_and(|e| e == "toml")) {
        file(&format!("tools/{}", manifest.file_name().unwrap_or_default().to_string_lossy()), manifest)?;
    }
    writeln!(code, "    ] }},")?;
    Ok(())
}

fn sorted(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}
