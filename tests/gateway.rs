//! What does an agent's client see? The built command as a process, spoken to as clients speak to it.

mod back;
mod changes;
mod channels;
mod client;
mod hostile;
mod http;
mod offered;
mod page;
pub(crate) mod peer;
mod sessions;
mod stdio;
