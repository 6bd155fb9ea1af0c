//! What goes on between the runtime and one server, over one connection? Requests with their results as they were sent,
//! each with a deadline; what the server wants of us is refused. Must not know which tool it is about.

use super::listeners::Listeners;
use super::process::Said;
use super::process::Starter;
use super::{http, process, stdio};
use crate::document::excerpt;
use crate::sandbox::Listener;
use crate::sandbox::bindings::hermes::tool::mcp::{Failure, Reason};
use crate::sandbox::capability::outbound::Credentials;
use crate::servers::{Era, Server};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientCapabilities, ClientConfig, ClientNotification,
    ClientRequest, ClientResult, ErrorCode, ErrorData, Implementation, ProgressToken, ProtocolVersion, RequestId,
    ServerNotification, ServerRequest, ServerResult,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RequestContext, RunningService, Service, ServiceError,
};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a server may take to say what it speaks. Some are fetched when they are started.
const GREETING: Duration = Duration::from_secs(30);
/// How long a server may take to accept that a request is taken back.
const TAKING_BACK: Duration = Duration::from_secs(1);

/// The requests that are waited for, and results as they were sent. Lifetime: the connection.
#[derive(Default)]
pub(super) struct Wanted {
    results: Mutex<HashMap<RequestId, Option<Box<str>>>>,
    pub(super) listeners: Listeners,
    ended: Mutex<Option<String>>,
}

impl Wanted {
    /// A request goes out. The library reads itself what its own beginnings are answered.
    pub(super) fn note(&self, id: &RequestId, request: &ClientRequest) {
        let own = matches!(request, ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_));
        if !own {
            self.lock().insert(id.clone(), None);
        }
    }

    /// Whether a request is waited for and not answered.
    pub(super) fn is_open(&self, id: &RequestId) -> bool {
        self.lock().get(id).is_some_and(Option::is_none)
    }

    /// Keeps a result until it is fetched.
    pub(super) fn keep(&self, id: &RequestId, result: Box<str>) {
        if let Some(place) = self.lock().get_mut(id) {
            *place = Some(result);
        }
    }

    fn fetch(&self, id: &RequestId) -> Option<Box<str>> {
        self.lock().remove(id).flatten()
    }

    /// Notes why the connection ends. The first reason is the cause.
    pub(super) fn end(&self, why: String) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    fn why(&self) -> Option<String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, Option<Box<str>>>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the runtime is to a server: nobody who gives it anything.
pub(super) struct Client {
    wanted: Arc<Wanted>,
    /// Whether the server said that its tools are others now.
    pub(super) changed: AtomicBool,
    told: Arc<Told>,
}

/// How often servers said that what they offer besides tools is something else now. Lifetime: the runtime.
#[derive(Default)]
pub(super) struct Told {
    pub(super) resources: AtomicU64,
    pub(super) prompts: AtomicU64,
}

impl Service<RoleClient> for Client {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            // Questions to a person, to a model, or about this machine.
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client gives nothing to servers", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        match notification {
            ServerNotification::ProgressNotification(progress) => self.wanted.listeners.pass_on(progress.params),
            ServerNotification::ToolListChangedNotification(_) => self.changed.store(true, Ordering::Relaxed),
            ServerNotification::ResourceListChangedNotification(_) => {
                self.told.resources.fetch_add(1, Ordering::Relaxed);
            }
            ServerNotification::PromptListChangedNotification(_) => {
                self.told.prompts.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("hermes-dispatch", env!("CARGO_PKG_VERSION"));
        // What is said with `initialize`, which the newer era does not have.
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// What it takes to reach servers. Lifetime: the runtime.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) starter: Starter,
    pub(super) credentials: Credentials,
    pub(super) told: Arc<Told>,
}

/// One connection to a server. Dropping it ends the server's process.
pub(super) struct Connection {
    name: String,
    service: RunningService<RoleClient, Client>,
    wanted: Arc<Wanted>,
    said: Said,
    runtime: tokio::runtime::Handle,
    opened: Instant,
    running: AtomicU32,
}

impl Connection {
    /// Starts or reaches a server and finds out what it speaks. Has to run where the connection is to live.
    pub(super) async fn open(name: &str, server: &Server, way: &Way) -> Result<Connection, String> {
        let opening = async {
            match open(name, server, way, server.era).await {
                // One that ends, or fails, when it is asked in the newer way may still know the older one.
                Err((why, true)) if server.era == Era::Auto => {
                    tracing::debug!(server = name, why, "is tried in the older way");
                    open(name, server, way, Era::Stateful).await
                }
                opened => opened,
            }
        };
        match tokio::time::timeout(GREETING, opening).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err((why, _))) => Err(why),
            Err(_) => Err(format!("it did not say within {} s what it speaks", GREETING.as_secs())),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// How long it has been open.
    pub(super) fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Requests that are waited for.
    pub(super) fn running(&self) -> u32 {
        self.running.load(Ordering::Relaxed)
    }

