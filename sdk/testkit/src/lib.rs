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
//! A component runs on a workspace of its own, with a clock and randomness that are the same in every run. What it
//! reaches beside that is scripted by the test and lies on this machine, behind the runtime's real capabilities:
//! [`Setting::reply`] for other hosts and pages, [`Setting::program`] for programs, [`Setting::server_tool`] for a server
//! of the Model Context Protocol. [`fuzz`] looks for inputs that break it.
//!
//! Components are compiled, and programs started, by a helper: the command `hermes-dispatch` from `PATH`, the one that
//! `HERMES_DISPATCH` names, or that of [`use_helper`]. Compiled components are kept where the command keeps them.
#![allow(clippy::disallowed_methods, reason = "a test kit makes folders for tests")]

mod called;
pub mod case;
pub mod corpus;
mod coverage;
pub mod fuzz;
pub mod generate;
mod guide;
mod helper;
mod mutate;
mod oracle;
mod plot;
pub mod plugin;
mod scratch;
pub mod scripted;
mod shrink;
mod target;
mod world;

use hermes_runtime::Runtime;
use hermes_runtime::authority::Authority;
use hermes_runtime::call::{Call as RuntimeCall, Caller, Fixed};
use hermes_runtime::config::{Access, Config, InstallSettings, Origin, Source};
use hermes_runtime::envelope::Envelope;
pub use hermes_runtime::faults::FileFaults;
use hermes_runtime::injection::audit::Reader;
use hermes_runtime::outbound::HttpGrant;
use hermes_runtime::permission::approval::{Answer, Approver, Asking, Request};
use hermes_runtime::record::{Record, RecordKind};

pub use called::Called;
pub use helper::use_helper;
use helper::{helper, kept};
use plugin::Plugin;
use scratch::Scratch;
use scripted::{Arrived, Elsewhere, Reply, Script};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The time that a component's clock shows at first: 2026-01-01 UTC, in milliseconds.
pub const NOW_MS: u64 = 1_767_225_600_000;

/// What a component is tried on.
pub struct Setting {
    plugin: Plugin,
    folder: Scratch,
    settings: String,
    seed: [u8; 32],
    now_ms: u64,
    access: Access,
    cache: Option<PathBuf>,
    script: Script,
    programs: BTreeMap<String, String>,
    authorities: Vec<Authority>,
    file_faults: FileFaults,
    is_patient: bool,
    kept: Vec<Scratch>,
}

/// A runtime with one plugin in a world of its own. Lifetime: the test.
pub struct Bench {
    runtime: Runtime,
    tokio: tokio::runtime::Runtime,
    role: String,
    fixed: Arc<Fixed>,
    folder: Scratch,
    elsewhere: Option<Elsewhere>,
    /// Folders that are gone with it.
    _kept: Vec<Scratch>,
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
        let folder = Scratch::new().map_err(|error| error.to_string())?;
        std::fs::create_dir(folder.path().join("workspace")).map_err(|error| error.to_string())?;
        let (seed, now_ms) = ([7; 32], NOW_MS);
        Ok(Setting {
            plugin,
            folder,
            settings: String::new(),
            seed,
            now_ms,
            access: Access::ReadWrite,
            cache: None,
            script: Script::default(),
            programs: BTreeMap::new(),
            authorities: Vec::new(),
            file_faults: FileFaults::default(),
            is_patient: false,
            kept: Vec::new(),
        })
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

    /// With another folder for compiled components.
    pub fn cache(mut self, folder: &Path) -> Setting {
        self.cache = Some(folder.to_owned());
        self
    }

    /// With an answer to a request for a path at [`Bench::origin`]. Several for the same one are given in turn, the last
    /// one for ever. A browser gets its pages from there, too.
    pub fn reply(mut self, method: &str, path: &str, reply: Reply) -> Setting {
        self.script.reply(method, path, reply);
        self
    }

    /// With an answer to every request that has none of its own.
    pub fn otherwise(mut self, reply: Reply) -> Setting {
        self.script.otherwise = Some(reply);
        self
    }

    /// With a tool of a server of the Model Context Protocol, which is called `scripted`: the schema of its arguments and
    /// the result of every call, as the protocol has it.
    pub fn server_tool(mut self, name: &str, schema: Value, result: Value) -> Setting {
        self.script.tool(name, schema, result);
        self
    }

    /// With a capability of the embedding program, answered as the test says.
    pub fn authority(mut self, authority: Authority) -> Setting {
        self.authorities.push(authority);
        self
    }

