//! One host: its pages in order, its robots.txt, its pace, its state.
//!
//! A host is a name (or an address literal); its origins (scheme and port) share one pace, and each has
//! a robots.txt and a state of its own. The schedule keeps a host's origins together and a host visits
//! them one after the other; redirects may open another of its origins in between.

use crate::fetch::Run;
use crate::limits::{CHUNK, MAX_HOST_BACK_OFF, MIN_HOST_BACK_OFF};
use crate::outcome::{FetchError, FetchResult, FetchedPage};
use crate::politeness::Pace;
use crate::robots::standing::Standing;
use recrawl_types::{CanonicalUrl, HostRun, HostState, Origin, Outcome, ScheduleEntry, Skip};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;
use tokio::time::Instant;

/// Origins of one host that stay in memory when they are idle: enough for http beside https.
const IDLE_TRACKS: usize = 4;

/// A page waiting to be asked for.
#[derive(Debug)]
pub struct Waiting {
    pub index: Option<u64>,
    pub entry: ScheduleEntry,
    pub hops: u8,
}

impl Waiting {
    /// The page, settled without a request.
    pub fn settled(self, outcome: Outcome, now: u64) -> FetchedPage {
        FetchedPage {
            index: self.index,
            entry: self.entry,
            hops: self.hops,
            result: FetchResult::Nothing(outcome),
            at: now,
            elapsed: Duration::ZERO,
        }
    }
}

/// A request for robots.txt, or for what it redirects to; for an origin that may be another host's.
#[derive(Debug)]
pub struct Errand {
    /// The robots.txt of the origin that will be judged by the answer.
    pub owner: CanonicalUrl,
    pub url: CanonicalUrl,
    pub hops: u8,
}

/// A request to make.
#[derive(Debug)]
pub enum Ask {
    Page(Box<Waiting>),
    Robots(Errand),
}

/// What a host wants next.
#[derive(Debug)]
pub enum Next {
    /// Deliver these pages, then make this request (of the track given), if any.
    Visit { settled: Vec<FetchedPage>, ask: Option<(u32, Ask)>, last: bool },
    /// Ask again then.
    Wait(Instant),
    /// Nothing until an answer comes.
    Idle,
    /// Nothing is left, but the delay runs on; ask again then.
    Linger(Instant),
    /// Nothing is left, and whoever comes next need not wait.
    Done,
}

/// What is known of an origin's robots.txt.
#[derive(Debug)]
enum Robots {
    Unknown,
    Asked,
    Known(Standing),
}

/// The part of the schedule that belongs to one origin, read in chunks.
#[derive(Debug)]
pub struct Cursor {
    run: HostRun,
    /// The next entry to read.
    next: u64,
    /// Entries read and not taken.
    chunk: VecDeque<(u64, ScheduleEntry)>,
}

impl Cursor {
    pub fn new(run: &HostRun) -> Cursor {
        Cursor { next: run.start, run: run.clone(), chunk: VecDeque::new() }
    }

    /// Reads on until an entry that is not done is at hand; false at the end.
    fn fill(&mut self, run: &Run) -> Result<bool, FetchError> {
        let end = self.run.start + self.run.count;
        while self.chunk.is_empty() && self.next < end {
            let max = CHUNK.min((end - self.next) as usize);
            let error = |source| FetchError::Schedule { index: self.next, source };
            let entries = run.schedule.read(&self.run, self.next, max).map_err(error)?;
            let sound = !entries.is_empty()
                && entries.len() <= max
                && entries.iter().all(|e| e.url.same_origin(&self.run.first));
            if !sound {
                // An entry of another host would escape this host's politeness.
                return Err(error(std::io::Error::other("its entries are not those of its host")));
            }
            let first = self.next;
            self.next += entries.len() as u64;
            self.chunk.extend((first..).zip(entries).filter(|(index, _)| !(run.done)(*index)));
        }
        Ok(!self.chunk.is_empty())
    }

    /// The next page that is not done.
    pub fn next(&mut self, run: &Run) -> Result<Option<Waiting>, FetchError> {
        self.fill(run)?;
        Ok(self.pop())
    }

