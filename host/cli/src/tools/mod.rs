//! Which tools are there, and what is one like?

mod accept;
pub(crate) mod arguments;
mod check;
mod exchange;
mod service;

use crate::args::{Arguments, Format};
use crate::failure::Failure;
use crate::{identity, output, setup};
use arguments::ToolsCommand;
use hermes_runtime::document::{nearest_many, printable};
use hermes_runtime::registry::statistics::{By, Use};
use hermes_runtime::registry::{self, Out, Registry, Tool, published};
use hermes_runtime::toolbox::Toolbox;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) async fn run(arguments: &Arguments, command: &ToolsCommand) -> Result<u8, Failure> {
    match command {
        ToolsCommand::Check { dir } => return check::run(arguments, dir),
        ToolsCommand::Import(command) => return exchange::import(command, arguments.output.format()),
        ToolsCommand::Schema => {
            output::document(published::schema(), Format::Json);
            return Ok(0);
        }
        ToolsCommand::List { .. }
        | ToolsCommand::Show { .. }
        | ToolsCommand::Template { .. }
        | ToolsCommand::Search { .. }
        | ToolsCommand::Accept { .. }
        | ToolsCommand::Retire { .. }
        | ToolsCommand::Disable { .. }
        | ToolsCommand::Enable { .. }
        | ToolsCommand::Export { .. } => {}
    }
    let setup = setup::load(arguments)?;
    let caller = identity::caller(arguments, &setup.loaded.config)?;
    let runtime = setup::start(setup)?;
    let toolbox = runtime.toolbox();
    let (registry, format) = (&toolbox.registry, arguments.output.format());
    match command {
        ToolsCommand::List { all } => {
            let listed = |tool: &&Arc<Tool>| *all || registry::is_visible(tool, &caller.role);
            let tools: Vec<&Arc<Tool>> = registry.in_order().iter().filter(listed).collect();
            list(registry, &tools, &caller.role, format);
        }
        ToolsCommand::Show { tool } => {
            let found = find(registry, tool)?;
            let measured = runtime.statistics(By::Tool).await.map_err(failed)?;
            let of_tool = |used: &Use| used.tool == *found.name && used.version == *found.version;
            show(&toolbox, found, measured.into_iter().find(of_tool).as_ref(), format);
        }
        ToolsCommand::Search { words, limit } => {
            let found = runtime.search(&caller.role, &words.join(" "), *limit).await.map_err(failed)?;
            service::found(&found, format);
        }
        ToolsCommand::Accept { names } => accept::run(&runtime, names).await?,
        ToolsCommand::Retire { tool } => service::set(&runtime, tool, Some(Out::Retired)).await?,
        ToolsCommand::Disable { tool } => service::set(&runtime, tool, Some(Out::Disabled)).await?,
        ToolsCommand::Enable { tool } => service::set(&runtime, tool, None).await?,
        ToolsCommand::Template { tool } => {
            let name = find(registry, tool)?.name.clone();
            return crate::learning::templates(&runtime, &name, format).await;
        }
        ToolsCommand::Export { format: form } => exchange::export(registry.in_order(), &caller.role, *form, format),
        ToolsCommand::Check { .. } | ToolsCommand::Import(_) | ToolsCommand::Schema => {}
    }
    Ok(0)
}

fn failed(error: hermes_runtime::Error) -> Failure {
    let exit = error.kind.exit_code();
    let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Failure { exit, ..Failure::usage(format!("{}{hint}", error.message)) }
}

/// The tool that a person names, whatever its roles are.
fn find<'a>(registry: &'a Registry, name: &str) -> Result<&'a Arc<Tool>, Failure> {
    registry.find(name).ok_or_else(|| unknown(name, registry))
}

fn unknown(tool: &str, registry: &Registry) -> Failure {
    let known = tool.split_once('@').and_then(|(base, _)| registry.find(base));
    if let Some(newest) = known {
        let versions: Vec<&str> = registry.versions_of(newest).map(|tool| &*tool.version).collect();
        return Failure::unknown(format!("no version fits `{}`; there is {}", printable(tool), versions.join(", ")));
    }
    let near = nearest_many(tool, registry.in_order().iter().map(|tool| &*tool.name), 3);
    let near = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    Failure::unknown(format!("no tool is called `{}`{near}", printable(tool)))
}

