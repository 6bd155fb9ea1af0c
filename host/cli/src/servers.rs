//! How do servers that another program's file names come into the user's own configuration? Read, shown as the lines that
//! would be added, confirmed by a person, and written with a backup; what else is in the file stays as it is, comments too.

use crate::args::{Arguments, ServersCommand, ServersImportArguments};
use crate::client::write;
use crate::failure::Failure;
use crate::output;
use crate::person::Person;
use crate::setup::Folders;
use crate::terminal::printable_lines;
use hermes_runtime::config::{Config, Origin, Source};
use hermes_runtime::sandbox::servers_seen;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Map, Value};
use std::path::PathBuf;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

/// Largest file that is read, in bytes.
const LARGEST: u64 = 4 << 20;
/// Longest name of a server.
const NAME: usize = 32;
/// Where clients keep their servers.
const KEYS: [&str; 3] = ["mcpServers", "servers", "mcp_servers"];

pub(crate) fn run(arguments: &Arguments, command: &ServersCommand) -> Result<u8, Failure> {
    match command {
        ServersCommand::Import(command) => import(arguments, command),
    }
}

fn import(arguments: &Arguments, command: &ServersImportArguments) -> Result<u8, Failure> {
    let shown = command.file.display();
    let text = hermes_runtime::document::read_regular(&command.file, LARGEST)
        .map_err(|error| Failure::usage(format!("`{shown}` cannot be read: {error}")))?;
    let text = String::from_utf8(text).map_err(|_| Failure::usage(format!("`{shown}` is no text")))?;
    let servers = named(&text).map_err(|why| Failure::usage(format!("`{shown}`: {why}")))?;
    let file = own_file(arguments)?;
    let before = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::usage(format!("`{}` cannot be read: {error}", file.display()))),
    };
    let (after, notes) = added(&before, &servers, command.replace)
        .map_err(|why| Failure::usage(format!("`{}`: {why}", file.display())))?;
    let source = Source { origin: Origin::User(file.clone()), text: after.clone(), trusted: false };
    let folders = Folders::of_this_user()?;
    let loaded = Config::load(Config::new(&folders.state, &folders.cache), &[source])?;
    if after == before {
        output::line(&format!("all servers of {shown} are in {} already", file.display()));
        return Ok(0);
    }
    output::line(&printable_lines(&format!("in {}:\n\n{}", file.display(), difference(&before, &after))));
    for (name, seen) in servers_seen(&loaded.config.with_own_places_protected()) {
        if servers.keys().any(|theirs| own_name(theirs) == name) {
            let seen = seen.unwrap_or_else(|why| why);
            output::line(&printable_lines(&format!("server `{name}`: {seen}")));
        }
    }
    output::line("more is listed in `[mcp.servers.NAME.sandbox]`: `read`, `write`, `network`\n");
    notes.iter().for_each(|note| output::warn(note));
    if command.print {
        return Ok(0);
    }
    let person = Person::present(arguments)?.ok_or_else(|| {
        Failure::denied(
            "adding servers needs a person at a terminal, since it widens what tools can do; `--print` shows it",
        )
    })?;
    if !person.confirms("Add these servers? Their programs run when one of their tools is called.") {
        return Err(Failure::denied("nothing was changed"));
    }
    if std::fs::read_to_string(&file).unwrap_or_default() != before {
        return Err(Failure::denied("the configuration changed while you were asked; nothing was changed"));
    }
    let backup = write(&file, Some(before.as_str()).filter(|before| !before.is_empty()), &after)
        .map_err(|error| Failure::unavailable(format!("`{}` cannot be written: {error}", file.display())))?;
    let kept = backup.map(|backup| format!("; what was there is in {}", backup.display())).unwrap_or_default();
    output::line(&format!("written{kept}; `hermes-dispatch tools list` shows what they offer"));
    Ok(0)
}

/// The user's own configuration file; a link to it is followed, so that it stays one.
fn own_file(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let file = match &arguments.config {
        Some(file) => file.clone(),
        None => Folders::of_this_user()?.config.join("config.toml"),
    };
    Ok(file.canonicalize().unwrap_or(file))
}

/// The servers that a client's file names.
fn named(text: &str) -> Result<Map<String, Value>, String> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| format!("it is no JSON: {error}"))?;
    let file: Value = root.to_serde_value().unwrap_or_default();
    let found = KEYS.iter().find_map(|key| file.get(key)).and_then(Value::as_object);
    let found = found.ok_or_else(|| format!("it has none of {}", KEYS.map(|key| format!("`{key}`")).join(", ")))?;
    match found.is_empty() {
        true => Err("it names no server".into()),
        false => Ok(found.clone()),
    }
}

/// The configuration with the servers in it, and what a person should know.
fn added(before: &str, servers: &Map<String, Value>, replace: bool) -> Result<(String, Vec<String>), String> {
    let mut document: DocumentMut = before.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let mut table = document.as_table_mut();
    for key in ["mcp", "servers"] {
        let item = table.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        table = item.as_table_mut().ok_or_else(|| format!("`{key}` in it is no table of its own"))?;
    }
    let mut notes = Vec::new();
    for (name, server) in servers {
        let own = own_name(name);
        if own != *name {
            notes.push(format!("the server `{}` is called `{own}` here", printable_lines(name)));
        }
        let wanted =
            entry(server, &mut notes).map_err(|why| format!("the server `{}`: {why}", printable_lines(name)))?;
        match table.get(&own) {
            Some(found) if flat(found) == flat(&Item::Table(wanted.clone())) => {}
            Some(_) if !replace => return Err(format!("it has another server `{own}`; give `--replace`")),
            Some(_) | None => drop(table.insert(&own, Item::Table(wanted))),
        }
    }
    Ok((document.to_string(), notes))
}

