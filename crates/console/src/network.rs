//! What counts as one client, wherever something is limited for each.

use std::net::{IpAddr, Ipv6Addr};

/// The network that `from` stands for: an IPv4 address itself, also where it is written as IPv6 (`::ffff:192.0.2.1`),
/// else the /64: a client with one IPv6 address usually has all 2^64 of its network.
pub fn of(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_client_and_so_is_an_ipv4_address_in_either_spelling() {
        for (address, network) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::", "2001:db8:1:2::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::"),
            ("::1", "::"),
        ] {
            let of = of(address.parse().unwrap());
            assert_eq!(of, network.parse::<IpAddr>().unwrap(), "{address}");
        }
    }
}
