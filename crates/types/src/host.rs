//! The state of a host, handed to the fetcher and returned by it.
//!
//! The fetcher knows no disk: it asks a [`HostTable`] for what earlier cycles learned of a host and
//! gives back what it learned itself. The program keeps the table (in sled, through the repository
//! crate), so that a restart forgets no robots.txt and no back-off.

use crate::{CanonicalUrl, Cycle, Failure, Scheme, ValidatorTrust, Validators};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

/// Scheme, host and port: the unit of robots.txt (RFC 9309 §2.3) and of host state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Canonical host: lower case, IDNA, without trailing dot; IPv6 in brackets.
    pub host: Box<str>,
    /// The port, default ports written out.
    pub port: u16,
}

impl Origin {
    /// The origin of a URL.
    pub fn from_url(url: &CanonicalUrl) -> Origin {
        Origin { scheme: url.scheme(), host: url.host().into(), port: url.port() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        Ok(())
    }
}

/// Is the canonical host this domain, or below it?
pub fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The address, if a canonical host is one: dotted decimal, or IPv6 in brackets.
pub fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        Some(v6) => v6.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

/// What is remembered of one origin between cycles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostState {
    /// robots.txt as last fetched.
    pub robots: Option<RobotsState>,
    /// Fetches in a row that ended in a failure of the host (network, timeout, 5xx, 429).
    pub failures: u32,
    /// Leave the host alone until then, in milliseconds since 1970; 0 for no back-off.
    pub back_off_until: u64,
    /// Requests sent to the origin, robots.txt among them.
    pub requests: u64,
    /// Pages that robots.txt kept us from.
    pub robots_denied: u64,
    /// When robots.txt was first found to say what it says, in milliseconds since 1970; 0 while it never said
    /// anything else.
    pub rules_changed: u64,
    /// When the answer to the last request ended, or the last try within a back-off failed, in milliseconds since 1970.
    pub last_request: u64,
    /// No request before then, in milliseconds since 1970: a Retry-After that is waited for. 0 for none.
    pub hold_until: u64,
    /// The delay to which 429 and 503 have raised the host's, in milliseconds; 0 while they have not.
    pub slow_down: u32,
    /// How long answers take, smoothed, in milliseconds.
    pub latency: u32,
    /// How fast it was asked in the last cycle that asked it anything: for reports.
    pub pace: CyclePace,
    /// Path of a page to which others redirected before it, or one behind it, set a cookie and led back to them; none
    /// if that never happened.
    pub detour_path: Option<Box<str>>,
    /// Detours by it in a row that did not lead back.
    pub vain_detours: u32,
    /// Are its validators believed? The fetcher only reads it; the program learns it, cycle by cycle.
    pub trust: ValidatorTrust,
}

/// The requests to a host in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CyclePace {
    /// The cycle; 0 where nothing was ever counted.
    pub cycle: Cycle,
    /// Requests answered in it, robots.txt among them.
    pub requests: u32,
    /// When the answers to the first and to the last of them ended, in milliseconds since 1970.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// The delays promised between them, added up, in milliseconds: each as it was when its request began. 0 where none
    /// was promised, or where they were not counted yet.
    pub promised: u64,
}

impl CyclePace {
    /// Counts a request that was answered now, and for which this delay was to be kept.
    pub fn count(&mut self, cycle: Cycle, now: u64, delay: Duration) {
        if self.cycle == cycle {
            let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            self.promised = self.promised.saturating_add(delay);
        } else {
            *self = CyclePace { cycle, requests: 0, first: now, last: now, promised: 0 };
        }
        self.requests = self.requests.saturating_add(1);
        // A clock that was set back must not make the time shorter than it was.
        self.last = self.last.max(now);
    }

    /// Requests a minute: the gaps between them over the time from the first to the last. The time that an
    /// interrupted cycle stood still is part of it. None while there is no gap.
    pub fn per_minute(&self) -> Option<f64> {
        self.gaps_per_minute(self.last.saturating_sub(self.first))
    }

    /// The most that the delays promised between them allow. What a host may expect later is no measure: its delay
    /// follows its answers. None where no delay was promised.
    pub fn per_minute_promised(&self) -> Option<f64> {
        self.gaps_per_minute(self.promised)
    }

    fn gaps_per_minute(&self, millis: u64) -> Option<f64> {
        (self.requests > 1 && millis > 0).then(|| f64::from(self.requests - 1) * 60_000.0 / millis as f64)
    }
}

/// robots.txt as last fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotsState {
    /// When it was fetched (or found unreachable), in milliseconds since 1970.
    pub fetched: u64,
    /// Since when it could not be had at all, in milliseconds since 1970; none while it can.
    pub unreachable_since: Option<u64>,
    /// What it says.
    pub body: RobotsBody,
    /// To ask with whether it has changed (RFC 9309 §2.4). Kept of an answer by the origin itself alone:
    /// behind a redirect they belong to another resource.
    pub validators: Validators,
}

/// The three things that a request for robots.txt can mean (RFC 9309 §2.3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsBody {
    /// A file: its first bytes, cut at a line.
    Rules(Vec<u8>),
    /// 4xx: there is none, all is allowed.
    AllowAll,
    /// 429, 5xx or network failure: all is forbidden. None where a version kept it that did not keep the reason.
    DisallowAll(Option<Failure>),
}

/// Where host state lives between cycles.
pub trait HostTable: Send + Sync {
    /// What is known of `origin`; none when it was never met.
    fn load(&self, origin: &Origin) -> io::Result<Option<HostState>>;

    /// Keeps the state. Durable at the latest when the cycle commits.
    fn store(&self, origin: &Origin, state: &HostState) -> io::Result<()>;
}

/// A host table in memory: for tests.
#[derive(Debug, Default)]
pub struct MemoryHostTable(Mutex<HashMap<Origin, HostState>>);

impl HostTable for MemoryHostTable {
    fn load(&self, origin: &Origin) -> io::Result<Option<HostState>> {
        Ok(self.0.lock().expect("no panic under the lock").get(origin).cloned())
    }

    fn store(&self, origin: &Origin, state: &HostState) -> io::Result<()> {
        self.0.lock().expect("no panic under the lock").insert(origin.clone(), state.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_pace_is_of_one_cycle_and_counts_gaps() {
        let mut pace = CyclePace::default();
        pace.count(Cycle(3), 10_000, SECOND * 60);
        assert_eq!(pace.per_minute(), None, "one request has no pace");
        pace.count(Cycle(3), 11_000, SECOND);
        pace.count(Cycle(3), 16_000, SECOND * 3);
        assert_eq!(pace.per_minute(), Some(20.0));
        assert_eq!(pace.per_minute_promised(), Some(30.0), "two delays in four seconds");
        pace.count(Cycle(3), 5_000, SECOND);
        assert_eq!((pace.last, pace.per_minute()), (16_000, Some(30.0)), "a clock that was set back");
        pace.count(Cycle(4), 70_000, SECOND);
        assert_eq!(
            pace,
            CyclePace { cycle: Cycle(4), requests: 1, first: 70_000, last: 70_000, promised: 0 }
        );
        assert_eq!(pace.per_minute_promised(), None);
    }
}
