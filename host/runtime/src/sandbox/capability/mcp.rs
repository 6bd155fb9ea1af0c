//! Servers that speak the Model Context Protocol. A component names neither server nor tool: what the called tool is
//! bound to is decided here, by its manifest's endpoint and by the configuration. Connections outlive calls.

mod connection;
mod endpoint;
mod frame;
mod http;
mod listeners;
mod listing;
mod pin;
mod process;
mod remote;
mod stdio;
mod view;

use super::Offer;
use super::invoke::back::{CallBacks, META, OnBehalf, Pass};
use super::outbound::Credentials;
use super::process::Machine;
use crate::config::Config;
use crate::registry::running::Backend;
use crate::sandbox::bindings::hermes::tool::mcp::{Binding, Failure, Host, Operation, Reason};
use crate::sandbox::{Listener, Run, State};
use connection::{Told, Way};
use endpoint::{Bound, Routes};
use process::Starter;
use remote::Remote;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use view::Private;
pub use view::servers_seen;

/// How long the threads of the connections may take to end with the runtime.
const ENDING: Duration = Duration::from_secs(2);

/// How long a server may take to say what it offers.
const LISTING: Duration = Duration::from_secs(30);

/// All configured servers. Lifetime: the runtime.
pub(crate) struct Servers {
    remotes: BTreeMap<String, Remote>,
    routes: Routes,
    calls_back: Arc<CallBacks>,
    told: Arc<Told>,
    /// Connections live on threads of their own, so that they are not those of whoever happens to call first.
    threads: Option<tokio::runtime::Runtime>,
}

/// What of a server is not what it was.
pub struct OfferChange {
    /// The server.
    pub server: String,
    /// What changed, by tool.
    pub changes: Vec<String>,
    /// All that its tools say of themselves now.
    pub tools: Value,
    then: pin::Catalogue,
}

/// What one attempt can reach: the one thing that its tool is bound to.
pub(crate) struct Reached {
    servers: Arc<Servers>,
    bound: Result<Bound, Failure>,
    mapped: bool,
    until: Instant,
    /// For whom a server may call back, if it may.
    behalf: Option<OnBehalf>,
}

impl Servers {
    /// What is kept of what servers offer is kept beside the runtime's state.
    pub(crate) fn start(config: &Config, machine: Arc<Machine>, credentials: Credentials) -> Result<Servers, String> {
        let (settings, folder) = (&config.mcp, config.state_dir.join("servers"));
        let told = Arc::<Told>::default();
        let way = Way {
            starter: Starter { machine, private: Arc::new(Private::of(config)) },
            credentials,
            told: told.clone(),
        };
        let in_service = settings.servers.iter().filter(|(_, server)| !server.disabled);
        let remotes: BTreeMap<String, Remote> = in_service
            .filter(|(_, server)| server.is_reached())
            .map(|(name, server)| (name.clone(), Remote::new(name.clone(), server.clone(), (&folder, way.clone()))))
            .collect();
        let threads = match remotes.is_empty() {
            true => None,
            false => {
                let mut threads = tokio::runtime::Builder::new_multi_thread();
                threads.worker_threads(1).thread_name("hermes-servers").enable_all();
                Some(threads.build().map_err(|error| format!("no thread for servers can be started: {error}"))?)
            }
        };
        Ok(Servers { remotes, routes: Routes::of(settings), calls_back: Arc::default(), told, threads })
    }

    /// What a call of a tool can reach through the backend that runs it, until the attempt is over. `args` are the
    /// call's own arguments, whatever the backend gets.
    pub(crate) fn reached(
        self: &Arc<Servers>,
        backend: &Backend,
        args: &str,
        until: Instant,
        run: Option<&Run<'_>>,
    ) -> Reached {
        let bound = match &backend.endpoint {
            Some(endpoint) => self.routes.resolve(endpoint, args),
            None => Err(not_bound("the manifest of the tool names no `endpoint`".into())),
        };
        if let (Ok(bound), Some(most)) = (&bound, backend.connection_pool_size)
            && let Some(remote) = self.remotes.get(&bound.server)
        {
            remote.widen(most);
        }
        let behalf = run.map(|run| OnBehalf {
            caller: run.caller.clone(),
            session: run.session.clone(),
            invoker: run.invoker.clone(),
        });
        Reached { servers: self.clone(), bound, mapped: backend.result.is_some(), until, behalf }
    }

