//! Seven steps between an AI agent's tool call and the world.
//!
//! An agent's call is looked up, routed, permitted, validated, run in a sandbox, shaped and written down:
//!
//! ```text
//! Call ─1 registry→ Tool ─2 adapter→ Adapter ─3 permission→ Grant ─4 validation→ Args
//!      ─5 sandbox→ Output ─6 result→ Envelope ─7 injection→ Injection (+ exactly one outcome record)
//! ```
//!
//! A [`Runtime`] is made from a [`config::Config`] and answers each [`call::Call`] with an [`envelope::Envelope`],
//! whatever happens. See `examples/` for a program that embeds it.

mod beside;
mod built_in;
mod canonical;
mod key;
mod showing;

pub mod address;
pub mod artifact;
pub mod asking;
pub mod authority;
pub mod browsing;
pub mod call;
pub mod cancel;
pub mod checking;
pub mod config;
mod dispatch;
pub mod document;
mod early;
pub mod envelope;
pub mod error;
pub mod faults;
mod folders;
mod foresight;
pub mod journal;
mod listed;
mod map;
#[cfg_attr(not(feature = "metrics"), path = "measure_none.rs")]
mod measure;
mod nesting;
pub mod outbound;
mod presence;
pub mod profile;
pub mod record;
pub mod replaying;
pub mod rules;
pub mod servers;
pub mod settings;
mod shelf;
pub mod signed;
mod spread;
mod store;
pub mod tape;
pub mod toolbox;
mod trail;
mod unwind;
mod upkeep;
mod wal;
mod writer;

pub mod registry;

pub mod adapter;

pub mod permission;

pub mod validation;

pub mod sandbox;

pub mod result;

pub mod injection;

pub use call::Call;
pub use config::Config;
pub use dispatch::{Runtime, open_journal};
pub use envelope::Envelope;
pub use error::{Error, Kind};
pub use injection::Injection;
pub use sandbox::helper_main;
pub use shelf::StartError;
