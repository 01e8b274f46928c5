//! One host: its pages in order, its pace, its origins.
//!
//! A host is a name (or an address literal). Its origins (scheme and port) share one pace, but each
//! has its own robots.txt and state ([`OriginQueue`]). The schedule keeps the origins of a host
//! together, and the host visits them one after the other. A redirect may open another origin in
//! between.

pub mod address_turns;
pub mod addresses;
pub mod back_off;
mod cursor;
pub mod delay;
mod delivered;
pub mod detour;
pub mod feedback;
mod fetches;
pub mod limits;
pub mod order;
mod origin_queue;
pub mod politeness;

pub use cursor::{Cursor, QueuedPage};
pub use fetches::Fetches;
pub use origin_queue::{HostRequest, OriginId, OriginQueue, RobotsRequest};

use crate::host::addresses::Addresses;
use crate::host::delivered::Delivered;
use crate::host::feedback::{HostFeedback, RetryPolicy};
use crate::host::limits::HostIndex;
use crate::host::politeness::{AdaptiveDelay, Pace, ServerHealth};
use crate::net::client::NetworkError;
use crate::net::limits::{ADDRESS_TTL, CHUNK, MAX_ADDRESSES};
use crate::outcome::{FetchError, FetchedPage};
use crate::run::Run;
use crate::run::control::{HostActivity, HostFigures, MAX_ORIGINS, OriginFigures};
use origin_queue::QueueStep;
use recrawl_types::{HostRun, Origin, SchedulePlace, Share, Site};
use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;
use tokio::time::Instant;
use tracing::Span;

/// Idle origins that a host keeps in memory: enough for http beside https.
const IDLE_ORIGINS: usize = 4;
/// After this many kept connections closed by the server, the host keeps none: each costs a delay.
const IDLE_CLOSES_TOLERATED: u32 = 2;
/// How long a failed lookup is assumed to hold. The resolver remembers it for much longer, so a
/// request under this assumption reaches no server.
const NO_ADDRESS_TTL: Duration = Duration::from_secs(1);
/// When a host looks again whether its next page may be requested.
const LATER: Duration = Duration::from_millis(50);

/// The next step of a host.
#[derive(Debug)]
pub enum HostStep {
    /// Deliver these pages, then make the request (of this origin), if any.
    Visit { finished: Vec<FetchedPage>, action: Option<(Option<OriginId>, HostRequest)>, last: bool },
    /// Try again at this time.
    Wait(Instant),
    /// Wait until this address is free.
    AwaitAddress(IpAddr),
    /// Nothing until a response arrives.
    Idle,
    /// The host has pages, but an operator holds it.
    Held,
    /// Nothing is left, but the delay has not passed. Try again at this time.
    CoolDown(Instant),
    /// Nothing is left, and the delay has passed.
    Done,
}

/// Does a host occupy a slot of the frontier?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotState {
    /// It occupies a slot.
    #[default]
    Active,
    /// It has pages and waits for longer than its usual delay.
    Waiting,
    /// It has pages and an operator holds it.
    Held,
    /// It has no pages and waits for its delay to pass.
    CoolingDown,
}

impl SlotState {
    pub fn is_at_rest(self) -> bool {
        matches!(self, SlotState::Held | SlotState::CoolingDown)
    }
}

/// The address of a host, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressState {
    Unknown,
    Resolving,
    /// Valid until the given time. Without an address, a request fails without reaching a server.
    Known(Option<IpAddr>, Instant),
}

/// May the host make a request at its address now?
enum AddressCheck {
    Ready,
    Unresolved,
    Resolving,
    Busy(IpAddr),
}

/// The start of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestStart {
    /// In milliseconds since 1970.
    pub at: u64,
    /// Since the start of the host's request before; none for the first since the host was opened.
    pub gap: Option<Duration>,
    /// The host's delay.
    pub delay: Duration,
}

