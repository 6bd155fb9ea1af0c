//! Is an address a public one? Everything that is not surely so counts as private: this machine, its networks, and what
//! the registries of addresses keep for something else. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the internet at large.
pub(crate) fn is_public(address: IpAddr) -> bool {
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

/// Global unicast is `2000::/3`; within it, what is special or carries an address of version 4 is judged on its own.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        // Addresses of version 4 in those of version 6, and the well-known translation.
        (0, 0) if [c, d, e] == [0, 0, 0] && (f == 0xffff || f == 0) && (g, h) > (0, 1) => f == 0xffff && embedded(g, h),
        (0x64, 0xff9b) if [c, d, e, f] == [0, 0, 0, 0] => embedded(g, h),
        (0x2002, _) => embedded(b, c),
        (0x2001, 0..0x200) | (0x2001, 0xdb8) => false,
        (0x3fff, 0..0x1000) => false,
        (0x2620, 0x4f) if c == 0x8000 => false,
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        let public = [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "64:ff9b::101:101",
            "::ffff:8.8.8.8",
            "2002:808:808::1",
        ];
        let private = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2001:10::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "3fff::1",
            "5f00::1",
            "4000::1",
        ];
        for address in public {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in private {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
