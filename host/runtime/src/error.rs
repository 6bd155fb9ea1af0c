//! Which failures are there, and what does each mean to a caller? One table of kinds; every step's own error becomes
//! an [`Error`] here. Must not know how a step came to its failure.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// The seven steps of a call, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// 1: which tool is meant.
    Registry,
    /// 2: which adapter runs it.
    Adapter,
    /// 3: whether the caller may.
    Permission,
    /// 4: whether the arguments are right.
    Validation,
    /// 5: running it.
    Sandbox,
    /// 6: shaping what came back.
    Result,
    /// 7: handing it to the agent and writing it down.
    Injection,
}

impl Step {
    /// 1 to 7.
    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The step's name as it stands in records.
    pub fn name(self) -> &'static str {
        match self {
            Step::Registry => "registry",
            Step::Adapter => "adapter",
            Step::Permission => "permission",
            Step::Validation => "validation",
            Step::Sandbox => "sandbox",
            Step::Result => "result",
            Step::Injection => "injection",
        }
    }
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// Whoever made the call.
    Caller,
    /// The component that ran it.
    Guest,
    /// A service behind the component.
    Upstream,
    /// The runtime itself, its machine or its configuration.
    Host,
}

/// What a process that ran one call exits with.
pub type ExitCode = u8;