/// One host. While all its connections are in use it is in no queue, so no request can start.
#[derive(Debug)]
pub struct FetchedHost {
    /// The host's part of a URL's key.
    pub key: Box<[u8]>,
    name: Box<str>,
    pub pace: Pace,
    adaptive_delay: AdaptiveDelay,
    pub in_flight: usize,
    /// Is it in the frontier's queue, or waiting for its address?
    pub queued: bool,
    /// The address that the host may use now, after waiting for it.
    pub grant: Option<IpAddr>,
    address_state: AddressState,
    /// Retries in a row of requests that no server processed.
    retries: usize,
    /// Kept connections that the server had closed before the next request.
    idle_closes: u32,
    pub slot_state: SlotState,
    /// The site whose open hosts include this one; none while it is held or idle.
    pub counted_site: Option<Site>,
    /// The same for the address.
    pub counted_address: Option<IpAddr>,
    /// Its position in the schedule's list of hosts.
    host_index: Option<HostIndex>,
    done: Delivered,
    /// Its pages in flight.
    pub fetching: Fetches,
    /// End of the last response, to detect early requests.
    answered: Option<Instant>,
    /// Start of the last request.
    started: Option<Instant>,
    /// Runs of the schedule that this host has not started.
    runs: Range<usize>,
    /// Started runs of origins that are not in memory.
    unloaded: Vec<Cursor>,
    origins: Vec<OriginQueue>,
    next_origin: OriginId,
    /// Tracing span of all events of this host.
    pub span: Span,
}

impl FetchedHost {
    /// Opens a host of this name, with its part of the schedule.
    pub fn new(
        key: Box<[u8]>,
        name: &str,
        site: Site,
        run: &Run,
        part: Option<(HostIndex, Range<usize>)>,
    ) -> FetchedHost {
        let (host_index, runs) = part.map_or((None, 0..0), |(host_index, runs)| (Some(host_index), runs));
        FetchedHost {
            span: tracing::error_span!("host", host = name),
            key,
            pace: Pace::new(run.config.delay_per_host, run.began),
            adaptive_delay: AdaptiveDelay::default(),
            in_flight: 0,
            queued: false,
            grant: None,
            address_state: AddressState::Unknown,
            retries: 0,
            idle_closes: 0,
            slot_state: SlotState::Active,
            counted_site: Some(site),
            counted_address: None,
            host_index,
            done: Delivered::default(),
            fetching: Fetches::default(),
            answered: None,
            started: None,
            runs,
            unloaded: Vec::new(),
            name: name.into(),
            origins: Vec::new(),
            next_origin: 0,
        }
    }

    pub fn origin(&mut self, id: OriginId) -> &mut OriginQueue {
        self.origins
            .iter_mut()
            .find(|queue| queue.id == id)
            .expect("an origin stays open while a request is in flight")
    }

    /// The queue of an origin, opened if needed.
    pub fn open_origin(&mut self, origin: &Origin, run: &Run) -> Result<&mut OriginQueue, FetchError> {
        if let Some(at) = self.origins.iter().position(|queue| queue.origin == *origin) {
            return Ok(&mut self.origins[at]);
        }
        self.next_origin += 1;
        let queue = OriginQueue::open(self.next_origin, origin, run)?;
        let (held, adaptive_delay) = (queue.retry_after_left(run), AdaptiveDelay::load(&queue.state));
        // An unloaded host has kept its pace, which includes this Retry-After.
        let was_unloaded = self.unloaded.iter().any(|cursor| cursor.origin() == *origin);
        if !held.is_zero() && !was_unloaded {
            self.pace.hold(Instant::now() + held);
        }
        self.adaptive_delay.join(&adaptive_delay);
        self.origins.push(queue);
        self.update_delay(run);
        Ok(self.origins.last_mut().expect("a queue was pushed"))
    }

    /// The delay that the configuration or the robots.txt of an open origin asks for.
    fn asked_delay(&self, run: &Run) -> Duration {
        let asked = self.origins.iter().filter_map(OriginQueue::crawl_delay);
        let asked = asked.filter(|d| *d <= run.config.max_crawl_delay).max().unwrap_or_default();
        asked.max(run.config.delay_per_host)
    }

    /// Sets the pace to the larger of the required and the adaptive delay.
    pub fn update_delay(&mut self, run: &Run) {
        self.pace.set_delay(self.adaptive_delay.delay(self.asked_delay(run), &run.config));
    }

