//! The queue of one origin: its pages, its robots policy, and its state.

use super::{Cursor, QueuedPage};
use crate::host::back_off::{asked_from, failing_back_off, is_probed};
use crate::host::delay::LeftAlone;
use crate::host::detour::DetourEnd;
use crate::net::limits::{MAX_HOST_BACK_OFF, MAX_VAIN_DETOURS};
use crate::outcome::chain::Chain;
use crate::outcome::{Condition, FetchError, FetchResult, FetchedPage, validators_to_send};
use crate::robots::policy::RobotsPolicy;
use crate::robots::{RobotsRules, sitemaps};
use crate::run::Run;
use crate::run::resources::Ticket;
use crate::run::unavailable::{OriginResponses, is_unreachable};
use recrawl_types::host::RobotsState;
use recrawl_types::{
    Belief, CanonicalUrl, Cycle, HostState, Known, Origin, Outcome, ScheduleEntry, Share, Skip, Validators,
};
use std::collections::VecDeque;
use std::time::Duration;

/// A request for robots.txt or for a URL that it redirects to, possibly on behalf of another host.
#[derive(Clone, Debug)]
pub struct RobotsRequest {
    /// The robots.txt whose origin gets the policy. `url` differs from it after a redirect.
    pub robots_url: CanonicalUrl,
    pub url: CanonicalUrl,
    pub hops: u8,
    /// The redirects so far, with their cookies.
    pub chain: Option<Box<Chain>>,
    /// Validators of the cached robots.txt.
    pub validators: Validators,
    /// Only to public addresses ([`RequestOptions`](crate::RequestOptions)): a page's resource asks for it, or a redirect
    /// led out of scope.
    pub is_public_only: bool,
}

/// Number of an origin within its host, in the order of opening.
pub type OriginId = u32;

/// A request to make.
#[derive(Debug)]
pub enum HostRequest {
    Page(Box<QueuedPage>),
    Robots(RobotsRequest),
    /// A DNS lookup of this host.
    Lookup(Box<str>),
}

/// State of an origin's robots.txt in this run.
#[derive(Debug)]
enum RobotsStatus {
    Unknown,
    Requested,
    Known {
        policy: RobotsPolicy,
        /// Time of the fetch, in milliseconds since 1970.
        fetched: u64,
        /// End of validity, in milliseconds since 1970.
        until: u64,
        /// Did this policy serve a page? Each fetch of robots.txt serves at least one page.
        /// Otherwise a host whose delay exceeds the cache time would fetch nothing but robots.txt.
        used: bool,
    },
}

/// The first possible step of a queue.
#[derive(Debug, PartialEq, Eq)]
pub enum QueueStep {
    /// Nothing now.
    Nothing,
    /// The first page needs no request and ends with this outcome.
    Finish(Outcome),
    Request,
    /// The first page must wait until others are rendered.
    Later,
}

/// The queue of one origin.
#[derive(Debug)]
pub struct OriginQueue {
    pub id: OriginId,
    pub origin: Origin,
    pub state: HostState,
    robots: RobotsStatus,
    pub robots_requests: VecDeque<RobotsRequest>,
    /// Requests of pages that are rendered; they come first.
    pub resources: VecDeque<QueuedPage>,
    pub followed: VecDeque<QueuedPage>,
    pub cursor: Option<Cursor>,
    /// Sitemaps of robots.txt, until a page carries them out.
    sitemaps: Option<Vec<CanonicalUrl>>,
    in_flight: u32,
    /// If it had failed again and again when it was opened, and has sent no Retry-After since: from when on pages that
    /// somebody asked for may be tried in its back-offs.
    asked_from: Option<u64>,
    /// Was the request that is under way sent within a back-off?
    is_within_back_off: bool,
    /// Since the queue was opened.
    responses: OriginResponses,
}

