//! Where does a call of a tool go? The endpoint of its manifest, and the routes of the configuration, say which server
//! and what there. Pure: reaches nobody.

use super::not_bound;
use crate::registry::stands_for::encoded;
use crate::sandbox::bindings::hermes::tool::mcp::{Failure, Operation};
use crate::servers::McpSettings;
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Before the server's name in an endpoint.
pub(super) const SCHEME: &str = "mcp://";

/// What a call goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) server: String,
    pub(super) operation: Operation,
    /// The server's own name of the tool, for a call of one.
    pub(super) tool: String,
}

/// Names under which manifests know what servers offer, compiled. Lifetime: the runtime.
#[derive(Default)]
pub(super) struct Routes(BTreeMap<String, Vec<Route>>);

struct Route {
    tool: String,
    when: Vec<(String, Regex)>,
    server: String,
    to: String,
}

impl Routes {
    /// The patterns were checked when the configuration was.
    pub(super) fn of(settings: &McpSettings) -> Routes {
        let pattern = |(name, text): (&String, &String)| Some((name.clone(), Regex::new(text).ok()?));
        let route = |own: &String, route: &crate::servers::Route| Route {
            tool: route.tool.clone(),
            when: route.when.iter().filter_map(pattern).collect(),
            server: route.server.clone().unwrap_or_else(|| own.clone()),
            to: route.to.clone(),
        };
        let servers = settings.servers.iter();
        Routes(
            servers
                .map(|(name, server)| (name.clone(), server.routes.iter().map(|r| route(name, r)).collect()))
                .collect(),
        )
    }

    /// What an endpoint leads to for these arguments, which are a JSON object.
    pub(super) fn resolve(&self, endpoint: &str, args: &str) -> Result<Bound, Failure> {
        let no = || {
            not_bound(format!(
                "`{}` is no endpoint of the form mcp://SERVER/TOOL",
                crate::document::excerpt(endpoint, 200)
            ))
        };
        let rest = endpoint.strip_prefix(SCHEME).ok_or_else(no)?;
        let (server, path) = rest.split_once('/').ok_or_else(no)?;
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let operation = match query {
            "" => Operation::CallTool,
            query => {
                let named = |(operation, _): &&(Operation, &str)| query == query_of(*operation);
                OPERATIONS.iter().find(named).ok_or_else(no)?.0
            }
        };
        let tool = decoded(path).ok_or_else(no)?;
        if (operation == Operation::CallTool) == tool.is_empty() {
            return Err(no());
        }
        let routes: Vec<&Route> = self.0.get(server).into_iter().flatten().filter(|route| route.tool == tool).collect();
        if routes.is_empty() {
            return Ok(Bound { server: server.to_owned(), operation, tool });
        }
        let args: Value = serde_json::from_str(args).unwrap_or_default();
        let route = routes
            .into_iter()
            .find(|route| route.fits(&args))
            .ok_or_else(|| not_bound(format!("no route of the server `{server}` fits these arguments of `{tool}`")))?;
        Ok(Bound { server: route.server.clone(), operation, tool: route.to.clone() })
    }
}

impl Route {
    fn fits(&self, args: &Value) -> bool {
        self.when.iter().all(|(name, pattern)| match args.get(name) {
            Some(Value::String(text)) => pattern.is_match(text),
            Some(Value::Null) | None => false,
            Some(other) => pattern.is_match(&other.to_string()),
        })
    }
}

impl Bound {
    /// The protocol's method and parameters for what a component wants to send.
    pub(super) fn message(&self, params: Value) -> (&'static str, Value) {
        match self.operation {
            Operation::CallTool => ("tools/call", json!({ "name": self.tool, "arguments": params })),
            Operation::ReadResource => ("resources/read", params),
            Operation::GetPrompt => ("prompts/get", params),
            Operation::Complete => ("completion/complete", params),
            Operation::ListResources => ("resources/list", params),
            Operation::ListTemplates => ("resources/templates/list", params),
            Operation::ListPrompts => ("prompts/list", params),
        }
    }

    /// Where the items of a list are, for an operation that lists.
    pub(super) fn list(&self) -> Option<&'static str> {
        match self.operation {
            Operation::ListResources => Some("resources"),
            Operation::ListTemplates => Some("resourceTemplates"),
            Operation::ListPrompts => Some("prompts"),
            Operation::CallTool | Operation::ReadResource | Operation::GetPrompt | Operation::Complete => None,
        }
    }
}

/// What can be done with a server besides calling its tools, and what it is called in an endpoint.
const OPERATIONS: &[(Operation, &str)] = &[
    (Operation::ReadResource, "read-resource"),
    (Operation::GetPrompt, "get-prompt"),
    (Operation::Complete, "complete"),
    (Operation::ListResources, "list-resources"),
    (Operation::ListTemplates, "list-templates"),
    (Operation::ListPrompts, "list-prompts"),
];

fn query_of(operation: Operation) -> String {
    let name = OPERATIONS.iter().find(|(known, _)| *known == operation).map_or("", |(_, name)| name);
    format!("operation={name}")
}

/// The endpoint of something else that a server does.
pub(super) fn of_operation(server: &str, operation: Operation) -> String {
    format!("{SCHEME}{server}/?{}", query_of(operation))
}

/// The endpoint of a server's own tool.
pub(super) fn of_tool(server: &str, tool: &str) -> String {
    format!("{SCHEME}{server}/{}", encoded(tool))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Routes {
        let text = r#"
            [servers.a]
            argv = ["a"]
            [servers.front]
            routes = [
                { tool = "query", when = { database = "^one$", query = "^SELECT" }, server = "a", to = "read query" },
                { tool = "query", when = { database = "^one$" }, server = "a", to = "write_query" },
            ]
        "#;
        Routes::of(&toml::from_str(text).unwrap())
    }

    fn goes(endpoint: &str, args: &str) -> Option<(String, String)> {
        routes().resolve(endpoint, args).ok().map(|bound| (bound.server, bound.tool))
    }

    #[test]
    fn the_first_route_that_fits_is_taken_and_no_other() {
        let at = |server: &str, tool: &str| Some((server.to_owned(), tool.to_owned()));
        assert_eq!(goes("mcp://front/query", r#"{"database":"one","query":"SELECT 1"}"#), at("a", "read query"));
        assert_eq!(goes("mcp://front/query", r#"{"database":"one","query":"DELETE"}"#), at("a", "write_query"));
        assert_eq!(goes("mcp://front/query", r#"{"database":"two","query":"SELECT 1"}"#), None);
        assert_eq!(goes("mcp://front/query", "{}"), None);
        assert_eq!(goes("mcp://a/anything", "{}"), at("a", "anything"));
    }

    #[test]
    fn any_name_of_a_tool_comes_back_from_its_endpoint() {
        for tool in ["read", "a/b?c=%d", "größe", "a b"] {
            assert_eq!(goes(&of_tool("a", tool), "{}"), Some(("a".into(), tool.into())));
        }
        for wrong in ["http://a/b", "mcp://a", "mcp://a/", "mcp://a/%zz", "mcp://a/b?operation=read-resource"] {
            assert_eq!(goes(wrong, "{}"), None, "{wrong}");
        }
    }
}
