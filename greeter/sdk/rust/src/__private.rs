//! What do the macros need? Not for people: it changes without notice.

use crate::failure::{Failure, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The arguments as the tool knows them. The host has checked them, so that a mismatch means another manifest.
pub fn arguments<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| {
        Failure::invalid(format!("the arguments do not fit this component: {error}"))
            .hint("compare the tool's manifest with what the component describes (`hermes-dispatch plugin inspect`)")
    })
}

/// A value in a schema.
pub fn value<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Adds a keyword to a schema.
pub fn set(schema: &mut Value, keyword: &str, value: Value) {
    if let Value::Object(members) = schema {
        members.insert(keyword.to_owned(), value);
    }
}

/// A text out of some.
pub fn choice(choices: &[&str]) -> Value {
    json!({ "type": "string", "enum": choices })
}

/// A schema of an object, put together.
#[derive(Default)]
pub struct Object {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Object {
    /// Adds a property.
    pub fn add(&mut self, key: &str, doc: &str, mut schema: Value, required: bool) {
        if !doc.is_empty() {
            set(&mut schema, "description", Value::from(doc));
        }
        self.properties.insert(key.to_owned(), schema);
        if required {
            self.required.push(key.to_owned());
        }
    }

    /// The whole.
    pub fn schema(self) -> Value {
        json!({
            "type": "object", "properties": self.properties, "required": self.required, "additionalProperties": false,
        })
    }
}
