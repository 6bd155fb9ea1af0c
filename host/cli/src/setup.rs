//! From which files, options and folders is the runtime put together?

use crate::args::Arguments;
use crate::failure::Failure;
use crate::{BUILT_IN, identity, output, terminal, trust};
use hermes_runtime::config::{Access, Config, Grant, Loaded, Origin, Source};
use hermes_runtime::permission::approval::Approver;
use hermes_runtime::{Runtime, permission::target::path};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders of the system; neither they nor anything in them is a workspace.
const SYSTEM: &[&str] =
    &["/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"];
/// Folders that hold many people's files; a folder in them may be a workspace.
const SHARED: &[&str] = &["/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var"];

/// The settings in force and what was noticed while they were put together.
pub(crate) struct Setup {
    pub(crate) loaded: Loaded,
    /// The configuration files that were read.
    pub(crate) files: Vec<Origin>,
    /// Why there is no workspace, if there is none.
    pub(crate) no_workspace: Option<String>,
}

/// The state folder that the user's and the system's configuration name, whatever a project says.
pub(crate) fn state_dir(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let folders = Folders::of_this_user()?;
    let sources = own_sources(arguments, &folders)?;
    Ok(Config::load(Config::new(&folders.state, &folders.cache), &sources)?.config.state_dir)
}

/// The system's and the user's configuration.
fn own_sources(arguments: &Arguments, folders: &Folders) -> Result<Vec<Source>, Failure> {
    let system = read(Path::new("/etc/hermes-dispatch/config.toml"), Origin::System)?;
    let user = match &arguments.config {
        Some(file) => {
            let file = absolute(file)?;
            let missing = || Failure::usage(format!("there is no configuration file `{}`", file.display()));
            Some(read(&file, Origin::User)?.ok_or_else(missing)?)
        }
        None => read(&folders.config.join("config.toml"), Origin::User)?,
    };
    Ok(system.into_iter().chain(user).collect())
}

/// Reads all configuration and grants the workspace.
pub(crate) fn load(arguments: &Arguments) -> Result<Setup, Failure> {
    let workspace = workspace(arguments)?;
    load_in(arguments, workspace, arguments.workspace_from.clone())
}

/// The same for the folder that an agent's client offers as its only root.
pub(crate) fn load_for_root(arguments: &Arguments, root: &Path) -> Result<Setup, Failure> {
    load_in(arguments, usable(root)?, Origin::Default)
}

fn load_in(arguments: &Arguments, workspace: Result<PathBuf, String>, from: Origin) -> Result<Setup, Failure> {
    let folders = Folders::of_this_user()?;
    let mut sources = own_sources(arguments, &folders)?;
    let mut base = Config::new(&folders.state, &folders.cache);
    // Trust is kept in the user's own state folder, also when records are kept elsewhere.
    let own = [&folders.config, &folders.state, &folders.cache];
    base.protected.extend(own.into_iter().cloned().chain(["/etc/hermes-dispatch".into(), folders.plugins.clone()]));
    if has_plugins(&folders.plugins) {
        base = base.plugin(&folders.plugins);
    }
    let own: Vec<PathBuf> = sources.iter().map(file_of).collect();
    base.protected.extend(own.clone());
    if let Ok(folder) = &workspace {
        let project = folder.join("hermes.toml");
        base.protected.insert(project.clone());
        // A file that serves as the user's own configuration may hold more than a project's file can.
        if !own.contains(&project) {
            base.no_secrets.insert(project.clone());
            if let Some(mut source) = read(&project, Origin::Project)? {
                source.trusted = trust::is_trusted(&folders.state, folder, &source.text);
                sources.push(source);
            }
        }
    }
    let files = sources.iter().map(|source| source.origin.clone()).collect();
    let mut loaded = Config::load(base, &sources)?;
    let mut no_workspace = None;
    match workspace {
        Ok(path) => {
            grant(&mut loaded, Config::WORKSPACE, Grant { path, mode: Access::ReadWrite }, from);
        }
        Err(why) => no_workspace = Some(why),
    }
    for text in &arguments.grant {
        let (name, wanted) = parse_grant(text)?;
        identity::allow_grant(arguments, &loaded.config, &name, &wanted)?;
        grant(&mut loaded, &name, wanted, Origin::Flag);
    }
    Ok(Setup { loaded, files, no_workspace })
}

