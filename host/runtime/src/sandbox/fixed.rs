//! What do a component's clocks and its random numbers say? The machine's time, or what a test or a replay fixed, each look
//! noted; and numbers that follow from a seed, which is fresh for each call unless it is fixed.

use crate::call::Fixed;
use crate::tape::Times;
use rand_core::{Infallible, TryRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
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

/// What a component's clocks show before it is noted.
#[derive(Clone)]
pub(crate) enum Shown {
    /// The machine's time; the monotonic clock begins at this moment.
    Real(Instant),
    /// What a test fixed.
    Fixed(FixedClock),
}

/// A component's clocks, each look noted or played. Lifetime: the attempt.
#[derive(Clone)]
pub(crate) struct Clock {
    pub(crate) shown: Shown,
    pub(crate) times: Times,
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        let shown = || match &self.shown {
            Shown::Real(_) => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            Shown::Fixed(clock) => clock.start.saturating_add(clock.passed()),
        };
        Duration::from_nanos(self.times.look(|| nanoseconds(shown())))
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        let shown = || match &self.shown {
            Shown::Real(began) => began.elapsed(),
            Shown::Fixed(clock) => clock.passed(),
        };
        self.times.look(|| nanoseconds(shown()))
    }
}

/// Random bytes of the system.
pub(crate) fn fresh_seed() -> std::io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    let mut filled = 0;
    while filled < seed.len() {
        filled += rustix::rand::getrandom(&mut seed[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(seed)
}

/// The seed of one attempt, which nobody foresees who does not know the runtime's own.
pub(crate) fn seed_of(seeds: &[u8; 32], call_id: &str, attempt: u32) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(seeds);
    hasher.update(call_id.as_bytes()).update(&attempt.to_le_bytes());
    *hasher.finalize().as_bytes()
}

/// Random numbers that follow from a seed: the extendable output of a keyed BLAKE3, made when the first one is wanted.
pub(crate) struct Seeded {
    seed: [u8; 32],
    purpose: &'static str,
    output: Option<blake3::OutputReader>,
}

impl Seeded {
    /// Each purpose has numbers of its own.
    pub(crate) fn new(seed: [u8; 32], purpose: &'static str) -> Seeded {
        Seeded { seed, purpose, output: None }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        let Seeded { seed, purpose, output } = self;
        let make = || blake3::Hasher::new_keyed(seed).update(purpose.as_bytes()).finalize_xof();
        output.get_or_insert_with(make).fill(bytes);
    }

    pub(crate) fn next_u128(&mut self) -> u128 {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
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
        self.fill(bytes);
        Ok(())
    }
}