impl OriginQueue {
    /// Opens an origin with its stored state.
    pub fn open(id: OriginId, origin: &Origin, run: &Run) -> Result<OriginQueue, FetchError> {
        let error = |source| FetchError::Host { origin: origin.clone(), source };
        let mut state = run.hosts.load(origin).map_err(error)?.unwrap_or_default();
        // If the clock ran ahead, the back-off must not exceed its maximum.
        let longest = run.now().saturating_add(MAX_HOST_BACK_OFF.as_millis() as u64);
        state.back_off_until = state.back_off_until.min(longest);
        let is_failing = failing_back_off(&state, &run.config).is_some();
        let asked_from = is_failing.then(|| asked_from(&state, &run.config));
        let mut queue = OriginQueue {
            id,
            origin: origin.clone(),
            state,
            robots: RobotsStatus::Unknown,
            robots_requests: VecDeque::new(),
            resources: VecDeque::new(),
            followed: VecDeque::new(),
            cursor: None,
            sitemaps: None,
            in_flight: 0,
            asked_from,
            is_within_back_off: false,
            responses: OriginResponses::default(),
        };
        let stored = queue.state.robots.as_ref();
        if let Some((policy, fetched)) =
            stored.and_then(|r| Some((RobotsPolicy::cached(r, run.now(), &run.config)?, r.fetched)))
        {
            queue.set_policy(policy, fetched, run);
        }
        Ok(queue)
    }

    pub fn store(&self, run: &Run) -> Result<(), FetchError> {
        let error = |source| FetchError::Host { origin: self.origin.clone(), source };
        run.unavailable().note(
            &self.origin,
            &self.state,
            self.responses,
            &run.config,
            run.round.cycle,
            run.now(),
        );
        run.hosts.store(&self.origin, &self.state).map_err(error)
    }

    /// Records whether a response was good.
    pub fn note_response(&mut self, is_good: bool) {
        self.responses.succeeded |= is_good;
        self.responses.failed |= !is_good;
    }

    /// Records a requested robots.txt. One that cannot be read counts as a failure of the host, but its own back-off is
    /// enough. A page may never end such failures: the rules can forbid all of them.
    pub fn note_robots(&mut self, robots: RobotsState) {
        let is_good = !is_unreachable(&robots);
        self.note_response(is_good);
        let before = self.state.robots.replace(robots);
        if !is_good {
            self.state.failures = self.state.failures.saturating_add(1);
        } else if before.as_ref().is_some_and(is_unreachable) {
            self.is_there_again();
        }
    }

    /// Sets the robots policy of a robots.txt that was fetched at `fetched`.
    pub fn set_policy(&mut self, mut policy: RobotsPolicy, fetched: u64, run: &Run) {
        if let RobotsPolicy::Rules(rules) = &mut policy {
            self.sitemaps = Some(sitemaps(rules, &self.origin, &run.rules));
            rules.sitemaps = Vec::new();
        }
        let until = fetched.saturating_add(run.config.robots_cache.as_millis() as u64);
        self.robots = RobotsStatus::Known { policy, fetched, until, used: false };
    }

    /// The Crawl-delay of robots.txt.
    pub fn crawl_delay(&self) -> Option<Duration> {
        match &self.robots {
            RobotsStatus::Known { policy: RobotsPolicy::Rules(rules), .. } => rules.crawl_delay,
            _ => None,
        }
    }

    /// The first possible step. Queues a robots.txt request if a page needs one.
    pub fn step(&mut self, run: &Run, now: u64) -> Result<QueueStep, FetchError> {
        if !self.robots_requests.is_empty() {
            return Ok(QueueStep::Request);
        }
        if !self.fill(run)? || matches!(self.robots, RobotsStatus::Requested) {
            return Ok(QueueStep::Nothing);
        }
        if let RobotsStatus::Known { fetched, until, used: true, .. } = self.robots
            && !(fetched..until).contains(&now)
        {
            // It expired, or the clock was set back and its age is unknown.
            self.robots = RobotsStatus::Unknown;
        }
        let entry = self.front().expect("fill() saw a page");
        if let Some(outcome) = self.verdict(entry, run, now) {
            return Ok(QueueStep::Finish(outcome));
        }
        if self.resources.is_empty() && run.resources.as_ref().is_some_and(|resources| resources.waits(entry))
        {
            return Ok(QueueStep::Later);
        }
        if matches!(self.robots, RobotsStatus::Unknown) {
            let url = entry.url.at_origin("/robots.txt");
            let validators = self.state.robots.as_ref().map(|r| r.validators.clone()).unwrap_or_default();
            self.robots_requests.push_back(RobotsRequest {
                robots_url: url.clone(),
                url,
                hops: 0,
                chain: None,
                validators,
                is_public_only: self.resources.front().is_some_and(QueuedPage::is_public_only),
            });
            self.robots = RobotsStatus::Requested;
        }
        self.is_within_back_off = self.state.back_off_until > now;
        Ok(QueueStep::Request)
    }

