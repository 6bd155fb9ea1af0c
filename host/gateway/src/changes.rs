//! When does a client hear that it should list anew? When other tools are in service, or servers offer or say that they
//! offer other resources or prompts. In the older era it is told by itself, in the newer one where it listens. Must not
//! know what is on the lists.

use crate::offered::{self, Offer};
use crate::server::Server;
use hermes_runtime::toolbox::Toolbox;
use rmcp::model::{
    PromptListChangedNotification, ResourceListChangedNotification, ServerNotification, SubscriptionFilter,
    ToolListChangedNotification,
};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether something is another one.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Requests of one connection that listen at once.
pub(crate) const LISTENING: usize = 8;

/// What is on the lists, as far as that is known without asking the servers.
struct Lists {
    toolbox: Arc<Toolbox>,
    resources: (Vec<(String, String)>, u64),
    prompts: (Vec<(String, String)>, u64),
}

impl Lists {
    fn of(server: &Server) -> Lists {
        let (resources, prompts) = server.runtime().told_by_servers();
        Lists {
            toolbox: server.runtime().toolbox(),
            resources: (offered::entries(server, Offer::Resources), resources),
            prompts: (offered::entries(server, Offer::Prompts), prompts),
        }
    }

    /// What is to be said when these are the lists now.
    fn changes(&self, now: &Lists) -> Vec<ServerNotification> {
        let mut changes = Vec::new();
        if !Arc::ptr_eq(&self.toolbox, &now.toolbox) {
            let changed = ToolListChangedNotification::default();
            changes.push(ServerNotification::ToolListChangedNotification(changed));
        }
        if self.resources != now.resources {
            let changed = ResourceListChangedNotification::default();
            changes.push(ServerNotification::ResourceListChangedNotification(changed));
        }
        if self.prompts != now.prompts {
            let changed = PromptListChangedNotification::default();
            changes.push(ServerNotification::PromptListChangedNotification(changed));
        }
        changes
    }
}

/// Tells a client of the older era, until it is gone.
pub(crate) async fn tell(server: &Server, peer: &Peer<RoleServer>) {
    let mut last = Lists::of(server);
    while !peer.is_transport_closed() {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = Lists::of(server);
        for change in last.changes(&now) {
            if peer.send_notification(change).await.is_err() {
                return;
            }
        }
        last = now;
    }
}

/// What a client of the newer era may listen for.
pub(crate) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    accepted.resource_subscriptions = None;
    accepted
}

/// Tells a client that listens, until it stops or the connection is about to end.
///
/// # Errors
/// If too many of its requests listen already.
pub(crate) async fn listen(server: &Server, context: SubscriptionContext) -> Result<(), ErrorData> {
    let too_many = |_| ErrorData::invalid_request(format!("at most {LISTENING} requests listen at once"), None);
    let _place = server.listening().try_acquire_owned().map_err(too_many)?;
    let accepted = context.accepted().clone();
    let is_wanted = |change: &ServerNotification| {
        let wanted = match change {
            ServerNotification::ToolListChangedNotification(_) => accepted.tools_list_changed,
            ServerNotification::ResourceListChangedNotification(_) => accepted.resources_list_changed,
            ServerNotification::PromptListChangedNotification(_) => accepted.prompts_list_changed,
            _ => None,
        };
        wanted == Some(true)
    };
    let mut last = Lists::of(server);
    loop {
        tokio::select! {
            () = context.cancelled() => return Ok(()),
            () = server.closing().cancelled() => return Ok(()),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let now = Lists::of(server);
        for change in last.changes(&now).into_iter().filter(is_wanted) {
            if context.sink().send(change).await.is_err() {
                return Ok(());
            }
        }
        last = now;
    }
}
