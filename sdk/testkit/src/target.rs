//! How does another fuzzing engine come in? It brings bytes, of which an input is made, and takes what was reached as
//! counters of its own.

use crate::fuzz::{Finding, Tryer};
use crate::generate::Random;
use crate::guide::Guide;
use crate::plugin::Plugin;
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// A plugin as an engine's target. Lifetime: the engine's process.
///
/// With libFuzzer, the counters are those that it looks at beside its own:
///
/// ```ignore
/// #![no_main]
/// use hermes_testkit::fuzz::Target;
/// use std::sync::{LazyLock, Mutex, atomic::AtomicU8};
///
/// #[unsafe(link_section = "__libfuzzer_extra_counters")]
/// static EDGES: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];
/// static TARGET: LazyLock<Mutex<Target>> = LazyLock::new(|| Mutex::new(Target::of("plugins/greeter").unwrap()));
///
/// libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
///     if let Some(finding) = TARGET.lock().unwrap().run(bytes, &EDGES).unwrap() {
///         panic!("{finding}");
///     }
/// });
/// ```
pub struct Target {
    tools: Vec<(String, Value)>,
    tryer: Tryer,
    guide: Guide,
}

impl Target {
    /// A plugin's folder, or a component's file.
    ///
    /// # Errors
    /// What is wrong with it, or why it cannot be counted.
    pub fn of(plugin: impl AsRef<Path>) -> Result<Target, String> {
        let plugin = Plugin::read(plugin.as_ref())?;
        Ok(Target { tools: plugin.tools()?, tryer: Tryer::new(&plugin), guide: Guide::new(&plugin)? })
    }

    /// Runs the input that some bytes mean, and adds what it reached to the counters. What the input made happen that must
    /// not be is judged on the component itself.
    ///
    /// # Errors
    /// The plugin cannot be loaded any more.
    pub fn run(&mut self, bytes: &[u8], edges: &[AtomicU8]) -> Result<Option<Finding>, String> {
        let mut random = Random::of_bytes(bytes);
        let (tool, args, world) = self.tryer.made(&self.tools, &[], &mut random).ok_or("the plugin has no tool")?;
        // An engine that knows nothing of the component would have to guess whole words of it, letter by letter.
        let args = if random.below(2) == 0 { self.guide.turned(&args, &mut random) } else { args };
        let origin = self.tryer.origin(world);
        let seen = self.guide.run(&tool, &args, world, &origin, (0, Instant::now()))?;
        for (counter, count) in &seen.reached {
            if let Some(edge) = edges.get(*counter as usize % edges.len().max(1)) {
                edge.store(edge.load(Ordering::Relaxed).saturating_add(*count), Ordering::Relaxed);
            }
        }
        if !seen.is_new && !seen.is_odd {
            return Ok(None);
        }
        let (found, _) = self.tryer.judge(&tool, &args, world, false)?;
        Ok(found.map(|(oracle, what)| Finding { oracle, tool, args, world, what }))
    }
}