    /// The outcome of a page that needs no request. None if the page, or robots.txt before it, must
    /// be requested.
    fn verdict(&self, entry: &ScheduleEntry, run: &Run, now: u64) -> Option<Outcome> {
        if (run.opted_out)(&self.origin.host) {
            return Some(Outcome::Skipped(Skip::OptedOut));
        }
        // What pages load may lie outside of the scope.
        if let Some(skip) = (run.refuses)(entry).filter(|_| self.resources.is_empty()) {
            return Some(Outcome::Skipped(skip));
        }
        if self.state.back_off_until > now && !self.is_tried_in_back_off(entry, now) {
            return Some(Outcome::Skipped(Skip::HostBackOff));
        }
        if run.budget().is_spent_by(&self.origin.host) {
            return Some(Outcome::Skipped(Skip::ByteBudget));
        }
        let RobotsStatus::Known { policy, fetched, .. } = &self.robots else { return None };
        match policy {
            // An earlier run requested it in vain. Without a request, this is no try of the page.
            RobotsPolicy::Unreachable(_) if *fetched < run.began_at => {
                Some(Outcome::Skipped(Skip::HostBackOff))
            }
            RobotsPolicy::Unreachable(why) => Some(Outcome::RobotsUnreachable(*why)),
            RobotsPolicy::Refused(why) => Some(Outcome::RefusedAddress(Some(*why))),
            RobotsPolicy::Rules(rules) if !self.is_allowed(rules, entry) => Some(Outcome::RobotsDenied),
            RobotsPolicy::Rules(rules) => {
                LeftAlone::by_rules(rules, &run.config).map(|left_alone| left_alone.outcome())
            }
        }
    }

    /// Is the page one that somebody asked for, and still to be tried before it is told? Of those that are told, and those that
    /// were never there, one shows whether the origin is there again. As that one may fail for good, each has a turn now and
    /// then.
    fn is_tried_in_back_off(&self, entry: &ScheduleEntry, now: u64) -> bool {
        let is_untold = entry.record.visited.is_some() && entry.record.known.failures < Known::MISSING_AFTER;
        entry.share == Share::Asked
            && self.asked_from.is_some_and(|from| from <= now)
            && (is_untold || !self.responses.failed || is_probed(&entry.url, now))
    }

    /// Ends the first page with this outcome; none if it is a resource, which is answered.
    pub fn finish(&mut self, outcome: Outcome, now: u64) -> Vec<FetchedPage> {
        let page = self.pop();
        if let Some(ticket) = &page.ticket {
            ticket.answer(FetchResult::Nothing(outcome));
            return Vec::new();
        }
        self.state.robots_denied += u64::from(outcome == Outcome::RobotsDenied);
        page.finish(outcome, now)
    }

    /// Learns from the end of a detour.
    pub fn note_detour(&mut self, end: DetourEnd, run: &Run) -> Result<(), FetchError> {
        let before = self.state.detour_path.clone();
        self.state.vain_detours = match end {
            DetourEnd::LedBack(path) => {
                self.state.detour_path = Some(path);
                0
            }
            DetourEnd::Vain => self.state.vain_detours + u32::from(before.is_some()),
        };
        if self.state.vain_detours >= MAX_VAIN_DETOURS {
            (self.state.detour_path, self.state.vain_detours) = (None, 0);
        }
        if self.state.detour_path == before { Ok(()) } else { self.store(run) }
    }

