//! How does an agent's client learn of this runtime? By one entry in its configuration, outside the workspace, so that
//! no agent can change how it is guarded. What else is in the file stays as it is, comments too.

mod edit;

use crate::args::{Arguments, ClientAddArguments, ClientName, ModeArgument};
use crate::failure::Failure;
use crate::{output, setup};
use edit::Entry;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where a client keeps its servers.
struct Place {
    file: PathBuf,
    /// The keys that lead to the table of servers.
    keys: Vec<String>,
    edit: fn(&str, &[String], &Entry, edit::Existing) -> Result<String, edit::EditError>,
    /// What an entry says that it is, where the client wants to be told.
    kind: Option<&'static str>,
}

pub(crate) fn add(arguments: &Arguments, command: &ClientAddArguments) -> Result<u8, Failure> {
    let workspace = setup::workspace(arguments)?.map_err(Failure::usage)?;
    let place = place(command.client, &workspace)?;
    let (name, args) = (command.name.clone(), args(arguments, &workspace)?);
    let entry = Entry { name, kind: place.kind, command: this_program()?, args };
    let existing = if command.replace { edit::Existing::Replace } else { edit::Existing::Keep };
    if command.print {
        let text = (place.edit)("", &place.keys, &entry, existing).map_err(|error| wrong(&place.file, &error))?;
        output::line(&format!("in {}:\n\n{}", place.file.display(), text.trim_end()));
        return Ok(0);
    }
    // A link is followed, so that it stays one.
    let file = place.file.canonicalize().unwrap_or_else(|_| place.file.clone());
    let before = read(&file)?;
    let after = (place.edit)(before.as_deref().unwrap_or_default(), &place.keys, &entry, existing)
        .map_err(|error| wrong(&file, &error))?;
    if before.as_deref() == Some(&after) {
        output::line(&format!("`{}` is in {} already", entry.name, file.display()));
        return Ok(0);
    }
    let backup = write(&file, before.as_deref(), &after)
        .map_err(|error| Failure::unavailable(format!("`{}` cannot be written: {error}", file.display())))?;
    let kept = backup.map(|backup| format!("; what was there is in {}", backup.display())).unwrap_or_default();
    output::line(&format!("`{}` is in {}{kept}", entry.name, file.display()));
    output::line("start the client anew; calls that need a person are refused until someone can be asked");
    Ok(0)
}

fn place(client: ClientName, workspace: &Path) -> Result<Place, Failure> {
    let home = std::env::home_dir().ok_or_else(|| Failure::usage("HOME does not say where the client's files are"))?;
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    let place = |file: PathBuf, key: &str, kind| Place { file, keys: keys(&[key]), edit: edit::json, kind };
    Ok(match client {
        ClientName::ClaudeCode => Place {
            file: home.join(".claude.json"),
            keys: keys(&["projects", &workspace.to_string_lossy(), "mcpServers"]),
            edit: edit::json,
            kind: Some("stdio"),
        },
        ClientName::Cursor => place(home.join(".cursor/mcp.json"), "mcpServers", Some("stdio")),
        ClientName::Codex => {
            let folder = std::env::var_os("CODEX_HOME").map_or_else(|| home.join(".codex"), PathBuf::from);
            Place { file: folder.join("config.toml"), keys: keys(&["mcp_servers"]), edit: edit::toml, kind: None }
        }
        ClientName::Vscode => {
            let settings = std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
            let folder = match cfg!(target_os = "macos") {
                true => home.join("Library/Application Support"),
                false => settings,
            };
            place(folder.join("Code/User/mcp.json"), "servers", Some("stdio"))
        }
        ClientName::Windsurf => place(home.join(".codeium/windsurf/mcp_config.json"), "mcpServers", None),
        ClientName::Gemini => place(home.join(".gemini/settings.json"), "mcpServers", None),
    })
}

fn this_program() -> Result<String, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::internal(format!("this program does not know where it is: {error}")))?;
    text(&program)
}

fn args(arguments: &Arguments, workspace: &Path) -> Result<Vec<String>, Failure> {
    let mut args = vec!["run".to_owned(), "--workspace".to_owned(), text(workspace)?];
    let mode = arguments.mode.map(|mode| match mode {
        ModeArgument::Explore => "explore".to_owned(),
        ModeArgument::Workflow => "workflow".to_owned(),
    });
    let config = arguments.config.as_deref().map(std::path::absolute).transpose();
    let config = config.map_err(|error| Failure::usage(format!("`--config` is no path: {error}")))?;
    let options = [
        ("--config", config.as_deref().map(text).transpose()?),
        ("--role", arguments.role.clone()),
        ("--workflow", arguments.workflow.clone()),
        ("--mode", mode),
        ("--purpose", arguments.purpose.clone()),
    ];
    for (option, value) in options {
        args.extend(value.map(|value| [option.to_owned(), value]).into_iter().flatten());
    }
    args.extend(arguments.grant.iter().flat_map(|grant| ["--grant".to_owned(), grant.clone()]));
    Ok(args)
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure::usage(format!("`{}` is no UTF-8, which the client's configuration needs", path.display()))
    })
}

fn wrong(file: &Path, error: &edit::EditError) -> Failure {
    Failure::usage(format!("`{}`: {error}", file.display()))
}

fn read(file: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::usage(format!("`{}` cannot be read: {error}", file.display()))),
    }
}

/// Writes the file as a whole or not at all, and returns where the old one is kept.
pub(crate) fn write(file: &Path, before: Option<&str>, after: &str) -> std::io::Result<Option<PathBuf>> {
    let beside = |ending: &str| {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        file.with_file_name(name)
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mode = std::fs::metadata(file).map_or(0o600, |metadata| metadata.permissions().mode() & 0o777);
    let create = |path: &Path, text: &str| {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S%.6f").to_string();
    let backup = before.map(|before| (beside(&format!(".{now}.bak")), before));
    if let Some((path, before)) = &backup {
        create(path, before)?;
    }
    let partial = beside(&format!(".{now}.new"));
    create(&partial, after)?;
    std::fs::rename(&partial, file)?;
    Ok(backup.map(|(path, _)| path))
}
