//! One host: its pages in order, its pace, its origins.
//!
//! A host is a name (or an address literal); its origins (scheme and port) share one pace, and each has
//! a robots.txt and a state of its own ([`Track`]). The schedule keeps a host's origins together and a
//! host visits them one after the other; redirects may open another of its origins in between.

mod cursor;
mod track;

pub use cursor::{Cursor, Waiting};
pub use track::{Ask, Errand, Track};

use crate::fetch::Run;
use crate::limits::CHUNK;
use crate::outcome::{FetchError, FetchedPage};
use crate::politeness::Pace;
use recrawl_types::{HostRun, Origin};
use std::ops::Range;
use std::time::Duration;
use tokio::time::Instant;
use track::Step;

/// Origins of one host that stay in memory when they are idle: enough for http beside https.
const IDLE_TRACKS: usize = 4;

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
        self.next_track += 1;
        let track = Track::open(self.next_track, origin, run)?;
        let last_request = track.state.last_request;
        self.tracks.push(track);
        self.keep_crawl_delay(run);
        // An earlier cycle's last request keeps its distance too. A clock that was set back must not
        // make that longer than the delay.
        let delay = self.pace.delay();
        let free = last_request.saturating_add(delay.as_millis() as u64);
        let wait = Duration::from_millis(free.saturating_sub(run.now())).min(delay);
        if !wait.is_zero() {
            self.pace.hold(Instant::now() + wait);
        }
        Ok(self.tracks.last_mut().expect("one was pushed"))
    }

    /// Sets the pace to the slowest that the robots.txt of its open origins ask for.
    pub fn keep_crawl_delay(&mut self, run: &Run) {
        let asked = self.tracks.iter().filter_map(Track::crawl_delay);
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
            let (at, step) = self.step(run, now)?;
            match step {
                Step::Nothing => break,
                Step::Settle(outcome) => settled.push(self.tracks[at].settle(outcome, now)),
                Step::Request => match self.pace.begin() {
                    Ok(()) => {
                        let track = &mut self.tracks[at];
                        let ask = Some((track.id, track.ask()));
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

    /// The first thing that can be done, and the place of the track that can.
    fn step(&mut self, run: &Run, now: u64) -> Result<(usize, Step), FetchError> {
        loop {
            for (at, track) in self.tracks.iter_mut().enumerate() {
                let step = track.step(run, now)?;
                if step != Step::Nothing {
                    return Ok((at, step));
                }
            }
            let more = self.tracks.iter().all(|t| t.cursor.is_none()).then(|| self.runs.next()).flatten();
            let Some(next) = more else { return Ok((0, Step::Nothing)) };
            self.retire(run, IDLE_TRACKS)?;
            let host_run = &run.schedule.hosts()[next];
            self.track_of(&Origin::of(&host_run.first), run)?.cursor = Some(Cursor::new(host_run));
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
            self.track(id).ended(asked, now);
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
