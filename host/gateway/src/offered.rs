//! What do connected servers offer besides tools? Their resources, prompts and completions, each through a call of the
//! registry's entry that stands for it, so that nothing of them comes past the seven steps. Must not know how a server is
//! reached.

use crate::server::Server;
use base64::Engine as _;
use hermes_runtime::call::{Arguments, Call};
use hermes_runtime::registry::{self, Tool};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Before a server's name in an endpoint, and before the operation behind it.
const ENDPOINT: (&str, &str) = ("mcp://", "/?operation=");
/// What an error of a call is for a client that asked for no tool.
const REFUSED: ErrorCode = ErrorCode(-32001);

/// The operations that stand behind the protocol's own requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Resources,
    Templates,
    Resource,
    Prompts,
    Prompt,
    Completion,
}

impl Offer {
    fn operation(self) -> &'static str {
        match self {
            Offer::Resources => "list-resources",
            Offer::Templates => "list-templates",
            Offer::Resource => "read-resource",
            Offer::Prompts => "list-prompts",
            Offer::Prompt => "get-prompt",
            Offer::Completion => "complete",
        }
    }
}

/// The servers that have such a thing, with the entry that stands for it, in the order of their names.
pub(crate) fn entries(server: &Server, offer: Offer) -> Vec<(String, String)> {
    if server.is_of_a_call() {
        return Vec::new();
    }
    let runtime = server.runtime();
    let role = &server.identity().caller.role;
    let named = |tool: &Tool| {
        let endpoint = tool.backends.first()?.endpoint.as_deref()?;
        let (name, operation) = endpoint.strip_prefix(ENDPOINT.0)?.split_once(ENDPOINT.1)?;
        (operation == offer.operation()).then(|| (name.to_owned(), tool.name.to_string()))
    };
    let toolbox = runtime.toolbox();
    let visible = toolbox.registry.tools().filter(|tool| registry::is_visible(tool, role));
    let mut entries: Vec<(String, String)> = visible.filter_map(|tool| named(tool)).collect();
    entries.sort();
    entries
}

/// Whether any server has such a thing for this caller.
pub(crate) fn has(server: &Server, offer: Offer) -> bool {
    !entries(server, offer).is_empty()
}

/// The items of all servers. One that fails leaves out only its own.
pub(crate) async fn list<T: DeserializeOwned>(server: &Server, offer: Offer, key: &str) -> Vec<(String, T)> {
    let mut all = Vec::new();
    for (name, entry) in entries(server, offer) {
        match call(server, entry, json!({})).await {
            Ok(mut answer) => {
                let items = answer.remove(key).and_then(|items| items.as_array().cloned()).unwrap_or_default();
                all.extend(
                    items.into_iter().filter_map(|item| Some((name.clone(), serde_json::from_value(item).ok()?))),
                );
            }
            Err(error) => tracing::warn!(server = name, message = %error.message, "a server's list is left out"),
        }
    }
    all
}

/// Reads a resource from the server that has it: the first that knows the address.
pub(crate) async fn read(server: &Server, uri: &str) -> Result<Vec<Value>, ErrorData> {
    let mut last = ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, "no server has such a resource", None);
    for (_, entry) in entries(server, Offer::Resource) {
        match call(server, entry, json!({ "uri": uri })).await {
            Ok(answer) => return Ok(contents(uri, &answer)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The parts of an answer, with the addresses that the server gave them.
fn contents(uri: &str, answer: &Map<String, Value>) -> Vec<Value> {
    let named = answer.get("contents").and_then(Value::as_array).cloned().unwrap_or_default();
    let parts = match (answer.get("text"), answer.get("content").and_then(Value::as_array)) {
        (Some(text), _) => vec![json!({ "type": "text", "text": text })],
        (None, Some(parts)) => parts.clone(),
        (None, None) => Vec::new(),
    };
    let content = |(index, part): (usize, Value)| {
        let of = |key: &str| named.get(index).map(|named| named[key].clone()).filter(|value| !value.is_null());
        let mut content = json!({ "uri": of("uri").unwrap_or_else(|| uri.into()) });
        if let Some(media_type) = of("media_type") {
            content["mimeType"] = media_type;
        }
        match part["type"].as_str() {
            Some("binary") => content["blob"] = part["base64"].clone(),
            Some("text") => content["text"] = part["text"].clone(),
            _ => content["blob"] = base64::engine::general_purpose::STANDARD.encode(part.to_string()).into(),
        }
        content
    };
    parts.into_iter().enumerate().map(content).collect()
}

/// A prompt by the name under which it is listed.
pub(crate) async fn prompt<T: DeserializeOwned>(
    server: &Server,
    name: &str,
    arguments: Option<Map<String, Value>>,
) -> Result<T, ErrorData> {
    let (entry, name) = of_prompt(server, Offer::Prompt, name)?;
    let mut args = json!({ "name": name });
    if let Some(arguments) = arguments {
        args["arguments"] = Value::Object(arguments);
    }
    typed(call(server, entry, args).await?)
}

/// Proposals for an argument. `reference` is the protocol's, with a prompt's name as it is listed.
pub(crate) async fn complete<T: DeserializeOwned>(server: &Server, mut request: Value) -> Result<T, ErrorData> {
    let entry = match request["ref"]["name"].as_str() {
        Some(name) => {
            let (entry, name) = of_prompt(server, Offer::Completion, name)?;
            request["ref"]["name"] = name.into();
            entry
        }
        None => {
            let first = entries(server, Offer::Completion).into_iter().next();
            first.ok_or_else(|| ErrorData::invalid_params("no server completes anything", None))?.1
        }
    };
    if let Some(members) = request.as_object_mut() {
        members.retain(|key, value| matches!(key.as_str(), "ref" | "argument" | "context") && !value.is_null());
    }
    typed(call(server, entry, request).await?)
}

/// The name of a prompt in a list of all servers'.
pub(crate) fn listed_name(server: &str, prompt: &str) -> String {
    format!("{server}_{prompt}")
}

/// The entry of the server whose name a listed name begins with, and the server's own name of the prompt.
fn of_prompt(server: &Server, offer: Offer, name: &str) -> Result<(String, String), ErrorData> {
    let unknown = || ErrorData::invalid_params("no prompt has this name", None);
    let (of, own) = name.split_once('_').ok_or_else(unknown)?;
    let entry = entries(server, offer).into_iter().find(|(server, _)| server == of).ok_or_else(unknown)?.1;
    Ok((entry, own.to_owned()))
}

fn typed<T: DeserializeOwned>(answer: Map<String, Value>) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(answer))
        .map_err(|error| ErrorData::internal_error(format!("the server's answer is none: {error}"), None))
}

async fn call(server: &Server, entry: String, args: Value) -> Result<Map<String, Value>, ErrorData> {
    let call = Call {
        tool: entry,
        args: Arguments::Value(args),
        caller: server.identity().caller.clone(),
        situation: server.situation(&server.session()),
        session: server.session(),
        progress: None,
        fixed: None,
        parent: None,
        asks_itself: false,
        cancel: None,
    };
    let envelope = server.runtime().call(call).await.envelope;
    match (envelope.error, envelope.data) {
        (None, Value::Object(facts)) => Ok(facts),
        (None, other) => Ok(Map::from_iter([("text".to_owned(), other)])),
        (Some(error), _) => {
            let data = serde_json::to_value(&error).ok();
            Err(ErrorData::new(REFUSED, format!("{} {}: {}", error.code, error.kind.name(), error.message), data))
        }
    }
}
