//! Configuration of the fetcher: a limit on everything that a server could make grow.
//!
//! Plain values with defaults. The program parses units and rejects unknown keys.
//! docs/internals/limits.md describes them for users.

use crate::net::access::HostAccess;
use crate::net::proxy::Proxy;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Entries of a host that are read from the schedule at a time. Each open host keeps at most this
/// many in memory.
pub const CHUNK: usize = 32;
/// Maximum number of hosts, per slot of `open_hosts`, that wait for their address or longer than
/// [`LONG_WAIT`].
pub const WAITING_PER_SLOT: usize = 16;
/// A host that waits longer than this occupies no slot.
pub const LONG_WAIT: Duration = Duration::from_secs(5);
/// Maximum number of redirect targets followed in one run. Further targets stay links for the next
/// cycle.
pub const MAX_FOLLOWED: usize = 100_000;
/// Maximum number of redirect targets for which pages wait at a time. Pages beyond it do not wait.
pub const MAX_DETOURS: usize = 2_048;
/// Maximum bytes of the response headers of all pages that wait for one target.
pub const MAX_WAITING_HEADERS: usize = 16 * 1024;
/// After this many detours in a row that did not lead back, their path is forgotten.
pub const MAX_VAIN_DETOURS: u32 = 3;
/// Maximum length of robots.txt in bytes; a longer file is cut at a line (RFC 9309 §2.5: at least
/// 500 KiB).
pub const MAX_ROBOTS: usize = 500 * 1024;
/// Maximum number of sitemaps in one robots.txt.
pub const MAX_SITEMAPS: usize = 1_000;
/// Maximum number of redirects from robots.txt (RFC 9309 §2.3.1.2: at least five).
pub const MAX_ROBOTS_REDIRECTS: u8 = 5;
/// First wait before an unreachable robots.txt is requested again. The wait equals the time that it
/// has been unreachable, from this value to [`MAX_ROBOTS_RETRY`].
pub const MIN_ROBOTS_RETRY: Duration = Duration::from_secs(60);
/// See [`MIN_ROBOTS_RETRY`].
pub const MAX_ROBOTS_RETRY: Duration = Duration::from_secs(3600);
/// A robots.txt unreachable for this long counts as absent (RFC 9309 §2.3.1.4: "for example, 30
/// days").
pub const ROBOTS_GONE: Duration = Duration::from_secs(30 * 24 * 3600);
/// First back-off of a host after [`FetchConfig::host_failures`] failures in a row. It doubles with
/// each further failure, up to [`MAX_HOST_BACK_OFF`].
pub const MIN_HOST_BACK_OFF: Duration = Duration::from_secs(60);
/// Maximum back-off of a host, even if its Retry-After is longer.
pub const MAX_HOST_BACK_OFF: Duration = Duration::from_secs(24 * 3600);
/// Maximum number of header fields; a response with more is a protocol failure. hyper limits their
/// bytes (about 400 kB).
pub const MAX_HEADERS: usize = 1000;
/// Maximum header bytes of an HTTP/2 response.
pub const MAX_HEADER_BYTES: u32 = 64 * 1024;
/// Maximum bytes of an HTTP/2 response body that wait unread.
pub const MAX_UNREAD: u32 = 256 * 1024;
/// Maximum memory of a body that takes no share of [`FetchConfig::body_memory`].
pub const MAX_SMALL_BODY: usize = 128 * 1024;
/// Maximum number of nested content codings of a body. More than one is rare.
pub const MAX_CODINGS: usize = 3;
/// Maximum of coded bytes minus decoded bytes of a content coding; beyond it, decoding fails.
/// Compressed data is seldom longer than the original. This leaves room for a decoder's buffer (a
/// zstd block has 128 KiB). So a body is at most `max_body` plus this limit per coding long on the
/// wire, and input that decodes to nothing ends soon.
pub const MAX_CODED_LEAD: usize = 256 * 1024;
/// Maximum window of a zstd frame, 8 MiB, as a power of two (RFC 9659 §3).
pub const MAX_ZSTD_WINDOW_LOG: u32 = 23;
/// First pause of a request for which this machine has no file descriptor, buffer, port or memory
/// left. It doubles.
pub const FIRST_EXHAUSTED_WAIT: Duration = Duration::from_millis(100);
/// The run ends after pauses of this length in total.
pub const MAX_EXHAUSTED_WAIT: Duration = Duration::from_secs(60);
/// Maximum number of addresses of one name that are tried one after the other.
pub const MAX_ADDRESSES: usize = 8;
/// Maximum number of names in the DNS cache.
pub const MAX_DNS_NAMES: usize = 10_000;
/// How long a failed lookup is cached if no server says how long (RFC 2308 §4).
pub const DNS_NEGATIVE_TTL: Duration = Duration::from_secs(30);
/// How long a host keeps its address for pacing, before it asks the resolver again. The resolver
/// caches by TTL.
pub const ADDRESS_TTL: Duration = Duration::from_secs(30);

