//! Which host does a URL lead to, and is it one that nobody outside this machine's network has? Pure; resolves nothing,
//! so a name that stands for a private address is the business of whoever dials it.

use super::Target;
use crate::address::Host;
use url::Url;

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
    let Some(host) = url.host_str() else { return Target::ForbiddenUrl(shown(&url)) };
    if !SCHEMES.contains(&url.scheme()) {
        return Target::ForbiddenUrl(shown(&url));
    }
    // What is no host that can be looked up is none of everybody's.
    let private = Host::parse(host).is_none_or(|host| host.is_private());
    Target::Url { host: host.to_owned(), port: url.port_or_known_default(), private, text: shown(&url) }
}

fn shown(url: &Url) -> String {
    url.to_string()
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
