//! Which servers of others has the operator set? The table `[mcp]` of the configuration. A project's file may not set
//! it. Must not start or reach any.

use crate::document::{Fault, printable};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Longest name of a server: a tool's name has to have room beside it.
const NAME: usize = 32;

/// Servers that speak the Model Context Protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpSettings {
    /// The servers by name.
    pub servers: BTreeMap<String, Server>,
}

/// One server: a program of this machine, or an address. Or neither, only routes to other servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// The program and its arguments, started without a shell. It speaks the protocol on its standard streams.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Variables that it gets beside the search path, its home and the language.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Setting>,
    /// Where it starts; the root without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Where it is reached over HTTP instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers that each request brings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Setting>,
    /// The roles that may call what it offers.
    pub roles: Roles,
    /// Its tools that are served, by the server's own names, with `*` for any text; all without it. What manifests are
    /// bound to is not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Whether what the server says about the effect of its tools counts. Otherwise each counts as destructive.
    pub trust_annotations: bool,
    /// Connections at once, at most. Without it what the manifests say that are bound to the server, or one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Which revision of the protocol it is spoken to in.
    pub era: Era,
    /// A regular expression: a text of the server that it fits tells a failure although the server does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_pattern: Option<String>,
    /// Names under which manifests know what other servers offer. The first route that fits a call is taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Tools that it may call, by their names, while it works for a call, and on that call's behalf.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub call_back: Vec<String>,
    /// What its program gets of this machine.
    pub sandbox: ServerSandbox,
    /// Takes the server out of service.
    pub disabled: bool,
}

/// What the program of a server gets of this machine beside what it needs to start: of files nothing, and no network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSandbox {
    /// Files and folders that it reads, where they are.
    pub read: Vec<PathBuf>,
    /// Those that it changes, too.
    pub write: Vec<PathBuf>,
    /// Whether it has this machine's network.
    pub network: bool,
    /// Whether it runs without a sandbox, with all that the user of the runtime has.
    pub off: bool,
}

/// The roles that may call what a server offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Roles(pub Vec<String>);

impl Default for Roles {
    fn default() -> Roles {
        Roles(["operator", "guest"].map(str::to_owned).into())
    }
}

/// A text that is written here, or that a variable of the runtime's own environment has when the server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Setting {
    /// The text.
    Text(String),
    /// Where it is.
    Variable {
        /// The variable's name.
        variable: String,
    },
    /// A secret of `[secrets]`, for a header of a server whose address is one of its origins.
    Secret {
        /// Its name.
        secret: String,
        /// What stands in the header; `{secret}` is replaced. The secret alone without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
}

/// Which revision of the protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// The newest that the server has; found out when it is reached.
    #[default]
    Auto,
    /// Sessions that begin with `initialize`.
    Stateful,
    /// Requests that bring their own metadata (2026-07-28).
    Stateless,
}

/// Where a call of one name goes, by its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Route {
    /// The tool as manifests know it: the path of their endpoint.
    pub tool: String,
    /// Regular expressions that the call's arguments of these names fit. All have to.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, String>,
    /// The server that is asked; this one without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The server's own name of the tool.
    pub to: String,
}

impl Server {
    /// Whether one of its tools is served under a name of its own.
    pub fn serves(&self, tool: &str) -> bool {
        let named =
            |patterns: &Vec<String>| patterns.iter().any(|pattern| crate::config::matches_pattern(pattern, tool));
        self.tools.as_ref().is_none_or(named)
    }

    /// Whether it is reached at all, and does not only name others.
    pub fn is_reached(&self) -> bool {
        !self.argv.is_empty() || self.url.is_some()
    }
}

/// The server that an endpoint of a manifest names; nothing for one that is not a server's.
pub fn named_in(endpoint: &str) -> Option<&str> {
    endpoint.strip_prefix("mcp://")?.split(['/', '?']).next()
}

impl McpSettings {
    /// The servers in service: what names another one cannot run.
    pub fn in_service(&self) -> BTreeSet<String> {
        self.servers.iter().filter(|(_, server)| !server.disabled).map(|(name, _)| name.clone()).collect()
    }

    /// Adds what another file says: a server that both name is the other's.
    pub(crate) fn extend(&mut self, other: McpSettings, at: impl Fn(PathBuf) -> PathBuf) {
        for (name, mut server) in other.servers {
            server.directory = server.directory.map(&at);
            for listed in [&mut server.sandbox.read, &mut server.sandbox.write] {
                *listed = std::mem::take(listed).into_iter().map(&at).collect();
            }
            self.servers.insert(name, server);
        }
    }

    /// What cannot be right, whatever the servers say.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        self.servers.iter().flat_map(|(name, server)| wrong(self, name, server)).collect()
    }
}