    /// Takes the request that [`OriginQueue::step`] announced.
    pub fn next_request(&mut self, run: &Run) -> HostRequest {
        self.in_flight += 1;
        if let Some(robots_request) = self.robots_requests.pop_front() {
            return HostRequest::Robots(robots_request);
        }
        if let RobotsStatus::Known { used, .. } = &mut self.robots {
            *used = true;
        }
        let mut queued = self.pop();
        if let Some(ticket) = &queued.ticket {
            ticket.start();
        }
        if queued.chain.is_some() {
            // Validators do not belong to what is behind a redirect.
            queued.condition = queued.condition.without_validators();
        } else if queued.condition != Condition::Checked {
            queued.condition = match &queued.ticket {
                // Only pages put validators to the test.
                Some(ticket) if !ticket.manner.validators.is_empty() && self.is_believed() => {
                    Condition::Conditional
                }
                Some(_) => Condition::Unconditional,
                None => self.condition(&queued.entry, run),
            };
        }
        HostRequest::Page(Box::new(queued))
    }

    /// Has it a request in flight?
    pub fn is_in_flight(&self) -> bool {
        self.in_flight > 0
    }

    /// Takes over a request that an earlier run sent.
    pub fn take_over(&mut self) {
        self.in_flight += 1;
    }

    /// Waits for the robots.txt that an earlier run requested.
    pub fn await_robots(&mut self) {
        self.robots = RobotsStatus::Requested;
    }

    /// Sends validators if the host's validators are trusted, or to test whether they can be again.
    fn condition(&self, entry: &ScheduleEntry, run: &Run) -> Condition {
        let is_rendered = run.resources.as_ref().is_some_and(|resources| resources.is_rendered(entry));
        // A page that was last seen before the list of media types may have another type, which no 304 tells. The list may
        // have come in the middle of its first cycle.
        let last = entry.record.visited.as_ref().map(|visited| visited.history.last);
        let may_have_other_type = run.types.as_ref().is_some_and(|types| last <= Some(types.since));
        let is_whole = is_rendered || may_have_other_type || (run.reads_anew)(entry);
        let has_validators = !is_whole && !validators_to_send(entry).is_empty();
        match has_validators && (self.is_believed() || run.is_tested(&entry.url)) {
            true => Condition::Conditional,
            false => Condition::Unconditional,
        }
    }

    /// Are the validators of this origin trusted?
    fn is_believed(&self) -> bool {
        self.state.trust.belief == Belief::Believed
    }

    /// Puts back a request that no server processed.
    pub fn put_back(&mut self, action: HostRequest) {
        match action {
            HostRequest::Page(queued) if queued.ticket.is_some() => self.resources.push_front(*queued),
            HostRequest::Page(queued) => self.followed.push_front(*queued),
            HostRequest::Robots(robots_request) => self.robots_requests.push_front(robots_request),
            HostRequest::Lookup(_) => {}
        }
    }

    /// Records the end of a request. `delay` was kept before it.
    pub fn request_ended(&mut self, reached_server: bool, cycle: Cycle, now: u64, delay: Duration) {
        self.in_flight -= 1;
        if reached_server {
            self.state.requests += 1;
            self.state.last_request = now;
            self.state.pace.count(cycle, now, delay);
        }
    }

    /// Makes sure that [`OriginQueue::front`] returns the next page; false if there is none.
    fn fill(&mut self, run: &Run) -> Result<bool, FetchError> {
        // Nobody waits for what a page asked for that gave up.
        let is_given_up = |queued: &QueuedPage| queued.ticket.as_ref().is_some_and(Ticket::is_given_up);
        while self.resources.front().is_some_and(is_given_up) {
            self.resources.pop_front();
        }
        if !self.resources.is_empty() || !self.followed.is_empty() {
            return Ok(true);
        }
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        let more = cursor.fill(run)?;
        if !more {
            self.cursor = None;
        }
        Ok(more)
    }

    /// The first page. Resources, redirect targets and retries come before scheduled pages.
    fn front(&self) -> Option<&ScheduleEntry> {
        self.first_unscheduled().map(|w| &w.entry).or_else(|| self.cursor.as_ref()?.front())
    }

    fn first_unscheduled(&self) -> Option<&QueuedPage> {
        self.resources.front().or_else(|| self.followed.front())
    }

