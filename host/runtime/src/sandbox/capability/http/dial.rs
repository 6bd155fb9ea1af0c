//! How is a host reached? Its name is resolved once, each address is checked, and what was checked is dialled, so that
//! a name which changes its mind leads nowhere else.

use crate::address::is_public;
use crate::outbound::{Destination, Scheme};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wasmtime_wasi_http::Error;

/// Look-ups of names at the same time. One that the system's resolver does not end keeps its place.
const LOOK_UPS: usize = 32;
/// How long one address may take to answer, when others are left.
const ONE_ADDRESS: Duration = Duration::from_secs(5);
/// Largest file of certificates, in bytes.
const CERTIFICATES: u64 = 4 << 20;

/// Tells the addresses of a name, and blocks meanwhile.
type Resolve = fn(&str, u16) -> std::io::Result<Vec<SocketAddr>>;

/// The system's resolver.
fn resolve(name: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    Ok((name, port).to_socket_addrs()?.take(16).collect())
}

/// Makes connections. Lifetime: the runtime.
pub(crate) struct Dialler {
    look_ups: Arc<Semaphore>,
    resolve: Resolve,
    tls: TlsConnector,
}

impl Dialler {
    /// `authorities` are files with further certificates, in PEM.
    pub(crate) fn new(authorities: &[PathBuf]) -> Result<Dialler, String> {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;
        let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for file in authorities {
            let wrong = |why: String| format!("the authorities in `{}` cannot be used: {why}", file.display());
            let pem = crate::document::read_regular(file, CERTIFICATES).map_err(|error| wrong(error.to_string()))?;
            let mut found = 0;
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                let certificate = certificate.map_err(|error| wrong(format!("{error:?}")))?;
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
                found += 1;
            }
            if found == 0 {
                return Err(wrong("it has no certificate".into()));
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Dialler { look_ups: Arc::new(Semaphore::new(LOOK_UPS)), resolve, tls: TlsConnector::from(Arc::new(config)) })
    }

    /// A connection to a destination. `private` says whether its address may be a private one.
    ///
    /// # Errors
    /// The error for the component, and a line for the call's log.
    pub(crate) async fn dial(
        &self,
        destination: &Destination,
        private: bool,
        until: Instant,
    ) -> Result<Connection, (Error, String)> {
        let found = tokio::time::timeout_at(until, self.addresses(destination))
            .await
            .map_err(|_| (Error::DnsTimeout, format!("{destination}: its name was not resolved in time")))??;
        let may: Vec<SocketAddr> = found.iter().copied().filter(|found| private || is_public(found.ip())).collect();
        if may.is_empty() {
            let shown = found.first().map_or("no address".to_owned(), |address| address.ip().to_string());
            return Err((
                Error::DestinationIpProhibited,
                format!("refused: {destination} is {shown}, which is not public and not granted as private"),
            ));
        }
        let stream = connect(destination, &may, until).await?;
        match destination.scheme {
            Scheme::Http => Ok(Connection::Plain(stream)),
            Scheme::Https => self.secure(destination, stream, until).await,
        }
    }

    async fn addresses(&self, destination: &Destination) -> Result<Vec<SocketAddr>, (Error, String)> {
        let Destination { host, port, .. } = destination;
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, *port)]);
        }
        let unknown = |why: &str| {
            let error = Error::DnsError { rcode: Some("name not found".into()), info_code: None };
            (error, format!("{destination}: its name is unknown: {why}"))
        };
        let place = self.look_ups.clone().acquire_owned().await.map_err(|_| unknown("the runtime ends"))?;
        let (resolve, name, port) = (self.resolve, host.clone(), *port);
        let looking = tokio::task::spawn_blocking(move || {
            let _place = place;
            resolve(&name, port)
        });
        match looking.await {
            Ok(Ok(found)) if !found.is_empty() => Ok(found),
            Ok(Ok(_)) => Err(unknown("it has no address")),
            Ok(Err(error)) => Err(unknown(&error.to_string())),
            Err(error) => Err(unknown(&error.to_string())),
        }
    }

    async fn secure(
        &self,
        destination: &Destination,
        stream: TcpStream,
        until: Instant,
    ) -> Result<Connection, (Error, String)> {
        use rustls::pki_types::ServerName;
        let name = ServerName::try_from(destination.host.clone())
            .map_err(|_| (Error::HttpRequestUriInvalid, format!("{destination}: TLS knows no such name")))?;
        match tokio::time::timeout_at(until, self.tls.connect(name, stream)).await {
            Ok(Ok(stream)) => Ok(Connection::Secure(Box::new(stream))),
            Ok(Err(error)) => {
                let note = format!("{destination}: no secure connection: {error}");
                Err((Error::Tls(error), note))
            }
            Err(_) => Err((Error::ConnectionTimeout, format!("{destination}: TLS was not set up in time"))),
        }
    }
}

async fn connect(destination: &Destination, to: &[SocketAddr], until: Instant) -> Result<TcpStream, (Error, String)> {
    let mut last = (Error::ConnectionTimeout, format!("{destination}: it did not answer in time"));
    for (index, address) in to.iter().enumerate() {
        let is_last = index + 1 == to.len();
        let end = if is_last { until } else { until.min(Instant::now() + ONE_ADDRESS) };
        match tokio::time::timeout_at(end, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = (Error::Connect(error), format!("{destination}: no connection")),
            Err(_) if Instant::now() >= until => break,
            Err(_) => {}
        }
    }
    Err(last)
}

/// A connection that was made to a checked address.
pub(crate) enum Connection {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Connection::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Connection::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Connection::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Connection::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Connection::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// How often the name that changes its mind was asked for.
    static ASKED: AtomicUsize = AtomicUsize::new(0);

    fn dialler(resolve: Resolve) -> Dialler {
        Dialler { resolve, ..Dialler::new(&[]).unwrap() }
    }

    fn destination(host: &str, port: u16) -> Destination {
        Destination { scheme: Scheme::Http, host: host.into(), port }
    }

    /// A port of this machine where somebody listens, on one address only.
    async fn listening() -> (tokio::net::TcpListener, u16) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    fn until() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[tokio::test]
    async fn a_name_that_changes_its_mind_is_asked_once() {
        let (listener, port) = listening().await;
        let changing = dialler(|_, port| {
            let last = if ASKED.fetch_add(1, Ordering::SeqCst) == 0 { 1 } else { 99 };
            Ok(vec![SocketAddr::from(([127, 0, 0, last], port))])
        });
        assert!(changing.dial(&destination("changes.example", port), true, until()).await.is_ok());
        listener.accept().await.unwrap();
        assert_eq!(ASKED.load(Ordering::SeqCst), 1, "what was checked is what is dialled");
    }

    #[tokio::test]
    async fn of_a_names_addresses_only_those_are_dialled_that_may_be() {
        let (listener, port) = listening().await;
        // Nobody answers at the public one here; the private one beside it would.
        let mixed = dialler(|_, port| {
            Ok(vec![SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([192, 88, 98, 1], port))])
        });
        let soon = Instant::now() + Duration::from_millis(300);
        assert!(mixed.dial(&destination("mixed.example", port), false, soon).await.is_err());
        let inside = dialler(|_, port| Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]));
        let refused = inside.dial(&destination("inside.example", port), false, until()).await.err().unwrap();
        assert!(matches!(refused.0, Error::DestinationIpProhibited), "{}", refused.1);
        let nobody = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(nobody.is_err(), "the private address was dialled");
    }
}