    /// Whether the server said that it has such things: `tools`, `resources`, `prompts` or `completions`.
    pub(super) fn offers(&self, what: &str) -> bool {
        let said = self.service.peer().peer_info();
        let capabilities = said.and_then(|said| serde_json::to_value(&said.capabilities).ok());
        capabilities.is_some_and(|capabilities| capabilities.get(what).is_some_and(|value| !value.is_null()))
    }

    /// Whether the server said since the last time that its tools are others now.
    pub(super) fn take_changed(&self) -> bool {
        self.service.service().changed.swap(false, Ordering::Relaxed)
    }

    /// Ends the connection, and its process.
    pub(super) async fn close(mut self) {
        let _ = self.service.close().await;
    }

    /// Sends a request and waits for its result, as it was sent. Dropping the future takes the request back.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Value,
        until: Instant,
        progress: Option<Listener>,
    ) -> Result<String, Failure> {
        let invalid = |error: serde_json::Error| self.failure(Reason::ProtocolError, false, error.to_string());
        let message = json!({ "method": method, "params": params });
        let request: ClientRequest = serde_json::from_value(message).map_err(invalid)?;
        self.running.fetch_add(1, Ordering::Relaxed);
        let mut waiting = Waiting { connection: self, sent: None };
        let peer = self.service.peer();
        let sending = peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let handle = match tokio::time::timeout_at(until.into(), sending).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(_)) => return Err(self.lost(false)),
            Err(_) => return Err(self.timed_out(false)),
        };
        let (id, token) = (handle.id.clone(), handle.progress_token.clone());
        if let Some(progress) = progress {
            self.wanted.listeners.add(&token, progress);
        }
        waiting.sent = Some((id.clone(), token));
        match tokio::time::timeout_at(until.into(), handle.rx).await {
            Err(_) => Err(self.timed_out(true)),
            Ok(answer) => {
                let raw = waiting.answered();
                self.read(answer.unwrap_or(Err(ServiceError::TransportClosed)), raw)
            }
        }
    }

    fn read(&self, answer: Result<ServerResult, ServiceError>, raw: Option<Box<str>>) -> Result<String, Failure> {
        match answer {
            Ok(result) => {
                let text = match raw {
                    Some(raw) => raw.into_string(),
                    // Over HTTP the library has read it already; what it does not know it keeps as it is.
                    None => serde_json::to_string(&result)
                        .map_err(|error| self.failure(Reason::ProtocolError, true, error.to_string()))?,
                };
                self.refuse_questions(text)
            }
            Err(ServiceError::McpError(error)) => {
                let message = format!("the server `{}` answered: {}", self.name, excerpt(&error.message, 1000));
                let reason = match error.code == ErrorCode::PARSE_ERROR {
                    true => Reason::ProtocolError,
                    false => Reason::Refused,
                };
                Err(Failure { reason, message, code: Some(error.code.0.into()), request_sent: true })
            }
            Err(ServiceError::TransportSend(error)) => {
                let sent = http::was_sent(&error);
                let why = self.wanted.why().unwrap_or_else(|| http::in_words(&error));
                tracing::warn!(server = self.name, error = ?error, "a request could not be sent");
                Err(self.failure(Reason::ConnectionLost, sent, format!("the connection broke: {why}")))
            }
            Err(ServiceError::Timeout { .. }) => Err(self.timed_out(true)),
            Err(ServiceError::UnexpectedResponse) => {
                Err(self.failure(Reason::ProtocolError, true, "the answer fits no request".into()))
            }
            Err(_) => Err(self.lost(true)),
        }
    }

    /// In the newer era a server asks by its answer. Nobody here may tell it anything.
    fn refuse_questions(&self, result: String) -> Result<String, Failure> {
        #[derive(serde::Deserialize)]
        struct Kind<'a> {
            #[serde(borrow, default, rename = "resultType")]
            kind: Option<std::borrow::Cow<'a, str>>,
        }
        let kind = serde_json::from_str::<Kind>(&result).ok().and_then(|kind| kind.kind);
        match kind.as_deref() {
            None | Some("complete") => Ok(result),
            Some("input_required") => {
                let why = "it wants to ask somebody before it answers, and nobody may tell it anything";
                Err(self.failure(Reason::InputRequired, true, why.into()))
            }
            Some(other) => {
                let why = format!("its answer is of the kind `{}`, which was not asked for", excerpt(other, 80));
                Err(self.failure(Reason::ProtocolError, true, why))
            }
        }
    }

    fn lost(&self, sent: bool) -> Failure {
        let (last, noise) = self.said.last();
        tracing::warn!(server = self.name, noise, last, "a server was lost");
        match self.wanted.why() {
            Some(why) if why.contains("longer than") => self.failure(Reason::TooLarge, sent, why),
            Some(why) => self.failure(Reason::ConnectionLost, sent, why),
            None => self.failure(Reason::ConnectionLost, sent, "it ended the connection before it answered".into()),
        }
    }

    fn timed_out(&self, sent: bool) -> Failure {
        self.failure(Reason::TimedOut, sent, "it did not answer in time".into())
    }

    fn failure(&self, reason: Reason, request_sent: bool, why: String) -> Failure {
        Failure { reason, message: format!("the server `{}`: {why}", self.name), code: None, request_sent }
    }
}

