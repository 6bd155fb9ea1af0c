//! What does a connected agent get from the runtime? Lists and calls in the protocol's terms; the runtime decides. Must
//! not know over which transport a request came.

use crate::elicit::{self, Sealing};
use crate::frame::RawArguments;
use crate::offered::{self, Offer};
use crate::rooted::Rooted;
use crate::{Identity, answer, changes, listing};
use hermes_runtime::call::{Arguments, Call, Progress, Situation};
use hermes_runtime::cancel::Cancel;
use hermes_runtime::sandbox::CallBack;
use hermes_runtime::{Envelope, Runtime};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProgressToken, Prompt, PromptsCapability,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourcesCapability, ServerCapabilities,
    ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

/// Calls of one connection that run at once. Further ones wait; the sandbox's memory is shared by all connections.
const RUNNING: usize = 32;
/// Progress that waits to be told. What comes while it is full is left out.
const PROGRESS: usize = 16;
/// How long an answer waits for progress of its call that was not told yet.
const PROGRESS_FLUSH: Duration = Duration::from_secs(1);
/// Where in `_meta` an agent may say what it works on.
const TASK: &str = "hermes/task";
/// Longest task that ranks results, in bytes.
const LONGEST_TASK: usize = 4096;
/// What a client's model is told about this server.
const INSTRUCTIONS: &str = "\
Every call goes through permission, validation and a sandbox. A result with `isError` says what was refused or failed \
and what to do: `problems` lists all that is wrong with the arguments, 202 and `no_approver` mean that a person has to \
decide. Paths are virtual: the project is /workspace.";

/// The runtime as one connection sees it. Lifetime: the connection.
#[derive(Clone)]
pub(crate) struct Server {
    rooted: Rooted,
    identity: Identity,
    session: Arc<str>,
    running: Arc<Semaphore>,
    sealing: Sealing,
    /// The call for which a server calls back, if that is what this is.
    of_a_call: Option<CallBack>,
    listening: Arc<Semaphore>,
    /// Cancelled when no more messages come, so that nothing waits for requests that would go on for ever.
    closing: CancellationToken,
}

impl Server {
    pub(crate) fn new(rooted: Rooted, identity: Identity, session: Arc<str>) -> Server {
        let running = Arc::new(Semaphore::new(RUNNING));
        let listening = Arc::new(Semaphore::new(changes::LISTENING));
        let (sealing, closing) = (Sealing::new(), CancellationToken::new());
        Server { rooted, identity, session, running, sealing, of_a_call: None, listening, closing }
    }

