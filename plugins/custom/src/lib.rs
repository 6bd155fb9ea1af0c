//! The custom adapter: tools that nobody but their author knows. `json_query` shows a pure computation without any
//! capability.
//!
//! This file maps calls to tools.

mod failure;
mod query;
mod value;

/// What `wit/` says, as Rust.
mod bindings {
    wit_bindgen::generate!({ world: "tool", path: "../../wit" });
}

use bindings::exports::hermes::tool::tool_execution::{Call, Description, Error, Guest, Output};
use bindings::hermes::tool::types::{ErrorKind, ToolDescription};
use failure::Failure;

struct Adapter;

impl Guest for Adapter {
    fn describe() -> Description {
        let query = ToolDescription {
            name: "json_query".to_owned(),
            description: "Filter, group, calculate over and sort rows of JSON".to_owned(),
            input_schema: include_str!("schema/json_query.json").to_owned(),
        };
        Description { name: "custom".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), tools: vec![query] }
    }

    fn execute(call: Call) -> Result<Output, Error> {
        let facts = match call.tool.as_str() {
            "json_query" => query::run(&arguments(&call.args)?),
            tool => Err(Failure::invalid(format!("no tool `{tool}` here"))),
        };
        facts.map(answer).map_err(error)
    }

    fn check_health() -> Result<(), Error> {
        Ok(())
    }
}

fn answer(facts: serde_json::Value) -> Output {
    Output { data: Some(facts.to_string()), content: Vec::new(), metadata: None }
}

fn error(failure: Failure) -> Error {
    let kind = if failure.is_invalid_input { ErrorKind::InvalidInput } else { ErrorKind::ToolFailed };
    Error {
        kind,
        reason: failure.reason.map(str::to_owned),
        message: failure.message,
        hint: failure.hint,
        request_sent: false,
        partial: None,
    }
}

/// The arguments as the tool knows them. The host has checked them against the manifest, so that a mismatch means
/// that the manifest is not the one this component was built for.
fn arguments<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, Error> {
    serde_json::from_str(json)
        .map_err(|error| Failure::invalid(format!("the arguments do not fit this component: {error}")))
        .map_err(|failure| error(failure.hint("compare the manifest with the adapter's own")))
}

bindings::export!(Adapter with_types_in bindings);

#[cfg(test)]
mod tests {
    use serde_json::Value;

    #[test]
    fn schemas_are_those_of_the_manifests() {
        for (manifest, schema) in [(include_str!("../tools/json_query.toml"), include_str!("schema/json_query.json"))] {
            let manifest: toml::Table = toml::from_str(manifest).unwrap();
            let declared = serde_json::to_value(&manifest["tool"]["input_schema"]).unwrap();
            assert_eq!(declared, serde_json::from_str::<Value>(schema).unwrap(), "{}", manifest["tool"]["name"]);
        }
    }
}
