//! Keys that name hosts and addresses, in any of their spellings.

use recrawl_types::WrittenHost;
use serde::{Deserialize, Deserializer, de::Error};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The port of name servers.
const DNS_PORT: u16 = 53;

/// `dns.overrides`, by the names that URLs have.
pub(super) fn overrides<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<String, IpAddr>, D::Error> {
    let mut overrides = BTreeMap::new();
    for (written, target) in BTreeMap::<String, String>::deserialize(d)? {
        let wrong = |what: &str| D::Error::custom(format!("dns.overrides: {written:?} {what}"));
        let host = WrittenHost::without_port(&written)
            .map_err(|e| D::Error::custom(format!("dns.overrides: {e}; write example.com")))?;
        let address = WrittenHost::parse(&target).ok().filter(|target| target.port().is_none());
        let address = address.and_then(|target| target.address()).ok_or_else(|| {
            wrong(&format!("has no address but {target:?}; write one such as 127.0.0.1 or ::1"))
        })?;
        if WrittenHost::parse(&host).is_ok_and(|host| host.address().is_some()) {
            return Err(wrong("is an address, and no address is looked up; write a name"));
        }
        if overrides.insert(host, address).is_some() {
            return Err(wrong("names a host that has an address already; keep one of them"));
        }
    }
    Ok(overrides)
}

/// `dns.servers`: addresses, with or without a port.
pub(super) fn name_servers<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<SocketAddr>, D::Error> {
    let server = |text: &String| {
        let host = WrittenHost::parse(text).ok()?;
        Some(SocketAddr::new(host.address()?, host.port().unwrap_or(DNS_PORT)))
    };
    let wrong = |text: &String| {
        D::Error::custom(format!(
            "dns.servers: {text:?} is not a name server; write its address, such as 9.9.9.9, 9.9.9.9:53, \
             2620:fe::fe or [2620:fe::fe]:53"
        ))
    };
    Vec::<String>::deserialize(d)?.iter().map(|text| server(text).ok_or_else(|| wrong(text))).collect()
}

/// `serve.listen`: an address with its port.
pub(super) fn listen<'de, D: Deserializer<'de>>(d: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(d)?;
    text.parse().map_err(|_| {
        D::Error::custom(format!(
            "serve.listen: {text:?} is not an address with a port; write 127.0.0.1:8420 or [::1]:8420"
        ))
    })
}

/// `serve.names`, as clients send them.
pub(super) fn names<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let name = |text: &String| {
        WrittenHost::without_port(text)
            .map_err(|e| D::Error::custom(format!("serve.names: {e}; write crawl.example.com")))
    };
    Vec::<String>::deserialize(d)?.iter().map(name).collect()
}
