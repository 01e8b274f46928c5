//! The main loop: starts visits at hosts that are due, and updates hosts from the results.

use crate::fetch::frontier::Frontier;
use crate::fetch::in_flight::InFlight;
use crate::fetch::visit::{HostVisit, VisitEnd, VisitEndKind, deliver};
use crate::fetch::visit_task::PanickedVisit;
use crate::host::address_turns::AddressTurns;
use crate::host::addresses::Addresses;
use crate::host::delay::LeftAlone;
use crate::host::order::Precedence;
use crate::host::{Cursor, HostRequest, HostStep, OriginId, QueuedPage, RobotsRequest, SlotState};
use crate::net::client::{Network, NetworkError, Reply, is_redirect};
use crate::net::kept_types::KeptTypes;
use crate::net::limits::{FetchConfig, LONG_WAIT, MAX_DETOURS, MAX_ROBOTS_REDIRECTS};
use crate::outcome::chain::Chain;
use crate::outcome::{FetchError, FetchedPage};
use crate::robots::policy::{RobotsPolicy, evaluate};
use crate::run::budget::RunBudget;
use crate::run::clock::WallClock;
use crate::run::control::{FIGURES_EVERY, HostActivity, HostsNow, MAX_FETCHING, MAX_SLOWEST, RunControl};
use crate::run::rate::RequestRate;
use crate::run::report::{FetchReport, StoppedBy};
use crate::run::resources::{LoadingPages, Resources, Ticket};
use crate::run::suspension::{HEARTBEAT, Suspension};
use crate::run::unavailable::Unavailable;
use crate::run::{HostId, Refuses, Run};
use recrawl_types::{
    CanonicalUrl, DatedRound, HostTable, Origin, Outcome, RequestLog, ScheduleEntry, ScheduleSource, Skip,
    UrlRules, Validators,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, warn};

mod frontier;
mod in_flight;
mod take_over;
mod visit;
mod visit_task;

/// Fetches schedules.
pub struct Fetcher {
    config: Arc<FetchConfig>,
    network: Arc<dyn Network>,
    hosts: Arc<dyn HostTable>,
    clock: WallClock,
    /// Over all runs; none without a limit of requests.
    rate: Option<Arc<RequestRate>>,
    /// Requests that the last run left in flight.
    left: Mutex<Vec<InFlight>>,
    /// Of a crawl that shares addresses with others.
    turns: Option<Arc<dyn AddressTurns>>,
}

/// Input of one run.
pub struct Job {
    /// The current round and its cycle.
    pub round: DatedRound,
    /// The pages to visit.
    pub schedule: Arc<dyn ScheduleSource>,
    /// Is the entry with this index already done by an interrupted run of the cycle?
    pub done: Arc<dyn Fn(u64) -> bool + Send + Sync>,
    /// Called for entries and redirect targets before any request.
    pub refuses: Refuses,
    /// Did the owner of this host opt out? Then recrawl sends no request, not even for robots.txt,
    /// and no DNS query.
    pub opted_out: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Is this host in scope? Another robots.txt that redirects there leads also to addresses that are not public.
    pub in_scope: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Is this page read in another way than at its last visit? Then it is asked for without validators: after a 304 it
    /// would not be read at all.
    pub reads_anew: Arc<dyn Fn(&ScheduleEntry) -> bool + Send + Sync>,
    /// Canonicalizes redirect targets.
    pub rules: Arc<UrlRules>,
    /// Receives the pages. While it is full, the run starts no request (back-pressure).
    pub out: Sender<FetchedPage>,
    /// Cancel this to stop: the run finishes and delivers the requests in flight. It does not
    /// deliver the rest of the schedule, which stays to be done.
    pub stop: CancellationToken,
    /// Redirect targets that an interrupted run of the cycle followed.
    pub followed: Vec<CanonicalUrl>,
    /// Bytes per origin that an interrupted run of the cycle fetched.
    pub spent: BTreeMap<Origin, u64>,
    /// Decides which hosts are opened first.
    pub precedence: Precedence,
    /// Origins that earlier runs found unavailable.
    pub unavailable: Unavailable,
    /// From then on no request starts, and the run skips the rest: [`FetchReport::skipped`].
    pub deadline: Option<Instant>,
    /// The same, but only once all remaining pages are at held hosts.
    pub held_deadline: Option<Instant>,
    /// When to leave the rest of the schedule to a later run; none to wait for every host.
    pub patience: Option<RunPatience>,
    /// Commands of an operator during the run.
    pub control: Arc<RunControl>,
    /// Media types that are kept; none for all.
    pub types: Option<Arc<KeptTypes>>,
    /// Writes down each request that may have reached a server; none if nobody asks for it.
    pub requests: Option<Arc<dyn RequestLog>>,
    /// Requests of pages that are rendered during the run; none if no page is.
    pub resources: Option<Arc<Resources>>,
}

