//! On what do components run? One engine for each runtime, with the settings that make limits and deadlines hold, and
//! the thread that makes its epochs pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How often running components look at their deadline. A guest overshoots its deadline by about this much.
pub(crate) const TICK: Duration = Duration::from_millis(5);
/// Deepest stack of WebAssembly code, in bytes. An engine's setting, the same for all components.
const WASM_STACK: usize = 512 << 10;
/// Stack of the fiber that a call runs on: WebAssembly's and the host functions' on top of it.
const FIBER_STACK: usize = 1536 << 10;
/// Core instances, memories and tables that a component may have: its own modules, adapters and shims.
pub(crate) const INSTANCES: u32 = 64;
/// Ticks without a call after which the ticking thread sleeps.
const IDLE_TICKS: u32 = 200;

/// The engine and its ticking thread. Lifetime: the runtime.
pub(crate) struct Ticking {
    pub(crate) engine: Engine,
    clock: Arc<Clock>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Clock {
    running: AtomicU64,
    asleep: AtomicBool,
    ended: AtomicBool,
}

/// As long as one lives, epochs pass.
pub(crate) struct Tick<'a> {
    clock: &'a Clock,
}

/// The settings of the engine. `slots` is how many calls may run at the same time, `memory` what one may use in bytes.
pub fn settings(slots: u32, memory: usize) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .wasm_component_model(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(slots, memory)));
    config
}

/// Each slot takes address space, not memory; what a call touched is given back or zeroed when it ends.
fn pool(slots: u32, memory: usize) -> PoolingAllocationConfig {
    /// Room for the memories of all slots; most components have one.
    const MEMORIES: u32 = 2;
    // Calls within others have places of their own.
    let slots = slots * 2;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots * 8)
        .total_memories(slots * MEMORIES)
        .total_tables(slots * 8)
        .total_stacks(slots)
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(INSTANCES)
        .max_tables_per_component(INSTANCES)
        .max_memories_per_module(INSTANCES)
        .max_tables_per_module(INSTANCES)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .table_elements(super::limits::TABLE_ELEMENTS)
        .max_memory_size(memory)
        .max_unused_warm_slots(slots)
        .linear_memory_keep_resident(256 << 10)
        // Where the kernel can say which pages a call has touched, those are put back and stay, wherever they are.
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10);
    pool
}

/// An engine with room set aside for all calls, or, where the system does not give that much address space, one that
/// asks for it call by call.
fn engine(config: &Config) -> Result<Engine, String> {
    Engine::new(config).or_else(|error| {
        let why = format!("{error:#}");
        tracing::warn!(%why, "no room can be set aside for calls, which makes each a little slower");
        Engine::new(config.clone().allocation_strategy(InstanceAllocationStrategy::OnDemand))
            .map_err(|error| format!("{error:#}"))
    })
}

impl Ticking {
    pub(crate) fn start(config: &Config) -> Result<Ticking, String> {
        let engine = engine(config)?;
        let clock = Arc::new(Clock::default());
        let thread = std::thread::Builder::new()
            .name("hermes-epochs".into())
            .spawn({
                let (engine, clock) = (engine.clone(), clock.clone());
                move || tick(&engine, &clock)
            })
            .map_err(|error| error.to_string())?;
        Ok(Ticking { engine, clock, thread: Some(thread) })
    }

    /// Keeps epochs passing while a call runs.
    pub(crate) fn hold(&self) -> Tick<'_> {
        self.clock.running.fetch_add(1, Ordering::SeqCst);
        if self.clock.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
        Tick { clock: &self.clock }
    }

    fn wake(&self) {
        self.thread.as_ref().map(JoinHandle::thread).map(Thread::unpark);
    }
}

impl Drop for Tick<'_> {
    fn drop(&mut self) {
        self.clock.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.clock.ended.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn tick(engine: &Engine, clock: &Clock) {
    let mut idle = 0;
    while !clock.ended.load(Ordering::SeqCst) {
        std::thread::sleep(TICK);
        engine.increment_epoch();
        idle = if clock.running.load(Ordering::SeqCst) > 0 { 0 } else { idle + 1 };
        if idle > IDLE_TICKS {
            sleep_until_called(clock);
            idle = 0;
        }
    }
}

fn sleep_until_called(clock: &Clock) {
    clock.asleep.store(true, Ordering::SeqCst);
    while clock.running.load(Ordering::SeqCst) == 0 && !clock.ended.load(Ordering::SeqCst) {
        std::thread::park();
    }
    clock.asleep.store(false, Ordering::SeqCst);
}
