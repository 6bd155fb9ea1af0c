//! How does a question reach people elsewhere, and how does their answer come back? Each question that waits is posted once,
//! signed, to the one address that the operator's configuration names; an answer counts only if it is signed with the same
//! key, for just that question, within its time. Everything else is no answer: the question stays for the other channels.
//!
//! Signed is HMAC-SHA256 over `question.` or `answer.`, the time in seconds, a dot and the body, in hexadecimal digits, in
//! the headers `hermes-signature` and `hermes-timestamp`. The answer's body is
//! `{"id", "args_digest", "decision": "approve" or "deny", "reason"?}`, with id and digest of the question.

use hermes_runtime::asking::WebhookSettings;
use hermes_runtime::error::Kind;
use hermes_runtime::journal::Journal;
use hermes_runtime::permission::approval::desk;
use hermes_runtime::permission::approval::store::{Parked, Scope, Verdict};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How often it is looked for new questions.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Questions that are looked at.
const LISTED: u32 = 1000;
/// Questions that are out at once; further ones wait.
const AT_ONCE: usize = 32;
/// How long it may take until somebody is there.
const REACHING: Duration = Duration::from_secs(10);
/// Largest answer, in bytes.
const ANSWER: usize = 64 << 10;
/// Longest reason, in characters.
const REASON: usize = 1000;
/// Shortest key, in bytes.
const KEY: usize = 32;
/// How old or how far ahead an answer's time may be, in seconds.
const SKEW: u64 = 300;
const SIGNATURE: &str = "hermes-signature";
const TIMESTAMP: &str = "hermes-timestamp";

/// Where questions go, and what signs them. Lifetime: the process.
#[derive(Clone)]
pub struct Webhook {
    client: reqwest::Client,
    url: url::Url,
    key: Hmac<Sha256>,
    deadline: Duration,
}

/// Why there can be no webhook.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// Anybody could guess it.
    #[error("its key is shorter than 32 bytes")]
    ShortKey,
    /// Nothing can be posted.
    #[error("{0}")]
    Unusable(String),
}

/// A question as it is posted.
#[derive(Serialize)]
struct Question<'a> {
    id: &'a str,
    tool: &'a str,
    description: &'a str,
    caller: &'a str,
    role: &'a str,
    situation: &'a str,
    session: &'a str,
    arguments: &'a str,
    args_digest: String,
    targets: &'a [String],
    effect: &'a [String],
    why: &'a str,
    risk: u8,
    factors: &'a [String],
    similar: &'a [String],
    expires_ms: u64,
}

/// An answer as it comes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    id: String,
    args_digest: String,
    decision: Decision,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    Deny,
}

impl Webhook {
    /// Makes the channel ready; nobody is reached yet. `key` is what the key's file holds.
    ///
    /// # Errors
    /// If the key is too short or no connection can ever be made.
    pub fn new(settings: &WebhookSettings, key: &[u8]) -> Result<Webhook, WebhookError> {
        let key = key.trim_ascii();
        if key.len() < KEY {
            return Err(WebhookError::ShortKey);
        }
        let unusable = |error: &dyn std::fmt::Display| WebhookError::Unusable(error.to_string());
        let mut roots = rustls::RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(REACHING)
            .build()
            .map_err(|error| unusable(&error))?;
        Ok(Webhook {
            client,
            url: url::Url::parse(&settings.url).map_err(|error| unusable(&error))?,
            key: Hmac::new_from_slice(key).map_err(|error| unusable(&error))?,
            deadline: Duration::from_secs(settings.deadline_seconds),
        })
    }

