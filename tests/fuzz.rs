//! Can a component be made that harms the host when it is loaded or called? Generated ones and mutated real ones, from a
//! seed. A few on every run; for longer set `HERMES_FUZZ_SECONDS`, and `HERMES_FUZZ_SEED` to see a finding again.

use crate::support::block_on_within;
use crate::support::guest::Guest;
use crate::support::house::{House, call, component};
use arbitrary::Unstructured;
use hermes_runtime::Runtime;
use hermes_runtime::error::Kind;
use hermes_runtime::sandbox::component::binary;
use hermes_runtime::sandbox::install::inspect;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Components of one house, which share a runtime.
const TOGETHER: usize = 16;
/// Houses of a run without a time of its own.
const HOUSES: u64 = 4;
/// Components of one house that are only looked at, which costs less.
const LOOKED_AT: usize = 400;

/// Numbers that follow from a seed: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Real components to change.
fn real() -> Vec<Vec<u8>> {
    let text = |guest: Guest| binary(guest.text().as_bytes()).unwrap().into_owned();
    let beside = "(core module $m (memory 2) (table 9 funcref)) (core instance (instantiate $m))";
    vec![
        text(Guest::default()),
        text(Guest { files: true, beside: beside.into(), ..Guest::default() }),
        std::fs::read(component("hostile")).unwrap(),
    ]
}

/// A few bytes of it changed, removed, doubled or taken from elsewhere.
fn mutated(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len());
        let count = numbers.below(16).min(bytes.len() - at);
        match numbers.below(5) {
            0 => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][numbers.below(5)],
            2 => drop(bytes.drain(at..at + count)),
            3 => {
                let part = bytes[at..at + count].to_vec();
                let to = numbers.below(bytes.len());
                bytes.splice(to..to, part);
            }
            _ => {
                let part = numbers.bytes(count);
                bytes.splice(at..at + count, part);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

/// A guest that starts a generated module beside its own before it answers.
fn with_generated_module(numbers: &mut Numbers) -> Option<Vec<u8>> {
    let noise = numbers.bytes(8192);
    let config = wasm_smith::Config {
        max_imports: 0,
        min_funcs: 1,
        allow_start_export: true,
        max_memories: 2,
        max_tables: 3,
        threads_enabled: false,
        memory64_enabled: false,
        gc_enabled: false,
        exceptions_enabled: false,
        ..wasm_smith::Config::default()
    };
    let module = wasm_smith::Module::new(config, &mut Unstructured::new(&noise)).ok()?.to_bytes();
    let mut quoted = String::new();
    module.iter().for_each(|byte| write!(quoted, "\\{byte:02x}").unwrap());
    let beside = format!("(core module $generated binary \"{quoted}\") (core instance (instantiate $generated))");
    binary(Guest { beside, ..Guest::default() }.text().as_bytes()).ok().map(std::borrow::Cow::into_owned)
}

fn one(numbers: &mut Numbers, real: &[Vec<u8>]) -> Vec<u8> {
    let made = (numbers.below(2) == 0).then(|| with_generated_module(numbers)).flatten();
    made.unwrap_or_else(|| mutated(&real[numbers.below(real.len())], numbers))
}

/// Loads so many components, calls each and the calm one after it. Gives what came of them.
fn run_house(seed: u64, real: &[Vec<u8>], found: &mut BTreeMap<String, usize>) {
    let mut numbers = Numbers(seed);
    let declared: BTreeSet<String> = ["files".to_owned()].into();
    for _ in 0..LOOKED_AT {
        let looked = inspect(&one(&mut numbers, real), &declared).is_ok();
        *found.entry(format!("inspected, {}", if looked { "read" } else { "refused" })).or_default() += 1;
    }
    let house = House::empty();
    Guest { name: "calm".into(), ..Guest::default() }.put(&house);
    for number in 0..TOGETHER {
        let guest = Guest {
            name: format!("probe_{number}"),
            files: true,
            manifest: "timeout_ms = 50".into(),
            limits: "memory_mb = 16".into(),
            ..Guest::default()
        };
        guest.put(&house);
        let folder = house.path("plugins").join(&guest.name);
        // Binary or text, it is found out from what is in it.
        std::fs::write(folder.join("component.wat"), one(&mut numbers, real)).unwrap();
    }
    let mut config = house.config();
    config.cache_dir = house.path("cache");
    config.install.seconds = 10;
    config.install.memory_mb = 1024;
    let runtime = Runtime::start(config, &[], None).unwrap();
    block_on_within(Duration::from_secs(120), async {
        for number in 0..TOGETHER {
            let answer = runtime.call(call(&format!("probe_{number}"), json!({}))).await.envelope;
            let kind = answer.error.as_ref().map(|error| error.kind);
            assert_ne!(kind, Some(Kind::Internal), "seed {seed}, number {number}: {:?}", answer.error);
            *found.entry(kind.map_or("called, ok".into(), |kind| format!("called, {}", kind.name()))).or_default() += 1;
            let calm = runtime.call(call("calm", json!({}))).await.envelope;
            assert_eq!(calm.data, json!({}), "after seed {seed}, number {number}: {:?}", calm.error);
        }
    });
}

#[test]
fn no_component_harms_the_host() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("HERMES_FUZZ_SECONDS").map(Duration::from_secs);
    let first = number("HERMES_FUZZ_SEED").unwrap_or(1);
    let (real, began, mut found) = (real(), Instant::now(), BTreeMap::new());
    for house in 0.. {
        if seconds.map_or(house >= HOUSES, |seconds| began.elapsed() >= seconds) {
            break;
        }
        run_house(first.wrapping_add(house.wrapping_mul(0x1_0000)), &real, &mut found);
    }
    let total: usize = found.values().sum();
    println!("{total} components in {:?}: {found:?}", began.elapsed());
    assert!(found.len() > 2, "all ended alike: {found:?}");
}
