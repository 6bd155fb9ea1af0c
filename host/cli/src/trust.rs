//! Which projects may name plugins and tools? Those whose files a person has seen as they are now. A change takes the
//! trust back.

use crate::args::{Arguments, TrustArguments};
use crate::failure::Failure;
use crate::output;
use crate::person::Person;
use crate::setup::Folders;
use hermes_runtime::call::Digest;
use hermes_runtime::document;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Most files of a project's plugins and tools; past that nobody has seen them all.
const FILES: usize = 10_000;

/// Largest file of a project's plugins and tools, in bytes.
const LARGEST: u64 = 64 << 20;

/// The projects that are trusted, each with the digest of its files.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trusted {
    #[serde(default)]
    projects: BTreeMap<PathBuf, Digest>,
}

/// What of a project's configuration decides which further files belong to it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    plugin_folders: Vec<PathBuf>,
    tool_folders: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, command: &TrustArguments) -> Result<u8, Failure> {
    let folders = Folders::of_this_user()?;
    let folder = match &arguments.workspace {
        Some(folder) => folder.clone(),
        None => {
            std::env::current_dir().map_err(|error| Failure::usage(format!("the current folder is gone: {error}")))?
        }
    };
    let folder = folder.canonicalize().map_err(|error| Failure::usage(format!("`{}`: {error}", folder.display())))?;
    let person = Person::present(arguments)?.ok_or_else(|| {
        Failure::denied(
            "trusting a project needs a person at a terminal; run `hermes-dispatch trust` in the project's folder yourself",
        )
    })?;
    let mut trusted = read(&folders.state)?;
    if command.revoke {
        trusted.projects.remove(&folder);
        write(&folders.state, &trusted)?;
        output::line(&format!("`{}` is not trusted any more", folder.display()));
        return Ok(0);
    }
    let project = folder.join("hermes.toml");
    let text = document::read_text(&project)
        .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", project.display())))?;
    let files =
        files(&folder, &text).map_err(|error| Failure::usage(format!("the project cannot be read: {error}")))?;
    if files.is_empty() {
        return Err(Failure::usage(format!(
            "`{}` names no plugin and no tool, so there is nothing to trust",
            project.display()
        )));
    }
    output::line(&format!("{} names these files:", project.display()));
    files.iter().for_each(|file| output::line(&format!("  {}", document::printable(&file.to_string_lossy()))));
    let unreadable = |error: std::io::Error| Failure::usage(format!("the project cannot be read: {error}"));
    let digest = |text: &str| digest(text, &files).map_err(unreadable);
    let seen = digest(&text)?;
    if !person.confirms("Have you read them, and may they decide which tools there are?") {
        return Err(Failure::denied("nothing was changed"));
    }
    let text = document::read_text(&project).map_err(unreadable)?;
    if digest(&text)? != seen {
        return Err(Failure::denied("the files changed while you were asked; nothing was changed"));
    }
    let digest = seen;
    trusted.projects.insert(folder.clone(), digest);
    write(&folders.state, &trusted)?;
    output::line(&format!("`{}` is trusted as it is now; a change takes the trust back", folder.display()));
    Ok(0)
}

/// Whether a project's files are those that a person trusted.
pub(crate) fn is_trusted(state: &Path, folder: &Path, text: &str) -> bool {
    let trusted = read(state).ok().and_then(|trusted| trusted.projects.get(folder).copied());
    let now = || digest(text, &files(folder, text).ok()?).ok();
    trusted.is_some_and(|trusted| now() == Some(trusted))
}

/// All files that a project's configuration brings in, sorted.
fn files(folder: &Path, text: &str) -> std::io::Result<Vec<PathBuf>> {
    let named: Named = toml::from_str(text).unwrap_or_default();
    let mut files = Vec::new();
    for named in named.plugin_folders.iter().chain(&named.tool_folders) {
        collect(&folder.join(named), &mut files)?;
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if files.len() > FILES {
        return Err(std::io::Error::other(format!("more than {FILES} files")));
    }
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
        return Ok(());
    }
    match path.symlink_metadata() {
        Ok(_) => files.push(path.to_owned()),
        Err(error) => return Err(std::io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))),
    }
    Ok(())
}

fn digest(text: &str, files: &[PathBuf]) -> std::io::Result<Digest> {
    let mut parts = vec![text.as_bytes().to_vec()];
    for file in files {
        parts.push(file.as_os_str().as_encoded_bytes().to_vec());
        parts.push(Digest::of(&document::read_regular(file, LARGEST)?).bytes().to_vec());
    }
    Ok(Digest::of_parts(parts.iter().map(Vec::as_slice)))
}

fn file(state: &Path) -> PathBuf {
    state.join("trust.toml")
}

fn read(state: &Path) -> Result<Trusted, Failure> {
    match std::fs::read_to_string(file(state)) {
        Ok(text) => document::from_toml(&file(state), &text)
            .map_err(|fault| Failure::usage(format!("the list of trusted projects is damaged: {fault}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Trusted::default()),
        Err(error) => Err(Failure::usage(format!("`{}` cannot be read: {error}", file(state).display()))),
    }
}

fn write(state: &Path, trusted: &Trusted) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::unavailable(format!("`{}` cannot be written: {error}", file(state).display()));
    let text = toml::to_string(trusted).map_err(|error| Failure::internal(error.to_string()))?;
    let partial = state.join(format!("trust.toml.{}", std::process::id()));
    let save = || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
        let mut out = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
        std::io::Write::write_all(&mut out, text.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&partial, file(state))
    };
    save().map_err(failed)
}
