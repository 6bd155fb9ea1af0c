//! What does a form say? Its fields, read within a size and a time, and what they decide. Must not know about whom.

use crate::http::{Answer, refuse};
use hermes_runtime::permission::approval::store::{Scope, Verdict};
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use std::time::Duration;

/// Largest form, in bytes.
const LONGEST: usize = 16 << 10;
/// How long a form may take.
const TIME: Duration = Duration::from_secs(10);
/// Longest reason, in characters.
const REASON: usize = 1000;
/// Longest standing yes, in minutes: thirty days.
const MINUTES: u64 = 43_200;

/// The fields of a form.
#[derive(Debug, Default)]
pub(super) struct Form(Vec<(String, String)>);

/// What a person says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// About a request that waits.
    Verdict(Verdict),
    /// That what was said counts no more.
    TakeBack,
}

impl Form {
    pub(super) async fn read(head: &Request<()>, body: Incoming) -> Result<Form, Box<Answer>> {
        let kind = head.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "this takes forms only"));
        }
        match tokio::time::timeout(TIME, Limited::new(body, LONGEST).collect()).await {
            Ok(Ok(body)) => Ok(Form::parse(&body.to_bytes())),
            Ok(Err(_)) => Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "the form is too long or ends too early")),
            Err(_) => Err(refuse(StatusCode::REQUEST_TIMEOUT, "the form takes too long")),
        }
    }

    fn parse(bytes: &[u8]) -> Form {
        let pairs = url::form_urlencoded::parse(bytes);
        Form(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// A field that is there once.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    /// What the form decides, or what is wrong with it.
    pub(super) fn decision(&self, now_ms: u64) -> Result<Decision, &'static str> {
        let approve = |scope| Ok(Decision::Verdict(Verdict::Approve(scope)));
        match self.get("say") {
            Some("once") => approve(Scope::Once),
            Some("session") => approve(Scope::Session),
            Some("until") => {
                let minutes = self.get("minutes").and_then(|minutes| minutes.trim().parse::<u64>().ok());
                let minutes = minutes.filter(|minutes| (1..=MINUTES).contains(minutes));
                let minutes = minutes.ok_or("say for how many minutes, 1 to 43200")?;
                approve(Scope::Until(now_ms.saturating_add(minutes * 60_000)))
            }
            Some("deny") => {
                let reason = self.get("reason").unwrap_or_default().trim();
                if reason.chars().count() > REASON {
                    return Err("the reason is longer than 1000 characters");
                }
                let reason = (!reason.is_empty()).then(|| reason.to_owned());
                Ok(Decision::Verdict(Verdict::Deny { reason }))
            }
            Some("take back") => Ok(Decision::TakeBack),
            Some(_) | None => Err("the form says neither yes nor no"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Result<Decision, &'static str> {
        Form::parse(text.as_bytes()).decision(1000)
    }

    #[test]
    fn only_what_is_said_plainly_and_once_decides() {
        let yes = |scope| Ok(Decision::Verdict(Verdict::Approve(scope)));
        assert_eq!(said("say=once"), yes(Scope::Once));
        assert_eq!(said("say=session&minutes=5"), yes(Scope::Session));
        assert_eq!(said("say=until&minutes=5"), yes(Scope::Until(301_000)));
        let no = |reason: Option<&str>| Ok(Decision::Verdict(Verdict::Deny { reason: reason.map(str::to_owned) }));
        assert_eq!(said("say=deny&reason=not+%26+never"), no(Some("not & never")));
        assert_eq!(said("say=deny&reason=+"), no(None));
        for wrong in ["", "say=yes", "say=once&say=deny", "say=until", "say=until&minutes=0", "say=until&minutes=99999"]
        {
            assert!(said(wrong).is_err(), "{wrong}");
        }
        assert!(said(&format!("say=deny&reason={}", "x".repeat(1001))).is_err());
    }
}
