//! Does the whole pipeline do what a scenario says? Runs `scenarios/<fault>/scenario.toml` from set-up to journal, and
//! checks of every one what must always hold: one outcome a call, an unbroken chain, no host path in an answer,
//! nothing changed that the scenario does not name.

mod format;
mod matcher;
mod run;
mod setup;

/// One test for each folder.
mod cases {
    include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
}

pub(crate) use run::{folder, run, run_with};
