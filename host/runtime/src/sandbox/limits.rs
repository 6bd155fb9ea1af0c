//! How much may one attempt use up? The manifest's limits under the host's ceiling, and the meter that enforces what
//! Wasmtime asks about while a component runs.

use crate::config::Ceiling;
use crate::error::Kind;
use crate::registry::manifest::LimitsManifest;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wasmtime::ResourceLimiter;

/// Most elements of one table, for all components of an engine: each slot for a table takes room for so many.
pub(crate) const TABLE_ELEMENTS: usize = 100_000;

/// What one attempt may use up. Lifetime: the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Units of fuel.
    pub fuel: u64,
    /// Sum of all linear memories, in bytes.
    pub memory: usize,
    /// What it may return, in bytes.
    pub output: usize,
    /// What it may log and print, in bytes.
    pub log: usize,
    /// What it may log and print, in lines.
    pub log_lines: usize,
    /// Calls to the host.
    pub host_calls: u64,
    /// What it may hand to the host in one call, in bytes.
    pub host_call_bytes: usize,
    /// Handles that it may hold at the same time.
    pub handles: usize,
    /// Core instances that it is made of.
    pub instances: u64,
    /// Elements of all its tables together.
    pub table_elements: usize,
    /// Wall time of one attempt.
    pub timeout: Duration,
}

/// What a tool gets that says nothing, below any sensible ceiling.
const DEFAULT_FUEL: u64 = 10_000_000_000;
const DEFAULT_MEMORY_MB: u64 = 64;
const DEFAULT_OUTPUT: u64 = 16 << 20;
const DEFAULT_LOG: u64 = 64 << 10;
const DEFAULT_LOG_LINES: u64 = 1000;
const DEFAULT_HOST_CALLS: u64 = 1_000_000;
/// The largest file that is written in one call, and what comes with it.
const DEFAULT_HOST_CALL_BYTES: u64 = 65 << 20;
const DEFAULT_HANDLES: u64 = 1000;
const DEFAULT_INSTANCES: u64 = 64;
const DEFAULT_TABLE_ELEMENTS: u64 = 100_000;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

impl Limits {
    /// The manifest's limits or the defaults, never above the ceiling.
    pub fn of(manifest: &LimitsManifest, timeout: Option<Duration>, ceiling: &Ceiling) -> Limits {
        let least = |wanted: Option<u64>, usual: u64, most: u64| wanted.unwrap_or(usual).min(most);
        let size = |wanted, usual, most| usize::try_from(least(wanted, usual, most)).unwrap_or(usize::MAX);
        let memory_mb = least(manifest.memory_mb, DEFAULT_MEMORY_MB, ceiling.memory_mb);
        Limits {
            fuel: least(manifest.fuel, DEFAULT_FUEL, ceiling.fuel),
            memory: usize::try_from(memory_mb.saturating_mul(1 << 20)).unwrap_or(usize::MAX),
            output: size(manifest.output_bytes, DEFAULT_OUTPUT, ceiling.output_bytes),
            log: size(manifest.log_bytes, DEFAULT_LOG, ceiling.log_bytes),
            log_lines: size(manifest.log_lines, DEFAULT_LOG_LINES, ceiling.log_lines),
            host_calls: least(manifest.host_calls, DEFAULT_HOST_CALLS, ceiling.host_calls),
            host_call_bytes: size(manifest.host_call_bytes, DEFAULT_HOST_CALL_BYTES, ceiling.host_call_bytes),
            handles: size(manifest.handles, DEFAULT_HANDLES, ceiling.handles),
            instances: least(manifest.instances, DEFAULT_INSTANCES, ceiling.instances),
            table_elements: size(manifest.table_elements, DEFAULT_TABLE_ELEMENTS, ceiling.table_elements),
            timeout: timeout.unwrap_or(DEFAULT_TIMEOUT).min(Duration::from_millis(ceiling.timeout_ms)),
        }
    }
}

/// A limit that ends an attempt, as an error of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.name())]
pub(crate) struct LimitHit(pub(crate) Kind);

/// What an attempt has used up so far. Lifetime: the attempt.
#[derive(Debug)]
pub(crate) struct Meter {
    memory_limit: usize,
    memory: usize,
    pub(crate) memory_peak: usize,
    table_limit: usize,
    table: usize,
    host_calls_limit: u64,
    pub(crate) host_calls: u64,
    /// Bytes that capabilities took from the component and gave to it.
    pub(crate) bytes: u64,
    /// What may still be handed over of the answer before it is there, in bytes.
    pub(crate) output_left: usize,
    /// The first limit that was hit. A component may go on after a refused growth; if it then fails, this is why.
    pub(crate) hit: Option<Kind>,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Meter {
        Meter {
            memory_limit: limits.memory,
            memory: 0,
            memory_peak: 0,
            table_limit: limits.table_elements,
            table: 0,
            host_calls_limit: limits.host_calls,
            host_calls: 0,
            bytes: 0,
            output_left: limits.output,
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

    /// Takes back a call to the host that the engine made on its own.
    pub(crate) fn discount_host_call(&mut self) {
        self.host_calls = self.host_calls.saturating_sub(1);
    }

    /// Counts bytes that cross the border of a capability.
    pub(crate) fn count_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Notes which limit ends the attempt.
    pub(crate) fn stop(&mut self, kind: Kind) -> wasmtime::Error {
        self.hit.get_or_insert(kind);
        wasmtime::Error::new(LimitHit(kind))
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let sum = self.memory.saturating_add(desired.saturating_sub(current));
        if sum > self.memory_limit {
            self.hit.get_or_insert(Kind::OutOfMemory);
            return Ok(false);
        }
        self.memory = sum;
        self.memory_peak = self.memory_peak.max(sum);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let sum = self.table.saturating_add(desired.saturating_sub(current));
        if sum > self.table_limit {
            self.hit.get_or_insert(Kind::TableLimit);
            return Ok(false);
        }
        self.table = sum;
        Ok(true)
    }
}
