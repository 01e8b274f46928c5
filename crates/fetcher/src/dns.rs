//! Names to addresses: overrides first, then the system's resolver, all through the guard.
//!
//! The connection itself uses this resolver, so an address that the guard has not seen cannot be
//! connected to, however often a name changes its mind. Of several addresses a name has one at a time,
//! the first that the system names (it sorts them by RFC 6724) and keeps it while it is among them: only
//! so can an address be paced before it is asked. If no connection can be had there, the next is taken.

use crate::guard::Guard;
use crate::limits::{DNS_NEGATIVE_TTL, DNS_TTL, MAX_ADDRESSES, MAX_DNS_NAMES};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// Why a name has no address that may be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// It resolves to nothing.
    NoAddress,
    /// The guard refuses every address that it resolves to.
    Refused,
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ResolveError::NoAddress => "the name has no address",
            ResolveError::Refused => "every address of the name is one that the configuration refuses",
        })
    }
}

impl std::error::Error for ResolveError {}

/// What is known of a name, and until when.
type Known = (Vec<IpAddr>, Instant);

/// A resolver behind the guard.
#[derive(Clone, Debug)]
pub struct Resolver {
    guard: Guard,
    overrides: Arc<BTreeMap<String, IpAddr>>,
    /// A name whose addresses are not judged: the proxy's.
    exempt: Option<Arc<str>>,
    cache: Arc<Mutex<HashMap<Box<str>, Known>>>,
}

impl Resolver {
    /// A resolver with an empty cache. Names in `overrides` are compared without case and without a
    /// trailing dot.
    pub fn new(guard: Guard, overrides: &BTreeMap<String, IpAddr>) -> Resolver {
        let canonical = |name: &String| name.trim_end_matches('.').to_ascii_lowercase();
        Resolver {
            guard,
            overrides: Arc::new(overrides.iter().map(|(name, ip)| (canonical(name), *ip)).collect()),
            exempt: None,
            cache: Arc::default(),
        }
    }

    /// The same, but that this name may lead anywhere: the proxy's own.
    pub fn exempting(mut self, name: &str) -> Resolver {
        self.exempt = Some(name.into());
        self
    }

    /// The addresses of a canonical name that may be connected to.
    ///
    /// # Errors
    /// [`ResolveError`]: none at all, or none that may.
    pub async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let mut addresses = match self.overrides.get(name) {
            Some(address) => vec![*address],
            None => match self.cached(name) {
                Some(addresses) => addresses,
                None => self.ask_system(name).await,
            },
        };
        if addresses.is_empty() {
            return Err(ResolveError::NoAddress);
        }
        if self.exempt.as_deref() != Some(name) {
            addresses.retain(|a| self.guard.admits(*a));
        }
        if addresses.is_empty() { Err(ResolveError::Refused) } else { Ok(addresses) }
    }

    /// The one address of a canonical name that is connected to for now.
    ///
    /// # Errors
    /// [`ResolveError`], as [`Resolver::lookup`].
    pub async fn address(&self, name: &str) -> Result<IpAddr, ResolveError> {
        self.lookup(name).await.map(|addresses| addresses[0].to_canonical())
    }

    /// No connection could be had: passes over the name's address until it is resolved anew. False when
    /// there is no other.
    pub fn pass_over(&self, name: &str) -> bool {
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

    async fn ask_system(&self, name: &str) -> Vec<IpAddr> {
        // The resolver tells "no such name" and "no answer" by texts that differ by system; for a page
        // both mean the same.
        let found = tokio::net::lookup_host((name, 0)).await;
        let addresses: Vec<IpAddr> = found.map(|all| all.map(|a| a.ip()).collect()).unwrap_or_default();
        self.keep(name, &addresses, if addresses.is_empty() { DNS_NEGATIVE_TTL } else { DNS_TTL });
        addresses
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
                // Hosts come in the schedule's order and rarely again: nothing worth an eviction policy.
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

    fn resolver(allow: &[&str]) -> Resolver {
        let allow: Vec<_> = allow.iter().map(|block| block.parse().unwrap()).collect();
        let overrides = [("Inner.Test.", "127.0.0.1"), ("outer.test", "9.9.9.9")];
        let overrides = overrides.map(|(name, ip)| (name.to_owned(), ip.parse().unwrap())).into();
        Resolver::new(Guard::new(&allow), &overrides)
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
        assert!(resolver.pass_over("a.test"));
        assert_eq!(resolver.address("a.test").await, Ok(b));
        assert!(!resolver.pass_over("a.test"), "there is no other");
        assert_eq!(resolver.address("a.test").await, Ok(b));
        resolver.keep("a.test", &[inner, a, b], DNS_TTL);
        assert_eq!(resolver.address("a.test").await, Ok(b), "kept while it is among them");
        resolver.keep("a.test", &[a], DNS_TTL);
        assert_eq!(resolver.address("a.test").await, Ok(a));
        assert!(!resolver.pass_over("nowhere.test") && !resolver.pass_over("outer.test"));
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
