//! Who grants something? A person at the controlling terminal, or whoever shows an operator's token. Nobody else: the
//! tokens that count are in the state folder, which no tool and no program of a tool sees.

use crate::args::Arguments;
use crate::failure::Failure;
use crate::setup::Folders;
use crate::terminal::{self, Terminal};
use crate::token;
use hermes_runtime::call::Digest;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The variable that may have the token itself.
const VARIABLE: &str = "HERMES_OPERATOR_TOKEN";
/// Largest file that has a token, in bytes.
const LARGEST: u64 = 4096;

/// Somebody who may grant something.
pub(crate) enum Person {
    /// At the terminal of this command.
    AtTerminal(Terminal),
    /// Known by a token.
    Operator(String),
}

impl Person {
    /// Whoever gives this command, if they may grant something. A token that does not count is no reason to ask at the
    /// terminal instead.
    ///
    /// # Errors
    /// If a token is shown and does not count.
    pub(crate) fn present(arguments: &Arguments) -> Result<Option<Person>, Failure> {
        let folders = Folders::of_this_user()?;
        let text = match &arguments.operator_token_file {
            Some(file) => Some(from_file(file)?),
            None => std::env::var(VARIABLE).ok(),
        };
        let Some(text) = text else { return Ok(Terminal::open().map(Person::AtTerminal)) };
        match token::operator(&folders.state, &Digest::of(text.trim().as_bytes()))? {
            Some(operator) => Ok(Some(Person::Operator(operator.name))),
            None => Err(Failure::denied(
                "the operator's token is none that counts; `hermes-dispatch token list` shows which do",
            )),
        }
    }

    /// The same, where something is decided.
    ///
    /// # Errors
    /// If there is nobody.
    pub(crate) fn who_decides(arguments: &Arguments) -> Result<Person, Failure> {
        Person::present(arguments)?.ok_or_else(|| {
            Failure::denied(
                "deciding needs a person at a terminal, or an operator's token; run this command at your terminal",
            )
        })
    }

    /// As the records name them.
    pub(crate) fn name(&self) -> String {
        match self {
            Person::AtTerminal(_) => terminal::person(),
            Person::Operator(name) => format!("operator {name} by command"),
        }
    }

    /// Whether they say yes. Whoever shows a token with a command has said so by the command.
    pub(crate) fn confirms(&self, question: &str) -> bool {
        match self {
            Person::AtTerminal(terminal) => terminal.confirm(question),
            Person::Operator(_) => true,
        }
    }
}

/// A token from a file that only its owner reads.
fn from_file(file: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::usage(format!("the operator's token in `{}` cannot be read: {error}", file.display()))
    };
    let about = std::fs::metadata(file).map_err(unreadable)?;
    if about.mode() & 0o077 != 0 || about.uid() != rustix::process::getuid().as_raw() {
        let why = format!("`{}` is not its owner's alone; use chmod 600", file.display());
        return Err(Failure::usage(why));
    }
    let bytes = hermes_runtime::document::read_regular(file, LARGEST).map_err(unreadable)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}
