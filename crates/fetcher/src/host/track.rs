//! One origin of a host: what waits there, what its robots.txt says, and what is learned of it.

use super::{Cursor, Waiting};
use crate::fetch::Run;
use crate::limits::{MAX_HOST_BACK_OFF, MIN_HOST_BACK_OFF};
use crate::outcome::{Condition, FetchError, validators_to_send};
use crate::robots::sitemaps;
use crate::robots::standing::Standing;
use crate::unavailable::Heard;
use recrawl_types::{
    Belief, CanonicalUrl, Cycle, HostState, Origin, Outcome, ScheduleEntry, Skip, Validators,
};
use std::collections::VecDeque;
use std::time::Duration;

/// A request for robots.txt, or for what it redirects to; for an origin that may be another host's.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The robots.txt of the origin that will be judged by the answer.
    pub owner: CanonicalUrl,
    pub url: CanonicalUrl,
    pub hops: u8,
    /// Sent along, to learn whether what is known still holds.
    pub validators: Validators,
}

/// A request to make.
#[derive(Debug)]
pub enum Ask {
    Page(Box<Waiting>),
    Robots(Errand),
    /// Not of the host, but of the resolver.
    Address(Box<str>),
}

/// What is known of an origin's robots.txt.
#[derive(Debug)]
enum Robots {
    Unknown,
    Asked,
    Known {
        standing: Standing,
        /// When it was fetched, in milliseconds since 1970.
        fetched: u64,
        /// To be asked for again from then on, in milliseconds since 1970.
        until: u64,
        /// Was a page asked for under it? Each judgement serves one page at least: were a wait longer
        /// than the cache lasts, nothing but robots.txt would ever be asked for.
        used: bool,
    },
}

/// What a track can do first.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing, for now or for good.
    Nothing,
    /// The page at the front needs no request: it ends like this.
    Settle(Outcome),
    /// Make a request.
    Request,
}

/// One origin of a host.
#[derive(Debug)]
pub struct Track {
    pub id: u32,
    pub origin: Origin,
    pub state: HostState,
    robots: Robots,
    pub errands: VecDeque<Errand>,
    pub followed: VecDeque<Waiting>,
    pub cursor: Option<Cursor>,
    /// What robots.txt names as sitemaps, until a page takes it along.
    sitemaps: Option<Vec<CanonicalUrl>>,
    in_flight: u32,
    /// Since it was opened.
    heard: Heard,
}

impl Track {
    /// Opens an origin, with what earlier cycles learned of it.
    pub fn open(id: u32, origin: &Origin, run: &Run) -> Result<Track, FetchError> {
        let error = |source| FetchError::Host { origin: origin.clone(), source };
        let mut state = run.hosts.load(origin).map_err(error)?.unwrap_or_default();
        // A clock that was ahead must not keep a host shut for longer than it could have asked for.
        let longest = run.now().saturating_add(MAX_HOST_BACK_OFF.as_millis() as u64);
        state.back_off_until = state.back_off_until.min(longest);
        let mut track = Track {
            id,
            origin: origin.clone(),
            state,
            robots: Robots::Unknown,
            errands: VecDeque::new(),
            followed: VecDeque::new(),
            cursor: None,
            sitemaps: None,
            in_flight: 0,
            heard: Heard::default(),
        };
        let stored = track.state.robots.as_ref();
        if let Some((standing, fetched)) =
            stored.and_then(|r| Some((Standing::of(r, run.now(), &run.config)?, r.fetched)))
        {
            track.judged(standing, fetched, run);
        }
        Ok(track)
    }

    /// Stores what was learned.
    pub fn store(&self, run: &Run) -> Result<(), FetchError> {
        let error = |source| FetchError::Host { origin: self.origin.clone(), source };
        run.unavailable().note(&self.origin, &self.state, self.heard, &run.config, run.cycle, run.now());
        run.hosts.store(&self.origin, &self.state).map_err(error)
    }

    /// A request said this of the host.
    pub fn hear(&mut self, is_good: bool) {
        self.heard.good |= is_good;
        self.heard.bad |= !is_good;
    }

