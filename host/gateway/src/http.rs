//! How do agents speak to the runtime over HTTP? Encrypted or on this machine's own address, only with a token, and only
//! to the host they mean. Each token has a service of its own, so that no session of one is there for another. Must not know
//! what the messages ask for.
//!
//! Checked before anything of a request is read but its head: that the server is not ending (503), `Host` (403, against
//! pages whose name was made to lead here), `Origin` (403), `Authorization` (401), path (404). The body is read within
//! a time, and within what all bodies together may take, and goes through the same filter as a line on a pipe; what
//! cannot pass is a 400 with the JSON-RPC error of the table.

pub(crate) mod accept;
mod body;
pub(crate) mod head;
mod tls;

use crate::rooted::Rooted;
use crate::server::{self, Server};
use crate::{Identity, ServeError, Set};
use accept::Answering;
use body::Bodies;
use head::Own;
use hermes_runtime::call::Digest;
use hermes_runtime::sandbox::CallBack;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::server::graceful::GracefulShutdown;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
pub use tls::{Certificate, CertificateError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Where the protocol is spoken.
pub const PATH: &str = "/mcp";
/// Connections at once. Further ones wait in the kernel.
const CONNECTIONS: usize = 1024;
/// How long a session lives without a request.
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
/// How long running calls may go on when the server ends.
const DRAIN: Duration = Duration::from_secs(10);
/// How long the last answers may take to be written.
const LAST_WRITES: Duration = Duration::from_secs(2);

pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// What a token stands for.
#[derive(Clone, Debug)]
pub struct Authenticated {
    /// The token's own id, never used again for another one.
    pub token: Arc<str>,
    /// For whom its calls are made.
    pub identity: Identity,
}

/// Says what a token stands for; nothing for one that counts no more. It is asked for each request.
pub type Authenticate = Arc<dyn Fn(&str) -> Option<Authenticated> + Send + Sync>;

/// Where a server listens.
pub struct Listening {
    /// The listener. It has to be on this machine's own address unless there is a certificate.
    pub listener: TcpListener,
    /// What the server shows its clients; without one, nothing is encrypted.
    pub certificate: Option<Certificate>,
    /// Names of this machine that clients use, beside `localhost` and the address itself.
    pub names: Vec<String>,
}

/// Who was let in: whoever a token stands for, or a server that works for a call of theirs.
struct Admitted {
    /// The name of its service.
    key: Arc<str>,
    identity: Identity,
    call_back: Option<CallBack>,
}

/// Everything that requests share. Lifetime: the server.
struct Gate {
    runtime: Arc<hermes_runtime::Runtime>,
    authenticate: Authenticate,
    own: Own,
    services: Arc<Mutex<HashMap<Arc<str>, Service>>>,
    bodies: Bodies,
    stop: CancellationToken,
    /// Ends sessions and what still runs in them.
    end: CancellationToken,
    running: TaskTracker,
}

/// Serves until `stop` is cancelled. Calls that run then are waited for, within a limit; what still runs after that is
/// cancelled and recorded so.
///
/// # Errors
/// If the listener's own address is not known, or others could listen to what is said there.
pub async fn serve_http(
    runtime: Arc<hermes_runtime::Runtime>,
    authenticate: Authenticate,
    listening: Listening,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let Listening { listener, certificate, names } = listening;
    let address = private_address(&listener, certificate.as_ref())?;
    runtime.serves_at(head::url(address, &names, certificate.is_some()));
    let gate = Arc::new(Gate {
        runtime,
        authenticate,
        own: Own::new(address, &names, certificate.is_some()),
        services: Arc::default(),
        bodies: Bodies::default(),
        stop: stop.clone(),
        end: CancellationToken::new(),
        running: TaskTracker::new(),
    });
    let open = GracefulShutdown::new();
    tokio::select! {
        () = stop.cancelled() => {}
        () = accept::accept(&listener, certificate.as_ref(), CONNECTIONS, &gate, (&open, &stop)) => {}
    }
    drop(listener);
    gate.running.close();
    let _ = tokio::time::timeout(DRAIN, gate.running.wait()).await;
    gate.end.cancel();
    let _ = tokio::time::timeout(LAST_WRITES, open.shutdown()).await;
    Ok(())
}

/// The address that is listened on, unless others could listen to what is said there.
pub(crate) fn private_address(
    listener: &TcpListener,
    certificate: Option<&Certificate>,
) -> Result<SocketAddr, ServeError> {
    let address = listener.local_addr().map_err(|error| ServeError::Broken(error.to_string()))?;
    match certificate.is_none() && !address.ip().is_loopback() {
        true => {
            Err(ServeError::Broken(format!("{address} is not this machine's own address and nothing is encrypted")))
        }
        false => Ok(address),
    }
}

impl Answering for Gate {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        self.serve(request).await
    }
}

