//! Layer 3: what does a person say? Asks the channel that the program offers and takes no answer for a no. The channel
//! itself belongs to the command, the gateway or the embedding program.

use crate::call::Digest;
use crate::error::{Error, Kind, Step};
use serde::Serialize;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// What a person is asked. A channel that cannot show all of it must not answer.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// The call's id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What the tool says it does.
    pub description: String,
    /// Who wants it.
    pub caller: String,
    /// In which role.
    pub role: String,
    /// The exact arguments, canonical JSON.
    pub args: String,
    /// Their digest; the answer is bound to it.
    pub args_digest: Digest,
    /// What the call acts on.
    pub targets: Vec<String>,
    /// Why a person is asked.
    pub why: String,
    /// Points, 0 to 100.
    pub risk: u8,
    /// What the points are made of, and what would lower them.
    pub factors: Vec<String>,
    /// How long the answer counts.
    pub expires: Duration,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this once.
    Approved {
        /// Who said so.
        by: String,
    },
    /// No.
    Denied {
        /// Who said so.
        by: String,
        /// Why, if they said.
        reason: Option<String>,
    },
    /// Nobody can be asked.
    Nobody,
}

/// An answer that is on its way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// A channel to a person. Dropping the future withdraws the question.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a>;
}

/// Asks within the time that the request allows, and returns who said yes.
pub(super) async fn ask(approver: Option<&dyn Approver>, request: &Request) -> Result<String, Error> {
    let Some(approver) = approver else {
        return Err(no_approver(request));
    };
    let refused = |kind, message: String| Err(Error::new(Step::Permission, kind, message));
    match tokio::time::timeout(request.expires, approver.ask(request)).await {
        Ok(Answer::Approved { by }) => Ok(by),
        Ok(Answer::Denied { reason, .. }) => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            refused(Kind::ApprovalDenied, format!("a person said no to `{}`{reason}", request.tool))
        }
        Ok(Answer::Nobody) => Err(no_approver(request)),
        Err(_) => refused(Kind::ApprovalExpired, format!("nobody answered about `{}` in time", request.tool)),
    }
}

fn no_approver(request: &Request) -> Error {
    let message =
        format!("`{}` needs a person's approval and nobody can be asked here ({})", request.tool, request.why);
    Error::new(Step::Permission, Kind::NoApprover, message).hint("ask the person you work for; only they can decide it")
}
