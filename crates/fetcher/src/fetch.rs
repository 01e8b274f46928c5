//! The loop: hosts whose time has come are sent visits, and what the visits bring changes the hosts.

use crate::WallClock;
use crate::addresses::Addresses;
use crate::budget::Budget;
use crate::client::{Network, NetworkError, Reply};
use crate::control::{FIGURES_EVERY, MAX_SLOWEST, Steering};
use crate::frontier::{Frontier, Seat};
use crate::host::{Ask, Errand, Next, Waiting};
use crate::limits::{FetchConfig, LONG_WAIT, MAX_FOLLOWED, MAX_ROBOTS_REDIRECTS};
use crate::opening::Precedence;
use crate::outcome::{FetchError, FetchedPage, is_redirect, redirect_target};
use crate::report::{FetchReport, StoppedBy};
use crate::robots::standing::{Standing, judge};
use crate::suspension::{BEAT, Suspension};
use crate::unavailable::Unavailable;
use crate::under_way;
use crate::visit::{Ended, EndedKind, Visit, deliver};
use recrawl_types::{
    CanonicalUrl, Cycle, Found, HostTable, Origin, Outcome, ScheduleEntry, ScheduleSource, Share, Skip,
    UrlRules, ValidatorTrust, Validators,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, warn};

/// Fetches schedules.
pub struct Fetcher {
    config: Arc<FetchConfig>,
    network: Arc<dyn Network>,
    hosts: Arc<dyn HostTable>,
    clock: WallClock,
}

/// Why an entry is not visited, if it is not: for a reason of ours, which stays ours.
pub type Refuses = Arc<dyn Fn(&ScheduleEntry) -> Option<Skip> + Send + Sync>;

/// One run of the fetcher.
pub struct Job {
    /// The cycle that runs.
    pub cycle: Cycle,
    /// What to visit.
    pub schedule: Arc<dyn ScheduleSource>,
    /// Which entries an interrupted run of the same cycle has visited already, by index. They are
    /// passed over.
    pub done: Arc<dyn Fn(u64) -> bool + Send + Sync>,
    /// Which pages may not be visited, and for what. Asked about entries and about targets of redirects, before
    /// anything is asked of a server.
    pub refuses: Refuses,
    /// Which hosts' owners have opted out. Nothing is sent there, not even for robots.txt, whatever the scope
    /// says, and no resolver is asked about them.
    pub opted_out: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// What makes a redirect's target canonical.
    pub rules: Arc<UrlRules>,
    /// Where pages go. Its bound is the back-pressure: while it is full, nothing new is asked.
    pub out: Sender<FetchedPage>,
    /// Cancelled, nothing new is asked; what is under way is finished and delivered, and the rest of the
    /// schedule is not delivered at all (it stays to be done).
    pub stop: CancellationToken,
    /// Targets of redirects that an interrupted run of the same cycle has followed already.
    pub followed: Vec<CanonicalUrl>,
    /// Bytes of pages that an interrupted run of the same cycle has fetched already.
    pub spent: BTreeMap<Origin, u64>,
    /// Which hosts go first.
    pub precedence: Precedence,
    /// What earlier runs found unavailable.
    pub unavailable: Unavailable,
    /// From here on nothing new is asked; the rest is delivered as skipped.
    pub deadline: Option<Instant>,
    /// The same, once nothing is left but at hosts that are held.
    pub held_deadline: Option<Instant>,
    /// What may be decided while it runs.
    pub control: Arc<Steering>,
}

/// What all parts of a run need.
pub struct Run {
    pub config: Arc<FetchConfig>,
    pub network: Arc<dyn Network>,
    pub hosts: Arc<dyn HostTable>,
    pub clock: WallClock,
    pub cycle: Cycle,
    pub schedule: Arc<dyn ScheduleSource>,
    pub done: Arc<dyn Fn(u64) -> bool + Send + Sync>,
    pub refuses: Refuses,
    pub opted_out: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    pub rules: Arc<UrlRules>,
    pub control: Arc<Steering>,
    /// When the run began. It knows of no request before, so it keeps each delay from here on.
    pub began: Instant,
    /// Did the process stand still?
    pub suspension: Suspension,
    budget: Mutex<Budget>,
    unavailable: Mutex<Unavailable>,
    report: Mutex<FetchReport>,
    /// Entries that were taken out of their turn before they were read: one index a page that somebody asked for.
    taken: Mutex<HashSet<u64>>,
}

