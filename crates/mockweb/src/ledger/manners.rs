//! Politeness of the clients: robots.txt, delays, and concurrent requests.
//!
//! Figures are kept per host and per address, since several hosts can share an address. A gap is
//! the time between the arrivals of two consecutive requests. Gaps are counted by whole
//! milliseconds, so that a query can use any delay.

use super::Arrival;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Longer gaps are counted as this one.
const MAX_GAP_MS: u64 = 100_000;
/// Maximum violations per host that are kept by name; all are counted.
const MAX_SAMPLES: usize = 20;

#[derive(Clone, Debug, Default)]
struct RequestGaps {
    last: Option<Duration>,
    min: Option<Duration>,
    by_ms: BTreeMap<u64, u64>,
}

impl RequestGaps {
    fn arrived(&mut self, at: Duration) {
        if let Some(last) = self.last.replace(at) {
            let gap = at.saturating_sub(last);
            self.min = Some(self.min.map_or(gap, |min| min.min(gap)));
            *self.by_ms.entry((gap.as_millis() as u64).min(MAX_GAP_MS)).or_default() += 1;
        }
    }

    fn figures(&self, delay: Duration) -> GapFigures {
        GapFigures {
            gaps: self.by_ms.values().sum(),
            under: self.by_ms.range(..(delay.as_millis() as u64).min(MAX_GAP_MS)).map(|(_, n)| n).sum(),
            min_ms: self.min.map(|min| min.as_secs_f64() * 1_000.0),
        }
    }
}

/// Gaps between requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GapFigures {
    /// Gaps in all.
    pub gaps: u64,
    /// Gaps shorter than the requested delay (whole milliseconds, at most 100 s).
    pub under: u64,
    /// The shortest, in milliseconds.
    pub min_ms: Option<f64>,
}

#[derive(Clone, Debug, Default)]
struct Busy {
    now: u32,
    max: u32,
}

impl Busy {
    fn enter(&mut self) {
        self.now += 1;
        self.max = self.max.max(self.now);
    }

    fn leave(&mut self) {
        self.now = self.now.saturating_sub(1);
    }
}

#[derive(Clone, Debug, Default)]
struct HostLedger {
    requests: u64,
    gaps: RequestGaps,
    page_gaps: RequestGaps,
    busy: Busy,
    has_read_robots: bool,
    before_robots: u64,
    forbidden: u64,
    samples: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct AddressLedger {
    requests: u64,
    gaps: RequestGaps,
    busy: Busy,
    connections: Busy,
}

/// One host's account.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostManners {
    /// The host, `name:port`.
    pub host: String,
    /// Requests in all.
    pub requests: u64,
    /// Requests for paths that its robots.txt forbids.
    pub forbidden: u64,
    /// The first of them.
    pub forbidden_paths: Vec<String>,
    /// Requests for anything else before robots.txt was read to its end.
    pub before_robots: u64,
    /// Gaps between all requests.
    pub gaps: GapFigures,
    /// Gaps between requests other than for robots.txt.
    pub page_gaps: GapFigures,
    /// The most requests running at once.
    pub max_requests: u32,
}

/// One address' account.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AddressManners {
    /// The address.
    pub address: Ipv4Addr,
    /// Requests in all.
    pub requests: u64,
    /// Gaps between all requests.
    pub gaps: GapFigures,
    /// The most requests running at once.
    pub max_requests: u32,
    /// The most connections open at once.
    pub max_connections: u32,
}

/// All violations and extremes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violations {
    /// The requested delay, in milliseconds.
    pub delay_ms: u64,
    /// Requests for forbidden paths, over all hosts.
    pub forbidden: u64,
    /// Requests before robots.txt was read, over all hosts.
    pub before_robots: u64,
    /// Gaps under the delay between requests to a host, over all hosts.
    pub host_gaps_under: u64,
    /// The same, requests for robots.txt left out.
    pub host_page_gaps_under: u64,
    /// Gaps under the delay between requests to an address, over all addresses.
    pub address_gaps_under: u64,
    /// The most requests that ran at once on one host.
    pub max_requests_per_host: u32,
    /// The most connections that were open at once to one address.
    pub max_connections_per_address: u32,
    /// Hosts with requests.
    pub hosts: Vec<HostManners>,
    /// Addresses with requests or connections.
    pub addresses: Vec<AddressManners>,
}

/// The accounts.
pub struct MannersLedger {
    hosts: Vec<HostLedger>,
    addresses: Vec<AddressLedger>,
}

impl MannersLedger {
    /// Empty accounts.
    pub fn new(hosts: usize, addresses: usize) -> MannersLedger {
        MannersLedger {
            hosts: vec![HostLedger::default(); hosts],
            addresses: vec![AddressLedger::default(); addresses],
        }
    }

    /// Clears everything except open connections, running requests, and whose robots.txt was read.
    pub fn clear(&mut self) {
        let restart = |busy: &Busy| Busy { now: busy.now, max: busy.now };
        for host in &mut self.hosts {
            let has_read_robots = host.has_read_robots;
            *host = HostLedger { busy: restart(&host.busy), has_read_robots, ..HostLedger::default() };
        }
        for address in &mut self.addresses {
            *address = AddressLedger {
                busy: restart(&address.busy),
                connections: restart(&address.connections),
                ..AddressLedger::default()
            };
        }
    }

    /// A connection was opened.
    pub fn connected(&mut self, address: usize) {
        self.addresses[address].connections.enter();
    }

