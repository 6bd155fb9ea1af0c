//! What do the runtime and its launcher tell each other? The plan of one program, and what came of it, over one socket.
//! Must not do anything.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The first argument that turns a program of ours into the launcher.
pub(crate) const LAUNCH: &str = "__launch";

/// All that the launcher knows: it has no other input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// A name that is looked for on the search path, or a path.
    pub(crate) program: String,
    /// The arguments after its name.
    pub(crate) args: Vec<String>,
    /// All variables.
    pub(crate) environment: Vec<(String, String)>,
    /// The working directory, a virtual path.
    pub(crate) directory: String,
    /// How many bytes for standard input follow the plan.
    pub(crate) input: usize,
    /// The granted directories.
    pub(crate) grants: Vec<Mount>,
    /// Virtual paths that are covered.
    pub(crate) hidden: Vec<String>,
    /// Virtual paths that are shown and cannot be changed.
    #[serde(default)]
    pub(crate) fixed: Vec<String>,
    /// Further folders of the machine that programs need, shown where they are.
    pub(crate) system: Vec<PathBuf>,
    /// Whether the program may use the network.
    pub(crate) network: bool,
    /// Small files that only this program sees: path and content.
    #[serde(default)]
    pub(crate) files: Vec<(String, String)>,
    /// For a program that stays and speaks with the runtime.
    #[serde(default)]
    pub(crate) channel: Option<Channel>,
    /// Whether its input and output stay open and the runtime holds the other ends: a server. It sees the grants where
    /// they are on the machine, files too, and may start in a directory of which it sees nothing.
    #[serde(default)]
    pub(crate) talks: bool,
    /// What it may use up.
    pub(crate) limits: ProcessLimits,
}

/// What a program that stays has besides. It runs in its private home, with the channel as descriptors 3 and 4.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Channel {
    /// Sockets on its own network that the runtime listens on: the only way out of it.
    pub(crate) ways_out: u16,
    /// Whether it sets up sandboxes of its own for its parts.
    pub(crate) nests: bool,
}

/// One granted directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mount {
    /// Its virtual path.
    pub(crate) name: String,
    /// Where it is on the machine.
    pub(crate) source: PathBuf,
    /// Whether the program may change what is in it.
    pub(crate) writable: bool,
}

/// What a program and all that it starts may use up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ProcessLimits {
    /// Processes and threads at the same time.
    pub(crate) processes: u64,
    /// One file, in bytes.
    pub(crate) file: u64,
    /// Memory of one process, in bytes.
    pub(crate) memory: u64,
    /// The private folders for temporary files, in bytes.
    pub(crate) temporary: u64,
}

/// One part of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// What it is called.
    pub name: String,
    /// How it is there, or why it is not.
    pub state: String,
}

/// What the launcher says, one JSON document a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// The program runs, within these layers.
    Started(Vec<Layer>),
    /// It does not, and why.
    Failed(Failed),
    /// It exited with a code.
    Code(u8),
    /// A signal ended it.
    Signal(u8),
    /// It has left these where git would act on them, so they were put aside.
    PutAside(Vec<String>),
}

/// Why a program was not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// What kind of failure.
    pub(crate) cause: Cause,
    /// One sentence.
    pub(crate) message: String,
}

/// The kinds of failure, as far as anybody decides by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// No program has that name.
    ProgramNotFound,
    /// It is a directory, or no program.
    NotAProgram,
    /// The system says no.
    PermissionDenied,
    /// The working directory does not exist.
    DirectoryNotFound,
    /// It is something else.
    NotADirectory,
    /// It is beneath no grant.
    OutOfBounds,
    /// The arguments are more than the system takes.
    TooLarge,
    /// A part of the sandbox is not there.
    Layer,
}

impl Failed {
    /// A part of the sandbox that is not there.
    pub(crate) fn layer(name: &str, why: impl std::fmt::Display) -> Failed {
        Failed { cause: Cause::Layer, message: format!("the sandbox's {name} cannot be set up here: {why}") }
    }
}
