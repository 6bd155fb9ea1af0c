//! What may the browser reach and use up, as the operator sets it? Must not know how that is enforced.

use crate::address::{HostGrants, HostPattern};
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the browser may reach and use up. A project's file may not set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrowserSettings {
    /// The browser, if it is not where Chromium is usually installed.
    pub program: Option<PathBuf>,
    /// Public hosts that it may reach; every one, if there are none.
    pub hosts: Vec<HostPattern>,
    /// Hosts that are not public and that it may reach nevertheless.
    pub private_hosts: Vec<HostPattern>,
    /// Names with an address that nobody else is asked for.
    pub names: BTreeMap<String, IpAddr>,
    /// The virtual folder where files are kept that pages give. Without it, none are.
    pub downloads: Option<String>,
    /// The largest of them, in MiB.
    pub download_mb: u64,
    /// Whether a page that asks for yes or no is answered yes.
    pub accept_dialogs: bool,
    /// Whether the browser puts its parts into sandboxes of its own. Without it, a page that breaks its part has the
    /// whole browser, though nothing else of the machine.
    pub sandbox: bool,
    /// Sessions that have tabs at the same time.
    pub sessions: u64,
    /// Tabs of one session.
    pub tabs: u64,
    /// How long a session may be unused before its tabs are closed, in seconds.
    pub session_idle_seconds: u64,
    /// Processes and threads of the browser.
    pub processes: u64,
    /// Memory of one process of the browser, in MiB.
    pub memory_mb: u64,
    /// Its profile, and its files of other kinds, in MiB each. They lie in memory and are gone with it.
    pub temporary_mb: u64,
}

impl Default for BrowserSettings {
    fn default() -> BrowserSettings {
        BrowserSettings {
            program: None,
            hosts: Vec::new(),
            private_hosts: Vec::new(),
            names: BTreeMap::new(),
            downloads: None,
            download_mb: 32,
            accept_dialogs: false,
            sandbox: true,
            sessions: 16,
            tabs: 12,
            session_idle_seconds: 1800,
            processes: 2000,
            memory_mb: 2048,
            temporary_mb: 512,
        }
    }
}

impl BrowserSettings {
    /// The hosts that it may reach.
    pub fn grants(&self) -> HostGrants {
        HostGrants { hosts: self.hosts.clone(), private_hosts: self.private_hosts.clone() }
    }
}

/// The same as written: what a file leaves out stays what it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenBrowser {
    program: Option<PathBuf>,
    hosts: Vec<HostPattern>,
    private_hosts: Vec<HostPattern>,
    names: BTreeMap<String, IpAddr>,
    downloads: Option<String>,
    download_mb: Option<u64>,
    accept_dialogs: Option<bool>,
    sandbox: Option<bool>,
    sessions: Option<u64>,
    tabs: Option<u64>,
    session_idle_seconds: Option<u64>,
    processes: Option<u64>,
    memory_mb: Option<u64>,
    temporary_mb: Option<u64>,
}

impl WrittenBrowser {
    pub(crate) fn apply(self, known: &mut BrowserSettings, at: impl Fn(PathBuf) -> PathBuf) {
        known.program = self.program.map(&at).or(known.program.take());
        known.hosts.extend(self.hosts);
        known.private_hosts.extend(self.private_hosts);
        known.names.extend(self.names);
        known.downloads = self.downloads.or(known.downloads.take());
        let numbers = [
            (&mut known.download_mb, self.download_mb),
            (&mut known.sessions, self.sessions),
            (&mut known.tabs, self.tabs),
            (&mut known.session_idle_seconds, self.session_idle_seconds),
            (&mut known.processes, self.processes),
            (&mut known.memory_mb, self.memory_mb),
            (&mut known.temporary_mb, self.temporary_mb),
        ];
        for (number, written) in numbers {
            *number = written.unwrap_or(*number);
        }
        known.accept_dialogs = self.accept_dialogs.unwrap_or(known.accept_dialogs);
        known.sandbox = self.sandbox.unwrap_or(known.sandbox);
    }
}
