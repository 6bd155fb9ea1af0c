//! Requests to other hosts. Which ones is the operator's word; credentials are put in by the runtime.

use crate::call::{Call, Given};
use crate::failure::{Failure, Kind, Result};

/// Most bytes of an answer that are read when nobody says anything.
const MOST: usize = 8 << 20;

/// The network, as far as it is granted. A tool takes it as `&Http`; `adapter.toml` asks for `http`.
#[derive(Debug)]
pub struct Http(());

impl Given for Http {
    fn given(_: &Call) -> Http {
        Http(())
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST` or another one, in capitals.
    pub method: String,
    /// `http://…` or `https://…`.
    pub url: String,
    /// Fields of the head. What the runtime adds is not among them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Most bytes of the answer to read.
    pub most: usize,
}

/// An answer, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// For example 200.
    pub status: u16,
    /// Fields of the head, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether there was more than was asked for.
    pub truncated: bool,
}

impl Request {
    /// A request.
    pub fn new(method: &str, url: impl Into<String>) -> Request {
        Request { method: method.to_owned(), url: url.into(), headers: Vec::new(), body: None, most: MOST }
    }

    /// A request that reads.
    pub fn get(url: impl Into<String>) -> Request {
        Request::new("GET", url)
    }

    /// With one more field in its head.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Request {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With JSON as body.
    pub fn json(mut self, body: &serde_json::Value) -> Request {
        self.body = Some(body.to_string().into_bytes());
        self.header("content-type", "application/json")
    }
}

impl Response {
    /// A field of the head.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the status says that it worked.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Fails unless the status says that it worked.
    pub fn success(self) -> Result<Response> {
        if self.is_success() {
            return Ok(self);
        }
        let body = String::from_utf8_lossy(&self.body);
        let start: String = body.chars().take(500).collect();
        let message = format!("the server answered with status {}: {start}", self.status);
        Err(Failure::new(Kind::Upstream, message).reason("http_status"))
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        Ok(serde_json::from_slice(&self.body)?)
    }
}

impl Http {
    /// The network of the world, for a native test.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn for_test() -> Http {
        Http(())
    }

    /// Sends a request and reads the answer. Redirections are answers too: nobody follows them unasked.
    pub fn send(&self, request: &Request) -> Result<Response> {
        #[cfg(target_arch = "wasm32")]
        return wasi::send(request);
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::answer(request)
    }
}

#[cfg(target_arch = "wasm32")]
mod wasi {
    use super::{Request, Response};
    use crate::failure::{Failure, Kind, Result};
    use wasip2::http::outgoing_handler::{ErrorCode, handle};
    use wasip2::http::types::{Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, Scheme};
    use wasip2::io::streams::StreamError;

    /// Bytes of one piece of a body; what the interface takes at once.
    const PIECE: usize = 4096;

    pub(super) fn send(request: &Request) -> Result<Response> {
        let outgoing = head(request)?;
        let body = outgoing.body().map_err(|()| internal("a request has one body"))?;
        let answer = handle(outgoing, None).map_err(|code| failure(request, code, false))?;
        write(&body, request.body.as_deref().unwrap_or_default())
            .and_then(|()| OutgoingBody::finish(body, None).map_err(|code| failure(request, code, true)))
            // The answer says better why the request was not taken.
            .or_else(|error| if answer.get().is_some() { Ok(()) } else { Err(error) })?;
        answer.subscribe().block();
        let response = answer
            .get()
            .ok_or_else(|| internal("an answer is there once it is waited for"))?
            .map_err(|()| internal("an answer is taken once"))?
            .map_err(|code| failure(request, code, true))?;
        let headers = response.headers().entries().into_iter();
        let headers = headers.map(|(name, value)| (name.to_lowercase(), String::from_utf8_lossy(&value).into_owned()));
        let headers = headers.collect();
        let status = response.status();
        let body = response.consume().map_err(|()| internal("a body is taken once"))?;
        let (body, truncated) = read(request, body)?;
        Ok(Response { status, headers, body, truncated })
    }