impl Run {
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    pub fn budget(&self) -> MutexGuard<'_, Budget> {
        unpoisoned(&self.budget)
    }

    /// Are validators put to the test at this page?
    pub fn is_tested(&self, url: &CanonicalUrl) -> bool {
        ValidatorTrust::is_tested(url, self.cycle, self.config.validator_checks)
    }

    pub fn report(&self) -> MutexGuard<'_, FetchReport> {
        unpoisoned(&self.report)
    }

    pub fn unavailable(&self) -> MutexGuard<'_, Unavailable> {
        unpoisoned(&self.unavailable)
    }

    pub fn taken(&self) -> MutexGuard<'_, HashSet<u64>> {
        unpoisoned(&self.taken)
    }
}

/// All that is counted or listed under these locks stays sound when a visit panics.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fetcher {
    /// A fetcher over a network, with the program's table of hosts and its clock.
    pub fn new(
        config: FetchConfig,
        network: Arc<dyn Network>,
        hosts: Arc<dyn HostTable>,
        clock: WallClock,
    ) -> Fetcher {
        Fetcher { config: Arc::new(config), network, hosts, clock }
    }

    /// Visits a schedule. Every entry that is not done comes out exactly once, unless the run is
    /// stopped; targets of redirects that are news, and pages that somebody asks for, come out besides, without an
    /// index.
    ///
    /// # Errors
    /// [`FetchError`]: the schedule or the host table cannot be read or written, or nobody takes the
    /// pages. What servers do is never an error.
    pub async fn run(&self, job: Job) -> Result<FetchReport, FetchError> {
        let start = Instant::now();
        let run = Arc::new(Run {
            config: self.config.clone(),
            network: self.network.clone(),
            hosts: self.hosts.clone(),
            clock: self.clock.clone(),
            schedule: job.schedule,
            done: job.done,
            refuses: job.refuses,
            opted_out: job.opted_out,
            rules: job.rules,
            control: job.control,
            began: start,
            suspension: Suspension::new((self.clock)()),
            cycle: job.cycle,
            budget: Mutex::new(Budget::new(&self.config, &job.spent, start)),
            unavailable: Mutex::new(job.unavailable),
            report: Mutex::default(),
            taken: Mutex::default(),
        });
        let mut state = Loop {
            frontier: Frontier::new(&run, &job.precedence),
            addresses: Addresses::new(&run.config, start),
            visits: JoinSet::new(),
            followed: job.followed.into_iter().collect(),
            out: job.out,
            told: None,
            tell_at: None,
            beat_at: start,
            run: run.clone(),
        };
        let stopped_by = state.visit_all(&job.stop, job.deadline, job.held_deadline).await;
        if stopped_by.is_err() {
            // Each visit holds the output open, and would for as long as nobody polls it.
            state.visits.shutdown().await;
        }
        let stopped_by = stopped_by?;
        let mut left_out = job.precedence.left_out;
        if stopped_by != StoppedBy::Stop {
            state.frontier.note_turns(&run, &mut left_out);
        }
        match stopped_by {
            StoppedBy::Deadline => state.skip_rest(Skip::Deadline).await?,
            StoppedBy::ByteBudget => state.skip_rest(Skip::ByteBudget).await?,
            StoppedBy::End | StoppedBy::Stop => {}
        }
        for host in state.frontier.hosts() {
            host.store(&run)?;
        }
        run.control.tell(0, 0);
        run.control.tell_slowest(Vec::new());
        let mut report = run.report().clone();
        report.elapsed = start.elapsed();
        report.stopped_by = stopped_by;
        report.left_out = left_out;
        report.unavailable = std::mem::take(&mut *run.unavailable());
        Ok(report)
    }
}

