//! What does a document say to assistive technology? Turns the browser's tree into the contract's list. Pure.

use super::wit;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// Longest text of one node.
const NAME: usize = 2000;
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

/// What is of interest of the browser's tree. The types of our library know all words of one version, and a newer
/// browser has more; they also keep far more than is shown of a page with tens of thousands of nodes.
#[derive(Default, Deserialize)]
pub(super) struct Tree {
    #[serde(default)]
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    node_id: String,
    #[serde(default)]
    ignored: bool,
    role: Option<Said>,
    name: Option<Said>,
    value: Option<Said>,
    #[serde(default)]
    properties: Vec<Property>,
    #[serde(default)]
    child_ids: Vec<String>,
    #[serde(rename = "backendDOMNodeId")]
    element: Option<u64>,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: Said,
}

/// The nodes that are shown to somebody, in order. Those that are only there for the layout are left out and what is in
/// them stands in their place.
pub(super) fn outline(tree: Tree, most: usize) -> Vec<wit::Node> {
    let nodes = &tree.nodes;
    let by_id: HashMap<&str, &Node> = nodes.iter().map(|node| (node.node_id.as_str(), node)).collect();
    let mut found = Vec::new();
    // Depth first without recursion: a page decides how deep it is.
    let mut open: Vec<(&Node, u32)> = nodes.first().map(|root| (root, 0)).into_iter().collect();
    let mut seen = 0;
    while let Some((node, level)) = open.pop() {
        seen += 1;
        if found.len() >= most || seen > nodes.len() {
            break;
        }
        if !node.ignored {
            found.push(told(node, level));
        }
        let below = if node.ignored { level } else { level + 1 };
        let children = node.child_ids.iter().rev();
        open.extend(children.filter_map(|id| Some((*by_id.get(id.as_str())?, below))));
    }
    found
}

fn told(node: &Node, level: u32) -> wit::Node {
    let said = |said: &Said| match &said.value {
        Value::String(text) => crate::document::excerpt(text, NAME),
        Value::Null => String::new(),
        value => value.to_string(),
    };
    let part = |part: &Option<Said>| part.as_ref().map(said).unwrap_or_default();
    let states = node.properties.iter().filter(|state| STATES.contains(&state.name.as_str()));
    let states = states.map(|state| (state.name.clone(), said(&state.value)));
    wit::Node {
        level,
        element: node.element,
        role: part(&node.role),
        name: part(&node.name),
        value: part(&node.value),
        states: states.filter(|(_, value)| !value.is_empty() && value != "false").collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_only_there_for_the_layout_is_left_out() {
        let tree = json!({ "nodes": [
            { "nodeId": "1", "role": { "value": "RootWebArea" }, "name": { "value": "T" }, "childIds": ["2"], "backendDOMNodeId": 1 },
            { "nodeId": "2", "ignored": true, "childIds": ["3", "4"] },
            { "nodeId": "3", "role": { "value": "button" }, "name": { "value": "Go" }, "childIds": [], "backendDOMNodeId": 3,
              "properties": [{ "name": "disabled", "value": { "value": true } }, { "name": "focusable", "value": { "value": true } }] },
            { "nodeId": "4", "role": { "value": "link" }, "childIds": ["1"] },
        ]});
        let read = || Tree::deserialize(&tree).unwrap();
        let found = outline(read(), 100);
        let shown: Vec<_> = found.iter().map(|node| (node.level, node.role.as_str(), node.element)).collect();
        assert_eq!(shown, [(0, "RootWebArea", Some(1)), (1, "button", Some(3)), (1, "link", None)]);
        assert_eq!(found[1].states, [("disabled".to_owned(), "true".to_owned())]);
        assert_eq!(outline(read(), 1).len(), 1);
        assert!(outline(Tree::default(), 10).is_empty());
    }
}
