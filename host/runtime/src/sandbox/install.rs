//! May a component be used, and where is its code kept? What it imports and exports is checked; what was compiled once is
//! kept in a folder, and later starts load it. Nothing is compiled during a call.
#![expect(clippy::disallowed_methods, reason = "compiled components are kept in a folder of their own")]

use super::component::{self, Contents};
use super::values::Functions;
use crate::call::Digest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use wasmtime::Engine;
use wasmtime::component::Component;

/// A component that can be run.
pub struct Installed {
    /// The digest under which it runs: of its file and of the capabilities that it is linked to.
    pub linked: Digest,
    /// What has to be held for as long as it is to run.
    pub alive: std::sync::Arc<dyn std::any::Any + Send + Sync>,
}

/// The namespace of capabilities. Everything else but `wasi:` is unknown.
const OURS: &str = "hermes:tool/";
/// What a component exports that knows the contract, without the version.
const EXECUTION: &str = "hermes:tool/tool-execution";
/// Interfaces that every component may import: they reach nothing but the call itself.
const ALWAYS: &[&str] = &["types", "log", "progress"];

/// Why a component cannot be used. The text is for the operator, and for a caller whose tool it was to run.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Not a component at all.
    #[error("it is {0}, not a component")]
    NotAComponent(&'static str),
    /// A component that does not hold together.
    #[error("it is not a valid component: {0}")]
    Invalid(String),
    /// A component that is larger than one may be.
    #[error("it has {count} {what}, more than {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        count: u64,
        /// How much there may be.
        limit: u64,
    },
    /// A component that takes too much to compile.
    #[error("compiling it takes more than {0}")]
    TooCostly(String),
    /// Nobody can compile it.
    #[error(
        "it is not compiled yet, and this program cannot start one that compiles: it does not call `helper_main` and names no helper"
    )]
    NoHelper,
    /// The compiling process failed.
    #[error("the process that compiles it failed: {0}")]
    Compiler(String),
    /// A component that wants what it does not get.
    #[error("it imports `{import}`, {why}")]
    Import {
        /// The import's full name.
        import: String,
        /// What is wrong with it.
        why: String,
    },
    /// A component that cannot run in a process of its own.
    #[error("it {0}")]
    Apart(String),
    /// A component that does not offer what the runtime calls.
    #[error("it does not export `hermes:tool/tool-execution@{wanted}`{found}")]
    Export {
        /// The version that the runtime calls.
        wanted: &'static str,
        /// What it exports instead.
        found: String,
    },
}

/// The contract's version that this runtime speaks.
pub const CONTRACT: &str = "0.1.0";

/// What a component imports, sorted by what it can mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imports {
    /// Names of our capabilities.
    pub capabilities: BTreeSet<String>,
    /// WASI interfaces, which are there and empty.
    pub wasi: BTreeSet<String>,
}

/// Which component is about to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct Installing<'a> {
    /// The adapter whose component it is.
    pub adapter: &'a str,
    /// Its number among those that have to be compiled, from 1.
    pub number: usize,
    /// How many those are.
    pub of: usize,
}

/// What a component is and what it would get, found out without compiling it.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// Digest of its file.
    pub digest: Digest,
    /// What is in it.
    pub contents: Contents,
    /// Our capabilities that it imports.
    pub asked: BTreeSet<String>,
    /// Interfaces of WASI that it imports: they are there, and empty.
    pub empty: BTreeSet<String>,
    /// What it gets: asked for by the component and by its `adapter.toml`, and known to this runtime.
    pub granted: BTreeSet<String>,
    /// Its own functions that can be tools, if it knows nothing of the contract.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// Its own functions that cannot, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, String)>,
    /// Why it cannot be used, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Looks at a component, in its binary form or as text. `declared` are the capabilities that its `adapter.toml` asks
