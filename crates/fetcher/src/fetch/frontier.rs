//! The frontier: open hosts, ordered by the time of their next request.
//!
//! A small version of BUbiNG's workbench (Boldi et al. 2014): a queue of hosts, not of pages. A
//! host is in the queue at most once. It is not in the queue while all its connections are in use
//! or while it waits for its address. So no second request can start early, by construction.
//!
//! `open_hosts` slots are for active hosts. A host that waits for its address, a Retry-After, a long
//! delay or an operator has no slot. It frees data that can be read again. Memory: O(hosts) for the
//! list of runs, a chunk of entries per slot, and very little for each of up to
//! [`WAITING_PER_SLOT`] waiting hosts per slot. The schedule itself is not in memory.

use crate::host::limits::HostIndex;
use crate::host::order::{HostOrder, Precedence, host_key};
use crate::host::{Cursor, FetchedHost, SlotState};
use crate::net::limits::WAITING_PER_SLOT;
use crate::outcome::FetchError;
use crate::run::unvisited_hosts::UnvisitedHosts;
use crate::run::{HostId, Run};
use recrawl_types::{CanonicalUrl, HostRun, Site};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::net::IpAddr;
use tokio::time::Instant;

#[derive(Debug)]
pub struct Frontier {
    hosts: Vec<Option<FetchedHost>>,
    free: Vec<HostId>,
    by_key: HashMap<Box<[u8]>, HostId>,
    /// Hosts by the time of their next request; the number breaks ties, first in first out.
    queue: BinaryHeap<Reverse<(Instant, u64, HostId)>>,
    pushed: u64,
    /// Number of hosts in each [`SlotState`].
    slot_counts: [usize; 4],
    host_order: HostOrder,
}

impl Frontier {
    pub fn new(run: &Run, precedence: &Precedence) -> Frontier {
        let config = &run.config;
        Frontier {
            hosts: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            queue: BinaryHeap::new(),
            pushed: 0,
            slot_counts: [0; 4],
            host_order: HostOrder::new(
                run.schedule.hosts(),
                precedence,
                run.round.round,
                config.hosts_per_site,
                config.hosts_per_address,
            ),
        }
    }

    fn count(&self, state: SlotState) -> usize {
        self.slot_counts[state as usize]
    }

    /// Opens hosts of the schedule until `limit` hosts have a slot.
    pub fn open_more(&mut self, limit: usize, run: &Run) {
        let max_in_memory = limit.saturating_mul(1 + WAITING_PER_SLOT);
        while self.count(SlotState::Active) < limit
            && self.count(SlotState::Active) + self.count(SlotState::Waiting) < max_in_memory
        {
            let Some(first) = self.host_order.next(run.schedule.hosts()) else { return };
            self.host_of(first, run);
        }
    }

    /// The host of a URL. Opens it if needed, with its part of the schedule unless that was opened
    /// before.
    pub fn host_of(&mut self, url: &CanonicalUrl, run: &Run) -> HostId {
        let key = host_key(url);
        if let Some(&id) = self.by_key.get(key) {
            return id;
        }
        let name = url.host();
        let site = Site::of_host(&name);
        self.host_order.sites.add(site.clone());
        let host =
            FetchedHost::new(key.into(), &name, site, run, self.host_order.take(key, run.schedule.hosts()));
        let id = self.free.pop().unwrap_or_else(|| {
            self.hosts.push(None);
            self.hosts.len() - 1
        });
        self.by_key.insert(key.into(), id);
        self.hosts[id] = Some(host);
        self.slot_counts[SlotState::Active as usize] += 1;
        run.report().hosts += 1;
        self.push(id, Instant::now());
        id
    }

    pub fn host(&mut self, id: HostId) -> &mut FetchedHost {
        self.hosts[id].as_mut().expect("a host id refers to an open host")
    }

    /// Queues a host, unless it is queued already.
    pub fn push(&mut self, id: HostId, at: Instant) {
        let host = self.host(id);
        if !std::mem::replace(&mut host.queued, true) {
            self.pushed += 1;
            self.queue.push(Reverse((at, self.pushed, id)));
        }
    }

    /// Queues a host that may use its address from `at` on.
    pub fn push_granted(&mut self, id: HostId, address: IpAddr, at: Instant) {
        self.host(id).grant = Some(address);
        self.pushed += 1;
        self.queue.push(Reverse((at, self.pushed, id)));
    }

