//! What does a manifest say about the arguments of a tool?

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its key.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_: InputType,
    /// Whether it must be there.
    #[serde(default)]
    pub required: bool,
    /// What it is when it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What it means, for an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The only values it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_values: Option<Vec<Value>>,
    /// Smallest and largest value of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Further rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<InputRules>,
    /// What the items of an array are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<InputType>,
}

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list.
    Array,
    /// A JSON object.
    Object,
    /// One of `allowed_values`.
    Enum,
}

/// Rules for an argument.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputRules {
    /// Fewest characters or items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// Most characters or items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// A regular expression that must be found in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Regular expressions that must not be found in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forbidden_patterns: Vec<String>,
    /// What the text is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
}

/// What a text argument is. All but free text is strict: no control, invisible or direction-changing characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Free text that passes byte for byte.
    Text,
    /// A virtual path, brought into one normal form.
    Path,
    /// A word for one thing that is no path to it.
    Name,
    /// A command.
    Command,
    /// A host's name or address.
    Host,
    /// An address with its scheme.
    Url,
    /// A mail address.
    Email,
    /// A day, as 2026-01-31.
    Date,
    /// A moment, as RFC 3339 writes it.
    DateTime,
    /// A UUID.
    Uuid,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// A secret: free text that no answer repeats.
    Password,
}

/// A schema as it is, or as a text of JSON: TOML has no null.
pub(super) fn value_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    json_of(Value::deserialize(deserializer)?).map(Some)
}

/// Schemas by their address, each in one of the two forms.
pub(super) fn values_or_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Value>, D::Error> {
    let written = BTreeMap::<String, Value>::deserialize(deserializer)?;
    written.into_iter().map(|(uri, value)| Ok((uri, json_of(value)?))).collect()
}

fn json_of<E: serde::de::Error>(written: Value) -> Result<Value, E> {
    match written {
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|error| E::custom(format!("a schema is written as a text that is no JSON: {error}"))),
        value => Ok(value),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(super) fn is_true(value: &bool) -> bool {
    *value
}
