//! The call's own log: lines that a component writes, capped, made printable, kept with the call's record.

use crate::document::printable;
use crate::error::Kind;
use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::log::{Host, Level};

/// Lines of one attempt.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) lines: Vec<String>,
    left: usize,
}

impl Log {
    pub(crate) fn new(bytes: usize) -> Log {
        Log { lines: Vec::new(), left: bytes }
    }
}

impl Host for State {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        // A line costs at least this much, so that empty ones are counted too.
        let cost = message.len().max(16);
        let Some(left) = self.log.left.checked_sub(cost) else { return Err(self.meter.stop(Kind::LogLimit)) };
        self.log.left = left;
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.log.lines.push(format!("{level}: {}", printable(&message)));
        Ok(())
    }
}
