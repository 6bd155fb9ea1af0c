//! A tool without a word of documentation.
use hermes_sdk::tool;

#[tool]
fn greet(name: String) -> String {
    name
}

fn main() {}
