//! Name resolution: configured overrides first, then DNS, all through the address guard.
//!
//! The HTTP client itself uses this resolver. So no connection goes to an address that the guard
//! has not passed, however often DNS changes. Only one address of a name is used at a time, so that
//! it can be paced: the first of the family that this machine has a route for. It is kept while DNS
//! still returns it. If no connection can be made, the next one is used. (RFC 8305 would race two
//! connections. A crawler is in no hurry and spares servers the second.)

use crate::net::exhausted::is_exhausted;
use crate::net::guard::Guard;
use crate::net::limits::{DNS_NEGATIVE_TTL, FetchConfig, MAX_ADDRESSES, MAX_DNS_NAMES};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// For one answer of one server. Twice this is less than the connect timeout.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a name has no usable address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// It resolves to nothing.
    #[error("the name has no address")]
    NoAddress,
    /// The guard refuses all addresses of the name.
    #[error("the configuration refuses every address of the name")]
    Refused,
    /// The guard refuses them, as the crawl has no contact.
    #[error("the crawl has no contact, and the name has no loopback address")]
    NoContact,
    /// This machine had no file descriptor, buffer, port or memory left for a query.
    #[error("this machine has no open files, sockets or memory left for a DNS query")]
    Exhausted,
}

/// Addresses of a name, and when they expire.
type Known = (Vec<IpAddr>, Instant);

/// A resolver with the address guard.
#[derive(Clone, Debug)]
pub struct Resolver {
    guard: Guard,
    overrides: Arc<BTreeMap<String, IpAddr>>,
    /// A name whose addresses are not checked: the proxy's.
    exempt: Option<Arc<str>>,
    cache: Arc<Mutex<HashMap<Box<str>, Known>>>,
    dns: Arc<DnsClient>,
}

/// A DNS client and its cache times.
struct DnsClient {
    servers: Vec<SocketAddr>,
    /// Made at first use, inside the runtime of its tasks. None if it cannot be made.
    resolver: OnceLock<Option<TokioResolver>>,
    prefers_v6: bool,
    min_ttl: Duration,
    max_ttl: Duration,
    max_negative_ttl: Duration,
}

impl fmt::Debug for DnsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dns").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl DnsClient {
    fn new(config: &FetchConfig) -> DnsClient {
        DnsClient {
            servers: config.dns_servers.clone(),
            resolver: OnceLock::new(),
            prefers_v6: has_route_v6(),
            min_ttl: config.dns_min_ttl,
            max_ttl: config.dns_max_ttl,
            max_negative_ttl: config.dns_max_negative_ttl,
        }
    }

    fn resolver(&self) -> Result<Option<&TokioResolver>, ResolveError> {
        if let Some(made) = self.resolver.get() {
            return Ok(made.as_ref());
        }
        let made = match make(&self.servers) {
            Ok(resolver) => Some(resolver),
            // The file that lists the name servers cannot be opened now; this is temporary.
            Err(error) if is_ours(&error) => return Err(ResolveError::Exhausted),
            Err(error) => {
                tracing::error!(%error, "no DNS resolver: set dns.servers to the name servers to use");
                None
            }
        };
        Ok(self.resolver.get_or_init(|| made).as_ref())
    }

    /// The addresses of a name, and how long to cache them.
    async fn query(&self, name: &str) -> Result<(Vec<IpAddr>, Duration), ResolveError> {
        let nothing = (Vec::new(), DNS_NEGATIVE_TTL.min(self.max_negative_ttl));
        let Some(resolver) = self.resolver()? else { return Ok(nothing) };
        // A name with a final dot is absolute: no search domain is tried.
        Ok(match resolver.lookup_ip(format!("{name}.")).await {
            Ok(found) => {
                let ttl = found.valid_until().saturating_duration_since(std::time::Instant::now());
                let mut addresses: Vec<IpAddr> = found.iter().collect();
                addresses.sort_by_key(|address| address.is_ipv6() != self.prefers_v6);
                (addresses, ttl.clamp(self.min_ttl, self.max_ttl))
            }
            Err(NetError::Dns(DnsError::NoRecordsFound(none))) => {
                let ttl = none.negative_ttl.map_or(DNS_NEGATIVE_TTL, |ttl| Duration::from_secs(ttl.into()));
                (Vec::new(), ttl.min(self.max_negative_ttl))
            }
            Err(error) if is_ours(&error) => return Err(ResolveError::Exhausted),
            Err(_) => nothing,
        })
    }
}

/// Did the query fail because this machine lacks a resource?
fn is_ours(error: &NetError) -> bool {
    matches!(error, NetError::Io(error) if is_exhausted(error))
}

