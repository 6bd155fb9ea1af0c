//! Layer 1: may this role call this tool at all? Pure; deny by default.

use super::target::Target;
use crate::config::Role;
use crate::document::{Fault, excerpt};
use crate::error::{Error, Kind, Step};
use crate::registry::Tool;
use crate::registry::forms::Forms;
use crate::rules::CommandRules;
use std::collections::BTreeMap;
use std::path::Path;

/// The person at a terminal where nothing is configured.
pub const OPERATOR: &str = "operator";
/// Whoever calls without a terminal where nothing is configured.
pub const GUEST: &str = "guest";

/// Checks the manifest's roles. A denied role stays denied though it is also a required one.
pub fn check(tool: &Tool, role: &str) -> Result<(), Error> {
    let denied =
        |reason: &'static str, why: String| Err(Error::new(Step::Permission, Kind::Denied, why).reason(reason));
    let (shown, name) = (|| excerpt(role, 80), &tool.name);
    if role.is_empty() {
        return denied("no_role", format!("tool `{name}` needs a role and the caller has none"));
    }
    if tool.denied_roles.contains(role) {
        return denied("role_denied", format!("tool `{name}` refuses role `{}`", shown()));
    }
    if !tool.admits(role) {
        return denied("role_not_listed", format!("tool `{name}` is not for role `{}`", shown()));
    }
    Ok(())
}

/// The commands that each role may give, where the configuration says so. Lifetime: until it changes.
#[derive(Clone, Debug, Default)]
pub struct Commands(BTreeMap<String, (Option<Forms>, Forms)>);

impl Commands {
    /// Reads the forms of all roles.
    ///
    /// # Errors
    /// Every form that is none.
    pub(super) fn new(roles: &BTreeMap<String, Role>) -> Result<Commands, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut commands = BTreeMap::new();
        for (name, role) in roles {
            let CommandRules { allow, deny } = &role.commands;
            let read = |texts: &[String]| Forms::parse(texts);
            let allowed = if allow.is_empty() { Ok(None) } else { read(allow).map(Some) };
            match (allowed, read(deny)) {
                (Ok(None), Ok(_)) if deny.is_empty() => {}
                (Ok(allow), Ok(deny)) => drop(commands.insert(name.clone(), (allow, deny))),
                (allow, deny) => {
                    let wrong = allow.err().into_iter().chain(deny.err());
                    faults.extend(wrong.map(|why| {
                        Fault::whole(Path::new("configuration"), format!("`roles.{name}.commands`: {why}"))
                    }));
                }
            }
        }
        if faults.is_empty() { Ok(Commands(commands)) } else { Err(faults) }
    }

    /// Checks every command of a call, each alone, whatever it is wrapped in.
    ///
    /// # Errors
    /// `denied`, with the part that the role may not run.
    pub(super) fn check(&self, role: &str, targets: &[Target]) -> Result<(), Error> {
        let Some((allow, deny)) = self.0.get(role) else { return Ok(()) };
        let denied = |text: &str, why: &str| {
            let message = format!("role `{}` may not run `{}`{why}", excerpt(role, 80), excerpt(text, 200));
            Err(Error::new(Step::Permission, Kind::Denied, message).reason("command_denied"))
        };
        for target in targets {
            match target {
                Target::Command { text, command, .. } if command.fits(deny) => return denied(text, ""),
                Target::Command { text, command, .. } => match allow {
                    Some(allow) if !command.is_one_of(allow) => return denied(text, ", which is none of its commands"),
                    Some(_) | None => {}
                },
                Target::Unreadable(text) => return denied(text, ""),
                Target::Granted(_)
                | Target::Protected(_)
                | Target::OutOfBounds(_)
                | Target::Name(_)
                | Target::Url { .. }
                | Target::ForbiddenUrl(_)
                | Target::Statement { .. } => {}
            }
        }
        Ok(())
    }
}
