//! Programs of the machine, in the runtime's sandbox.

use crate::bindings::hermes::tool::process as host;
use crate::call::{Call, Given};
use crate::failure::{Failure, Kind, Result};

/// Bytes of each stream that are kept from its beginning and from its end.
const KEPT: u32 = 256 << 10;

/// The machine's programs. A tool takes it as `&Programs`; `adapter.toml` asks for `process`.
#[derive(Debug)]
pub struct Programs(());

impl Given for Programs {
    fn given(_: &Call) -> Programs {
        Programs(())
    }
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// A name on the search path, or a path.
    pub name: String,
    /// Its arguments, passed on as they are.
    pub args: Vec<String>,
    /// A virtual path.
    pub directory: String,
    /// Variables to add or to replace.
    pub environment: Vec<(String, String)>,
    /// What it reads from its standard input.
    pub input: Option<Vec<u8>>,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an exit code.
    Code(u8),
    /// By a signal.
    Signal(u8),
    /// The attempt's time was over.
    TimedOut,
    /// It used up what the named limit allows.
    Limit(String),
}

/// A program that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How.
    pub ended: Ended,
    /// The beginning and the end of standard output.
    pub out: Vec<u8>,
    /// The beginning and the end of standard error.
    pub err: Vec<u8>,
    /// Bytes that are in neither.
    pub omitted: u64,
}

impl Program {
    /// A program without arguments, in the workspace.
    pub fn new(name: &str) -> Program {
        Program {
            name: name.to_owned(),
            args: Vec::new(),
            directory: "/workspace".to_owned(),
            environment: Vec::new(),
            input: None,
        }
    }

    /// With one more argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Program {
        self.args.push(arg.into());
        self
    }
}

impl Programs {
    /// The programs of the world, for a native test.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn for_test() -> Programs {
        Programs(())
    }

    /// Runs a program to its end. How it ended is no failure here; that it did not start is one.
    pub fn run(&self, program: Program) -> Result<Finished> {
        #[cfg(target_arch = "wasm32")]
        return Ok(run(program)?);
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::run(&program)
    }
}

#[cfg(target_arch = "wasm32")]
fn run(program: Program) -> Result<Finished, host::Failure> {
    let command = host::Command {
        program: program.name,
        args: program.args,
        directory: program.directory,
        environment: program.environment,
        input: program.input,
        head: KEPT,
        tail: KEPT,
    };
    let child = host::spawn(&command)?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        match child.next() {
            host::Event::Output(chunk) => match chunk.channel {
                host::Channel::Out => out.extend_from_slice(&chunk.data),
                host::Channel::Err => err.extend_from_slice(&chunk.data),
            },
            host::Event::Ended(end) => {
                let mut omitted = 0;
                for (kept, rest) in [(&mut out, end.out), (&mut err, end.err)] {
                    kept.extend_from_slice(&rest.tail);
                    omitted += rest.total.saturating_sub(kept.len() as u64);
                }
                let ended = match end.ending {
                    host::Ending::Code(code) => Ended::Code(code),
                    host::Ending::Signal(signal) => Ended::Signal(signal),
                    host::Ending::TimedOut => Ended::TimedOut,
                    host::Ending::Limit(limit) => Ended::Limit(limit),
                };
                return Ok(Finished { ended, out, err, omitted });
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
const _: u32 = KEPT;

impl From<host::Failure> for Failure {
    fn from(failure: host::Failure) -> Failure {
        use host::Reason;
        let (kind, reason) = match failure.reason {
            Reason::ProgramNotFound => (Kind::ToolFailed, "program_not_found"),
            Reason::NotAProgram => (Kind::ToolFailed, "not_a_program"),
            Reason::PermissionDenied => (Kind::Denied, "permission_denied"),
            Reason::DirectoryNotFound => (Kind::ToolFailed, "directory_not_found"),
            Reason::NotADirectory => (Kind::ToolFailed, "not_a_directory"),
            Reason::PathOutOfBounds => (Kind::Denied, "path_out_of_bounds"),
            Reason::InvalidArgument => (Kind::InvalidInput, "invalid_argument"),
            Reason::TooLarge => (Kind::TooLarge, "too_large"),
            Reason::LayerMissing => (Kind::Unavailable, "layer_missing"),
            Reason::Unavailable => (Kind::Unavailable, "no_launcher"),
        };
        Failure::new(kind, failure.message).reason(reason)
    }
}
