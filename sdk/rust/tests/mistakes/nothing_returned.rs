//! A tool that returns nothing.
use hermes_sdk::tool;

/// Greet somebody.
#[tool]
fn greet(name: String) {
    let _ = name;
}

fn main() {}