    fn head(request: &Request) -> Result<OutgoingRequest> {
        let invalid = |why: &str| Failure::invalid(format!("`{}` {why}", request.url)).reason("invalid_url");
        let (scheme, rest) = request.url.split_once("://").ok_or_else(|| invalid("is no URL"))?;
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(invalid("begins neither with http:// nor with https://")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let fields = Fields::new();
        for (name, value) in &request.headers {
            let refused = |_| Failure::invalid(format!("the header `{name}` cannot be sent")).reason("invalid_header");
            fields.append(name, value.as_bytes()).map_err(refused)?;
        }
        if let Some(body) = &request.body {
            let length = body.len().to_string();
            fields.set("content-length", &[length.into_bytes()]).map_err(|_| internal("a length can be set"))?;
        }
        let outgoing = OutgoingRequest::new(fields);
        let method = match request.method.as_str() {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            "PATCH" => Method::Patch,
            other => Method::Other(other.to_owned()),
        };
        outgoing.set_method(&method).map_err(|()| Failure::invalid(format!("`{}` is no method", request.method)))?;
        outgoing.set_scheme(Some(&scheme)).map_err(|()| invalid("has a scheme that cannot be used"))?;
        outgoing.set_authority(Some(authority)).map_err(|()| invalid("has no host"))?;
        outgoing.set_path_with_query(Some(&path)).map_err(|()| invalid("has a path that is none"))?;
        Ok(outgoing)
    }

    fn write(body: &OutgoingBody, content: &[u8]) -> Result<()> {
        let stream = body.write().map_err(|()| internal("a body is written once"))?;
        let lost = |_| {
            Failure::new(Kind::Upstream, "the connection ended while the request was sent")
                .reason("connection_lost")
                .sent()
        };
        for piece in content.chunks(PIECE) {
            stream.blocking_write_and_flush(piece).map_err(lost)?;
        }
        Ok(())
    }

    fn read(request: &Request, body: IncomingBody) -> Result<(Vec<u8>, bool)> {
        let stream = body.stream().map_err(|()| internal("a body is read once"))?;
        let mut content = Vec::new();
        loop {
            match stream.blocking_read(64 << 10) {
                Ok(piece) => content.extend_from_slice(&piece),
                Err(StreamError::Closed) => return Ok((content, false)),
                Err(StreamError::LastOperationFailed(error)) => {
                    let code = wasip2::http::types::http_error_code(&error);
                    return Err(code.map_or_else(
                        || Failure::new(Kind::Upstream, "the answer broke off").reason("connection_lost").sent(),
                        |code| failure(request, code, true),
                    ));
                }
            }
            if content.len() > request.most {
                content.truncate(request.most);
                return Ok((content, true));
            }
        }
    }

    fn internal(what: &str) -> Failure {
        Failure::new(Kind::ToolFailed, format!("the host does not keep to wasi:http: {what}"))
    }

    /// What the host's code means to a caller. `sent` says whether the request may have arrived.
    fn failure(request: &Request, code: ErrorCode, sent: bool) -> Failure {
        let host = request.url.split('/').nth(2).unwrap_or_default();
        let (kind, reason, what) = match &code {
            ErrorCode::HttpRequestDenied => (Kind::Denied, "host_not_granted", "is not granted to this tool"),
            ErrorCode::DestinationIpProhibited => (Kind::Denied, "address_not_public", "has no public address"),
            ErrorCode::ConfigurationError => {
                (Kind::Unavailable, "configuration", "cannot be reached as it is configured")
            }
            ErrorCode::HttpRequestUriInvalid => (Kind::InvalidInput, "invalid_url", "is not what a URL can name"),
            ErrorCode::DnsTimeout | ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => {
                (Kind::Upstream, "name_not_found", "has no known address")
            }
            ErrorCode::ConnectionTimeout | ErrorCode::ConnectionReadTimeout | ErrorCode::HttpResponseTimeout => {
                (Kind::Timeout, "timed_out", "did not answer in time")
            }
            ErrorCode::ConnectionRefused | ErrorCode::DestinationUnavailable => {
                (Kind::Upstream, "connection_refused", "takes no connection")
            }
            ErrorCode::TlsCertificateError | ErrorCode::TlsProtocolError => {
                (Kind::Upstream, "not_secure", "gives no secure connection")
            }
            ErrorCode::HttpResponseBodySize(_) => (Kind::TooLarge, "too_large", "answers with more than may be read"),
            ErrorCode::ConnectionLimitReached => {
                (Kind::Unavailable, "too_many_requests", "is asked too often at a time")
            }
            ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => {
                (Kind::Upstream, "connection_lost", "broke the connection off")
            }
            _ => (Kind::Upstream, "protocol_error", "does not answer as HTTP wants it"),
        };
        // Before a connection stood, nothing can have arrived.
        let arrived = sent
            && !matches!(kind, Kind::Denied | Kind::InvalidInput)
            && !matches!(
                reason,
                "name_not_found" | "connection_refused" | "not_secure" | "configuration" | "too_many_requests"
            );
        let failure = Failure::new(kind, format!("`{host}` {what}")).reason(reason);
        if arrived { failure.sent() } else { failure }
    }
}
