//! Write a function with typed arguments, get a tool.
//!
//! ```
//! use hermes_sdk::{Call, Failure, Result, plugin, tool};
//! use serde_json::{Value, json};
//!
//! /// Greet somebody, as often as they like.
//! #[tool]
//! fn greet(
//!     /// Whom to greet.
//!     name: String,
//!     /// How often.
//!     #[arg(default = 1_u32, min = 1, max = 10)]
//!     times: u32,
//!     call: &Call,
//! ) -> Result<Value> {
//!     if name.trim().is_empty() {
//!         return Err(Failure::invalid("the name is empty").hint("say whom to greet"));
//!     }
//!     call.progress(1, Some(1), "greeting");
//!     Ok(json!({ "greeting": format!("Hello, {name}! ").repeat(times as usize).trim() }))
//! }
//!
//! plugin! { name: "greeter", tools: [greet] }
//!
//! // A tool is an ordinary function, so its tests need no WebAssembly.
//! # fn main() {
//! let found = greet("Ada".into(), 2, &Call::for_test()).unwrap();
//! assert_eq!(found["greeting"], "Hello, Ada! Hello, Ada!");
//! # }
//! ```
//!
//! Compiled for `wasm32-wasip2`, the crate is a component that `hermes-dispatch` runs: a schema comes from the types and
//! the documentation of the arguments, failures have kinds and reasons of their own, and what is not asked for is not
//! there. An argument that is a reference is a capability, handed in: [`Files`], [`Programs`], [`Http`], [`Secrets`],
//! [`Tools`].
//!
//! In a native test, [`native::World`] stands for the host.

extern crate self as hermes_sdk;

#[allow(
    clippy::all,
    missing_docs,
    unreachable_pub,
    unsafe_code,
    dead_code,
    unused,
    rustdoc::all,
    reason = "generated from wit/"
)]
#[allow(
    clippy::all,
    clippy::unwrap_used,
    clippy::allow_attributes_without_reason,
    missing_docs,
    unreachable_pub,
    reason = "the file is generated"
)]
pub mod bindings;

mod answer;
mod call;
mod component;
mod failure;
mod files;
mod http;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
mod programs;
mod schema;
mod secrets;
mod tool;
mod tools;

#[doc(hidden)]
pub mod __private;

pub use __private::arguments;
pub use answer::{Answer, IntoAnswer, Part};
pub use call::{Call, Given, Level};
pub use component::Plugin;
pub use failure::{Failure, Kind, Result};
pub use files::{Entry, EntryKind, Expectation, Files, Grant, Reader, Status, Written};
pub use hermes_sdk_macros::{Schema, tool};
pub use http::{Http, Request, Response};
pub use programs::{Ended, Finished, Program, Programs};
pub use schema::Schema;
pub use secrets::Secrets;
pub use serde;
pub use serde_json;
pub use tool::Tool;
pub use tools::{Reply, Tools};
