//! `program`: any program that a manifest names by a template of words. No shell is in between.

use serde::Deserialize;

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::types::ErrorKind;
use crate::program::{self, Program};
use crate::words::{self, Refused, Values};
use crate::{failure, report};

/// What the manifest's `backend.arguments` make of a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The template: the program and its words.
    argv: String,
    /// What fills its slots.
    #[serde(default)]
    values: Values,
    #[serde(default = "workspace")]
    cwd: String,
    input: Option<String>,
    /// Exit codes that are no failure.
    #[serde(default = "zero")]
    success: Vec<u8>,
}

fn workspace() -> String {
    "/workspace".to_owned()
}

fn zero() -> Vec<u8> {
    vec![0]
}

/// Runs the program.
pub(crate) fn run(arguments: &Arguments) -> Result<Output, Error> {
    let words = words::fill(&arguments.argv, &arguments.values).map_err(refused)?;
    let Some((name, args)) = words.split_first() else {
        return Err(refused(Refused::Template("it names no program".into())));
    };
    let finished = program::run(Program {
        name,
        args: args.to_vec(),
        directory: &arguments.cwd,
        environment: Vec::new(),
        input: arguments.input.clone().map(String::into_bytes),
        head: None,
        quiet: false,
    })
    .map_err(failure::not_started)?;
    report::answer(&format!("`{name}`"), &finished, &arguments.success)
}

fn refused(refused: Refused) -> Error {
    match refused {
        Refused::Value(what) => {
            let hint = Some("give a value that does not begin with `-`, or write it as `./-…` if it is a file");
            failure::error(ErrorKind::InvalidInput, Some("option_not_allowed"), what, hint)
        }
        Refused::Template(what) => {
            let message = format!("the manifest's `argv` cannot be used: {what}");
            failure::error(ErrorKind::InvalidInput, None, message, Some("tell whoever wrote the manifest"))
        }
    }
}
