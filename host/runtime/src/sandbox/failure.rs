//! Why did an attempt fail, and whose limit was it? Turns what the component reported, the trap it ended in and the
//! limits it hit into errors, each told apart from the others.

use super::limits::{LimitHit, Limits};
use super::{ErrorKind, Output, output};
use crate::error::{Blame, Error, Kind, Step};
use crate::registry::Tool;
use std::time::Duration;
use wasmtime::component::ResourceTableError;
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

pub(super) fn within_limits(output: Output, limits: &Limits) -> Result<Output, Error> {
    match output::exceeds(&output, limits) {
        None => Ok(output),
        Some((kind, reason)) => Err(limit_error(kind, limits).reason(reason)),
    }
}

/// A failure that the component reported itself.
pub(super) fn from_guest(error: super::wit::Error, limits: &Limits) -> (Result<Output, Error>, Option<Output>) {
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
    let partial = error.partial.filter(|partial| output::exceeds(partial, limits).is_none());
    (Err(shaped), partial)
}

/// What ended a component, as far as its error says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cause {
    /// A limit, with what refines it.
    Limit(Kind, Option<&'static str>),
    /// The attempt's time.
    Time,
    /// All calls together run more than the runtime has room for.
    NoRoom,
    /// It ended itself, with this code.
    Exit(i32),
    /// It broke off, for this reason of the engine's if it has one.
    Trap(Option<String>),
}

/// Why a component broke off. `hit` is a limit that refused it something before: that is the cause, whatever the
/// component made of it.
pub(super) fn from_trap(tool: &str, hit: Option<Kind>, limits: &Limits, error: &wasmtime::Error) -> Option<Error> {
    if let Some(refused) = error.downcast_ref::<Error>() {
        return Some(refused.clone());
    }
    let failed = match cause(hit, error) {
        Cause::Time => return None,
        Cause::Limit(kind, reason) => {
            let mut failed = limit_error(kind, limits);
            failed.reason = reason.map(Into::into);
            failed
        }
        Cause::NoRoom => Error::new(Step::Sandbox, Kind::Overloaded, "the calls that run leave no room for this one")
            .retry_after(Duration::from_secs(1)),
        Cause::Exit(code) => trap(format!("the component of `{tool}` ended itself with code {code}")).reason("exit"),
        Cause::Trap(reason) => {
            let mut failed = trap(format!("the component of `{tool}` broke off"));
            failed.reason = reason.map(Into::into);
            failed
        }
    };
    Some(failed.log(format!("{error:#}")))
}

/// The same of one that ran in a process of its own, as far as that says so.
pub(super) fn told(tool: &str, limits: &Limits, kind: Kind, reason: Option<String>, insides: Option<String>) -> Error {
    let mut failed = match kind {
        Kind::OutOfFuel
        | Kind::OutOfMemory
        | Kind::OutputLimit
        | Kind::LogLimit
        | Kind::HostCallLimit
        | Kind::StackOverflow
        | Kind::TableLimit
        | Kind::InstanceLimit
        | Kind::HandleLimit => limit_error(kind, limits),
        _ => trap(format!("the component of `{tool}` broke off")),
    };
    failed.reason = reason.map(|reason| crate::document::excerpt(&reason, 64).into());
    failed.log = insides.map(|insides| crate::document::excerpt(&insides, 16 << 10));
    failed
}

fn trap(message: String) -> Error {
    Error::new(Step::Sandbox, Kind::Trap, message)
}

fn cause(hit: Option<Kind>, error: &wasmtime::Error) -> Cause {
    let trap = error.downcast_ref::<Trap>();
    match trap {
        Some(Trap::Interrupt) => return Cause::Time,
        Some(Trap::OutOfFuel) => return Cause::Limit(Kind::OutOfFuel, None),
        Some(Trap::StackOverflow) => return Cause::Limit(Kind::StackOverflow, None),
        Some(_) | None => {}
    }
    if let Some(LimitHit(kind)) = error.downcast_ref() {
        return Cause::Limit(*kind, None);
    }
    if let Some(kind) = hit {
        return Cause::Limit(kind, None);
    }
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
        return Cause::Limit(Kind::HandleLimit, None);
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return Cause::NoRoom;
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return Cause::Exit(*code);
    }
    match trap {
        Some(trap) => Cause::Trap(Some(snake_case(&format!("{trap:?}")))),
        None => untyped(error),
    }
}