/// Starts the runtime. What is wrong with plugins and tools is said on standard error; the good ones are in service.
pub(crate) fn start(setup: Setup) -> Result<Arc<Runtime>, Failure> {
    if BUILT_IN.is_empty() {
        output::warn("this program was built without components (run `./just plugins` before building it)");
    }
    if let Some(why) = &setup.no_workspace {
        output::warn(why);
    }
    let approver = terminal::Terminal::open().map(|terminal| Arc::new(terminal) as Arc<dyn Approver>);
    let mut installing = output::Installing::default();
    let runtime =
        Runtime::start_watched(setup.loaded.config, BUILT_IN, approver, &mut |component| installing.show(&component))?;
    drop(installing);
    let toolbox = runtime.toolbox();
    output::faults(&toolbox.faults);
    if !toolbox.held.is_empty() {
        let names: Vec<&str> = toolbox.held.iter().map(|held| held.name.as_str()).collect();
        output::warn(&format!("{} changed and stay as accepted; see `hermes-dispatch tools accept`", names.join(", ")));
    }
    drop(toolbox);
    Ok(Arc::new(runtime))
}

/// Starts the runtime where nobody looks on. What is wrong goes to the log, which never blocks, and nobody is asked.
pub(crate) fn start_unattended(setup: Setup) -> Result<Arc<Runtime>, Failure> {
    if BUILT_IN.is_empty() {
        tracing::warn!("this program was built without components");
    }
    if let Some(why) = &setup.no_workspace {
        tracing::warn!("{why}");
    }
    let runtime = Runtime::start(setup.loaded.config, BUILT_IN, None)?;
    let toolbox = runtime.toolbox();
    toolbox.faults.iter().for_each(|fault| tracing::warn!("{fault}"));
    for held in &toolbox.held {
        tracing::warn!(name = held.name, "it changed and stays as accepted; see `hermes-dispatch tools accept`");
    }
    drop(toolbox);
    Ok(Arc::new(runtime))
}

fn grant(loaded: &mut Loaded, name: &str, grant: Grant, from: Origin) {
    loaded.origins.insert(format!("grants.{name}.path"), from.clone());
    loaded.origins.insert(format!("grants.{name}.mode"), from);
    loaded.config.grants.insert(name.to_owned(), grant);
}

fn parse_grant(text: &str) -> Result<(String, Grant), Failure> {
    let wrong = || Failure::usage(format!("`--grant {text}` is not of the form NAME=DIR[:ro|rw]"));
    let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
    let (path, mode) = match (rest.strip_suffix(":rw"), rest.strip_suffix(":ro")) {
        (Some(path), _) => (path, Access::ReadWrite),
        (None, Some(path)) => (path, Access::ReadOnly),
        (None, None) => (rest, Access::ReadOnly),
    };
    if path.is_empty() {
        return Err(wrong());
    }
    if let Some(fault) = hermes_runtime::config::bad_grant_name(name) {
        return Err(Failure::usage(fault.to_string()));
    }
    if name == Config::WORKSPACE {
        return Err(Failure::usage("the workspace is named by `--workspace DIR`, not by `--grant`"));
    }
    // What is checked against the configuration is what is opened, whatever becomes of a link meanwhile.
    let path = absolute(Path::new(path))?;
    let path = path.canonicalize().unwrap_or(path);
    Ok((name.to_owned(), Grant { path, mode }))
}

/// The workspace, or why there is none.
pub(crate) fn workspace(arguments: &Arguments) -> Result<Result<PathBuf, String>, Failure> {
    let folder = match &arguments.workspace {
        Some(folder) => folder
            .canonicalize()
            .map_err(|error| Failure::usage(format!("the workspace `{}` cannot be used: {error}", folder.display())))?,
        None => {
            std::env::current_dir().map_err(|error| Failure::usage(format!("the current folder is gone: {error}")))?
        }
    };
    usable(&folder)
}

