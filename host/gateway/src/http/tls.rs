//! What does an encrypted server show its clients? A certificate and its key, as PEM text. Reads no file.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// A certificate that a server can show, with its key. Lifetime: the server.
#[derive(Clone)]
pub struct Certificate(pub(super) Arc<ServerConfig>);

/// Why a certificate cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The first file is no chain of certificates.
    #[error("there is no certificate in the PEM text")]
    NoCertificate,
    /// The second file is no private key.
    #[error("there is no private key in the PEM text (PKCS #8, PKCS #1 or SEC 1)")]
    NoKey,
    /// They do not belong together, or are of a kind that is not known.
    #[error("{0}")]
    Unusable(String),
}

impl Certificate {
    /// Reads a chain of certificates, the server's own first, and the key of that one.
    ///
    /// # Errors
    /// If one is missing or they do not belong together.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Certificate, CertificateError> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(certificates).collect::<Result<_, _>>().unwrap_or_default();
        if chain.is_empty() {
            return Err(CertificateError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CertificateError::NoKey)?;
        let unusable = |error: rustls::Error| CertificateError::Unusable(error.to_string());
        // The provider is named here, because a library sets none for the whole process.
        let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Certificate(Arc::new(config)))
    }
}
