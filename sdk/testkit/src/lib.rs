//! Load, call and fuzz a component in tests, through all seven steps of the runtime.
//!
//! ```no_run
//! use hermes_testkit::Bench;
//! use serde_json::json;
//!
//! let bench = Bench::of("plugins/mine").unwrap().file("a.txt", "hello").start().unwrap();
//! let called = bench.call("count", json!({ "path": "/workspace/a.txt" }));
//! assert_eq!(called.ok()["found"], 5);
//! assert!(called.envelope.metadata.usage.unwrap().host_calls < 10);
//! ```
//!
//! A component runs on a workspace of its own, with a clock and randomness that are the same in every run; hosts are
//! reached only where the test grants them, and programs not at all unless it names a launcher. [`fuzz`] looks for
//! inputs that break it.
#![allow(clippy::disallowed_methods, reason = "a test kit makes folders for tests")]

pub mod case;
pub mod corpus;
pub mod fuzz;
pub mod generate;
pub mod plugin;
mod shrink;

use hermes_runtime::Runtime;
use hermes_runtime::call::{Call as RuntimeCall, Caller, Fixed};
use hermes_runtime::config::{Access, Config, Origin, Source};
use hermes_runtime::envelope::Envelope;
use hermes_runtime::injection::audit::Reader;
use hermes_runtime::permission::approval::{Answer, Approver, Asking, Request};
use hermes_runtime::record::{Record, RecordKind};

use plugin::Plugin;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The time that a component's clock shows at first: 2026-01-01 UTC, in milliseconds.
pub const NOW_MS: u64 = 1_767_225_600_000;

/// What a component is tried on.
pub struct Setting {
    plugin: Plugin,
    folder: TempDir,
    settings: String,
    seed: [u8; 32],
    now_ms: u64,
    access: Access,
    cache: Option<PathBuf>,
}

/// A runtime with one plugin in a world of its own. Lifetime: the test.
pub struct Bench {
    runtime: Runtime,
    tokio: tokio::runtime::Runtime,
    role: String,
    fixed: Arc<Fixed>,
    folder: TempDir,
}

/// One call and all that is known of it.
#[derive(Debug)]
pub struct Called {
    /// The answer.
    pub envelope: Envelope,
    /// The outcome's record.
    pub record: Option<Record>,
}

/// Says yes to everything: a test has nobody to ask, and what is tested is the component.
struct Yes;

impl Approver for Yes {
    fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
        Box::pin(std::future::ready(Answer::Approved { by: "the test kit".into() }))
    }
}

impl Bench {
    /// A plugin's folder, or a component's file; what a file's tools are is asked of the component.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(path: impl AsRef<Path>) -> Result<Setting, String> {
        Setting::new(Plugin::read(path.as_ref())?)
    }
}

impl Setting {
    /// A plugin that is in memory.
    ///
    /// # Errors
    /// No temporary folder can be made.
    pub fn new(plugin: Plugin) -> Result<Setting, String> {
        let folder = tempfile::Builder::new().prefix("hermes-testkit-").tempdir().map_err(|error| error.to_string())?;
        std::fs::create_dir(folder.path().join("workspace")).map_err(|error| error.to_string())?;
        let (seed, now_ms) = ([7; 32], NOW_MS);
        let settings = "[http]\npublic = false\n".to_owned();
        Ok(Setting { plugin, folder, settings, seed, now_ms, access: Access::ReadWrite, cache: None })
    }

    /// With a file in the workspace.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Setting {
        let path = self.folder.path().join("workspace").join(name);
        let written =
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, content));
        written.unwrap_or_else(|error| panic!("`{name}` cannot be written: {error}"));
        self
    }

    /// With settings as a user's configuration file has them: hosts that are granted, secrets, ceilings.
    pub fn settings(mut self, toml: &str) -> Setting {
        self.settings = toml.to_owned();
        self
    }

    /// With other randomness.
    pub fn seed(mut self, seed: [u8; 32]) -> Setting {
        self.seed = seed;
        self
    }

    /// With a clock that begins at another time, in milliseconds since 1970-01-01 UTC.
    pub fn now_ms(mut self, now_ms: u64) -> Setting {
        self.now_ms = now_ms;
        self
    }

    /// With a workspace that cannot be changed.
    pub fn read_only(mut self) -> Setting {
        self.access = Access::ReadOnly;
        self
    }

    /// With a folder for compiled components that outlives the test.
    pub fn cache(mut self, folder: &Path) -> Setting {
        self.cache = Some(folder.to_owned());
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// What is wrong with the plugin or the settings.
    pub fn start(self) -> Result<Bench, String> {
        let role = self.plugin.role().unwrap_or_else(|| "tester".to_owned());
        let folder = self.plugin.put(&self.folder.path().join("plugin"))?;
        let cache = self.cache.clone().unwrap_or_else(|| self.folder.path().join("cache"));
        let base = Config::new(self.folder.path().join("state"), cache)
            .grant(Config::WORKSPACE, self.folder.path().join("workspace"), self.access)
            .plugin(folder);
        let origin = Origin::User(self.folder.path().join("settings.toml"));
        let source = Source { origin, text: self.settings.clone(), trusted: true };
        let config = Config::load(base, &[source]).map_err(|faults| faults.to_string())?.config;
        let runtime = Runtime::start(config, &[], Some(Arc::new(Yes))).map_err(|error| error.to_string())?;
        let faults: Vec<String> = runtime.toolbox().faults.iter().map(ToString::to_string).collect();
        if !faults.is_empty() {
            return Err(faults.join("\n"));
        }
        let fixed = Arc::new(Fixed { now_ms: self.now_ms, seed: self.seed });
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Bench { runtime, tokio, role, fixed, folder: self.folder })
    }
}

