//! Serving one agent over standard input and output. Nothing but the protocol goes to standard output; nobody is asked
//! at a terminal, because it is the client's.

use crate::args::Arguments;
use crate::failure::Failure;
use crate::{identity, setup};
use hermes_gateway::{CancellationToken, Identity};
use tokio::signal::unix::{SignalKind, signal};

pub(crate) async fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let setup = setup::load(arguments)?;
    let caller = identity::caller(arguments, &setup.loaded.config)?;
    let situation = identity::situation(arguments, &setup.loaded.config)?;
    let runtime = setup::start_unattended(setup)?;
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    let stop = until_told()?;
    let ended = hermes_gateway::serve_stdio(runtime.clone(), Identity { caller, situation }, pipes, stop).await;
    if !runtime.flush().await {
        tracing::error!("the last records could not be written to the journal; `hermes-dispatch doctor` says why");
    }
    ended.map(|()| 0).map_err(|error| Failure::internal(error.to_string()))
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
