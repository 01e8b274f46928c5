//! Blocks of addresses that a person allows.

use ipnet::IpNet;
use recrawl_types::WrittenHost;

/// A block of addresses, as CIDR or a single address.
///
/// # Errors
/// That it is neither.
pub fn address_block(text: &str) -> Result<IpNet, String> {
    let (host, prefix) = text.split_once('/').map_or((text, None), |(host, prefix)| (host, Some(prefix)));
    let wrong = || format!("{text:?} is not a CIDR block; write 10.0.0.0/8, ::1/128 or an address");
    let address = WrittenHost::parse(host).ok().filter(|host| host.port().is_none());
    let address = address.and_then(|host| host.address()).ok_or_else(wrong)?;
    let whole = IpNet::from(address).prefix_len();
    let prefix = prefix.map_or(Ok(whole), |prefix| prefix.parse().map_err(|_| wrong()))?;
    // Connections to ::ffff:a.b.c.d count as those to a.b.c.d.
    let (address, prefix) = match address.to_canonical() {
        v4 if v4.is_ipv4() && address.is_ipv6() && prefix >= 96 => (v4, prefix - 96),
        _ => (address, prefix),
    };
    IpNet::new(address, prefix).map_err(|_| wrong())
}
