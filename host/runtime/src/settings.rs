//! What can be set? The sections of a configuration, with what each is when nobody sets it. Must not know where they come
//! from.

use crate::artifact::Keep;
use crate::asking::WebhookSettings;
use crate::rules::CommandRules;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A directory that tools may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The directory on this machine.
    pub path: PathBuf,
    /// `ro` or `rw`.
    #[serde(default)]
    pub mode: Access,
}

/// Whether a grant may be written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Only read.
    #[default]
    #[serde(rename = "ro")]
    ReadOnly,
    /// Read and written.
    #[serde(rename = "rw")]
    ReadWrite,
}

/// What is set about a folder of plugins or tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FolderSettings {
    /// Whether what changes in it waits for a person.
    pub pin: Pin,
}

/// Whether what changes in a folder waits for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    /// What widens does.
    #[default]
    Accepted,
    /// Nothing does: for a plugin that is being written.
    Follow,
}

/// A role of the user's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Role {
    /// Whether it is taken when nobody names one.
    pub default: bool,
    /// What it is for.
    pub description: String,
    /// Which commands it may give.
    pub commands: CommandRules,
}

/// Which circumstances a user may claim for a call without being asked. Patterns with `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Situations {
    /// Names of workflows.
    pub workflows: Vec<String>,
    /// Purposes.
    pub purposes: Vec<String>,
}

/// The most that any call gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ceiling {
    /// Units of fuel for one attempt, about one for each WebAssembly instruction.
    pub fuel: u64,
    /// Sum of all linear memories of one attempt, in MiB.
    pub memory_mb: u64,
    /// One attempt, in milliseconds.
    pub timeout_ms: u64,
    /// A whole call with all its attempts, in milliseconds.
    pub deadline_ms: u64,
    /// What a component may return, in bytes.
    pub output_bytes: u64,
    /// What a component may log and print, in bytes.
    pub log_bytes: u64,
    /// What a component may log and print, in lines.
    pub log_lines: u64,
    /// Calls of a component to the host.
    pub host_calls: u64,
    /// What a component may hand to the host in one call, in bytes.
    pub host_call_bytes: u64,
    /// Handles that a component may hold at the same time.
    pub handles: u64,
    /// Core instances that a component is made of.
    pub instances: u64,
    /// Elements of all tables of one attempt.
    pub table_elements: u64,
    /// Calls that run at the same time; further ones wait.
    pub concurrent_calls: u64,
}

/// The keys of `[ceiling]` in a file; each counts on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CeilingKey {
    Fuel,
    MemoryMb,
    TimeoutMs,
    DeadlineMs,
    OutputBytes,
    LogBytes,
    LogLines,
    HostCalls,
    HostCallBytes,
    Handles,
    Instances,
    TableElements,
    ConcurrentCalls,
}

impl Ceiling {
    pub(crate) fn at(&mut self, key: CeilingKey) -> &mut u64 {
        match key {
            CeilingKey::Fuel => &mut self.fuel,
            CeilingKey::MemoryMb => &mut self.memory_mb,
            CeilingKey::TimeoutMs => &mut self.timeout_ms,
            CeilingKey::DeadlineMs => &mut self.deadline_ms,
            CeilingKey::OutputBytes => &mut self.output_bytes,
            CeilingKey::LogBytes => &mut self.log_bytes,
            CeilingKey::LogLines => &mut self.log_lines,
            CeilingKey::HostCalls => &mut self.host_calls,
            CeilingKey::HostCallBytes => &mut self.host_call_bytes,
            CeilingKey::Handles => &mut self.handles,
            CeilingKey::Instances => &mut self.instances,
            CeilingKey::TableElements => &mut self.table_elements,
            CeilingKey::ConcurrentCalls => &mut self.concurrent_calls,
        }
    }
}

impl Default for Ceiling {
    fn default() -> Ceiling {
        Ceiling {
            fuel: 100_000_000_000,
            memory_mb: 1024,
            timeout_ms: 600_000,
            deadline_ms: 1_800_000,
            output_bytes: 64 << 20,
            log_bytes: 1 << 20,
            log_lines: 100_000,
            host_calls: 10_000_000,
            host_call_bytes: 256 << 20,
            handles: 10_000,
            instances: 64,
            table_elements: 100_000,
            concurrent_calls: 64,
        }
    }
}

/// How results are shaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResultSettings {
    /// Tokens that any result may have. Without it a tool's own budget counts, or 8,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u32>,
    /// Whether what looks like a secret is masked, besides configured ones. On unless set otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<bool>,
    /// Environment variables of the runtime whose values are masked in whatever form they come back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mask_environment: Vec<String>,
    /// Bytes of arguments and result that are kept beside the record of a call, for its trajectory; 65,536 if nobody
    /// says, 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes: Option<u32>,
    /// Days for which arguments, results and what replays need are kept beside the records; 90 if nobody says. The
    /// records themselves stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_days: Option<u32>,
    /// MiB that they may take together; 2048 if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_mb: Option<u32>,
    /// Days for which whole results are kept of which a part was shown; 7 if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_days: Option<u32>,
    /// MiB that they may take together; 512 if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_mb: Option<u32>,
}

/// Tokens that a result may have when nobody says anything.
const BUDGET_TOKENS: u32 = 8000;

impl ResultSettings {
    /// The budget of a tool's results, which may say one itself.
    pub(crate) fn budget_of(&self, tool: Option<u32>) -> u32 {
        let own = tool.or(self.budget_tokens).unwrap_or(BUDGET_TOKENS);
        own.min(self.budget_tokens.unwrap_or(own))
    }

