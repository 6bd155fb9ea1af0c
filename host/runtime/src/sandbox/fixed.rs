//! What do a component's clock and its random numbers say when a test or a replay fixes them? The same in every run.

use crate::call::Fixed;
use rand_core::{Infallible, TryRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};

/// How far the clock moves with each look at it, so that a component which waits for it comes to an end.
const STEP: Duration = Duration::from_millis(1);

/// A clock that stands still but for the looks at it.
#[derive(Clone)]
pub(crate) struct FixedClock {
    start: Duration,
    looks: Arc<AtomicU64>,
}

impl FixedClock {
    pub(crate) fn new(fixed: &Fixed) -> FixedClock {
        FixedClock { start: Duration::from_millis(fixed.now_ms), looks: Arc::default() }
    }

    fn passed(&self) -> Duration {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        STEP.saturating_mul(u32::try_from(looks).unwrap_or(u32::MAX))
    }
}

impl HostWallClock for FixedClock {
    fn resolution(&self) -> Duration {
        STEP
    }

    fn now(&self) -> Duration {
        self.start.saturating_add(self.passed())
    }
}

impl HostMonotonicClock for FixedClock {
    fn resolution(&self) -> u64 {
        STEP.as_nanos() as u64
    }

    fn now(&self) -> u64 {
        u64::try_from(self.passed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Random numbers that follow from a seed: the extendable output of a keyed BLAKE3.
pub(crate) struct Seeded(blake3::OutputReader);

impl Seeded {
    /// Each purpose has numbers of its own.
    pub(crate) fn new(fixed: &Fixed, purpose: &str) -> Seeded {
        Seeded(blake3::Hasher::new_keyed(&fixed.seed).update(purpose.as_bytes()).finalize_xof())
    }

    pub(crate) fn next_u128(&mut self) -> u128 {
        let mut bytes = [0; 16];
        self.0.fill(&mut bytes);
        u128::from_le_bytes(bytes)
    }
}

impl TryRng for Seeded {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u128() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next_u128() as u64)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(bytes);
        Ok(())
    }
}
