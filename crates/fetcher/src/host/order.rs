//! The order in which the hosts of a schedule are opened.
//!
//! Hosts that earlier rounds did not visit come first, longest wait first. Among equals, a hash
//! with the crawl's seed and the round decides. All other hosts follow, largest first: the host
//! with the most pages takes longest, so it must start early. A round that completes leaves no host
//! unvisited, so without deadline and budget only the second rule applies.
//!
//! A host whose site or address has its limit of open hosts waits until one of them ends. The limit
//! of a site applies only while hosts of other sites wait.
//!
//! **Bound.** Let H hosts be due. Let each round visit at least m ≥ 1 of the hosts that come before
//! an unvisited one. Then no host waits longer than ⌈H / m⌉ rounds. *Proof.* While a host h is
//! unvisited, its round in [`UnvisitedHosts`] stays the same. Only hosts that are unvisited since
//! the same or an earlier round come before h: fewer than H. A visited host leaves this set. If it
//! is left unvisited again, it gets a later round, so no host ever joins the set. So each round
//! removes m hosts from the set. After fewer than H / m rounds it is empty, and h is first. ∎
//!
//! m is at least the number of hosts that a round reaches. If a site or address is at its limit, m
//! is at least that limit.

use crate::host::limits::{HostIndex, OpenHostLimits};
use crate::run::unvisited_hosts::{self, UnvisitedHosts};
use recrawl_types::{CanonicalUrl, HostRun, Round, Site};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::ops::Range;

/// Decides which hosts are opened first.
#[derive(Clone, Debug, Default)]
pub struct Precedence {
    /// The crawl's seed.
    pub seed: u64,
    /// Hosts that earlier rounds did not visit.
    pub unvisited: UnvisitedHosts,
}

/// The unopened hosts of a schedule.
#[derive(Debug)]
pub struct HostOrder {
    /// For each host, the index of its first run. The runs of its origins are consecutive.
    first_runs: Vec<u32>,
    /// Hosts whose runs were taken.
    opened: Vec<bool>,
    unopened: usize,
    order: Vec<HostIndex>,
    next: usize,
    /// Hosts that waited for a limit and may open now, with the address if that was the limit.
    ready: VecDeque<(HostIndex, Option<IpAddr>)>,
    pub sites: OpenHostLimits<Site>,
    pub addresses: OpenHostLimits<IpAddr>,
}

/// The part of a URL's key that names its host.
pub fn host_key(url: &CanonicalUrl) -> &[u8] {
    let origin = url.origin_key();
    &origin[..origin.len() - 3]
}

impl HostOrder {
    /// `per_site` and `per_address` limit the open hosts; 0 means no limit.
    pub fn new(
        runs: &[HostRun],
        precedence: &Precedence,
        round: Round,
        per_site: usize,
        per_address: usize,
    ) -> HostOrder {
        let starts_host = |&i: &usize| i == 0 || host_key(&runs[i].first) != host_key(&runs[i - 1].first);
        let first_runs: Vec<u32> = (0..runs.len()).filter(starts_host).map(|i| i as u32).collect();
        let mut host_order = HostOrder {
            opened: vec![false; first_runs.len()],
            unopened: first_runs.len(),
            order: Vec::new(),
            first_runs,
            next: 0,
            ready: VecDeque::new(),
            sites: OpenHostLimits::new(per_site),
            addresses: OpenHostLimits::new(per_address),
        };
        let round_seed = unvisited_hosts::hash(&round.0.to_le_bytes(), precedence.seed);
        let rank = |host_index: &HostIndex| {
            let mine = &runs[host_order.range(*host_index as usize, runs)];
            let pages = mine.iter().map(|run| run.count).sum::<u64>();
            let host = host_key(&mine[0].first);
            match precedence.unvisited.since(host) {
                Some(since) => (0, u64::from(since.0), Reverse(unvisited_hosts::hash(host, round_seed))),
                None => (1, 0, Reverse(pages)),
            }
        };
        let mut order: Vec<HostIndex> = (0..host_order.first_runs.len() as HostIndex).collect();
        order.sort_by_cached_key(rank);
        host_order.order = order;
        host_order
    }

    /// The runs of a host.
    fn range(&self, host_index: usize, runs: &[HostRun]) -> Range<usize> {
        let end = self.first_runs.get(host_index + 1).map_or(runs.len(), |&end| end as usize);
        self.first_runs[host_index] as usize..end
    }

