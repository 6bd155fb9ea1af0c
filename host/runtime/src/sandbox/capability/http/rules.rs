//! May this adapter send such a request there? What the configuration grants, with the reason of a no. Pure.

use crate::outbound::{Destination, HttpSettings};

/// What a request may do once it was let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Whether the host's address may be a private one.
    pub(crate) private: bool,
}

/// What is known of a request before it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) adapter: &'a str,
    /// Whether the call may change something.
    pub(crate) writable: bool,
    pub(crate) method: &'a str,
    pub(crate) destination: &'a Destination,
}

/// Judges a request. The text says what is missing, for the call's log.
pub(crate) fn judge(settings: &HttpSettings, asked: Asked<'_>) -> Result<Allowed, String> {
    let Asked { adapter, writable, method, destination } = asked;
    if !writable && !is_safe(method) {
        return Err(format!("{method} may change something, and this call only reads"));
    }
    let mine = |names: &[String]| names.is_empty() || names.iter().any(|name| name == adapter);
    let there = settings.grants.iter().filter(|grant| grant.origin.covers(destination) && mine(&grant.adapters));
    let mut methods = Vec::new();
    let mut allowed = None;
    for grant in there {
        match grant.methods.is_empty() || grant.methods.iter().any(|granted| granted == method) {
            true => {
                allowed =
                    Some(Allowed { private: allowed.is_some_and(|other: Allowed| other.private) || grant.private })
            }
            false => methods.extend(&grant.methods),
        }
    }
    if let Some(allowed) = allowed {
        return Ok(allowed);
    }
    if !methods.is_empty() {
        let methods: Vec<&str> = methods.into_iter().map(String::as_str).collect();
        return Err(format!("{destination} is granted for {} alone", methods.join(", ")));
    }
    match settings.public.unwrap_or(settings.grants.is_empty()) {
        true => Ok(Allowed { private: false }),
        false => Err(format!("{destination} is not among the hosts that are granted to `{adapter}`")),
    }
}

/// The methods that ask for nothing to be changed (RFC 9110, 9.2.1). TRACE, the fourth, would show credentials.
fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::Scheme;

    fn ask(settings: &str, method: &str, host: &str, writable: bool) -> Result<bool, String> {
        let settings: HttpSettings = toml::from_str(settings).unwrap();
        let destination = Destination { scheme: Scheme::Https, host: host.into(), port: 443 };
        let asked = Asked { adapter: "a", writable, method, destination: &destination };
        judge(&settings, asked).map(|allowed| allowed.private)
    }

    #[test]
    fn grants_narrow_public_hosts_and_alone_allow_private_ones() {
        assert_eq!(ask("", "GET", "x.test", false), Ok(false));
        let one = "grants = [{ origin = 'https://api.test', methods = ['GET'], private = true }]";
        assert_eq!(ask(one, "GET", "api.test", false), Ok(true));
        assert!(ask(one, "POST", "api.test", true).unwrap_err().contains("GET alone"));
        assert!(ask(one, "GET", "x.test", true).unwrap_err().contains("not among"));
        assert_eq!(ask(&format!("public = true\n{one}"), "GET", "x.test", true), Ok(false));
        assert!(ask("public = false", "GET", "x.test", true).is_err());
        assert!(ask("grants = [{ origin = 'https://api.test', adapters = ['b'] }]", "GET", "api.test", true).is_err());
    }

    #[test]
    fn a_call_that_reads_sends_what_reads() {
        for (method, safe) in
            [("GET", true), ("HEAD", true), ("POST", false), ("DELETE", false), ("get", false), ("TRACE", false)]
        {
            assert_eq!(ask("", method, "x.test", false).is_ok(), safe, "{method}");
            assert!(ask("", method, "x.test", true).is_ok());
        }
    }
}
