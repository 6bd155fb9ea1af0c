//! What would a call do, as a person reads it? The targets by their syntax: the commands of a text one by one, the host of
//! a URL, the statements of SQL. Pure.

use super::target::Target;

/// Lines about one target, each beginning with what it is.
pub(super) fn lines(target: &Target) -> Vec<String> {
    match target {
        Target::Granted(path) => vec![format!("path {path}")],
        Target::Protected(path) => vec![format!("protected path {path}")],
        Target::OutOfBounds(path) => vec![format!("path outside every grant {path}")],
        Target::Name(name) => vec![format!("name {name}")],
        Target::Url { text, host, .. } => vec![format!("host {host}"), format!("URL {text}")],
        Target::ForbiddenUrl(text) => vec![format!("URL without a host {text}")],
        Target::Statement { text, reads, .. } => {
            vec![format!("SQL that {} {text}", if *reads { "reads:" } else { "changes:" })]
        }
        Target::Command { text, read_only, command } => {
            let bars = command.bars();
            let why = if bars.is_empty() { String::new() } else { format!(" ({})", bars.join(", ")) };
            vec![format!("command that {} {text}{why}", if *read_only { "reads:" } else { "can change things:" })]
        }
        Target::Unreadable(why) => vec![format!("NOT READABLE: {why}")],
    }
}