/// for.
///
/// # Errors
/// What is no component at all, or too large for one.
pub fn inspect(bytes: &[u8], declared: &BTreeSet<String>) -> Result<Inspection, InstallError> {
    let binary = component::binary(bytes)?;
    let contents = component::contents(&binary)?;
    let by_types = match contents.exports.iter().any(|name| name.starts_with(EXECUTION)) {
        true => Functions::default(),
        false => super::values::functions_of(&binary).unwrap_or_default(),
    };
    let imports = imports(&contents).unwrap_or_default();
    let known = |name: &&String| declared.contains(*name) && super::capability::ALL.contains(&name.as_str());
    let granted = imports.capabilities.iter().filter(known).cloned().collect();
    let checked = if by_types.usable.is_empty() { check } else { check_imports };
    let refused = checked(&contents, declared, &Own::new()).err().map(|error| error.to_string());
    let functions = by_types.usable.iter().map(super::values::Function::path).collect();
    let left_out = by_types.refused;
    let (asked, empty) = (imports.capabilities, imports.wasi);
    Ok(Inspection { digest: Digest::of(bytes), contents, asked, empty, granted, functions, left_out, refused })
}

/// Where compiled components are kept. Lifetime: the runtime.
pub(crate) struct Cache {
    folder: Option<PathBuf>,
    engine: String,
}

impl Cache {
    /// Uses a folder that is the user's alone; without one, every start compiles.
    pub(crate) fn open(folder: &Path, engine: &Engine) -> Cache {
        let usable = private_folder(folder);
        if let Err(error) = &usable {
            tracing::warn!(folder = %folder.display(), %error, "compiled components cannot be kept");
        }
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Cache { folder: usable.is_ok().then(|| folder.to_owned()), engine: format!("{:016x}", hasher.finish()) }
    }

    /// Whether there is something to load for a component.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.file(digest).is_some_and(|file| file.is_file())
    }

    /// Loads what was kept for a component; `None` if it has to be compiled.
    pub(crate) fn kept(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let file = self.file(digest)?;
        let bytes = match read_own(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "a compiled component is not used and compiled again");
                return None;
            }
        };
        let sealed = bytes.split_at_checked(32).filter(|(sealed, code)| *sealed == seal(digest, code).bytes());
        let Some((_, code)) = sealed else {
            tracing::warn!(file = %file.display(), "a compiled component is damaged and is compiled again");
            return None;
        };
        loaded(engine, code)
            .inspect_err(|error| tracing::info!(%error, "a compiled component is of another engine"))
            .ok()
    }

    /// Keeps what was compiled, and loads it.
    pub(crate) fn keep(&self, engine: &Engine, code: &[u8], digest: &Digest) -> Result<Component, InstallError> {
        if let Err(error) = self.write(code, digest) {
            tracing::warn!(%digest, %error, "the compiled component cannot be kept");
        }
        loaded(engine, code).map_err(|error| InstallError::Invalid(format!("{error:#}")))
    }

    fn file(&self, digest: &Digest) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}-{}.cwasm", digest.hex(), self.engine)))
    }

    fn write(&self, code: &[u8], digest: &Digest) -> std::io::Result<()> {
        let Some(file) = self.file(digest) else { return Ok(()) };
        let partial = file.with_extension(format!("{}.partial", ulid::Ulid::generate()));
        let write = || {
            let mut out = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
            out.write_all(seal(digest, code).bytes())?;
            out.write_all(code)?;
            std::fs::rename(&partial, &file)
        };
        write().inspect_err(|_| drop(std::fs::remove_file(&partial)))
    }
}

/// Shows that code is what was compiled from a component, whole.
fn seal(digest: &Digest, code: &[u8]) -> Digest {
    Digest::of_parts([digest.bytes().as_slice(), code])
}

#[expect(unsafe_code, reason = "the bytes are what this program compiled: in a private folder, sealed by digest")]
pub(super) fn loaded(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the compiling process, which is a program of ours, made these bytes; they came from it directly, from a
    // file of `keep` whose folder and itself nobody else can write, and whose seal shows that nothing was damaged, or, in
    // a process that runs one component, from the runtime that started it.
    unsafe { Component::deserialize(engine, code) }
}

