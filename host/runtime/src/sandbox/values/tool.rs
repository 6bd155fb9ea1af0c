//! Which tool is a function? Its manifest, as an author would have written it: name, words and types are the
//! component's, who may call it is what `adapter.toml` says.

use super::schema::{schema, schema_of};
use super::shape::{Function, Shape};
use crate::adapter::plugin::{AdapterManifest, FunctionsManifest};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Longest name of a tool.
const NAME: usize = 64;

/// The manifests of the functions that an adapter serves.
///
/// # Errors
/// Beside them, in words: functions that `adapter.toml` names and the component does not have.
pub fn tools(adapter: &AdapterManifest, said: &FunctionsManifest, functions: &[Function]) -> (Vec<Value>, Vec<String>) {
    let is_named = |function: &&Function, named: &String| *named == function.path() || *named == function.name;
    let wanted = |function: &&Function| said.only.is_empty() || said.only.iter().any(|named| is_named(function, named));
    let mut taken = BTreeSet::new();
    let served = functions.iter().filter(wanted).filter(|_| !said.required_roles.is_empty());
    let manifests = served.map(|function| manifest(adapter, said, function, &mut taken)).collect();
    let missing = said.only.iter().filter(|named| !functions.iter().any(|function| is_named(&function, named)));
    let known: Vec<String> = functions.iter().map(Function::path).collect();
    let missing = missing.map(|named| {
        format!("the component has no function `{named}` that can be a tool; it has {}", known.join(", "))
    });
    (manifests, missing.collect())
}

fn manifest(
    adapter: &AdapterManifest,
    said: &FunctionsManifest,
    function: &Function,
    taken: &mut BTreeSet<String>,
) -> Value {
    let path = function.path();
    let description = match function.docs.is_empty() {
        true => format!("Call `{path}` of the component `{}`.", adapter.name),
        false => function.docs.clone(),
    };
    // Without a capability there is nothing that it could change or reach.
    let effect = match adapter.capabilities.is_empty() {
        true => json!({ "kind": "read", "idempotent": true, "open_world": false }),
        false => json!({ "kind": "destructive", "idempotent": false, "open_world": true }),
    };
    let mut tool = json!({
        "name": name(adapter, said, function, taken),
        "version": adapter.version,
        "description": description,
        "category": "functions",
        "input_schema": schema_of(function),
        "permissions": { "required_roles": said.required_roles, "risk_level": said.risk_level },
        "effect": effect,
        "backend": { "type": "custom", "adapter": adapter.name, "tool": path },
    });
    let returned = match &function.result {
        Some(Shape::Result(ok, _)) => ok.as_deref(),
        other => other.as_ref(),
    };
    if let (Some(shape @ Shape::Record(_)), Some(members)) = (returned, tool.as_object_mut()) {
        members.insert("output_schema".into(), schema(shape));
    }
    json!({ "tool": tool })
}

/// `ADAPTER_FUNCTION`, or with the interface between them where that is taken.
fn name(
    adapter: &AdapterManifest,
    said: &FunctionsManifest,
    function: &Function,
    taken: &mut BTreeSet<String>,
) -> String {
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let prefix = said.prefix.clone().unwrap_or_else(|| format!("{}_", plain(&adapter.name)));
    let interface = function.interface.as_deref().unwrap_or_default();
    let interface = interface.rsplit('/').next().unwrap_or_default().split('@').next().unwrap_or_default();
    let short = format!("{prefix}{}", plain(&function.name));
    let long = format!("{prefix}{}_{}", plain(interface), plain(&function.name));
    let mut name = if taken.contains(&short) { long } else { short };
    name.truncate(NAME);
    taken.insert(name.clone());
    name
}
