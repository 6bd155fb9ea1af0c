//! How does a component become code that runs? It is checked, compiled once and kept; later starts load what was kept.
//! Nothing is compiled during a call.
#![expect(clippy::disallowed_methods, reason = "compiled components are kept in a folder of their own")]

use crate::call::Digest;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// The namespace of capabilities. Everything else but `wasi:` is unknown.
const OURS: &str = "hermes:tool/";
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
    /// A component that wants what it does not get.
    #[error("it imports `{import}`, {why}")]
    Import {
        /// The import's full name.
        import: String,
        /// What is wrong with it.
        why: String,
    },
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

    /// Loads what was kept for a component, or compiles and keeps it.
    pub(crate) fn load(&self, engine: &Engine, bytes: &[u8], digest: &Digest) -> Result<Component, InstallError> {
        if let Some(component) = self.kept(engine, digest) {
            return Ok(component);
        }
        let started = std::time::Instant::now();
        let binary = binary(bytes)?;
        let component = Component::new(engine, &binary).map_err(|error| InstallError::Invalid(format!("{error:#}")))?;
        tracing::info!(%digest, elapsed = ?started.elapsed(), "compiled a component");
        if let Err(error) = self.keep(&component, digest) {
            tracing::warn!(%digest, %error, "the compiled component cannot be kept");
        }
        Ok(component)
    }

    fn file(&self, digest: &Digest) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}-{}.cwasm", digest.hex(), self.engine)))
    }

    fn kept(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let file = self.file(digest)?;
        let bytes = read_own(&file).ok()?;
        let (seal, code) = bytes.split_at_checked(32)?;
        if Digest::of_parts([digest.bytes().as_slice(), code]).bytes() != seal {
            tracing::warn!(file = %file.display(), "a compiled component is damaged and is compiled again");
            return None;
        }
        #[expect(
            unsafe_code,
            reason = "the bytes are what this program compiled: in a private folder, sealed by digest"
        )]
        // SAFETY: `keep` wrote these bytes from a `Component` that this program compiled; folder and file belong to
        // this user alone, and the seal shows that nothing was damaged since.
        let component = unsafe { Component::deserialize(engine, code) };
        component.inspect_err(|error| tracing::info!(%error, "a compiled component is of another engine")).ok()
    }

    fn keep(&self, component: &Component, digest: &Digest) -> std::io::Result<()> {
        let Some(file) = self.file(digest) else { return Ok(()) };
        let code = component.serialize().map_err(|error| std::io::Error::other(format!("{error:#}")))?;
        let seal = Digest::of_parts([digest.bytes().as_slice(), &code]);
        let partial = file.with_extension(format!("{}.partial", std::process::id()));
        let write = || {
            let mut out =
                std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
            out.write_all(seal.bytes())?;
            out.write_all(&code)?;
            std::fs::rename(&partial, &file)
        };
        write().inspect_err(|_| drop(std::fs::remove_file(&partial)))
    }
}

/// Checks that a component gets all that it imports and offers what the runtime calls.
pub(crate) fn check(component: &Component, engine: &Engine, granted: &BTreeSet<String>) -> Result<(), InstallError> {
    let imports = imports(component, engine)?;
    if let Some(capability) = imports.capabilities.difference(granted).next() {
        return Err(InstallError::Import {
            import: format!("{OURS}{capability}@{CONTRACT}"),
            why: format!("and `capabilities` in its adapter.toml does not ask for `{capability}`"),
        });
    }
    let wanted = format!("{OURS}tool-execution@{CONTRACT}");
    let component_type = component.component_type();
    let exports: Vec<&str> = component_type.exports(engine).map(|(name, _)| name).collect();
    match exports.iter().any(|name| is_compatible(name, &wanted)) {
        true => Ok(()),
        false => Err(InstallError::Export { wanted: CONTRACT, found: other_version(&exports) }),
    }
}

/// What a component imports.
///
/// # Errors
/// An import that no capability of this runtime answers, by name.
pub(crate) fn imports(component: &Component, engine: &Engine) -> Result<Imports, InstallError> {
    let mut imports = Imports::default();
    for (name, item) in component.component_type().imports(engine) {
        let refused = |why: String| InstallError::Import { import: name.to_owned(), why };
        let is_interface = matches!(item.ty, ComponentItem::ComponentInstance(_));
        if name.starts_with("wasi:") {
            imports.wasi.insert(name.to_owned());
        } else if let Some(ours) = name.strip_prefix(OURS).filter(|_| is_interface) {
            let (interface, version) = ours.split_once('@').unwrap_or((ours, CONTRACT));
            if !is_compatible(version, CONTRACT) {
                return Err(refused(format!("and this runtime speaks version {CONTRACT} of the contract")));
            }
            if !ALWAYS.contains(&interface) {
                imports.capabilities.insert(interface.to_owned());
            }
        } else {
            return Err(refused("which no capability of this runtime is".into()));
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

fn other_version(exports: &[&str]) -> String {
    let near = exports.iter().find(|name| name.starts_with("hermes:tool/tool-execution"));
    match (near, exports.is_empty()) {
        (Some(near), _) => format!("; it exports `{near}`"),
        (None, true) => "; it exports nothing".into(),
        (None, false) => format!("; it exports {}", exports.join(", ")),
    }
}

/// The binary form of what may be component text.
fn binary(bytes: &[u8]) -> Result<std::borrow::Cow<'_, [u8]>, InstallError> {
    if wasmparser::Parser::is_component(bytes) {
        return Ok(bytes.into());
    }
    if wasmparser::Parser::is_core_wasm(bytes) {
        return Err(InstallError::NotAComponent("a core module (wrap it with `wasm-tools component new`)"));
    }
    let is_text = bytes.trim_ascii_start().starts_with(b"(") || bytes.trim_ascii_start().starts_with(b";;");
    match std::str::from_utf8(bytes).ok().filter(|_| is_text) {
        Some(text) => match wat::parse_str(text) {
            Ok(binary) if wasmparser::Parser::is_component(&binary) => Ok(binary.into()),
            Ok(_) => Err(InstallError::NotAComponent("the text of a core module")),
            Err(error) => Err(InstallError::Invalid(error.to_string())),
        },
        None => Err(InstallError::NotAComponent("some other file")),
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
