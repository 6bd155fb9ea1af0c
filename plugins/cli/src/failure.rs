//! What does the caller learn when a program does not do what it was asked? Maps how programs end, and why they do not
//! start, to the contract's errors. A signal, a limit and any code but zero are failures.

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::process::{Ending, Failure, Reason};
use crate::bindings::hermes::tool::types::ErrorKind;

/// The names of signals that a person meets, by number on Linux.
const SIGNALS: &[(u8, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (31, "SIGSYS"),
];

/// A signal's name.
pub(crate) fn signal_name(number: u8) -> String {
    let known = SIGNALS.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}

/// A program that did not start.
pub(crate) fn not_started(failure: Failure) -> Error {
    let (kind, reason, hint) = match failure.reason {
        Reason::ProgramNotFound => (ErrorKind::ToolFailed, "program_not_found", None),
        Reason::NotAProgram => (ErrorKind::ToolFailed, "not_a_program", None),
        Reason::PermissionDenied => (ErrorKind::Denied, "permission_denied", None),
        Reason::DirectoryNotFound => (
            ErrorKind::ToolFailed,
            "directory_not_found",
            Some("name a directory that exists, or leave it out to start in the workspace"),
        ),
        Reason::NotADirectory => (ErrorKind::ToolFailed, "not_a_directory", None),
        Reason::PathOutOfBounds => (ErrorKind::Denied, "path_out_of_bounds", None),
        Reason::InvalidArgument => (ErrorKind::InvalidInput, "invalid_argument", None),
        Reason::TooLarge => (ErrorKind::TooLarge, "too_large", Some("pass long input as `input`, not as arguments")),
        Reason::LayerMissing => (
            ErrorKind::Unavailable,
            "layer_missing",
            Some("the operator sees each part of the sandbox with `hermes-dispatch doctor`"),
        ),
        Reason::Unavailable => (ErrorKind::Unavailable, "no_launcher", None),
    };
    error(kind, Some(reason), failure.message, hint)
}

/// A program that ended otherwise than well. `what` names it; `partial` is what it said.
pub(crate) fn ended(what: &str, ending: &Ending, partial: Output) -> Error {
    let (kind, reason, message, hint) = match ending {
        Ending::Code(code) => {
            (ErrorKind::ToolFailed, "nonzero_exit", format!("{what} exited with code {code}"), code_hint(*code))
        }
        Ending::Signal(number) => {
            (ErrorKind::ToolFailed, "signal", format!("{what} was ended by {}", signal_name(*number)), None)
        }
        Ending::TimedOut => (
            ErrorKind::Timeout,
            "timed_out",
            format!("{what} did not end in time; it and all it started were ended"),
            Some("`data` has what it said until then; give a longer `timeout_seconds` or do less at once"),
        ),
        Ending::Limit(name) => (
            ErrorKind::ToolFailed,
            "limit",
            format!("{what} used up more {name} than a program may; it and all it started were ended"),
            None,
        ),
    };
    Error { request_sent: true, partial: Some(partial), ..error(kind, Some(reason), message, hint) }
}

/// What some codes mean by the convention of shells.
fn code_hint(code: u8) -> Option<&'static str> {
    match code {
        126 => Some("by convention, 126 means that a program was found and could not be run"),
        127 => Some("by convention, 127 means that a program was not found"),
        137 => Some("by convention, 137 means that a program was ended by SIGKILL, often for want of memory"),
        _ => None,
    }
}

/// An error without an effect.
pub(crate) fn error(kind: ErrorKind, reason: Option<&str>, message: String, hint: Option<&str>) -> Error {
    Error {
        kind,
        reason: reason.map(str::to_owned),
        message,
        hint: hint.map(str::to_owned),
        request_sent: false,
        partial: None,
    }
}
