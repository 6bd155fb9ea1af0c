//! Which hosts may requests of tools reach, and which credentials go along? The settings, parsed. Must not send anything.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// What `[http]` of the configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSettings {
    /// Whether any host with a public address may be reached. Without a word, only where no grant is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public: Option<bool>,
    /// Hosts that may be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<HttpGrant>,
    /// Most bytes of one answer; 16 MiB if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u64>,
    /// Files with further certificates of authorities, in PEM, for servers of one's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorities: Vec<PathBuf>,
}

/// One host that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpGrant {
    /// Which one.
    pub origin: OriginPattern,
    /// With which methods; all, if none is listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// By which adapters; all, if none is listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adapters: Vec<String>,
    /// Whether its address may be this machine's or one of a private network.
    #[serde(default)]
    pub private: bool,
}

/// Where a secret comes from and where it may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretSettings {
    /// A file whose content it is, without the line break at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// A variable of the runtime's environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// A program that prints it: the one of a credential store, such as `["pass", "show", "api"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// A name in the folder of credentials that the system's service manager hands over (`$CREDENTIALS_DIRECTORY`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// The adapters that may use it. Nobody else does.
    pub adapters: Vec<String>,
    /// The only places to which it is sent.
    pub origins: Vec<OriginPattern>,
    /// A header that gets it in every request to one of the origins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What stands in the header; `{secret}` is replaced. `Bearer {secret}` for `authorization`, else the secret alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The user's name, if the secret is the password of HTTP's basic authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_user: Option<String>,
    /// A parameter of the query that gets it in every request to one of the origins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// How a connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Not at all.
    Http,
    /// By TLS.
    Https,
}

impl Scheme {
    /// The scheme by its name in a URL.
    pub fn parse(name: &str) -> Option<Scheme> {
        match name {
            "http" => Some(Scheme::Http),
            "https" => Some(Scheme::Https),
            _ => None,
        }
    }

    /// Its name in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port of an address without one.
    pub fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// How it is secured.
    pub scheme: Scheme,
    /// The host in lower case, without a dot at its end and without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Destination {
    /// Where a URL with this scheme and authority leads.
    ///
    /// # Errors
    /// Why it leads nowhere, or nowhere unmistakably.
    pub fn of(scheme: &str, authority: &str) -> Result<Destination, String> {
        let scheme = Scheme::parse(scheme).ok_or("the URL's scheme is not http or https")?;
        if authority.contains('@') {
            return Err("the URL has a user, which could pass for its host".into());
        }
        let (host, port) = split_port(authority).ok_or("the URL's port is no number")?;
        let host = normal_host(host);
        match host.is_empty() {
            true => Err("the URL has no host".into()),
            false => Ok(Destination { scheme, host, port: port.unwrap_or(scheme.port()) }),
        }
    }
}

impl HttpSettings {
    /// Whether an adapter may reach a URL although its host is one of this machine or a private network.
    pub fn grants_private(&self, adapter: &str, url: &str) -> bool {
        let Some((scheme, rest)) = url.split_once("://") else { return false };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let Ok(destination) = Destination::of(scheme, authority) else { return false };
        let mine = |grant: &HttpGrant| grant.adapters.is_empty() || grant.adapters.iter().any(|name| name == adapter);
        self.grants.iter().any(|grant| grant.private && grant.origin.covers(&destination) && mine(grant))
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match self.port == self.scheme.port() {
            true => write!(f, "{}://{host}", self.scheme.name()),
            false => write!(f, "{}://{host}:{}", self.scheme.name(), self.port),
        }
    }
}

/// A destination, or all beneath a domain: `https://api.example.com`, `http://127.0.0.1:8080`, `https://*.example.com`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OriginPattern {
    destination: Destination,
    beneath: bool,
}

impl OriginPattern {
    /// Whether a destination is meant.
    pub fn covers(&self, destination: &Destination) -> bool {
        let own = &self.destination;
        let host = match self.beneath {
            // At least one label more; `*.example.com` is not `example.com`.
            true => destination.host.strip_suffix(&own.host).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            false => destination.host == own.host,
        };
        host && destination.scheme == own.scheme && destination.port == own.port
    }
}

impl TryFrom<String> for OriginPattern {
    type Error = String;

    fn try_from(text: String) -> Result<OriginPattern, String> {
        let wrong = |why: &str| format!("`{}` is no origin: {why}", crate::document::printable(&text));
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("it has the form scheme://host[:port]"))?;
        let scheme = Scheme::parse(scheme).ok_or_else(|| wrong("the scheme is http or https"))?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (beneath, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let (host, port) = split_port(rest).ok_or_else(|| wrong("the port is no number"))?;
        let host = normal_host(host);
        let is_address = host.parse::<core::net::IpAddr>().is_ok();
        let is_name = !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
            && host.split('.').all(|label| !label.is_empty());
        if !is_address && !is_name {
            return Err(wrong("the host is a name in ASCII or an address, without path and user"));
        }
        if beneath && (is_address || !host.contains('.')) {
            return Err(wrong("`*.` stands before a domain with a dot"));
        }
        let port = port.unwrap_or(scheme.port());
        Ok(OriginPattern { destination: Destination { scheme, host, port }, beneath })
    }
}

impl From<OriginPattern> for String {
    fn from(pattern: OriginPattern) -> String {
        let text = pattern.destination.to_string();
        if pattern.beneath { text.replacen("://", "://*.", 1) } else { text }
    }
}

/// Host and port of an authority; `None` for a port that is none.
pub fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_address = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_address..].rfind(':') {
        Some(at) => {
            let (host, port) = authority.split_at(after_address + at);
            let digits = &port[1..];
            let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten().map(|port| (host, Some(port)))
        }
        None => Some((authority, None)),
    }
}

/// A host in its one form: lower case, no dot at the end, no brackets.
pub fn normal_host(host: &str) -> String {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(url: &str) -> Destination {
        OriginPattern::try_from(url.to_owned()).unwrap().destination
    }

    #[test]
    fn a_pattern_covers_its_own_scheme_host_and_port_alone() {
        let check = |pattern: &str, url: &str, covers: bool| {
            let pattern = OriginPattern::try_from(pattern.to_owned()).unwrap();
            assert_eq!(pattern.covers(&destination(url)), covers, "{pattern:?} {url}");
        };
        check("https://api.example.com", "https://API.example.com.:443/", true);
        check("https://api.example.com", "http://api.example.com", false);
        check("https://api.example.com", "https://api.example.com:8443", false);
        check("https://api.example.com", "https://evil-api.example.com", false);
        check("https://*.example.com", "https://a.b.example.com", true);
        check("https://*.example.com", "https://example.com", false);
        check("https://*.example.com", "https://evilexample.com", false);
        check("http://[::1]:8080", "http://[::1]:8080", true);
        check("http://127.0.0.1", "http://127.0.0.1:81", false);
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in [
            "example.com",
            "ftp://a.b",
            "https://a.b/path",
            "https://u@a.b",
            "https://a.b:x",
            "https://a.b:99999",
            "https://",
            "https://*.com",
            "https://a..b",
            "https://*.1.2.3.4",
            "https://exämple.com",
            "https://a.b:+80",
        ] {
            assert!(OriginPattern::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