    /// Nothing at all, for a component that is only tried.
    pub(crate) fn nothing(self: &Arc<Servers>) -> Reached {
        let bound = Err(not_bound("no tool is called".into()));
        Reached { servers: self.clone(), bound, mapped: false, until: Instant::now(), behalf: None }
    }

    /// How often servers said that their resources, and their prompts, are others now.
    pub(crate) fn told(&self) -> (u64, u64) {
        let Told { resources, prompts } = &*self.told;
        (resources.load(Ordering::Relaxed), prompts.load(Ordering::Relaxed))
    }

    /// Whether any server may call back.
    pub(crate) fn any_calls_back(&self) -> bool {
        self.remotes.values().any(|remote| !remote.server.call_back.is_empty())
    }

    /// The tokens with which they do.
    pub(crate) fn calls_back(&self) -> &CallBacks {
        &self.calls_back
    }

    /// What all servers offer, as manifests of the adapter that serves them, and what of it was left out and why. Waits
    /// for each server up to its time, for all of them at once.
    pub(crate) fn offered(self: &Arc<Servers>, adapter: &str) -> (Vec<Offer>, Vec<String>) {
        let Some(threads) = &self.threads else { return Default::default() };
        let until = Instant::now() + LISTING;
        let (sender, receiver) = std::sync::mpsc::channel();
        let serving = |remote: &&Remote| remote.server.tools.as_ref().is_none_or(|tools| !tools.is_empty());
        for name in self.remotes.values().filter(serving).map(|remote| remote.name.clone()) {
            let (servers, adapter, sender) = (Arc::downgrade(self), adapter.to_owned(), sender.clone());
            threads.spawn(async move {
                if let Some(servers) = servers.upgrade() {
                    let _ = sender.send(servers.list(&name, &adapter, until).await);
                }
            });
        }
        drop(sender);
        let (mut offered, mut faults) = (Vec::new(), Vec::new());
        while let Ok((found, wrong)) = receiver.recv_timeout(LISTING + ENDING) {
            offered.extend(found);
            faults.extend(wrong);
        }
        offered.sort_by(|a: &Offer, b| a.origin.cmp(&b.origin));
        faults.sort();
        (offered, faults)
    }

    /// The servers that are not what they were, or why one cannot be asked. Looks at all of them at once.
    pub(crate) async fn changed(self: &Arc<Servers>) -> Vec<Result<OfferChange, String>> {
        let Some(threads) = &self.threads else { return Vec::new() };
        let until = Instant::now() + LISTING;
        let mut looking = tokio::task::JoinSet::new();
        for name in self.remotes.keys().cloned() {
            let servers = self.clone();
            let look = async move {
                let (remote, runtime) = servers.remote(&name)?;
                let changed = remote.changed(until, runtime).await?;
                Ok::<_, Failure>(changed.map(|(changes, now)| OfferChange {
                    changes: changes.iter().map(|(tool, how)| format!("`{tool}` {how}")).collect(),
                    tools: serde_json::json!(now.tools),
                    then: now,
                    server: name,
                }))
            };
            looking.spawn_on(look, threads.handle());
        }
        let mut found = Vec::new();
        while let Some(looked) = looking.join_next().await {
            match looked {
                Ok(Ok(changed)) => found.extend(changed.map(Ok)),
                Ok(Err(failure)) => found.push(Err(failure.message)),
                Err(error) => found.push(Err(error.to_string())),
            }
        }
        found.sort_by_key(|found| found.as_ref().map_or_else(String::clone, |changed| changed.server.clone()));
        found
    }

    /// From now on a server is what it said when a person looked at it.
    pub(crate) fn accept(&self, change: OfferChange) {
        if let Some(remote) = self.remotes.get(&change.server) {
            remote.accept(change.then);
        }
    }

    /// What one server offers: as it is kept, or as it says when it is looked at for the first time.
    async fn list(&self, name: &str, adapter: &str, until: Instant) -> (Vec<Offer>, Vec<String>) {
        let looked = async {
            let (remote, runtime) = self.remote(name)?;
            Ok::<_, Failure>((remote, remote.catalogue(until, runtime).await?))
        };
        let (remote, catalogue) = match looked.await {
            Ok(looked) => looked,
            Err(failure) => return (Vec::new(), vec![failure.message]),
        };
        let (mut listed, mut faults) = (Vec::new(), Vec::new());
        listed.extend(listing::others(name, &remote.server, adapter, &catalogue));
        for said in catalogue.tools.iter().cloned() {
            match listing::tool(name, &remote.server, adapter, said) {
                Ok(tool) => listed.extend(tool),
                Err(why) => faults.push(format!("the server `{name}`: {why}")),
            }
        }
        (listed, faults)
    }

