//! What does a server offer? Its tools page by page, each read for itself, so that one that cannot be read hides no
//! other. What it says of them is data: shortened, made printable, and believed only where the operator says so.

use super::connection::Connection;
use super::endpoint;
use super::pin::Catalogue;
use crate::call::Digest;
use crate::document::{excerpt, is_deceptive};
use crate::sandbox::bindings::hermes::tool::mcp::{Failure, Operation};
use crate::sandbox::capability::Offer;
use crate::servers::Server;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Instant;

/// Pages of one list, and things on all of them. A list without end is cut here.
const PAGES: usize = 200;
const ITEMS: usize = 10_000;
/// Longest name of a registry's entry.
const NAME: usize = 64;
/// Longest description, in bytes.
const DESCRIPTION: usize = 6000;

/// All items of a list that may have several pages.
pub(super) async fn pages(
    connection: &Connection,
    method: &str,
    key: &str,
    until: Instant,
) -> Result<Vec<Value>, Failure> {
    let mut items = Vec::new();
    let mut cursors: Vec<String> = Vec::new();
    loop {
        let params = match cursors.last() {
            Some(cursor) => json!({ "cursor": cursor }),
            None => json!({}),
        };
        let page = connection.request(method, params, until, None).await?;
        let mut page: Map<String, Value> = serde_json::from_str(&page).unwrap_or_default();
        if let Some(Value::Array(found)) = page.remove(key) {
            items.extend(found);
        }
        match page.remove("nextCursor") {
            Some(Value::String(next)) if !cursors.contains(&next) && cursors.len() < PAGES && items.len() < ITEMS => {
                cursors.push(next);
            }
            _ => {
                items.truncate(ITEMS);
                return Ok(items);
            }
        }
    }
}