impl Gate {
    async fn serve(&self, request: Request<Incoming>) -> Answer {
        let admitted = match self.admit(&request) {
            Ok(admitted) => admitted,
            Err(answer) => return *answer,
        };
        let service = self.service(&admitted);
        let (mut head, body) = request.into_parts();
        let body = match head.method {
            Method::POST => match self.bodies.read(&mut head, body).await {
                Ok(body) => body,
                Err(answer) => return *answer,
            },
            _ => Bytes::new(),
        };
        // Kept by whatever answers the request, so that the end of the server waits for it.
        head.extensions.insert(self.running.token());
        let ended = (head.method == Method::DELETE).then(|| server::stateful_session(&head)).flatten();
        let mut answer = service.handle(Request::from_parts(head, Full::new(body))).await;
        if let Some(session) = ended.filter(|_| answer.status() == StatusCode::ACCEPTED) {
            // The session is gone by now, and clients take 202 for a failure.
            *answer.status_mut() = StatusCode::NO_CONTENT;
            self.runtime.end_session(&admitted.identity.caller, &session).await;
        }
        answer
    }

    /// Judges the head of a request.
    fn admit(&self, request: &Request<Incoming>) -> Result<Admitted, Box<Answer>> {
        if self.stop.is_cancelled() {
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is ending"));
        }
        if !self.own.is_meant(request) {
            return Err(refuse(StatusCode::FORBIDDEN, "the Host header is not this server's own address"));
        }
        if !self.own.is_origin(request) {
            return Err(refuse(StatusCode::FORBIDDEN, "no page of another origin may speak to this server"));
        }
        let Some(admitted) = head::token(request).and_then(|token| self.known(token)) else {
            let mut answer = refuse(StatusCode::UNAUTHORIZED, "a token that counts is needed: Authorization: Bearer …");
            answer.headers_mut().insert(http::header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
            return Err(answer);
        };
        if request.uri().path() != PATH {
            return Err(refuse(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp"));
        }
        Ok(admitted)
    }

    fn known(&self, token: &str) -> Option<Admitted> {
        if let Some(call_back) = self.runtime.call_back(token) {
            let identity =
                Identity { caller: call_back.caller().clone(), situation: Arc::default(), set: Set::default() };
            // By what is kept of the token, which is never another one's.
            let key = format!("call back {}", Digest::of(token.as_bytes()).hex()).into();
            return Some(Admitted { key, identity, call_back: Some(call_back) });
        }
        let Authenticated { token, identity } = (self.authenticate)(token)?;
        Some(Admitted { key: token, identity, call_back: None })
    }

    /// The service of a token. Its sessions are in it and in no other.
    fn service(&self, admitted: &Admitted) -> Service {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        let made = services.entry(admitted.key.clone()).or_insert_with(|| {
            let (identity, end) = (admitted.identity.clone(), self.end.child_token());
            let rooted = Rooted::new(self.runtime.clone(), None);
            let server = match &admitted.call_back {
                Some(call_back) => {
                    self.end_with(call_back, admitted.key.clone(), end.clone());
                    let server = Server::new(rooted, identity, call_back.session().clone());
                    server.of_a_call(call_back.clone()).until(end.clone())
                }
                None => {
                    let session = server::stateless_session(&identity);
                    Server::new(rooted, identity, session).until(self.stop.clone())
                }
            };
            let mut sessions = SessionConfig::default();
            sessions.keep_alive = Some(SESSION_IDLE);
            let mut manager = LocalSessionManager::default();
            manager.session_config = sessions;
            let config =
                StreamableHttpServerConfig::default().with_allowed_hosts(self.own.names()).with_cancellation_token(end);
            StreamableHttpService::new(move || Ok(server.clone()), Arc::new(manager), config)
        });
        made.clone()
    }

    /// When the call is over, so are the sessions that were opened for it.
    fn end_with(&self, call_back: &CallBack, key: Arc<str>, end: CancellationToken) {
        let (ended, services) = (call_back.ended().clone(), self.services.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = ended.cancelled() => end.cancel(),
                () = end.cancelled() => {}
            }
            services.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        });
    }
}

/// A short answer in words.
pub(crate) fn refuse(status: StatusCode, why: &'static str) -> Box<Answer> {
    let body = Full::new(Bytes::from_static(why.as_bytes())).boxed();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("text/plain; charset=utf-8"));
    Box::new(answer)
}