    pub fn add_robots_request(&mut self, robots_request: RobotsRequest, run: &Run) -> Result<(), FetchError> {
        let origin = Origin::from_url(&robots_request.url);
        self.open_origin(&origin, run)?.robots_requests.push_back(robots_request);
        Ok(())
    }

    /// Adds the target of a redirect, or a page to request again.
    pub fn add_followed(&mut self, queued: QueuedPage, run: &Run) -> Result<(), FetchError> {
        let origin = Origin::from_url(&queued.entry.url);
        self.open_origin(&origin, run)?.followed.push_back(queued);
        Ok(())
    }

    /// Adds a request of a page that is rendered.
    pub fn add_resource(&mut self, queued: QueuedPage, run: &Run) -> Result<(), FetchError> {
        let origin = Origin::from_url(&queued.entry.url);
        self.open_origin(&origin, run)?.resources.push_back(queued);
        Ok(())
    }

    /// Returns what to do next; a returned request counts as started. `has_grant`: the host waited
    /// for its address and may use it now.
    pub fn next(
        &mut self,
        run: &Run,
        addresses: &mut Addresses,
        has_grant: bool,
    ) -> Result<HostStep, FetchError> {
        let mut finished = Vec::new();
        let now = run.now();
        loop {
            // A host whose pages are all refused must not collect them in memory.
            if finished.len() >= CHUNK {
                return Ok(HostStep::Visit { finished, action: None, last: false });
            }
            let (at, step) = self.step(run, now)?;
            match step {
                QueueStep::Nothing => break,
                QueueStep::Later if finished.is_empty() => return Ok(HostStep::Wait(Instant::now() + LATER)),
                QueueStep::Later => break,
                QueueStep::Finish(_) | QueueStep::Request
                    if run.control.is_host_held(&self.origins[at].origin.host) =>
                {
                    return Ok(HostStep::Held);
                }
                QueueStep::Finish(outcome) => {
                    let pages = self.origins[at].finish(outcome, now);
                    let Origin { scheme, port, .. } = self.origins[at].origin;
                    self.done.add(scheme, port, pages.len() as u64);
                    finished.extend(pages);
                }
                QueueStep::Request => match (self.pace.wait(), self.check_address(addresses, has_grant)) {
                    (Some(at), _) if finished.is_empty() => return Ok(HostStep::Wait(at)),
                    (None, AddressCheck::Ready) => {
                        self.pace.touch();
                        let queue = &mut self.origins[at];
                        let action = Some((Some(queue.id), queue.next_request(run)));
                        // The last request closes the connection, since nobody needs it any more. So does
                        // each request to a server that closes idle ones: a retry would cost another delay.
                        let is_started = self.runs.is_empty() && self.unloaded.is_empty();
                        let last = self.idle_closes >= IDLE_CLOSES_TOLERATED
                            || is_started && self.origins.iter().all(OriginQueue::is_exhausted);
                        return Ok(HostStep::Visit { finished, action, last });
                    }
                    (None, AddressCheck::Unresolved) => {
                        self.address_state = AddressState::Resolving;
                        let host = self.origins[at].origin.host.clone();
                        return Ok(HostStep::Visit {
                            finished,
                            action: Some((None, HostRequest::Lookup(host))),
                            last: false,
                        });
                    }
                    (None, AddressCheck::Resolving) if finished.is_empty() => return Ok(HostStep::Idle),
                    (None, AddressCheck::Busy(address)) if finished.is_empty() => {
                        return Ok(HostStep::AwaitAddress(address));
                    }
                    _ => break,
                },
            }
        }
        if !finished.is_empty() {
            return Ok(HostStep::Visit { finished, action: None, last: false });
        }
        if self.in_flight > 0 || !self.origins.iter().all(OriginQueue::is_idle) {
            return Ok(HostStep::Idle);
        }
        self.retire(run, 0)?;
        // Keep the host until its delay has passed: a redirect may lead back to it.
        Ok(self.pace.wait().map_or(HostStep::Done, HostStep::CoolDown))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Pages that are not asked for yet.
    pub fn pages_left(&self, run: &Run) -> u64 {
        let open: u64 = self.origins.iter().map(OriginQueue::pages_left).sum();
        let unloaded: u64 = self.unloaded.iter().map(Cursor::pages_left).sum();
        open + unloaded + run.schedule.hosts()[self.runs.clone()].iter().map(|run| run.count).sum::<u64>()
    }

    pub fn site_of_name(&self) -> Site {
        Site::of_host(&self.name)
    }

    /// The address that a request would go to.
    pub fn address(&self) -> Option<IpAddr> {
        match self.address_state {
            AddressState::Known(address, _) => address,
            AddressState::Unknown | AddressState::Resolving => None,
        }
    }

    fn check_address(&self, addresses: &mut Addresses, has_grant: bool) -> AddressCheck {
        if !addresses.are_paced() {
            return AddressCheck::Ready;
        }
        match self.address_state {
            AddressState::Resolving => AddressCheck::Resolving,
            AddressState::Known(address, until) if until > Instant::now() => match address {
                Some(address) if !addresses.is_free(address, has_grant) => AddressCheck::Busy(address),
                Some(_) | None => AddressCheck::Ready,
            },
            AddressState::Known(..) | AddressState::Unknown => AddressCheck::Unresolved,
        }
    }

    /// Records the result of a DNS lookup.
    pub fn resolved(&mut self, address: Option<IpAddr>) {
        let ttl = if address.is_some() { ADDRESS_TTL } else { NO_ADDRESS_TTL };
        self.address_state = AddressState::Known(address, Instant::now() + ttl);
    }

    /// The retry rule of the next request. Address changes are limited: DNS may return the same
    /// addresses again in between. A request that the server did not process is repeated once until
    /// a response arrives.
    pub fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy { try_next_address: self.retries < MAX_ADDRESSES, repeat: self.retries == 0 }
    }