    /// Takes the judgement of a robots.txt that was fetched at this time.
    pub fn judged(&mut self, mut standing: Standing, fetched: u64, run: &Run) {
        if let Standing::Rules(rules) = &mut standing {
            self.sitemaps = Some(sitemaps(rules, &self.origin, &run.rules));
            rules.sitemaps = Vec::new();
        }
        let until = fetched.saturating_add(run.config.robots_cache.as_millis() as u64);
        self.robots = Robots::Known { standing, fetched, until, used: false };
    }

    /// The Crawl-delay that robots.txt asks for.
    pub fn crawl_delay(&self) -> Option<Duration> {
        match &self.robots {
            Robots::Known { standing: Standing::Rules(rules), .. } => rules.crawl_delay,
            _ => None,
        }
    }

    /// What can be done first. Asks for robots.txt where that must come before a page.
    pub fn step(&mut self, run: &Run, now: u64) -> Result<Step, FetchError> {
        if !self.errands.is_empty() {
            return Ok(Step::Request);
        }
        if !self.fill(run)? || matches!(self.robots, Robots::Asked) {
            return Ok(Step::Nothing);
        }
        if let Robots::Known { fetched, until, used: true, .. } = self.robots
            && !(fetched..until).contains(&now)
        {
            // Its time is over, or the clock was set back: then nobody knows when it will be.
            self.robots = Robots::Unknown;
        }
        let entry = self.front().expect("fill() saw a page");
        if let Some(outcome) = self.verdict(entry, run, now) {
            return Ok(Step::Settle(outcome));
        }
        if matches!(self.robots, Robots::Unknown) {
            let url = entry.url.at_origin("/robots.txt");
            let validators = self.state.robots.as_ref().map(|r| r.validators.clone()).unwrap_or_default();
            self.errands.push_back(Errand { owner: url.clone(), url, hops: 0, validators });
            self.robots = Robots::Asked;
        }
        Ok(Step::Request)
    }

    /// The outcome of a page that needs no request; none where it does (or where robots.txt must be
    /// asked for first).
    fn verdict(&self, entry: &ScheduleEntry, run: &Run, now: u64) -> Option<Outcome> {
        if (run.opted_out)(&self.origin.host) {
            return Some(Outcome::Skipped(Skip::OptedOut));
        }
        if let Some(skip) = (run.refuses)(entry) {
            return Some(Outcome::Skipped(skip));
        }
        if self.state.back_off_until > now {
            return Some(Outcome::Skipped(Skip::HostBackOff));
        }
        if run.budget().is_spent_by(&self.origin.host) {
            return Some(Outcome::Skipped(Skip::ByteBudget));
        }
        let Robots::Known { standing, .. } = &self.robots else { return None };
        match standing {
            Standing::Unreachable(why) => Some(Outcome::RobotsUnreachable(*why)),
            Standing::Refused => Some(Outcome::RefusedAddress),
            Standing::Rules(rules) if !rules.allows(entry.url.path_and_query()) => {
                Some(Outcome::RobotsDenied)
            }
            Standing::Rules(rules) if rules.crawl_delay.is_some_and(|d| d > run.config.max_crawl_delay) => {
                Some(Outcome::Skipped(Skip::CrawlDelay))
            }
            Standing::Rules(_) => None,
        }
    }

    /// Takes the page at the front, whose outcome is settled.
    pub fn settle(&mut self, outcome: Outcome, now: u64) -> crate::FetchedPage {
        self.state.robots_denied += u64::from(outcome == Outcome::RobotsDenied);
        self.pop().settled(outcome, now)
    }

    /// Takes the request that [`Track::step`] spoke of.
    pub fn ask(&mut self, run: &Run) -> Ask {
        self.in_flight += 1;
        if let Some(errand) = self.errands.pop_front() {
            return Ask::Robots(errand);
        }
        if let Robots::Known { used, .. } = &mut self.robots {
            *used = true;
        }
        let mut waiting = self.pop();
        if waiting.condition != Condition::Checked {
            waiting.condition = self.condition(&waiting.entry, run);
        }
        Ask::Page(Box::new(waiting))
    }

    /// Are validators sent? Where they are not believed, only to see whether they should be again.
    fn condition(&self, entry: &ScheduleEntry, run: &Run) -> Condition {
        let believed = self.state.trust.belief == Belief::Believed;
        if !validators_to_send(entry).is_empty() && (believed || run.is_tested(&entry.url)) {
            Condition::Conditional
        } else {
            Condition::Unconditional
        }
    }

