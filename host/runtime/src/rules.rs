//! Which rules for permission has the operator written? Tables of the configuration, as written and with their
//! defaults. Must not judge anything; step 3 does.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Which policies count beside the shipped ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySettings {
    /// Cedar files whose statements permit and forbid.
    pub permissions: Vec<PathBuf>,
    /// Cedar files whose statements add to the risk, or ask a person.
    pub factors: Vec<PathBuf>,
    /// Whether a role that a tool's manifest lists needs no policy that permits it. Without it, only what a `permit` of
    /// yours names can run.
    pub permit_listed_roles: bool,
}

impl Default for PolicySettings {
    fn default() -> PolicySettings {
        PolicySettings { permissions: Vec::new(), factors: Vec::new(), permit_listed_roles: true }
    }
}

/// What points come to, and how many the shipped rules give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RiskSettings {
    /// From so many points on the risk is medium.
    pub medium_from: u8,
    /// From so many points on the risk is high.
    pub high_from: u8,
    /// Points of the `risk_level` of manifests.
    pub base: BasePoints,
    /// Points of what a call does.
    pub effect: EffectPoints,
    /// Other points for factors, by their `@id`.
    pub points: BTreeMap<String, u8>,
}

impl Default for RiskSettings {
    fn default() -> RiskSettings {
        RiskSettings {
            medium_from: 30,
            high_from: 60,
            base: BasePoints::default(),
            effect: EffectPoints::default(),
            points: BTreeMap::new(),
        }
    }
}

/// Points of each `risk_level`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BasePoints {
    /// Little harm.
    pub low: u8,
    /// Some.
    pub medium: u8,
    /// Much.
    pub high: u8,
    /// So much that a person is asked whatever else is known.
    pub critical: u8,
}

impl Default for BasePoints {
    fn default() -> BasePoints {
        BasePoints { low: 0, medium: 10, high: 25, critical: 60 }
    }
}

/// Points of each effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EffectPoints {
    /// Nothing is changed.
    pub read: u8,
    /// Something is.
    pub write: u8,
    /// Something can be lost.
    pub destructive: u8,
}

impl Default for EffectPoints {
    fn default() -> EffectPoints {
        EffectPoints { read: 0, write: 10, destructive: 20 }
    }
}

/// What is known about some targets: words that factors and policies go by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelRule {
    /// Names of targets, with `*` for any text: paths, hosts, tables, programs, or plain names.
    pub target: String,
    /// Only targets that are read so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax: Option<String>,
    /// Only targets of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The words.
    pub labels: Vec<String>,
}

/// Which commands a role may give, where a target is a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommandRules {
    /// The forms of the only commands that it may give; any, if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// The forms of commands that it may not give.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}
