//! How does a connection come in? Accepted within a number, encrypted where there is a certificate, its requests handed to
//! whoever answers them. Must not know what is asked.

use super::{Answer, Certificate};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

/// How long the head of a request may take. Who sends a byte a second holds a connection no longer than this.
const HEAD: Duration = Duration::from_secs(10);
/// Largest head, in bytes.
const HEAD_BYTES: usize = 64 << 10;

/// Who answers requests.
pub(crate) trait Answering: Send + Sync + 'static {
    /// Answers one.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// Accepts connections until it is dropped; those that are open stay so. `stop` ends only what is not agreed on yet.
pub(crate) async fn accept(
    listener: &TcpListener,
    certificate: Option<&Certificate>,
    most: usize,
    answering: &Arc<impl Answering>,
    (open, stop): (&GracefulShutdown, &CancellationToken),
) {
    let places = Arc::new(Semaphore::new(most));
    let acceptor = certificate.map(|certificate| TlsAcceptor::from(certificate.0.clone()));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, most likely: a pause lets some be closed.
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (answering, acceptor, watcher, stop) = (answering.clone(), acceptor.clone(), open.watcher(), stop.clone());
        tokio::spawn(async move {
            let Some(stream) = encrypt(stream, acceptor, &stop).await else { return };
            let service = service_fn(move |request| {
                let answering = answering.clone();
                async move { Ok::<_, Infallible>(answering.answer(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(%error, "a connection broke");
            }
            drop(place);
        });
    }
}

/// Agrees with a client on how to encrypt, within the time that the head of a request has too.
async fn encrypt(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    stop: &CancellationToken,
) -> Option<Either<TcpStream, TlsStream<TcpStream>>> {
    let Some(acceptor) = acceptor else { return Some(Either::Left(stream)) };
    tokio::select! {
        () = stop.cancelled() => None,
        agreed = tokio::time::timeout(HEAD, acceptor.accept(stream)) => match agreed {
            Ok(Ok(stream)) => Some(Either::Right(stream)),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a client could not agree on how to encrypt");
                None
            }
            Err(_) => None,
        },
    }
}
