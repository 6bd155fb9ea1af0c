//! A reference to something that the runtime does not hand in.
use hermes_sdk::tool;

/// Add numbers up.
#[tool]
fn add(numbers: &Vec<u32>) -> u32 {
    numbers.iter().sum()
}

fn main() {}
