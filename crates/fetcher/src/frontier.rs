//! The hosts that are being visited, by the time at which each may be asked next.
//!
//! BUbiNG's workbench (Boldi et al. 2014) in small: a queue of hosts, not of pages. A host is in the
//! queue at most once, and not at all while its slots are full or while it stands in the line of its
//! address, so no second visit can start early: that politeness holds is a matter of structure. Memory is O(hosts) for the list of runs, and a chunk of
//! entries for each *open* host; the schedule itself stays where it is.

use crate::fetch::Run;
use crate::host::{Cursor, Host};
use recrawl_types::{CanonicalUrl, HostRun};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;
use std::ops::Range;
use tokio::time::Instant;

/// A place in the table of open hosts.
pub type HostId = usize;

/// The open hosts, and the list of those not opened yet.
#[derive(Debug)]
pub struct Frontier {
    hosts: Vec<Option<Host>>,
    free: Vec<HostId>,
    by_key: HashMap<Box<[u8]>, HostId>,
    /// Hosts in order of the time they may be asked; among equals, who waited longest.
    queue: BinaryHeap<Reverse<(Instant, u64, HostId)>>,
    pushed: u64,
    /// Open hosts that neither merely linger nor are held.
    open: usize,
    /// Open hosts that are held, and have something to do.
    parked: usize,
    /// Runs of consecutive origins with the same host: index of the first of each host.
    groups: Vec<u32>,
    /// Groups that were handed to a host.
    begun: Vec<bool>,
    /// Groups, the largest first: the host with the most pages takes longest, so it must not come last.
    order: Vec<u32>,
    next_in_order: usize,
}

/// The part of a URL's key that names its host.
pub fn host_key(url: &CanonicalUrl) -> &[u8] {
    let origin = url.origin_key();
    &origin[..origin.len() - 3]
}

impl Frontier {
    pub fn new(runs: &[HostRun]) -> Frontier {
        let starts_host = |&i: &usize| i == 0 || host_key(&runs[i].first) != host_key(&runs[i - 1].first);
        let groups: Vec<u32> = (0..runs.len()).filter(starts_host).map(|i| i as u32).collect();
        let mut frontier = Frontier {
            hosts: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            queue: BinaryHeap::new(),
            pushed: 0,
            open: 0,
            parked: 0,
            begun: vec![false; groups.len()],
            order: (0..groups.len() as u32).collect(),
            groups,
            next_in_order: 0,
        };
        let mut order = std::mem::take(&mut frontier.order);
        let pages =
            |group: u32| runs[frontier.range(group as usize, runs)].iter().map(|r| r.count).sum::<u64>();
        order.sort_by_cached_key(|&group| Reverse(pages(group)));
        frontier.order = order;
        frontier
    }

    fn range(&self, group: usize, runs: &[HostRun]) -> Range<usize> {
        let end = self.groups.get(group + 1).map_or(runs.len(), |&end| end as usize);
        self.groups[group] as usize..end
    }

    /// Opens hosts of the schedule until `limit` are open.
    pub fn open_more(&mut self, limit: usize, run: &Run) {
        while self.open < limit {
            let Some(&group) = self.order.get(self.next_in_order) else { return };
            self.next_in_order += 1;
            if !self.begun[group as usize] {
                let first = self.groups[group as usize] as usize;
                self.host_of(&run.schedule.hosts()[first].first, run);
            }
        }
    }

    /// The host of a URL, opened if need be, with its part of the schedule if that was not begun.
    pub fn host_of(&mut self, url: &CanonicalUrl, run: &Run) -> HostId {
        let key = host_key(url);
        if let Some(&id) = self.by_key.get(key) {
            return id;
        }
        let runs = run.schedule.hosts();
        let group = self.groups.binary_search_by(|&first| host_key(&runs[first as usize].first).cmp(key));
        let mine = match group {
            Ok(group) if !self.begun[group] => {
                self.begun[group] = true;
                self.range(group, runs)
            }
            _ => 0..0,
        };
        let host = Host::new(key.into(), &url.host(), run, mine);
        let id = self.free.pop().unwrap_or_else(|| {
            self.hosts.push(None);
            self.hosts.len() - 1
        });
        self.by_key.insert(key.into(), id);
        self.hosts[id] = Some(host);
        self.open += 1;
        run.report().hosts += 1;
        self.push(id, Instant::now());
        id
    }