/// The state of a run, owned by one task.
struct Loop {
    run: Arc<Run>,
    frontier: Frontier,
    addresses: Addresses,
    visits: JoinSet<Ended>,
    /// Pages beside the schedule met in this run: targets of redirects, and what somebody asked for.
    followed: HashSet<CanonicalUrl>,
    out: Sender<FetchedPage>,
    /// When the slowest hosts were told last.
    told: Option<Instant>,
    /// When they are to be told again, where something happened since.
    tell_at: Option<Instant>,
    /// When the next beat is due: see [`Suspension`].
    beat_at: Instant,
}

impl Loop {
    /// Visits until the end, the stop or the deadline, and until the last visit has come back.
    async fn visit_all(
        &mut self,
        stop: &CancellationToken,
        deadline: Option<Instant>,
        held_deadline: Option<Instant>,
    ) -> Result<StoppedBy, FetchError> {
        let control = self.run.control.clone();
        let mut stopped = None;
        loop {
            if stopped.is_none() {
                if stop.is_cancelled() {
                    stopped = Some(StoppedBy::Stop);
                } else if self.deadline(deadline, held_deadline).is_some_and(|at| at <= Instant::now()) {
                    stopped = Some(StoppedBy::Deadline);
                } else if self.run.budget().is_spent() && !self.frontier.is_finished() {
                    stopped = Some(StoppedBy::ByteBudget);
                } else if !control.is_held() {
                    while let Some(entry) = control.next_asked() {
                        self.ask(entry)?;
                    }
                    self.beat();
                    self.start_visits()?;
                }
            }
            self.tell();
            let is_finished = self.frontier.is_finished() && !control.has_asked();
            if self.visits.is_empty() && (stopped.is_some() || is_finished) {
                return Ok(stopped.unwrap_or_default());
            }
            let has_room = self.visits.len() < self.run.config.connections;
            let is_free = stopped.is_none() && has_room && !control.is_held();
            let next = self.frontier.next_at().filter(|_| is_free);
            let deadline = self.deadline(deadline, held_deadline);
            let next = next.map(|next| self.run.budget().free_at().map_or(next, |free| free.max(next)));
            tokio::select! {
                biased;
                () = stop.cancelled(), if stopped.is_none() => {}
                () = at(deadline), if stopped.is_none() => {}
                () = control.changed(), if stopped.is_none() => {
                    self.frontier.held().into_iter().for_each(|id| self.wake(id));
                }
                Some(ended) = self.visits.join_next() => {
                    self.ended(ended.expect("a visit's task catches what it meets"))?;
                    while let Some(ended) = self.visits.try_join_next() {
                        self.ended(ended.expect("a visit's task catches what it meets"))?;
                    }
                }
                () = at(next), if next.is_some() => {}
                () = at(self.tell_at), if self.tell_at.is_some() => {}
                () = sleep_until(self.beat_at), if !self.visits.is_empty() => {}
            }
            self.beat();
        }
    }

    /// The deadline that holds now: the other one too, when nothing is left but at hosts that are held.
    fn deadline(&self, all: Option<Instant>, held: Option<Instant>) -> Option<Instant> {
        let is_waiting = self.visits.is_empty() && self.frontier.has_only_held();
        [all, held.filter(|_| is_waiting)].into_iter().flatten().min()
    }

    fn beat(&mut self) {
        self.run.suspension.beat(self.run.now());
        self.beat_at = Instant::now() + BEAT;
    }