/// How long a run waits for slow hosts. Then it starts no more requests, and neither visits nor delivers
/// the rest of the schedule.
#[derive(Clone, Copy, Debug)]
pub struct RunPatience {
    /// From the moment when half of the schedule's hosts are done, or only held ones are left.
    pub linger: Duration,
    /// The same if the run found pages for the next one, and took no longer until that moment: what waits then are
    /// the hosts that are done. Its requests go on in the next run. None if there may be no next run.
    pub least: Option<Duration>,
    /// The latest end.
    pub end: Instant,
}

impl RunPatience {
    /// How long a run waits for slow hosts that needed `took` until half of its hosts were done.
    fn wait(&self, took: Duration, has_found: bool) -> Duration {
        let least = self.least.filter(|_| has_found);
        least.map_or(self.linger, |least| self.linger.min(least.max(took)))
    }
}

impl Fetcher {
    /// Did it have requests that need no contact, and are all of them made?
    pub fn is_used_up(&self) -> bool {
        self.network.is_used_up()
    }

    /// Makes a fetcher.
    pub fn new(
        config: FetchConfig,
        network: Arc<dyn Network>,
        hosts: Arc<dyn HostTable>,
        clock: WallClock,
    ) -> Fetcher {
        let rate = NonZeroU32::new(config.requests_per_second)
            .map(|requests| Arc::new(RequestRate::new(requests, Duration::from_secs(1))));
        Fetcher { config: Arc::new(config), network, hosts, clock, rate, left: Mutex::default(), turns: None }
    }

    /// Asks addresses only in these turns, from the next run on.
    pub fn take_turns(&mut self, turns: Arc<dyn AddressTurns>) {
        self.turns = Some(turns);
    }

    /// For the requests of the pages that are rendered during one run.
    pub fn resources(&self, pages: Box<dyn LoadingPages>) -> Arc<Resources> {
        Resources::new(pages, self.network.clone())
    }

