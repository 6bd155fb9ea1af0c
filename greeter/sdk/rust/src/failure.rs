//! Why did a tool not do what it was asked? A failure with what the caller can do about it.

use crate::answer::Answer;
use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::bindings::hermes::tool::types::ErrorKind;

/// What a tool returns.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// What kind of failure it was. The runtime turns each into a code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The arguments make no sense although they passed the schema.
    InvalidInput,
    /// A capability refused.
    Denied,
    /// Something changed since the caller looked at it.
    Conflict,
    /// The input or the thing asked for exceeds a limit.
    TooLarge,
    /// What the tool tried did not work.
    ToolFailed,
    /// Somebody else's service answered with a failure or not at all.
    Upstream,
    /// Not now, perhaps later.
    Unavailable,
    /// A wait inside the tool came to its end.
    Timeout,
}

/// Why a tool did not do what it was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What kind of failure it was.
    pub kind: Kind,
    /// Refines the kind, in snake case: one of the runtime's words or one that `adapter.toml` declares.
    pub reason: Option<String>,
    /// One sentence for the caller that names the thing.
    pub message: String,
    /// What the caller can do about it.
    pub hint: Option<String>,
    /// Whether something may have had an effect. If not, the runtime may try again.
    pub request_sent: bool,
    /// What was produced before.
    pub partial: Option<Answer>,
}

impl Failure {
    /// A failure of some kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure { kind, reason: None, message: message.into(), hint: None, request_sent: false, partial: None }
    }

    /// The arguments make no sense although they passed the schema.
    pub fn invalid(message: impl Into<String>) -> Failure {
        Failure::new(Kind::InvalidInput, message)
    }

    /// What the tool tried did not work, for a reason that `adapter.toml` declares.
    pub fn because(reason: &str, message: impl Into<String>) -> Failure {
        Failure::new(Kind::ToolFailed, message).reason(reason)
    }

    /// With a reason that refines the kind.
    pub fn reason(mut self, reason: &str) -> Failure {
        self.reason = Some(reason.to_owned());
        self
    }

    /// With what the caller can do.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// With what was produced before.
    pub fn partial(mut self, partial: Answer) -> Failure {
        self.partial = Some(partial);
        self
    }

    /// Something may have had an effect already.
    pub fn sent(mut self) -> Failure {
        self.request_sent = true;
        self
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// JSON that a tool reads from outside and that is none.
impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::new(Kind::ToolFailed, format!("what came is not the JSON that was expected: {error}"))
            .reason("not_json")
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        let kind = match failure.kind {
            Kind::InvalidInput => ErrorKind::InvalidInput,
            Kind::Denied => ErrorKind::Denied,
            Kind::Conflict => ErrorKind::Conflict,
            Kind::TooLarge => ErrorKind::TooLarge,
            Kind::ToolFailed => ErrorKind::ToolFailed,
            Kind::Upstream => ErrorKind::Upstream,
            Kind::Unavailable => ErrorKind::Unavailable,
            Kind::Timeout => ErrorKind::Timeout,
        };
        Error {
            kind,
            reason: failure.reason,
            message: failure.message,
            hint: failure.hint,
            request_sent: failure.request_sent,
            partial: failure.partial.map(Into::into),
        }
    }
}
