//! Does the registry know its tools? Folders that are checked, versions beside each other, lists that come and go.

mod check;
mod exchange;
mod reference;
mod reload;
mod routes;
mod tour;
mod use_of;
mod versions;

/// A manifest that is right, of a tool that every `Builder` may call.
pub(crate) fn manifest(name: &str, version: &str, adapter: &str) -> String {
    format!(
        "[tool]\nname = \"{name}\"\nversion = \"{version}\"\ndescription = \"Does {name}\"\n\
         input_schema = {{ type = \"object\" }}\n\
         permissions = {{ required_roles = [\"Builder\"], risk_level = \"low\" }}\n\
         effect = {{ kind = \"read\", open_world = false }}\n\
         backend = {{ type = \"custom\", adapter = \"{adapter}\", tool = \"probe\" }}\n"
    )
}
