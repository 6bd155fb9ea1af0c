//! What does the caller learn when a server does not do what it was asked? Maps failures of the interface to the
//! contract's errors.

use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::bindings::hermes::tool::mcp::{Failure, Reason};
use crate::bindings::hermes::tool::types::ErrorKind;

/// JSON-RPC's code for parameters that the server does not take.
const INVALID_PARAMS: i64 = -32602;

/// A request without a result.
pub(crate) fn of(failure: Failure) -> Error {
    let (kind, reason, hint) = match failure.reason {
        Reason::NotBound => (ErrorKind::InvalidInput, "not_bound", None),
        Reason::NotConfigured => (
            ErrorKind::Unavailable,
            "not_configured",
            Some("the operator adds the server under `[mcp.servers]` of the configuration"),
        ),
        Reason::NotConnected => (ErrorKind::Unavailable, "not_connected", None),
        Reason::ConnectionLost => {
            let hint = "the server may have done what it was asked; look before asking again";
            (ErrorKind::Upstream, "connection_lost", failure.request_sent.then_some(hint))
        }
        Reason::Refused if failure.code == Some(INVALID_PARAMS) => (ErrorKind::InvalidInput, "refused", None),
        Reason::Refused => (ErrorKind::Upstream, "refused", None),
        Reason::ProtocolError => (ErrorKind::Upstream, "protocol_error", None),
        Reason::InputRequired => (ErrorKind::Denied, "input_required", None),
        Reason::Changed => (
            ErrorKind::Conflict,
            "changed",
            Some("the operator sees what changed, and accepts it, with `hermes-dispatch tools accept`"),
        ),
        Reason::TooLarge => (ErrorKind::TooLarge, "too_large", Some("ask for less at once")),
        Reason::TimedOut => (ErrorKind::Timeout, "timed_out", None),
    };
    Error { request_sent: failure.request_sent, ..error(kind, reason, failure.message, hint) }
}

/// An error after a request was sent.
pub(crate) fn error(kind: ErrorKind, reason: &str, message: String, hint: Option<&str>) -> Error {
    Error {
        kind,
        reason: Some(reason.to_owned()),
        message,
        hint: hint.map(str::to_owned),
        request_sent: true,
        partial: None,
    }
}
