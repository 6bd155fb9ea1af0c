//! What has been learnt about a tool's arguments? The mistakes that are made with them, and the forms that went well.

use crate::args::Format;
use crate::failure::Failure;
use crate::output;
use hermes_runtime::Runtime;
use hermes_runtime::document::printable;
use hermes_runtime::validation::learning::{Mistake, Template};
use serde::Serialize;

/// `stats arguments`: the most frequent mistakes, of one tool or of all.
pub(crate) async fn mistakes(runtime: &Runtime, tool: Option<&str>, format: Format) -> Result<u8, Failure> {
    let found = runtime.argument_mistakes(tool).await.map_err(unread)?;
    say(&found, format, "no mistake with arguments is known", |it: &Mistake| {
        let hint = it.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        format!("{:>6} × {} {}: {}, expected {}{hint}", it.count, it.tool, it.path, it.rule, it.expected)
    });
    Ok(0)
}

/// `tools template`: the most frequent forms of a tool's arguments that went well.
pub(crate) async fn templates(runtime: &Runtime, tool: &str, format: Format) -> Result<u8, Failure> {
    let found = runtime.argument_templates(tool).await.map_err(unread)?;
    say(&found, format, "no call of it has gone well yet", |it: &Template| {
        format!("{:>6} × {}", it.count, it.arguments)
    });
    Ok(0)
}

fn unread(error: hermes_runtime::Error) -> Failure {
    Failure::unavailable(error.insides())
}

fn say<T: Serialize>(found: &[T], format: Format, nothing: &str, line: impl Fn(&T) -> String) {
    match format {
        Format::Text if found.is_empty() => output::line(nothing),
        Format::Text => found.iter().for_each(|it| output::line(&printable(&line(it)))),
        Format::Json => output::document(&found, format),
        Format::Ndjson => found.iter().for_each(|it| output::document(it, format)),
    }
}
