//! The call's own log: lines that a component writes, and what it prints, in their order, capped, made printable, kept
//! with the call's record.

use crate::document::printable;
use crate::error::Kind;
use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::log::{Host, Level};
use crate::sandbox::limits::{LimitHit, Limits};
use std::sync::{Arc, Mutex, PoisonError};

/// What a line costs at least, so that empty ones are counted too.
const LINE: usize = 16;

/// Lines of one attempt. The streams for what it prints have it too.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Mutex<Lines>>);

#[derive(Debug)]
struct Lines {
    kept: Vec<String>,
    bytes_left: usize,
    lines_left: usize,
    /// The line that each stream has begun.
    begun: [Vec<u8>; 2],
}

/// A stream on which a component prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Stream::Out => "stdout",
            Stream::Err => "stderr",
        }
    }
}

impl Log {
    pub(crate) fn new(limits: &Limits) -> Log {
        let lines = Lines {
            kept: Vec::new(),
            bytes_left: limits.log,
            lines_left: limits.log_lines,
            begun: [Vec::new(), Vec::new()],
        };
        Log(Arc::new(Mutex::new(lines)))
    }

    /// Takes what a component prints.
    ///
    /// # Errors
    /// It printed more than it may.
    pub(crate) fn print(&self, stream: Stream, bytes: &[u8]) -> Result<(), LimitHit> {
        let mut lines = self.lines();
        lines.bytes_left = lines.bytes_left.checked_sub(bytes.len()).ok_or(LimitHit(Kind::LogLimit))?;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            lines.begun[stream as usize].extend_from_slice(part);
            if part.ends_with(b"\n") {
                lines.end(stream)?;
            }
        }
        Ok(())
    }

    fn write(&self, level: &str, message: &str) -> Result<(), LimitHit> {
        let mut lines = self.lines();
        lines.bytes_left = lines.bytes_left.checked_sub(message.len().max(LINE)).ok_or(LimitHit(Kind::LogLimit))?;
        lines.keep(level, message)
    }

    /// All lines, the unfinished ones too.
    pub(crate) fn collect(&self) -> Vec<String> {
        let mut lines = self.lines();
        for stream in [Stream::Out, Stream::Err] {
            if !lines.begun[stream as usize].is_empty() {
                // What was begun is kept even if it is one line too many: it is often the last word before a failure.
                lines.lines_left = lines.lines_left.max(1);
                let _ = lines.end(stream);
            }
        }
        std::mem::take(&mut lines.kept)
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn end(&mut self, stream: Stream) -> Result<(), LimitHit> {
        let line = std::mem::take(&mut self.begun[stream as usize]);
        let text = String::from_utf8_lossy(&line);
        self.keep(stream.name(), text.trim_end_matches(['\n', '\r']))
    }

    fn keep(&mut self, source: &str, text: &str) -> Result<(), LimitHit> {
        self.lines_left = self.lines_left.checked_sub(1).ok_or(LimitHit(Kind::LogLimit))?;
        self.kept.push(format!("{source}: {}", printable(text)));
        Ok(())
    }
}

impl Host for State {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.log.write(level, &message).map_err(|LimitHit(kind)| self.meter.stop(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Ceiling;
    use crate::registry::manifest::LimitsManifest;

    fn log(bytes: u64, lines: u64) -> Log {
        let manifest = LimitsManifest { log_bytes: Some(bytes), log_lines: Some(lines), ..LimitsManifest::default() };
        Log::new(&Limits::of(&manifest, None, &Ceiling::default()))
    }

    #[test]
    fn lines_stay_in_order_and_whole_whatever_is_printed_between() {
        let log = log(1000, 10);
        log.print(Stream::Out, b"one, ").unwrap();
        log.print(Stream::Err, b"oh\r\n").unwrap();
        log.write("info", "noted").unwrap();
        log.print(Stream::Out, b"and two\nthree").unwrap();
        assert_eq!(log.collect(), ["stderr: oh", "info: noted", "stdout: one, and two", "stdout: three"]);
        assert!(log.collect().is_empty());
    }

    #[test]
    fn neither_bytes_nor_lines_exceed_what_they_may() {
        let full = LimitHit(Kind::LogLimit);
        assert_eq!(log(5, 10).print(Stream::Out, b"123456"), Err(full));
        assert_eq!(log(1000, 2).print(Stream::Out, b"\n\n\n"), Err(full));
        let log = log(40, 10);
        assert_eq!((log.write("info", ""), log.write("info", ""), log.write("info", "")), (Ok(()), Ok(()), Err(full)));
    }
}
