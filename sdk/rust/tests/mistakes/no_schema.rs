//! An argument of a type that says nothing of itself.
use hermes_sdk::tool;

/// Greet somebody.
#[tool]
fn greet(person: std::net::IpAddr) -> String {
    person.to_string()
}

fn main() {}
