//! What does a session hold beyond its calls? Its part of the browser, so far. Must not know which component uses it.

use super::Sandbox;
use super::capability::browser::{Session, Tabs};
use super::capability::files::Files;
#[cfg(feature = "mcp")]
use super::capability::invoke::back::CallBack;
use super::capability::process::Layer;
use crate::adapter::Adapter;
use crate::call::Caller;
use crate::permission::change::Glance;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

impl Sandbox {
    /// What an attempt has of its session's tabs.
    pub(super) fn tabs(
        &self,
        caller: &Arc<Caller>,
        session: &Arc<str>,
        deadline: Instant,
        late: Arc<AtomicBool>,
    ) -> Tabs {
        let session = Session { caller: caller.clone(), name: session.clone() };
        Tabs::new(self.browsers.clone(), session, deadline, late)
    }

    /// The same for a component that is only tried out.
    pub(super) fn no_tabs(&self, deadline: Instant, late: Arc<AtomicBool>) -> Tabs {
        let nobody = Arc::new(Caller { id: String::new(), role: String::new() });
        self.tabs(&nobody, &"".into(), deadline, late)
    }

    /// The servers of others that are not what they were, or why one cannot be asked.
    #[cfg(feature = "mcp")]
    pub(crate) async fn changed_servers(&self) -> Vec<Result<super::OfferChange, String>> {
        self.servers.changed().await
    }

    /// From now on a server is what it said when a person looked at it.
    #[cfg(feature = "mcp")]
    pub(crate) fn accept_server(&self, change: super::OfferChange) {
        self.servers.accept(change);
    }

    /// Forgets components that no adapter holds any more.
    pub(crate) fn forget_unused(&self) {
        let mut ready = self.ready.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        ready.retain(|_, component| component.strong_count() > 0);
    }

    /// The browser and the sandbox around it, or what is missing. Starts it if it does not run.
    pub async fn browser(&self) -> Result<Vec<Layer>, String> {
        self.browsers.try_out().await
    }

    /// What a file has now, by its virtual path; where it cannot be read, nothing.
    pub(crate) fn glance(&self, path: &str) -> Pin<Box<dyn Future<Output = Glance> + Send + '_>> {
        let (files, path) = (Files::new(self.roots.clone(), false), path.to_owned());
        Box::pin(async move { files.glance(path).await })
    }

    /// Ends what a session holds beyond its calls.
    pub async fn end_session(&self, caller: &Arc<Caller>, session: &Arc<str>) {
        self.browsers.end_session(&Session { caller: caller.clone(), name: session.clone() }).await;
    }

    /// Keeps an address that this process listens on from every tool, whatever is granted.
    pub fn listens_on(&self, address: core::net::SocketAddr) {
        self.own.add(address);
    }

    /// Whether what runs in an adapter may have others make calls on its behalf.
    pub(crate) fn calls_back(&self, adapter: &Adapter) -> bool {
        #[cfg(feature = "mcp")]
        return adapter.capabilities.contains("mcp") && self.servers.any_calls_back();
        #[cfg(not(feature = "mcp"))]
        {
            let _ = adapter;
            false
        }
    }

    /// How often servers said that their resources, and their prompts, are others now.
    #[cfg(feature = "mcp")]
    pub(crate) fn told_by_servers(&self) -> (u64, u64) {
        self.servers.told()
    }

    /// Where servers call back, from now on.
    #[cfg(feature = "mcp")]
    pub(crate) fn serves_at(&self, address: String) {
        self.servers.calls_back().at(address);
    }

    /// What a server calls back with that shows a token; nothing for one that counts no more.
    #[cfg(feature = "mcp")]
    pub(crate) fn call_back(&self, token: &str) -> Option<CallBack> {
        self.servers.calls_back().find(token)
    }
}
