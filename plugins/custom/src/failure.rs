//! What does the caller learn when a tool here fails? Must not know the contract's types, so that tools run natively.

/// Why a tool did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Whether the arguments make no sense, rather than what they were applied to.
    pub(crate) is_invalid_input: bool,
    /// One of those that `adapter.toml` declares.
    pub(crate) reason: Option<&'static str>,
    /// One sentence.
    pub(crate) message: String,
    /// What the caller can do.
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// What was tried did not work.
    pub(crate) fn new(reason: &'static str, message: String) -> Failure {
        Failure { is_invalid_input: false, reason: Some(reason), message, hint: None }
    }

    /// The arguments make no sense although each of them passed the schema.
    pub(crate) fn invalid(message: String) -> Failure {
        Failure { is_invalid_input: true, reason: None, message, hint: None }
    }

    /// With what the caller can do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Failure {
        Failure { hint: Some(hint.into()), ..self }
    }
}