    /// Sends visits to all hosts whose time has come, as far as there are connections.
    fn start_visits(&mut self) -> Result<(), FetchError> {
        let config = self.run.config.clone();
        let now = Instant::now();
        while self.visits.len() < config.connections && self.run.budget().free_at().is_none() {
            self.frontier.open_more(config.open_hosts, &self.run);
            let Some(id) = self.frontier.pop(now) else { return Ok(()) };
            let host = self.frontier.host(id);
            let called = host.called.take();
            if let Some(address) = called {
                self.addresses.came(address);
            }
            let next = host.next(&self.run, &mut self.addresses, called.is_some())?;
            match next {
                Next::Visit { settled, ask, last } => {
                    self.frontier.seat(id, Seat::Open);
                    let host = self.frontier.host(id);
                    if matches!(ask, Some((Some(_), _))) && host.is_early(&self.run) {
                        self.run.control.count_early();
                    }
                    host.in_flight += 1;
                    let span = host.span.clone();
                    let may = host.may();
                    let address = host.address().filter(|_| matches!(ask, Some((Some(_), _))));
                    // While its address is looked up there is nothing else to do.
                    let is_lookup = matches!(ask, Some((None, _)));
                    if host.in_flight < config.connections_per_host && !is_lookup {
                        self.frontier.push(id, now);
                    }
                    if let Some(address) = address {
                        self.addresses.begin(address);
                    }
                    let visit = Visit { host: id, settled, ask, address, last, may };
                    let visit = under_way::visit(visit, self.run.clone(), self.out.clone());
                    self.visits.spawn(visit.instrument(span));
                }
                Next::Wait(at) => {
                    let is_long = at > now + LONG_WAIT;
                    self.frontier.wait(id, is_long, config.open_hosts, &self.run)?;
                    self.frontier.push(id, at);
                }
                Next::Line(address) => {
                    self.frontier.wait_in_line(id, config.open_hosts, &self.run)?;
                    self.frontier.host(id).queued = true;
                    self.addresses.join(address, id);
                    self.call(address);
                }
                Next::Idle => self.frontier.rouse(id),
                Next::Held => self.frontier.seat(id, Seat::Held),
                Next::Linger(at) => {
                    self.frontier.seat(id, Seat::Lingering);
                    self.frontier.push(id, at);
                }
                Next::Done => self.frontier.close(id),
            }
            // Whether or not this host took its turn: the next in line has the next.
            if let Some(address) = called {
                self.call(address);
            }
        }
        Ok(())
    }

    /// Calls the next host in the line of an address, where there is a place.
    fn call(&mut self, address: IpAddr) {
        if let Some((host, at)) = self.addresses.call(address) {
            self.frontier.call(host, address, at);
        }
    }

    fn ended(&mut self, ended: Ended) -> Result<(), FetchError> {
        if ended.output_closed {
            return Err(FetchError::OutputClosed);
        }
        let now = self.run.now();
        self.run.budget().received(ended.received);
        if let Some(address) = ended.address {
            self.addresses.ended(address);
            if let Some(peer) = ended.echo.as_ref().and_then(|e| e.peer).filter(|p| *p != address) {
                self.addresses.strayed(peer);
            }
            self.call(address);
        }
        // A host and a cycle pay for what came and for what it unpacked to, whichever is more.
        let cost = match ended.kind {
            EndedKind::Page { bytes, .. } => ended.received.max(bytes),
            _ => ended.received,
        };
        let host = self.frontier.host(ended.host);
        if let Some(track) = ended.track {
            self.run.budget().spend(&host.track(track).origin.host, cost);
        }
        host.done += u64::from(matches!(ended.kind, EndedKind::Page { .. }));
        host.ended(ended.track, ended.echo.as_ref(), &self.run)?;
        match ended.kind {
            EndedKind::Settled => {}
            EndedKind::Exhausted => return Err(FetchError::Exhausted),
            EndedKind::Address(address) => {
                host.resolved(address);
                if let Some(address) = address
                    && !self.frontier.settle(ended.host, address)
                {
                    return Ok(());
                }
            }
            EndedKind::Again { ask, was_closed_idle } => {
                host.again(ended.track.expect("a request has a track"), ask, was_closed_idle);
            }
            EndedKind::Check(waiting) => {
                let track = host.track(ended.track.expect("a request has a track"));
                track.count(false, &self.run, now)?;
                track.again(Ask::Page(Box::new(waiting)));
            }
            EndedKind::Page { host_failed, follow, .. } => {
                if let Some(track) = ended.track.filter(|_| ended.echo.is_some()) {
                    host.track(track).count(host_failed, &self.run, now)?;
                }
                self.frontier.push(ended.host, Instant::now());
                return follow.map_or(Ok(()), |waiting| self.follow(waiting));
            }
            EndedKind::Robots { errand, answer } => {
                self.frontier.push(ended.host, Instant::now());
                return self.judge_robots(errand, answer, now);
            }
        }
        self.frontier.push(ended.host, Instant::now());
        Ok(())
    }

