//! In which world does an input run? One that is kind, and others that are not: each is a runtime with a workspace, a
//! clock, limits and other hosts of its own. Must not know what is judged.

use crate::generate::Random;
use crate::oracle::Oracle;
use crate::plugin::Plugin;
use crate::scripted::Reply;
use crate::{Bench, NOW_MS, Setting};
use hermes_runtime::authority::Authority;
use hermes_runtime::envelope::Envelope;
use hermes_runtime::faults::FileFaults;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// The world that an input runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// Some files, readable and writable; other hosts answer with JSON.
    Kind,
    /// Nothing in the workspace.
    Empty,
    /// A workspace that cannot be changed.
    ReadOnly,
    /// Links that lead out, a pipe and folders where files should be.
    Odd,
    /// A clock at the beginning of its time, and other randomness.
    Past,
    /// A clock far ahead.
    Future,
    /// Little fuel, memory and time.
    Poor,
    /// A disk without space.
    Full,
    /// Files that others cut while they are read.
    Shrinking,
    /// Other hosts break off in the middle of an answer.
    Cut,
    /// Other hosts hand out an answer byte by byte.
    Dribble,
    /// Other hosts answer with what is no HTTP.
    Garbage,
    /// Other hosts say nothing.
    Silent,
}

/// Worlds for every plugin. The kind one comes up more often.
const ALL: &[World] =
    &[World::Kind, World::Kind, World::Empty, World::ReadOnly, World::Odd, World::Past, World::Future, World::Poor];
/// Worlds for plugins that use files.
const FILES: &[World] = &[World::Full, World::Shrinking];
/// Worlds for plugins that send requests.
const HOSTS: &[World] = &[World::Cut, World::Dribble, World::Garbage, World::Kind, World::Silent];

/// Memory in the poor world, in MiB, and the least of it that is left once the component has started.
const POOR_MB: u64 = 4;
const SPARE_MB: u64 = 1;

impl World {
    /// Whether something is the world's fault and not the component's.
    pub(crate) fn explains(self, oracle: Oracle) -> bool {
        match self {
            World::Poor => matches!(oracle, Oracle::Fuel | Oracle::Memory | Oracle::Hang),
            // What leads out there has the name of an ordinary file.
            World::Odd => oracle == Oracle::OutsideGrant,
            World::Silent => oracle == Oracle::Hang,
            _ => false,
        }
    }

    /// Whether two equal calls may have two results in it.
    pub(crate) fn differs(self) -> bool {
        matches!(self, World::Poor | World::Cut | World::Garbage | World::Silent)
    }
}

/// The worlds of one plugin, each made when it is first needed.
pub(crate) struct Worlds {
    plugin: Plugin,
    choice: Vec<World>,
    benches: BTreeMap<World, (Bench, Vec<String>)>,
    texts: Vec<String>,
    /// What tells how much of a component a call reached.
    counting: Option<Authority>,
}

impl Worlds {
    /// Worlds for a plugin whose component counts.
    pub(crate) fn counting(plugin: &Plugin, counting: Authority) -> Worlds {
        Worlds { counting: Some(counting), ..Worlds::new(plugin) }
    }

    pub(crate) fn new(plugin: &Plugin) -> Worlds {
        let asks = |wanted: &str| plugin.capabilities().iter().any(|name| name == wanted);
        let (files, hosts) = (asks("files").then_some(FILES), asks("http").then_some(HOSTS));
        let choice = ALL.iter().chain(files.unwrap_or_default()).chain(hosts.unwrap_or_default()).copied().collect();
        let texts = ["/workspace/a.txt", "/workspace/sub/b.json", "/workspace/sub", "a.txt"].map(str::to_owned).into();
        Worlds { plugin: plugin.clone(), choice, benches: BTreeMap::new(), texts, counting: None }
    }

    /// One of them.
    pub(crate) fn one(&self, random: &mut Random) -> World {
        let index = random.below(self.choice.len() as u64) as usize;
        self.choice.get(index).copied().unwrap_or(World::Kind)
    }

    /// Texts that mean something there.
    pub(crate) fn texts(&self, world: World) -> &[String] {
        self.benches.get(&world).map_or(&self.texts, |(_, texts)| texts)
    }

    /// Where the other hosts of one are; empty if it has none, or has not been needed yet.
    pub(crate) fn origin(&self, world: World) -> String {
        self.benches.get(&world).map_or(String::new(), |(bench, _)| bench.origin())
    }

