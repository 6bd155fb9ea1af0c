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

/// Makes connections. Lifetime: the runtime.
pub(crate) struct Dialler {
    look_ups: Arc<Semaphore>,
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
        Ok(Dialler { look_ups: Arc::new(Semaphore::new(LOOK_UPS)), tls: TlsConnector::from(Arc::new(config)) })
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
        let name = (host.clone(), *port);
        let looking = tokio::task::spawn_blocking(move || {
            let _place = place;
            name.to_socket_addrs().map(|found| found.take(16).collect::<Vec<_>>())
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
