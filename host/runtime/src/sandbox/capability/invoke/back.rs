//! How does a server make calls on behalf of the call that it works for? While its request runs, it has a token for the
//! runtime's own address; what it calls with it is a call within that call, of the tools that the operator granted the
//! server. Only digests of tokens are kept, in memory, and each is gone with its request. Must not dispatch anything.

use super::{Invoker, Invokes, Reason};
use crate::call::{Caller, Digest};
use crate::envelope::{Envelope, Metadata};
use crate::error::{Error, Kind, Step};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// What each token begins with; `result/secret/rules.toml` knows it, too.
const PREFIX: &str = "hermes_call_";
/// Where in a request's `_meta` a server finds what it calls back with.
pub(crate) const META: &str = "hermes/call-back";
/// What stands where a token came back.
const MASKED: &str = "[token of the call]";

/// The tokens that count, and where they are shown. Lifetime: the runtime.
#[derive(Default)]
pub(crate) struct CallBacks(Mutex<Known>);

#[derive(Default)]
struct Known {
    address: Option<String>,
    live: HashMap<Digest, CallBack>,
}

/// What a token stands for: calls within one call, as long as that waits for the server.
#[derive(Clone)]
pub struct CallBack {
    invokes: Arc<Invokes>,
    caller: Arc<Caller>,
    session: Arc<str>,
    ended: CancellationToken,
}

/// Who works for whom, for one request.
#[derive(Clone)]
pub(crate) struct OnBehalf {
    pub(crate) caller: Arc<Caller>,
    pub(crate) session: Arc<str>,
    pub(crate) invoker: Option<Invoker>,
}

/// One token. Dropping it ends what it stands for.
pub(crate) struct Pass {
    calls_back: Arc<CallBacks>,
    digest: Digest,
    token: String,
    address: String,
    tools: Arc<BTreeSet<String>>,
    ended: CancellationToken,
}

impl CallBacks {
    /// Where the protocol is spoken from now on, for those that call back.
    pub(crate) fn at(&self, address: String) {
        self.lock().address = Some(address);
    }

    /// What a token stands for; nothing for one that counts no more, or never did.
    pub(crate) fn find(&self, token: &str) -> Option<CallBack> {
        token.starts_with(PREFIX).then(|| self.lock().live.get(&Digest::of(token.as_bytes())).cloned()).flatten()
    }

    /// Makes a token for one request. None where there is nowhere to call back, or nothing that may be called.
    pub(crate) fn issue(
        self: &Arc<CallBacks>,
        tools: &[String],
        behalf: &OnBehalf,
        until: Instant,
    ) -> Result<Option<Pass>, String> {
        let Some(invoker) = behalf.invoker.clone().filter(|_| !tools.is_empty()) else { return Ok(None) };
        let Some(address) = self.lock().address.clone() else { return Ok(None) };
        let mut bytes = [0; 32];
        let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        if read != Ok(bytes.len()) {
            return Err("the system has no random numbers".into());
        }
        let token = format!("{PREFIX}{}", Digest::from_bytes(bytes).hex());
        let digest = Digest::of(token.as_bytes());
        let tools: Arc<BTreeSet<String>> = Arc::new(tools.iter().cloned().collect());
        let ended = CancellationToken::new();
        let call_back = CallBack {
            invokes: Arc::new(Invokes::new(tools.clone(), Some(invoker), until)),
            caller: behalf.caller.clone(),
            session: behalf.session.clone(),
            ended: ended.clone(),
        };
        self.lock().live.insert(digest, call_back);
        Ok(Some(Pass { calls_back: self.clone(), digest, token, address, tools, ended }))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// What the server is told.
    pub(crate) fn told(&self) -> Value {
        json!({ "url": self.address, "token": self.token, "tools": self.tools })
    }

    /// A text of the server without the token.
    pub(crate) fn mask(&self, text: String) -> String {
        // Hexadecimal digits are the same text in other letters.
        match text.to_ascii_lowercase().contains(&self.token) {
            false => text,
            true => masked(&text, &self.token),
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.calls_back.lock().live.remove(&self.digest);
        self.ended.cancel();
    }
}

/// The text with each occurrence replaced, in letters of either size.
fn masked(text: &str, token: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (at, _) in lower.match_indices(token) {
        out.push_str(&text[from..at]);
        out.push_str(MASKED);
        from = at + token.len();
    }
    out.push_str(&text[from..]);
    out
}

/// Takes every such token out of a text that is written to a log, whosever it is.
pub(crate) fn without_tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.to_ascii_lowercase().find(PREFIX) {
        let end = rest[at + PREFIX.len()..].find(|c: char| !c.is_ascii_hexdigit());
        out.push_str(&rest[..at]);
        out.push_str(MASKED);
        rest = end.map_or("", |end| &rest[at + PREFIX.len() + end..]);
    }
    out.push_str(rest);
    out
}

impl CallBack {
    /// For whom the call around is made.
    pub fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// In which of its sessions.
    pub fn session(&self) -> &Arc<str> {
        &self.session
    }

    /// The tools that may be called, as far as the caller itself may call them.
    pub fn tools(&self) -> &BTreeSet<String> {
        self.invokes.granted()
    }

    /// Cancelled when the token counts no more.
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// Makes a call within the call around: with its caller and circumstances, with what is left of its time, and as one
    /// that comes from outside. Dropping the future gives up waiting; the call ends with the call around.
    pub async fn call(&self, tool: &str, args: String) -> Envelope {
        // Who asks has stopped being asked.
        let late = || refused(Kind::Timeout, "the call that this one would be within is over".into());
        let asking = self.invokes.call(tool.to_owned(), args, true);
        let answered = tokio::select! {
            biased;
            () = self.ended.cancelled() => return late(),
            answered = asking => answered,
        };
        answered.unwrap_or_else(|failure| {
            let kind = match failure.reason {
                Reason::NotGranted | Reason::TooDeep | Reason::TooMany => Kind::Denied,
                Reason::TimedOut => Kind::Timeout,
            };
            refused(kind, failure.message)
        })
    }
}

fn refused(kind: Kind, message: String) -> Envelope {
    Envelope::error(Error::new(Step::Permission, kind, message), Value::Null, Metadata::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_out_of_whatever_is_said() {
        let token = format!("{PREFIX}{}", "0a".repeat(32));
        for text in [token.clone(), format!("x{token}y ä {token}"), token.to_ascii_uppercase()] {
            assert!(!masked(&text, &token).to_ascii_lowercase().contains(&token), "{text}");
            assert!(!without_tokens(&text).to_ascii_lowercase().contains(&token[..20]), "{text}");
        }
        assert_eq!(without_tokens("ä nothing"), "ä nothing");
        assert_eq!(masked("Ä x", &token), "Ä x");
    }
}
