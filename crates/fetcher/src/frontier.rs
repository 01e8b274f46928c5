//! The hosts that are being visited, by the time at which each may be asked next.
//!
//! BUbiNG's workbench (Boldi et al. 2014) in small: a queue of hosts, not of pages. A host is in the
//! queue at most once, and not at all while its connections are in use or while it stands in the line of its
//! address, so no second visit can start early: that politeness holds is a matter of structure.
//!
//! `open_hosts` slots are for hosts that work: a host that only waits (for its address, for the end of a Retry-After,
//! for a long delay, for an operator) has none, and lets go of what can be read again. Memory is O(hosts) for the list
//! of runs, a chunk of entries for each slot, and next to nothing for up to [`WAITING_PER_SLOT`] hosts a slot that
//! wait; the schedule itself stays where it is.

use crate::crowds::Group;
use crate::fetch::Run;
use crate::host::{Cursor, Host};
use crate::left_out::LeftOut;
use crate::limits::WAITING_PER_SLOT;
use crate::opening::{Opening, Precedence, host_key};
use crate::outcome::FetchError;
use recrawl_types::{CanonicalUrl, HostRun, Site};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::net::IpAddr;
use tokio::time::Instant;

/// A place in the table of open hosts.
pub type HostId = usize;

/// What a host in the table is doing, as far as slots go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seat {
    /// It has a slot.
    #[default]
    Open,
    /// It has something to do, and waits for longer than its usual delay.
    Waiting,
    /// It has something to do, and is held by an operator.
    Held,
    /// It has nothing to do but to keep its delay.
    Lingering,
}

impl Seat {
    /// Does nothing happen at the host for now?
    fn is_at_rest(self) -> bool {
        matches!(self, Seat::Held | Seat::Lingering)
    }
}

