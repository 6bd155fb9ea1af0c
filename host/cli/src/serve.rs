//! Serving many agents over HTTP, on this machine or encrypted. Refuses to start while nobody could be let in, and asks the list of
//! tokens anew for each request, so that a token taken back counts no more.

use crate::args::{Arguments, ServeArguments};
use crate::failure::Failure;
use crate::setup::Folders;
use crate::token::{self, Token};
use crate::{output, session, setup, webhook};
use hermes_gateway::{
    Authenticate, Authenticated, CancellationToken, Certificate, Listening, Operator, Operators, ServeError, Shown,
};
use hermes_runtime::call::Digest;
use hermes_runtime::config::Config;
use hermes_runtime::permission::role::GUEST;
use hermes_runtime::{Runtime, document};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;

pub(crate) async fn run(arguments: &Arguments, command: &ServeArguments) -> Result<u8, Failure> {
    let state = Folders::of_this_user()?.state;
    if token::read(&state)?.token.is_empty() {
        return Err(Failure::denied(
            "nobody could be let in: there is no token; make one with `hermes-dispatch token add NAME --role ROLE`",
        ));
    }
    let certificate = certificate(command)?;
    for address in [command.listen, command.approvals] {
        if certificate.is_none() && !address.ip().is_loopback() {
            let why = format!(
                "`{address}` is not this machine's own address, and nothing is encrypted; listen on 127.0.0.1, or give \
                 --tls-certificate and --tls-key"
            );
            return Err(Failure::usage(why));
        }
    }
    let scheme = if certificate.is_some() { "https" } else { "http" };
    let setup = setup::load(arguments)?;
    let sending = webhook::of(&setup.loaded.config)?;
    let authenticate = authenticate(state.clone(), setup.loaded.config.clone());
    let runtime = setup::start_unattended(setup)?;
    let listening = |listener| Listening { listener, certificate: certificate.clone(), names: command.names.clone() };
    let (listener, address) = listen(&runtime, command.listen).await?;
    let page = match token::read(&state)?.operator.is_empty() {
        true => {
            output::warn("no page for approvals: make a token with `hermes-dispatch token add NAME --operator` first");
            None
        }
        false => {
            let (listener, address) = listen(&runtime, command.approvals).await?;
            output::warn(&format!("page for approvals at {scheme}://{address}/, for monitors /metrics"));
            Some(listening(listener))
        }
    };
    output::warn(&format!("serving at {scheme}://{address}{}", hermes_gateway::PATH));
    let stop = crate::run::until_told()?;
    let agents = hermes_gateway::serve_http(runtime.clone(), authenticate, listening(listener), stop.clone());
    let people = serve_page(runtime.clone(), operators(state), page, stop.clone());
    let sending = webhook::serve(sending, runtime.config().clone(), stop);
    let (agents, people, ()) = tokio::join!(agents, people, sending);
    let ended = agents.and(people);
    if !runtime.flush().await {
        tracing::error!("the last records could not be written to the journal; `hermes-dispatch doctor` says why");
    }
    ended.map(|()| 0).map_err(|error| Failure::internal(error.to_string()))
}

/// Listens on an address, which no tool reaches from now on.
async fn listen(runtime: &Runtime, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Failure::unavailable(format!("`{address}` cannot be listened on: {error}")))?;
    let address = listener.local_addr().map_err(|error| Failure::internal(error.to_string()))?;
    runtime.listens_on(address);
    Ok((listener, address))
}

async fn serve_page(
    runtime: Arc<Runtime>,
    operators: Operators,
    page: Option<Listening>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    match page {
        Some(page) => hermes_gateway::serve_approvals(runtime, operators, page, stop).await,
        None => Ok(()),
    }
}

/// Finds whose token is shown. A list that cannot be read lets nobody in.
fn operators(state: PathBuf) -> Operators {
    Arc::new(move |shown| {
        let digest = match shown {
            Shown::Token(text) => Digest::of(text.as_bytes()),
            Shown::Id(id) => Digest::parse(id)?,
        };
        match token::operator(&state, &digest) {
            Ok(found) => found.map(|found| Operator { id: found.digest.to_string().into(), name: found.name.into() }),
            Err(failure) => {
                tracing::error!("{}", failure.message);
                None
            }
        }
    })
}

/// What the server shows its clients, if the command names it.
fn certificate(command: &ServeArguments) -> Result<Option<Certificate>, Failure> {
    let (Some(certificate), Some(key)) = (&command.tls_certificate, &command.tls_key) else { return Ok(None) };
    let read = |path: &Path| {
        // Who renews certificates keeps links to the present ones.
        let read = path.canonicalize().and_then(|path| document::read_text(&path));
        read.map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", path.display())))
    };
    let (chain, secret) = (read(certificate)?, read(key)?);
    Certificate::from_pem(chain.as_bytes(), secret.as_bytes()).map(Some).map_err(|error| {
        Failure::usage(format!("`{}` and `{}` cannot be used: {error}", certificate.display(), key.display()))
    })
}

/// Finds what a token stands for. A list that cannot be read lets nobody in.
fn authenticate(state: PathBuf, config: Config) -> Authenticate {
    let set = session::asked(state.clone());
    Arc::new(move |text: &str| {
        let found = find(&state, text)?;
        if !config.roles.contains_key(&found.role) && found.role != GUEST {
            tracing::warn!(token = %found.name, role = %found.role, "the token's role is not in the configuration any more");
            return None;
        }
        Some(Authenticated { token: found.digest.to_string().into(), identity: found.identity(set.clone()) })
    })
}

fn find(state: &Path, text: &str) -> Option<Token> {
    let digest = Digest::of(text.as_bytes());
    match token::read(state) {
        // Digests are compared, so the time it takes says nothing about a token.
        Ok(tokens) => tokens.token.into_iter().find(|token| token.digest == digest),
        Err(failure) => {
            tracing::error!("{}", failure.message);
            None
        }
    }
}
