//! How does a plugin come into service? It is loaded on a scratch world first, shown to the person at the terminal, and
//! put into the user's folder of plugins; nothing runs that was not asked for there.

use super::{cache, pack};
use crate::args::Arguments;
use crate::failure::Failure;
use crate::person::Person;
use crate::terminal::printable_lines;
use crate::{output, setup};
use hermes_testkit::Setting;
use hermes_testkit::plugin::Plugin;
use std::path::{Path, PathBuf};

pub(crate) fn run(arguments: &Arguments, plugin: &Path) -> Result<u8, Failure> {
    let parts = match plugin.is_dir() {
        true => pack::parts(&super::plugin_folder(plugin)?)?,
        false => pack::unpacked(plugin)?,
    };
    let scratch = tempfile::tempdir().map_err(|error| Failure::internal(error.to_string()))?;
    write(scratch.path(), &parts)?;
    let read = Plugin::read(scratch.path()).map_err(Failure::usage)?;
    let cache = cache()?;
    Setting::new(read.clone())
        .and_then(|setting| setting.cache(&cache).start())
        .map_err(|why| Failure::usage(format!("the plugin cannot be loaded: {why}")))?;
    let place = folder()?.join(&read.name);
    let manifest = String::from_utf8_lossy(&parts["adapter.toml"]).into_owned();
    let tools: Vec<String> = read.tools().map_err(Failure::usage)?.into_iter().map(|(name, _)| name).collect();
    let question = printable_lines(&format!(
        "Install the plugin `{}` with the tools {} into {}?\n\n{manifest}\nIt gets the capabilities that it asks for above.",
        read.name,
        tools.join(", "),
        place.display()
    ));
    let person = Person::present(arguments)?.ok_or_else(|| {
        Failure::denied("installing a plugin needs a person at a terminal, since it widens what tools can do")
    })?;
    if !person.confirms(&question) {
        return Err(Failure::denied("nothing was installed"));
    }
    if place.exists() {
        std::fs::remove_dir_all(&place).map_err(|error| Failure::internal(error.to_string()))?;
    }
    write(&place, &parts)?;
    output::line(&format!("installed {}", place.display()));
    let known = setup::load(arguments)?.loaded.config.plugin_folders;
    if !known.iter().any(|known| place.starts_with(known)) {
        output::line(&format!(
            "add this line to your configuration:\n  plugin_folders = [{:?}]",
            place.parent().unwrap_or(&place)
        ));
    }
    Ok(0)
}

/// The user's folder of plugins, by the XDG rules.
fn folder() -> Result<PathBuf, Failure> {
    let set = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| Some(std::env::home_dir()?.join(".local/share")))
        .map(|folder| folder.join("hermes-dispatch/plugins"))
        .ok_or_else(|| Failure::usage("neither HOME nor XDG_DATA_HOME says where this user's files are"))
}

fn write(folder: &Path, parts: &std::collections::BTreeMap<String, Vec<u8>>) -> Result<(), Failure> {
    for (name, bytes) in parts {
        let file = folder.join(name);
        let parent = file.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&file, bytes))
            .map_err(|error| Failure::usage(format!("`{}` cannot be written: {error}", file.display())))?;
    }
    Ok(())
}