    /// An open host.
    pub fn host(&mut self, id: HostId) -> &mut Host {
        self.hosts[id].as_mut().expect("an id is of an open host")
    }

    /// Queues a host, unless it is queued already.
    pub fn push(&mut self, id: HostId, at: Instant) {
        let host = self.host(id);
        if !std::mem::replace(&mut host.queued, true) {
            self.pushed += 1;
            self.queue.push(Reverse((at, self.pushed, id)));
        }
    }

    /// Queues a host that was called from the line of an address.
    pub fn call(&mut self, id: HostId, address: IpAddr, at: Instant) {
        self.host(id).called = Some(address);
        self.pushed += 1;
        self.queue.push(Reverse((at, self.pushed, id)));
    }

    /// When the next host may be asked.
    pub fn next_at(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the next host out of the queue, if its time has come.
    pub fn pop(&mut self, now: Instant) -> Option<HostId> {
        self.next_at().filter(|at| *at <= now)?;
        let Reverse((_, _, id)) = self.queue.pop()?;
        self.host(id).queued = false;
        Some(id)
    }

    /// The host has nothing to do (and will linger), or something again.
    pub fn set_lingering(&mut self, id: HostId, lingering: bool) {
        let host = self.host(id);
        if host.lingering != lingering {
            host.lingering = lingering;
            if lingering { self.open -= 1 } else { self.open += 1 }
        }
    }

    /// The host is held and waits to be let go, or no longer. While it does, it takes no other host's place.
    pub fn set_parked(&mut self, id: HostId, parked: bool) {
        let host = self.host(id);
        if host.parked != parked {
            host.parked = parked;
            let (from, to) =
                if parked { (&mut self.open, &mut self.parked) } else { (&mut self.parked, &mut self.open) };
            *from -= 1;
            *to += 1;
        }
    }

    /// Those that wait to be let go.
    pub fn parked(&self) -> Vec<HostId> {
        let is_parked = |id: &HostId| self.hosts[*id].as_ref().is_some_and(|host| host.parked);
        if self.parked == 0 { Vec::new() } else { (0..self.hosts.len()).filter(is_parked).collect() }
    }

    /// Forgets a host.
    pub fn close(&mut self, id: HostId) {
        self.set_lingering(id, true);
        let host = self.hosts[id].take().expect("an id is of an open host");
        self.by_key.remove(&host.key);
        self.free.push(id);
    }

    /// Is there nothing left to visit, now or later?
    pub fn is_finished(&self) -> bool {
        self.parked == 0 && self.has_only_held()
    }

    /// Is nothing left to visit but at hosts that are held?
    pub fn has_only_held(&self) -> bool {
        self.open == 0 && self.next_in_order == self.order.len()
    }

    /// Hosts that are being visited, those that are held among them.
    pub fn open_hosts(&self) -> usize {
        self.open + self.parked
    }

    /// Takes away all that is left of the schedule: for the deadline.
    pub fn take_rest(&mut self, runs: &[HostRun]) -> Vec<Cursor> {
        let mut rest: Vec<Cursor> = self.hosts().flat_map(|host| host.take_rest(runs)).collect();
        for group in 0..self.groups.len() {
            if !std::mem::replace(&mut self.begun[group], true) {
                rest.extend(runs[self.range(group, runs)].iter().map(Cursor::new));
            }
        }
        rest
    }

    /// All open hosts.
    pub fn hosts(&mut self) -> impl Iterator<Item = &mut Host> {
        self.hosts.iter_mut().flatten()
    }
}