    /// Visits a schedule. Delivers each entry that is not done exactly once, unless the run is
    /// stopped or skips the rest. It also delivers new redirect targets and pages that an operator requested, without
    /// an index.
    ///
    /// # Errors
    /// [`FetchError`]: the schedule or the host table cannot be read or written, or the receiver of
    /// pages is gone. Nothing that a server does is an error.
    pub async fn run(&self, job: Job) -> Result<FetchReport, FetchError> {
        let (start, began_at) = (Instant::now(), (self.clock)());
        let run = Arc::new(Run {
            config: self.config.clone(),
            network: self.network.clone(),
            hosts: self.hosts.clone(),
            clock: self.clock.clone(),
            schedule: job.schedule,
            done: job.done,
            refuses: job.refuses,
            opted_out: job.opted_out,
            in_scope: job.in_scope,
            reads_anew: job.reads_anew,
            rules: job.rules,
            control: job.control,
            began: start,
            began_at,
            suspension: Suspension::new(began_at),
            round: job.round,
            budget: Mutex::new(RunBudget::new(&self.config, self.rate.clone(), &job.spent, start)),
            unavailable: Mutex::new(job.unavailable),
            report: Mutex::default(),
            types: job.types,
            requests: job.requests,
            resources: job.resources,
            taken_early: Mutex::default(),
            followed: Mutex::new(job.followed.into_iter().collect()),
            detours: Arc::new(Semaphore::new(MAX_DETOURS)),
            leaving: CancellationToken::new(),
        });
        let mut state = FetchLoop {
            frontier: Frontier::new(&run, &job.precedence),
            addresses: Addresses::new(&run.config, start, self.turns.clone()),
            visits: JoinSet::new(),
            out: job.out,
            published_at: None,
            publish_at: None,
            heartbeat_at: start,
            patience: job.patience,
            lingers_from: None,
            left: std::mem::take(&mut *self.left()),
            run: run.clone(),
        };
        let stopped_by = state.visit_all(&job.stop, job.deadline, job.held_deadline).await;
        if let Some(resources) = &run.resources {
            resources.close(*stopped_by.as_ref().unwrap_or(&StoppedBy::Stop));
        }
        if stopped_by.is_err() {
            // A visit that nobody polls would keep the output open.
            state.visits.shutdown().await;
        }
        let stopped_by = stopped_by?;
        *self.left() = std::mem::take(&mut state.left);
        state.deliver_waiting().await?;
        let mut unvisited = job.precedence.unvisited;
        if stopped_by != StoppedBy::Stop {
            state.frontier.note_unvisited(&run, &mut unvisited);
        }
        let skipped = match stopped_by {
            StoppedBy::Deadline => state.skip_rest(Skip::Deadline).await?,
            StoppedBy::ByteBudget => state.skip_rest(Skip::ByteBudget).await?,
            StoppedBy::End | StoppedBy::Stop | StoppedBy::SlowHosts | StoppedBy::FirstLook => Vec::new(),
        };
        state.frontier.hosts().try_for_each(|host| host.store(&run))?;
        run.control.publish(0, 0, 0);
        run.control.publish_hosts(HostsNow::default());
        let mut report = run.report().clone();
        (report.elapsed, report.stopped_by) = (start.elapsed(), stopped_by);
        (report.skipped, report.unvisited_hosts) = (skipped, unvisited);
        report.unavailable = std::mem::take(&mut *run.unavailable());
        Ok(report)
    }

    /// Did the last run leave requests in flight?
    pub fn has_left(&self) -> bool {
        !self.left().is_empty()
    }

    /// Takes over the requests that the last run of another fetcher left in flight.
    pub fn take_over(&self, other: &Fetcher) {
        self.left().append(&mut other.left());
    }

    fn left(&self) -> MutexGuard<'_, Vec<InFlight>> {
        self.left.lock().expect("no panic under the lock")
    }
}

/// State of a run, owned by one task.
struct FetchLoop {
    run: Arc<Run>,
    frontier: Frontier,
    addresses: Addresses,
    visits: JoinSet<VisitEnd>,
    out: Sender<FetchedPage>,
    /// When the slowest hosts were last published.
    published_at: Option<Instant>,
    /// When to publish them again; none if they are due with the next event.
    publish_at: Option<Instant>,
    /// When the next heartbeat is due, see [`Suspension`].
    heartbeat_at: Instant,
    patience: Option<RunPatience>,
    /// Since when only slow hosts are left.
    lingers_from: Option<Instant>,
    /// Requests that the last run left in flight; then those that are left to the next one.
    left: Vec<InFlight>,
}