    fn pop(&mut self) -> Option<Waiting> {
        let (index, entry) = self.chunk.pop_front()?;
        Some(Waiting { index: Some(index), hops: entry.record.known.hops, entry })
    }
}

/// One origin of a host.
#[derive(Debug)]
pub struct Track {
    pub id: u32,
    origin: Origin,
    pub state: HostState,
    robots: Robots,
    errands: VecDeque<Errand>,
    followed: VecDeque<Waiting>,
    cursor: Option<Cursor>,
    in_flight: u32,
}

impl Track {
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
    fn front(&self) -> Option<&CanonicalUrl> {
        let scheduled = || self.cursor.as_ref()?.chunk.front().map(|(_, entry)| &entry.url);
        self.followed.front().map(|w| &w.entry.url).or_else(scheduled)
    }

    fn pop(&mut self) -> Waiting {
        let page = self.followed.pop_front().or_else(|| self.cursor.as_mut()?.pop());
        page.expect("fill() saw a page")
    }

    fn is_idle(&self) -> bool {
        self.errands.is_empty()
            && self.followed.is_empty()
            && self.cursor.is_none()
            && self.in_flight == 0
            && !matches!(self.robots, Robots::Asked)
    }

    /// No page and no errand is left to ask for, as far as is known here.
    fn is_exhausted(&self) -> bool {
        let at_end = |c: &Cursor| c.chunk.is_empty() && c.next == c.run.start + c.run.count;
        self.errands.is_empty() && self.followed.is_empty() && self.cursor.as_ref().is_none_or(at_end)
    }

    /// Stores what was learned.
    pub fn store(&self, run: &Run) -> Result<(), FetchError> {
        let error = |source| FetchError::Host { origin: self.origin.clone(), source };
        run.hosts.store(&self.origin, &self.state).map_err(error)
    }

    /// Takes the judgement of its robots.txt.
    pub fn judged(&mut self, standing: Standing) {
        self.robots = Robots::Known(standing);
    }

    /// Counts a page's end for or against the host.
    pub fn count(&mut self, failed: bool, host_failures: u32, now: u64) {
        if !failed {
            self.state.failures = 0;
            return;
        }
        self.state.failures = self.state.failures.saturating_add(1);
        if let Some(beyond) = self.state.failures.checked_sub(host_failures) {
            let wait = MIN_HOST_BACK_OFF.saturating_mul(1 << beyond.min(16)).min(MAX_HOST_BACK_OFF);
            self.back_off(wait, now);
        }
    }

    /// Leaves the host alone for this long.
    pub fn back_off(&mut self, wait: Duration, now: u64) {
        self.state.back_off_until = self.state.back_off_until.max(now + wait.as_millis() as u64);
    }
}

/// One host. While one of its requests fills its last slot it is in no queue: it cannot be asked.
#[derive(Debug)]
pub struct Host {
    /// The host's part of a URL's key.
    pub key: Box<[u8]>,
    pub pace: Pace,
    pub in_flight: usize,
    /// Is it in the queue of hosts?
    pub queued: bool,
    /// Has it nothing to do but to keep its delay?
    pub lingering: bool,
    /// Its runs in the schedule that were not begun.
    runs: Range<usize>,
    tracks: Vec<Track>,
    next_track: u32,
}

impl Host {
    pub fn new(key: Box<[u8]>, delay: Duration, runs: Range<usize>) -> Host {
        Host {
            key,
            pace: Pace::new(delay),
            in_flight: 0,
            queued: false,
            lingering: false,
            runs,
            tracks: Vec::new(),
            next_track: 0,
        }
    }

    /// The track with this number.
    pub fn track(&mut self, id: u32) -> &mut Track {
        self.tracks.iter_mut().find(|t| t.id == id).expect("a track stays while it has something in flight")
    }