/// Checks that a component gets all that it imports and offers what the runtime calls.
pub(crate) fn check(contents: &Contents, granted: &BTreeSet<String>, own: &Own<'_>) -> Result<(), InstallError> {
    check_imports(contents, granted, own)?;
    let wanted = format!("{OURS}tool-execution@{CONTRACT}");
    match contents.exports.iter().any(|name| is_compatible(name, &wanted)) {
        true => Ok(()),
        false => Err(InstallError::Export { wanted: CONTRACT, found: other_version(&contents.exports) }),
    }
}

/// Checks that a component gets all that it imports.
pub(crate) fn check_imports(
    contents: &Contents,
    granted: &BTreeSet<String>,
    own: &Own<'_>,
) -> Result<(), InstallError> {
    let imports = sorted(contents, own)?;
    let interface = |capability: &String| own.iter().find(|(_, name)| *name == capability).map(|(path, _)| *path);
    match imports.capabilities.difference(granted).next() {
        None => Ok(()),
        Some(capability) => Err(InstallError::Import {
            import: interface(capability).map_or_else(|| format!("{OURS}{capability}@{CONTRACT}"), str::to_owned),
            why: format!("and `capabilities` in its adapter.toml does not ask for `{capability}`"),
        }),
    }
}

/// What a component imports, sorted by what it can mean.
///
/// # Errors
/// An import that no capability of this runtime answers, by name.
pub fn imports(contents: &Contents) -> Result<Imports, InstallError> {
    sorted(contents, &Own::new())
}

/// The interfaces of an embedding program's capabilities, and their names.
pub(crate) type Own<'a> = BTreeMap<&'a str, &'a str>;

fn sorted(contents: &Contents, own: &Own<'_>) -> Result<Imports, InstallError> {
    let mut imports = Imports::default();
    let refused = |import: &str, why: String| InstallError::Import { import: import.to_owned(), why };
    if let Some(name) = contents.other_imports.iter().find(|name| !name.starts_with("wasi:")) {
        return Err(refused(name, "which no capability of this runtime is".into()));
    }
    for name in &contents.imports {
        if name.starts_with("wasi:") {
            imports.wasi.insert(name.to_owned());
        } else if let Some(ours) = name.strip_prefix(OURS) {
            let (interface, version) = ours.split_once('@').unwrap_or((ours, CONTRACT));
            if !is_compatible(version, CONTRACT) {
                return Err(refused(name, format!("and this runtime speaks version {CONTRACT} of the contract")));
            }
            if !ALWAYS.contains(&interface) {
                imports.capabilities.insert(interface.to_owned());
            }
        } else if let Some(capability) = own.get(name.as_str()) {
            imports.capabilities.insert((*capability).to_owned());
        } else {
            return Err(refused(name, "which no capability of this runtime is".into()));
        }
    }
    Ok(imports)
}

/// Whether two names differ in nothing or in the patch version alone, which is what 0.x versions may differ in.
fn is_compatible(a: &str, b: &str) -> bool {
    fn without_patch(name: &str) -> &str {
        name.rsplit_once('.').map_or(name, |(before, _)| before)
    }
    without_patch(a) == without_patch(b)
}

fn other_version(exports: &BTreeSet<String>) -> String {
    /// Exports that are listed at most.
    const LISTED: usize = 10;
    let near = exports.iter().find(|name| name.starts_with("hermes:tool/tool-execution"));
    match (near, exports.is_empty()) {
        (Some(near), _) => format!("; it exports `{near}`"),
        (None, true) => "; it exports nothing".into(),
        (None, false) => {
            let listed: Vec<String> =
                exports.iter().take(LISTED).map(|name| crate::document::excerpt(name, 80)).collect();
            format!("; it exports {}", listed.join(", "))
        }
    }
}

fn private_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    only_mine(&std::fs::metadata(folder)?)
}

/// Compiled code runs with all rights, so nobody else may have been able to write it.
fn only_mine(metadata: &std::fs::Metadata) -> std::io::Result<()> {
    let mine = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
    if mine { Ok(()) } else { Err(std::io::Error::other("others could have written it")) }
}

fn read_own(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut open = std::fs::File::open(file)?;
    only_mine(&open.metadata()?)?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut open, &mut bytes)?;
    Ok(bytes)
}
