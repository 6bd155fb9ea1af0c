//! Where does a test's runtime live? A temporary folder with a workspace, an outside beside it and the plugins, which
//! is gone afterwards. Must not know what is tested.

use hermes_runtime::config::{Access, Config};
use hermes_runtime::permission::approval::Approver;
use hermes_runtime::{Call, Runtime};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The program that starts others.
const HELPER: &str = env!("CARGO_BIN_EXE_hermes-test-helper");

/// The project's folder.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A built component.
///
/// # Panics
/// If it is not there: a test that skips itself protects nothing.
pub(crate) fn component(adapter: &str) -> PathBuf {
    let folder = std::env::var_os("HERMES_PLUGINS_DIR").map(PathBuf::from).unwrap_or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(std::env::home_dir()?.join(".cache")));
        cache.unwrap_or_default().join("hermes-dispatch/plugins")
    });
    let file = folder.join(format!("{adapter}.wasm"));
    assert!(file.is_file(), "the component `{adapter}.wasm` is missing; run `./just plugins`");
    file
}

/// A temporary folder to run in.
pub(crate) struct House {
    root: PathBuf,
    kept: Option<TempDir>,
}

impl House {
    /// A folder with an empty `workspace`, an empty `outside` and no plugin.
    pub(crate) fn empty() -> House {
        let kept = tempfile::Builder::new().prefix("hermes-house-").tempdir().unwrap();
        let root = kept.path().canonicalize().unwrap();
        for folder in ["workspace", "outside", "plugins"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        House { root, kept: Some(kept) }
    }

    /// The same with the plugins that are part of the command.
    pub(crate) fn with_files() -> House {
        let house = House::empty();
        for adapter in ["browser", "cli", "custom", "file", "mcp"] {
            let source = project().join("plugins").join(adapter);
            let target = house.path("plugins").join(adapter);
            copy_folder(&source.join("tools"), &target.join("tools"));
            std::fs::copy(source.join("adapter.toml"), target.join("adapter.toml")).unwrap();
            std::fs::copy(component(adapter), target.join(format!("{adapter}.wasm"))).unwrap();
        }
        house
    }

    /// Puts a launcher into the house, for a user who cannot reach the one beside the tests.
    pub(crate) fn put_helper(&self) {
        let (from, to) = (Path::new(HELPER), self.path("helper"));
        if std::fs::hard_link(from, &to).is_err() {
            std::fs::copy(from, &to).unwrap();
        }
    }

    /// A house that another process has made and owns.
    pub(crate) fn at(root: PathBuf) -> House {
        House { root, kept: None }
    }

    /// A path in the house.
    pub(crate) fn path(&self, beneath: &str) -> PathBuf {
        self.root.join(beneath)
    }

    /// The house itself; no answer may name it.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file of the workspace.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path("workspace").join(name), content).unwrap();
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("workspace").join(name)).unwrap()
    }

    /// Settings that grant the workspace for reading and writing. Compiled components are shared by all tests.
    pub(crate) fn config(&self) -> Config {
        let cache = match self.kept {
            Some(_) => Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
            None => self.path("cache"),
        };
        let mut config = Config::new(self.path("state"), cache)
            .grant("workspace", self.path("workspace"), Access::ReadWrite)
            .plugin(self.path("plugins"))
            // What a test changes is meant to count at once.
            .follow(self.root.clone());
        // A call that waits for a person is told at once to come back.
        config.approval.park_wait_seconds = 0;
        let own = self.path("helper");
        config.process.helper = Some(if own.is_file() { own } else { HELPER.into() });
        config
    }

    /// Starts a runtime that has no fault.
    pub(crate) fn start(&self, config: Config) -> Runtime {
        self.start_with(config, None)
    }

    /// The same with somebody to ask.
    pub(crate) fn start_with(&self, config: Config, approver: Option<Arc<dyn Approver>>) -> Runtime {
        let runtime = Runtime::start(config, &[], approver).unwrap();
        assert!(runtime.toolbox().faults.is_empty(), "{:#?}", runtime.toolbox().faults);
        runtime
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // Folders without rights would stay.
        if self.kept.is_some() {
            make_removable(&self.root);
        }
    }
}

fn make_removable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_removable(&entry.path());
        }
    }
}

/// Copies a folder with all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Rewrites the text of all manifests in a folder.
pub(crate) fn rewrite_manifests(folder: &Path, rewrite: &impl Fn(&str) -> String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rewrite_manifests(&path, rewrite);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, rewrite(&text)).unwrap();
        }
    }
}

/// A call in a role that may use every file tool.
pub(crate) fn call(tool: &str, args: Value) -> Call {
    Call::new(tool, args).role("Builder")
}
