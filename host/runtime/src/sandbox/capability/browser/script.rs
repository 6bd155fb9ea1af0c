//! What does a document say: to assistive technology, and to a function that is called in it? Turns the browser's
//! answers into the contract's values.

use super::page::{LONG, Open, in_element};
use super::world::text;
use super::{Failure, Reason, Tabs, failure, wit};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Longest value that a script returns, in bytes.
const RETURNED: usize = 4 << 20;
/// Longest text of one node.
const NAME: usize = 2000;
/// The realm beside the page's.
const APART: &str = "hermes";
/// What is said of a node beside its role, name and value, if it is so.
const STATES: &[&str] = &[
    "disabled",
    "checked",
    "pressed",
    "expanded",
    "selected",
    "level",
    "required",
    "invalid",
    "readonly",
    "multiline",
    "focused",
    "haspopup",
    "modal",
    "busy",
    "url",
    "valuemin",
    "valuemax",
    "autocomplete",
    "editable",
];

/// The nodes that are shown to somebody, in order. Those that are only there for the layout are left out and what is in
/// them stands in their place.
pub(super) fn outline(tree: &Value, most: usize) -> Vec<wit::Node> {
    let nodes = tree["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let by_id: HashMap<&str, &Value> = nodes.iter().map(|node| (text(&node["nodeId"]), node)).collect();
    let mut found = Vec::new();
    // Depth first without recursion: a page decides how deep it is.
    let mut open: Vec<(&Value, u32)> = nodes.first().map(|root| (root, 0)).into_iter().collect();
    let mut seen = 0;
    while let Some((node, level)) = open.pop() {
        seen += 1;
        if found.len() >= most || seen > nodes.len() {
            break;
        }
        let is_shown = node["ignored"] != true;
        if is_shown {
            found.push(told(node, level));
        }
        let below = if is_shown { level + 1 } else { level };
        let children = node["childIds"].as_array().into_iter().flatten().rev();
        open.extend(children.filter_map(|id| Some((*by_id.get(text(id))?, below))));
    }
    found
}

fn told(node: &Value, level: u32) -> wit::Node {
    let said = |value: &Value| match &value["value"] {
        Value::String(text) => crate::document::excerpt(text, NAME),
        Value::Null => String::new(),
        value => value.to_string(),
    };
    let states = node["properties"].as_array().into_iter().flatten();
    let states = states.filter(|state| STATES.contains(&text(&state["name"])));
    let states = states.map(|state| (text(&state["name"]).to_owned(), said(&state["value"])));
    wit::Node {
        level,
        element: node["backendDOMNodeId"].as_u64(),
        role: said(&node["role"]),
        name: said(&node["name"]),
        value: said(&node["value"]),
        states: states.filter(|(_, value)| !value.is_empty() && value != "false").collect(),
    }
}

impl Tabs {
    pub(super) async fn evaluate(
        &mut self,
        id: u32,
        document: u32,
        element: Option<u64>,
        realm: wit::Realm,
        function: String,
        arguments: String,
    ) -> Result<String, Failure> {
        let arguments: Vec<Value> = serde_json::from_str(&arguments)
            .map_err(|_| failure(Reason::InvalidArgument, "the arguments are no JSON array"))?;
        let arguments: Vec<Value> = arguments.into_iter().map(|value| json!({ "value": value })).collect();
        let open = self.at(id).await?;
        let (session, frame) = self.place(id, document).await?;
        let context = self.realm(&open, id, &session, &frame, realm).await?;
        let mut params = json!({
            "functionDeclaration": function, "arguments": arguments, "returnByValue": true, "awaitPromise": true,
            "userGesture": realm == wit::Realm::Page,
        });
        let object = match element {
            Some(element) => Some(object_of(&open, &session, element, context).await?),
            None => None,
        };
        match &object {
            Some(object) => params["objectId"] = object.as_str().into(),
            None => params["executionContextId"] = context.into(),
        }
        let answer = open.ask_in(&session, "Runtime.callFunctionOn", params, LONG).await;
        if let Some(object) = object {
            open.speaker.tell(Some(&session), "Runtime.releaseObject", json!({ "objectId": object }));
        }
        let answer = match answer {
            Err(late) if late.reason == Reason::TimedOut => {
                return Err(failure(Reason::TimedOut, "the script did not end in time"));
            }
            answer => answer.map_err(gone)?,
        };
        if !answer["exceptionDetails"].is_null() {
            let details = &answer["exceptionDetails"];
            let thrown = text(&details["exception"]["description"]);
            let why = if thrown.is_empty() { details["exception"]["value"].to_string() } else { thrown.to_owned() };
            return Err(failure(Reason::ScriptFailed, crate::document::excerpt(&why, 2000)));
        }
        let result = &answer["result"];
        let value = result.get("value").or(result.get("unserializableValue")).unwrap_or(&Value::Null).to_string();
        match value.len() > RETURNED {
            true => Err(failure(
                Reason::TooLarge,
                format!("the script returned {} bytes, more than {RETURNED}", value.len()),
            )),
            false => Ok(value),
        }
    }

    /// Where a document's scripts run, or those of ours beside them.
    async fn realm(
        &mut self,
        open: &Open,
        id: u32,
        session: &str,
        frame: &str,
        realm: wit::Realm,
    ) -> Result<i64, Failure> {
        let key = (session.to_owned(), frame.to_owned(), realm == wit::Realm::Page);
        if let Some(known) = self.tab(id, |tab| tab.realms.get(&key).copied()).await? {
            return Ok(known);
        }
        if realm == wit::Realm::Page {
            return Err(failure(Reason::Gone, "the document runs no scripts"));
        }
        let params = json!({ "frameId": frame, "worldName": APART });
        let made = open.ask_in(session, "Page.createIsolatedWorld", params, LONG).await.map_err(gone)?;
        let context = made["executionContextId"].as_i64();
        let context = context.ok_or_else(|| failure(Reason::Gone, "the document runs no scripts"))?;
        self.tab(id, |tab| tab.realms.insert(key, context)).await?;
        Ok(context)
    }
}

fn gone(error: Failure) -> Failure {
    let words = ["Cannot find context", "Execution context was destroyed", "No frame", "Inspected target navigated"];
    match error.reason == Reason::Refused && words.iter().any(|word| error.message.contains(word)) {
        true => failure(Reason::Gone, "the page has changed meanwhile"),
        false => in_element(error),
    }
}

async fn object_of(open: &Open, session: &str, element: u64, context: i64) -> Result<String, Failure> {
    let params = json!({ "backendNodeId": element, "executionContextId": context });
    let found = open.ask_in(session, "DOM.resolveNode", params, LONG).await.map_err(in_element)?;
    Ok(text(&found["object"]["objectId"]).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_there_for_the_layout_is_left_out() {
        let tree = json!({ "nodes": [
            { "nodeId": "1", "role": { "value": "RootWebArea" }, "name": { "value": "T" }, "childIds": ["2"], "backendDOMNodeId": 1 },
            { "nodeId": "2", "ignored": true, "childIds": ["3", "4"] },
            { "nodeId": "3", "role": { "value": "button" }, "name": { "value": "Go" }, "childIds": [], "backendDOMNodeId": 3,
              "properties": [{ "name": "disabled", "value": { "value": true } }, { "name": "focusable", "value": { "value": true } }] },
            { "nodeId": "4", "role": { "value": "link" }, "childIds": ["1"] },
        ]});
        let found = outline(&tree, 100);
        let shown: Vec<_> = found.iter().map(|node| (node.level, node.role.as_str(), node.element)).collect();
        assert_eq!(shown, [(0, "RootWebArea", Some(1)), (1, "button", Some(3)), (1, "link", None)]);
        assert_eq!(found[1].states, [("disabled".to_owned(), "true".to_owned())]);
        assert_eq!(outline(&tree, 1).len(), 1);
        assert!(outline(&json!({}), 10).is_empty());
    }
}