impl FetchLoop {
    /// Visits until the end, the stop or the deadline, and until the last visit has ended.
    async fn visit_all(
        &mut self,
        stop: &CancellationToken,
        deadline: Option<Instant>,
        held_deadline: Option<Instant>,
    ) -> Result<StoppedBy, FetchError> {
        let (control, resources) = (self.run.control.clone(), self.run.resources.clone());
        let mut stopped = None;
        control.begin_run();
        for left in std::mem::take(&mut self.left) {
            self.take_over(left)?;
        }
        loop {
            if stopped.is_none() {
                if stop.is_cancelled() {
                    stopped = Some(StoppedBy::Stop);
                } else if self.deadline(deadline, held_deadline).is_some_and(|at| at <= Instant::now()) {
                    stopped = Some(StoppedBy::Deadline);
                } else if self.patience_ends().is_some_and(|at| at <= Instant::now())
                    && (control.has_asked() || !self.frontier.is_finished())
                {
                    stopped = Some(StoppedBy::SlowHosts);
                } else if let Some(spent) = self.spent().filter(|_| !self.frontier.is_finished()) {
                    stopped = Some(spent);
                } else if !control.is_held() {
                    while let Some(entry) = control.next_asked() {
                        self.add_asked(entry)?;
                    }
                    while let Some((entry, ticket)) = resources.as_ref().and_then(|all| all.next()) {
                        self.add_resource(entry, ticket)?;
                    }
                    self.beat();
                    self.start_visits()?;
                }
            }
            if stopped == Some(StoppedBy::SlowHosts) {
                self.leave_requests();
            }
            if let (Some(stopped_by), Some(resources)) = (stopped, &resources) {
                // Pages that are being rendered would wait in vain.
                resources.close(stopped_by);
            }
            self.publish();
            // A page that is being rendered may ask for more.
            let is_rendering = resources.as_ref().is_some_and(|resources| resources.is_open());
            let is_finished = self.frontier.is_finished() && !control.has_asked() && !is_rendering;
            if self.visits.is_empty() && (stopped.is_some() || is_finished) {
                return Ok(stopped.unwrap_or_default());
            }
            let has_room = self.visits.len() < self.run.config.connections;
            let is_free = stopped.is_none() && has_room && !control.is_held();
            let next = if is_free { self.next_start() } else { None };
            let deadline = [self.deadline(deadline, held_deadline), self.patience_ends()];
            let deadline = deadline.into_iter().flatten().min();
            tokio::select! {
                // A stop and a deadline go first: in a busy run, some visit has always ended.
                biased;
                () = stop.cancelled(), if stopped.is_none() => {}
                () = at(deadline), if stopped.is_none() => {}
                () = control.changed(), if stopped.is_none_or(|by| by == StoppedBy::SlowHosts) => {
                    self.frontier.held().into_iter().for_each(|id| self.wake(id));
                }
                () = changed(resources.as_deref()), if stopped.is_none() => {}
                Some(ended) = self.visits.join_next() => {
                    self.on_visit_end(ended.expect("a visit's task catches panics"))?;
                    while let Some(ended) = self.visits.try_join_next() {
                        self.on_visit_end(ended.expect("a visit's task catches panics"))?;
                    }
                }
                () = at(next), if next.is_some() => {}
                () = at(self.publish_at), if self.publish_at.is_some() => {}
                () = sleep_until(self.heartbeat_at), if !self.visits.is_empty() => {}
            }
            self.beat();
        }
    }

    /// When to start visits. A run may begin in the pause that the last one left, with no host open: the budget wakes it.
    fn next_start(&mut self) -> Option<Instant> {
        self.frontier.next_at().max(self.run.budget().free_at())
    }

    /// The limit of requests or bytes that is reached.
    fn spent(&self) -> Option<StoppedBy> {
        match () {
            () if self.run.budget().is_spent() => Some(StoppedBy::ByteBudget),
            () if self.run.network.is_used_up() => Some(StoppedBy::FirstLook),
            () => None,
        }
    }

    /// The deadline that applies now. `held` applies only while all remaining pages are at held
    /// hosts.
    fn deadline(&self, all: Option<Instant>, held: Option<Instant>) -> Option<Instant> {
        let is_waiting = self.visits.is_empty() && self.frontier.has_only_held();
        [all, held.filter(|_| is_waiting)].into_iter().flatten().min()
    }

    /// Leaves the requests in flight to the next run, if this one found pages for it. That may come to light only after the
    /// stop.
    fn leave_requests(&self) {
        let may_leave = self.patience.is_some_and(|patience| patience.least.is_some());
        if may_leave && self.run.control.has_found() && !self.run.control.is_ending() {
            self.run.leaving.cancel();
        }
    }

    /// When the run stops waiting for slow hosts.
    fn patience_ends(&mut self) -> Option<Instant> {
        let patience = self.patience?;
        if self.run.control.is_ending() {
            return Some(self.run.began);
        }
        if self.lingers_from.is_none() && self.frontier.is_half_done() {
            self.lingers_from = Some(Instant::now());
        }
        let wait = |from: Instant| patience.wait(from - self.run.began, self.run.control.has_found());
        let lingers_to = self.lingers_from.and_then(|from| from.checked_add(wait(from)));
        Some(lingers_to.map_or(patience.end, |at| at.min(patience.end)))
    }

