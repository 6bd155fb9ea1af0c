//! Layer 1: may this role call this tool at all? Pure; deny by default.

use crate::document::excerpt;
use crate::error::{Error, Kind, Step};
use crate::registry::Tool;

/// The person at a terminal where nothing is configured.
pub const OPERATOR: &str = "operator";
/// Whoever calls without a terminal where nothing is configured.
pub const GUEST: &str = "guest";

/// Checks the manifest's roles. A denied role stays denied though it is also a required one.
pub fn check(tool: &Tool, role: &str) -> Result<(), Error> {
    let denied =
        |reason: &'static str, why: String| Err(Error::new(Step::Permission, Kind::Denied, why).reason(reason));
    let shown = excerpt(role, 80);
    let name = &tool.name;
    if role.is_empty() {
        return denied("no_role", format!("tool `{name}` needs a role and the caller has none"));
    }
    if tool.denied_roles.contains(role) {
        return denied("role_denied", format!("tool `{name}` refuses role `{shown}`"));
    }
    if !tool.required_roles.contains(role) {
        return denied("role_not_listed", format!("tool `{name}` is not for role `{shown}`"));
    }
    Ok(())
}

/// Whether a role is one that nobody configured; it asks a person for everything but reading granted places.
pub fn is_built_in(role: &str) -> bool {
    role == OPERATOR || role == GUEST
}
