//! What counts as one client for limits.

use std::net::{IpAddr, Ipv6Addr};

/// The client of an address: an IPv4 address itself, also in IPv6 notation (`::ffff:192.0.2.1`), or
/// the /64 network of an IPv6 address. A client with one IPv6 address usually has its whole /64.
pub fn client(from: IpAddr) -> IpAddr {
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
            let of = client(address.parse().unwrap());
            assert_eq!(of, network.parse::<IpAddr>().unwrap(), "{address}");
        }
    }
}