    fn beat(&mut self) {
        self.run.suspension.beat(self.run.now());
        self.heartbeat_at = Instant::now() + HEARTBEAT;
    }

    /// Starts visits at all hosts that are due, as far as connections are free.
    fn start_visits(&mut self) -> Result<(), FetchError> {
        let config = self.run.config.clone();
        let now = Instant::now();
        while self.visits.len() < config.connections && self.run.budget().free_at().is_none() {
            self.frontier.open_more(config.open_hosts, &self.run);
            let Some(id) = self.frontier.pop(now) else { return Ok(()) };
            let host = self.frontier.host(id);
            // The end of a request that an earlier run sent wakes the host.
            if host.in_flight >= config.connections_per_host {
                continue;
            }
            let grant = host.grant.take();
            if let Some(address) = grant {
                self.addresses.use_grant(address);
            }
            let next = host.next(&self.run, &mut self.addresses, grant.is_some())?;
            match next {
                HostStep::Visit { finished, action, last } => self.begin_visit(id, finished, action, last),
                HostStep::Wait(at) => {
                    let is_long = at > now + LONG_WAIT;
                    self.frontier.wait(id, is_long, config.open_hosts, &self.run)?;
                    self.frontier.push(id, at);
                }
                HostStep::AwaitAddress(address) => {
                    self.frontier.wait_for_address(id, config.open_hosts, &self.run)?;
                    self.frontier.host(id).queued = true;
                    self.addresses.enqueue(address, id);
                    self.grant_next(address);
                }
                HostStep::Idle => self.frontier.reactivate(id),
                HostStep::Held => self.frontier.set_slot_state(id, SlotState::Held),
                HostStep::CoolDown(at) => {
                    self.frontier.set_slot_state(id, SlotState::CoolingDown);
                    self.frontier.push(id, at);
                }
                HostStep::Done => self.frontier.close(id),
            }
            // The grant is used up, even if this host made no request.
            if let Some(address) = grant {
                self.grant_next(address);
            }
        }
        Ok(())
    }

    /// Begins the visit that the host asked for.
    fn begin_visit(
        &mut self,
        id: HostId,
        finished: Vec<FetchedPage>,
        action: Option<(Option<OriginId>, HostRequest)>,
        last: bool,
    ) {
        let run = self.run.clone();
        self.frontier.set_slot_state(id, SlotState::Active);
        let host = self.frontier.host(id);
        let is_request = matches!(action, Some((Some(_), _)));
        if is_request && host.is_early(&run) {
            run.control.count_early();
        }
        let start = is_request.then(|| host.request_starts(&run));
        if is_request {
            run.budget().request_starts();
        }
        host.in_flight += 1;
        let retry = host.retry_policy();
        let origin = action.as_ref().and_then(|(origin, _)| *origin);
        let detour_path = origin.and_then(|origin| host.origin(origin).state.detour_path.clone());
        let address = host.address().filter(|_| is_request);
        // A host that waits for its DNS lookup can do nothing else.
        let is_lookup = matches!(action, Some((None, _)));
        if host.in_flight < run.config.connections_per_host && !is_lookup {
            self.frontier.push(id, Instant::now());
        }
        if let Some(address) = address {
            self.addresses.request_started(address, self.frontier.host(id).name());
        }
        let sent = None;
        self.start_visit(HostVisit {
            host: id,
            finished,
            action,
            start,
            address,
            last,
            retry,
            detour_path,
            sent,
        });
    }

    fn start_visit(&mut self, visit: HostVisit) {
        let panicked = PanickedVisit::new(&visit);
        let host = self.frontier.host(visit.host);
        let span = host.span.clone();
        if let Some(page) = panicked.page() {
            host.fetching.start(page, self.run.now());
        }
        let visit = visit_task::visit(visit, panicked, self.run.clone(), self.out.clone());
        self.visits.spawn(visit.instrument(span));
    }