    /// Bytes of arguments and result that are kept beside a record.
    pub(crate) fn recorded(&self) -> usize {
        self.record_bytes.unwrap_or(64 << 10) as usize
    }

    /// How long, and how much, is kept beside the records.
    pub(crate) fn keep_records(&self) -> Keep {
        Keep {
            bytes: u64::from(self.record_mb.unwrap_or(2048)) << 20,
            age: Duration::from_secs(u64::from(self.record_days.unwrap_or(90)) * 24 * 3600),
        }
    }

    /// How much is kept of whole results of which a part was shown.
    pub(crate) fn keep(&self) -> Keep {
        Keep {
            bytes: u64::from(self.keep_mb.unwrap_or(512)) << 20,
            age: Duration::from_secs(u64::from(self.keep_days.unwrap_or(7)) * 24 * 3600),
        }
    }
}

/// How people are asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalSettings {
    /// How long a person has to answer, in seconds; and after a yes, how long it can be used.
    pub expires_seconds: u64,
    /// How long a call waits for the answer before it is told to come back, in seconds.
    pub park_wait_seconds: u64,
    /// How long a person's no counts for the same call, in seconds.
    pub denial_ttl_seconds: u64,
    /// What happens with a call that needs a person where none is in front of the program.
    pub unattended: Unattended,
    /// Agents' clients whose own person may answer: `token:NAME` over HTTP, and on pipes the name that a client gives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Where questions are sent to besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookSettings>,
}

/// What happens with a call that needs a person where none is in front of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unattended {
    /// It is stored until somebody answers elsewhere.
    #[default]
    Wait,
    /// It is refused.
    Deny,
    /// It is refused, and so is every further call of the caller until a person lets it go on.
    Halt,
}

impl Default for ApprovalSettings {
    fn default() -> ApprovalSettings {
        ApprovalSettings {
            expires_seconds: 600,
            park_wait_seconds: 20,
            denial_ttl_seconds: 3600,
            unattended: Unattended::Wait,
            clients: Vec::new(),
            webhook: None,
        }
    }
}

/// What programs that tools start get. A project's file may not set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProcessSettings {
    /// The program that becomes the launcher: one that calls `helper_main` first. Without it, this program, if it has
    /// called that.
    pub helper: Option<PathBuf>,
    /// Further folders with programs and libraries, shown to programs where they are, read-only.
    pub system: Vec<PathBuf>,
    /// Folders that come first on the search path.
    pub path: Vec<PathBuf>,
    /// Processes and threads of one program at the same time.
    pub processes: u64,
    /// Memory of one process, in MiB.
    pub memory_mb: u64,
    /// The largest file that a program may write, in MiB.
    pub file_mb: u64,
    /// Each private folder for temporary files, in MiB. It lies in memory.
    pub temporary_mb: u64,
    /// How much of the disk one program may use up before it is ended, in MiB. It is looked at several times a second.
    pub disk_mb: u64,
}

/// The same as written: what a file leaves out stays what it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenProcess {
    helper: Option<PathBuf>,
    system: Vec<PathBuf>,
    path: Vec<PathBuf>,
    processes: Option<u64>,
    memory_mb: Option<u64>,
    file_mb: Option<u64>,
    temporary_mb: Option<u64>,
    disk_mb: Option<u64>,
}

impl WrittenProcess {
    pub(crate) fn apply(self, known: &mut ProcessSettings, at: impl Fn(PathBuf) -> PathBuf) {
        known.helper = self.helper.map(&at).or(known.helper.take());
        known.system.extend(self.system.into_iter().map(&at));
        known.path.extend(self.path.into_iter().map(&at));
        let numbers = [
            (&mut known.processes, self.processes),
            (&mut known.memory_mb, self.memory_mb),
            (&mut known.file_mb, self.file_mb),
            (&mut known.temporary_mb, self.temporary_mb),
            (&mut known.disk_mb, self.disk_mb),
        ];
        for (number, written) in numbers {
            *number = written.unwrap_or(*number);
        }
    }
}

impl Default for ProcessSettings {
    fn default() -> ProcessSettings {
        ProcessSettings {
            helper: None,
            system: Vec::new(),
            path: Vec::new(),
            processes: 256,
            memory_mb: 4096,
            file_mb: 1024,
            temporary_mb: 256,
            disk_mb: 2048,
        }
    }
}

/// What compiling one component may take. A project's file may not set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InstallSettings {
    /// Time of the processor, in seconds.
    pub seconds: u64,
    /// Memory, in MiB.
    pub memory_mb: u64,
}

impl Default for InstallSettings {
    fn default() -> InstallSettings {
        // A component with a whole interpreter takes about ten seconds and half a GiB.
        InstallSettings { seconds: 120, memory_mb: 2048 }
    }
}

/// What configuration adds to a tool's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Completion {
    /// Further names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Replaces the manifest's roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_roles: Option<Vec<String>>,
    /// Added to the manifest's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_roles: Vec<String>,
    /// Replaces what the manifest says about what is acted on, in the same words; the registry checks them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Value>,
    /// What is known about targets, by pattern with `*`: words such as `production`, `personal` or `secret`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Vec<String>>,
    /// Replaces what the manifest says about what a call does, in the same words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Value>,
    /// Replaces the templates of the manifest's backends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendCompletion>,
    /// Lets the programs that it starts use the network, in calls that do not only read.
    pub network: bool,
    /// Takes the tool out of service.
    pub disabled: bool,
}

/// What configuration adds to the backends of a tool's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BackendCompletion {
    /// What backends get instead of the call's arguments; see `registry::template`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// What the caller gets instead of a backend's facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
}
