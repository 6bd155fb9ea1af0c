//! Which promises of the runtime hold from outside? One binary: scenarios, hostile guests, and what only Rust can ask.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test stops at the first thing that is not as it says"
)]

mod support;

mod apart;
mod approvals;
mod arguments;
mod audit;
mod author;
mod browser;
mod command;
mod command_approvals;
mod command_files;
mod command_inputs;
mod command_records;
mod command_settings;
mod command_terminal;
mod commands;
mod concurrency;
mod containment;
mod contract;
mod durability;
mod embedding;
mod fuzz;
mod fuzzing;
mod gateway;
mod giving_up;
mod hostile;
mod install;
mod leaks;
mod learning;
mod limits;
mod manifests;
mod nesting;
mod outbound;
mod permission_golden;
mod policies;
mod processes;
mod production_database;
mod programs;
mod properties;
mod readme;
mod registry;
mod relevance;
mod renaming;
mod replaying;
mod retry;
mod risk_model;
mod scenario;
mod secrets;
mod servers;
mod spans;
mod streaming;
mod testkit;
mod tidy;
mod trajectory;
