//! Which channels to people has the operator set, beside those that are always there? Only their own configuration says so;
//! a project's file may not. Must not ask anybody.

use crate::document::{Fault, printable};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Somewhere that questions are sent to, and whose signed answers count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// Where questions are posted: `https`, or `http` on this machine.
    pub url: String,
    /// The file with the key that signs questions and answers, its owner's alone, 32 bytes or more.
    pub key_file: PathBuf,
    /// How long an answer to one question may take, in seconds.
    #[serde(default = "deadline")]
    pub deadline_seconds: u64,
}

fn deadline() -> u64 {
    300
}

impl WebhookSettings {
    /// What cannot be right, whoever listens there.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |why: String, hint: &str| {
            let message = format!("`[approval.webhook]`: {why}");
            faults.push(Fault::whole(Path::new("configuration"), message).hint(hint));
        };
        let url = url::Url::parse(&self.url).ok();
        let is_own = |url: &url::Url| match url.host() {
            Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if !url.is_some_and(|url| url.scheme() == "https" || (url.scheme() == "http" && is_own(&url))) {
            let why = format!("`{}` is no address that questions may go to", printable(&self.url));
            fault(why, "an address begins with https://, or http:// on this machine itself");
        }
        if !(1..=3600).contains(&self.deadline_seconds) {
            fault("`deadline_seconds` is not between 1 and 3600".into(), "300 is usual");
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_go_encrypted_or_to_this_machine() {
        let faults = |url: &str, deadline_seconds| {
            WebhookSettings { url: url.into(), key_file: "k".into(), deadline_seconds }.faults().len()
        };
        for url in ["https://a.example/x", "http://127.0.0.1:1/x", "http://localhost/", "http://[::1]:9/"] {
            assert_eq!(faults(url, 10), 0, "{url}");
        }
        for url in ["http://a.example/x", "http://127.0.0.1.a.example/", "file:///x", "", "ftp://127.0.0.1/"] {
            assert_eq!(faults(url, 10), 1, "{url}");
        }
        assert_eq!(faults("https://a.example/", 0), 1);
    }
}
