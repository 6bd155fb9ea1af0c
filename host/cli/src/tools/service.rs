//! Which tools are in service, and which fit some words? Taking one out narrows; bringing one back needs a person.

use super::failed;
use crate::args::Format;
use crate::failure::Failure;
use crate::output;
use crate::terminal::{self, Terminal};
use hermes_runtime::Runtime;
use hermes_runtime::document::printable;
use hermes_runtime::registry::Out;
use serde_json::Value;

/// Tools that were found, the best first.
pub(super) fn found(tools: &[Value], format: Format) {
    match format {
        Format::Text if tools.is_empty() => output::line("no tool fits"),
        Format::Text => {
            for tool in tools {
                let text = |key: &str| printable(tool[key].as_str().unwrap_or_default());
                output::line(&format!(
                    "{:<24} {:.3}  {}",
                    text("name"),
                    tool["rank"].as_f64().unwrap_or(0.0),
                    text("description")
                ));
                output::line(&format!("{:24}        {}", "", text("reason")));
            }
        }
        Format::Json => output::document(&tools, format),
        Format::Ndjson => tools.iter().for_each(|tool| output::document(tool, format)),
    }
}

/// Takes a tool out of service or brings it back.
pub(super) async fn set(runtime: &Runtime, tool: &str, out: Option<Out>) -> Result<(), Failure> {
    let by = match (out, Terminal::open()) {
        (None, None) => {
            let why = "bringing a tool back needs a person at a terminal, since it widens what can be called; run this at yours";
            return Err(Failure::denied(why));
        }
        (None, Some(terminal)) => {
            if !terminal.confirm(&format!("May `{}` be called again?", printable(tool))) {
                return Err(Failure::denied("nothing was changed"));
            }
            terminal::person()
        }
        (Some(_), _) => terminal::person(),
    };
    let name = runtime.set_service(tool, out, &by).await.map_err(failed)?;
    output::line(&match out {
        Some(Out::Retired) => format!("`{name}` is retired: calls of it are 410; `tools enable {name}` brings it back"),
        Some(Out::Disabled) => format!("`{name}` is out of service; `tools enable {name}` brings it back"),
        None => format!("`{name}` is in service"),
    });
    Ok(())
}