impl Bench {
    /// The runtime, for what this kit has no word for.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The workspace's folder.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Makes a call in a role that the tool admits.
    pub fn call(&self, tool: &str, args: Value) -> Called {
        let caller = Arc::new(Caller { id: "testkit".into(), role: self.role.clone() });
        let call = RuntimeCall::new(tool, args).caller(caller);
        self.made(RuntimeCall { fixed: Some(self.fixed.clone()), ..call })
    }

    /// Makes a call as it is.
    pub fn made(&self, call: RuntimeCall) -> Called {
        let envelope = self.tokio.block_on(async {
            let envelope = self.runtime.call(call).await.envelope;
            self.runtime.flush().await;
            envelope
        });
        let record = self.record(&envelope.metadata.call_id);
        Called { envelope, record }
    }

    /// The answer alone, without waiting for its record.
    pub(crate) fn quick(&self, tool: &str, args: Value) -> Envelope {
        let caller = Arc::new(Caller { id: "testkit".into(), role: self.role.clone() });
        let call = RuntimeCall::new(tool, args).caller(caller);
        let call = RuntimeCall { fixed: Some(self.fixed.clone()), ..call };
        self.tokio.block_on(self.runtime.call(call)).envelope
    }

    fn record(&self, call_id: &str) -> Option<Record> {
        let reader = Reader::open(&self.runtime.config().state_dir).ok()?;
        let entries = reader.show(call_id).ok()?;
        entries.into_iter().map(|entry| entry.record).find(|record| record.kind == RecordKind::Outcome)
    }

    /// What the component says of itself.
    ///
    /// # Errors
    /// It says nothing.
    pub fn describe(&self, adapter: &str) -> Result<hermes_runtime::sandbox::describe::Description, String> {
        let said = self.tokio.block_on(self.runtime.describe(adapter)).ok_or("there is no such adapter")?;
        said.map_err(|error| format!("{error}{}", error.log.as_ref().map(|log| format!("\n{log}")).unwrap_or_default()))
    }
}

impl Called {
    /// The result.
    ///
    /// # Panics
    /// If the call failed; says why, with what only the log has.
    pub fn ok(&self) -> &Value {
        match &self.envelope.error {
            None => &self.envelope.data,
            Some(error) => {
                panic!("the call failed: {error}\n{}", serde_json::to_string_pretty(&self.record).unwrap_or_default())
            }
        }
    }

    /// The kind and the reason of a failure, as `tool_failed/not_found`.
    ///
    /// # Panics
    /// If the call did not fail.
    pub fn failure(&self) -> String {
        let error =
            self.envelope.error.as_ref().unwrap_or_else(|| panic!("the call did not fail: {}", self.envelope.data));
        match &error.reason {
            Some(reason) => format!("{}/{reason}", error.kind.name()),
            None => error.kind.name().to_owned(),
        }
    }

    /// Lines that the component logged and printed, and what the host says of its requests.
    pub fn log(&self) -> Vec<String> {
        self.record.as_ref().map(|record| record.facts.log.clone()).unwrap_or_default()
    }

    /// The whole trail without what differs from run to run, for a comparison with what was kept.
    pub fn snapshot(&self) -> String {
        let mut envelope = serde_json::to_value(&self.envelope).unwrap_or_default();
        for key in ["call_id", "audit_id", "duration_ms", "durability"] {
            envelope["metadata"].as_object_mut().map(|metadata| metadata.remove(key));
        }
        for key in ["wall_us", "cpu_us"] {
            envelope["metadata"]["usage"].as_object_mut().map(|usage| usage.remove(key));
        }
        let steps = self.record.iter().flat_map(|record| &record.steps);
        let steps: Vec<Value> = steps.map(|step| json!([step.step.name(), step.verdict.to_string()])).collect();
        serde_json::to_string_pretty(&json!({ "envelope": envelope, "steps": steps, "log": self.log() }))
            .unwrap_or_default()
    }
}
