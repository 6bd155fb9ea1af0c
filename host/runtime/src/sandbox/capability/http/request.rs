//! How does one request leave, and what of the answer comes back? Credentials are put in after everything was judged.

use super::answer::Answer;
use super::rules::Allowed;
use super::{HEAD, Notes, Open, RESPONSE, Reach, Sent};
use crate::outbound::Destination;
use crate::sandbox::capability::secrets::mask::Mask;
use crate::sandbox::capability::secrets::{PutIn, Reader, replaced};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_body_util::BodyExt;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// How long a connection may take when the component does not say.
const CONNECT: Duration = Duration::from_secs(10);
/// Most fields of an answer's head.
const FIELDS: usize = 100;

/// A request that was judged, and what it needs.
pub(super) struct Sending {
    pub(super) request: http::Request<WasiBody>,
    pub(super) destination: Destination,
    pub(super) allowed: Allowed,
    pub(super) options: RequestOptions,
    pub(super) reach: Reach,
    pub(super) secrets: Option<Reader>,
    pub(super) notes: Notes,
    pub(super) open: Open,
}

/// Where a URL leads.
pub(super) fn destination(uri: &Uri) -> Result<Destination, String> {
    Destination::of(uri.scheme_str().unwrap_or_default(), uri.authority().map_or("", |authority| authority.as_str()))
}

/// Sends a request and returns the head of its answer; its body follows as it comes.
pub(super) async fn send(sending: Sending) -> Sent {
    let Sending { mut request, destination, allowed, options, reach, secrets, notes, open } = sending;
    let method = request.method().clone();
    let noted = |(error, note): (Error, String)| {
        notes.add(&note);
        error
    };
    let (put_in, mask) = match secrets {
        Some(reader) => {
            let values = request.headers().values().map(|value| value.as_bytes().to_vec()).collect();
            read(reader, values, destination.clone()).await.map_err(noted)?
        }
        None => (PutIn::default(), Mask::default()),
    };
    put(&mut request, &put_in).map_err(|why| noted((Error::ConfigurationError, why)))?;
    if !mask.is_empty() {
        // What is packed could not be masked.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let deadline = Instant::from_std(reach.deadline);
    let connected_by = deadline.min(Instant::now() + options.connect_timeout.unwrap_or(CONNECT));
    let connection = reach.network.dialler.dial(&destination, allowed.private, connected_by).await.map_err(noted)?;

    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_buf_size(HEAD).max_headers(FIELDS);
    let (mut sender, connection) = builder.handshake(TokioIo::new(connection)).await?;
    let mut connection = Box::pin(connection);
    let first_byte = options.first_byte_timeout.map_or(deadline, |wait| deadline.min(Instant::now() + wait));
    let answered = tokio::time::timeout_at(first_byte, drive(connection.as_mut(), sender.send_request(request)));
    let (response, is_over) = answered.await.map_err(|_| Error::ConnectionReadTimeout)??;

    let (mut parts, body) = response.into_parts();
    notes.add(&format!("{method} {destination}: {}", parts.status.as_u16()));
    if !mask.is_empty() {
        mask_head(&mut parts.headers, &mask).map_err(noted)?;
    }
    let limit = reach.network.settings.response_bytes.unwrap_or(RESPONSE);
    let body = Answer::new(body, limit, options.between_bytes_timeout, mask, open, notes);
    let io = async move {
        // The sender is kept, since a connection without one may end before its answer was read.
        let _sender = sender;
        match is_over {
            // Whether the body was whole is known from the body.
            true => Ok(()),
            false => connection.await.map_err(Error::from),
        }
    };
    Ok((http::Response::from_parts(parts, body.boxed_unsync()), Box::new(io)))
}

/// Runs a connection until its answer is there. Whether the connection is over by then, too: many servers close it at
/// once, and over TLS not all of them say so first, which is an error of the connection and none of the answer.
async fn drive<C, A>(
    mut connection: Pin<&mut C>,
    answer: A,
) -> Result<(http::Response<hyper::body::Incoming>, bool), Error>
where
    C: Future<Output = hyper::Result<()>>,
    A: Future<Output = hyper::Result<http::Response<hyper::body::Incoming>>>,
{
    let mut answer = std::pin::pin!(answer);
    let ended = tokio::select! {
        biased;
        answer = &mut answer => return Ok((answer?, false)),
        ended = &mut connection => ended,
    };
    match (answer.await, ended) {
        (Ok(response), _) => Ok((response, true)),
        (Err(_), Err(why)) => Err(Error::from(why)),
        (Err(why), Ok(())) => Err(Error::from(why)),
    }
}

/// Reads secrets beside the workers, since a file or a program may take its time. `values` are those of all headers, in
/// which handles may stand.
async fn read(
    reader: Reader,
    values: Vec<Vec<u8>>,
    destination: Destination,
) -> Result<(PutIn, Mask), (Error, String)> {
    let has = move |handle: &str| {
        values.iter().any(|value| value.windows(handle.len()).any(|window| window == handle.as_bytes()))
    };
    let reading = tokio::task::spawn_blocking(move || reader.read(&destination, has));
    match reading.await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(why)) => Err((Error::HttpRequestDenied, format!("refused: {why}"))),
        Err(error) => Err((Error::InternalError(None), format!("the secrets could not be read: {error}"))),
    }
}

