//! Which tools does a caller see, and how are they described to its client? Pure; must not know how they are called.

use hermes_runtime::registry::manifest::Effect;
use hermes_runtime::registry::{Registry, Tool, export, is_visible};
use rmcp::model::{self, JsonObject, ListToolsResult, ToolAnnotations};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Tools of one page. Clients that do not page still see a usual number of tools.
const PAGE: usize = 500;

/// One page of the tools that a role may call, of some only if these are named, in the order of their names. The cursor is the last name of the page
/// before; one that fits no tool starts after where it would stand.
pub(crate) fn page(
    registry: &Registry,
    (role, only): (&str, Option<&BTreeSet<String>>),
    cursor: Option<&str>,
) -> ListToolsResult {
    let is_meant = |tool: &&Arc<Tool>| only.is_none_or(|only| only.contains(&*tool.name));
    let listed = registry.tools().filter(|tool| !tool.manifest.unlisted && is_visible(tool, role));
    let mut visible: Vec<&Arc<Tool>> = listed.filter(is_meant).collect();
    visible.sort_by(|a, b| a.name.cmp(&b.name));
    let from = cursor.map_or(0, |cursor| visible.partition_point(|tool| &*tool.name <= cursor));
    let page = &visible[from..visible.len().min(from + PAGE)];
    let mut result = ListToolsResult::with_all_items(page.iter().map(|tool| describe(tool)).collect());
    if from + PAGE < visible.len() {
        result.next_cursor = page.last().map(|tool| tool.name.to_string());
    }
    result
}

fn describe(tool: &Tool) -> model::Tool {
    let mut described = model::Tool::new(tool.name.to_string(), tool.description.trim().to_owned(), input(tool));
    described.output_schema = output(tool).map(Arc::new);
    described.annotations = Some(annotations(tool));
    described
}

fn input(tool: &Tool) -> JsonObject {
    export::input(tool).as_object().cloned().unwrap_or_default()
}

fn output(tool: &Tool) -> Option<JsonObject> {
    export::output(&tool.outputs)?.as_object().cloned()
}

fn annotations(tool: &Tool) -> ToolAnnotations {
    let effect = tool.effect;
    ToolAnnotations::new()
        .read_only(effect.kind == Effect::Read)
        .destructive(effect.kind == Effect::Destructive)
        .idempotent(effect.idempotent || effect.kind == Effect::Read)
        .open_world(effect.open_world)
}
