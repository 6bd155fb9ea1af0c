//! A rule with another library's name.
use hermes_sdk::tool;

/// Greet somebody.
#[tool]
fn greet(#[arg(maximum = 3)] times: u32) -> u32 {
    times
}

fn main() {}
