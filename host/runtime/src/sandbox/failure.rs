//! Why did an attempt fail, and whose limit was it? Turns what the component reported, the trap it ended in and the
//! limits it hit into errors, each told apart from the others.

use super::bindings::hermes::tool::types as wit;
use super::limits::Limits;
use super::{Content, ErrorKind, Output, State};
use crate::error::{Error, Kind, Step};
use crate::registry::Tool;
use wasmtime::Trap;
use wasmtime::component::ResourceTableError;

pub(super) fn within_output_limit(output: Output, limits: &Limits) -> Result<Output, Error> {
    match output_size(&output) <= limits.output {
        true => Ok(output),
        false => Err(limit_error(Kind::OutputLimit, limits)),
    }
}

fn output_size(output: &Output) -> usize {
    let content: usize = output.content.iter().map(content_size).sum();
    let facts = [&output.data, &output.metadata].into_iter().flatten().map(String::len).sum::<usize>();
    content + facts
}

/// The size of one part, with something for the part itself, so that many empty ones are large too.
fn content_size(content: &Content) -> usize {
    const PART: usize = 32;
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    PART + match content {
        Content::Text(text) | Content::Json(text) => text.len(),
        Content::Binary(blob) => blob.data.len() + blob.media_type.len(),
        Content::Link(link) => {
            link.uri.len() + link.name.len() + optional(&link.media_type) + optional(&link.description)
        }
    }
}

/// A failure that the component reported itself.
pub(super) fn from_guest(error: wit::Error, limits: &Limits) -> (Result<Output, Error>, Option<Output>) {
    let kind = match error.kind {
        ErrorKind::InvalidInput => Kind::InvalidInput,
        ErrorKind::Denied => Kind::Denied,
        ErrorKind::Conflict => Kind::Conflict,
        ErrorKind::TooLarge => Kind::TooLarge,
        ErrorKind::ToolFailed => Kind::ToolFailed,
        ErrorKind::Upstream => Kind::Upstream,
        ErrorKind::Unavailable => Kind::Unavailable,
        ErrorKind::Timeout => Kind::Timeout,
    };
    let mut shaped = Error::new(Step::Sandbox, kind, crate::document::excerpt(&error.message, 2000));
    shaped.reason = error.reason.map(|reason| crate::document::excerpt(&reason, 64).into());
    shaped.hint = error.hint.map(|hint| crate::document::excerpt(&hint, 2000));
    let partial = error.partial.filter(|partial| output_size(partial) <= limits.output);
    (Err(shaped), partial)
}

/// Why a component broke off. A limit that was hit before is the cause, whatever the component made of it.
pub(super) fn from_trap(tool: &Tool, state: &State, limits: &Limits, error: &wasmtime::Error) -> Error {
    let trap = error.downcast_ref::<Trap>();
    let text = format!("{error:#}");
    let full = matches!(error.downcast_ref(), Some(ResourceTableError::Full));
    let kind = match (trap, state.meter.hit) {
        (Some(Trap::Interrupt), _) => return timed_out(tool, limits),
        (Some(Trap::OutOfFuel), _) => Kind::OutOfFuel,
        (Some(Trap::StackOverflow), _) => Kind::StackOverflow,
        (_, Some(hit)) => hit,
        _ if full => Kind::HandleLimit,
        _ if text.contains("write beyond capacity of MemoryOutputPipe") => Kind::LogLimit,
        _ if text.contains("hostcall fuel") || text.contains("too much data") => Kind::OutputLimit,
        _ if text.contains("memory minimum size") || text.contains("exceeds memory limits") => Kind::OutOfMemory,
        _ if text.contains("table minimum size") || text.contains("exceeds table limits") => Kind::TableLimit,
        _ => Kind::Trap,
    };
    match kind {
        Kind::Trap => Error::new(Step::Sandbox, kind, format!("the component of `{}` broke off", tool.name)).log(text),
        kind => limit_error(kind, limits).log(text),
    }
}

fn limit_error(kind: Kind, limits: &Limits) -> Error {
    let message = match kind {
        Kind::OutOfFuel => format!("the call used up its {} units of fuel", limits.fuel),
        Kind::OutOfMemory => format!("the call needs more than its {} MiB of memory", limits.memory >> 20),
        Kind::OutputLimit => format!("the result is larger than {} bytes", limits.output),
        Kind::LogLimit => format!("the call logged more than {} bytes", limits.log),
        Kind::HostCallLimit => format!("the call asked the host more than {} times", limits.host_calls),
        Kind::StackOverflow => "the component recursed too deeply".into(),
        Kind::TableLimit => "the component's tables are too large".into(),
        other => format!("the call hit a limit: {}", other.name()),
    };
    Error::new(Step::Sandbox, kind, message).hint("ask for less at once, or have the operator raise the tool's limits")
}

pub(super) fn timed_out(tool: &Tool, limits: &Limits) -> Error {
    let message = format!("`{}` did not end within {} ms", tool.name, limits.timeout.as_millis());
    Error::new(Step::Sandbox, Kind::Timeout, message)
}
