//! How is a program run to its end, and what is kept of what it says? Knows no tool.

use crate::bindings::hermes::tool::process::{self, Channel, Command, Ending, Event, Failure, Rest};
use crate::bindings::hermes::tool::{progress, types::ProgressUpdate};
use crate::output::Text;

/// Bytes of each stream that are kept from its beginning and from its end. Together more than any caller's budget.
const HEAD: u32 = 192 << 10;
const TAIL: u32 = 64 << 10;

/// A program to run.
pub(crate) struct Program<'a> {
    pub(crate) name: &'a str,
    pub(crate) args: Vec<String>,
    pub(crate) directory: &'a str,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) input: Option<Vec<u8>>,
    /// Bytes to keep from the beginning, if more than usual.
    pub(crate) head: Option<u32>,
    /// Whether what it says is of no interest to whoever waits.
    pub(crate) quiet: bool,
}

/// A program that has ended.
pub(crate) struct Finished {
    pub(crate) ending: Ending,
    pub(crate) out: Text,
    pub(crate) err: Text,
}

/// Whether programs can be run at all.
pub(crate) fn ready() -> Result<(), Failure> {
    process::ready()
}

/// Virtual paths that programs do not see.
pub(crate) fn hidden() -> Vec<String> {
    process::hidden()
}

/// Runs a program to its end and tells how far it is.
pub(crate) fn run(program: Program<'_>) -> Result<Finished, Failure> {
    let quiet = program.quiet;
    let child = process::spawn(&Command {
        program: program.name.to_owned(),
        args: program.args,
        directory: program.directory.to_owned(),
        environment: program.environment,
        input: program.input,
        head: program.head.unwrap_or(HEAD),
        tail: TAIL,
    })?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        match child.next() {
            Event::Output(chunk) => {
                match chunk.channel {
                    Channel::Out => out.extend_from_slice(&chunk.data),
                    Channel::Err => err.extend_from_slice(&chunk.data),
                }
                if !quiet {
                    tell((out.len() + err.len()) as u64, &chunk.data);
                }
            }
            Event::Ended(ended) => {
                let text = |head: Vec<u8>, rest: Rest| Text::new(head, rest.tail, rest.total);
                return Ok(Finished { ending: ended.ending, out: text(out, ended.out), err: text(err, ended.err) });
            }
        }
    }
}

/// The last whole line is what a person wants to see meanwhile.
fn tell(done: u64, data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    progress::report(&ProgressUpdate { done, total: None, message: line.map(str::to_owned) });
}
