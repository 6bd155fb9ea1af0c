//! How does the program of a server run in the sandbox that programs run in? It stays, speaks over its standard streams,
//! and sees places of the machine where they are. Must not know what it serves.

use super::Machine;
use super::child::{Talking, start_talking};
use super::plan::{Failed, Mount, Plan};
use std::time::Instant;

/// What one server gets.
pub(crate) struct Secluded {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    /// Variables beside the usual ones.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) directory: String,
    /// What it sees, where it is.
    pub(crate) mounts: Vec<Mount>,
    /// What of that is covered.
    pub(crate) hidden: Vec<String>,
    pub(crate) network: bool,
}

impl Machine {
    /// Starts a server. Dropping the future ends what was started.
    ///
    /// # Errors
    /// A part of the sandbox is not there, or the program does not start.
    pub(crate) async fn seclude(&self, server: Secluded, deadline: Instant) -> Result<Talking, Failed> {
        let helper = self.helper.as_ref().filter(|_| self.can_work());
        let helper = helper.ok_or_else(|| Failed::layer("launcher", "no program of ours can be it"))?;
        let Secluded { program, args, environment, directory, mounts, hidden, network } = server;
        let plan = Plan {
            program,
            args,
            environment: self.environment(environment),
            directory,
            input: 0,
            grants: mounts,
            hidden,
            fixed: Vec::new(),
            system: self.settings.system.clone(),
            network,
            files: Vec::new(),
            channel: None,
            talks: true,
            limits: self.limits(),
        };
        start_talking(helper, &plan, deadline).await
    }
}
