//! What is known about a target? Words for names that fit a pattern, from the shipped list and the configuration. Pure.

use super::target::{Named, Target};
use crate::call::Digest;
use crate::config::matches_pattern;
use crate::document::{Fault, excerpt, from_toml, nearest};
use crate::registry::{Registry, Tool};
use crate::rules::LabelRule;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// Words that the shipped factors go by, and those that lower nothing but are worth saying.
const WORDS: &[&str] = &[
    "workspace",
    "test",
    "production",
    "production_configuration",
    "policy",
    "credentials",
    "unreadable",
    "public",
    "internal",
    "personal",
    "financial",
    "secret",
];

/// Words that say nothing about how a result has to be handled.
const HARMLESS: &[&str] = &["workspace", "test", "policy", "unreadable", "public"];

/// The words that a result is marked with.
pub(super) fn sensitive(labels: &BTreeSet<String>) -> Vec<String> {
    labels.iter().filter(|label| !HARMLESS.contains(&label.as_str())).cloned().collect()
}

/// All rules about targets. Lifetime: until they change.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    rules: Vec<LabelRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shipped {
    labels: Vec<LabelRule>,
}

impl Labels {
    /// Checks the rules. `used` are the texts in policies, which may be labels too.
    ///
    /// # Errors
    /// Every rule that could never mean anything.
    pub(super) fn new(own: &[LabelRule], registry: &Registry, used: &BTreeSet<&str>) -> Result<Labels, Vec<Fault>> {
        let shipped: Shipped = from_toml(Path::new("shipped/labels.toml"), include_str!("policy/shipped/labels.toml"))
            .map_err(|fault| vec![fault])?;
        let of_tools = registry.tools().flat_map(|tool| tool.labels.iter().map(move |labels| (tool, labels)));
        let of_tools = of_tools.map(|(tool, (target, labels))| LabelRule {
            target: target.clone(),
            syntax: None,
            tool: Some(tool.name.to_string()),
            labels: labels.clone(),
        });
        let faults: Vec<Fault> =
            of_tools.chain(own.iter().cloned()).flat_map(|rule| faults(&rule, registry, used)).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let lower = |rule: &LabelRule| LabelRule { target: rule.target.to_lowercase(), ..rule.clone() };
        let rules = shipped.labels.iter().chain(own).map(lower).collect();
        Ok(Labels { rules })
    }

    /// The words for one target of a tool.
    pub(super) fn of(&self, tool: &Tool, target: &Target, named: &Named, words: &mut BTreeSet<String>) {
        for rule in self.rules.iter().filter(|rule| rule.tool.as_ref().is_none_or(|name| **name == *tool.name)) {
            let syntax = rule.syntax.as_ref().is_none_or(|syntax| syntax == target.syntax());
            if syntax && named.names.iter().any(|name| matches_pattern(&rule.target, name)) {
                words.extend(rule.labels.iter().cloned());
            }
        }
        for (pattern, labels) in &tool.labels {
            let pattern = pattern.to_lowercase();
            if named.names.iter().any(|name| matches_pattern(&pattern, name)) {
                words.extend(labels.iter().cloned());
            }
        }
    }

    /// Digest of what can apply to a tool.
    pub(super) fn digest(&self, tool: &Tool) -> Digest {
        let applying: Vec<&LabelRule> =
            self.rules.iter().filter(|rule| rule.tool.as_ref().is_none_or(|name| **name == *tool.name)).collect();
        Digest::of(format!("{applying:?}{:?}", tool.labels).as_bytes())
    }
}

fn faults(rule: &LabelRule, registry: &Registry, used: &BTreeSet<&str>) -> Vec<Fault> {
    const SYNTAXES: &[&str] = &["path", "url", "shell", "argv", "sql", "name"];
    let fault = |why: String, near: Option<&str>| {
        let fault = Fault::whole(Path::new("configuration"), why);
        match near {
            Some(near) => fault.hint(format!("did you mean `{near}`?")),
            None => fault,
        }
    };
    let shown = excerpt(&rule.target, 80);
    let mut faults = Vec::new();
    if rule.target.is_empty() {
        faults.push(fault("a rule in `labels` has no target".into(), None));
    }
    for label in rule.labels.iter().filter(|label| !WORDS.contains(&label.as_str()) && !used.contains(label.as_str())) {
        let known = WORDS.iter().chain(used).copied();
        let why = format!("the label `{}` of `{shown}` means nothing: no policy asks for it", excerpt(label, 40));
        faults.push(fault(why, nearest(label, known)));
    }
    if let Some(syntax) = rule.syntax.as_ref().filter(|syntax| !SYNTAXES.contains(&syntax.as_str())) {
        let why = format!("`{}` is no syntax of targets", excerpt(syntax, 40));
        faults.push(fault(why, nearest(syntax, SYNTAXES.iter().copied())));
    }
    if let Some(name) = &rule.tool {
        match registry.tools().find(|tool| *tool.name == **name) {
            None => {
                let names = registry.tools().map(|tool| &*tool.name);
                faults.push(fault(
                    format!("`labels` names the tool `{}`, which there is not", excerpt(name, 80)),
                    nearest(name, names),
                ));
            }
            Some(tool) if tool.targets.is_empty() => {
                faults.push(fault(
                    format!("`labels` are for targets, and `{name}` declares none; set `tools.{name}.target`"),
                    None,
                ));
            }
            Some(_) => {}
        }
    }
    faults
}