    /// The track of an origin, opened if need be.
    pub fn track_of(&mut self, origin: &Origin, run: &Run) -> Result<&mut Track, FetchError> {
        if let Some(at) = self.tracks.iter().position(|t| t.origin == *origin) {
            return Ok(&mut self.tracks[at]);
        }
        let error = |source| FetchError::Host { origin: origin.clone(), source };
        let state = run.hosts.load(origin).map_err(error)?.unwrap_or_default();
        let now = run.now();
        let known = state.robots.as_ref().and_then(|r| Standing::of(r, now, &run.config));
        let last_request = state.last_request;
        self.next_track += 1;
        self.tracks.push(Track {
            id: self.next_track,
            origin: origin.clone(),
            state,
            robots: known.map_or(Robots::Unknown, Robots::Known),
            errands: VecDeque::new(),
            followed: VecDeque::new(),
            cursor: None,
            in_flight: 0,
        });
        self.keep_crawl_delay(run);
        // An earlier cycle's last request keeps its distance too. A clock that was set back must not
        // make that longer than the delay.
        let delay = self.pace.delay();
        let free = last_request.saturating_add(delay.as_millis() as u64);
        let wait = Duration::from_millis(free.saturating_sub(now)).min(delay);
        if !wait.is_zero() {
            self.pace.hold(Instant::now() + wait);
        }
        Ok(self.tracks.last_mut().expect("one was pushed"))
    }

    /// Sets the pace to the slowest that the robots.txt of its open origins ask for.
    pub fn keep_crawl_delay(&mut self, run: &Run) {
        let asked = self.tracks.iter().filter_map(|t| match &t.robots {
            Robots::Known(Standing::Rules(rules)) => rules.crawl_delay,
            _ => None,
        });
        let delay = asked.filter(|d| *d <= run.config.max_crawl_delay).max().unwrap_or_default();
        self.pace.set_delay(delay.max(run.config.delay_per_host));
    }

    /// Adds a request for robots.txt.
    pub fn add_errand(&mut self, errand: Errand, run: &Run) -> Result<(), FetchError> {
        let origin = Origin::of(&errand.url);
        self.track_of(&origin, run)?.errands.push_back(errand);
        Ok(())
    }

    /// Adds the target of a redirect.
    pub fn add_followed(&mut self, waiting: Waiting, run: &Run) -> Result<(), FetchError> {
        let origin = Origin::of(&waiting.entry.url);
        self.track_of(&origin, run)?.followed.push_back(waiting);
        Ok(())
    }

    /// What to do next; takes the right to make a request when it returns one.
    pub fn next(&mut self, run: &Run) -> Result<Next, FetchError> {
        let mut settled = Vec::new();
        let now = run.now();
        loop {
            if settled.len() >= CHUNK {
                return Ok(Next::Visit { settled, ask: None, last: false });
            }
            match self.candidate(run, now)? {
                Candidate::None => break,
                Candidate::Settled(at, outcome) => {
                    let track = &mut self.tracks[at];
                    track.state.robots_denied += u64::from(outcome == Outcome::RobotsDenied);
                    settled.push(track.pop().settled(outcome, now));
                }
                Candidate::Request(at) => match self.pace.begin() {
                    Ok(()) => {
                        let track = &mut self.tracks[at];
                        track.in_flight += 1;
                        let errand = track.errands.pop_front();
                        let ask = errand.map_or_else(|| Ask::Page(Box::new(track.pop())), Ask::Robots);
                        let ask = Some((track.id, ask));
                        let last = self.runs.is_empty() && self.tracks.iter().all(Track::is_exhausted);
                        return Ok(Next::Visit { settled, ask, last });
                    }
                    Err(at) if settled.is_empty() => return Ok(Next::Wait(at)),
                    Err(_) => break,
                },
            }
        }
        if !settled.is_empty() {
            return Ok(Next::Visit { settled, ask: None, last: false });
        }
        if self.in_flight > 0 || !self.tracks.iter().all(Track::is_idle) {
            return Ok(Next::Idle);
        }
        self.retire(run, 0)?;
        // A host is not forgotten before its delay has run out (else whoever leads back to it would
        // find no delay to keep).
        Ok(match self.pace.begin() {
            Ok(()) => Next::Done,
            Err(at) => Next::Linger(at),
        })
    }

