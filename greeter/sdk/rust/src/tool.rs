//! What is a tool? A name, what it says of itself, and the function that runs it.

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Result;
use serde_json::Value;

/// One tool of a plugin. `#[tool]` makes it of a function.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name by which the runtime calls it.
    pub name: &'static str,
    /// What it does, for an agent.
    pub description: &'static str,
    schema: fn() -> Value,
    run: fn(&str, &Call) -> Result<Answer>,
}

impl Tool {
    /// A tool put together by hand.
    pub const fn new(
        name: &'static str,
        description: &'static str,
        schema: fn() -> Value,
        run: fn(&str, &Call) -> Result<Answer>,
    ) -> Tool {
        Tool { name, description, schema, run }
    }

    /// JSON Schema (2020-12) of its arguments.
    pub fn schema(&self) -> Value {
        (self.schema)()
    }

    /// Runs it on arguments as text, as the runtime does.
    pub fn run(&self, arguments: &str, call: &Call) -> Result<Answer> {
        (self.run)(arguments, call)
    }
}