fn wrong(settings: &McpSettings, name: &str, server: &Server) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut fault = |why: String, hint: &str| {
        let message = format!("`[mcp.servers.{}]`: {why}", printable(name));
        faults.push(Fault::whole(Path::new("configuration"), message).hint(hint));
    };
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() || name.len() > NAME || !name.bytes().all(is_name) {
        // Without `_` in it, the name of a server's tool says by itself where the server's name ends.
        fault("this cannot be a server's name".into(), "use up to 32 small letters, digits and `-`");
    }
    match (server.argv.is_empty(), &server.url) {
        (false, Some(_)) => fault("a server has `argv` or `url`, not both".into(), "remove one of them"),
        (true, None) if server.routes.is_empty() => {
            fault("a server needs `argv` or `url`".into(), "name the program with its arguments, or the address");
        }
        (true, Some(url)) => {
            let known = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
            if !known {
                fault(format!("`{}` is no address", printable(url)), "an address begins with https:// or http://");
            }
        }
        (false, None) | (true, None) => {}
    }
    if server.env.values().any(|setting| matches!(setting, Setting::Secret { .. })) {
        fault(
            "a secret goes into `headers` only".into(),
            "a program could send it anywhere; `variable` hands one over",
        );
    }
    if server.argv.first().is_some_and(String::is_empty) || server.argv.iter().any(|text| text.contains('\0')) {
        fault("`argv` names no program".into(), "the first word is the program");
    }
    let sandbox = &server.sandbox;
    if sandbox != &ServerSandbox::default() && server.argv.is_empty() {
        fault("`sandbox` is for a program; this server has none".into(), "remove it, or name the program in `argv`");
    }
    if sandbox.off && (sandbox.network || !sandbox.read.is_empty() || !sandbox.write.is_empty()) {
        fault("`sandbox.off` leaves nothing that could be listed".into(), "remove `off`, or the rest of `sandbox`");
    }
    let is_cut_off = !server.argv.is_empty() && !sandbox.network && !sandbox.off;
    if !server.call_back.is_empty() && is_cut_off {
        fault("`call_back` needs the network, which its sandbox has not".into(), "set `sandbox.network = true`");
    }
    for place in sandbox.read.iter().chain(&sandbox.write).filter(|place| is_all_or_the_kernels(place)) {
        let shown = printable(&place.to_string_lossy());
        fault(
            format!("`{shown}` cannot be listed in `sandbox`"),
            "list folders beneath it, or set `sandbox.off = true`",
        );
    }
    let patterns = server.routes.iter().flat_map(|route| route.when.values()).chain(&server.failure_pattern);
    for pattern in patterns {
        if let Err(error) = regex::Regex::new(pattern) {
            fault(format!("`{}` is no regular expression: {error}", printable(pattern)), "correct the pattern");
        }
    }
    for route in &server.routes {
        let target = route.server.as_deref().unwrap_or(name);
        match settings.servers.get(target) {
            Some(other) if other.is_reached() => {}
            _ => fault(
                format!("a route of `{}` leads to `{}`, which is no server", printable(&route.tool), printable(target)),
                "routes lead to servers with `argv` or `url`",
            ),
        }
    }
    faults
}

/// The whole machine, or what the kernel shows, of which each sandbox has its own.
fn is_all_or_the_kernels(place: &Path) -> bool {
    place == Path::new("/") || ["/proc", "/sys", "/dev"].iter().any(|own| place.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        toml::from_str::<McpSettings>(text).unwrap().faults().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_cannot_be_right_is_said_by_name() {
        for (text, word) in [
            ("[servers.A_b]\nargv = ['x']", "server's name"),
            ("[servers.a]", "needs `argv` or `url`"),
            ("[servers.a]\nargv = ['x']\nurl = 'http://127.0.0.1'", "not both"),
            ("[servers.a]\nurl = 'file:///etc/passwd'", "is no address"),
            ("[servers.a]\nargv = ['x']\nfailure_pattern = '('", "no regular expression"),
            ("[servers.a]\nargv = ['x']\nenv.K = { secret = 's' }", "`headers` only"),
            ("[[servers.a.routes]]\ntool = 'q'\nto = 'r'", "which is no server"),
            ("[servers.a]\nurl = 'http://127.0.0.1'\nsandbox.network = true", "for a program"),
            ("[servers.a]\nargv = ['x']\nsandbox = { off = true, read = ['/a'] }", "`sandbox.off` leaves nothing"),
            ("[servers.a]\nargv = ['x']\nsandbox.read = ['/']", "cannot be listed"),
            ("[servers.a]\nargv = ['x']\ncall_back = ['file_read']", "needs the network"),
            ("[servers.a]\nargv = ['x']\nsandbox.write = ['/proc/self']", "cannot be listed"),
        ] {
            let found = faults(text);
            assert!(found.iter().any(|fault| fault.contains(word)), "{text}: {found:?}");
        }
        assert_eq!(faults("[servers.a]\nargv = ['x', '-y']\n[[servers.a.routes]]\ntool = 'q'\nto = 'r'"), [""; 0]);
    }
}
