//! An argument that borrows its text.
use hermes_sdk::tool;

/// Greet somebody.
#[tool]
fn greet(name: &str) -> String {
    name.to_owned()
}

fn main() {}
