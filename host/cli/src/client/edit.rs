//! How does one entry get into a file that belongs to somebody else? Text in, text out; what is not the entry keeps
//! every byte. Must not touch files.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use toml_edit::{Array, DocumentMut, Item, Table, value};

/// A server in a client's configuration.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// What the client wants to be told that it is, in JSON.
    pub(super) kind: Option<&'static str>,
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

/// What happens to another entry of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    Keep,
    Replace,
}

/// Why the entry cannot be added.
#[derive(Debug, thiserror::Error)]
pub(super) enum EditError {
    #[error("it is not what the client could read: {0}")]
    Unreadable(String),
    #[error("`{0}` in it is no table of servers")]
    NoTable(String),
    #[error("it has another server called `{0}`; give `--replace`, or `--name` for a second one")]
    Taken(String),
}

/// Adds the entry to JSON with comments.
pub(super) fn json(text: &str, keys: &[String], entry: &Entry, existing: Existing) -> Result<String, EditError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let unreadable = |why: String| EditError::Unreadable(why);
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| unreadable(error.to_string()))?;
    let mut table = root.object_value_or_create().ok_or_else(|| unreadable("it is no JSON object".into()))?;
    for key in keys {
        table = table.object_value_or_create(key).ok_or_else(|| EditError::NoTable(key.clone()))?;
    }
    set(&table, entry, existing)?;
    Ok(root.to_string())
}

fn set(table: &CstObject, entry: &Entry, existing: Existing) -> Result<(), EditError> {
    let mut wanted = serde_json::json!({ "command": entry.command, "args": entry.args });
    let args = entry.args.iter().map(|arg| CstInputValue::String(arg.clone())).collect();
    let mut members = Vec::new();
    if let Some(kind) = entry.kind {
        wanted["type"] = kind.into();
        members.push(("type".to_owned(), CstInputValue::String(kind.to_owned())));
    }
    members.push(("command".to_owned(), CstInputValue::String(entry.command.clone())));
    members.push(("args".to_owned(), CstInputValue::Array(args)));
    let value = CstInputValue::Object(members);
    match table.get(&entry.name) {
        None => drop(table.append(&entry.name, value)),
        Some(found) if found.to_serde_value().as_ref() == Some(&wanted) => {}
        Some(found) if existing == Existing::Replace => found.set_value(value),
        Some(_) => return Err(EditError::Taken(entry.name.clone())),
    }
    Ok(())
}

/// Adds the entry to TOML.
pub(super) fn toml(text: &str, keys: &[String], entry: &Entry, existing: Existing) -> Result<String, EditError> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| EditError::Unreadable(error.to_string()))?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for key in keys {
        let item = table.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        table = item.as_table_like_mut().ok_or_else(|| EditError::NoTable(key.clone()))?;
    }
    let mut wanted = Table::new();
    wanted.insert("command", value(&entry.command));
    wanted.insert("args", value(entry.args.iter().collect::<Array>()));
    match table.get(&entry.name) {
        Some(found) if is_same(found, &wanted) => return Ok(text.to_owned()),
        Some(_) if existing == Existing::Keep => return Err(EditError::Taken(entry.name.clone())),
        Some(_) | None => drop(table.insert(&entry.name, Item::Table(wanted))),
    }
    Ok(document.to_string())
}

fn is_same(found: &Item, wanted: &Table) -> bool {
    let text = |item: Option<&Item>| item.map(|item| item.to_string().split_whitespace().collect::<String>());
    let Some(found) = found.as_table_like() else { return false };
    found.len() == wanted.len() && ["command", "args"].iter().all(|key| text(found.get(key)) == text(wanted.get(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            name: "hermes".into(),
            kind: Some("stdio"),
            command: "/bin/hermes-dispatch".into(),
            args: vec!["run".into(), "--workspace".into(), "/w \"x\"".into()],
        }
    }

    fn keys(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn a_file_of_json_keeps_its_comments_and_the_other_servers() {
        let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // theirs\n  },\n  \"b\": 1.50\n}\n";
        let after = json(before, &keys(&["mcpServers"]), &entry(), Existing::Keep).unwrap();
        for kept in ["// mine", "\"other\": { \"command\": \"x\" }", "// theirs", "\"b\": 1.50"] {
            assert!(after.contains(kept), "{kept} is gone: {after}");
        }
        assert!(after.contains("\"/w \\\"x\\\"\""), "{after}");
        assert_eq!(json(&after, &keys(&["mcpServers"]), &entry(), Existing::Keep).unwrap(), after, "twice is once");
    }

    #[test]
    fn a_file_that_is_not_there_is_made() {
        let after = json("", &keys(&["projects", "/w", "mcpServers"]), &entry(), Existing::Keep).unwrap();
        let value: serde_json::Value = serde_json::from_str(&after).unwrap();
        assert_eq!(value["projects"]["/w"]["mcpServers"]["hermes"]["args"][0], "run");
        let after = toml("", &keys(&["mcp_servers"]), &entry(), Existing::Keep).unwrap();
        assert!(after.starts_with("[mcp_servers.hermes]\ncommand = \"/bin/hermes-dispatch\"\n"), "{after}");
    }

    #[test]
    fn a_file_of_toml_keeps_its_comments_and_the_other_servers() {
        let before = "# mine\nmodel = \"o\" # theirs\n\n[mcp_servers.other]\ncommand = \"x\"\n";
        let after = toml(before, &keys(&["mcp_servers"]), &entry(), Existing::Keep).unwrap();
        assert!(after.starts_with(before), "{after}");
        assert_eq!(toml(&after, &keys(&["mcp_servers"]), &entry(), Existing::Keep).unwrap(), after, "twice is once");
    }

    #[test]
    fn another_server_of_that_name_is_only_replaced_when_that_is_said() {
        let before = "{\"mcpServers\":{\"hermes\":{\"command\":\"mine\"}}}";
        let add = |existing| json(before, &keys(&["mcpServers"]), &entry(), existing);
        assert!(matches!(add(Existing::Keep), Err(EditError::Taken(_))));
        assert!(!add(Existing::Replace).unwrap().contains("mine"));
        let before = "[mcp_servers.hermes]\ncommand = \"mine\"\n";
        let add = |existing| toml(before, &keys(&["mcp_servers"]), &entry(), existing);
        assert!(matches!(add(Existing::Keep), Err(EditError::Taken(_))));
        assert!(!add(Existing::Replace).unwrap().contains("mine"));
    }

    #[test]
    fn what_is_no_configuration_is_left_alone() {
        for text in ["[1]", "{", "{\"mcpServers\": 1}"] {
            assert!(json(text, &keys(&["mcpServers"]), &entry(), Existing::Replace).is_err(), "{text}");
        }
        assert!(toml("mcp_servers = 1", &keys(&["mcp_servers"]), &entry(), Existing::Replace).is_err());
    }
}
