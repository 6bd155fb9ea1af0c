//! What does an agent's client see? The built command as a process, spoken to as clients speak to it.

mod client;
mod hostile;
mod http;
pub(crate) mod peer;
mod stdio;
