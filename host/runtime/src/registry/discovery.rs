//! Which tools fit what somebody looks for? Ranked by how well the words match, then by how well a tool has worked. Only
//! measured figures count; what a manifest declares does not.

use super::{Registry, Tool, lookup};
use crate::document::excerpt;
use crate::error::Error;
use bm25::{Document, SearchEngine, SearchEngineBuilder, Tokenizer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Tools of one answer at most.
pub const MOST: usize = 50;
/// How much of a rank is the match; the rest is how well the tool works and how fast.
const MATCH_SHARE: f64 = 0.7;
const SUCCESS_SHARE: f64 = 0.2;
/// A tool that takes this long at the median gets half of what speed can add.
const USUAL_MS: f64 = 1000.0;
/// The lower bound that a tool gets of which nobody knows anything: neither good nor bad.
const UNKNOWN: f64 = 0.5;
/// How often a tool's name counts beside its description.
const NAME_WEIGHT: usize = 3;

/// How well a tool has worked, measured by the runtime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The lower bound of its success rate.
    pub success_lower: f64,
    /// Milliseconds of a call at the median.
    pub p50_ms: f64,
    /// Calls that this is known from.
    pub calls: u64,
}

/// What is known about tools by name, over all versions.
pub type Qualities = HashMap<String, Quality>;

/// A tool that was found.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// Which one.
    pub tool: &'a Arc<Tool>,
    /// 0 to 1.
    pub rank: f64,
    /// How well the words match, as a part of the best match.
    pub matching: f64,
    /// How well it has worked, if it has been called.
    pub quality: Option<Quality>,
    /// Why it stands where it stands.
    pub reason: String,
}

/// The words of all tools. Lifetime: as the registry; made when somebody looks first.
pub(super) struct Index(SearchEngine<u32, u32, Words>);

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Index")
    }
}

/// Splits text into words: at everything that is no letter or digit, so that `file_read` is two, without plural endings.
pub(super) struct Words;

impl Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(|word| stem(&word.to_lowercase())).collect()
    }
}

fn stem(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

impl Index {
    fn of(tools: &[Arc<Tool>]) -> Index {
        let document = |(number, tool): (usize, &Arc<Tool>)| Document::new(number as u32, text_of(tool));
        let documents: Vec<Document<u32>> = tools.iter().enumerate().map(document).collect();
        Index(SearchEngineBuilder::with_tokenizer_and_documents(Words, documents).build())
    }
}

fn text_of(tool: &Tool) -> String {
    let tags = tool.manifest.metadata.iter().flat_map(|metadata| &metadata.tags);
    let names = std::iter::once(&*tool.name).chain(tool.aliases.iter().map(String::as_str));
    let mut words: Vec<&str> = names.flat_map(|name| std::iter::repeat_n(name, NAME_WEIGHT)).collect();
    words.push(&tool.description);
    words.extend(tool.category.as_deref());
    words.extend(tags.map(String::as_str));
    words.extend(tool.input.fields.keys().map(String::as_str));
    words.join(" ")
}

/// Finds tools that a role may call, the best first.
pub fn search<'a>(
    registry: &'a Registry,
    role: &str,
    query: &str,
    limit: usize,
    qualities: &Qualities,
) -> Vec<Found<'a>> {
    found(registry, query, limit, qualities, |tool| super::is_visible(tool, role))
}

/// Tools that are like another one by its own words, the best first and that one among them.
pub(crate) fn alike<'a>(registry: &'a Registry, tool: &Tool, limit: usize, qualities: &Qualities) -> Vec<Found<'a>> {
    let query = format!("{} {}", tool.name, excerpt(&tool.description, 1000));
    found(registry, &query, limit, qualities, |_| true)
}

fn found<'a>(
    registry: &'a Registry,
    query: &str,
    limit: usize,
    qualities: &Qualities,
    is_seen: impl Fn(&Tool) -> bool,
) -> Vec<Found<'a>> {
    let tools = registry.in_order();
    let index = registry.index.get_or_init(|| Index::of(tools));
    let matches = index.0.search(query, None);
    let best = matches.iter().map(|found| f64::from(found.score)).fold(f64::MIN_POSITIVE, f64::max);
    let visible = matches.iter().filter_map(|found| {
        let tool = tools.get(found.document.id as usize)?;
        is_seen(tool).then_some((tool, f64::from(found.score) / best))
    });
    let mut ranked: Vec<Found<'a>> =
        visible.map(|(tool, share)| rank(tool, share, qualities.get(&*tool.name))).collect();
    ranked.sort_by(|a, b| b.rank.total_cmp(&a.rank).then(a.tool.name.cmp(&b.tool.name)));
    ranked.truncate(limit.min(MOST));
    ranked
}

