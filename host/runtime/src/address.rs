//! Which addresses of the network belong to everybody, and which hosts has the operator granted besides? Must not look
//! anything up and must not connect.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether an address is one of the public internet: none of a private network, of this machine, of the link, or of a
/// range with a meaning of its own, in whatever form it is written. What is not surely public is not.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// By IANA's registry of special addresses for version 4 (RFC 6890 and what updates it).
fn is_public_v4(address: Ipv4Addr) -> bool {
    const SPECIAL: &[([u8; 4], u32)] = &[
        ([0, 0, 0, 0], 8),       // this network
        ([10, 0, 0, 0], 8),      // private
        ([100, 64, 0, 0], 10),   // shared between a carrier's customers
        ([127, 0, 0, 0], 8),     // this machine
        ([169, 254, 0, 0], 16),  // link-local; metadata services of clouds
        ([172, 16, 0, 0], 12),   // private
        ([192, 0, 0, 0], 24),    // protocol assignments
        ([192, 0, 2, 0], 24),    // documentation
        ([192, 31, 196, 0], 24), // AS112
        ([192, 52, 193, 0], 24), // AMT
        ([192, 88, 99, 0], 24),  // relays of 6to4
        ([192, 168, 0, 0], 16),  // private
        ([192, 175, 48, 0], 24), // AS112
        ([198, 18, 0, 0], 15),   // benchmarks
        ([198, 51, 100, 0], 24), // documentation
        ([203, 0, 113, 0], 24),  // documentation
        ([224, 0, 0, 0], 4),     // multicast
        ([240, 0, 0, 0], 4),     // reserved, and broadcast
    ];
    let bits = address.to_bits();
    !SPECIAL.iter().any(|(network, length)| (bits ^ u32::from_be_bytes(*network)) >> (32 - length) == 0)
}

/// Only 2000::/3 is given out, and not all of it. What carries an address of version 4 is judged by that one, except
/// in forms that nobody uses any more, which are never public.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        // Mapped, and NAT64's well-known prefix.
        (0, 0) if [c, d, e, f] == [0, 0, 0, 0xffff] => embedded(g, h),
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => embedded(g, h),
        // 6to4.
        (0x2002, _) => embedded(b, c),
        // Protocols' own addresses (Teredo is one), documentation, AS112.
        (0x2001, 0..0x200 | 0xdb8) | (0x3fff, 0..0x1000) => false,
        (0x2620, 0x4f) if c == 0x8000 => false,
        _ => a & 0xe000 == 0x2000,
    }
}

/// A host as a URL names it: a name in small letters, or an address without brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name.
    Name(String),
    /// An address.
    Address(IpAddr),
}

impl Host {
    /// Reads a host as it stands in a URL, brackets and final dot included. `None` for what no host can be called.
    /// Numbers in forms that only some programs read as addresses (`0x7f.1`, `2130706433`) are no hosts: whoever
    /// parses a URL has turned them into addresses before.
    pub fn parse(text: &str) -> Option<Host> {
        if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return inside.parse().ok().map(|address| Host::Address(IpAddr::V6(address)));
        }
        if let Ok(address) = text.parse() {
            return Some(Host::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_name = !name.is_empty()
            && name.len() <= 253
            && name.split('.').all(|label| !label.is_empty() && label.len() <= 63)
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.starts_with(|first: char| first.is_ascii_digit());
        (is_name && !is_number).then_some(Host::Name(name))
    }

    /// Whether it stands for a place that is not public without looking anything up.
    pub fn is_private(&self) -> bool {
        match self {
            Host::Address(address) => !is_public(*address),
            Host::Name(name) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                const PRIVATE: &[&str] =
                    &["localhost", "localdomain", "local", "internal", "lan", "home", "intranet", "corp"];
                PRIVATE.contains(&last) || name.ends_with(".home.arpa") || !name.contains('.')
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
        }
    }
}

/// Hosts that the operator names: `example.org`, `*.example.org`, `127.0.0.1:8080`, `[::1]`, `10.0.0.0/8`. Without a
/// port, any port.
///
/// A grant holds for what a URL says, not for where a name leads: a name of somebody else's that leads to a granted
/// address stays outside, or a page could reach a service of this machine under a name of its own (DNS rebinding).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    text: String,
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    Exactly(Host),
    Beneath(String),
    Network(IpAddr, u8),
}

impl HostPattern {
    /// Reads a pattern; the failure says what is wrong with it.
    pub fn parse(text: &str) -> Result<HostPattern, String> {
        let wrong =
            || format!("`{text}` is no host: write a name, `*.name`, an address or a network, with or without a port");
        let (host, port) = split_port(text).ok_or_else(wrong)?;
        let hosts = if let Some(name) = host.strip_prefix("*.") {
            match Host::parse(name) {
                Some(Host::Name(name)) => Hosts::Beneath(format!(".{name}")),
                _ => return Err(wrong()),
            }
        } else if let Some((address, bits)) = host.split_once('/') {
            let address = address.trim_matches(['[', ']']).parse::<IpAddr>().map_err(|_| wrong())?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?;
            Hosts::Network(address, bits)
        } else {
            Hosts::Exactly(Host::parse(host).ok_or_else(wrong)?)
        };
        Ok(HostPattern { text: text.to_owned(), hosts, port })
    }

    /// Whether a host and port are among those that it names.
    pub fn matches(&self, host: &Host, port: u16) -> bool {
        let hosts = match (&self.hosts, host) {
            (Hosts::Exactly(own), host) => own == host,
            (Hosts::Beneath(end), Host::Name(name)) => name.len() > end.len() && name.ends_with(end.as_str()),
            (Hosts::Network(network, bits), Host::Address(address)) => in_network(*address, *network, *bits),
            (Hosts::Beneath(_), Host::Address(_)) | (Hosts::Network(..), Host::Name(_)) => false,
        };
        hosts && self.port.is_none_or(|own| own == port)
    }
}

fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let digits = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    if let Some(rest) = text.strip_prefix('[') {
        let end = rest.find(']')? + 2;
        return match &text[end..] {
            rest if rest.is_empty() || rest.starts_with('/') => Some((text, None)),
            rest => Some((&text[..end], Some(digits(rest.strip_prefix(':')?)?))),
        };
    }
    match text.rsplit_once(':') {
        // An address of the newer kind without brackets.
        Some((host, _)) if host.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(digits(port)?))),
        None => Some((text, None)),
    }
}

fn in_network(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let (address, network, size) = match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => (address.to_bits().into(), network.to_bits().into(), 32),
        (IpAddr::V6(address), IpAddr::V6(network)) => (address.to_bits(), network.to_bits(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
    };
    let shift = size - u32::from(bits);
    let cut = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
    cut(address) == cut(network)
}

impl Serialize for HostPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<HostPattern, D::Error> {
        HostPattern::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Which hosts tools may reach. Lifetime: the runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostGrants {
    /// If there are any, only these public hosts.
    pub hosts: Vec<HostPattern>,
    /// Hosts that are not public and may be reached nevertheless.
    pub private_hosts: Vec<HostPattern>,
}

/// What may be reached under a name or address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses.
    Public,
    /// Whatever it leads to: the operator has named it.
    Any,
    /// It is not one of the hosts that the operator lets tools reach.
    NotGranted,
    /// It is not public, and the operator has not named it.
    Private,
}

impl HostGrants {
    /// What may be reached under the host that a URL names. Where a name leads is for whoever looks it up to check.
    pub fn reach(&self, host: &Host, port: u16) -> Reach {
        let named = |patterns: &[HostPattern]| patterns.iter().any(|pattern| pattern.matches(host, port));
        if named(&self.private_hosts) {
            Reach::Any
        } else if matches!(host, Host::Address(address) if !is_public(*address)) {
            Reach::Private
        } else if !self.hosts.is_empty() && !named(&self.hosts) {
            Reach::NotGranted
        } else if host.is_private() {
            Reach::Private
        } else {
            Reach::Public
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_for_everybody_is_told_in_every_form() {
        let public = [
            "1.1.1.1",
            "93.184.215.14",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::1.1.1.1",
            "2002:101:101::",
        ];
        let private = [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "192.0.0.1",
            "192.31.196.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "::1.1.1.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::10.0.0.1",
            "100::1",
            "2002:7f00:1::",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::8000:0:0:f5ff:fffe",
            "2001:10::1",
            "2620:4f:8000::1",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fec0::1",
        ];
        public.iter().for_each(|text| assert!(is_public(text.parse().unwrap()), "{text}"));
        private.iter().for_each(|text| assert!(!is_public(text.parse().unwrap()), "{text}"));
    }

    #[test]
    fn hosts_are_read_as_urls_have_them() {
        let name = |text: &str| Some(Host::Name(text.into()));
        assert_eq!(Host::parse("Example.ORG."), name("example.org"));
        assert_eq!(Host::parse("[::1]"), Some(Host::Address("::1".parse().unwrap())));
        assert_eq!(Host::parse("127.0.0.1"), Some(Host::Address("127.0.0.1".parse().unwrap())));
        for bad in
            ["", ".", "a..b", "a b", "evil\0.example.org", "2130706433", "0x7f.1", "127.1", "[127.0.0.1]", "a/b", "ä"]
        {
            assert_eq!(Host::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_grant_holds_for_what_is_named_and_nothing_else() {
        let check = |pattern: &str, host: &str, port: u16, expect: bool| {
            let pattern = HostPattern::parse(pattern).unwrap();
            assert_eq!(pattern.matches(&Host::parse(host).unwrap(), port), expect, "{pattern:?} {host}:{port}");
        };
        check("example.org", "example.org", 443, true);
        check("example.org", "www.example.org", 443, false);
        check("*.example.org", "www.example.org", 80, true);
        check("*.example.org", "example.org", 80, false);
        check("*.example.org", "badexample.org", 80, false);
        check("127.0.0.1:8080", "127.0.0.1", 8080, true);
        check("127.0.0.1:8080", "127.0.0.1", 8081, false);
        check("127.0.0.1:8080", "localhost", 8080, false);
        check("10.0.0.0/8", "10.9.9.9", 1, true);
        check("10.0.0.0/8", "11.0.0.1", 1, false);
        check("0.0.0.0/0", "11.0.0.1", 1, true);
        check("[::1]:3000", "[::1]", 3000, true);
        for bad in ["", "*", "a:0", "a:x", "10.0.0.0/33", "*.127.0.0.1", "a b"] {
            assert!(HostPattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn private_hosts_need_a_name_of_their_own_in_the_grants() {
        let grants = HostGrants {
            hosts: vec![HostPattern::parse("*.example.org").unwrap()],
            private_hosts: vec![HostPattern::parse("localhost:8080").unwrap()],
        };
        let check =
            |host: &str, port, expect| assert_eq!(grants.reach(&Host::parse(host).unwrap(), port), expect, "{host}");
        check("www.example.org", 443, Reach::Public);
        check("example.com", 443, Reach::NotGranted);
        check("localhost", 8080, Reach::Any);
        check("localhost", 8081, Reach::NotGranted);
        check("169.254.169.254", 80, Reach::Private);
        let none = HostGrants::default();
        assert_eq!(none.reach(&Host::parse("example.com").unwrap(), 80), Reach::Public);
        assert_eq!(none.reach(&Host::parse("printer").unwrap(), 80), Reach::Private);
    }
}