fn make(servers: &[SocketAddr]) -> Result<TokioResolver, NetError> {
    let mut builder = if servers.is_empty() {
        TokioResolver::builder_tokio()?
    } else {
        let server = |at: &SocketAddr| {
            let mut ways = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
            ways.iter_mut().for_each(|way| way.port = at.port());
            NameServerConfig::new(at.ip(), true, ways)
        };
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(server).collect());
        TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
    };
    let options = builder.options_mut();
    options.timeout = QUERY_TIMEOUT;
    options.attempts = 2;
    options.ip_strategy = hickory_resolver::config::LookupIpStrategy::Ipv4AndIpv6;
    // Our own cache knows which of a name's addresses is in use.
    options.cache_size = 0;
    builder.build()
}

/// Does this machine have a route to the IPv6 Internet? Sends nothing.
fn has_route_v6() -> bool {
    let anywhere = SocketAddr::from((Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 1), 53));
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|socket| socket.connect(anywhere)).is_ok()
}

impl Resolver {
    /// A resolver with an empty cache.
    pub fn new(guard: Guard, config: &FetchConfig) -> Resolver {
        Resolver {
            guard,
            overrides: Arc::new(config.dns_overrides.clone()),
            exempt: None,
            cache: Arc::default(),
            dns: Arc::new(DnsClient::new(config)),
        }
    }

    /// Exempts one name from the guard: the proxy's.
    pub fn exempting(mut self, name: &str) -> Resolver {
        self.exempt = Some(name.into());
        self
    }

    /// The same names, cache and overrides under another guard.
    pub fn guarded_by(self, guard: Guard) -> Resolver {
        Resolver { guard, ..self }
    }

