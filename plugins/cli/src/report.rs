//! What is the answer of a program that is nothing but run? Its two streams, its exit code or signal. Shared by tools
//! that do not understand what the program says.

use serde::Serialize;

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::process::Ending;
use crate::output;
use crate::program::Finished;

#[derive(Serialize)]
struct Facts<'a> {
    exit_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    stdout: &'a str,
    stderr: &'a str,
    truncated: bool,
}

/// The answer, or the error with it. `successes` are the exit codes that are none.
pub(crate) fn answer(what: &str, finished: &Finished, successes: &[u8]) -> Result<Output, Error> {
    let output = said(finished);
    match &finished.ending {
        Ending::Code(code) if successes.contains(code) => Ok(output),
        ending => Err(crate::failure::ended(what, ending, output)),
    }
}

/// What the program said, whatever came of it.
fn said(finished: &Finished) -> Output {
    let (out, err) = (&finished.out, &finished.err);
    let (exit_code, signal) = match finished.ending {
        Ending::Code(code) => (Some(code), None),
        Ending::Signal(number) => (None, Some(crate::failure::signal_name(number))),
        Ending::TimedOut | Ending::Limit(_) => (None, None),
    };
    let truncated = out.omitted > 0 || err.omitted > 0;
    let facts = Facts { exit_code, signal, stdout: &out.text, stderr: &err.text, truncated };
    Output { data: output::json(&facts), content: Vec::new(), metadata: output::streams(out, err) }
}