    fn remote(&self, name: &str) -> Result<(&Remote, &tokio::runtime::Handle), Failure> {
        let unknown = || Failure {
            reason: Reason::NotConfigured,
            message: format!("no server is configured as `{}`", crate::document::excerpt(name, 80)),
            code: None,
            request_sent: false,
        };
        let remote = self.remotes.get(name).ok_or_else(unknown)?;
        let threads = self.threads.as_ref().ok_or_else(unknown)?;
        Ok((remote, threads.handle()))
    }
}

impl Drop for Servers {
    /// Ends what was started: each server's input ends first, and its process group after a while.
    fn drop(&mut self) {
        let remotes = std::mem::take(&mut self.remotes);
        let Some(threads) = self.threads.take() else { return };
        // On a thread of its own, because whoever drops the runtime may be one that must not wait for such a thing.
        let ending = std::thread::Builder::new().name("hermes-servers-end".into()).spawn(move || {
            threads.block_on(async {
                let closing = remotes.into_values().map(Remote::close);
                let _ = tokio::time::timeout(ENDING, tokio::task::JoinSet::from_iter(closing).join_all()).await;
            });
            threads.shutdown_timeout(ENDING);
        });
        if let Ok(ending) = ending {
            let _ = ending.join();
        }
    }
}

fn not_bound(message: String) -> Failure {
    Failure { reason: Reason::NotBound, message, code: None, request_sent: false }
}

impl Reached {
    async fn request(&self, parameters: &str, progress: Option<Listener>) -> Result<String, Failure> {
        let bound = self.bound.as_ref().map_err(Clone::clone)?;
        let (remote, runtime) = self.servers.remote(&bound.server)?;
        let params = serde_json::from_str::<Value>(parameters).map_err(|error| Failure {
            reason: Reason::ProtocolError,
            message: format!("the parameters are no JSON: {error}"),
            code: None,
            request_sent: false,
        })?;
        let connection = remote.connection(self.until, runtime).await?;
        if bound.operation == Operation::CallTool {
            remote.refuse_changed(&connection, &bound.tool, self.until).await?;
        }
        let (method, mut params) = bound.message(params);
        let pass = self.pass(bound, remote)?;
        if let Some(pass) = &pass {
            params["_meta"][META] = pass.told();
        }
        if let Some(key) = bound.list() {
            let items = listing::pages(&connection, method, key, self.until).await?;
            return Ok(serde_json::json!({ key: items }).to_string());
        }
        let answered = connection.request(method, params, self.until, progress).await;
        let Some(pass) = pass else { return answered };
        answered
            .map(|text| pass.mask(text))
            .map_err(|failure| Failure { message: pass.mask(failure.message), ..failure })
    }

    /// What the server of a called tool calls back with, if it may.
    fn pass(&self, bound: &Bound, remote: &Remote) -> Result<Option<Pass>, Failure> {
        let Some(behalf) = self.behalf.as_ref().filter(|_| bound.operation == Operation::CallTool) else {
            return Ok(None);
        };
        self.servers.calls_back.issue(&remote.server.call_back, behalf, self.until).map_err(not_bound)
    }
}

impl Host for State {
    async fn bound(&mut self) -> wasmtime::Result<Result<Binding, Failure>> {
        let reached = &self.reached;
        Ok(reached.bound.clone().map(|bound| {
            let server = reached.servers.remotes.get(&bound.server).map(|remote| &remote.server);
            Binding {
                failure_pattern: server.and_then(|server| server.failure_pattern.clone()),
                operation: bound.operation,
                server: bound.server,
                mapped: reached.mapped,
            }
        }))
    }

    async fn request(&mut self, parameters: String) -> wasmtime::Result<Result<String, Failure>> {
        let progress = self.progress.clone();
        Ok(self.reached.request(&parameters, progress).await)
    }

    async fn ready(&mut self) -> wasmtime::Result<Result<(), Failure>> {
        let reached = &self.reached;
        let ready = async {
            let bound = reached.bound.as_ref().map_err(Clone::clone)?;
            let (remote, runtime) = reached.servers.remote(&bound.server)?;
            remote.connection(reached.until, runtime).await.map(drop)
        };
        Ok(ready.await)
    }
}