/// A request that is waited for. Dropped before the answer came, it is taken back.
struct Waiting<'a> {
    connection: &'a Connection,
    sent: Option<(RequestId, ProgressToken)>,
}

impl Waiting<'_> {
    /// The answer came; its result as it was sent, if the transport kept it.
    fn answered(&mut self) -> Option<Box<str>> {
        let (id, token) = self.sent.take()?;
        self.connection.wanted.listeners.remove(&token);
        self.connection.wanted.fetch(&id)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.connection.running.fetch_sub(1, Ordering::Relaxed);
        let Some((id, token)) = self.sent.take() else { return };
        self.connection.wanted.listeners.remove(&token);
        self.connection.wanted.fetch(&id);
        // The connection's own threads see to it, for a second at most.
        self.connection.runtime.spawn(take_back(self.connection.service.peer().clone(), id));
    }
}

async fn take_back(peer: Peer<RoleClient>, id: RequestId) {
    let params = CancelledNotificationParam::new(Some(id), Some("the call is over".into()));
    let notification = ClientNotification::CancelledNotification(CancelledNotification::new(params));
    let _ = tokio::time::timeout(TAKING_BACK, peer.send_notification(notification)).await;
}

/// Opens a connection in one era. The second part of the error says whether the server ended without a word.
async fn open(name: &str, server: &Server, way: &Way, era: Era) -> Result<Connection, (String, bool)> {
    let wanted = Arc::new(Wanted::default());
    let client = Client { wanted: wanted.clone(), changed: AtomicBool::new(false), told: way.told.clone() };
    let newest = || vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match era {
        Era::Auto => ClientLifecycleMode::Auto {
            preferred_versions: newest(),
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Era::Stateful => ClientLifecycleMode::Initialize,
        Era::Stateless => ClientLifecycleMode::Discover { preferred_versions: newest() },
    };
    let (service, said) = match &server.url {
        Some(url) => {
            let transport = http::transport(url, &server.headers, &way.credentials).map_err(|why| (why, false))?;
            let serving = client.serve_with_lifecycle(transport, lifecycle).await;
            (serving.map_err(|error| (http::beginning(&error), http::was_sent(&error)))?, Said::default())
        }
        None => {
            let begun = way.starter.start(server).await.map_err(|why| (why, false))?;
            let said = begun.process.said();
            let serving = client.serve_with_lifecycle(stdio::Stdio::new(begun, wanted.clone()), lifecycle).await;
            let service = match serving {
                Ok(service) => service,
                Err(error) => return Err(process::not_begun(name, server, &error, &said).await),
            };
            (service, said)
        }
    };
    Ok(Connection {
        name: name.to_owned(),
        service,
        wanted,
        said,
        runtime: tokio::runtime::Handle::current(),
        opened: Instant::now(),
        running: AtomicU32::new(0),
    })
}