fn rank<'a>(tool: &'a Arc<Tool>, matching: f64, quality: Option<&Quality>) -> Found<'a> {
    let success = quality.map_or(UNKNOWN, |quality| quality.success_lower);
    let speed = quality.map_or(UNKNOWN, |quality| USUAL_MS / (USUAL_MS + quality.p50_ms));
    let rank = matching * (MATCH_SHARE + SUCCESS_SHARE * success + (1.0 - MATCH_SHARE - SUCCESS_SHARE) * speed);
    let known = match quality {
        Some(quality) => format!(
            "{} calls, at least {:.0} % of such calls succeed, {:.0} ms at the median",
            quality.calls,
            quality.success_lower * 100.0,
            quality.p50_ms
        ),
        None => "no call yet".to_owned(),
    };
    let quality = quality.copied();
    Found { tool, rank, matching, quality, reason: format!("match {:.0} % of the best; {known}", matching * 100.0) }
}

/// The manifest of the built-in tool that searches.
pub(crate) const SEARCH: &str = r#"
[tool]
name = "tool_search"
version = "1.0.0"
description = "Find tools by what they do. Ranks by match, measured success and speed, and shows only tools that you may call."
category = "runtime"
[[tool.inputs]]
name = "query"
type = "string"
required = true
description = "Words for what you want to do"
validation = { min_length = 1, max_length = 1000, format = "text" }
[[tool.inputs]]
name = "limit"
type = "integer"
default = 10
range = [1, 50]
description = "Most tools to list"
[[tool.outputs]]
name = "tools"
type = "array"
description = "Name, first line of the description, rank and its reason"
[tool.permissions]
risk_level = "low"
[tool.effect]
kind = "read"
open_world = false
[tool.backend]
type = "runtime"
adapter = "runtime"
"#;

/// The manifest of the built-in tool that describes.
pub(crate) const DESCRIBE: &str = r#"
[tool]
name = "tool_describe"
version = "1.0.0"
description = "Everything about one tool that you may call: description, schema of its arguments, facts of its result, effect and limits."
category = "runtime"
[[tool.inputs]]
name = "name"
type = "string"
required = true
description = "The tool's name, such as one that `tool_search` found"
validation = { min_length = 1, max_length = 200 }
[[tool.outputs]]
name = "name"
type = "string"
[[tool.outputs]]
name = "input_schema"
type = "object"
[tool.permissions]
risk_level = "low"
[tool.effect]
kind = "read"
open_world = false
[tool.backend]
type = "runtime"
adapter = "runtime"
"#;

/// What the built-in search answers.
pub(crate) fn answer_search(registry: &Registry, role: &str, args: &Value, qualities: &Qualities) -> Value {
    let query = args.get("query").and_then(Value::as_str).unwrap_or_default();
    let limit = args.get("limit").and_then(Value::as_u64).map_or(10, |limit| limit as usize);
    let found = search(registry, role, query, limit, qualities);
    json!({ "tools": found.iter().map(summary).collect::<Vec<_>>() })
}

/// One line about a tool that was found.
pub fn summary(found: &Found<'_>) -> Value {
    let line = found.tool.description.trim().lines().next().unwrap_or_default();
    json!({
        "name": &*found.tool.name, "version": &*found.tool.version, "description": excerpt(line, 200),
        "rank": (found.rank * 1000.0).round() / 1000.0, "reason": found.reason,
    })
}

/// What the built-in description answers.
///
/// # Errors
/// `unknown_tool` also for tools that the role may not call: what it may not call it does not see.
pub(crate) fn answer_describe(registry: &Registry, role: &str, args: &Value) -> Result<Value, Error> {
    let name = args.get("name").and_then(Value::as_str).unwrap_or_default();
    let tool = lookup(registry, name, role)?;
    if !super::is_visible(tool, role) {
        return Err(super::not_found(registry, name, role));
    }
    Ok(json!({
        "name": &*tool.name, "version": &*tool.version, "description": tool.description.trim(),
        "aliases": tool.aliases, "category": tool.category, "input_schema": tool.input.json(),
        "outputs": tool.outputs, "output_schema": tool.output_schema.as_ref().map(|schema| &schema.json),
        "effect": tool.effect, "risk_level": tool.risk_level, "rate_limit": tool.manifest.rate_limit,
        "timeout_ms": tool.manifest.timeout_ms,
    }))
}