    /// Queues the target of a redirect as a visit of its own, at its own host.
    fn follow(&mut self, waiting: Waiting) -> Result<(), FetchError> {
        let url = &waiting.entry.url;
        let follow = self.followed.len() < MAX_FOLLOWED
            && (self.run.refuses)(&waiting.entry).is_none()
            && self.followed.insert(url.clone())
            && self.find(url)?.is_none();
        if !follow {
            self.run.report().not_followed += 1;
            return Ok(());
        }
        self.run.report().followed += 1;
        self.put_first(waiting)
    }

    /// Queues a page that somebody asked for, unless it comes out by itself, or did. Like any page, it may end
    /// without a request.
    fn ask(&mut self, entry: ScheduleEntry) -> Result<(), FetchError> {
        let waiting = match self.find(&entry.url)? {
            Some(found) if (self.run.done)(found.index) => None,
            Some(found) => {
                let id = self.frontier.host_of(&entry.url, &self.run);
                self.frontier.host(id).take_early(found, &self.run)
            }
            None if self.followed.len() < MAX_FOLLOWED && self.followed.insert(entry.url.clone()) => {
                Some(Waiting::of(None, ScheduleEntry { share: Share::Asked, ..entry }))
            }
            None => None,
        };
        waiting.map_or(Ok(()), |waiting| self.put_first(waiting))
    }

    /// Queues a page before what of the schedule waits at its host.
    fn put_first(&mut self, waiting: Waiting) -> Result<(), FetchError> {
        let id = self.frontier.host_of(&waiting.entry.url, &self.run);
        self.frontier.rouse(id);
        self.frontier.host(id).add_followed(waiting, &self.run)?;
        self.wake(id);
        Ok(())
    }

    /// Tells where the run stands: which hosts are slowest now and then, and at once when a run that is held comes to
    /// rest, since what is told then stands for long.
    fn tell(&mut self) {
        let now = Instant::now();
        let is_at_rest = self.visits.is_empty() && self.run.control.is_held();
        let due = self.told.map(|told| told + FIGURES_EVERY).filter(|due| *due > now && !is_at_rest);
        self.tell_at = due;
        if due.is_none() {
            self.told = Some(now);
            self.tell_slowest();
        }
        // Behind it: whoever reads that nothing is under way finds no host that asks.
        self.run.control.tell(self.visits.len(), self.frontier.open_hosts());
    }

    fn tell_slowest(&mut self) {
        let at = self.run.now();
        let mut slowest: Vec<_> = self
            .frontier
            .hosts()
            .filter_map(|host| host.figures(&self.run, at))
            .filter(|h| h.queue > 0)
            .collect();
        // Among hosts that take the same time, by name: the table must not jump.
        slowest.sort_by_cached_key(|h| {
            (Reverse(h.queue.saturating_mul(h.delay.as_millis() as u64)), h.host.clone())
        });
        slowest.truncate(MAX_SLOWEST);
        self.run.control.tell_slowest(slowest);
    }

    /// Lets a host that waits for nothing look again.
    fn wake(&mut self, id: usize) {
        if self.frontier.host(id).in_flight < self.run.config.connections_per_host {
            self.frontier.push(id, Instant::now());
        }
    }

