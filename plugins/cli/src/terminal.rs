//! `terminal`: one text for the shell.

use serde::Deserialize;

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::program::{self, Program};
use crate::{failure, report};

/// The arguments of `terminal`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    command: String,
    cwd: String,
    input: Option<String>,
    /// How long it may run; the host sees to it.
    #[serde(default, rename = "timeout_seconds")]
    _timeout_seconds: Option<u64>,
}

/// Runs the text as it is: nothing is put before, after or into it.
pub(crate) fn run(arguments: &Arguments) -> Result<Output, Error> {
    let finished = program::run(Program {
        name: "/bin/sh",
        args: vec!["-c".to_owned(), arguments.command.clone()],
        directory: &arguments.cwd,
        environment: Vec::new(),
        input: arguments.input.clone().map(String::into_bytes),
        head: None,
        quiet: false,
    })
    .map_err(failure::not_started)?;
    report::answer("the command", &finished, &[0])
}
