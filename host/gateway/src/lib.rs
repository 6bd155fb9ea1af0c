//! The runtime served to agents: MCP over a pair of pipes, and over HTTP, on this machine or encrypted.
//!
//! A connection has one [`Identity`], which configuration or a token gives it; nothing that a client sends changes it.
//! Each message passes a filter of ours before the protocol library sees it, and each tool call goes through
//! `Runtime::call`. Both eras of the protocol are served: sessions that begin with `initialize`, and requests that bring
//! their own metadata (2026-07-28).
//!
//! # What is answered how
//!
//! Whatever a tool or the runtime says about a call is a tool result: the model reads it. JSON-RPC errors are for
//! messages that are no call, and the client reads them.
//!
//! | what came | answer | id |
//! | --- | --- | --- |
//! | a call that did what it was asked | result, `isError: false` | the request's |
//! | a call that was refused or failed: unknown tool, role, risk, no approver, wrong arguments, limit, trap, time | result, `isError: true`, the envelope's error in `structuredContent.error` | the request's |
//! | arguments with a key twice, half a surrogate pair, more than 120 levels, no object, broken JSON | the same, 400 `invalid_input` | the request's |
//! | more calls at once than a connection may have | the same, 503 `overloaded` | the request's |
//! | a call that was taken back | none; recorded as 499 | |
//! | bytes that are no UTF-8, or no JSON object | −32700 | `null` |
//! | a batch, an id that is neither text nor whole number or longer than 1,024 bytes, two ids, the id of a running request | −32600 | `null` |
//! | no JSON-RPC message, a member twice, half a surrogate pair or more than 100 levels outside the arguments, more than 32 MiB | −32600 | the request's |
//! | an unknown method | −32601 | the request's |
//! | params that do not fit the method | −32602 | the request's |
//! | a notification that nobody knows, an empty line | none | |
//!
//! None of these closes the connection. Over HTTP the messages with −32700, and those with −32600 that the filter
//! refuses, are a 400 with that error; what is refused before a message is read has a status of its own.

mod answer;
mod approvals;
mod changes;
mod elicit;
mod frame;
mod http;
mod ids;
mod inflight;
mod line;
mod listing;
mod offered;
mod rooted;
mod server;
mod stdio;
mod webhook;

pub use crate::approvals::{Operator, Operators, Shown, serve_approvals};
pub use crate::http::{Authenticate, Authenticated, Certificate, CertificateError, Listening, PATH, serve_http};
pub use crate::rooted::ForRoot;
pub use crate::webhook::{Webhook, WebhookError};
use hermes_runtime::Runtime;
use hermes_runtime::call::{Caller, Situation};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rooted::Rooted;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
pub use tokio_util::sync::CancellationToken;

/// For whom and in which circumstances a connection's calls are made.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Who calls.
    pub caller: Arc<Caller>,
    /// In which circumstances.
    pub situation: Arc<Situation>,
    /// What a person has set for a session since.
    pub set: Set,
}

/// What a person has set as the circumstances of a session since it began. It is asked for each call.
#[derive(Clone, Default)]
pub struct Set(pub Option<Arc<SetBy>>);

/// What a person set for the session of that name.
pub type SetBy = dyn Fn(&str) -> Option<Situation> + Send + Sync;

impl Set {
    /// The circumstances of a session, if a person has set them.
    pub(crate) fn of(&self, session: &str) -> Option<Situation> {
        self.0.as_ref()?(session)
    }
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "asked for each call" } else { "nothing" })
    }
}

/// The time, in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Why a connection ended otherwise than by its peer.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The two sides could not agree on how to speak.
    #[error("the session could not begin: {0}")]
    Beginning(String),
    /// The gateway itself broke.
    #[error("the connection broke: {0}")]
    Broken(String),
}

/// Serves one client over a pair of pipes, with a runtime and, where the workspace is the one root that the client offers,
/// what makes one for that. It serves until the client ends the input or `stop` is cancelled. Calls that run then are waited
/// for, within limits; what still runs after that is cancelled and recorded so.
///
/// # Errors
/// If the session cannot begin or the gateway breaks. What a client sends is no error.
pub async fn serve_stdio(
    (runtime, for_root): (Arc<Runtime>, Option<ForRoot>),
    identity: Identity,
    pipes: (impl AsyncRead + Unpin + Send + 'static, impl AsyncWrite + Unpin + Send + 'static),
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let session: Arc<str> = format!("stdio:{}", ulid::Ulid::generate()).into();
    let closing = CancellationToken::new();
    let server = server::Server::new(Rooted::new(runtime, for_root), identity, session).until(closing.clone());
    let transport = stdio::Stdio::new(pipes, stop, closing);
    match server.serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| ServeError::Broken(error.to_string())),
        // A client that says nothing and goes has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(ServeError::Beginning(error.to_string())),
    }
}
