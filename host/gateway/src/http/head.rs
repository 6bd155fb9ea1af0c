//! Does a request mean this server, and what does it show? Pure; reads nothing but the head.

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderName, Request};
use std::net::SocketAddr;

/// The names under which this machine knows itself. Any other name may have been made to lead here.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Under which addresses a server is meant. Lifetime: the server.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    names: Vec<String>,
    port: u16,
    scheme: &'static str,
    scheme_port: u16,
}

impl Own {
    /// The machine's own names, the address that is listened on, and the names that the operator gives.
    pub(crate) fn new(address: SocketAddr, further: &[String], encrypted: bool) -> Own {
        let listened = match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        };
        let names = OWN_NAMES.map(str::to_owned).into_iter().chain([listened]).chain(further.iter().cloned()).collect();
        let (scheme, scheme_port) = if encrypted { ("https://", 443) } else { ("http://", 80) };
        Own { names, port: address.port(), scheme, scheme_port }
    }

    /// The names, without ports.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    fn is(&self, host: &Authority) -> bool {
        let is_named = self.names.iter().any(|name| name.eq_ignore_ascii_case(host.host()));
        is_named && !host.as_str().contains('@') && host.port_u16().unwrap_or(self.scheme_port) == self.port
    }

    /// Whether `Host` is the server's own address. A browser fills it in by itself, so a page cannot lie about it.
    pub(crate) fn is_meant<B>(&self, request: &Request<B>) -> bool {
        let host = one(request, HOST).and_then(|host| host.parse::<Authority>().ok());
        host.is_some_and(|host| self.is(&host)) && request.uri().authority().is_none_or(|host| self.is(host))
    }

    /// Whether `Origin`, if there is one, is the server's own.
    pub(crate) fn is_origin<B>(&self, request: &Request<B>) -> bool {
        if !request.headers().contains_key(ORIGIN) {
            return true;
        }
        let origin =
            one(request, ORIGIN).and_then(|origin| origin.strip_prefix(self.scheme)?.parse::<Authority>().ok());
        origin.is_some_and(|origin| self.is(&origin))
    }
}

/// Where this server is spoken to, for those on this machine.
pub(crate) fn url(address: SocketAddr, names: &[String], encrypted: bool) -> String {
    let host = match names.first().filter(|_| encrypted) {
        Some(name) => format!("{name}:{}", address.port()),
        None if address.ip().is_unspecified() => format!("localhost:{}", address.port()),
        None => address.to_string(),
    };
    format!("{}://{host}{}", if encrypted { "https" } else { "http" }, super::PATH)
}

/// The token that a request shows.
pub(crate) fn token<B>(request: &Request<B>) -> Option<&str> {
    let (scheme, token) = one(request, AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// A header that is there once; with two of them nobody knows which one somebody else reads.
pub(crate) fn one<B>(request: &Request<B>, name: HeaderName) -> Option<&str> {
    let mut values = request.headers().get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn only_the_servers_own_names_and_port_are_meant() {
        let own = Own::new("127.0.0.1:7357".parse().unwrap(), &[], false);
        let check = |host: &str, expect: bool| assert_eq!(own.is_meant(&request(&[("host", host)])), expect, "{host}");
        check("127.0.0.1:7357", true);
        check("LOCALHOST:7357", true);
        check("[::1]:7357", true);
        for host in
            ["localhost", "localhost:80", "evil.test:7357", "127.0.0.1.evil.test:7357", "localhost@evil.test:7357", ""]
        {
            check(host, false);
        }
        assert!(!own.is_meant(&request(&[])));
        assert!(!own.is_meant(&request(&[("host", "localhost:7357"), ("host", "evil.test")])));
    }

    #[test]
    fn an_encrypted_server_is_meant_by_the_names_that_it_was_given() {
        let own = Own::new("192.0.2.1:443".parse().unwrap(), &["tools.example".into()], true);
        for host in ["tools.example", "tools.example:443", "192.0.2.1"] {
            assert!(own.is_meant(&request(&[("host", host)])), "{host}");
        }
        for host in ["tools.example:80", "other.example", "192.0.2.2"] {
            assert!(!own.is_meant(&request(&[("host", host)])), "{host}");
        }
        assert!(own.is_origin(&request(&[("origin", "https://tools.example")])));
        assert!(!own.is_origin(&request(&[("origin", "http://tools.example")])));
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        let own = Own::new("127.0.0.1:7357".parse().unwrap(), &[], false);
        let check =
            |origin: &str, expect: bool| assert_eq!(own.is_origin(&request(&[("origin", origin)])), expect, "{origin}");
        check("http://localhost:7357", true);
        for origin in ["null", "http://localhost:3000", "https://localhost:7357", "http://evil.test", "file://"] {
            check(origin, false);
        }
        assert!(own.is_origin(&request(&[])));
    }

    #[test]
    fn a_token_is_one_bearer_of_one_header() {
        assert_eq!(token(&request(&[("authorization", "bearer abc")])), Some("abc"));
        assert_eq!(token(&request(&[("authorization", "Basic abc")])), None);
        assert_eq!(token(&request(&[("authorization", "Bearer a"), ("authorization", "Bearer b")])), None);
    }
}