    /// The runtime of one, with its workspace as it was at first if that is wanted.
    pub(crate) fn bench(&mut self, world: World, fresh: bool) -> Result<&Bench, String> {
        if !self.benches.contains_key(&world) {
            let bench = self.made(world)?;
            let mut texts = self.texts.clone();
            if !bench.origin().is_empty() {
                texts.extend([format!("{}/", bench.origin()), format!("{}/a?b=c", bench.origin())]);
            }
            self.benches.insert(world, (bench, texts));
        }
        let (bench, _) = self.benches.get(&world).ok_or("no such world")?;
        if fresh {
            furnish(&bench.workspace(), world).map_err(|error| format!("the workspace cannot be made: {error}"))?;
        }
        Ok(bench)
    }

    /// Whether an answer is not what the tool's manifest declares with a schema.
    pub(crate) fn is_undeclared(&mut self, world: World, tool: &str, answer: &Envelope) -> Result<bool, String> {
        let is_whole = answer.error.is_none() && answer.metadata.truncation.is_none();
        let toolbox = self.bench(world, false)?.runtime().toolbox();
        let tool = toolbox.registry.tools().find(|known| &*known.name == tool);
        let schema = tool.and_then(|tool| tool.output_schema.as_ref());
        Ok(is_whole && schema.is_some_and(|schema| !schema.validator.is_valid(&answer.data)))
    }

    fn made(&self, world: World) -> Result<Bench, String> {
        let mut setting = Setting::new(self.plugin.clone())?;
        if let Some(counting) = &self.counting {
            setting = setting.authority(counting.clone()).patient();
        }
        if self.plugin.capabilities().iter().any(|name| name == "http") {
            setting = setting.otherwise(match world {
                World::Cut => Reply::Cut(10),
                World::Garbage => Reply::Garbage,
                World::Silent => Reply::Silent,
                World::Dribble => Reply::Dribble,
                _ => Reply::json(&json!({ "n": 1, "list": [1, 2.5, null, "x"] })),
            });
        }
        let setting = match world {
            World::ReadOnly => setting.read_only(),
            World::Past => setting.now_ms(0).seed([0; 32]),
            World::Future => setting.now_ms(NOW_MS + 500 * 365 * 24 * 3600 * 1000),
            World::Poor => {
                // A component that cannot even be started with so little is given what it starts with, and a little more.
                let memory_mb = (self.plugin.least_memory_mb()? + SPARE_MB).max(POOR_MB);
                setting.settings(&format!("[ceiling]\nfuel = 2000000\nmemory_mb = {memory_mb}\ntimeout_ms = 500\n"))
            }
            World::Silent => setting.settings("[ceiling]\ntimeout_ms = 300\n"),
            World::Full => setting.file_faults(FileFaults { full: true, shrinking: false }),
            World::Shrinking => setting.file_faults(FileFaults { full: false, shrinking: true }),
            World::Kind | World::Empty | World::Odd | World::Cut | World::Dribble | World::Garbage => setting,
        };
        setting.start()
    }
}

/// Makes the workspace what it is at first.
fn furnish(folder: &Path, world: World) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
    }
    match world {
        World::Empty => Ok(()),
        World::Odd => {
            std::os::unix::fs::symlink("/etc/hostname", folder.join("a.txt"))?;
            std::os::unix::fs::symlink("nowhere", folder.join("empty"))?;
            std::fs::create_dir(folder.join("binary"))?;
            std::os::unix::fs::symlink("../..", folder.join("sub"))?;
            std::os::unix::net::UnixListener::bind(folder.join("socket")).map(drop)
        }
        _ => files(folder),
    }
}

fn files(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder.join("sub"))?;
    let bytes: Vec<u8> = (0..=255).collect();
    let files: [(&str, &[u8]); 5] = [
        ("a.txt", b"one\ntwo\nthree\n"),
        ("empty", b""),
        ("binary", &bytes),
        ("sub/b.json", b"{\"n\": 1, \"list\": [1, 2.5, null, \"x\"]}"),
        ("n\u{308}ame", "\u{feff}\u{fc}n\u{ef}\r\ncode".as_bytes()),
    ];
    files.into_iter().try_for_each(|(name, content)| std::fs::write(folder.join(name), content))
}