macro_rules! kinds {
    ($( $(#[$doc:meta])* $variant:ident = $name:literal, $code:literal, $exit:literal, $blame:ident, $retryable:literal; )*) => {
        /// The kind of a failure. Kinds are never collapsed into another one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Kind {
            $( $(#[$doc])* #[serde(rename = $name)] $variant, )*
        }

        impl Kind {
            /// Every kind there is.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            /// The kind's name in envelopes and manifests, in snake case.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name),* }
            }

            /// The kind's code, in the manner of HTTP.
            pub fn code(self) -> u16 {
                match self { $(Kind::$variant => $code),* }
            }

            /// What `hermes-dispatch call` exits with.
            pub fn exit_code(self) -> ExitCode {
                match self { $(Kind::$variant => $exit),* }
            }

            /// Whose fault it is unless the step knows better.
            pub fn blame(self) -> Blame {
                match self { $(Kind::$variant => Blame::$blame),* }
            }

            /// Whether the same call can succeed later without anything being changed.
            pub fn retryable(self) -> bool {
                match self { $(Kind::$variant => $retryable),* }
            }
        }
    };
}

kinds! {
    /// Parked until a person answers.
    ApprovalPending = "approval_pending", 202, 7, Caller, true;
    /// The arguments are wrong; `problems` lists all that is.
    InvalidInput = "invalid_input", 400, 8, Caller, false;
    /// A role, a policy, a risk or a grant says no.
    Denied = "denied", 403, 6, Caller, false;
    /// A policy could not be evaluated, so the answer is no.
    PolicyError = "policy_error", 403, 6, Host, false;
    /// A person has to say yes and nobody can be asked.
    NoApprover = "no_approver", 403, 7, Caller, false;
    /// The session was stopped.
    SessionHalted = "session_halted", 403, 6, Caller, false;
    /// A person said no.
    ApprovalDenied = "approval_denied", 403, 7, Caller, false;
    /// Nobody answered in time.
    ApprovalExpired = "approval_expired", 403, 7, Caller, true;
    /// No tool has that name.
    UnknownTool = "unknown_tool", 404, 5, Caller, false;
    /// The tool was taken out of service.
    Retired = "retired", 410, 5, Caller, false;
    /// The call's time is over.
    Timeout = "timeout", 408, 124, Guest, true;
    /// One attempt's time is over.
    AttemptTimeout = "attempt_timeout", 408, 124, Guest, true;
    /// Something is not what it was when it was approved or read.
    Conflict = "conflict", 409, 8, Caller, false;
    /// The input or the thing asked for exceeds a limit.
    TooLarge = "too_large", 413, 8, Caller, false;
    /// Too many calls.
    RateLimited = "rate_limited", 429, 4, Caller, true;
    /// The caller gave up.
    Cancelled = "cancelled", 499, 130, Caller, true;
    /// A fault of the runtime.
    Internal = "internal", 500, 1, Host, false;
    /// No compatible adapter for the tool's backend.
    NoAdapter = "no_adapter", 501, 4, Host, false;
    /// What the tool tried did not work.
    ToolFailed = "tool_failed", 502, 5, Guest, false;
    /// A service behind the tool failed.
    Upstream = "upstream", 502, 5, Upstream, true;
    /// The backend is unhealthy or not there now.
    Unavailable = "unavailable", 503, 4, Upstream, true;
    /// More calls wait than the runtime holds.
    Overloaded = "overloaded", 503, 4, Host, true;
    /// The journal cannot be written, so nothing with an effect runs.
    AuditUnavailable = "audit_unavailable", 503, 4, Host, true;
    /// The component used up its fuel.
    OutOfFuel = "out_of_fuel", 507, 9, Guest, false;
    /// The component asked for more memory than it may have.
    OutOfMemory = "out_of_memory", 507, 9, Guest, false;
    /// The component recursed too deeply.
    StackOverflow = "stack_overflow", 507, 9, Guest, false;
    /// The component's tables are larger than they may be.
    TableLimit = "table_limit", 507, 9, Guest, false;
    /// The component has more instances than it may.
    InstanceLimit = "instance_limit", 507, 9, Guest, false;
    /// The component holds more handles than it may.
    HandleLimit = "handle_limit", 507, 9, Guest, false;
    /// The component called the host more often than it may.
    HostCallLimit = "host_call_limit", 507, 9, Guest, false;
    /// The component returned more than it may.
    OutputLimit = "output_limit", 507, 9, Guest, false;
    /// The component logged more than it may.
    LogLimit = "log_limit", 507, 9, Guest, false;
    /// The component broke off.
    Trap = "trap", 507, 9, Guest, false;
}

/// The reasons of failures that the runtime and its capabilities know, in snake case. Components may declare more in
/// their `adapter.toml`.
pub const REASONS: &[&str] = &[
    "already_exists",
    "changed",
    "connection_lost",
    "directory_not_found",
    "element_unreachable",
    "invalid_argument",
    "io",
    "is_a_directory",
    "layer_missing",
    "no_space",
    "nonzero_exit",
    "not_a_directory",
    "not_a_program",
    "not_a_regular_file",
    "not_found",
    "page_load_failed",
    "path_out_of_bounds",
    "permission_denied",
    "program_not_found",
    "protocol_error",
    "read_only",
    "signal",
];

impl Kind {
    /// Finds a kind by name, in any case.
    pub fn by_name(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

/// One thing that is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Problem {
    /// Where, as a JSON Pointer (RFC 6901); empty for the arguments as a whole.
    pub path: String,
    /// Which rule is broken: `required`, `type`, `unknown_key`, `range`, …
    pub rule: String,
    /// What the rule wants.
    pub expected: String,
    /// What came, shortened and made printable.
    pub received: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
}

/// Why a call did not do what it was asked; reads like a [`Failure`].
///
/// It is one word, since every step's answer has room for it and few have one.
#[derive(Clone, Debug, Serialize, Deserialize, thiserror::Error)]
#[serde(transparent)]
#[error("{}", .0.message)]
pub struct Error(Box<Failure>);

impl std::ops::Deref for Error {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl std::ops::DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Failure {
        &mut self.0
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error(Box::new(failure))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        *error.0
    }
}

/// What an [`Error`] says. What is in here may be shown to the caller; `decided_by` and `log` may not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The kind's code.
    pub code: u16,
    /// The kind.
    pub kind: Kind,
    /// Refines the kind, in snake case.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<Cow<'static, str>>,
    /// The step that ended the call.
    pub step: Step,
    /// Whose fault it is.
    pub blame: Blame,
    /// One sentence for the caller.
    pub message: String,
    /// What the caller can do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
    /// All that is wrong with the arguments, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<Problem>,
    /// Whether the same call can succeed later.
    pub retryable: bool,
    /// How long to wait before a retry.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_ms: Option<u64>,
    /// The question to a person that it is about.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval_id: Option<String>,
    /// How often the same call was refused before for the same reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repeat: Option<u32>,
    /// Who said so, for the record only.
    #[serde(skip)]
    pub decided_by: Option<String>,
    /// For the log only: sources and insides.
    #[serde(skip)]
    pub log: Option<String>,
}

impl Error {
    /// An error of a kind with the kind's own code, blame and retryability.
    pub fn new(step: Step, kind: Kind, message: impl Into<String>) -> Error {
        Error::from(Failure {
            code: kind.code(),
            kind,
            reason: None,
            step,
            blame: kind.blame(),
            message: message.into(),
            hint: None,
            problems: Vec::new(),
            retryable: kind.retryable(),
            retry_after_ms: None,
            approval_id: None,
            repeat: None,
            decided_by: None,
            log: None,
        })
    }

    /// A fault of the runtime: the caller learns that it happened, the log learns what.
    pub fn internal(step: Step, source: impl std::fmt::Display) -> Error {
        Error::new(step, Kind::Internal, "the runtime failed; its log says why").log(source.to_string())
    }

    /// With a reason that refines the kind.
    pub fn reason(mut self, reason: impl Into<Cow<'static, str>>) -> Error {
        self.reason = Some(reason.into());
        self
    }

    /// With what the caller can do.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// With somebody else to blame than the kind says.
    pub fn blame(mut self, blame: Blame) -> Error {
        self.blame = blame;
        self
    }

    /// With the time after which a retry makes sense.
    pub fn retry_after(mut self, wait: Duration) -> Error {
        self.retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// For an operator: what only the log may see, or the message where there is no more to it.
    pub fn insides(&self) -> String {
        self.log.as_ref().unwrap_or(&self.message).clone()
    }

    /// With what only the log may see.
    pub fn log(mut self, text: impl Into<String>) -> Error {
        self.log = Some(text.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_has_a_name_of_its_own_and_is_found_by_it_in_any_case() {
        let names: HashSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        for kind in Kind::ALL {
            assert_eq!(Kind::by_name(&kind.name().to_uppercase()), Some(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn what_only_the_log_may_see_is_not_serialised() {
        let error = Error::internal(Step::Sandbox, "secret inside");
        assert!(!serde_json::to_string(&error).unwrap().contains("secret inside"));
    }
}
