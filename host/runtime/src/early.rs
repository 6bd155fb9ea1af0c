//! What is read before the tools, since it needs none of them? Each on a thread of its own, while the rest of a start goes
//! on. Part of the spine.

use crate::call::Digest;
use crate::config::Config;
use crate::folders;
use crate::permission::policy;
use crate::registry::parsed::Parsed;
use crate::registry::pinned::{self, Lock};
use std::thread::{Scope, ScopedJoinHandle};

/// What is being read. Lifetime: one reading of all folders.
pub(crate) struct Early<'s> {
    /// What the folders are before anything in them is read.
    pub(crate) folders: ScopedJoinHandle<'s, Digest>,
    pub(crate) lock: ScopedJoinHandle<'s, Result<Lock, String>>,
    pub(crate) policies: ScopedJoinHandle<'s, policy::Files>,
    /// Only at a start: later it is known what most files said.
    pub(crate) parsed: Option<ScopedJoinHandle<'s, Parsed>>,
}

impl<'s> Early<'s> {
    pub(crate) fn begin<'e>(scope: &'s Scope<'s, 'e>, config: &'e Config, is_start: bool) -> Early<'s> {
        Early {
            folders: scope.spawn(|| folders::of(config)),
            lock: scope.spawn(|| pinned::read(&config.state_dir)),
            policies: scope.spawn(|| policy::Files::read(config)),
            parsed: is_start.then(|| scope.spawn(|| Parsed::read(&config.state_dir))),
        }
    }
}
