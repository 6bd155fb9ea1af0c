//! What does a manifest say about a tool that decides no call? Facts for people, and hints for shaping results.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// Facts for people; decide nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetadataManifest {
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Moment>,
    /// When it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<Moment>,
    /// Words by which people look for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Figures that its author declares. They are shown as declared and never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evolution_stats: Option<EvolutionStats>,
}

/// Figures about a tool's use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EvolutionStats {
    /// How often it was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_invocations: Option<u64>,
    /// The part of calls that did what they were asked, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_rate: Option<f64>,
    /// How long they took on average, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avg_latency_ms: Option<f64>,
    /// When it was called last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Moment>,
}

/// A date, or a date and a time, as its author wrote it; TOML has a form of its own for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Moment(pub String);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        struct Either;
        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = Moment;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a date such as 2026-03-15, or a date and a time")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Moment, E> {
                Ok(Moment(text.to_owned()))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Moment, A::Error> {
                let toml = toml::value::Datetime::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Moment(toml.to_string()))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// How a tool's results are shaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResultManifest {
    /// Tokens that a result may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u32>,
    /// What is looked at when a result is too long and its parts are ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<RankingManifest>,
}

/// What is looked at when the parts of a result are ranked. Names are keys of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RankingManifest {
    /// The texts that are compared with the task; all, if none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// The path of an item, which counts for more the nearer it is to what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The time of an item, which counts for more the later it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Which end of a text survives besides what ranks high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<WhatIsKept>,
}

/// Which end of a text survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhatIsKept {
    /// Its beginning.
    Head,
    /// Its end.
    Tail,
    /// Both.
    Both,
}
