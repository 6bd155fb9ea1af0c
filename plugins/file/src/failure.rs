//! What does the caller learn when something fails? Maps the reasons of the file interface to the contract's errors.

use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::bindings::hermes::tool::types::ErrorKind;
use crate::files::{Failure, Reason};

/// The reason's name as callers meet it, in snake case.
pub(crate) fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::NotFound => "not_found",
        Reason::PathOutOfBounds => "path_out_of_bounds",
        Reason::ReadOnly => "read_only",
        Reason::PermissionDenied => "permission_denied",
        Reason::NotARegularFile => "not_a_regular_file",
        Reason::NotADirectory => "not_a_directory",
        Reason::IsADirectory => "is_a_directory",
        Reason::AlreadyExists => "already_exists",
        Reason::Changed => "changed",
        Reason::TooLarge => "too_large",
        Reason::NoSpace => "no_space",
        Reason::Io => "io",
    }
}

fn kind(reason: Reason) -> ErrorKind {
    match reason {
        Reason::PathOutOfBounds | Reason::ReadOnly | Reason::PermissionDenied => ErrorKind::Denied,
        Reason::Changed => ErrorKind::Conflict,
        Reason::TooLarge => ErrorKind::TooLarge,
        Reason::NotFound
        | Reason::NotARegularFile
        | Reason::NotADirectory
        | Reason::IsADirectory
        | Reason::AlreadyExists
        | Reason::NoSpace
        | Reason::Io => ErrorKind::ToolFailed,
    }
}

fn hint(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::NotARegularFile => Some("pipes, sockets and devices are never opened; name a regular file"),
        Reason::IsADirectory => Some("list a directory with file_list"),
        Reason::AlreadyExists => Some("use mode `overwrite`, `append` or `replace` to change a file that exists"),
        Reason::Changed => Some("read the file again and repeat the change on what is there now"),
        Reason::NotFound
        | Reason::PathOutOfBounds
        | Reason::ReadOnly
        | Reason::PermissionDenied
        | Reason::NotADirectory
        | Reason::TooLarge
        | Reason::NoSpace
        | Reason::Io => None,
    }
}

/// A failure of an operation that changes nothing.
pub(crate) fn reading(failure: Failure) -> Error {
    error(kind(failure.reason), Some(word(failure.reason)), failure.message, hint(failure.reason))
}

/// A failure of an operation that changes something. The interface undoes what it could not finish, except that a
/// disk which fails or is full may have taken a part.
pub(crate) fn writing(failure: Failure) -> Error {
    let request_sent = matches!(failure.reason, Reason::Io | Reason::NoSpace);
    Error { request_sent, ..reading(failure) }
}

/// The arguments contradict each other or make no sense, although each of them passed the schema.
pub(crate) fn invalid(message: impl Into<String>, hint: &str) -> Error {
    error(ErrorKind::InvalidInput, None, message.into(), Some(hint))
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