/// The user's configuration of the fetcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FetchConfig {
    /// Sent as `User-Agent`. Its first word, up to a `/`, is the product token in robots.txt (RFC
    /// 9309 §2.2.1).
    pub user_agent: String,
    /// Contact of the operator. An e-mail address is sent as `From` (RFC 9110 §10.1.2). Anything
    /// else is added to the user agent as `(+…)`.
    pub contact: Option<String>,
    /// Maximum number of requests in flight, over all hosts.
    pub connections: usize,
    /// Maximum number of requests in flight per host.
    pub connections_per_host: usize,
    /// Maximum number of hosts with entries and robots rules in memory. Each may also keep one idle
    /// connection per connection slot, so this and `connections` bound the open files.
    pub open_hosts: usize,
    /// Maximum of these per site (registrable domain) while hosts of other sites wait; 0 means no
    /// limit.
    pub hosts_per_site: usize,
    /// Maximum of these per address; 0 means no limit. No effect if `delay_per_ip` is zero.
    pub hosts_per_address: usize,
    /// Minimum time between the end of a response and the next request to the host.
    pub delay_per_host: Duration,
    /// The same per address, over all hosts that resolve to it; zero means no delay.
    pub delay_per_ip: Duration,
    /// The delay of a host is at least its latency times this. No effect if `delay_per_host` is
    /// zero.
    pub delay_per_latency: f64,
    /// Maximum delay that latency, 429 and 503 can cause.
    pub max_adaptive_delay: Duration,
    /// Maximum Crawl-delay that is kept. Hosts that ask for more are skipped.
    pub max_crawl_delay: Duration,
    /// Maximum Retry-After that a run waits for. A longer one starts a back-off.
    pub max_retry_after: Duration,
    /// Failures in a row after which a host goes into back-off.
    pub host_failures: u32,
    /// For a whole response: name, connection, header, body.
    pub timeout: Duration,
    /// For a connection: name, TCP, TLS.
    pub connect_timeout: Duration,
    /// Maximum length of a body in bytes, after decompression. The rest is not read.
    pub max_body: usize,
    /// Memory of all bodies over [`MAX_SMALL_BODY`] bytes together, in bytes, until they are read. Others wait.
    pub body_memory: usize,
    /// Maximum average of body bytes per second received, over all hosts; 0 means no limit.
    pub bytes_per_second: u64,
    /// Maximum requests per second, over all hosts, with robots.txt; 0 means no limit.
    pub requests_per_second: u32,
    /// Byte budget of a host per cycle; 0 means no limit. A response costs its received or its
    /// decoded bytes, whichever are more.
    pub bytes_per_host: u64,
    /// Byte budget of all hosts per cycle, counted in the same way; 0 means no limit.
    pub bytes_per_cycle: u64,
    /// Share of 304s that are checked by a request without validators, 0 to 1.
    pub validator_checks: f64,
    /// Maximum number of redirects in a row; a page behind more of them fails.
    pub max_redirects: u8,
    /// Address blocks that are allowed although they are not on the public Internet.
    pub allow_addresses: Vec<IpNet>,
    /// Addresses of names, used before DNS. The address guard checks them too.
    pub dns_overrides: BTreeMap<String, IpAddr>,
    /// Name servers; if empty, those of the system.
    pub dns_servers: Vec<SocketAddr>,
    /// Minimum time that addresses are cached, whatever their TTL.
    pub dns_min_ttl: Duration,
    /// Maximum time that addresses are cached.
    pub dns_max_ttl: Duration,
    /// Maximum time that a failed lookup is cached.
    pub dns_max_negative_ttl: Duration,
    /// Are requests kept as text, for the archive?
    #[serde(skip)]
    pub keep_requests: bool,
    /// Extra header fields for single hosts.
    #[serde(skip)]
    pub access: Vec<HostAccess>,
    /// The proxy for requests; none to connect directly.
    #[serde(skip)]
    pub proxy: Option<Proxy>,
    /// Trusted CA certificates in PEM, in addition to those of the system.
    #[serde(skip)]
    pub extra_ca: Vec<Vec<u8>>,
    /// How long a robots.txt is cached; at most 24 hours (RFC 9309 §2.4).
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
            body_memory: 64 * 1024 * 1024,
            bytes_per_second: 0,
            requests_per_second: 0,
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
            keep_requests: false,
            access: Vec::new(),
            proxy: None,
            extra_ca: Vec::new(),
            robots_cache: Duration::from_secs(24 * 3600),
        }
    }
}

/// The least memory for bodies of up to `max_body` bytes.
pub fn least_body_memory(max_body: usize) -> usize {
    max_body.max(MAX_ROBOTS)
}

/// The product token of a user agent: its first word, up to a `/`.
pub fn product_token(user_agent: &str) -> &str {
    let end = user_agent.find(|c: char| c == '/' || c.is_whitespace());
    &user_agent[..end.unwrap_or(user_agent.len())]
}

impl FetchConfig {
    /// The product token of the user agent.
    pub fn product_token(&self) -> &str {
        product_token(&self.user_agent)
    }

    /// The value of `User-Agent`.
    pub fn user_agent_field(&self) -> String {
        match &self.contact {
            Some(contact) if !contact.contains('@') => format!("{} (+{contact})", self.user_agent),
            _ => self.user_agent.clone(),
        }
    }

    /// The value of `From`; none if it is not sent.
    pub fn from_field(&self) -> Option<&str> {
        self.contact.as_deref().filter(|contact| contact.contains('@'))
    }

    /// Describes the first invalid value; none if all are valid.
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
        if self.body_memory < least_body_memory(self.max_body) {
            return Some("body_memory must be at least max_body, and 500 KiB for a robots.txt".into());
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
        let config = FetchConfig { max_body: 9, body_memory: 9, ..FetchConfig::default() };
        assert!(config.problem().unwrap().contains("500 KiB"));
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