    /// The page's place in this schedule. One that is there has its visit, and need not be followed.
    fn find(&self, url: &CanonicalUrl) -> Result<Option<Found>, FetchError> {
        self.run.schedule.find(url).map_err(|source| FetchError::Search { url: url.clone(), source })
    }

    /// An answer to a request for robots.txt: a redirect is followed, anything else is judged, always
    /// under the origin that it was asked for (RFC 9309 §2.3.1.2).
    fn judge_robots(
        &mut self,
        errand: Errand,
        answer: Result<Reply, NetworkError>,
        now: u64,
    ) -> Result<(), FetchError> {
        if let Ok(reply) = &answer
            && is_redirect(reply.status)
            && errand.hops < MAX_ROBOTS_REDIRECTS
            && let Some(url) = redirect_target(reply, &errand.url, &UrlRules::keep_all())
        {
            if (self.run.opted_out)(&url.host()) {
                // It lies where nobody may be asked, so it cannot be had.
                let errand = Errand { hops: errand.hops + 1, ..errand };
                return self.settle_robots(&errand, &Err(NetworkError::Refused), now);
            }
            let id = self.frontier.host_of(&url, &self.run);
            self.frontier.rouse(id);
            let (owner, hops) = (errand.owner, errand.hops + 1);
            let errand = Errand { owner, url, hops, validators: Validators::default() };
            self.frontier.host(id).add_errand(errand, &self.run)?;
            self.wake(id);
            return Ok(());
        }
        self.settle_robots(&errand, &answer, now)
    }

    fn settle_robots(
        &mut self,
        errand: &Errand,
        answer: &Result<Reply, NetworkError>,
        now: u64,
    ) -> Result<(), FetchError> {
        let id = self.frontier.host_of(&errand.owner, &self.run);
        let host = self.frontier.host(id);
        let _host = host.span.clone().entered();
        let origin = Origin::of(&errand.owner);
        let track = host.track_of(&origin, &self.run)?;
        let standing = if errand.hops == 0 && matches!(answer, Err(NetworkError::Refused)) {
            Standing::Refused
        } else {
            let state = judge(answer, track.state.robots.as_ref(), &errand.validators, errand.hops == 0, now);
            debug!(%origin, status = ?answer.as_ref().map(|r| r.status), "robots.txt");
            let standing = Standing::says(&state.body, self.run.config.product_token());
            if track.state.robots.as_ref().is_some_and(|before| before.body != state.body) {
                track.state.rules_changed = now;
            }
            track.hear(!matches!(standing, Standing::Unreachable(_)));
            track.state.robots = Some(state);
            track.store(&self.run)?;
            standing
        };
        if let Standing::Rules(rules) = &standing
            && let Some(delay) = rules.crawl_delay.filter(|d| *d > self.run.config.max_crawl_delay)
        {
            warn!(%origin, ?delay, "robots.txt asks for a longer delay than max_crawl_delay");
        }
        track.judged(standing, now, &self.run);
        host.keep_delay(&self.run);
        self.wake(id);
        Ok(())
    }

    /// After the deadline, or with the budget spent: what is left of the schedule is not asked for.
    async fn skip_rest(&mut self, why: Skip) -> Result<(), FetchError> {
        let again: Vec<Waiting> = self.frontier.hosts().flat_map(|host| host.take_promised()).collect();
        for waiting in again {
            let page = waiting.settled(Outcome::Skipped(why), self.run.now());
            deliver(page, &self.run, &self.out).await.map_err(|_| FetchError::OutputClosed)?;
        }
        for mut cursor in self.frontier.take_rest(self.run.schedule.hosts()) {
            while let Some(waiting) = cursor.next(&self.run)? {
                let page = waiting.settled(Outcome::Skipped(why), self.run.now());
                deliver(page, &self.run, &self.out).await.map_err(|_| FetchError::OutputClosed)?;
            }
        }
        Ok(())
    }
}

/// Sleeps until then; for ever without a time.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
