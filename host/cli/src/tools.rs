//! Which tools are there, and what is one like?

use crate::args::{Arguments, Format, ToolsCommand};
use crate::failure::Failure;
use crate::{identity, output, setup};
use hermes_runtime::document::{nearest_many, printable};
use hermes_runtime::registry::{self, Tool};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) async fn run(arguments: &Arguments, command: &ToolsCommand) -> Result<u8, Failure> {
    let setup = setup::load(arguments)?;
    let caller = identity::caller(arguments, &setup.loaded.config)?;
    let runtime = setup::start(setup)?;
    let mut tools: Vec<Arc<Tool>> = runtime.toolbox().registry.tools().cloned().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let format = arguments.output.format();
    match command {
        ToolsCommand::List { all } => {
            tools.retain(|tool| *all || registry::is_visible(tool, &caller.role));
            list(&tools, &caller.role, format);
            Ok(0)
        }
        ToolsCommand::Show { tool } => {
            let found = tools.iter().find(|known| &*known.name == tool || known.aliases.contains(tool));
            match found {
                Some(found) => show(found, format),
                None => return Err(unknown(tool, &tools)),
            }
            Ok(0)
        }
        ToolsCommand::Template { tool } => {
            let known = tools.iter().find(|known| &*known.name == tool || known.aliases.contains(tool));
            let name = known.map(|known| known.name.clone()).ok_or_else(|| unknown(tool, &tools))?;
            crate::learning::templates(&runtime, &name, format).await
        }
    }
}

fn unknown(tool: &str, tools: &[Arc<Tool>]) -> Failure {
    let near = nearest_many(tool, tools.iter().map(|tool| &*tool.name), 3);
    let near = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    Failure::unknown(format!("no tool is called `{}`{near}", printable(tool)))
}

fn list(tools: &[Arc<Tool>], role: &str, format: Format) {
    match format {
        Format::Text => {
            for tool in tools {
                let allowed = if registry::is_visible(tool, role) { "" } else { "  (not for this role)" };
                let first = tool.description.lines().next().unwrap_or_default();
                output::line(&format!("{:<24} {:<8} {}{allowed}", tool.name, tool.version, printable(first)));
            }
        }
        Format::Json => output::document(&tools.iter().map(|tool| summary(tool, role)).collect::<Vec<_>>(), format),
        Format::Ndjson => tools.iter().for_each(|tool| output::document(&summary(tool, role), format)),
    }
}

fn summary(tool: &Tool, role: &str) -> Value {
    json!({
        "name": &*tool.name, "version": &*tool.version, "description": tool.description, "category": tool.category,
        "aliases": tool.aliases, "effect": tool.effect, "risk_level": tool.risk_level,
        "allowed": registry::is_visible(tool, role),
    })
}

fn show(tool: &Tool, format: Format) {
    let roles = json!({ "required": tool.required_roles, "denied": tool.denied_roles });
    let document = json!({
        "manifest": tool.manifest, "input_schema": tool.input.json, "roles": roles, "digest": tool.digest,
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
                let property = &tool.input.json["properties"][name.as_str()];
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
            output::line(&format!("digest    {}", tool.digest));
        }
    }
}