    /// Takes back a request that was not made.
    pub fn again(&mut self, ask: Ask) {
        match ask {
            Ask::Page(waiting) => self.followed.push_front(*waiting),
            Ask::Robots(errand) => self.errands.push_front(errand),
            Ask::Address(_) => {}
        }
    }

    /// A request has been answered, or found to be to a refused address; this delay was kept before it.
    pub fn ended(&mut self, asked: bool, cycle: Cycle, now: u64, delay: Duration) {
        self.in_flight -= 1;
        if asked {
            self.state.requests += 1;
            self.state.last_request = now;
            self.state.pace.count(cycle, now, delay);
        }
    }

    /// Makes sure that [`Track::front`] sees the next page; false when there is none.
    fn fill(&mut self, run: &Run) -> Result<bool, FetchError> {
        if !self.followed.is_empty() {
            return Ok(true);
        }
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        let more = cursor.fill(run)?;
        if !more {
            self.cursor = None;
        }
        Ok(more)
    }

    /// The page at the front, followed targets first.
    fn front(&self) -> Option<&ScheduleEntry> {
        self.followed.front().map(|w| &w.entry).or_else(|| self.cursor.as_ref()?.front())
    }

    fn pop(&mut self) -> Waiting {
        let page = self.followed.pop_front().or_else(|| self.cursor.as_mut()?.pop());
        let page = page.expect("fill() saw a page");
        // A page that could not be asked for yet has them already.
        Waiting { sitemaps: page.sitemaps.or_else(|| self.sitemaps.take()), ..page }
    }

    /// Does nothing wait here, and is nothing under way?
    pub fn is_idle(&self) -> bool {
        let waits = matches!(self.robots, Robots::Asked) || self.cursor.is_some();
        !waits && self.errands.is_empty() && self.followed.is_empty() && self.in_flight == 0
    }

    /// Is nothing under way, and does nothing wait that is not in the schedule? (A request for its own robots.txt is made
    /// anew where it is needed.)
    pub fn can_be_read_again(&self) -> bool {
        let asks_itself = self.errands.iter().all(|errand| errand.owner == errand.url);
        let waits_for_robots = matches!(self.robots, Robots::Asked) && self.errands.is_empty();
        self.in_flight == 0 && self.followed.is_empty() && asks_itself && !waits_for_robots
    }

    /// Can it be forgotten and opened again? Not before a judgement of robots.txt has served a page, see [`Robots`].
    pub fn can_be_forgotten(&self) -> bool {
        !matches!(self.robots, Robots::Known { used: false, .. }) && self.can_be_read_again()
    }

    /// Pages that wait.
    pub fn queue(&self) -> u64 {
        self.followed.len() as u64 + self.cursor.as_ref().map_or(0, Cursor::queue)
    }

    /// Is nothing left to ask for, as far as is known here?
    pub fn is_exhausted(&self) -> bool {
        self.errands.is_empty()
            && self.followed.is_empty()
            && self.cursor.as_ref().is_none_or(Cursor::is_at_end)
    }

    /// Counts a page's end for or against the host.
    ///
    /// # Errors
    /// When a failure, which must outlive a crash, cannot be stored.
    pub fn count(&mut self, failed: bool, run: &Run, now: u64) -> Result<(), FetchError> {
        self.hear(!failed);
        if !failed {
            self.state.failures = 0;
            return Ok(());
        }
        self.state.failures = self.state.failures.saturating_add(1);
        if let Some(beyond) = self.state.failures.checked_sub(run.config.host_failures) {
            let wait = MIN_HOST_BACK_OFF.saturating_mul(1 << beyond.min(16)).min(MAX_HOST_BACK_OFF);
            self.back_off(wait, now);
        }
        self.store(run)
    }

    /// How much longer a Retry-After of an earlier run holds.
    pub fn held(&self, run: &Run) -> Duration {
        // No longer than it was waited for, should the clock have been set back.
        Duration::from_millis(self.state.hold_until.saturating_sub(run.now())).min(run.config.max_retry_after)
    }

    /// Leaves the host alone for this long.
    pub fn back_off(&mut self, wait: Duration, now: u64) {
        self.state.back_off_until = self.state.back_off_until.max(now + wait.as_millis() as u64);
    }
}
