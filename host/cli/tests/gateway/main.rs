//! What does an agent's client see? The command as a process, spoken to as clients speak to it.
#![allow(clippy::disallowed_methods, reason = "a test owns its temporary folder and starts the command")]

mod hostile;
mod peer;
mod stdio;