/// A folder as the workspace, or why it is none.
fn usable(folder: &Path) -> Result<Result<PathBuf, String>, Failure> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if !folder.is_dir() {
        return Err(Failure::usage(format!("the workspace `{}` is no folder", folder.display())));
    }
    if is_too_much(&folder) {
        return Ok(Err(format!(
            "`{}` is too much to hand to tools, so no file tool is served; add `--workspace DIR` with a project's folder",
            folder.display()
        )));
    }
    Ok(Ok(folder))
}

/// Whether a folder is a system's, somebody's home or holds one.
fn is_too_much(folder: &Path) -> bool {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    SYSTEM.iter().any(|system| folder.starts_with(system))
        || SHARED.iter().any(|shared| folder == Path::new(shared))
        || folder.parent() == Some(Path::new("/home"))
        || home.is_some_and(|home| home.starts_with(folder))
}

fn read(file: &Path, origin: fn(PathBuf) -> Origin) -> Result<Option<Source>, Failure> {
    let is_project = matches!(origin(PathBuf::new()), Origin::Project(_));
    let text = match is_project {
        true => hermes_runtime::document::read_text(file),
        // The user may keep its own files elsewhere and link to them.
        false => file.canonicalize().and_then(|file| hermes_runtime::document::read_text(&file)),
    };
    match text {
        Ok(text) => Ok(Some(Source { origin: origin(file.to_owned()), text, trusted: false })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::usage(format!("the configuration `{}` cannot be read: {error}", file.display()))),
    }
}

/// Whether something was installed: a folder without a plugin would be a fault.
fn has_plugins(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.path().join("adapter.toml").is_file())
}

fn file_of(source: &Source) -> PathBuf {
    match &source.origin {
        Origin::User(file) | Origin::Project(file) | Origin::System(file) => file.clone(),
        Origin::Flag | Origin::Environment | Origin::Default => PathBuf::new(),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::usage(format!("`{}` is no path: {error}", path.display())))
}

/// Whether one directory is another one or lies beneath it.
pub(crate) fn is_within(inner: &Path, outer: &Path) -> bool {
    match (inner.canonicalize(), outer.canonicalize()) {
        (Ok(inner), Ok(outer)) => path::is_beneath(&inner.to_string_lossy(), &outer.to_string_lossy()),
        _ => false,
    }
}

/// The folders of this user, by the XDG rules.
pub(crate) struct Folders {
    pub(crate) config: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) cache: PathBuf,
    /// What `plugin install` put there, after a person said so at a terminal.
    pub(crate) plugins: PathBuf,
}

impl Folders {
    /// Those that decide what is granted. A program of a tool has none, not even of its own making.
    ///
    /// # Errors
    /// In a sandbox of ours, and where nothing says where they are.
    pub(crate) fn of_this_user() -> Result<Folders, Failure> {
        match hermes_runtime::sandbox::is_in_sandbox() {
            true => Err(Failure::denied("this is the sandbox of a tool, where nothing is granted or served")),
            false => Folders::named(),
        }
    }

    /// The same, to build something there.
    ///
    /// # Errors
    /// Where nothing says where they are.
    pub(crate) fn named() -> Result<Folders, Failure> {
        let home = std::env::home_dir();
        let folder = |variable: &str, usual: &str| {
            let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            set.or_else(|| home.as_ref().map(|home| home.join(usual)))
                .map(|folder| folder.join("hermes-dispatch"))
                .ok_or_else(|| Failure::usage(format!("neither HOME nor {variable} says where this user's files are")))
        };
        Ok(Folders {
            config: folder("XDG_CONFIG_HOME", ".config")?,
            state: folder("XDG_STATE_HOME", ".local/state")?,
            cache: folder("XDG_CACHE_HOME", ".cache")?,
            plugins: folder("XDG_DATA_HOME", ".local/share")?.join("plugins"),
        })
    }
}