/// A name that a server can have here.
fn own_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(plain).take(NAME).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "server".to_owned() } else { name.to_owned() }
}

/// One server in the words of the configuration.
fn entry(server: &Value, notes: &mut Vec<String>) -> Result<Table, String> {
    let text = |key: &str| server.get(key).and_then(Value::as_str);
    let mut table = Table::new();
    match (text("command"), text("url").or(text("serverUrl"))) {
        (Some(command), None) => {
            let mut argv = Array::from_iter([command]);
            for arg in server.get("args").and_then(Value::as_array).into_iter().flatten() {
                argv.push(arg.as_str().ok_or("one of `args` is no text")?);
            }
            table.insert("argv", value(argv));
            if let Some(folder) = text("cwd") {
                table.insert("directory", value(folder));
            }
        }
        (None, Some(url)) => drop(table.insert("url", value(url))),
        (Some(_), Some(_)) => return Err("it has `command` and `url`".into()),
        (None, None) => return Err("it has neither `command` nor `url`".into()),
    }
    for (theirs, ours) in [("env", "env"), ("headers", "headers")] {
        let Some(members) = server.get(theirs).and_then(Value::as_object) else { continue };
        let mut settings = InlineTable::new();
        for (name, said) in members {
            let said = said.as_str().ok_or_else(|| format!("`{theirs}.{name}` is no text"))?;
            match variable(said) {
                Some(variable) => {
                    let from = InlineTable::from_iter([("variable", toml_edit::Value::from(variable))]);
                    settings.insert(name, from.into());
                }
                None if said.contains("${") => {
                    notes
                        .push(format!("`{theirs}.{name}` names a variable within a text, which is taken as it stands"));
                    settings.insert(name, said.into());
                }
                None => drop(settings.insert(name, said.into())),
            }
        }
        if !settings.is_empty() {
            table.insert(ours, value(settings));
        }
    }
    if server.get("disabled").and_then(Value::as_bool) == Some(true) {
        table.insert("disabled", value(true));
    }
    Ok(table)
}

/// The variable that a text stands for as a whole: `${NAME}` or `${env:NAME}`.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then_some(name)
}

fn flat(item: &Item) -> String {
    item.to_string().split_whitespace().collect()
}

/// The lines that are new or gone, with what is around them left out.
fn difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - same;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let gone = before[same..before.len() - tail].iter().map(|line| format!("- {line}"));
    let new = after[same..after.len() - tail].iter().map(|line| format!("+ {line}"));
    gone.chain(new).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
        // mine
        "mcpServers": {
            "GitHub": { "command": "npx", "args": ["-y", "server-github"], "env": { "TOKEN": "${GITHUB_TOKEN}", "A": "b" } },
            "far away": { "type": "http", "url": "https://mcp.example/x", "headers": { "Authorization": "Bearer ${T}" } },
        },
    }"#;

    #[test]
    fn servers_of_a_clients_file_are_those_of_the_configuration() {
        let (after, notes) = added("# mine\n[roles.A] # theirs\n", &named(FILE).unwrap(), false).unwrap();
        assert!(after.starts_with("# mine\n[roles.A] # theirs\n"), "{after}");
        let config = after.parse::<DocumentMut>().unwrap();
        let servers = &config["mcp"]["servers"];
        assert_eq!(servers["github"]["argv"].as_array().unwrap().len(), 3);
        assert_eq!(servers["github"]["env"]["TOKEN"]["variable"].as_str(), Some("GITHUB_TOKEN"));
        assert_eq!(servers["github"]["env"]["A"].as_str(), Some("b"));
        assert_eq!(servers["far-away"]["url"].as_str(), Some("https://mcp.example/x"));
        assert_eq!(notes.len(), 3, "{notes:?}");
        let (again, _) = added(&after, &named(FILE).unwrap(), false).unwrap();
        assert_eq!(again, after, "twice is once");
        assert!(difference("a\nb\n", &format!("a\n{after}b\n")).lines().all(|line| line.starts_with("+ ")));
    }

    #[test]
    fn another_server_of_the_name_is_only_replaced_when_that_is_said() {
        let before = "[mcp.servers.github]\nargv = [\"mine\"]\n";
        assert!(added(before, &named(FILE).unwrap(), false).unwrap_err().contains("--replace"));
        assert!(!added(before, &named(FILE).unwrap(), true).unwrap().0.contains("mine"));
    }

    #[test]
    fn what_is_no_list_of_servers_is_said() {
        for text in ["", "[]", "{}", "{\"mcpServers\": {}}", "{\"mcpServers\": 1}"] {
            assert!(named(text).is_err(), "{text}");
        }
        let wrong = |text: &str| added("", &named(text).unwrap(), false).unwrap_err();
        assert!(wrong("{\"servers\":{\"a\":{}}}").contains("neither"));
        assert!(wrong("{\"servers\":{\"a\":{\"command\":\"x\",\"args\":[1]}}}").contains("no text"));
        assert!(wrong("{\"servers\":{\"a\":{\"command\":\"x\",\"url\":\"y\"}}}").contains("`command` and `url`"));
    }
}
