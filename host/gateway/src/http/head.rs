//! Does a request mean this server, and what does it show? Pure; reads nothing but the head.

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderName, Request};
use std::net::SocketAddr;

/// The names under which this machine knows itself. Any other name may have been made to lead here.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Whether `Host` is the server's own address. A browser fills it in by itself, so a page cannot lie about it.
pub(super) fn is_for<B>(request: &Request<B>, address: SocketAddr) -> bool {
    let host = one(request, HOST).and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| is_own(&host, address))
        && request.uri().authority().is_none_or(|host| is_own(host, address))
}

/// Whether `Origin`, if there is one, is the server's own.
pub(super) fn is_of<B>(request: &Request<B>, address: SocketAddr) -> bool {
    if !request.headers().contains_key(ORIGIN) {
        return true;
    }
    let origin = one(request, ORIGIN).and_then(|origin| origin.strip_prefix("http://")?.parse::<Authority>().ok());
    origin.is_some_and(|origin| is_own(&origin, address))
}

/// The token that a request shows.
pub(super) fn token<B>(request: &Request<B>) -> Option<&str> {
    let (scheme, token) = one(request, AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn is_own(host: &Authority, address: SocketAddr) -> bool {
    let is_named = OWN_NAMES.iter().any(|name| name.eq_ignore_ascii_case(host.host()));
    is_named && !host.as_str().contains('@') && host.port_u16().unwrap_or(80) == address.port()
}

/// A header that is there once; with two of them nobody knows which one somebody else reads.
fn one<B>(request: &Request<B>, name: HeaderName) -> Option<&str> {
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
        let address: SocketAddr = "127.0.0.1:7357".parse().unwrap();
        let check =
            |host: &str, expect: bool| assert_eq!(is_for(&request(&[("host", host)]), address), expect, "{host}");
        check("127.0.0.1:7357", true);
        check("LOCALHOST:7357", true);
        check("[::1]:7357", true);
        for host in
            ["localhost", "localhost:80", "evil.test:7357", "127.0.0.1.evil.test:7357", "localhost@evil.test:7357", ""]
        {
            check(host, false);
        }
        assert!(!is_for(&request(&[]), address));
        assert!(!is_for(&request(&[("host", "localhost:7357"), ("host", "evil.test")]), address));
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        let address: SocketAddr = "127.0.0.1:7357".parse().unwrap();
        let check = |origin: &str, expect: bool| {
            assert_eq!(is_of(&request(&[("origin", origin)]), address), expect, "{origin}")
        };
        check("http://localhost:7357", true);
        for origin in ["null", "http://localhost:3000", "https://localhost:7357", "http://evil.test", "file://"] {
            check(origin, false);
        }
        assert!(is_of(&request(&[]), address));
    }

    #[test]
    fn a_token_is_one_bearer_of_one_header() {
        assert_eq!(token(&request(&[("authorization", "bearer abc")])), Some("abc"));
        assert_eq!(token(&request(&[("authorization", "Basic abc")])), None);
        assert_eq!(token(&request(&[("authorization", "Bearer a"), ("authorization", "Bearer b")])), None);
    }
}