fn list(registry: &Registry, tools: &[&Arc<Tool>], role: &str, format: Format) {
    match format {
        Format::Text => {
            for tool in tools {
                let allowed = if registry::is_visible(tool, role) { "" } else { "  (not for this role)" };
                let first = tool.description.lines().next().unwrap_or_default();
                output::line(&format!("{:<24} {:<8} {}{allowed}", tool.name, tool.version, printable(first)));
            }
        }
        Format::Json => {
            output::document(&tools.iter().map(|tool| summary(registry, tool, role)).collect::<Vec<_>>(), format);
        }
        Format::Ndjson => tools.iter().for_each(|tool| output::document(&summary(registry, tool, role), format)),
    }
}

fn summary(registry: &Registry, tool: &Tool, role: &str) -> Value {
    let versions: Vec<&str> = registry.versions_of(tool).map(|tool| &*tool.version).collect();
    json!({
        "name": &*tool.name, "version": &*tool.version, "versions": versions, "description": tool.description, "category": tool.category,
        "aliases": tool.aliases, "effect": tool.effect, "risk_level": tool.risk_level,
        "allowed": registry::is_visible(tool, role),
    })
}

fn show(toolbox: &Toolbox, tool: &Tool, measured: Option<&Use>, format: Format) {
    let versions: Vec<&str> = match toolbox.registry.find(&tool.name) {
        Some(newest) => toolbox.registry.versions_of(newest).map(|tool| &*tool.version).collect(),
        None => Vec::new(),
    };
    // What the author declares is told apart from what was measured, and is used for nothing.
    let mut manifest = json!(tool.manifest);
    if let Some(metadata) = manifest["metadata"].as_object_mut()
        && let Some(declared) = metadata.remove("evolution_stats")
    {
        metadata.insert("declared_evolution_stats".into(), declared);
    }
    manifest["metadata"]["evolution_stats"] = live(measured);
    let roles = json!({ "required": tool.required_roles, "denied": tool.denied_roles });
    let document = json!({
        "manifest": manifest, "input_schema": tool.input.json(), "roles": roles, "digest": tool.digest,
        "versions": versions,
    });
    match format {
        Format::Json | Format::Ndjson => output::document(&document, format),
        Format::Text => {
            output::line(&format!(
                "{} {}\n{}\n",
                tool.name,
                tool.version,
                crate::terminal::printable_lines(&tool.description)
            ));
            for (name, field) in &tool.input.fields {
                let type_ = field.type_.map(|type_| format!("{type_:?}").to_lowercase()).unwrap_or_default();
                let need = match (&field.default, field.required) {
                    (_, true) => "required".to_owned(),
                    (Some(default), false) => format!("default {default}"),
                    (None, false) => "optional".to_owned(),
                };
                let property = &tool.input.json()["properties"][name.as_str()];
                let description = property["description"].as_str().unwrap_or_default();
                output::line(&format!("  {name:<18} {type_:<8} {need:<16} {}", printable(description)));
            }
            let join =
                |roles: &std::collections::BTreeSet<String>| roles.iter().cloned().collect::<Vec<_>>().join(", ");
            output::line(&format!("\nroles     {}", join(&tool.required_roles)));
            if !tool.denied_roles.is_empty() {
                output::line(&format!("refuses   {}", join(&tool.denied_roles)));
            }
            output::line(&format!("effect    {:?}", tool.effect.kind).to_lowercase());
            output::line(&format!("risk      {:?}", tool.risk_level).to_lowercase());
            for backend in &tool.backends {
                let endpoint = backend.endpoint.as_ref().map(|endpoint| format!(" at {endpoint}")).unwrap_or_default();
                output::line(&format!("adapter   {}{}", printable(&backend.adapter), printable(&endpoint)));
            }
            if let Some(used) = measured {
                output::line(&format!("measured  {}", crate::stats::in_words(used)));
            }
            if versions.len() > 1 {
                output::line(&format!("versions  {}", versions.join(", ")));
            }
            output::line(&format!("digest    {}", tool.digest));
        }
    }
}

/// What was measured of a version of a tool, in the manifest's own words and with more.
fn live(measured: Option<&Use>) -> Value {
    let Some(used) = measured else { return json!({ "total_invocations": 0 }) };
    json!({
        "total_invocations": used.calls, "success_rate": used.success_rate, "success_lower": used.success_lower,
        "avg_latency_ms": used.mean_ms, "p50_ms": used.p50_ms, "p95_ms": used.p95_ms, "p99_ms": used.p99_ms,
        "last_used": used.last_used_ms.map(crate::stats::moment),
    })
}