    /// A connection was closed.
    pub fn disconnected(&mut self, address: usize) {
        self.addresses[address].connections.leave();
    }

    /// A request has arrived.
    pub fn arrived(&mut self, arrival: &Arrival<'_>) {
        let address = &mut self.addresses[arrival.address];
        address.requests += 1;
        address.busy.enter();
        address.gaps.arrived(arrival.at);
        let Some(host) = arrival.host.map(|host| &mut self.hosts[host as usize]) else { return };
        host.requests += 1;
        host.busy.enter();
        host.gaps.arrived(arrival.at);
        if arrival.target != "/robots.txt" {
            host.page_gaps.arrived(arrival.at);
            host.before_robots += u64::from(!host.has_read_robots);
        }
        if arrival.is_forbidden {
            host.forbidden += 1;
            if host.samples.len() < MAX_SAMPLES {
                host.samples.push(arrival.target.to_string());
            }
        }
    }

    /// A request has ended, one way or another.
    pub fn finished(&mut self, address: usize, host: Option<u32>, read_robots: bool) {
        self.addresses[address].busy.leave();
        if let Some(host) = host.map(|host| &mut self.hosts[host as usize]) {
            host.busy.leave();
            host.has_read_robots |= read_robots;
        }
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        self.addresses.iter().all(|address| address.busy.now == 0)
    }

    /// The accounts as they stand, with the gaps measured against a delay.
    pub fn violations(&self, delay: Duration, names: &[String], addresses: &[Ipv4Addr]) -> Violations {
        // Only those that were asked: of a large web, these are few.
        let hosts: Vec<HostManners> = self
            .hosts
            .iter()
            .zip(names)
            .filter(|(host, _)| host.requests > 0)
            .map(|(host, name)| HostManners {
                host: name.clone(),
                requests: host.requests,
                forbidden: host.forbidden,
                forbidden_paths: host.samples.clone(),
                before_robots: host.before_robots,
                gaps: host.gaps.figures(delay),
                page_gaps: host.page_gaps.figures(delay),
                max_requests: host.busy.max,
            })
            .collect();
        let addresses: Vec<AddressManners> = self
            .addresses
            .iter()
            .zip(addresses)
            .filter(|(account, _)| account.connections.max > 0)
            .map(|(account, &address)| AddressManners {
                address,
                requests: account.requests,
                gaps: account.gaps.figures(delay),
                max_requests: account.busy.max,
                max_connections: account.connections.max,
            })
            .collect();
        Violations {
            delay_ms: delay.as_millis() as u64,
            forbidden: hosts.iter().map(|h| h.forbidden).sum(),
            before_robots: hosts.iter().map(|h| h.before_robots).sum(),
            host_gaps_under: hosts.iter().map(|h| h.gaps.under).sum(),
            host_page_gaps_under: hosts.iter().map(|h| h.page_gaps.under).sum(),
            address_gaps_under: addresses.iter().map(|a| a.gaps.under).sum(),
            max_requests_per_host: hosts.iter().map(|h| h.max_requests).max().unwrap_or(0),
            max_connections_per_address: addresses.iter().map(|a| a.max_connections).max().unwrap_or(0),
            hosts,
            addresses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(manners: &mut MannersLedger, ms: u64, host: u32, target: &str, is_forbidden: bool) {
        let at = Duration::from_micros(ms * 1_000 + 300);
        manners.arrived(&Arrival { at, address: 0, host: Some(host), target, is_forbidden });
    }

    #[test]
    fn gaps_robots_and_concurrency_are_counted_by_host_and_by_address() {
        let mut manners = MannersLedger::new(2, 1);
        manners.connected(0);
        arrive(&mut manners, 0, 0, "/robots.txt", false);
        manners.finished(0, Some(0), true);
        arrive(&mut manners, 50, 0, "/a", false);
        arrive(&mut manners, 250, 0, "/private/x", true);
        arrive(&mut manners, 449, 1, "/", false);
        arrive(&mut manners, 450, 0, "/b", false);
        for host in [0, 0, 0, 1] {
            manners.finished(0, Some(host), false);
        }
        let names = ["h1:80".to_string(), "h2:80".to_string()];
        let found = manners.violations(Duration::from_millis(200), &names, &[Ipv4Addr::new(127, 1, 0, 1)]);
        assert_eq!((found.forbidden, found.before_robots), (1, 1));
        assert_eq!(found.hosts[0].forbidden_paths, ["/private/x"]);
        assert_eq!(found.hosts[0].gaps, GapFigures { gaps: 3, under: 1, min_ms: Some(50.0) });
        assert_eq!(found.hosts[0].page_gaps, GapFigures { gaps: 2, under: 0, min_ms: Some(200.0) });
        assert_eq!(found.hosts[1].gaps.gaps, 0);
        assert_eq!((found.host_gaps_under, found.host_page_gaps_under, found.address_gaps_under), (1, 0, 3));
        assert_eq!((found.max_requests_per_host, found.max_connections_per_address), (3, 1));

        manners.clear();
        let after = manners.violations(Duration::ZERO, &names, &[Ipv4Addr::new(127, 1, 0, 1)]);
        assert_eq!(after.hosts, []);
        arrive(&mut manners, 500, 0, "/a", false);
        let after = manners.violations(Duration::ZERO, &names, &[Ipv4Addr::new(127, 1, 0, 1)]);
        assert_eq!(after.before_robots, 0, "robots.txt stays read");
    }
}
