//! On which addresses does the runtime itself listen? No tool may reach them, whatever is granted: behind them are
//! approvals, other agents' sessions and the runtime's own state.
#![expect(clippy::disallowed_methods, reason = "looks in /proc for who listens on an address")]

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// The runtime's addresses. Lifetime: the runtime.
#[derive(Debug, Default)]
pub(crate) struct Own {
    addresses: RwLock<Vec<SocketAddr>>,
}

impl Own {
    /// Adds an address that this process listens on.
    pub(crate) fn add(&self, address: SocketAddr) {
        self.addresses.write().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    /// Whether the runtime is behind an address: this process, or another one of the same program on this machine.
    pub(crate) fn has(&self, address: SocketAddr) -> bool {
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        if !is_of_this_machine(address.ip()) {
            return false;
        }
        let own = self.addresses.read().unwrap_or_else(PoisonError::into_inner);
        own.iter().any(|known| known.port() == address.port()) || is_of_this_program(address.port())
    }
}

/// Only an address of this machine can be bound to.
fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok()
}

/// Whether another process that runs this very program listens on a port. One that cannot be looked into is somebody
/// else's.
fn is_of_this_program(port: u16) -> bool {
    let sockets = listening(port);
    if sockets.is_empty() {
        return false;
    }
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return false };
    let this = std::process::id().to_string();
    let others = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = others.filter(|entry| {
        let name = entry.file_name();
        name != this.as_str() && name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    });
    others
        .map(|entry| entry.path())
        .filter(|process| std::fs::read_link(process.join("exe")).is_ok_and(|other| other == program))
        .any(|process| holds(&process, &sockets))
}

/// The sockets that listen on a port, as links in /proc show them.
fn listening(port: u16) -> HashSet<PathBuf> {
    /// The kernel's number for a socket that listens.
    const LISTENS: &str = "0A";
    let mut found = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(state), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9)) else {
                continue;
            };
            let own = local.rsplit_once(':').and_then(|(_, digits)| u16::from_str_radix(digits, 16).ok());
            if *state == LISTENS && own == Some(port) {
                found.insert(PathBuf::from(format!("socket:[{inode}]")));
            }
        }
    }
    found
}

fn holds(process: &Path, sockets: &HashSet<PathBuf>) -> bool {
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|link| sockets.contains(&link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn what_was_announced_is_own_under_every_address_of_the_machine() {
        let (announced, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let own = Own::default();
        own.add(announced.local_addr().unwrap());
        let port = announced.local_addr().unwrap().port();
        for address in ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "0.0.0.0"] {
            assert!(own.has(SocketAddr::new(address.parse().unwrap(), port)), "{address}");
        }
        assert!(!own.has(other.local_addr().unwrap()));
        assert!(!own.has(SocketAddr::new("1.1.1.1".parse().unwrap(), port)));
    }
}
