//! How does one of the runtime's own tools run? Its answer is a function of ours instead of a component; arguments, time and
//! measures are the same. Must not know which tools there are.

use super::{Execution, NOT_RUN, Output};
use crate::envelope::Usage;
use crate::error::{Error, Kind, Step};
use crate::permission::Grant;
use crate::registry::Tool;
use crate::validation::Args;
use std::time::{Duration, Instant};

/// How long one of the runtime's own tools may take when it does not say.
const OWN_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers a permitted call of one of the runtime's own tools, within the tool's time.
///
/// Dropping the future ends the work.
pub async fn answer(
    grant: Grant,
    args: &Args,
    tool: &Tool,
    work: impl Future<Output = Result<Output, Error>>,
) -> Execution {
    if args.digest() != grant.args() {
        let error = Error::new(Step::Sandbox, Kind::Conflict, "the arguments are not those that were permitted");
        return Execution::refused(error);
    }
    let started = Instant::now();
    let longest = args.timeout().or(tool.timeout).unwrap_or(OWN_TIMEOUT);
    let outcome = match tokio::time::timeout(longest, work).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let message = format!("`{}` did not end within {} ms", tool.name, longest.as_millis());
            Err(Error::new(Step::Sandbox, Kind::Timeout, message))
        }
    };
    let usage = Usage { wall_us: started.elapsed().as_micros() as u64, ..Usage::default() };
    let tape = Err(NOT_RUN);
    Execution { outcome, partial: None, usage, log: Vec::new(), attempts: 1, answers: Vec::new(), tape }
}