/// Puts credentials in and leaves of the URL what a server is asked for.
fn put(request: &mut http::Request<WasiBody>, put_in: &PutIn) -> Result<(), String> {
    let no_header = |name: &str| format!("a secret makes no value of the header `{name}`");
    let secret_value = |name: &str, bytes: &[u8]| -> Result<HeaderValue, String> {
        let mut value = HeaderValue::from_bytes(bytes).map_err(|_| no_header(name))?;
        value.set_sensitive(true);
        Ok(value)
    };
    if !put_in.handles.is_empty() {
        for (name, value) in request.headers_mut() {
            let before = value.as_bytes().to_vec();
            let after = put_in
                .handles
                .iter()
                .fold(before.clone(), |text, (handle, secret)| replaced(&text, handle.as_bytes(), secret.bytes()));
            if after != before {
                *value = secret_value(name.as_str(), &after)?;
            }
        }
    }
    for (name, bytes) in &put_in.headers {
        let value = secret_value(name, bytes)?;
        let name = HeaderName::try_from(name).map_err(|_| no_header(name))?;
        request.headers_mut().insert(name, value);
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut path = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
    for (parameter, bytes) in &put_in.query {
        path.push(if path.contains('?') { '&' } else { '?' });
        path.extend(url::form_urlencoded::byte_serialize(parameter.as_bytes()));
        path.push('=');
        path.extend(url::form_urlencoded::byte_serialize(bytes));
    }
    *request.uri_mut() = path.parse().map_err(|_| "the URL's path is none".to_owned())?;
    Ok(())
}

/// Masks secrets in the head of an answer. Its body gets another length.
fn mask_head(headers: &mut HeaderMap, mask: &Mask) -> Result<(), (Error, String)> {
    let packed = headers.get(CONTENT_ENCODING).filter(|encoding| encoding.as_bytes() != b"identity");
    if let Some(encoding) = packed {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
        let note = format!("the answer is packed ({encoding}) though it was not to be, so it could not be masked");
        return Err((Error::HttpResponseContentCoding(Some(encoding)), note));
    }
    headers.remove(CONTENT_LENGTH);
    for value in headers.values_mut() {
        let shown = mask.whole(value.as_bytes());
        if shown != value.as_bytes() {
            *value = HeaderValue::from_bytes(&shown).unwrap_or(HeaderValue::from_static("[secret]"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_destination_of_a_url_is_unmistakable() {
        let check = |url: &str, expect: Result<&str, &str>| {
            let found = destination(&url.parse().unwrap()).map(|found| found.to_string());
            match expect {
                Ok(expect) => assert_eq!(found.as_deref(), Ok(expect), "{url}"),
                Err(expect) => assert!(found.as_ref().is_err_and(|why| why.contains(expect)), "{url}: {found:?}"),
            }
        };
        check("https://Example.COM./a?b", Ok("https://example.com"));
        check("http://example.com:80/", Ok("http://example.com"));
        check("http://[::1]:8080/", Ok("http://[::1]:8080"));
        check("https://good.test@evil.test/", Err("a user"));
        check("ftp://a.test/", Err("scheme"));
    }
}
