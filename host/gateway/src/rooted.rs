//! In which folder does an agent work whose operator named none? In the one root that its client offers: the runtime is then
//! put together anew for that folder, and calls that came before wait for it, for a while. Must not know how it is put
//! together.

use hermes_runtime::Runtime;
use rmcp::RoleServer;
use rmcp::service::Peer;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// How long a client may take to say its roots.
const ASKING: Duration = Duration::from_secs(5);
/// How long calls wait for that, and for the runtime of the root.
const WAITING: Duration = Duration::from_secs(20);

/// Puts a runtime together for a folder, or says why that is no workspace. It blocks.
pub type ForRoot = Arc<dyn Fn(PathBuf) -> Result<Arc<Runtime>, String> + Send + Sync>;

/// The runtime of one connection: the one that was there first, or that of the client's root. Lifetime: the connection.
#[derive(Clone)]
pub(crate) struct Rooted {
    first: Arc<Runtime>,
    for_root: Option<ForRoot>,
    found: Arc<OnceLock<Arc<Runtime>>>,
    settled: Arc<watch::Sender<bool>>,
}

impl Rooted {
    pub(crate) fn new(first: Arc<Runtime>, for_root: Option<ForRoot>) -> Rooted {
        Rooted { first, for_root, found: Arc::default(), settled: Arc::new(watch::Sender::new(true)) }
    }

    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        self.found.get().unwrap_or(&self.first)
    }

    /// A client connects that can be asked for its roots: what it calls from now on waits for the answer.
    pub(crate) fn expect(&self, has_roots: bool) {
        if has_roots && self.for_root.is_some() && self.found.get().is_none() {
            self.settled.send_replace(false);
        }
    }

    /// Waits until it is known where the agent works. Dropping the future loses nothing.
    pub(crate) async fn settled(&self) {
        let mut settled = self.settled.subscribe();
        let _ = tokio::time::timeout(WAITING, settled.wait_for(|settled| *settled)).await;
    }

    /// Asks the client, if what it calls waits for that. Whatever comes of it, nothing waits afterwards.
    pub(crate) async fn ask(&self, peer: &Peer<RoleServer>) {
        if *self.settled.borrow() {
            return;
        }
        if let Some(for_root) = self.for_root.clone()
            && let Some(root) = one_root(peer).await
        {
            let shown = root.display().to_string();
            match tokio::task::spawn_blocking(move || for_root(root)).await {
                Ok(Ok(runtime)) => drop(self.found.set(runtime)),
                Ok(Err(why)) => tracing::warn!(root = shown, why, "the client's root is not the workspace"),
                Err(error) => tracing::error!(%error, "the runtime of the client's root broke"),
            }
        }
        self.settled.send_replace(true);
    }
}

/// The folder of the one root that a client offers; of several nobody knows which is meant.
#[expect(deprecated, reason = "clients of the stateful era offer their roots so")]
async fn one_root(peer: &Peer<RoleServer>) -> Option<PathBuf> {
    let asked = tokio::time::timeout(ASKING, peer.list_roots()).await;
    let roots = match asked {
        Ok(Ok(said)) => said.roots,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the client does not say its roots");
            return None;
        }
        Err(_) => {
            tracing::warn!("the client does not say its roots in time");
            return None;
        }
    };
    match roots.as_slice() {
        [root] => folder(&root.uri),
        others => {
            tracing::info!(count = others.len(), "the client offers not just one root, so the current folder counts");
            None
        }
    }
}

/// The path of a `file` URI of this machine.
fn folder(uri: &str) -> Option<PathBuf> {
    let url = url::Url::parse(uri).ok()?;
    (url.scheme() == "file").then(|| url.to_file_path().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_of_this_machine_is_one() {
        assert_eq!(folder("file:///a%20b/c"), Some("/a b/c".into()));
        for other in ["https://a.example/x", "file://other.example/x", "x", "", "file:relative"] {
            let found = folder(other);
            assert!(found.is_none() || found == Some("/relative".into()), "{other}: {found:?}");
        }
    }
}