    /// Grants the address to the next host that waits for it, if it is free.
    fn grant_next(&mut self, address: IpAddr) {
        if let Some((host, at)) = self.addresses.grant_next(address) {
            self.frontier.push_granted(host, address, at);
        }
    }

    fn on_visit_end(&mut self, ended: VisitEnd) -> Result<(), FetchError> {
        if ended.output_closed {
            return Err(FetchError::OutputClosed);
        }
        if let Some(error) = ended.error {
            return Err(error);
        }
        let now = self.run.now();
        self.run.budget().received(ended.received);
        if let Some(address) = ended.address {
            let took = ended.feedback.as_ref().map(|feedback| feedback.elapsed);
            self.addresses.request_ended(address, took);
            // The connection led to another server than planned, whose delay counts as well.
            if let Some(peer) = ended.feedback.as_ref().and_then(|e| e.peer).filter(|p| *p != address) {
                self.addresses.unexpected_request(peer);
            }
            self.grant_next(address);
        }
        // Budgets count the transferred or the decoded bytes, whichever are more.
        let cost = match ended.kind {
            VisitEndKind::Page { bytes, .. } | VisitEndKind::Resource { bytes } => ended.received.max(bytes),
            _ => ended.received,
        };
        let host = self.frontier.host(ended.host);
        if let Some(origin) = ended.origin {
            self.run.budget().spend(&host.origin(origin).origin.host, cost);
            host.delivered(origin, ended.delivered);
        }
        host.visit_ended(ended.origin, ended.feedback.as_ref(), &self.run)?;
        match ended.kind {
            VisitEndKind::NoRequest | VisitEndKind::Resource { .. } => {}
            VisitEndKind::Left(left) => self.left.push(*left),
            // This machine has no sockets or memory left. No page may fail for that, so the run ends.
            VisitEndKind::Exhausted => return Err(FetchError::Exhausted),
            VisitEndKind::Lookup(address) => {
                host.resolved(address);
                if let Some(address) = address {
                    self.addresses.met(address, host.name(), || host.pages_left(&self.run));
                    if !self.frontier.set_address(ended.host, address) {
                        return Ok(());
                    }
                }
            }
            VisitEndKind::Retry { action, why } => {
                host.retry(ended.origin.expect("a request has an origin"), action, why);
            }
            VisitEndKind::Again(queued) => {
                let queue = host.origin(ended.origin.expect("a request has an origin"));
                queue.count_result(false, &self.run, now)?;
                queue.put_back(HostRequest::Page(Box::new(queued)));
            }
            VisitEndKind::Page { host_failed, follow, .. } => {
                if let Some(origin) = ended.origin.filter(|_| ended.feedback.is_some()) {
                    let queue = host.origin(origin);
                    queue.count_result(host_failed, &self.run, now)?;
                    ended.detour.map_or(Ok(()), |end| queue.note_detour(end, &self.run))?;
                }
                self.frontier.push(ended.host, Instant::now());
                return follow.map_or(Ok(()), |queued| self.put_first(queued));
            }
            VisitEndKind::Robots { robots_request, answer } => {
                self.frontier.push(ended.host, Instant::now());
                return self.on_robots_response(robots_request, answer, now);
            }
        }
        self.frontier.push(ended.host, Instant::now());
        Ok(())
    }

    /// Queues a page that an operator requested, unless this run delivers or delivered it anyway.
    /// Like any page, it may end without a request.
    fn add_asked(&mut self, entry: ScheduleEntry) -> Result<(), FetchError> {
        let queued = match self.run.find(&entry.url)? {
            Some(found) if (self.run.done)(found.index) => None,
            Some(found) => {
                let id = self.frontier.host_of(&entry.url, &self.run);
                self.frontier.host(id).take_early(found, &self.run)
            }
            None if self.run.add_followed(&entry.url) => Some(QueuedPage::new(None, entry)),
            None => None,
        };
        queued.map_or(Ok(()), |queued| self.put_first(queued))
    }