    /// Do the rules of robots.txt allow the request of the first page, as it is sent?
    fn is_allowed(&self, rules: &RobotsRules, entry: &ScheduleEntry) -> bool {
        let chain = self.first_unscheduled().and_then(|queued| queued.chain.as_deref());
        match chain {
            Some(chain) => rules.allows(&chain.path_and_query()),
            None => rules.allows(entry.url.path_and_query()),
        }
    }

    fn pop(&mut self) -> QueuedPage {
        if let Some(resource) = self.resources.pop_front() {
            return resource;
        }
        let page = self.followed.pop_front().or_else(|| self.cursor.as_mut()?.pop());
        let page = page.expect("fill() saw a page");
        // A retried page has them already.
        QueuedPage { sitemaps: page.sitemaps.or_else(|| self.sitemaps.take()), ..page }
    }

    /// Is the queue empty, with nothing in flight?
    pub fn is_idle(&self) -> bool {
        let waits = matches!(self.robots, RobotsStatus::Requested) || self.cursor.is_some();
        let is_empty =
            self.robots_requests.is_empty() && self.resources.is_empty() && self.followed.is_empty();
        !waits && is_empty && self.in_flight == 0
    }

    /// Is nothing in flight, and is everything that waits in the schedule? (A request for its own
    /// robots.txt is made again when needed.)
    pub fn can_be_read_again(&self) -> bool {
        let asks_itself =
            self.robots_requests.iter().all(|robots_request| robots_request.robots_url == robots_request.url);
        let waits_for_robots =
            matches!(self.robots, RobotsStatus::Requested) && self.robots_requests.is_empty();
        let is_empty = self.resources.is_empty() && self.followed.is_empty();
        self.in_flight == 0 && is_empty && asks_itself && !waits_for_robots
    }

    /// Can it be closed and opened again? Not before the robots policy served a page, see
    /// [`RobotsStatus`].
    pub fn can_be_forgotten(&self) -> bool {
        !matches!(self.robots, RobotsStatus::Known { used: false, .. }) && self.can_be_read_again()
    }

    pub fn pages_left(&self) -> u64 {
        self.followed.len() as u64 + self.cursor.as_ref().map_or(0, Cursor::pages_left)
    }

    /// Is no request left, as far as this queue knows?
    pub fn is_exhausted(&self) -> bool {
        self.robots_requests.is_empty()
            && self.resources.is_empty()
            && self.followed.is_empty()
            && self.cursor.as_ref().is_none_or(Cursor::is_at_end)
    }

    /// Counts the result of a page for or against the host.
    ///
    /// # Errors
    /// A failure, which must survive a crash, cannot be stored.
    pub fn count_result(&mut self, failed: bool, run: &Run, now: u64) -> Result<(), FetchError> {
        self.note_response(!failed);
        if !failed {
            self.is_there_again();
            return Ok(());
        }
        if self.is_within_back_off {
            // Without a longer back-off, or one page that fails for good would keep all others of its host away.
            self.state.last_request = now;
            return self.store(run);
        }
        self.state.failures = self.state.failures.saturating_add(1);
        if let Some(wait) = failing_back_off(&self.state, &run.config) {
            self.back_off(wait, now);
        }
        self.store(run)
    }

    /// A good response ends a back-off, unless the host asked for it.
    fn is_there_again(&mut self) {
        self.state.failures = 0;
        self.asked_from = None;
        self.state.back_off_until = self.state.back_off_until.min(self.state.hold_until);
    }

    /// Keeps a Retry-After; it holds for all pages. One that is not waited for in the run begins a back-off.
    pub fn retry_after(&mut self, wait: Duration, now: u64, is_waited_for: bool) {
        self.state.hold_until = now.saturating_add(wait.as_millis() as u64);
        self.asked_from = None;
        if !is_waited_for {
            self.back_off(wait, now);
        }
    }

    /// The rest of the Retry-After that an earlier run received.
    pub fn retry_after_left(&self, run: &Run) -> Duration {
        // If the clock was set back, the wait must not exceed its maximum.
        Duration::from_millis(self.state.hold_until.saturating_sub(run.now())).min(run.config.max_retry_after)
    }

    /// Starts a back-off of at least this length.
    fn back_off(&mut self, wait: Duration, now: u64) {
        self.state.back_off_until = self.state.back_off_until.max(now + wait.as_millis() as u64);
    }
}
