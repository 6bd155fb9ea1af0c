//! What is a call, who makes it and in which circumstances? The values that the steps hand to each other and that
//! belong to none of them. Must not decide anything.

use crate::cancel::Cancel;
use crate::envelope::Repair;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool's name or alias, as the agent wrote it.
    pub tool: String,
    /// The arguments, unchecked.
    pub args: Arguments,
    /// Who calls.
    pub caller: Arc<Caller>,
    /// In which circumstances.
    pub situation: Arc<Situation>,
    /// Which session of the caller it belongs to.
    pub session: Arc<str>,
    /// Where to report progress. Updates are dropped when the channel is full.
    pub progress: Option<tokio::sync::mpsc::Sender<Progress>>,
    /// The component's clock and random numbers, for a test or a replay. Never from an agent.
    pub fixed: Option<Arc<Fixed>>,
    /// The call within which it is made. Only the runtime makes one.
    pub parent: Option<Arc<Parent>>,
    /// Whether whoever makes the call asks a person when one has to decide: it is told so at once, and somebody is there.
    /// Never from an agent.
    pub asks_itself: bool,
    /// How it is told that nobody waits for its answer any more.
    pub cancel: Option<Cancel>,
}

/// Calls within each other, the outermost not counted.
const DEPTH: u8 = 4;
/// Calls within one outermost call.
const FAN_OUT: u32 = 64;

/// The call within which another one is made.
#[derive(Debug)]
pub struct Parent {
    pub(crate) call_id: Arc<str>,
    /// 0 for the outermost.
    depth: u8,
    /// When its attempt is over, and with it all that is within.
    pub(crate) until: Instant,
    /// Whether it may have read something from outside.
    pub(crate) from_outside: bool,
    budget: Arc<Budget>,
}

/// What all calls within one outermost call share.
#[derive(Debug)]
struct Budget {
    calls: AtomicU32,
    fuel: AtomicU64,
}

/// Why no call can be made within another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Nesting {
    #[error("at most {DEPTH} calls may be within each other")]
    TooDeep,
    #[error("at most {FAN_OUT} calls may be made within one")]
    TooMany,
}

impl Nesting {
    pub(crate) fn is_depth(self) -> bool {
        self == Nesting::TooDeep
    }
}

impl Parent {
    /// A call that may make others: its own fuel is what all of them together may use. One that is within another
    /// shares what that one has.
    pub(crate) fn of(call: &Call, call_id: Arc<str>, fuel: u64, from_outside: bool, until: Instant) -> Parent {
        let fresh = || Arc::new(Budget { calls: AtomicU32::new(FAN_OUT), fuel: AtomicU64::new(fuel) });
        let around = call.parent.as_deref();
        Parent {
            call_id,
            depth: around.map_or(0, |around| around.depth),
            until,
            from_outside: from_outside || around.is_some_and(|around| around.from_outside),
            budget: around.map_or_else(fresh, |around| around.budget.clone()),
        }
    }

    /// What a call within this one has, until this one's attempt is over.
    pub(crate) fn within(&self, until: Instant) -> Result<Parent, Nesting> {
        if self.depth >= DEPTH {
            return Err(Nesting::TooDeep);
        }
        let one_less = |calls: u32| calls.checked_sub(1);
        self.budget.calls.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).map_err(|_| Nesting::TooMany)?;
        Ok(Parent {
            call_id: self.call_id.clone(),
            depth: self.depth + 1,
            until: until.min(self.until),
            from_outside: self.from_outside,
            budget: self.budget.clone(),
        })
    }

    /// How much fuel the calls within have left together.
    pub(crate) fn fuel(&self) -> u64 {
        self.budget.fuel.load(Ordering::SeqCst)
    }

    /// Takes what one of them has used.
    pub(crate) fn use_fuel(&self, used: u64) {
        let less = |fuel: u64| Some(fuel.saturating_sub(used));
        let _ = self.budget.fuel.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }
}

/// The clock and the randomness of one call, fixed, so that it runs as it ran before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixed {
    /// What the wall clock shows at first, in milliseconds since 1970-01-01 UTC. Each look moves it on a little.
    pub now_ms: u64,
    /// From which all random numbers follow.
    pub seed: [u8; 32],
}

/// Arguments as they arrived.
#[derive(Clone, Debug)]
pub enum Arguments {
    /// JSON text. It is parsed once, by validation, which also sees what a parser would have hidden: keys given twice,
    /// lone surrogates, depth.
    Json(String),
    /// A value that an embedding program built.
    Value(Value),
}