    /// Queues a request of a page that is rendered.
    fn add_resource(&mut self, entry: ScheduleEntry, ticket: Ticket) -> Result<(), FetchError> {
        let queued = QueuedPage { ticket: Some(ticket), ..QueuedPage::new(None, entry) };
        let id = self.frontier.host_of(&queued.entry.url, &self.run);
        self.frontier.reactivate(id);
        self.frontier.host(id).add_resource(queued, &self.run)?;
        self.wake(id);
        Ok(())
    }

    /// Queues a page before the scheduled pages of its host.
    fn put_first(&mut self, queued: QueuedPage) -> Result<(), FetchError> {
        let id = self.frontier.host_of(&queued.entry.url, &self.run);
        self.frontier.reactivate(id);
        self.frontier.host(id).add_followed(queued, &self.run)?;
        self.wake(id);
        Ok(())
    }

    /// Publishes progress. Publishes the figures of hosts every [`FIGURES_EVERY`], and at once when a
    /// held run comes to rest, since those figures stay for long.
    fn publish(&mut self) {
        let now = Instant::now();
        let is_at_rest = self.visits.is_empty() && self.run.control.is_held();
        let due = self.published_at.map(|at| at + FIGURES_EVERY).filter(|due| *due > now && !is_at_rest);
        self.publish_at = due;
        if due.is_none() {
            self.published_at = Some(now);
            self.publish_hosts();
        }
        // Published last: a reader who sees no request in flight then finds no host that is asking.
        let spent = self.run.budget().spent();
        self.run.control.publish(self.visits.len(), self.frontier.open_hosts(), spent);
    }

    fn publish_hosts(&mut self) {
        let at = self.run.now();
        let (mut slowest, mut fetching) = (Vec::new(), Vec::new());
        for host in self.frontier.hosts() {
            slowest.extend(host.figures(&self.run, at));
            fetching.extend(host.fetching.pages());
        }
        slowest.retain(|h| h.queue > 0 || h.state == HostActivity::Asking);
        let backed_off = slowest.iter().filter(|h| h.state == HostActivity::BackedOff).count();
        // Ties go by name, so that rows of the table do not jump.
        slowest.sort_by_cached_key(|h| {
            (Reverse(h.queue.saturating_mul(h.delay.as_millis() as u64)), h.host.clone())
        });
        slowest.truncate(MAX_SLOWEST);
        fetching.sort_by_key(|page| page.since);
        fetching.truncate(MAX_FETCHING);
        let (slowest, fetching) = (slowest.into(), fetching.into());
        let patience = self.patience_ends().map(|end| end.saturating_duration_since(Instant::now()));
        let ends_by = patience.map(|left| at.saturating_add(left.as_millis() as u64));
        self.run.control.publish_hosts(HostsNow { ends_by, backed_off, slowest, fetching });
    }

    /// Queues an idle host, unless all its connections are in use.
    fn wake(&mut self, id: usize) {
        if self.frontier.host(id).in_flight < self.run.config.connections_per_host {
            self.frontier.push(id, Instant::now());
        }
    }

    /// Handles a response to a robots.txt request: follows a redirect that leads to a request that was not made yet, and
    /// applies anything else to the origin that the request was for (RFC 9309 §2.3.1.2).
    fn on_robots_response(
        &mut self,
        robots_request: RobotsRequest,
        answer: Result<Reply, NetworkError>,
        now: u64,
    ) -> Result<(), FetchError> {
        if let Ok(reply) = &answer
            && is_redirect(reply.status)
            && robots_request.hops < MAX_ROBOTS_REDIRECTS
            && let (url, chain) = (&robots_request.url, robots_request.chain.as_deref())
            && let Some((url, chain)) = Chain::behind(url, chain, reply, &UrlRules::keep_all(), now)
            && !chain.is_loop()
        {
            if (self.run.opted_out)(&url.host()) {
                // The target's owner opted out, so this robots.txt cannot be fetched.
                let robots_request = RobotsRequest { hops: robots_request.hops + 1, ..robots_request };
                return self.apply_robots_response(&robots_request, &Err(NetworkError::Refused), now);
            }
            let id = self.frontier.host_of(&url, &self.run);
            self.frontier.reactivate(id);
            let leads_away = url.host() != robots_request.robots_url.host();
            let robots_request = RobotsRequest {
                is_public_only: robots_request.is_public_only
                    || leads_away && !(self.run.in_scope)(&url.host()),
                url,
                hops: robots_request.hops + 1,
                chain: Some(Box::new(chain)),
                validators: Validators::default(),
                ..robots_request
            };
            self.frontier.host(id).add_robots_request(robots_request, &self.run)?;
            self.wake(id);
            return Ok(());
        }
        self.apply_robots_response(&robots_request, &answer, now)
    }

