//! Does another engine find what lies behind four letters? libFuzzer brings bytes and looks at the plugin's own edges.
//! The plugin is named by `PLUGIN`; components are compiled by the command that `HERMES_DISPATCH` names.
#![no_main]

use hermes_testkit::fuzz::Target;
use std::sync::atomic::AtomicU8;
use std::sync::{LazyLock, Mutex};

/// What libFuzzer looks at beside its own counters.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static EDGES: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];

static TARGET: LazyLock<Mutex<Target>> = LazyLock::new(|| {
    let plugin = std::env::var("PLUGIN").expect("PLUGIN names a plugin's folder");
    Mutex::new(Target::of(plugin).unwrap_or_else(|why| panic!("{why}")))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(finding) = TARGET.lock().unwrap().run(bytes, &EDGES).unwrap() {
        panic!("{finding}");
    }
});
