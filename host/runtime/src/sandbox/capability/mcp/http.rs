//! How is a server reached over HTTP? With the certificates that everybody trusts, to the one address that the operator
//! named, and no redirect followed. Must not know what is said.

use super::process::text_of;
use super::stdio::LONGEST;
use crate::document::excerpt;
use crate::sandbox::capability::outbound::Credentials;
use crate::servers::Setting;
use http::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// How long it may take until somebody is there.
const REACHING: Duration = Duration::from_secs(10);
/// What stands for the secret in a header's value.
const WHOLE: &str = "{secret}";
/// Requests at once over one connection; further ones wait.
const AT_ONCE: usize = 256;

/// A transport for the protocol library.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, Setting>,
    credentials: &Credentials,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let mut all = HashMap::new();
    for (name, setting) in headers {
        let wrong = || format!("the header `{}` has no possible name or value", excerpt(name, 80));
        let value = match setting {
            // A file or the program of a store is read: the threads of the servers do other things meanwhile.
            Setting::Secret { secret, value } => {
                let secret = tokio::task::block_in_place(|| credentials(secret, url))?;
                value.as_deref().unwrap_or(WHOLE).replace(WHOLE, &secret)
            }
            Setting::Text(_) | Setting::Variable { .. } => text_of(setting).map_err(|error| error.to_string())?,
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        all.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(all)
        .max_concurrent_requests(AT_ONCE)
        .max_sse_event_size(LONGEST)
        .max_json_response_size(LONGEST);
    Ok(StreamableHttpClientTransport::with_client(client()?, config))
}

fn client() -> Result<reqwest::Client, String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(REACHING)
        .tcp_nodelay(true)
        .build()
        .map_err(|error| error.to_string())
}

/// Whether a request whose sending failed may have reached the server.
pub(super) fn was_sent(error: &(dyn Error + 'static)) -> bool {
    !causes(error).any(|cause| cause.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect))
}

/// Why a session did not begin.
pub(super) fn beginning(error: &(dyn Error + 'static)) -> String {
    match was_sent(error) {
        true => in_words(error),
        false => "nobody is reached at its address".into(),
    }
}

/// The first cause in words, without addresses.
pub(super) fn in_words(error: &(dyn Error + 'static)) -> String {
    let last = causes(error).filter(|cause| !cause.is::<reqwest::Error>()).last();
    excerpt(&last.unwrap_or(error).to_string(), 300)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| (**error).source())
}
