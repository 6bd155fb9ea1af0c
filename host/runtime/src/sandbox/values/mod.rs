//! What do values of a component look like as JSON? For components that know nothing of the contract and whose functions
//! are tools by their types alone: `shape` has the types, `read` finds them in a component, `schema` says them as JSON
//! Schema, `json` turns values over both ways.

mod json;
mod read;
mod schema;
mod shape;
mod tool;

pub use json::{from_json, params_from_json, to_json};
pub use read::{functions_of, functions_of_wit, interface_of_wit};
pub use schema::{schema, schema_of};
pub use shape::{Case, Field, Function, Functions, Shape};
pub use tool::tools;

#[cfg(test)]
mod tests;