    /// The first URL of the next host to open. None if all others wait for the limit of their
    /// address.
    pub fn next<'r>(&mut self, runs: &'r [HostRun]) -> Option<&'r CanonicalUrl> {
        while let Some((host_index, address)) = self.next_in_turn() {
            let first = self.first(host_index, runs);
            if !self.opened[host_index as usize] {
                let site = Site::from_url(first);
                if !self.sites.is_full(&site) {
                    return Some(first);
                }
                self.sites.enqueue(site, host_index);
            }
            // The next host of this address may open instead.
            if let Some(address) = address {
                self.ready.extend(
                    self.addresses.next_waiting(&address).map(|host_index| (host_index, Some(address))),
                );
            }
        }
        // No other site waits, so the limit of a site does not apply.
        while let Some(host_index) = self.sites.dequeue_any() {
            if !self.opened[host_index as usize] {
                return Some(self.first(host_index, runs));
            }
        }
        None
    }

    /// The next host that may open, and its address if it waited for that.
    fn next_in_turn(&mut self) -> Option<(HostIndex, Option<IpAddr>)> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        if let Some(&host_index) = self.order.get(self.next) {
            self.next += 1;
            return Some((host_index, None));
        }
        // Hosts may still wait here if an earlier one resolved to another address, or to none.
        self.addresses.next_waiting_any().map(|(address, host_index)| (host_index, Some(address)))
    }

    fn first<'r>(&self, host_index: HostIndex, runs: &'r [HostRun]) -> &'r CanonicalUrl {
        &runs[self.first_runs[host_index as usize] as usize].first
    }

    /// Takes the runs of the host with this key; none if they are taken or it has none.
    pub fn take(&mut self, key: &[u8], runs: &[HostRun]) -> Option<(HostIndex, Range<usize>)> {
        let host_index =
            self.first_runs.binary_search_by(|&first| host_key(&runs[first as usize].first).cmp(key)).ok()?;
        let is_new = !std::mem::replace(&mut self.opened[host_index], true);
        self.unopened -= usize::from(is_new);
        is_new.then(|| (host_index as HostIndex, self.range(host_index, runs)))
    }

    /// Hosts of the schedule.
    pub fn len(&self) -> usize {
        self.first_runs.len()
    }

    /// Of these, hosts that were not opened yet.
    pub fn unopened(&self) -> usize {
        self.unopened
    }

    /// Returns a host whose address is at its limit. It waits there.
    pub fn put_back(&mut self, host_index: HostIndex, address: IpAddr) {
        self.opened[host_index as usize] = false;
        self.unopened += 1;
        self.addresses.enqueue(address, host_index);
    }

    /// Removes an open host from the counts. Hosts that waited for this become ready.
    pub fn release(&mut self, site: Option<&Site>, address: Option<IpAddr>) {
        let by_site = site.and_then(|site| self.sites.remove(site));
        let by_address = address.and_then(|address| self.addresses.remove(&address));
        self.ready.extend(by_site.map(|host_index| (host_index, None)));
        self.ready.extend(by_address.map(|host_index| (host_index, address)));
    }

    /// All hosts of the schedule: position, whether it was opened, and its runs.
    pub fn hosts<'a>(
        &'a self,
        runs: &'a [HostRun],
    ) -> impl Iterator<Item = (HostIndex, bool, Range<usize>)> + 'a {
        (0..self.first_runs.len()).map(|host_index| {
            (host_index as HostIndex, self.opened[host_index], self.range(host_index, runs))
        })
    }

    pub fn is_done(&self) -> bool {
        let is_waiting = self.sites.has_waiting() || self.addresses.has_waiting();
        self.next == self.order.len() && self.ready.is_empty() && !is_waiting
    }

    /// Takes the runs of all unopened hosts.
    pub fn take_rest(&mut self, runs: &[HostRun]) -> Vec<Range<usize>> {
        let mut rest = Vec::new();
        for host_index in 0..self.first_runs.len() {
            if !std::mem::replace(&mut self.opened[host_index], true) {
                rest.push(self.range(host_index, runs));
            }
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use recrawl_types::UrlRules;
    use recrawl_types::schedule::{MemorySchedule, ScheduleSource};
    use recrawl_types::{PageRecord, ScheduleEntry, Share};

    fn schedule(hosts: &[(&str, usize)]) -> MemorySchedule {
        let page = |host: &str, page: usize| {
            ScheduleEntry::new(
                UrlRules::default().canonicalize(&format!("http://{host}/{page}")).unwrap(),
                Share::Score,
                PageRecord::default(),
            )
        };
        let pages = hosts.iter().flat_map(|(host, pages)| (0..*pages).map(move |p| page(host, p)));
        MemorySchedule::new(pages.collect())
    }

    fn order(schedule: &MemorySchedule, precedence: &Precedence, cycle: u32, per_site: usize) -> Vec<String> {
        let runs = schedule.hosts();
        let mut host_order = HostOrder::new(runs, precedence, Round(cycle), per_site, 0);
        let mut order = Vec::new();
        while let Some(first) = host_order.next(runs) {
            host_order.take(host_key(first), runs).expect("it was not taken");
            host_order.sites.add(Site::from_url(first));
            order.push(first.host().into_owned());
        }
        assert!(host_order.is_done());
        order
    }

    #[test]
    fn unvisited_hosts_come_first_in_a_seeded_order_then_the_largest() {
        let names: Vec<String> = (0..20).map(|i| format!("small{i:02}.test")).collect();
        let mut hosts: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        hosts.extend([("big.test", 9), ("bigger.test", 50)]);
        let schedule = schedule(&hosts);
        let mut precedence = Precedence { seed: 5, unvisited: UnvisitedHosts::default() };
        assert_eq!(order(&schedule, &precedence, 3, 0)[..2], ["bigger.test", "big.test"]);
        for run in schedule.hosts().iter().filter(|run| run.count == 1) {
            let since = if &*run.first.host() == "small13.test" { 1 } else { 2 };
            precedence.unvisited.add(host_key(&run.first), Round(since));
        }
        let third = order(&schedule, &precedence, 3, 0);
        assert_eq!(
            (third[0].as_str(), &third[20..]),
            ("small13.test", &["bigger.test".into(), "big.test".into()][..])
        );
        let fourth = order(&schedule, &precedence, 4, 0);
        assert_ne!(third[1..20], fourth[1..20], "another order in every cycle");
        assert_eq!(order(&schedule, &precedence, 4, 0), fourth, "and the same one again");
    }

    #[test]
    fn a_site_gives_way_while_others_wait_and_only_then() {
        let schedule = schedule(&[("a.one.test", 9), ("b.one.test", 8), ("c.one.test", 7), ("two.test", 1)]);
        // `test` is not a public suffix, so the site of a.one.test is one.test.
        let all = order(&schedule, &Precedence::default(), 1, 2);
        assert_eq!(all, ["a.one.test", "b.one.test", "two.test", "c.one.test"]);
    }

    /// Hosts: site, address, and whether a second lookup finds no address. Then three limits, and
    /// the order in which open hosts end.
    type Case = (Vec<(u8, u8, bool)>, usize, usize, usize, Vec<usize>);

    fn cases() -> impl Strategy<Value = Case> {
        let hosts = vec((0u8..4, 0u8..4, proptest::bool::weighted(0.2)), 1..40);
        (hosts, 1usize..4, 1usize..4, 1usize..8, vec(any::<usize>(), 40..80))
    }

    proptest! {
        /// Opens hosts into slots as the frontier does, each host once. No address exceeds its
        /// limit. A site exceeds its limit only if no other host could use the slot.
        #[test]
        fn sites_and_addresses_keep_to_their_share_of_slots((hosts, per_site, per_address, slots, ends) in cases()) {
            let name = |host: usize| format!("h{host:02}.s{}.test", hosts[host].0);
            let pages: Vec<String> = (0..hosts.len()).map(name).collect();
            let pages: Vec<(&str, usize)> = pages.iter().map(|name| (name.as_str(), 1)).collect();
            let schedule = schedule(&pages);
            let runs = schedule.hosts();
            let mut host_order = HostOrder::new(runs, &Precedence::default(), Round(1), per_site, per_address);
            let (mut open, mut opened) = (Vec::<usize>::new(), vec![false; hosts.len()]);
            let mut looked_up = vec![false; hosts.len()];
            let mut ends = ends.into_iter().cycle();
            let address = |host: usize| IpAddr::from([9, 9, 9, hosts[host].1]);
            loop {
                let of_site = |open: &[usize], site: u8| open.iter().filter(|h| hosts[**h].0 == site).count();
                let of_address = |open: &[usize], at: u8| open.iter().filter(|h| hosts[**h].1 == at).count();
                while open.len() < slots && let Some(first) = host_order.next(runs) {
                    let host: usize = first.host()[1..3].parse().unwrap();
                    let (site, at, vanishes) = hosts[host];
                    let (host_index, _) = host_order.take(host_key(first), runs).expect("it was not taken");
                    prop_assert!(!opened[host]);
                    if of_site(&open, site) >= per_site {
                        let could = |other: usize| {
                            !opened[other] && of_site(&open, hosts[other].0) < per_site
                                && of_address(&open, hosts[other].1) < per_address
                        };
                        prop_assert!(!(0..hosts.len()).any(could), "{} is one too many of its site", host);
                    }
                    host_order.sites.add(Site::from_url(first));
                    if vanishes && std::mem::replace(&mut looked_up[host], true) {
                        opened[host] = true;
                        host_order.release(Some(&Site::from_url(first)), None);
                        continue;
                    }
                    if host_order.addresses.is_full(&address(host)) {
                        host_order.put_back(host_index, address(host));
                        host_order.release(Some(&Site::from_url(first)), None);
                        continue;
                    }
                    host_order.addresses.add(address(host));
                    opened[host] = true;
                    open.push(host);
                    prop_assert!(of_address(&open, at) <= per_address);
                }
                if open.is_empty() {
                    break;
                }
                let host = open.swap_remove(ends.next().unwrap() % open.len());
                host_order.release(Some(&Site::of_host(&name(host))), Some(address(host)));
            }
            prop_assert!(host_order.is_done() && opened.iter().all(|opened| *opened));
        }
    }
}
