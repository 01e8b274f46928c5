//! The fetcher's configuration: a limit on everything that a server could make grow.
//!
//! Plain values with defaults; the program reads units and unknown keys. docs/internals/limits.md has them
//! for users.

use crate::access::HostAccess;
use crate::proxy::Proxy;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Entries of a host that are read from the schedule at a time. Memory is this many entries for each
/// open host, whatever the schedule's length.
pub const CHUNK: usize = 32;
/// Hosts that may wait for more than [`LONG_WAIT`], or for their address, for each of `open_hosts`.
pub const WAITING_PER_SLOT: usize = 16;
/// A host that may not be asked for longer than this takes no slot.
pub const LONG_WAIT: Duration = Duration::from_secs(5);
/// Redirect targets followed in one run. One more is left to the next cycle, as a link.
pub const MAX_FOLLOWED: usize = 100_000;
/// Bytes of robots.txt that are parsed; the rest is cut at a line (RFC 9309 §2.5: at least 500 KiB).
pub const MAX_ROBOTS: usize = 500 * 1024;
/// Sitemaps that are taken from one robots.txt.
pub const MAX_SITEMAPS: usize = 1_000;
/// Redirects followed from robots.txt (RFC 9309 §2.3.1.2: at least five).
pub const MAX_ROBOTS_REDIRECTS: u8 = 5;
/// The first wait before robots.txt is asked for again where it was unreachable. The wait is as long
/// as it has been unreachable, at least this and at most [`MAX_ROBOTS_RETRY`].
pub const MIN_ROBOTS_RETRY: Duration = Duration::from_secs(60);
/// See [`MIN_ROBOTS_RETRY`].
pub const MAX_ROBOTS_RETRY: Duration = Duration::from_secs(3600);
/// A robots.txt unreachable for this long counts as absent (RFC 9309 §2.3.1.4: "for example, 30 days").
pub const ROBOTS_GONE: Duration = Duration::from_secs(30 * 24 * 3600);
/// The first back-off of a host whose failures in a row reached [`FetchConfig::host_failures`]; it
/// doubles with each further failure, up to [`MAX_HOST_BACK_OFF`].
pub const MIN_HOST_BACK_OFF: Duration = Duration::from_secs(60);
/// The longest time that a host is left alone, whatever it asks for in Retry-After.
pub const MAX_HOST_BACK_OFF: Duration = Duration::from_secs(24 * 3600);
/// Header fields of a response; one with more is a protocol failure. hyper caps their bytes (about 400 kB).
pub const MAX_HEADERS: usize = 128;
/// Header bytes of an HTTP/2 response.
pub const MAX_HEADER_BYTES: u32 = 64 * 1024;
/// Content codings of one body, one within the other. More than one is rare already.
pub const MAX_CODINGS: usize = 3;
/// Coded bytes that a content coding takes beyond the bytes that it gives; with more, the body cannot be
/// decoded. What is compressed is seldom longer than what it stands for; this leaves room for whatever a
/// decoder holds back (a block of zstd has 128 KiB). On the wire a body has at most `max_body` and this many
/// bytes for each coding, and what decodes to nothing ends soon.
pub const MAX_CODED_LEAD: usize = 256 * 1024;
/// The largest window of a zstd frame, 8 MiB, as a power of two (RFC 9659 §3).
pub const MAX_ZSTD_WINDOW_LOG: u32 = 23;
/// The first pause of a request for which this machine has no file descriptor, buffer, port or memory left; it
/// doubles.
pub const FIRST_EXHAUSTED_WAIT: Duration = Duration::from_millis(100);
/// After pauses of this length in all the run ends: nothing of it would come to any good.
pub const MAX_EXHAUSTED_WAIT: Duration = Duration::from_secs(60);
/// Addresses of one name that are tried, one after the other, where no connection can be had.
pub const MAX_ADDRESSES: usize = 8;
/// Names in the DNS cache.
pub const MAX_DNS_NAMES: usize = 10_000;
/// How long a name that did not resolve is not asked for again where no server said how long (RFC 2308 §4).
pub const DNS_NEGATIVE_TTL: Duration = Duration::from_secs(30);
/// How long a host is paced by an address before the resolver, which remembers TTLs, is asked again.
pub const ADDRESS_TTL: Duration = Duration::from_secs(30);