    /// The first thing that can be done: settle a page without asking, or ask.
    fn candidate(&mut self, run: &Run, now: u64) -> Result<Candidate, FetchError> {
        loop {
            for at in 0..self.tracks.len() {
                let track = &mut self.tracks[at];
                if !track.errands.is_empty() {
                    return Ok(Candidate::Request(at));
                }
                if !track.fill(run)? || matches!(track.robots, Robots::Asked) {
                    continue;
                }
                let url = track.front().expect("fill() saw a page");
                if let Some(outcome) = track.verdict(url, run, now) {
                    return Ok(Candidate::Settled(at, outcome));
                }
                if matches!(track.robots, Robots::Unknown) {
                    let url = robots_url(url);
                    track.errands.push_back(Errand { owner: url.clone(), url, hops: 0 });
                    track.robots = Robots::Asked;
                }
                return Ok(Candidate::Request(at));
            }
            if self.tracks.iter().any(|t| t.cursor.is_some()) {
                return Ok(Candidate::None);
            }
            let Some(next) = self.runs.next() else { return Ok(Candidate::None) };
            self.retire(run, IDLE_TRACKS)?;
            let host_run = &run.schedule.hosts()[next];
            let track = self.track_of(&Origin::of(&host_run.first), run)?;
            track.cursor = Some(Cursor::new(host_run));
        }
    }

    /// Stores and forgets idle origins until at most `keep` of all are left.
    fn retire(&mut self, run: &Run, keep: usize) -> Result<(), FetchError> {
        let mut at = 0;
        while self.tracks.len() > keep && at < self.tracks.len() {
            if self.tracks[at].is_idle() {
                self.tracks[at].store(run)?;
                self.tracks.remove(at);
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// An answer to a request of this track has ended, or the pages before it were delivered.
    pub fn ended(&mut self, track: Option<u32>, asked: bool, now: u64) {
        self.in_flight -= 1;
        if let Some(id) = track {
            self.pace.ended();
            let track = self.track(id);
            track.in_flight -= 1;
            if asked {
                track.state.requests += 1;
                track.state.last_request = now;
            }
        }
    }

    /// Takes away all that is left of the schedule for this host: for the deadline.
    pub fn take_rest(&mut self, runs: &[HostRun]) -> Vec<Cursor> {
        let begun = self.tracks.iter_mut().filter_map(|t| t.cursor.take());
        begun.chain(self.runs.by_ref().map(|i| Cursor::new(&runs[i]))).collect()
    }

    /// Stores the state of all origins.
    pub fn store(&self, run: &Run) -> Result<(), FetchError> {
        self.tracks.iter().try_for_each(|t| t.store(run))
    }
}

/// What can be done first; of the track at the place given.
enum Candidate {
    None,
    /// The page at the front needs no request.
    Settled(usize, Outcome),
    Request(usize),
}

impl Track {
    /// The outcome of a page that needs no request; none where it does (or where robots.txt must be
    /// asked for first).
    fn verdict(&self, url: &CanonicalUrl, run: &Run, now: u64) -> Option<Outcome> {
        if !(run.scope)(url) {
            return Some(Outcome::Skipped(Skip::OutOfScope));
        }
        if self.state.back_off_until > now {
            return Some(Outcome::Skipped(Skip::HostBackOff));
        }
        match &self.robots {
            Robots::Unknown | Robots::Asked => None,
            Robots::Known(Standing::Unreachable) => Some(Outcome::RobotsUnreachable),
            Robots::Known(Standing::Refused) => Some(Outcome::RefusedAddress),
            Robots::Known(Standing::Rules(rules)) => {
                if !rules.allows(url.path_and_query()) {
                    Some(Outcome::RobotsDenied)
                } else if rules.crawl_delay.is_some_and(|d| d > run.config.max_crawl_delay) {
                    Some(Outcome::Skipped(Skip::CrawlDelay))
                } else {
                    None
                }
            }
        }
    }
}

/// Where the robots.txt of a page's origin lies.
fn robots_url(page: &CanonicalUrl) -> CanonicalUrl {
    let key = [page.origin_key(), b"/robots.txt"].concat();
    CanonicalUrl::from_key(&key).expect("a page's origin and a short path make a URL")
}
