//! Where does the toolbox in service stand, and how does another one take its place? Whoever takes it has it whole, and no
//! change waits for them nor they for it. Part of the spine.

use crate::adapter::plugin::Embedded;
use crate::call::Digest;
use crate::config::Config;
use crate::document::{Fault, Faults};
use crate::early::Early;
use crate::folders;
use crate::journal::OpenError;
use crate::registry::{Out, pinned};
use crate::sandbox::Sandbox;
use crate::sandbox::install::Installing;
use crate::toolbox::{self, Reading, Toolbox, Unloadable};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::watch;

/// Why a runtime could not start. A plugin or manifest that is wrong is no such reason; see [`Toolbox::faults`].
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal cannot be written, so nothing may run.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The engine or a granted directory is not there.
    #[error("{0}")]
    Sandbox(String),
    /// A policy is wrong. Without it the others could permit what it forbids, so nothing runs.
    #[error("the policies are wrong:\n{0}")]
    Policies(#[from] Faults),
    /// It cannot be told which tools were accepted.
    #[error("{0}")]
    Lock(String),
}

impl From<Unloadable> for StartError {
    fn from(unloadable: Unloadable) -> StartError {
        match unloadable {
            Unloadable::Policies(faults) => StartError::Policies(faults),
            Unloadable::Lock(why) => StartError::Lock(why),
        }
    }
}

/// The toolbox in service. Lifetime: the runtime.
pub(crate) struct Shelf {
    toolbox: RwLock<Arc<Toolbox>>,
    config: Config,
    embedded: Vec<Embedded>,
    /// What the folders were before they were read last, and what was accepted after that.
    read: Mutex<Digest>,
    /// One change at a time; calls do not wait for it.
    changing: Mutex<()>,
    revision: watch::Sender<u64>,
}

impl Shelf {
    /// Reads all folders for the first time.
    pub(crate) fn start(
        (early, config): (Early<'_>, &Config),
        embedded: &[Embedded],
        (sandbox, out): (&Sandbox, &BTreeMap<String, Out>),
        watch: &mut dyn FnMut(Installing<'_>),
    ) -> Result<Shelf, Unloadable> {
        let reading = Reading { config, embedded, sandbox, out, known: None };
        let (toolbox, before) = toolbox::load(&reading, early, watch)?;
        Ok(Shelf {
            toolbox: RwLock::new(Arc::new(toolbox)),
            config: config.clone(),
            embedded: embedded.to_vec(),
            read: Mutex::new(with_lock(config, before)),
            changing: Mutex::default(),
            revision: watch::Sender::new(0),
        })
    }

    /// The toolbox in service now.
    pub(crate) fn get(&self) -> Arc<Toolbox> {
        self.toolbox.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts the changes.
    pub(crate) fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Takes tools out of service, and brings back those that are not named any more.
    pub(crate) fn take_out(&self, out: &BTreeMap<String, Out>) {
        if self.get().registry.taken_out() == out {
            return;
        }
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.put(self.get().with_out(out, &self.config.completions));
    }

    /// Reads all folders again, and puts what is in them in the place of what is in service, whole. What is wrong with
    /// them is told; what cannot be read stays what it was. Takes as long as it takes, and holds no call up.
    ///
    /// # Errors
    /// What keeps everything from being served; then all stays as it is.
    pub(crate) fn reload(&self, sandbox: &Sandbox) -> Result<Vec<Fault>, Unloadable> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.get();
        let reading = Reading {
            config: &self.config,
            embedded: &self.embedded,
            sandbox,
            out: known.registry.taken_out(),
            known: Some(&known),
        };
        let (toolbox, before) =
            std::thread::scope(|scope| toolbox::load(&reading, Early::begin(scope, &self.config, false), &mut |_| ()))?;
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = with_lock(&self.config, before);
        let faults = toolbox.faults.clone();
        if !toolbox.is_like(&known) {
            self.put(toolbox);
        }
        drop(known);
        sandbox.forget_unused();
        Ok(faults)
    }

    /// What the folders, and what is accepted, are now, and what they were when they were read.
    pub(crate) fn fingerprints(&self) -> (Digest, Digest) {
        let read = *self.read.lock().unwrap_or_else(PoisonError::into_inner);
        (with_lock(&self.config, folders::of(&self.config)), read)
    }

    fn put(&self, toolbox: Toolbox) {
        let old =
            std::mem::replace(&mut *self.toolbox.write().unwrap_or_else(PoisonError::into_inner), Arc::new(toolbox));
        // The last one who uses it lets it go, and here that is not while others wait for the new one.
        drop(old);
        self.revision.send_modify(|revision| *revision += 1);
    }
}

/// What tells folders, with what is accepted, which reading itself may add to.
fn with_lock(config: &Config, folders: Digest) -> Digest {
    let lock = folders::fingerprint([&config.state_dir.join(pinned::FILE)]);
    Digest::of_parts([folders.bytes().as_slice(), lock.bytes().as_slice()])
}