    /// Takes back a request without an answer that counts. It is repeated after the delay, at the
    /// address that the name has then.
    pub fn retry(&mut self, origin: OriginId, action: HostRequest, why: NetworkError) {
        self.idle_closes += u32::from(why == NetworkError::NotProcessed);
        self.address_state = AddressState::Unknown;
        if why.reached_no_server() {
            self.retries += 1;
            // It is no start of a gap.
            self.started = None;
        }
        self.origin(origin).put_back(action);
    }

    /// Its position in the schedule's list of hosts, and whether a page of it was delivered. None
    /// if the host is not in the schedule.
    pub fn progress(&self) -> Option<(HostIndex, bool)> {
        self.host_index.map(|host_index| (host_index, self.done.total() > 0))
    }

    /// The first possible step, and the index of its origin.
    fn step(&mut self, run: &Run, now: u64) -> Result<(usize, QueueStep), FetchError> {
        loop {
            let mut later = None;
            // Resources first, whichever origin was opened first.
            let asked = self.origins.iter().position(|queue| !queue.resources.is_empty());
            for at in asked.into_iter().chain(0..self.origins.len()) {
                match self.origins[at].step(run, now)? {
                    QueueStep::Nothing => {}
                    // A resource of another origin does not wait.
                    QueueStep::Later => later = Some(at),
                    step => return Ok((at, step)),
                }
            }
            if let Some(at) = later {
                return Ok((at, QueueStep::Later));
            }
            if self.origins.iter().any(|queue| queue.cursor.is_some()) {
                return Ok((0, QueueStep::Nothing));
            }
            self.retire(run, IDLE_ORIGINS)?;
            if let Some(origin) = self.unloaded.last().map(Cursor::origin) {
                self.open_origin(&origin, run)?;
                let cursor = self.unloaded.pop();
                self.open_origin(&origin, run)?.cursor = cursor;
                continue;
            }
            let Some(next) = self.runs.next() else { return Ok((0, QueueStep::Nothing)) };
            let host_run = &run.schedule.hosts()[next];
            self.open_origin(&Origin::from_url(&host_run.first), run)?.cursor = Some(Cursor::new(host_run));
        }
    }