    /// The usable addresses of a canonical name.
    ///
    /// # Errors
    /// [`ResolveError`]: the name has no address, or no allowed one.
    pub async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let mut addresses = match self.overrides.get(name) {
            Some(address) => vec![*address],
            None => match self.cached(name) {
                Some(addresses) => addresses,
                None => self.query(name).await?,
            },
        };
        if addresses.is_empty() {
            return Err(ResolveError::NoAddress);
        }
        if self.exempt.as_deref() != Some(name) {
            let wants_contact = addresses.iter().all(|a| self.guard.wants_contact(*a));
            addresses.retain(|a| self.guard.admits(*a));
            if addresses.is_empty() {
                return Err(if wants_contact { ResolveError::NoContact } else { ResolveError::Refused });
            }
        }
        Ok(addresses)
    }

    /// The one address of a canonical name that is in use.
    ///
    /// # Errors
    /// [`ResolveError`], as [`Resolver::lookup`].
    pub async fn address(&self, name: &str) -> Result<IpAddr, ResolveError> {
        self.lookup(name).await.map(|addresses| addresses[0].to_canonical())
    }

    /// Skips the address of a name after a failed connection, until the name is resolved again.
    /// False if there is no other.
    pub fn skip_address(&self, name: &str) -> bool {
        let mut cache = self.cache.lock().expect("no panic under the lock");
        let Some((addresses, _)) = cache.get_mut(name) else { return false };
        let mut admitted = (0..addresses.len()).filter(|&i| self.guard.admits(addresses[i]));
        let Some(second) = admitted.nth(1) else { return false };
        addresses.drain(..second);
        true
    }

    fn cached(&self, name: &str) -> Option<Vec<IpAddr>> {
        let cache = self.cache.lock().expect("no panic under the lock");
        cache.get(name).filter(|(_, until)| *until > Instant::now()).map(|(addresses, _)| addresses.clone())
    }

    async fn query(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let (addresses, ttl) = self.dns.query(name).await?;
        self.keep(name, &addresses, ttl);
        Ok(addresses)
    }

    pub(crate) fn keep(&self, name: &str, addresses: &[IpAddr], ttl: Duration) {
        let now = Instant::now();
        let mut addresses = addresses.to_vec();
        let mut cache = self.cache.lock().expect("no panic under the lock");
        let before = cache.get(name).and_then(|(before, _)| before.iter().find(|a| self.guard.admits(**a)));
        if let Some(at) = before.and_then(|before| addresses.iter().position(|a| a == before)) {
            addresses[..=at].rotate_right(1);
        }
        addresses.truncate(MAX_ADDRESSES);
        if cache.len() >= MAX_DNS_NAMES {
            cache.retain(|_, (_, until)| *until > now);
            if cache.len() >= MAX_DNS_NAMES {
                // Hosts come in the schedule's order and rarely again, so an eviction policy does
                // not pay off.
                cache.clear();
            }
        }
        cache.insert(name.into(), (addresses, now + ttl));
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let address = this.address(name.as_str()).await?;
            Ok(Box::new(std::iter::once(SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const DNS_TTL: Duration = Duration::from_secs(300);

    fn resolver(allow: &[&str]) -> Resolver {
        let allow: Vec<_> = allow.iter().map(|block| block.parse().unwrap()).collect();
        let overrides = [("inner.test", "127.0.0.1"), ("outer.test", "9.9.9.9")];
        let overrides = overrides.map(|(name, ip)| (name.to_owned(), ip.parse().unwrap())).into();
        let config = FetchConfig { dns_overrides: overrides, ..FetchConfig::default() };
        Resolver::new(Guard::new(&allow), &config)
    }

    #[tokio::test]
    async fn a_name_is_no_way_around_the_guard() {
        let strict = resolver(&[]);
        assert_eq!(strict.lookup("outer.test").await, Ok(vec!["9.9.9.9".parse().unwrap()]));
        assert_eq!(strict.lookup("inner.test").await, Err(ResolveError::Refused));
        assert_eq!(strict.lookup("localhost").await, Err(ResolveError::Refused));
        let open = resolver(&["127.0.0.0/8"]);
        assert_eq!(open.lookup("inner.test").await, Ok(vec!["127.0.0.1".parse().unwrap()]));
    }

    /// A name server on loopback that answers each question for IPv4 addresses with these.
    async fn name_server(answer: Arc<Mutex<Vec<Ipv4Addr>>>) -> SocketAddr {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = socket.local_addr().unwrap();
        tokio::spawn(async move {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query).await {
                // Header, then the name, its type and class.
                let name = query[12..length].iter().position(|byte| *byte == 0).unwrap();
                let question = &query[12..12 + name + 5];
                let is_v4 = question[name + 1..name + 3] == [0, 1];
                let given = if is_v4 { answer.lock().unwrap().clone() } else { Vec::new() };
                let mut reply =
                    [&query[..2], &[0x81, 0x80, 0, 1, 0, given.len() as u8, 0, 0, 0, 0], question].concat();
                for address in given {
                    // The name of the question, type and class, no time to live, four bytes.
                    reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                    reply.extend(address.octets());
                }
                socket.send_to(&reply, from).await.unwrap();
            }
        });
        at
    }

    /// DNS rebinding: a name that led to an allowed address leads inside the next time.
    #[tokio::test]
    async fn a_name_server_that_changes_its_answer_leads_nowhere_else() {
        let (open, inner) = (Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::LOCALHOST);
        let answer = Arc::new(Mutex::new(Vec::new()));
        let config = FetchConfig {
            dns_servers: vec![name_server(answer.clone()).await],
            dns_min_ttl: Duration::ZERO,
            ..FetchConfig::default()
        };
        let resolver = Resolver::new(Guard::new(&["127.0.0.2/32".parse().unwrap()]), &config);
        for (given, found) in [
            (vec![open], Ok(open.into())),
            (vec![inner], Err(ResolveError::Refused)),
            (vec![inner, open], Ok(open.into())),
        ] {
            *answer.lock().unwrap() = given;
            assert_eq!(resolver.address("a.test").await, found);
        }
        assert!(!resolver.skip_address("a.test"), "there is no other");
    }

    #[tokio::test]
    async fn no_address_is_not_a_refusal_and_is_remembered_for_a_while() {
        let strict = resolver(&[]);
        strict.keep("nowhere.test", &[], DNS_NEGATIVE_TTL);
        assert_eq!(strict.lookup("nowhere.test").await, Err(ResolveError::NoAddress));
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_has_one_address_and_the_next_where_no_connection_can_be_had() {
        let resolver = resolver(&[]);
        let [inner, a, b]: [IpAddr; 3] = ["10.0.0.1", "9.9.9.9", "8.8.8.8"].map(|a| a.parse().unwrap());
        resolver.keep("a.test", &[inner, a, b], DNS_TTL);
        assert_eq!(resolver.address("a.test").await, Ok(a), "the guard comes first");
        assert!(resolver.skip_address("a.test"));
        assert_eq!(resolver.address("a.test").await, Ok(b));
        assert!(!resolver.skip_address("a.test"), "there is no other");
        assert_eq!(resolver.address("a.test").await, Ok(b));
        resolver.keep("a.test", &[inner, a, b], DNS_TTL);
        assert_eq!(resolver.address("a.test").await, Ok(b), "kept while it is among them");
        resolver.keep("a.test", &[a], DNS_TTL);
        assert_eq!(resolver.address("a.test").await, Ok(a));
        assert!(!resolver.skip_address("nowhere.test") && !resolver.skip_address("outer.test"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_cache_forgets_with_time_and_stays_within_its_limit() {
        let resolver = resolver(&[]);
        let address = ["9.9.9.9".parse().unwrap()];
        resolver.keep("a.test", &address, DNS_TTL);
        assert_eq!(resolver.cached("a.test"), Some(address.to_vec()));
        tokio::time::advance(DNS_TTL).await;
        assert_eq!(resolver.cached("a.test"), None);
        for i in 0..=MAX_DNS_NAMES {
            resolver.keep(&format!("{i}.test"), &address, DNS_TTL);
            assert!(resolver.cache.lock().unwrap().len() <= MAX_DNS_NAMES);
        }
    }
}