/// A tool as a server says it.
#[derive(Deserialize)]
struct Said {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(rename = "inputSchema", default)]
    input_schema: Option<Value>,
    #[serde(default)]
    annotations: Option<Hints>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Hints {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

/// The registry's entries for what a server has besides tools. Their names have no `_`, as every tool's has. Only the
/// first is a tool that agents see; the others stand behind the lists of the protocol.
pub(super) fn others(name: &str, server: &Server, adapter: &str, catalogue: &Catalogue) -> Vec<Offer> {
    let text = |name: &str, words: &str| {
        json!({
            "name": name, "type": "string", "required": true, "description": words,
            "validation": { "max_length": 4096, "format": "text" },
        })
    };
    let object = |name: &str, required: bool| json!({ "name": name, "type": "object", "required": required });
    let uri = || text("uri", "The resource's address, as the server lists it");
    let all = [
        (catalogue.resources, Operation::ReadResource, "resource", vec![uri()]),
        (catalogue.resources, Operation::ListResources, "resources", vec![]),
        (catalogue.resources, Operation::ListTemplates, "templates", vec![]),
        (catalogue.prompts, Operation::ListPrompts, "prompts", vec![]),
        (catalogue.prompts, Operation::GetPrompt, "prompt", vec![text("name", "Its name"), object("arguments", false)]),
        (
            catalogue.completions,
            Operation::Complete,
            "completion",
            vec![object("ref", true), object("argument", true), object("context", false)],
        ),
    ];
    let offer = |(_, operation, what, inputs): (bool, Operation, &str, Vec<Value>)| {
        let manifest = json!({ "tool": {
            "name": format!("{name}-{what}"),
            "version": "0.0.0",
            "description": match operation {
                Operation::ReadResource => format!("Read a resource of the server `{name}` by its address."),
                _ => format!("What the server `{name}` has besides its tools: {what}."),
            },
            "category": "mcp",
            "inputs": inputs,
            "unlisted": operation != Operation::ReadResource,
            "permissions": { "required_roles": server.roles.0, "risk_level": "low", "requires_approval": true },
            "effect": { "kind": "read", "idempotent": true, "open_world": true },
            "backend": { "type": "mcp", "adapter": adapter, "endpoint": endpoint::of_operation(name, operation) },
        } });
        Offer { origin: format!("the server `{name}`, its {what}"), manifest }
    };
    all.into_iter().filter(|(is_there, ..)| *is_there).map(offer).collect()
}

/// A tool of a server as the registry takes it; nothing for one that is not served.
///
/// # Errors
/// Why this one is left out.
pub(super) fn tool(name: &str, server: &Server, adapter: &str, said: Value) -> Result<Option<Offer>, String> {
    let said: Said = serde_json::from_value(said).map_err(|error| format!("a tool cannot be read: {error}"))?;
    let origin = format!("the server `{name}`, its tool `{}`", excerpt(&said.name, 80));
    if said.name.is_empty() {
        return Err("a tool has no name".into());
    }
    if !server.serves(&said.name) {
        return Ok(None);
    }
    let schema = match said.input_schema {
        Some(Value::Object(schema)) => schema,
        None => Map::from_iter([("type".to_owned(), json!("object"))]),
        Some(_) => return Err(format!("{origin}: its schema is no object")),
    };
    let words = said.description.or(said.title).unwrap_or_default();
    let manifest = json!({ "tool": {
        "name": entry(name, &said.name),
        "version": "0.0.0",
        "description": description(name, &said.name, &words),
        "category": "mcp",
        "input_schema": schema,
        "permissions": { "required_roles": server.roles.0, "risk_level": "medium", "requires_approval": true },
        "effect": effect(said.annotations.filter(|_| server.trust_annotations)),
        "backend": { "type": "mcp", "adapter": adapter, "endpoint": endpoint::of_tool(name, &said.name) },
    } });
    Ok(Some(Offer { origin, manifest }))
}

/// Without hints that are believed, a tool can do anything.
fn effect(hints: Option<Hints>) -> Value {
    let hints = hints.unwrap_or_default();
    let kind = match (hints.read_only_hint, hints.destructive_hint) {
        (Some(true), _) => "read",
        (_, Some(false)) => "write",
        (_, Some(true) | None) => "destructive",
    };
    json!({
        "kind": kind,
        "idempotent": hints.idempotent_hint.unwrap_or(false),
        "open_world": hints.open_world_hint.unwrap_or(true),
    })
}

/// The one name of a server's tool in the registry. It depends on nothing else, so that no order of connecting changes
/// it. A server's name has no `_`, so the first one ends it; a name that has to be changed or cut ends with a digest of
/// the whole, so that no two become one.
pub(super) fn entry(server: &str, tool: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let plain: String = tool.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    let name = format!("{server}_{plain}");
    if plain == tool && name.len() <= NAME {
        return name;
    }
    let digest = &Digest::of_parts([server.as_bytes(), tool.as_bytes()]).hex()[..8];
    format!("{}_{digest}", &name[..name.len().min(NAME - 9)])
}

fn description(server: &str, tool: &str, words: &str) -> String {
    let words: String = words.chars().filter(|c| !is_deceptive(*c) || matches!(c, '\n' | '\t')).collect();
    let words = words.trim();
    let end = crate::document::floor_char_boundary(words, DESCRIPTION.min(words.len()));
    match &words[..end] {
        "" => format!("The tool `{}` of the server `{server}`, which says nothing about it.", excerpt(tool, 80)),
        words => format!("{words}\n\n(Offered by the server `{server}`; the words are its own.)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_one_name_of_its_own() {
        assert_eq!(entry("db", "read_query"), "db_read_query");
        let names = [
            entry("s", "a.b"),
            entry("s", "a_b"),
            entry("s", "a/b"),
            entry("s", &format!("{}list_items_alpha", "x".repeat(60))),
            entry("s", &format!("{}list_items_beta", "x".repeat(60))),
            entry("t", "a.b"),
            entry("s", &"x".repeat(62)),
            entry("s", &"x".repeat(63)),
            entry("s", ""),
        ];
        let set: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(set.len(), names.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= NAME), "{names:?}");
    }

    #[test]
    fn what_a_server_says_of_its_tools_counts_only_where_it_is_believed() {
        let said = || json!({ "name": "x", "inputSchema": {}, "annotations": { "readOnlyHint": true } });
        let kind = |server: &Server| {
            tool("s", server, "a", said()).unwrap().unwrap().manifest["tool"]["effect"]["kind"].clone()
        };
        assert_eq!(kind(&Server::default()), "destructive");
        assert_eq!(kind(&Server { trust_annotations: true, ..Server::default() }), "read");
    }

    #[test]
    fn words_that_deceive_are_left_out() {
        let text = description("s", "t", "reads \u{202e}files\u{200b}\u{e0041}\nsafely");
        assert!(text.starts_with("reads files\nsafely\n"), "{text}");
        assert!(description("s", "t", &"ä".repeat(100_000)).len() < 8192);
    }
}