/// What a user may decide about fetching.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FetchConfig {
    /// Sent as `User-Agent`. Its first word, up to a `/`, is the product token that robots.txt knows
    /// us by (RFC 9309 §2.2.1).
    pub user_agent: String,
    /// Who to write to. An e-mail address is sent as `From` (RFC 9110 §10.1.2), anything else is added
    /// to the user agent as `(+…)`.
    pub contact: Option<String>,
    /// Requests under way at the same time, over all hosts.
    pub connections: usize,
    /// Requests under way at the same time at one host.
    pub connections_per_host: usize,
    /// Hosts whose entries and robots rules are in memory at the same time. Each may also hold one idle
    /// connection per slot, so with `connections` this bounds open files.
    pub open_hosts: usize,
    /// Of these, hosts of one site (registrable domain), as long as hosts of others wait; 0 for any.
    pub hosts_per_site: usize,
    /// Of these, hosts at one address. Without effect where `delay_per_ip` is zero; 0 for any.
    pub hosts_per_address: usize,
    /// The least time between the end of one answer and the start of the next request at a host.
    pub delay_per_host: Duration,
    /// The same at an address, over all hosts that resolve to it; zero for none.
    pub delay_per_ip: Duration,
    /// A host's delay is at least so many times what its answers take. Without effect where
    /// `delay_per_host` is zero.
    pub delay_per_latency: f64,
    /// The longest delay that latency, 429 and 503 make of a host's.
    pub max_adaptive_delay: Duration,
    /// robots.txt's Crawl-delay is kept up to this; a host that asks for more is left alone.
    pub max_crawl_delay: Duration,
    /// Retry-After is waited for within the cycle up to this; for longer, the host is left alone.
    pub max_retry_after: Duration,
    /// Failures of a host in a row after which it is left alone for the rest of the cycle.
    pub host_failures: u32,
    /// For one answer as a whole: name, connection, header, body.
    pub timeout: Duration,
    /// For the connection (name, TCP, TLS).
    pub connect_timeout: Duration,
    /// Bytes of a body that are kept, after decompression; the rest is not read.
    pub max_body: usize,
    /// Bytes of bodies a second that come over the network, on average and over all hosts; 0 for any.
    pub bytes_per_second: u64,
    /// Bytes that a host may cost in a cycle; 0 for any. An answer costs what came over the network or what its
    /// body unpacked to, whichever is more.
    pub bytes_per_host: u64,
    /// Bytes that all hosts may cost in a cycle, counted likewise; 0 for any.
    pub bytes_per_cycle: u64,
    /// The share of 304s that are checked by asking again without validators, 0 to 1.
    pub validator_checks: f64,
    /// Redirects in a row; a page behind more of them is a failure.
    pub max_redirects: u8,
    /// Blocks exempt from the refusal of addresses that are not on the public Internet.
    pub allow_addresses: Vec<IpNet>,
    /// Addresses of names, asked before DNS. Subject to the guard like any address.
    pub dns_overrides: BTreeMap<String, IpAddr>,
    /// Name servers; none for those of the system.
    pub dns_servers: Vec<SocketAddr>,
    /// A name's addresses are kept at least so long, whatever their TTL.
    pub dns_min_ttl: Duration,
    /// And at most so long.
    pub dns_max_ttl: Duration,
    /// That there is no such name, or no server that knows, is kept at most so long.
    pub dns_max_negative_ttl: Duration,
    /// What is sent to single hosts besides.
    #[serde(skip)]
    pub access: Vec<HostAccess>,
    /// What requests go through; none for straight to the servers.
    #[serde(skip)]
    pub proxy: Option<Proxy>,
    /// Certificates in PEM of authorities that are trusted besides those of the system.
    #[serde(skip)]
    pub extra_ca: Vec<Vec<u8>>,
    /// How long a robots.txt is believed; at most 24 hours (RFC 9309 §2.4).
    pub robots_cache: Duration,
}