    pub fn next_at(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse((at, ..))| *at)
    }

    /// Removes the next host from the queue, if it is due.
    pub fn pop(&mut self, now: Instant) -> Option<HostId> {
        self.next_at().filter(|at| *at <= now)?;
        let Reverse((_, _, id)) = self.queue.pop()?;
        self.host(id).queued = false;
        Some(id)
    }

    /// Changes the slot state of a host. A held or idle host does not count towards the limits of
    /// its site and address.
    pub fn set_slot_state(&mut self, id: HostId, state: SlotState) {
        let host = self.host(id);
        let before = std::mem::replace(&mut host.slot_state, state);
        self.slot_counts[before as usize] -= 1;
        self.slot_counts[state as usize] += 1;
        match (before.is_at_rest(), state.is_at_rest()) {
            (false, true) => self.stop_counting(id),
            (true, false) => self.count_as_open(id),
            _ => {}
        }
    }

    /// Makes the host wait for its delay, without a slot if the wait is long. It frees data that
    /// can be read again if it has no slot, or if more hosts are active than there are slots.
    pub fn wait(&mut self, id: HostId, is_long: bool, slots: usize, run: &Run) -> Result<(), FetchError> {
        self.set_slot_state(id, if is_long { SlotState::Waiting } else { SlotState::Active });
        if is_long || self.count(SlotState::Active) > slots { self.host(id).unload(run) } else { Ok(()) }
    }

    /// Makes the host wait for its address, without a slot. It frees data that can be read again if
    /// more hosts are in memory than there are slots.
    pub fn wait_for_address(&mut self, id: HostId, slots: usize, run: &Run) -> Result<(), FetchError> {
        self.set_slot_state(id, SlotState::Waiting);
        let is_crowded = self.count(SlotState::Active) + self.count(SlotState::Waiting) > slots;
        if is_crowded { self.host(id).unload(run) } else { Ok(()) }
    }

    /// Gives a host a slot again after it was held or idle.
    pub fn reactivate(&mut self, id: HostId) {
        if self.host(id).slot_state != SlotState::Waiting {
            self.set_slot_state(id, SlotState::Active);
        }
    }

    /// Hosts that an operator holds.
    pub fn held(&self) -> Vec<HostId> {
        let is_held =
            |id: &HostId| self.hosts[*id].as_ref().is_some_and(|host| host.slot_state == SlotState::Held);
        if self.count(SlotState::Held) == 0 {
            Vec::new()
        } else {
            (0..self.hosts.len()).filter(is_held).collect()
        }
    }

    /// Records the address of a host. If that address is at its limit of open hosts and this host
    /// made no request, the host is closed. It waits for one of the open hosts to end. Returns
    /// whether the host stays open.
    pub fn set_address(&mut self, id: HostId, address: IpAddr) -> bool {
        let host = self.hosts[id].as_mut().expect("a host id refers to an open host");
        if host.counted_address.is_some() || host.slot_state.is_at_rest() {
            return true;
        }
        if let Some(host_index) = host.unstarted()
            && self.host_order.addresses.is_full(&address)
        {
            self.host_order.put_back(host_index, address);
            self.close(id);
            return false;
        }
        host.counted_address = Some(address);
        self.host_order.addresses.add(address);
        true
    }

    fn count_as_open(&mut self, id: HostId) {
        let host = self.hosts[id].as_mut().expect("a host id refers to an open host");
        let (site, address) = (host.site_of_name(), host.address());
        (host.counted_site, host.counted_address) = (Some(site.clone()), address);
        self.host_order.sites.add(site);
        if let Some(address) = address {
            self.host_order.addresses.add(address);
        }
    }

    fn stop_counting(&mut self, id: HostId) {
        let host = self.hosts[id].as_mut().expect("a host id refers to an open host");
        let (site, address) = (host.counted_site.take(), host.counted_address.take());
        self.host_order.release(site.as_ref(), address);
    }

    pub fn close(&mut self, id: HostId) {
        self.set_slot_state(id, SlotState::CoolingDown);
        self.slot_counts[SlotState::CoolingDown as usize] -= 1;
        let host = self.hosts[id].take().expect("a host id refers to an open host");
        self.by_key.remove(&host.key);
        self.free.push(id);
    }

    /// Is nothing left to visit, now or later?
    pub fn is_finished(&self) -> bool {
        self.count(SlotState::Held) == 0 && self.has_only_held()
    }

    /// Is nothing left to visit except at held hosts?
    pub fn has_only_held(&self) -> bool {
        self.count(SlotState::Active) + self.count(SlotState::Waiting) == 0 && self.host_order.is_done()
    }

    /// Is half of the schedule's hosts done, or is each host held that is not?
    pub fn is_half_done(&self) -> bool {
        let left = self.host_order.unopened() + self.open_hosts();
        left > 0 && 2 * left <= self.host_order.len()
            || self.count(SlotState::Held) > 0 && self.has_only_held()
    }

    /// Hosts that are open and not cooling down.
    pub fn open_hosts(&self) -> usize {
        self.count(SlotState::Active) + self.count(SlotState::Waiting) + self.count(SlotState::Held)
    }

    /// Records for each host of the schedule whether a page of it was delivered, in this run or in
    /// an earlier run of the cycle.
    pub fn note_unvisited(&mut self, run: &Run, unvisited: &mut UnvisitedHosts) {
        let idle: HashSet<HostIndex> = self
            .hosts()
            .filter_map(|host| host.progress())
            .filter(|progress| !progress.1)
            .map(|progress| progress.0)
            .collect();
        let runs = run.schedule.hosts();
        for (host_index, is_opened, range) in self.host_order.hosts(runs) {
            let mut indexes = runs[range.clone()].iter().flat_map(|run| run.start..run.start + run.count);
            let is_unvisited = !is_opened || idle.contains(&host_index);
            let key = host_key(&runs[range.start].first);
            if is_unvisited && !indexes.any(|index| (run.done)(index)) {
                unvisited.add(key, run.round.round);
            } else {
                unvisited.remove(key);
            }
        }
    }

    /// Removes and returns the rest of the schedule, for the deadline.
    pub fn take_rest(&mut self, runs: &[HostRun]) -> Vec<Cursor> {
        let mut rest: Vec<Cursor> = self.hosts().flat_map(|host| host.take_rest(runs)).collect();
        for range in self.host_order.take_rest(runs) {
            rest.extend(runs[range].iter().map(Cursor::new));
        }
        rest
    }

    pub fn hosts(&mut self) -> impl Iterator<Item = &mut FetchedHost> {
        self.hosts.iter_mut().flatten()
    }
}