    fn apply_robots_response(
        &mut self,
        robots_request: &RobotsRequest,
        answer: &Result<Reply, NetworkError>,
        now: u64,
    ) -> Result<(), FetchError> {
        let id = self.frontier.host_of(&robots_request.robots_url, &self.run);
        let host = self.frontier.host(id);
        let _host = host.span.clone().entered();
        let origin = Origin::from_url(&robots_request.robots_url);
        let queue = host.open_origin(&origin, &self.run)?;
        let refusal = answer.as_ref().err().and_then(|error| error.refusal());
        let policy = if let Some(refusal) = refusal.filter(|_| robots_request.hops == 0) {
            RobotsPolicy::Refused(refusal)
        } else {
            let state = evaluate(
                answer,
                queue.state.robots.as_ref(),
                &robots_request.validators,
                robots_request.hops == 0,
                now,
            );
            debug!(%origin, status = ?answer.as_ref().map(|r| r.status), "robots.txt");
            let policy = RobotsPolicy::from_body(&state.body, self.run.config.product_token());
            if queue.state.robots.as_ref().is_some_and(|before| before.body != state.body) {
                queue.state.rules_changed = now;
            }
            queue.note_robots(state);
            queue.store(&self.run)?;
            policy
        };
        if let RobotsPolicy::Rules(rules) = &policy
            && let Some(why) = LeftAlone::by_rules(rules, &self.run.config)
        {
            warn!(%origin, "the host is skipped: {why}");
        }
        queue.set_policy(policy, now, &self.run);
        host.update_delay(&self.run);
        self.wake(id);
        Ok(())
    }

    /// Delivers the redirects whose targets are not requested any more.
    async fn deliver_waiting(&mut self) -> Result<(), FetchError> {
        let pages: Vec<FetchedPage> = self.frontier.hosts().flat_map(|host| host.take_waiting()).collect();
        for page in pages {
            deliver(page, &self.run, &self.out).await.map_err(|_| FetchError::OutputClosed)?;
        }
        Ok(())
    }

    /// Skips the rest of the schedule, after the deadline or with the budget spent. Delivers pages that were taken from it
    /// already, and returns the others as ranges.
    async fn skip_rest(&mut self, why: Skip) -> Result<Vec<Range<u64>>, FetchError> {
        let again: Vec<QueuedPage> = self.frontier.hosts().flat_map(|host| host.take_requested()).collect();
        for page in again.into_iter().flat_map(|queued| queued.finish(Outcome::Skipped(why), self.run.now()))
        {
            deliver(page, &self.run, &self.out).await.map_err(|_| FetchError::OutputClosed)?;
        }
        let mut rest = self.frontier.take_rest(self.run.schedule.hosts());
        rest.sort_unstable_by_key(Cursor::start);
        let mut skipped: Vec<Range<u64>> = Vec::new();
        for index in rest.into_iter().flat_map(|cursor| cursor.rest(&self.run)) {
            match skipped.last_mut() {
                Some(range) if range.end == index => range.end += 1,
                _ => skipped.push(index..index + 1),
            }
        }
        let pages = skipped.iter().map(|range| range.end - range.start).sum();
        self.run.report().outcomes.count_skipped(why, pages);
        Ok(skipped)
    }
}

/// Waits for a request of a page; forever if no page is rendered.
async fn changed(resources: Option<&Resources>) {
    match resources {
        Some(resources) => resources.changed().await,
        None => std::future::pending().await,
    }
}

/// Sleeps until `time`; forever if there is none.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
