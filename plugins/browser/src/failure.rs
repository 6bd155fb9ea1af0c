//! What does the caller learn when something could not be done? Maps the capability's reasons to the contract's errors.

use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::bindings::hermes::tool::browser::{Failure, Reason};
use crate::bindings::hermes::tool::types::ErrorKind;

/// What the capability refused or could not do.
pub(crate) fn of(failure: Failure) -> Error {
    let (kind, reason, hint) = match failure.reason {
        Reason::NotInstalled => (ErrorKind::Unavailable, "browser_not_installed", None),
        Reason::LayerMissing => (
            ErrorKind::Unavailable,
            "layer_missing",
            Some("the operator sees each part of the sandbox with `hermes-dispatch doctor`"),
        ),
        Reason::Unavailable => (ErrorKind::Unavailable, "no_launcher", None),
        Reason::Crashed => {
            (ErrorKind::Upstream, "browser_crashed", Some("navigate again: the next call gets a fresh browser"))
        }
        Reason::NoSuchTab => (ErrorKind::ToolFailed, "no_such_tab", Some("browser_tabs lists the open tabs")),
        Reason::TooMany => (ErrorKind::Unavailable, "too_many_tabs", Some("close tabs with browser_close")),
        Reason::InvalidArgument => {
            (ErrorKind::InvalidInput, "bad_url", Some("give a whole address, such as https://example.org/"))
        }
        Reason::NotAllowed => (ErrorKind::Denied, "url_out_of_bounds", None),
        Reason::Gone | Reason::ElementUnreachable => {
            (ErrorKind::ToolFailed, "element_unreachable", Some("take a new snapshot and use a reference from it"))
        }
        Reason::ScriptFailed => (ErrorKind::ToolFailed, "script_failed", None),
        Reason::TimedOut => (
            ErrorKind::Timeout,
            "page_unresponsive",
            Some("the page is busy or its server is silent; give a longer `timeout_seconds` or navigate elsewhere"),
        ),
        Reason::TooLarge => (ErrorKind::TooLarge, "too_large", None),
        Reason::Refused => (ErrorKind::Upstream, "protocol_error", None),
    };
    // Whatever was asked of the browser may have left it.
    let sent = matches!(failure.reason, Reason::Crashed | Reason::TimedOut | Reason::Refused | Reason::ScriptFailed);
    Error { request_sent: sent, ..error(kind, Some(reason), failure.message, hint) }
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

/// A tool that did not work, for a reason of its own.
pub(crate) fn failed(reason: &str, message: String, hint: Option<&str>) -> Error {
    error(ErrorKind::ToolFailed, Some(reason), message, hint)
}