/// An authenticated agent with its role. Comes from configuration, a token or the embedding program, never from the
/// agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// Who it is, for example `local:1000`. History and limits belong to it.
    pub id: String,
    /// The one role it acts in.
    pub role: String,
}

/// How an agent works at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It looks around.
    #[default]
    Explore,
    /// It follows a workflow.
    Workflow,
}

/// The circumstances of a call. All but the task come from people or configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Situation {
    /// The workflow the caller is in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workflow: Option<String>,
    /// Whether it explores or follows the workflow.
    #[serde(default)]
    pub mode: Mode,
    /// What it is doing this for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub purpose: Option<String>,
    /// What the agent says it is working on. Ranks results; never lowers a risk.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task: Option<String>,
}

/// How far a running call has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// How much is done.
    pub done: u64,
    /// How much there is, if known.
    pub total: Option<u64>,
    /// One line for a person, made printable.
    pub message: Option<String>,
    /// A part of the answer that is there already, as text; the answer has it too. `done` and `total` are what was last
    /// reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub part: Option<String>,
}

/// Checked arguments in canonical form. What permission judges and what the sandbox runs is this one value.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The arguments as a value.
    pub value: Arc<Value>,
    /// The same in canonical JSON (RFC 8785). The component gets exactly these bytes.
    pub canonical: Arc<str>,
    /// Digest of `canonical`.
    pub digest: Digest,
    /// What was changed on the way.
    pub repairs: Arc<[Repair]>,
    /// How long an attempt may take, when the arguments say so.
    pub timeout: Option<Duration>,
}

/// A BLAKE3 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of several parts. Each part's length goes in too, so that no two lists of parts collide.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Digest(*hasher.finalize().as_bytes())
    }

    /// Of nothing: what stands where a digest is still to come.
    pub(crate) const NONE: Digest = Digest([0; 32]);

    /// The 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest from its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Digest> {
        let hash = blake3::Hash::from_hex(text.strip_prefix("blake3:")?).ok()?;
        Some(Digest(*hash.as_bytes()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blake3:{}", blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text).ok_or_else(|| serde::de::Error::custom("not a digest of the form `blake3:…`"))
    }
}

impl Call {
    /// A call by the embedding program's own role; see [`Call::role`].
    pub fn new(tool: impl Into<String>, args: Value) -> Call {
        Call {
            tool: tool.into(),
            args: Arguments::Value(args),
            caller: Arc::new(Caller { id: "embedder".into(), role: String::new() }),
            situation: Arc::default(),
            session: "embedder".into(),
            progress: None,
            fixed: None,
            parent: None,
            asks_itself: false,
            cancel: None,
        }
    }

    /// The same call with a clock and randomness that are fixed.
    pub fn fixed(mut self, fixed: Fixed) -> Call {
        self.fixed = Some(Arc::new(fixed));
        self
    }

    /// The same call in a role. Without one, every tool refuses it.
    pub fn role(mut self, role: impl Into<String>) -> Call {
        self.caller = Arc::new(Caller { id: self.caller.id.clone(), role: role.into() });
        self
    }

    /// The same call by somebody else.
    pub fn caller(mut self, caller: Arc<Caller>) -> Call {
        self.caller = caller;
        self
    }

    /// The same call in other circumstances.
    pub fn situation(mut self, situation: Arc<Situation>) -> Call {
        self.situation = situation;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_within_each_other_share_what_there_is() {
        let far = Instant::now() + Duration::from_secs(60);
        let outer = Parent::of(&Call::new("a", Value::Null), "1".into(), 100, false, far);
        let mut inner = outer.within(far).unwrap();
        for _ in 1..DEPTH {
            let call = Call { parent: Some(Arc::new(inner)), ..Call::new("b", Value::Null) };
            inner = Parent::of(&call, "2".into(), 1_000_000, false, far).within(far).unwrap();
        }
        assert_eq!(inner.within(far).unwrap_err(), Nesting::TooDeep);
        inner.use_fuel(30);
        assert_eq!(outer.fuel(), 70, "the innermost call's fuel is the outermost one's");
        let made = (0..).take_while(|_| outer.within(far).is_ok()).count();
        assert_eq!(made as u32, FAN_OUT - u32::from(DEPTH));
        assert_eq!(outer.within(far).unwrap_err(), Nesting::TooMany);
    }

    #[test]
    fn parts_that_only_differ_in_where_they_are_split_have_different_digests() {
        let one = Digest::of_parts([b"ab".as_slice(), b"c"]);
        let two = Digest::of_parts([b"a".as_slice(), b"bc"]);
        assert_ne!(one, two);
        assert_eq!(Digest::parse(&one.to_string()), Some(one));
    }
}
