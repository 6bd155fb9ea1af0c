//! How does a component become one that calls can run? Read, checked, compiled if it is new, linked to what it was granted
//! and started once. Must not run any call.

use super::attempt::{self, Surroundings};
use super::bindings::EveryIndices;
use super::entry::{Entry, Exports};
use super::install::{self, InstallError, Installed};
use super::limits::Limits;
use super::values::{self, Function};
use super::worker::{Place, Worker};
use super::{Ready, Sandbox, State, capability, component, engine};
use crate::call::Digest;
use crate::registry::manifest::LimitsManifest;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use wasmtime::component::{Component, InstancePre, Linker};

/// How long the trial start of a component may take at install.
const TRIAL: Duration = Duration::from_secs(1);

impl Sandbox {
    /// Makes a component ready to run where its profile says, with the capabilities that it asked for. Compiles it if it is
    /// new, which takes a process of its own and may take its time. `by_functions` is for one that knows nothing of the
    /// contract: its own functions are called. It can be run as long as what is returned is there.
    ///
    /// # Errors
    /// It is none, asks for what there is not, or cannot run there.
    pub fn install(
        &self,
        bytes: &[u8],
        granted: &BTreeSet<String>,
        profile: &str,
        by_functions: bool,
    ) -> Result<Installed, InstallError> {
        let binary = component::binary(bytes)?;
        let functions = match by_functions {
            true => Some(values::functions_of(&binary).map_err(InstallError::Invalid)?.usable),
            false => None,
        };
        let place = self.place(profile, &binary, granted)?.map(|place| (profile, place));
        self.install_as(bytes, granted, functions, place)
    }

    fn install_as(
        &self,
        bytes: &[u8],
        granted: &BTreeSet<String>,
        functions: Option<Vec<Function>>,
        place: Option<(&str, Place)>,
    ) -> Result<Installed, InstallError> {
        let digest = Digest::of(bytes);
        let known: Vec<&str> = capability::ALL.iter().copied().chain(self.embedder.names()).collect();
        if let Some(unknown) = granted.iter().find(|name| !known.contains(&name.as_str())) {
            let why = format!("and the capabilities of this runtime are {}", known.join(", "));
            return Err(InstallError::Import { import: unknown.clone(), why });
        }
        let binary = component::binary(bytes)?;
        let contents = component::contents(&binary)?;
        let own = self.embedder.interfaces();
        match &functions {
            None => install::check(&contents, granted, &own)?,
            Some(_) => install::check_imports(&contents, granted, &own)?,
        }
        if contents.instances > engine::INSTANCES.into() {
            let (what, count, limit) = ("instances", contents.instances, engine::INSTANCES.into());
            return Err(InstallError::TooLarge { what, count, limit });
        }
        let component = self.compiled(&binary, &digest)?;
        let invalid = |error: wasmtime::Error| InstallError::Invalid(format!("{error:#}"));
        let mut linker = Linker::new(&self.ticking.engine);
        capability::link(&mut linker, granted).map_err(invalid)?;
        self.embedder.link(&mut linker, granted).map_err(invalid)?;
        let pre = linker.instantiate_pre(&component).map_err(invalid)?;
        let by_functions = functions.is_some();
        let kind = match (by_functions, &place) {
            (false, None) => String::new(),
            (true, None) => "functions".to_owned(),
            (false, Some((profile, _))) => (*profile).to_owned(),
            (true, Some((profile, _))) => format!("functions, {profile}"),
        };
        let worker = match place {
            Some((_, place)) => {
                let code = component.serialize().map_err(invalid)?;
                let is_read = by_functions || matches!(place, Place::Elsewhere(_));
                let component = if is_read { binary.to_vec() } else { Vec::new() };
                Some(Worker { code, component, by_functions, capabilities: granted.clone(), place })
            }
            None => None,
        };
        let entry = match functions {
            Some(functions) => Entry::Functions(pre, functions),
            None => {
                if worker.is_none() {
                    self.check_types(&pre)?;
                }
                Entry::Contract(Exports::of(pre).map_err(invalid)?)
            }
        };
        let mut ready = self.ready.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let names = granted.iter().map(|name| name.as_bytes());
        let parts = std::iter::once(digest.bytes().as_slice()).chain(names);
        let linked = Digest::of_parts(parts.chain((!kind.is_empty()).then_some(kind.as_bytes())));
        let (instances, usual) = (contents.instances, contents.usual_limits());
        if let Some(alive) = ready.get(&linked).and_then(Weak::upgrade) {
            return Ok(Installed { linked, alive });
        }
        let alive = Arc::new(Ready { entry, capabilities: granted.clone(), instances, usual, worker });
        ready.insert(linked, Arc::downgrade(&alive));
        Ok(Installed { linked, alive })
    }

    /// Whether installing a component will have to compile it.
    pub fn needs_compiling(&self, bytes: &[u8]) -> bool {
        !self.cache.has(&Digest::of(bytes))
    }

    fn compiled(&self, binary: &[u8], digest: &Digest) -> Result<Component, InstallError> {
        let engine = &self.ticking.engine;
        if let Some(component) = self.cache.kept(engine, digest) {
            return Ok(component);
        }
        let started = Instant::now();
        let code = self.compiler.compile(binary)?;
        tracing::info!(%digest, elapsed = ?started.elapsed(), "compiled a component");
        self.cache.keep(engine, &code, digest)
    }

    /// Starts a component once, without any authority, to see that what it exports has the contract's types. One that
    /// breaks off at its start is left to its calls, which say how.
    fn check_types(&self, pre: &InstancePre<State>) -> Result<(), InstallError> {
        let limits = Limits::of(&LimitsManifest::default(), Some(TRIAL), &self.ceiling);
        let deadline = Instant::now() + limits.timeout;
        let invalid = |error: wasmtime::Error| InstallError::Invalid(format!("{error:#}"));
        let _tick = self.ticking.hold();
        let reach = self.no_reach(deadline);
        let mut store = attempt::store(self, reach, &limits, deadline, Surroundings::default()).map_err(invalid)?;
        let started = poll_until(deadline, pre.instantiate_async(&mut store));
        match started {
            Some(Ok(instance)) => {
                let indices = EveryIndices::new(pre).map_err(invalid)?;
                indices.load(&mut store, &instance).map(|_| ()).map_err(invalid)
            }
            Some(Err(_)) | None => Ok(()),
        }
    }
}

/// Polls a future that needs no reactor until it is ready or the time is over.
fn poll_until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    while Instant::now() < deadline {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        std::thread::yield_now();
    }
    None
}
