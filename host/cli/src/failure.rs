//! Why did the command itself not work? Says what, and what to do; a call's own failure is an envelope, not this.

use hermes_runtime::StartError;
use hermes_runtime::document::{Fault, Faults};
use hermes_runtime::injection::audit::AuditError;

/// A failure of the command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What the process exits with.
    pub(crate) exit: u8,
    /// One sentence.
    pub(crate) message: String,
    /// Mistakes in files, with their places.
    pub(crate) faults: Vec<Fault>,
}

impl Failure {
    /// Something was said wrongly.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: 2, message: message.into(), faults: Vec::new() }
    }

    /// The caller may not.
    pub(crate) fn denied(message: impl Into<String>) -> Failure {
        Failure { exit: 6, message: message.into(), faults: Vec::new() }
    }

    /// Something that is needed is not there.
    pub(crate) fn unavailable(message: impl Into<String>) -> Failure {
        Failure { exit: 4, message: message.into(), faults: Vec::new() }
    }

    /// Nothing has that name.
    pub(crate) fn unknown(message: impl Into<String>) -> Failure {
        Failure { exit: 5, message: message.into(), faults: Vec::new() }
    }

    /// The command is at fault, or the machine.
    pub(crate) fn internal(message: impl Into<String>) -> Failure {
        Failure { exit: 1, message: message.into(), faults: Vec::new() }
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Failure {
        Failure { faults: faults.0, ..Failure::usage("the configuration is wrong") }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Failure {
        match error {
            StartError::Policies(faults) => {
                Failure { faults: faults.0, ..Failure::usage("the policies are wrong, so nothing runs") }
            }
            StartError::Journal(_) | StartError::Sandbox(_) | StartError::Lock(_) => {
                Failure::unavailable(error.to_string())
            }
        }
    }
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Failure {
        match error {
            // A journal that holds what no runtime wrote is what verification fails on.
            AuditError::Damaged { .. } => Failure { exit: 10, ..Failure::unavailable(error.to_string()) },
            AuditError::Missing(_) | AuditError::Unreadable { .. } => Failure::unavailable(error.to_string()),
        }
    }
}