impl Default for FetchConfig {
    fn default() -> Self {
        FetchConfig {
            user_agent: concat!("recrawl/", env!("CARGO_PKG_VERSION")).into(),
            contact: None,
            connections: 256,
            connections_per_host: 1,
            open_hosts: 512,
            hosts_per_site: 64,
            hosts_per_address: 16,
            delay_per_host: Duration::from_secs(1),
            delay_per_ip: Duration::from_millis(250),
            delay_per_latency: 2.0,
            max_adaptive_delay: Duration::from_secs(30),
            max_crawl_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(60),
            host_failures: 5,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            max_body: 2 * 1024 * 1024,
            bytes_per_second: 0,
            bytes_per_host: 0,
            bytes_per_cycle: 0,
            validator_checks: 0.05,
            max_redirects: 5,
            allow_addresses: Vec::new(),
            dns_overrides: BTreeMap::new(),
            dns_servers: Vec::new(),
            dns_min_ttl: Duration::from_secs(60),
            dns_max_ttl: Duration::from_secs(24 * 3600),
            dns_max_negative_ttl: Duration::from_secs(300),
            access: Vec::new(),
            proxy: None,
            extra_ca: Vec::new(),
            robots_cache: Duration::from_secs(24 * 3600),
        }
    }
}

/// The product token of a user agent: its first word, up to a `/`.
pub fn product_token(user_agent: &str) -> &str {
    let end = user_agent.find(|c: char| c == '/' || c.is_whitespace());
    &user_agent[..end.unwrap_or(user_agent.len())]
}

impl FetchConfig {
    /// The name that robots.txt knows us by: the first word of the user agent, up to a `/`.
    pub fn product_token(&self) -> &str {
        product_token(&self.user_agent)
    }

    /// Values that would make a run senseless, in words; none when all is well.
    pub fn problem(&self) -> Option<String> {
        let token = self.product_token();
        let token_is_sound =
            !token.is_empty() && token.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'_');
        let zero = [
            ("connections", self.connections == 0),
            ("connections_per_host", self.connections_per_host == 0),
            ("open_hosts", self.open_hosts == 0),
            ("host_failures", self.host_failures == 0),
            ("timeout", self.timeout.is_zero()),
            ("connect_timeout", self.connect_timeout.is_zero()),
            ("max_body", self.max_body == 0),
        ];
        if !token_is_sound {
            return Some(format!(
                "user_agent {:?} must begin with a product token of letters, '-' and '_' (RFC 9309 §2.2.1)",
                self.user_agent
            ));
        }
        if self.robots_cache > Duration::from_secs(24 * 3600) {
            return Some("robots_cache must not exceed 24 hours (RFC 9309 §2.4)".into());
        }
        if self.dns_min_ttl > self.dns_max_ttl {
            return Some("dns.min_ttl must not exceed dns.max_ttl".into());
        }
        if !(0.0..=100.0).contains(&self.delay_per_latency) {
            return Some("delay_per_latency must be a number from 0 to 100".into());
        }
        zero.iter().find(|(_, is_zero)| *is_zero).map(|(key, _)| format!("{key} must not be 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_sound_and_zeros_are_named() {
        assert_eq!(FetchConfig::default().problem(), None);
        let config = FetchConfig { connections: 0, ..FetchConfig::default() };
        assert_eq!(config.problem().as_deref(), Some("connections must not be 0"));
        let config = FetchConfig { robots_cache: Duration::from_secs(86_401), ..FetchConfig::default() };
        assert!(config.problem().unwrap().contains("24 hours"));
        for factor in [-1.0, f64::NAN, f64::INFINITY] {
            let config = FetchConfig { delay_per_latency: factor, ..FetchConfig::default() };
            assert!(config.problem().unwrap().contains("delay_per_latency"));
        }
    }

    #[test]
    fn the_product_token_is_the_first_word_of_the_user_agent() {
        for (agent, token, sound) in [
            ("recrawl/0.1.0", "recrawl", true),
            ("My-Bot_x (+https://example.org)", "My-Bot_x", true),
            ("bot2/1", "bot2", false),
            ("", "", false),
        ] {
            let config = FetchConfig { user_agent: agent.into(), ..FetchConfig::default() };
            assert_eq!(config.product_token(), token);
            assert_eq!(config.problem().is_none(), sound, "{agent:?}");
        }
    }
}
