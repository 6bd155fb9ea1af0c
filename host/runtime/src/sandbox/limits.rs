//! How much may one attempt use up? The manifest's limits under the host's ceiling, and the meter that enforces what
//! Wasmtime asks about while a component runs.

use crate::config::Ceiling;
use crate::error::Kind;
use crate::registry::manifest::LimitsManifest;
use std::time::Duration;
use wasmtime::ResourceLimiter;

/// Elements of all tables of one attempt together.
const TABLE_ELEMENTS: usize = 100_000;

/// What one attempt may use up. Lifetime: the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units of fuel.
    pub fuel: u64,
    /// Sum of all linear memories, in bytes.
    pub memory: usize,
    /// What it may return, in bytes.
    pub output: usize,
    /// What it may log, in bytes.
    pub log: usize,
    /// Calls to the host.
    pub host_calls: u64,
    /// Wall time.
    pub timeout: Duration,
}

/// What a tool gets that says nothing, below any sensible ceiling.
const DEFAULT_FUEL: u64 = 10_000_000_000;
const DEFAULT_MEMORY_MB: u64 = 64;
const DEFAULT_OUTPUT: u64 = 16 << 20;
const DEFAULT_LOG: u64 = 64 << 10;
const DEFAULT_HOST_CALLS: u64 = 1_000_000;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

impl Limits {
    /// The manifest's limits or the defaults, never above the ceiling.
    pub fn of(manifest: &LimitsManifest, timeout: Option<Duration>, ceiling: &Ceiling) -> Limits {
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let memory_mb = manifest.memory_mb.unwrap_or(DEFAULT_MEMORY_MB).min(ceiling.memory_mb);
        Limits {
            fuel: manifest.fuel.unwrap_or(DEFAULT_FUEL).min(ceiling.fuel),
            memory: bytes(memory_mb.saturating_mul(1 << 20)),
            output: bytes(manifest.output_bytes.unwrap_or(DEFAULT_OUTPUT).min(ceiling.output_bytes)),
            log: bytes(manifest.log_bytes.unwrap_or(DEFAULT_LOG).min(ceiling.log_bytes)),
            host_calls: manifest.host_calls.unwrap_or(DEFAULT_HOST_CALLS).min(ceiling.host_calls),
            timeout: timeout.unwrap_or(DEFAULT_TIMEOUT).min(Duration::from_millis(ceiling.timeout_ms)),
        }
    }
}

/// What an attempt has used up so far. Lifetime: the attempt.
#[derive(Debug)]
pub(crate) struct Meter {
    memory_limit: usize,
    memory: usize,
    pub(crate) memory_peak: usize,
    table: usize,
    host_calls_limit: u64,
    pub(crate) host_calls: u64,
    /// The first limit that was hit. A component may go on after a refused growth; if it then fails, this is why.
    pub(crate) hit: Option<Kind>,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Meter {
        Meter {
            memory_limit: limits.memory,
            memory: 0,
            memory_peak: 0,
            table: 0,
            host_calls_limit: limits.host_calls,
            host_calls: 0,
            hit: None,
        }
    }

    /// Counts a call to the host.
    pub(crate) fn count_host_call(&mut self) -> wasmtime::Result<()> {
        self.host_calls += 1;
        match self.host_calls <= self.host_calls_limit {
            true => Ok(()),
            false => Err(self.stop(Kind::HostCallLimit)),
        }
    }

    /// Notes which limit ends the attempt.
    pub(crate) fn stop(&mut self, kind: Kind) -> wasmtime::Error {
        self.hit = Some(kind);
        wasmtime::Error::msg(kind.name())
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let sum = self.memory.saturating_add(desired.saturating_sub(current));
        if sum > self.memory_limit {
            self.hit = Some(Kind::OutOfMemory);
            return Ok(false);
        }
        self.memory = sum;
        self.memory_peak = self.memory_peak.max(sum);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let sum = self.table.saturating_add(desired.saturating_sub(current));
        if sum > TABLE_ELEMENTS {
            self.hit = Some(Kind::TableLimit);
            return Ok(false);
        }
        self.table = sum;
        Ok(true)
    }
}