    /// With a disk that is full, or with files that others cut while they are read.
    pub fn file_faults(mut self, faults: FileFaults) -> Setting {
        self.file_faults = faults;
        self
    }

    /// With as much time and memory to compile its component as a component with counters takes.
    pub(crate) fn patient(mut self) -> Setting {
        self.is_patient = true;
        self
    }

    /// With a program: a script with its first line, such as `#!/bin/sh`. It runs in the real sandbox, before any program
    /// of the same name of this machine.
    pub fn program(mut self, name: &str, script: &str) -> Setting {
        self.programs.insert(name.to_owned(), script.to_owned());
        self
    }

    /// What the world beside the workspace is: scripted programs and the server that stands for all others.
    fn beside(&mut self, mut config: Config) -> Result<(Config, Vec<HttpGrant>, Option<Elsewhere>), String> {
        let failed = |error: std::io::Error| error.to_string();
        config.process.helper = helper();
        if !self.programs.is_empty() {
            use std::os::unix::fs::PermissionsExt;
            // Not in the machine's folder for temporary files, of which a sandbox has one of its own.
            let place = kept().unwrap_or_else(|| PathBuf::from("/var/tmp")).join("testkit");
            std::fs::create_dir_all(&place).map_err(failed)?;
            let made = Scratch::new_in(&place).map_err(failed)?;
            let folder = made.path().to_owned();
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
            self.kept.push(made);
            for (name, script) in &self.programs {
                let file = folder.join(name);
                std::fs::write(&file, script).map_err(failed)?;
                std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
            }
            config.process.system.push(folder.clone());
            config.process.path.push(folder);
        }
        if self.script.is_empty() {
            return Ok((config, Vec::new(), None));
        }
        let elsewhere = Elsewhere::start(self.script.clone()).map_err(failed)?;
        let address = elsewhere.address;
        let mut settings = format!(
            "[[http.grants]]\norigin = \"http://{address}\"\nprivate = true\n\
             [browser]\nprivate_hosts = [\"{address}\"]\n"
        );
        if self.script.has_tools() {
            let roles = serde_json::to_string(&[self.role()]).unwrap_or_default();
            settings += &format!("[mcp.servers.scripted]\nurl = \"http://{address}/mcp\"\nroles = {roles}\n");
        }
        let source = Source { origin: Origin::User("the test kit".into()), text: settings, trusted: true };
        let mut config = Config::load(config, &[source]).map_err(|faults| faults.to_string())?.config;
        // The test's own settings say all about hosts, and what it scripted is granted besides.
        let grants = std::mem::take(&mut config.http.grants);
        Ok((config, grants, Some(elsewhere)))
    }

    fn role(&self) -> String {
        self.plugin.role().unwrap_or_else(|| "tester".to_owned())
    }

    /// Starts it.
    ///
    /// # Errors
    /// What is wrong with the plugin or the settings.
    pub fn start(mut self) -> Result<Bench, String> {
        let role = self.role();
        let folder = self.plugin.put(&self.folder.path().join("plugin"))?;
        let cache = self.cache.clone().or_else(kept).unwrap_or_else(|| self.folder.path().join("cache"));
        let base = Config::new(self.folder.path().join("state"), cache)
            .grant(Config::WORKSPACE, self.folder.path().join("workspace"), self.access)
            .plugin(folder);
        let mut base = self.authorities.drain(..).fold(base, Config::authority);
        base.file_faults = self.file_faults;
        if self.is_patient {
            base.install = InstallSettings { seconds: 900, memory_mb: 8192 };
        }
        let (base, grants, elsewhere) = self.beside(base)?;
        let origin = Origin::User(self.folder.path().join("settings.toml"));
        let source = Source { origin, text: self.settings.clone(), trusted: true };
        let mut config = Config::load(base, &[source]).map_err(|faults| faults.to_string())?.config;
        config.http.grants.extend(grants);
        // A test reaches nothing beyond this machine unless it says so.
        config.http.public.get_or_insert(false);
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
        Ok(Bench { runtime, tokio, role, fixed, folder: self.folder, elsewhere, _kept: self.kept })
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

    /// Where scripted answers are, such as `http://127.0.0.1:40001`; empty if there are none.
    pub fn origin(&self) -> String {
        self.elsewhere.as_ref().map(|elsewhere| format!("http://{}", elsewhere.address)).unwrap_or_default()
    }

    /// The requests that have arrived there.
    pub fn requests(&self) -> Vec<Arrived> {
        self.elsewhere.as_ref().map(Elsewhere::arrived).unwrap_or_default()
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
