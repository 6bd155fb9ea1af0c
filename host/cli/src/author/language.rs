//! In which language is a plugin written, and what makes a component of it? Found by what lies in its folder; a tool that
//! is missing is named with the command that installs it.

use super::toolchain::{TARGET, Toolchain};
use super::{cache, component};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language with a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// Cargo, with rustup's compiler or Debian's.
    Rust,
    /// `componentize-py`.
    Python,
    /// `componentize-qjs`, on QuickJS.
    JavaScript,
    /// Clang with the WASI libc of the system.
    C,
}

/// All languages with the names by which they are asked for, and what tells each by its folder.
const ALL: &[(Language, &str, &str)] = &[
    (Language::Rust, "rust", "Cargo.toml"),
    (Language::Python, "python", "app.py"),
    (Language::JavaScript, "javascript", "tool.js"),
    (Language::C, "c", "src/tool.c"),
];

impl Language {
    /// The names that `--lang` takes.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(_, name, _)| *name)
    }

    /// The language of a plugin's folder.
    pub(crate) fn of(folder: &Path) -> Result<Language, Failure> {
        let found = ALL.iter().find(|(_, _, file)| folder.join(file).is_file());
        found.map(|(language, ..)| *language).ok_or_else(|| {
            let files: Vec<&str> = ALL.iter().map(|(_, _, file)| *file).collect();
            Failure::usage(format!(
                "`{}` is in no language that this command builds: there is no {}; build the component yourself and put it \
                 where `component` of adapter.toml says",
                folder.display(),
                files.join(", ")
            ))
        })
    }

    /// Makes the component of a plugin; returns where it lies.
    pub(crate) fn build(self, folder: &Path) -> Result<PathBuf, Failure> {
        match self {
            Language::Rust => rust(folder),
            Language::Python => {
                let tool = tool(folder, ".venv/bin", "componentize-py").ok_or_else(|| {
                    missing("componentize-py", "python3 -m venv .venv && .venv/bin/pip install componentize-py==0.25.0")
                })?;
                let made = folder.join(".component.wasm");
                let by = said(&tool, "--version").unwrap_or_else(|| "componentize-py".to_owned());
                let mut command = Command::new(tool);
                let world = component::world(folder)?;
                command.args(["-d", "wit", "-w", &world, "componentize", "app", "--stub-wasi", "-o"]).arg(&made);
                run(command, folder)?;
                stamp(&made, &by)?;
                Ok(made)
            }
            Language::JavaScript => {
                let tool = tool(folder, "node_modules/.bin", "componentize-qjs")
                    .ok_or_else(|| missing("componentize-qjs", "npm install @bytecodealliance/jco@1.35.0"))?;
                let made = folder.join(".component.wasm");
                let mut command = Command::new(tool);
                command.args(["--wit", "wit", "-n", &component::world(folder)?, "--js", "tool.js"]);
                command.args(["--opt-size", "--sync", "--stub-wasi", "-o"]).arg(&made);
                run(command, folder)?;
                stamp(&made, "componentize-qjs")?;
                Ok(made)
            }
            Language::C => c(folder),
        }
    }

    /// Runs the plugin's own tests, where the language has some.
    pub(crate) fn test(self, folder: &Path) -> Result<bool, Failure> {
        match self {
            Language::Rust => {
                let mut own = Command::new("cargo");
                own.args(["test", "--quiet"]).current_dir(folder);
                if super::library::vendored(folder)?.is_some() {
                    own.arg("--offline");
                }
                own.status().map(|status| status.success()).map_err(|error| {
                    Failure::unavailable(format!("cargo cannot be run: {error}; install Rust from https://rustup.rs"))
                })
            }
            Language::Python | Language::JavaScript | Language::C => Ok(true),
        }
    }
}

fn rust(folder: &Path) -> Result<PathBuf, Failure> {
    let toolchain = Toolchain::find()?;
    let cache = cache()?;
    run(toolchain.build(folder, &cache)?, folder)?;
    let release = cache.join("guest-target").join(TARGET).join("release");
    Ok(release.join(format!("{}.wasm", component::library(folder)?)))
}

/// Clang makes a core module, to which the types of the contract are added here.
fn c(folder: &Path) -> Result<PathBuf, Failure> {
    /// What Debian calls what is needed.
    const PACKAGES: &str = "sudo apt-get install clang lld wasi-libc libclang-rt-dev-wasm32";
    let clang = tool(folder, ".", "clang").ok_or_else(|| missing("clang", PACKAGES))?;
    for (what, path) in [("the C library for WebAssembly", "/usr/include/wasm32-wasi"), ("wasm-ld", "/usr/bin/wasm-ld")]
    {
        let versioned = what == "wasm-ld" && linker().is_some();
        if !versioned && !Path::new(path).exists() {
            return Err(missing(what, PACKAGES));
        }
    }
    let scratch = tempfile::tempdir().map_err(|error| Failure::internal(error.to_string()))?;
    let module = scratch.path().join("core.wasm");
    let mut command = Command::new(clang);
    command.args(["--target=wasm32-wasi", "--sysroot=/usr", "-I/usr/include/wasm32-wasi", "-Ibindings"]);
    command.args(["-g", "-Oz", "-Wall", "-mexec-model=reactor", "-o"]).arg(&module);
    let mut sources: Vec<PathBuf> = ["bindings", "src"]
        .iter()
        .flat_map(|part| std::fs::read_dir(folder.join(part)).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some(OsStr::new("c")))
        .collect();
    sources.sort();
    command.args(sources);
    if let Some(linker) = linker() {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", linker.display()));
    }
    run(command, folder)?;
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| Failure::internal(format!("`{}` cannot be read: {error}", path.display())))
    };
    let made = folder.join(".component.wasm");
    let bytes = component::of_module(&read(&module)?, &folder.join("wit"), &component::world(folder)?)?;
    std::fs::write(&made, bytes)
        .map_err(|error| Failure::usage(format!("`{}` cannot be written: {error}", made.display())))?;
    Ok(made)
}

/// Writes into a component by what it was made.
fn stamp(made: &Path, by: &str) -> Result<(), Failure> {
    let failed = |error| Failure::internal(format!("`{}` cannot be changed: {error}", made.display()));
    let component = std::fs::read(made).map_err(failed)?;
    std::fs::write(made, component::made_by(component, by)).map_err(failed)
}

/// The first line that a program prints when it is asked something.
fn said(program: &Path, question: &str) -> Option<String> {
    let output = Command::new(program).arg(question).output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// Where the newest linker for WebAssembly is that Debian keeps beside its compilers.
fn linker() -> Option<PathBuf> {
    let mut folders: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix("llvm-")?.parse().ok()?;
            Some((version, entry.path().join("bin"))).filter(|(_, bin)| bin.join("wasm-ld").is_file())
        })
        .collect();
    folders.sort();
    folders.pop().map(|(_, bin)| bin)
}

/// A program: the plugin's own, else the one of the search path.
fn tool(folder: &Path, own: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::iter::once(folder.join(own)).filter(|own| own != &folder.join("."));
    own.chain(std::env::split_paths(&path)).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn missing(what: &str, install: &str) -> Failure {
    Failure::unavailable(format!("`{what}` is not here; run, in the plugin's folder,\n  {install}"))
}

fn run(mut command: Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .current_dir(folder)
        .status()
        .map_err(|error| Failure::unavailable(format!("`{name}` cannot be run: {error}; install it")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure { exit: 5, ..Failure::usage("the plugin does not compile") }),
    }
}