    /// The same, with what says that it is about to end.
    pub(crate) fn until(mut self, closing: CancellationToken) -> Server {
        self.closing = closing;
        self
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Places for requests that listen.
    pub(crate) fn listening(&self) -> Arc<Semaphore> {
        self.listening.clone()
    }

    /// The same for a server that works for a call: what it calls is within that call.
    pub(crate) fn of_a_call(mut self, call: CallBack) -> Server {
        self.of_a_call = Some(call);
        self
    }

    /// Whether it is there for calls of a few tools only.
    pub(crate) fn is_of_a_call(&self) -> bool {
        self.of_a_call.is_some()
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        self.rooted.runtime()
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn sealing(&self) -> &Sealing {
        &self.sealing
    }

    /// In which circumstances calls of a session are made.
    pub(crate) fn situation(&self, session: &str) -> Arc<Situation> {
        self.identity.set.of(session).map_or_else(|| self.identity.situation.clone(), Arc::new)
    }

    pub(crate) fn session(&self) -> Arc<str> {
        self.session.clone()
    }

    /// Runs one call; nothing when the client took it back. Dropping the call's future ends it and records that.
    async fn run(&self, call: Call, told: Option<Told>, context: &RequestContext<RoleServer>) -> Option<Envelope> {
        let (sender, receiver) = tokio::sync::mpsc::channel(PROGRESS);
        let cancel = Cancel::default();
        let call = Call { progress: told.is_some().then_some(sender), cancel: Some(cancel.clone()), ..call };
        let mut telling = std::pin::pin!(async {
            match told {
                Some(told) => told.tell(receiver).await,
                None => drop(receiver),
            }
        });
        let (mut has_told, mut gave_up) = (false, false);
        let answered = {
            let mut answering = std::pin::pin!(async {
                let _turn = self.running.acquire().await;
                self.runtime().call(call).await
            });
            loop {
                tokio::select! {
                    biased;
                    // A tool that cleans up ends by itself, within its time.
                    () = context.ct.cancelled(), if !gave_up => match cancel.tell() {
                        true => gave_up = true,
                        false => return None,
                    },
                    injection = &mut answering => break injection,
                    () = &mut telling, if !has_told => has_told = true,
                }
            }
        };
        if gave_up {
            return None;
        }
        if !has_told {
            // Progress must not follow the answer, and a client that reads nothing must not hold it up.
            let _ = tokio::time::timeout(PROGRESS_FLUSH, telling).await;
        }
        Some(answered.envelope)
    }

    fn call(&self, request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Call {
        let head = context.extensions.get::<http::request::Parts>();
        let said = context.meta.get(TASK).and_then(|task| task.as_str()).filter(|task| task.len() <= LONGEST_TASK);
        let session = head.and_then(stateful_session).unwrap_or_else(|| self.session.clone());
        let situation = self.situation(&session);
        let situation = match said {
            Some(task) => Arc::new(Situation { task: Some(task.to_owned()), ..(*situation).clone() }),
            None => situation,
        };
        Call {
            tool: request.name.to_string(),
            args: Arguments::Json(arguments(context).to_owned()),
            caller: self.identity.caller.clone(),
            situation,
            session,
            progress: None,
            fixed: None,
            parent: None,
            asks_itself: false,
            cancel: None,
        }
    }
}

/// The arguments of a call as they were sent.
fn arguments(context: &RequestContext<RoleServer>) -> &str {
    let head = context.extensions.get::<http::request::Parts>();
    let raw = context.extensions.get::<RawArguments>().or_else(|| head?.extensions.get());
    raw.map_or("{}", |raw| &raw.0)
}

/// The session of requests over HTTP that belong to none: all of one caller's.
pub(crate) fn stateless_session(identity: &Identity) -> Arc<str> {
    format!("http:{}", identity.caller.id).into()
}

/// The session that a request over HTTP names. It exists, and it is the caller's: the library has looked it up.
pub(crate) fn stateful_session(head: &http::request::Parts) -> Option<Arc<str>> {
    let id = head.headers.get("mcp-session-id")?.to_str().ok()?;
    Some(format!("http:{id}").into())
}

impl ServerHandler for Server {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.rooted.settled().await;
        if let Some(around) = &self.of_a_call {
            let envelope = around.call(&request.name, arguments(&context).to_owned()).await;
            return Ok(CallToolResponse::Complete(answer::result(envelope)));
        }
        let mut call = self.call(&request, &context);
        let told = || {
            let token = context.meta.get_progress_token();
            token.map(|token| Told { token, peer: context.peer.clone() })
        };
        let complete = |envelope| CallToolResponse::Complete(answer::result(envelope));
        // Nobody reads this: the library drops the answer to a request that was taken back.
        let cancelled = || ErrorData::new(ErrorCode::INVALID_REQUEST, "the request was cancelled", None);
        if !elicit::may_ask(self, &context) {
            return self.run(call, told(), &context).await.map(complete).ok_or_else(cancelled);
        }
        elicit::take(self, &request, arguments(&context), &context).await?;
        call.asks_itself = true;
        let envelope = self.run(call.clone(), told(), &context).await.ok_or_else(cancelled)?;
        let Some(parked) = elicit::askable(self, &envelope).await else { return Ok(complete(envelope)) };
        if elicit::is_newer(&context) {
            let asked = elicit::as_answer(self, &parked, &request, arguments(&context));
            return Ok(asked.map_or_else(|| complete(envelope), CallToolResponse::InputRequired));
        }
        elicit::ask(self, &parked, &context).await?;
        self.run(call, told(), &context).await.map(complete).ok_or_else(cancelled)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.rooted.settled().await;
        let cursor = request.and_then(|request| request.cursor);
        let only = self.of_a_call.as_ref().map(CallBack::tools);
        Ok(listing::page(&self.runtime().toolbox().registry, (&self.identity.caller.role, only), cursor.as_deref()))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.rooted.settled().await;
        let items = offered::list(self, Offer::Resources, "resources").await;
        Ok(ListResourcesResult::with_all_items(items.into_iter().map(|(_, item)| item).collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.rooted.settled().await;
        let items = offered::list(self, Offer::Templates, "resourceTemplates").await;
        Ok(ListResourceTemplatesResult::with_all_items(items.into_iter().map(|(_, item)| item).collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.rooted.settled().await;
        let contents = offered::read(self, &request.uri).await?;
        let contents = contents.into_iter().filter_map(|content| serde_json::from_value(content).ok()).collect();
        Ok(ReadResourceResponse::Complete(ReadResourceResult::new(contents)))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.rooted.settled().await;
        let items: Vec<(String, Prompt)> = offered::list(self, Offer::Prompts, "prompts").await;
        let named = |(server, mut prompt): (String, Prompt)| {
            prompt.name = offered::listed_name(&server, &prompt.name);
            prompt
        };
        Ok(ListPromptsResult::with_all_items(items.into_iter().map(named).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.rooted.settled().await;
        let result: GetPromptResult = offered::prompt(self, &request.name, request.arguments).await?;
        Ok(GetPromptResponse::Complete(result))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(changes::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        changes::listen(self, context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.rooted.settled().await;
        let request = serde_json::to_value(&request).unwrap_or_default();
        offered::complete(self, request).await
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        tracing::info!(client = %request.client_info.name, version = %result.protocol_version, "a client connects");
        self.rooted.expect(request.capabilities.roots.is_some());
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.rooted.ask(&context.peer).await;
        let server = self.clone();
        // It ends with the connection, which it looks at each time.
        tokio::spawn(async move { changes::tell(&server, &context.peer).await });
    }

    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("hermes-dispatch", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let mut resources = ResourcesCapability::default();
        resources.list_changed = Some(true);
        capabilities.resources = offered::has(self, Offer::Resources).then_some(resources);
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = Some(true);
        capabilities.prompts = offered::has(self, Offer::Prompts).then_some(prompts);
        capabilities.completions = offered::has(self, Offer::Completion).then(Default::default);
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS)
    }
}

/// To whom the progress of a call is told. Lifetime: the call.
struct Told {
    token: ProgressToken,
    peer: Peer<RoleServer>,
}

impl Told {
    /// Tells until nobody reports any more. What is told only ever grows, as the protocol wants it: a part of the answer is
    /// ahead of what was told before it by next to nothing.
    async fn tell(self, mut progress: Receiver<Progress>) {
        let mut last: Option<f64> = None;
        while let Some(update) = progress.recv().await {
            let is_part = update.part.is_some();
            let done = match last {
                Some(last) if is_part => last.next_up().max(update.done as f64),
                Some(last) if update.done as f64 <= last => continue,
                Some(_) | None => update.done as f64,
            };
            last = Some(done);
            let mut told = ProgressNotificationParam::new(self.token.clone(), done);
            told.total = update.total.map(|total| total as f64);
            told.message = update.part.or(update.message);
            if self.peer.notify_progress(told).await.is_err() {
                return;
            }
        }
    }
}
