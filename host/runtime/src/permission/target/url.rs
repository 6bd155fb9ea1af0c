//! Which host does a URL lead to, and is it one that nobody outside this machine's network has? Pure; resolves nothing,
//! so a name that stands for a private address is the business of whoever dials it.

use super::Target;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Schemes that lead to a host on the network. Others read files, run scripts or start programs.
const SCHEMES: &[&str] = &["http", "https", "ws", "wss"];

/// Reads a URL.
pub(super) fn read(text: &str) -> Target {
    let unreadable = |why: &str| Target::Unreadable(format!("a URL that {why}"));
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || crate::document::is_deceptive(c)) {
        return unreadable("has characters which are left out when it is used");
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return unreadable(&format!("cannot be read: {error}")),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return unreadable("has a name or a password before its host");
    }
    let Some(host) = url.host() else { return Target::ForbiddenUrl(shown(&url)) };
    if !SCHEMES.contains(&url.scheme()) {
        return Target::ForbiddenUrl(shown(&url));
    }
    let private = match &host {
        Host::Ipv4(address) => is_private(IpAddr::V4(*address)),
        Host::Ipv6(address) => is_private(IpAddr::V6(*address)),
        Host::Domain(name) => is_local_name(name),
    };
    Target::Url { host: host.to_string(), port: url.port_or_known_default(), private, text: shown(&url) }
}

fn shown(url: &Url) -> String {
    url.to_string()
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let ends = |word: &str| name == word || name.strip_suffix(word).is_some_and(|rest| rest.ends_with('.'));
    ["localhost", "local", "internal", "localdomain", "home.arpa"].iter().any(|word| ends(word)) || !name.contains('.')
}

/// Whether an address is not one of the public internet.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // An old address in a new one leads where the old one leads.
    let embedded = match segments {
        [0, 0, 0, 0, 0, 0xffff, a, b] | [0, 0, 0, 0, 0, 0, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => Some((a, b)),
        [0x2002, a, b, ..] => Some((a, b)),
        _ => None,
    };
    let embedded = embedded.map(|(a, b)| Ipv4Addr::from((u32::from(a) << 16) | u32::from(b)));
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || segments[0] & 0xfe00 == 0xfc00
        || segments[0] & 0xffc0 == 0xfe80
        || segments[0] & 0xffc0 == 0xfec0
        || (segments[0] == 0x2001 && segments[1] == 0xdb8)
        || embedded.is_some_and(is_private_v4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_told_by_where_it_leads() {
        let public = |text: &str, wanted: &str| match read(text) {
            Target::Url { host, private: false, .. } => assert_eq!(host, wanted, "{text}"),
            other => panic!("{text}: {other:?}"),
        };
        public("https://example.org/a?b", "example.org");
        public("HTTPS://EXAMPLE.org:8443/", "example.org");
        public("http://93.184.216.34/", "93.184.216.34");
        public("http://example.org\\@evil.org/", "example.org");
        public("https://ex\u{e4}mple.org/", "xn--exmple-cua.org");
    }

    #[test]
    fn every_spelling_of_a_private_host_is_one() {
        for text in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://127.1/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://10.0.0.8/",
            "http://192.168.1.1/",
            "http://172.16.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://100.64.0.1/",
            "http://0.0.0.0/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a00:1]/",
            "http://[64:ff9b::a00:1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://intranet/",
            "http://\u{ff11}27.0.0.1/",
        ] {
            assert!(matches!(read(text), Target::Url { private: true, .. }), "{text}: {:?}", read(text));
        }
    }

    #[test]
    fn what_leads_to_no_host_is_forbidden_and_what_deceives_is_unreadable() {
        for text in ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://example.org/"] {
            assert!(matches!(read(text), Target::ForbiddenUrl(_)), "{text}");
        }
        for text in ["example.org", "", "https://", "http://a\u{0}b/", "https://user@host.org/", "http://a\tb.org/"] {
            assert!(matches!(read(text), Target::Unreadable(_)), "{text}: {:?}", read(text));
        }
    }
}
