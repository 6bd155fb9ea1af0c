//! How does a plugin come into service? It is loaded on a scratch world first, shown to the person at the terminal, and
//! put into the user's folder of plugins; nothing runs that was not asked for there.

use super::{cache, pack};
use crate::args::Arguments;
use crate::failure::Failure;
use crate::output;
use crate::person::Person;
use crate::setup::Folders;
use crate::terminal::printable_lines;
use hermes_testkit::Setting;
use hermes_testkit::plugin::Plugin;
use std::path::Path;

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
    if !super::new::is_name(&read.name) {
        return Err(Failure::usage(format!("`{}` cannot be a folder's name", read.name.escape_default())));
    }
    let place = Folders::of_this_user()?.plugins.join(&read.name);
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
    output::line(&format!("installed {}; its tools are in service", place.display()));
    Ok(0)
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