    /// Posts each question of a journal once and takes the answers, until `stop` is cancelled. Dropping the future lets go
    /// of what is out.
    pub async fn serve(self, journal: &Arc<Journal>, redeem_s: u64, stop: CancellationToken) {
        let (mut known, mut out) = (HashSet::new(), JoinSet::new());
        let places = Arc::new(Semaphore::new(AT_ONCE));
        while !stop.is_cancelled() {
            let waiting = desk::list(journal, false, LISTED).await.unwrap_or_default();
            known.retain(|id: &String| waiting.iter().any(|parked| parked.id == *id));
            for parked in waiting {
                if known.insert(parked.id.clone()) {
                    let (webhook, journal, places) = (self.clone(), journal.clone(), places.clone());
                    out.spawn(async move {
                        let Ok(_place) = places.acquire_owned().await else { return };
                        webhook.ask(&journal, &parked, redeem_s).await;
                    });
                }
            }
            while out.try_join_next().is_some() {}
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn ask(&self, journal: &Journal, parked: &Parked, redeem_s: u64) {
        let left = Duration::from_millis(parked.expires_ms.saturating_sub(crate::now_ms()));
        let answer = match tokio::time::timeout(self.deadline.min(left), self.post(parked)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => return tracing::warn!(approval = parked.id, why, "the webhook gave no answer that counts"),
            Err(_) => return tracing::warn!(approval = parked.id, "the webhook did not answer in time"),
        };
        let verdict = match answer.decision {
            Decision::Approve => Verdict::Approve(Scope::Once),
            Decision::Deny => {
                Verdict::Deny { reason: answer.reason.map(|reason| reason.chars().take(REASON).collect()) }
            }
        };
        let by = format!("webhook {}", self.url.host_str().unwrap_or_default());
        match desk::decide(journal, parked, verdict, &by, redeem_s).await {
            Ok(()) => {}
            Err(error) if error.kind == Kind::Conflict => {
                tracing::info!(approval = parked.id, "somebody else was first")
            }
            Err(error) => tracing::error!(%error, "an answer of the webhook cannot be written down"),
        }
    }

    /// Posts a question and reads the answer; whatever is not signed for it is none.
    async fn post(&self, parked: &Parked) -> Result<Answer, String> {
        let body = serde_json::to_vec(&question(parked)).map_err(|error| error.to_string())?;
        let now = crate::now_ms() / 1000;
        let posted = self
            .client
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header(TIMESTAMP, now)
            .header(SIGNATURE, sign(&self.key, "question", now, &body))
            .body(body)
            .send();
        let mut answer = posted.await.map_err(|_| "nobody is reached at its address".to_owned())?;
        if answer.status() != reqwest::StatusCode::OK {
            return Err(format!("it answers {}", answer.status().as_u16()));
        }
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (signature, time) = (header(SIGNATURE), header(TIMESTAMP).and_then(|time| time.parse::<u64>().ok()));
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|_| "its answer ends early".to_owned())? {
            bytes.extend_from_slice(&part);
            if bytes.len() > ANSWER {
                return Err("its answer is too long".into());
            }
        }
        let (Some(signature), Some(time)) = (signature, time) else { return Err("its answer is not signed".into()) };
        if time.abs_diff(crate::now_ms() / 1000) > SKEW {
            return Err("its answer is of another time".into());
        }
        read(&self.key, parked, (&signature, time), &bytes)
    }
}

/// Reads an answer that has to be signed, and for just this question.
fn read(key: &Hmac<Sha256>, parked: &Parked, (signature, time): (&str, u64), body: &[u8]) -> Result<Answer, String> {
    if !is_signed(key, "answer", time, body, signature) {
        return Err("its answer is not signed with the key".into());
    }
    let answer: Answer = serde_json::from_slice(body).map_err(|error| format!("its answer cannot be read: {error}"))?;
    match answer.id == parked.id && answer.args_digest == parked.request.args_digest.to_string() {
        true => Ok(answer),
        false => Err("its answer is for another question".into()),
    }
}

fn question(parked: &Parked) -> Question<'_> {
    let request = &parked.request;
    Question {
        id: &parked.id,
        tool: &request.tool,
        description: &request.description,
        caller: &request.caller,
        role: &request.role,
        situation: &request.situation,
        session: &parked.session,
        arguments: &request.args,
        args_digest: request.args_digest.to_string(),
        targets: &request.targets,
        effect: &request.effect,
        why: &request.why,
        risk: request.risk,
        factors: &request.factors,
        similar: &request.similar,
        expires_ms: parked.expires_ms,
    }
}

fn over(key: &Hmac<Sha256>, what: &str, time: u64, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(format!("{what}.{time}.").as_bytes());
    mac.update(body);
    mac
}

fn sign(key: &Hmac<Sha256>, what: &str, time: u64, body: &[u8]) -> String {
    let signature = over(key, what, time, body).finalize().into_bytes();
    signature.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compared in a time that says nothing about how much of it is right.
fn is_signed(key: &Hmac<Sha256>, what: &str, time: u64, body: &[u8], signature: &str) -> bool {
    let byte = |at: usize| u8::from_str_radix(signature.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..signature.len()).step_by(2).map(byte).collect();
    bytes.is_some_and(|bytes| over(key, what, time, body).verify_slice(&bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_for_one_direction_time_and_body() {
        let key = Hmac::<Sha256>::new_from_slice(&[7; 32]).unwrap();
        let signature = sign(&key, "answer", 5, b"yes");
        assert!(is_signed(&key, "answer", 5, b"yes", &signature));
        assert!(!is_signed(&key, "question", 5, b"yes", &signature));
        assert!(!is_signed(&key, "answer", 6, b"yes", &signature));
        assert!(!is_signed(&key, "answer", 5, b"no", &signature));
        assert!(!is_signed(&Hmac::new_from_slice(&[8; 32]).unwrap(), "answer", 5, b"yes", &signature));
        for wrong in ["", "0", "zz", "ä", &signature[2..]] {
            assert!(!is_signed(&key, "answer", 5, b"yes", wrong), "{wrong}");
        }
    }
}