    /// Stores and closes idle origins until at most `keep` origins are left.
    fn retire(&mut self, run: &Run, keep: usize) -> Result<(), FetchError> {
        let mut at = 0;
        while self.origins.len() > keep && at < self.origins.len() {
            if self.origins[at].is_idle() {
                self.origins[at].store(run)?;
                self.origins.remove(at);
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// The host's position in the schedule, if the host did nothing but look up its address. Such a
    /// host can be closed and opened again.
    pub fn unstarted(&self) -> Option<HostIndex> {
        let is_in_use = self.queued || self.grant.is_some() || self.in_flight > 0 || self.done.total() > 0;
        self.host_index.filter(|_| !is_in_use && self.origins.iter().all(OriginQueue::can_be_read_again))
    }

    /// Frees entries. Also frees robots rules and state of all origins, if no request is in flight
    /// and all pages are in the schedule. All of this can be read again.
    pub fn unload(&mut self, run: &Run) -> Result<(), FetchError> {
        if self.in_flight > 0 || !self.origins.iter().all(OriginQueue::can_be_forgotten) {
            self.origins.iter_mut().filter_map(|queue| queue.cursor.as_mut()).for_each(Cursor::unload);
            return Ok(());
        }
        for mut queue in std::mem::take(&mut self.origins) {
            queue.store(run)?;
            self.unloaded.extend(queue.cursor.take());
        }
        self.unloaded.iter_mut().for_each(Cursor::unload);
        Ok(())
    }

    /// Records the end of a visit: a response to a request of this origin, or none if the visit
    /// only delivered pages.
    ///
    /// # Errors
    /// State that must survive a crash cannot be stored.
    pub fn visit_ended(
        &mut self,
        origin: Option<OriginId>,
        feedback: Option<&HostFeedback>,
        run: &Run,
    ) -> Result<(), FetchError> {
        self.in_flight -= 1;
        let Some(id) = origin else { return Ok(()) };
        self.pace.touch();
        let now = run.now();
        let delay = self.pace.delay().max(run.config.delay_per_ip);
        self.origin(id).request_ended(feedback.is_some(), run.round.cycle, now, delay);
        let Some(feedback) = feedback else { return Ok(()) };
        self.retries = 0;
        self.answered = Some(Instant::now());
        let elapsed = feedback.elapsed.min(run.config.timeout);
        self.adaptive_delay.update(feedback.health, elapsed, self.asked_delay(run), &run.config);
        self.update_delay(run);
        if let (AddressState::Known(Some(_), until), Some(peer)) = (self.address_state, feedback.peer) {
            self.address_state = AddressState::Known(Some(peer), until);
        }
        let adaptive_delay = self.adaptive_delay;
        adaptive_delay.save(&mut self.origin(id).state);
        if let Some(wait) = feedback.retry_after {
            let is_waited_for = wait <= run.config.max_retry_after;
            self.origin(id).retry_after(wait, now, is_waited_for);
            if is_waited_for {
                self.pace.hold(Instant::now() + wait);
            }
        }
        if feedback.health == ServerHealth::Overloaded { self.origin(id).store(run) } else { Ok(()) }
    }

    /// Takes a scheduled page before its turn; none if it is visited or in flight.
    pub fn take_early(&mut self, found: SchedulePlace, run: &Run) -> Option<QueuedPage> {
        let SchedulePlace { host, index, entry } = found;
        let cursors = self.origins.iter_mut().filter_map(|queue| queue.cursor.as_mut());
        let cursor = cursors.chain(&mut self.unloaded).find(|cursor| cursor.contains(index));
        let taken = match cursor {
            Some(cursor) if !cursor.is_unread(index) => cursor.take(index)?,
            None if !self.runs.contains(&host) => return None,
            Some(_) | None => QueuedPage::new(Some(index), entry),
        };
        run.taken_early().insert(index).then_some(taken)
    }

    /// Removes the pages that must be delivered but are not in the cursors: retries, and pages that
    /// an operator requested.
    pub fn take_requested(&mut self) -> Vec<QueuedPage> {
        let queued = self.origins.iter_mut().flat_map(|queue| queue.followed.drain(..));
        queued.filter(|page| page.entry.share != Share::Followed).collect()
    }

    /// Removes the pages that have an answer, but wait for that of their target, or to be requested again.
    pub fn take_waiting(&mut self) -> Vec<FetchedPage> {
        let mut pages = Vec::new();
        for queue in &mut self.origins {
            let before = pages.len();
            queue.followed.retain_mut(|queued| {
                let Some(detour) = queued.detour.take() else { return true };
                let is_answered = detour.answered.is_some();
                pages.extend(detour.pages.into_iter().chain(detour.answered));
                !is_answered
            });
            self.done.add(queue.origin.scheme, queue.origin.port, (pages.len() - before) as u64);
        }
        pages
    }

    /// Notes that a request starts now.
    pub fn request_starts(&mut self, run: &Run) -> RequestStart {
        let now = Instant::now();
        let gap = self.started.replace(now).map(|before| now.saturating_duration_since(before));
        RequestStart { at: run.now(), gap, delay: self.pace.delay() }
    }

    /// Would a request now be earlier than the configured delay allows?
    pub fn is_early(&self, run: &Run) -> bool {
        self.answered.is_some_and(|at| at.elapsed() < run.config.delay_per_host)
    }

    /// Progress of this host; none if no entry was read.
    pub fn figures(&self, run: &Run, now: u64) -> Option<HostFigures> {
        if self.origins.is_empty() && self.unloaded.is_empty() {
            return None;
        }
        let state = match () {
            () if self.in_flight > 0 => HostActivity::Asking,
            () if self.slot_state == SlotState::Held => HostActivity::Held,
            () if self.origins.iter().any(|queue| queue.state.back_off_until > now) => {
                HostActivity::BackedOff
            }
            () => HostActivity::Waiting,
        };
        let (origins, beyond) = self.origin_figures(run, now);
        Some(HostFigures {
            host: self.name.to_string(),
            queue: origins.iter().map(|origin| origin.queue).sum::<u64>() + beyond,
            done: self.done.total(),
            delay: self.adaptive_delay.delay(self.asked_delay(run), &run.config).max(run.config.delay_per_ip),
            latency: self.adaptive_delay.latency,
            failures: origins.iter().map(|origin| origin.failures).max().unwrap_or_default(),
            state,
            origins,
        })
    }

    /// The first origins, and the pages left of others.
    fn origin_figures(&self, run: &Run, now: u64) -> (Vec<OriginFigures>, u64) {
        let figures = |queue: &OriginQueue| OriginFigures {
            origin: queue.origin.clone(),
            queue: queue.pages_left(),
            done: 0,
            failures: queue.state.failures,
            state: match () {
                () if queue.is_in_flight() => HostActivity::Asking,
                () if self.slot_state == SlotState::Held => HostActivity::Held,
                () if queue.state.back_off_until > now => HostActivity::BackedOff,
                () => HostActivity::Waiting,
            },
        };
        let mut all: Vec<OriginFigures> = self.origins.iter().take(MAX_ORIGINS).map(figures).collect();
        let mut beyond: u64 = self.origins.iter().skip(MAX_ORIGINS).map(OriginQueue::pages_left).sum();
        let runs = run.schedule.hosts()[self.runs.clone()].iter();
        let unread = runs.map(|run| (Origin::from_url(&run.first), run.count));
        let unloaded = self.unloaded.iter().map(|cursor| (cursor.origin(), cursor.pages_left()));
        for (origin, pages) in unloaded.chain(unread) {
            *OriginFigures::in_list(&mut all, origin).map_or(&mut beyond, |figures| &mut figures.queue) +=
                pages;
        }
        for (origin, pages) in self.done.by_origin(&self.name) {
            if let Some(figures) = OriginFigures::in_list(&mut all, origin) {
                figures.done = pages;
            }
        }
        (all, beyond)
    }

    /// Counts pages that a visit at this origin delivered.
    pub fn delivered(&mut self, origin: OriginId, pages: u64) {
        let Origin { scheme, port, .. } = self.origin(origin).origin;
        self.done.add(scheme, port, pages);
    }

    /// Removes and returns the rest of the schedule for this host, for the deadline.
    pub fn take_rest(&mut self, runs: &[HostRun]) -> Vec<Cursor> {
        let started = self.origins.iter_mut().filter_map(|queue| queue.cursor.take());
        let started = started.chain(self.unloaded.drain(..));
        started.chain(self.runs.by_ref().map(|i| Cursor::new(&runs[i]))).collect()
    }

    pub fn store(&self, run: &Run) -> Result<(), FetchError> {
        self.origins.iter().try_for_each(|queue| queue.store(run))
    }
}
