//! The address guard: allows the public Internet and configured blocks.
//!
//! The guard checks three times, so that no spelling or trick bypasses it. It checks a literal in a
//! URL before anything is sent (no resolver is asked about literals). It checks every address of a
//! name inside the resolver of the connection, so nothing can change between check and connect. It
//! checks the peer address of the response. Redirects are separate requests with the same checks.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use recrawl_types::host::literal;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Not on the public Internet (IANA's special-purpose registry, RFC 6890 and successors), or a
/// cloud's metadata service: 169.254.169.254, 100.100.100.200 and 192.0.0.192 lie in these blocks.
const REFUSED_V4: [(Ipv4Addr, u8); 18] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // carrier-grade NAT
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure's host service, though its block is public
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 31, 196, 0), 24),  // AS112
    (Ipv4Addr::new(192, 52, 193, 0), 24),  // AMT
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(192, 175, 48, 0), 24),  // AS112
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 3),      // multicast, reserved, broadcast
];

/// Only 2000::/3 is global unicast; these parts of it are not.
const REFUSED_V6: [(Ipv6Addr, u8); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, Teredo, ORCHID
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // AS112
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Decides which addresses may be connected to.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allow: Vec<IpNet>,
    only_loopback: bool,
}

impl Guard {
    /// A guard that also allows these blocks.
    pub fn new(allow: &[IpNet]) -> Guard {
        Guard { allow: allow.to_vec(), only_loopback: false }
    }

    /// Restricts the guard to loopback addresses, for a crawler without a contact.
    pub fn only_loopback(self) -> Guard {
        Guard { only_loopback: true, ..self }
    }

    /// Takes the exceptions away: only public addresses are left.
    pub fn only_public(self) -> Guard {
        Guard { allow: Vec::new(), ..self }
    }

    /// May this address be connected to?
    pub fn admits(&self, address: IpAddr) -> bool {
        // The kernel treats ::ffff:a.b.c.d as a.b.c.d.
        let address = address.to_canonical();
        if self.wants_contact(address) {
            return false;
        }
        self.allow.iter().any(|block| block.contains(&address))
            || match address {
                IpAddr::V4(v4) => is_public_v4(v4),
                IpAddr::V6(v6) => is_public_v6(v6),
            }
    }

    /// Is this address refused for want of a contact?
    pub fn wants_contact(&self, address: IpAddr) -> bool {
        self.only_loopback && !address.to_canonical().is_loopback()
    }

    /// May a proxy look up names? Then the guard does not see the addresses.
    pub fn admits_unseen(&self) -> bool {
        !self.only_loopback
    }

    /// May this host be requested? Names may; their addresses are checked after the lookup.
    pub fn admits_host(&self, host: &str) -> bool {
        literal(host).is_none_or(|address| self.admits(address))
    }
}

/// Is this an address of the public Internet?
pub fn is_public(address: IpAddr) -> bool {
    Guard::default().admits(address)
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !REFUSED_V4.iter().any(|&(base, length)| Ipv4Net::new_assert(base, length).contains(&address))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
        // NAT64 (RFC 6052) and 6to4 (RFC 3056) lead to the embedded IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(embedded(high, low)),
        [0x2002, high, low, ..] => is_public_v4(embedded(high, low)),
        _ => {
            s[0] & 0xe000 == 0x2000
                && !REFUSED_V6
                    .iter()
                    .any(|&(base, length)| Ipv6Net::new_assert(base, length).contains(&address))
        }
    }
}

#[cfg(test)]
mod tests;