/// The limits that Wasmtime 48 reports without a type of their own. Tests hit each, so that a change of these words
/// fails them.
fn untyped(error: &wasmtime::Error) -> Cause {
    let said = error.root_cause().to_string();
    // Data of a call to the host is copied while the component still runs, a result after it has returned.
    let runs = error.is::<WasmBacktrace>();
    match () {
        () if said.contains("fuel allocated for hostcalls has been exhausted") && runs => {
            Cause::Limit(Kind::HostCallLimit, Some("host_call_bytes"))
        }
        () if said.contains("fuel allocated for hostcalls has been exhausted") => {
            Cause::Limit(Kind::OutputLimit, Some("bytes"))
        }
        () if said.contains("store handle limit exceeded") => Cause::Limit(Kind::HandleLimit, None),
        () => Cause::Trap(None),
    }
}

/// Whether nothing is wrong but that too much runs at the same time.
pub(super) fn is_no_room(error: &wasmtime::Error) -> bool {
    error.is::<PoolConcurrencyLimitError>()
}

fn snake_case(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

pub(super) fn limit_error(kind: Kind, limits: &Limits) -> Error {
    let message = match kind {
        Kind::OutOfFuel => format!("the call used up its {} units of fuel", limits.fuel),
        Kind::OutOfMemory => format!("the call needs more than its {} MiB of memory", limits.memory >> 20),
        Kind::OutputLimit => format!("the result is larger than {} bytes", limits.output),
        Kind::LogLimit => {
            format!("the call logged more than {} bytes or {} lines", limits.log, limits.log_lines)
        }
        Kind::HostCallLimit => format!(
            "the call asked the host more than {} times, or handed it more than {} bytes at once",
            limits.host_calls, limits.host_call_bytes
        ),
        Kind::StackOverflow => "the component recursed too deeply".into(),
        Kind::TableLimit => format!("the component's tables have more than {} elements", limits.table_elements),
        Kind::InstanceLimit => format!("the component is made of more than {} instances", limits.instances),
        Kind::HandleLimit => {
            format!("the call holds more than {} handles, or more open files and programs than it may", limits.handles)
        }
        other => format!("the call hit a limit: {}", other.name()),
    };
    Error::new(Step::Sandbox, kind, message).hint("ask for less at once, or have the operator raise the tool's limits")
}

/// An attempt, or the whole call, took longer than it may.
pub(super) fn timed_out(tool: &Tool, kind: Kind, time: Duration) -> Error {
    let message = format!("`{}` did not end within {} ms", tool.name, time.as_millis());
    Error::new(Step::Sandbox, kind, message).blame(Blame::Guest)
}

/// The caller gave up, and the tool has ended.
pub(super) fn cancelled(tool: &Tool) -> Error {
    Error::new(Step::Sandbox, Kind::Cancelled, format!("the caller gave up, and `{}` was told so", tool.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_by_the_type_of_the_error() {
        let of = |hit, error| cause(hit, &error);
        assert_eq!(of(None, Trap::Interrupt.into()), Cause::Time);
        assert_eq!(of(Some(Kind::OutOfMemory), Trap::OutOfFuel.into()), Cause::Limit(Kind::OutOfFuel, None));
        assert_eq!(
            of(Some(Kind::OutOfMemory), Trap::UnreachableCodeReached.into()),
            Cause::Limit(Kind::OutOfMemory, None)
        );
        assert_eq!(of(None, Trap::IntegerDivisionByZero.into()), Cause::Trap(Some("integer_division_by_zero".into())));
        assert_eq!(of(None, wasmtime::Error::new(LimitHit(Kind::LogLimit))), Cause::Limit(Kind::LogLimit, None));
        assert_eq!(of(None, wasmtime::Error::new(ResourceTableError::Full)), Cause::Limit(Kind::HandleLimit, None));
        assert_eq!(of(None, wasmtime::Error::new(I32Exit(3))), Cause::Exit(3));
        assert_eq!(of(None, wasmtime::Error::msg("some words")), Cause::Trap(None));
    }
}