/// The hosts in memory, and the list of those not opened yet.
#[derive(Debug)]
pub struct Frontier {
    hosts: Vec<Option<Host>>,
    free: Vec<HostId>,
    by_key: HashMap<Box<[u8]>, HostId>,
    /// Hosts in order of the time they may be asked; among equals, who waited longest.
    queue: BinaryHeap<Reverse<(Instant, u64, HostId)>>,
    pushed: u64,
    /// Hosts by [`Seat`].
    seats: [usize; 4],
    opening: Opening,
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
            seats: [0; 4],
            opening: Opening::new(
                run.schedule.hosts(),
                precedence,
                run.cycle,
                config.hosts_per_site,
                config.hosts_per_address,
            ),
        }
    }

    fn count(&self, seat: Seat) -> usize {
        self.seats[seat as usize]
    }

    /// Opens hosts of the schedule until `limit` have a slot.
    pub fn open_more(&mut self, limit: usize, run: &Run) {
        let most = limit.saturating_mul(1 + WAITING_PER_SLOT);
        while self.count(Seat::Open) < limit && self.count(Seat::Open) + self.count(Seat::Waiting) < most {
            let Some(first) = self.opening.next(run.schedule.hosts()) else { return };
            self.host_of(first, run);
        }
    }

    /// The host of a URL, opened if need be, with its part of the schedule if that was not begun.
    pub fn host_of(&mut self, url: &CanonicalUrl, run: &Run) -> HostId {
        let key = host_key(url);
        if let Some(&id) = self.by_key.get(key) {
            return id;
        }
        let name = url.host();
        let site = Site::of_host(&name);
        self.opening.sites.enter(site.clone());
        let host = Host::new(key.into(), &name, site, run, self.opening.take(key, run.schedule.hosts()));
        let id = self.free.pop().unwrap_or_else(|| {
            self.hosts.push(None);
            self.hosts.len() - 1
        });
        self.by_key.insert(key.into(), id);
        self.hosts[id] = Some(host);
        self.seats[Seat::Open as usize] += 1;
        run.report().hosts += 1;
        self.push(id, Instant::now());
        id
    }

    /// A host in memory.
    pub fn host(&mut self, id: HostId) -> &mut Host {
        self.hosts[id].as_mut().expect("an id is of a host in memory")
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

    /// Gives the host another seat. One that is held, or has nothing to do, keeps no other host of its site or address
    /// out; where it goes on, it counts again.
    pub fn seat(&mut self, id: HostId, seat: Seat) {
        let host = self.host(id);
        let before = std::mem::replace(&mut host.seat, seat);
        self.seats[before as usize] -= 1;
        self.seats[seat as usize] += 1;
        match (before.is_at_rest(), seat.is_at_rest()) {
            (false, true) => self.leave_crowds(id),
            (true, false) => self.enter_crowds(id),
            _ => {}
        }
    }

    /// Lets the host wait for its delay: without a slot where that is long. It lets go of what can be read again when it has
    /// no slot, or when more hosts have one than there are.
    pub fn wait(&mut self, id: HostId, is_long: bool, slots: usize, run: &Run) -> Result<(), FetchError> {
        self.seat(id, if is_long { Seat::Waiting } else { Seat::Open });
        if is_long || self.count(Seat::Open) > slots { self.host(id).fold(run) } else { Ok(()) }
    }

    /// Lets the host wait for its address, without a slot. It lets go of what can be read again when more hosts are in
    /// memory than there are slots.
    pub fn wait_in_line(&mut self, id: HostId, slots: usize, run: &Run) -> Result<(), FetchError> {
        self.seat(id, Seat::Waiting);
        let is_crowded = self.count(Seat::Open) + self.count(Seat::Waiting) > slots;
        if is_crowded { self.host(id).fold(run) } else { Ok(()) }
    }

    /// The host is no longer held, or has something to do again.
    pub fn rouse(&mut self, id: HostId) {
        if self.host(id).seat != Seat::Waiting {
            self.seat(id, Seat::Open);
        }
    }

    /// Those that wait to be let go by an operator.
    pub fn held(&self) -> Vec<HostId> {
        let is_held = |id: &HostId| self.hosts[*id].as_ref().is_some_and(|host| host.seat == Seat::Held);
        if self.count(Seat::Held) == 0 { Vec::new() } else { (0..self.hosts.len()).filter(is_held).collect() }
    }

    /// The host is found to be at this address. Where that has its share of open hosts, and nothing was begun at this one,
    /// it is forgotten until one of them is done; tells whether it stays.
    pub fn settle(&mut self, id: HostId, address: IpAddr) -> bool {
        let host = self.hosts[id].as_mut().expect("an id is of a host in memory");
        if host.crowd.is_some() {
            return true;
        }
        if let Some(group) = host.untouched()
            && self.opening.addresses.is_full(&address)
        {
            self.opening.set_aside(group, address);
            self.close(id);
            return false;
        }
        host.crowd = Some(address);
        self.opening.addresses.enter(address);
        true
    }

    fn enter_crowds(&mut self, id: HostId) {
        let host = self.hosts[id].as_mut().expect("an id is of a host in memory");
        let (site, address) = (host.site_of_name(), host.address());
        (host.site, host.crowd) = (Some(site.clone()), address);
        self.opening.sites.enter(site);
        if let Some(address) = address {
            self.opening.addresses.enter(address);
        }
    }

    fn leave_crowds(&mut self, id: HostId) {
        let host = self.hosts[id].as_mut().expect("an id is of a host in memory");
        let (site, address) = (host.site.take(), host.crowd.take());
        self.opening.leave(site.as_ref(), address);
    }

    /// Forgets a host.
    pub fn close(&mut self, id: HostId) {
        self.seat(id, Seat::Lingering);
        self.seats[Seat::Lingering as usize] -= 1;
        let host = self.hosts[id].take().expect("an id is of a host in memory");
        self.by_key.remove(&host.key);
        self.free.push(id);
    }

    /// Is there nothing left to visit, now or later?
    pub fn is_finished(&self) -> bool {
        self.count(Seat::Held) == 0 && self.has_only_held()
    }

    /// Is nothing left to visit but at hosts that are held?
    pub fn has_only_held(&self) -> bool {
        self.count(Seat::Open) + self.count(Seat::Waiting) == 0 && self.opening.is_done()
    }

    /// Hosts that are being visited, those that wait or are held among them.
    pub fn open_hosts(&self) -> usize {
        self.count(Seat::Open) + self.count(Seat::Waiting) + self.count(Seat::Held)
    }

    /// Notes for each host of the schedule whether it had a turn: a page of it came out, now or in an earlier run of the
    /// cycle.
    pub fn note_turns(&mut self, run: &Run, left_out: &mut LeftOut) {
        let idle: HashSet<Group> = self
            .hosts()
            .filter_map(|host| host.turn_of())
            .filter(|turn| !turn.1)
            .map(|turn| turn.0)
            .collect();
        let runs = run.schedule.hosts();
        for (group, is_begun, range) in self.opening.hosts(runs) {
            let mut indexes = runs[range.clone()].iter().flat_map(|run| run.start..run.start + run.count);
            let had_none = !is_begun || idle.contains(&group);
            let key = host_key(&runs[range.start].first);
            if had_none && !indexes.any(|index| (run.done)(index)) {
                left_out.leave_out(key, run.cycle);
            } else {
                left_out.had_turn(key);
            }
        }
    }

    /// Takes away all that is left of the schedule: for the deadline.
    pub fn take_rest(&mut self, runs: &[HostRun]) -> Vec<Cursor> {
        let mut rest: Vec<Cursor> = self.hosts().flat_map(|host| host.take_rest(runs)).collect();
        for range in self.opening.take_rest(runs) {
            rest.extend(runs[range].iter().map(Cursor::new));
        }
        rest
    }

    /// All hosts in memory.
    pub fn hosts(&mut self) -> impl Iterator<Item = &mut Host> {
        self.hosts.iter_mut().flatten()
    }
}
