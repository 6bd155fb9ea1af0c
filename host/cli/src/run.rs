//! Serving one agent over standard input and output. Nothing but the protocol goes to standard output; nobody is asked
//! at a terminal, because it is the client's.

use crate::args::Arguments;
use crate::failure::Failure;
use crate::setup::Folders;
use crate::{identity, session, setup, webhook};
use hermes_gateway::{CancellationToken, ForRoot, Identity};
use hermes_runtime::config::Origin;
use hermes_runtime::{Config, Runtime};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{SignalKind, signal};

pub(crate) async fn run(arguments: &Arc<Arguments>) -> Result<u8, Failure> {
    let setup = setup::load(arguments)?;
    let caller = identity::caller(arguments, &setup.loaded.config)?;
    let situation = identity::situation(arguments, &setup.loaded.config)?;
    let set = session::asked(Folders::of_this_user()?.state);
    let sending = webhook::of(&setup.loaded.config)?;
    let runtime = setup::start_unattended(setup)?;
    let all = Arc::new(Mutex::new(vec![runtime.clone()]));
    // A workspace that the operator named is the one, whatever a client offers.
    let for_root = (arguments.workspace_from == Origin::Default).then(|| for_root(arguments.clone(), all.clone()));
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    let stop = until_told()?;
    let sending = webhook::serve(sending, runtime.config().clone(), stop.clone());
    let identity = Identity { caller, situation, set };
    let ended = tokio::select! {
        ended = hermes_gateway::serve_stdio((runtime, for_root), identity, pipes, stop) => ended,
        () = async { sending.await; std::future::pending().await } => Ok(()),
    };
    let all = std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner));
    for runtime in all {
        if !runtime.flush().await {
            tracing::error!("the last records could not be written to the journal; `hermes-dispatch doctor` says why");
        }
    }
    ended.map(|()| 0).map_err(|error| Failure::internal(error.to_string()))
}

/// Puts a runtime together for the root of the agent's client.
fn for_root(arguments: Arc<Arguments>, all: Arc<Mutex<Vec<Arc<Runtime>>>>) -> ForRoot {
    Arc::new(move |root| {
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        let setup = setup::load_for_root(&arguments, &root).map_err(|failure| failure.message)?;
        if let Some(why) = setup.no_workspace {
            return Err(why);
        }
        let folder = |config: &Config| config.grants.get(Config::WORKSPACE).map(|grant| grant.path.clone());
        if let Some(same) = all.iter().find(|known| folder(known.config()) == folder(&setup.loaded.config)) {
            return Ok(same.clone());
        }
        let runtime = setup::start_unattended(setup).map_err(|failure| failure.message)?;
        all.push(runtime.clone());
        Ok(runtime)
    })
}

/// A token that is cancelled when the process is told to end.
pub(crate) fn until_told() -> Result<CancellationToken, Failure> {
    let listen = |kind| signal(kind).map_err(|error| Failure::internal(format!("signals cannot be received: {error}")));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        told.cancel();
    });
    Ok(stop)
}
