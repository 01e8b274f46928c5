//! One host: its pages in order, its pace, its origins.
//!
//! A host is a name (or an address literal); its origins (scheme and port) share one pace, and each has
//! a robots.txt and a state of its own ([`Track`]). The schedule keeps a host's origins together and a
//! host visits them one after the other; redirects may open another of its origins in between.

mod cursor;
mod track;

pub use cursor::{Cursor, Waiting};
pub use track::{Ask, Errand, Track};

use crate::addresses::Addresses;
use crate::control::{HostFigures, HostStanding};
use crate::crowds::Group;
use crate::fetch::Run;
use crate::frontier::Seat;
use crate::limits::{ADDRESS_TTL, CHUNK, MAX_ADDRESSES};
use crate::outcome::{FetchError, FetchedPage};
use crate::politeness::{Pace, Sign, Strain};
use crate::visit::{Echo, May};
use recrawl_types::{Found, HostRun, Origin, Share, Site};
use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;
use tokio::time::Instant;
use tracing::Span;
use track::Step;

/// Origins of one host that stay in memory when they are idle: enough for http beside https.
const IDLE_TRACKS: usize = 4;
/// Kept connections that a server closed, from which on none is kept to it: each costs a delay.
const CLOSES_IDLE: u32 = 2;
/// How long a name without an address counts as one. Far less than the resolver remembers it, so that a
/// request under this assumption reaches nobody.
const NO_ADDRESS_TTL: Duration = Duration::from_secs(1);

/// What a host wants next.
#[derive(Debug)]
pub enum Next {
    /// Deliver these pages, then make this request (of the track given), if any.
    Visit { settled: Vec<FetchedPage>, ask: Option<(Option<u32>, Ask)>, last: bool },
    /// Ask again then.
    Wait(Instant),
    /// Stand in line for this address.
    Line(IpAddr),
    /// Nothing until an answer comes.
    Idle,
    /// Something, but the host is held.
    Held,
    /// Nothing is left, but the delay runs on; ask again then.
    Linger(Instant),
    /// Nothing is left, and whoever comes next need not wait.
    Done,
}

/// What is known of a host's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Unknown,
    Asked,
    /// Until the time given. Where there is no address, a request fails without asking anyone.
    Known(Option<IpAddr>, Instant),
}

/// Whether a host's address lets it ask now.
enum Turn {
    Now,
    Unresolved,
    Resolving,
    Later(IpAddr),
}

/// One host. While one of its requests fills its last slot it is in no queue: it cannot be asked.
#[derive(Debug)]
pub struct Host {
    /// The host's part of a URL's key.
    pub key: Box<[u8]>,
    name: Box<str>,
    pub pace: Pace,
    strain: Strain,
    pub in_flight: usize,
    /// Is it in the queue of hosts, or in the line of an address?
    pub queued: bool,
    /// The address whose line it was called from.
    pub called: Option<IpAddr>,
    place: Place,
    /// Requests in a row that no server took, and that were made again.
    passed_over: usize,
    /// Kept connections that the server had closed when they were used again.
    closed_idle: u32,
    pub seat: Seat,
    /// The site at which it counts as open; none while it is held or has nothing to do.
    pub site: Option<Site>,
    /// The same for its address.
    pub crowd: Option<IpAddr>,
    /// Its place in the schedule's list of hosts.
    group: Option<Group>,
    /// Pages that came out in this run.
    pub done: u64,
    /// When its last answer ended: for the watch over its pace.
    answered: Option<Instant>,
    /// Its runs in the schedule that were not begun.
    runs: Range<usize>,
    /// Runs that were begun, of origins that are not in memory.
    folded: Vec<Cursor>,
    tracks: Vec<Track>,
    next_track: u32,
    /// What is told of it is told in this.
    pub span: Span,
}

impl Host {
    /// A host of this name, with its part of the schedule.
    pub fn new(
        key: Box<[u8]>,
        name: &str,
        site: Site,
        run: &Run,
        part: Option<(Group, Range<usize>)>,
    ) -> Host {
        let (group, runs) = part.map_or((None, 0..0), |(group, runs)| (Some(group), runs));
        Host {
            span: tracing::error_span!("host", host = name),
            key,
            pace: Pace::new(run.config.delay_per_host, run.began),
            strain: Strain::default(),
            in_flight: 0,
            queued: false,
            called: None,
            place: Place::Unknown,
            passed_over: 0,
            closed_idle: 0,
            seat: Seat::Open,
            site: Some(site),
            crowd: None,
            group,
            done: 0,
            answered: None,
            runs,
            folded: Vec::new(),
            name: name.into(),
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
        let (held, strain) = (track.held(run), Strain::of(&track.state));
        // A host that was folded has kept its pace: what it is held for is waited for once.
        let was_folded = self.folded.iter().any(|cursor| cursor.origin() == *origin);
        if !held.is_zero() && !was_folded {
            self.pace.hold(Instant::now() + held);
        }
        self.strain.latency = self.strain.latency.max(strain.latency);
        self.strain.raised = self.strain.raised.max(strain.raised);
        self.tracks.push(track);
        self.keep_delay(run);
        Ok(self.tracks.last_mut().expect("one was pushed"))
    }

    /// The delay that is asked for: by the configuration, or by the robots.txt of an open origin.
    fn asked_delay(&self, run: &Run) -> Duration {
        let asked = self.tracks.iter().filter_map(Track::crawl_delay);
        let asked = asked.filter(|d| *d <= run.config.max_crawl_delay).max().unwrap_or_default();
        asked.max(run.config.delay_per_host)
    }

    /// Sets the pace to what is asked for and what the host can bear.
    pub fn keep_delay(&mut self, run: &Run) {
        self.pace.set_delay(self.strain.delay(self.asked_delay(run), &run.config));
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

    /// What to do next; takes the right to make a request when it returns one. `was_called` says that
    /// the host's turn has come at the address.
    pub fn next(
        &mut self,
        run: &Run,
        addresses: &mut Addresses,
        was_called: bool,
    ) -> Result<Next, FetchError> {
        let mut settled = Vec::new();
        let now = run.now();
        loop {
            if settled.len() >= CHUNK {
                return Ok(Next::Visit { settled, ask: None, last: false });
            }
            let (at, step) = self.step(run, now)?;
            match step {
                Step::Nothing => break,
                Step::Settle(_) | Step::Request if run.control.is_host_held(&self.tracks[at].origin.host) => {
                    return Ok(Next::Held);
                }
                Step::Settle(outcome) => {
                    self.done += 1;
                    settled.push(self.tracks[at].settle(outcome, now));
                }
                Step::Request => match (self.pace.wait(), self.turn(addresses, was_called)) {
                    (Some(at), _) if settled.is_empty() => return Ok(Next::Wait(at)),
                    (None, Turn::Now) => {
                        self.pace.touch();
                        let track = &mut self.tracks[at];
                        let ask = Some((Some(track.id), track.ask(run)));
                        let is_begun = self.runs.is_empty() && self.folded.is_empty();
                        let last = self.closed_idle >= CLOSES_IDLE
                            || is_begun && self.tracks.iter().all(Track::is_exhausted);
                        return Ok(Next::Visit { settled, ask, last });
                    }
                    (None, Turn::Unresolved) => {
                        self.place = Place::Asked;
                        let host = self.tracks[at].origin.host.clone();
                        return Ok(Next::Visit {
                            settled,
                            ask: Some((None, Ask::Address(host))),
                            last: false,
                        });
                    }
                    (None, Turn::Resolving) if settled.is_empty() => return Ok(Next::Idle),
                    (None, Turn::Later(address)) if settled.is_empty() => return Ok(Next::Line(address)),
                    _ => break,
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
        Ok(self.pace.wait().map_or(Next::Done, Next::Linger))
    }

    /// The site that its name belongs to.
    pub fn site_of_name(&self) -> Site {
        Site::of_host(&self.name)
    }

    /// The address that a request would be charged to.
    pub fn address(&self) -> Option<IpAddr> {
        match self.place {
            Place::Known(address, _) => address,
            Place::Unknown | Place::Asked => None,
        }
    }

    fn turn(&self, addresses: &mut Addresses, was_called: bool) -> Turn {
        if !addresses.are_paced() {
            return Turn::Now;
        }
        match self.place {
            Place::Asked => Turn::Resolving,
            Place::Known(address, until) if until > Instant::now() => match address {
                Some(address) if !addresses.is_free(address, was_called) => Turn::Later(address),
                Some(_) | None => Turn::Now,
            },
            Place::Known(..) | Place::Unknown => Turn::Unresolved,
        }
    }

    /// The host's name was resolved.
    pub fn resolved(&mut self, address: Option<IpAddr>) {
        let ttl = if address.is_some() { ADDRESS_TTL } else { NO_ADDRESS_TTL };
        self.place = Place::Known(address, Instant::now() + ttl);
    }

    /// May a request that finds no connection go to the name's next address? Not for ever: while one after another is
    /// tried, the name may be resolved anew, and then all are there again. One that the server did not take is repeated
    /// once, until something is answered.
    pub fn may(&self) -> May {
        May { go_elsewhere: self.passed_over < MAX_ADDRESSES, repeat: self.passed_over == 0 }
    }

    /// A request that no server took, to be made again: after the delay, and at the address that the name has then.
    pub fn again(&mut self, track: u32, ask: Ask, was_closed_idle: bool) {
        self.passed_over += 1;
        self.closed_idle += u32::from(was_closed_idle);
        self.place = Place::Unknown;
        self.track(track).again(ask);
    }

    /// Its part of the schedule, if it has one: its place in the list of hosts, and whether a page of it came out.
    pub fn turn_of(&self) -> Option<(Group, bool)> {
        self.group.map(|group| (group, self.done > 0))
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
            if self.tracks.iter().any(|t| t.cursor.is_some()) {
                return Ok((0, Step::Nothing));
            }
            self.retire(run, IDLE_TRACKS)?;
            if let Some(origin) = self.folded.last().map(Cursor::origin) {
                self.track_of(&origin, run)?;
                let cursor = self.folded.pop();
                self.track_of(&origin, run)?.cursor = cursor;
                continue;
            }
            let Some(next) = self.runs.next() else { return Ok((0, Step::Nothing)) };
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

    /// The host's place in the schedule, where nothing was begun at it but to look up its address: then it can be
    /// forgotten.
    pub fn untouched(&self) -> Option<Group> {
        let is_in_use = self.queued || self.called.is_some() || self.in_flight > 0 || self.done > 0;
        self.group.filter(|_| !is_in_use && self.tracks.iter().all(Track::can_be_read_again))
    }

    /// Lets go of entries, and of robots rules and what is known of origins where nothing is under way or waits beside the
    /// schedule. All of it can be read again.
    pub fn fold(&mut self, run: &Run) -> Result<(), FetchError> {
        if self.in_flight > 0 || !self.tracks.iter().all(Track::can_be_forgotten) {
            self.tracks.iter_mut().filter_map(|track| track.cursor.as_mut()).for_each(Cursor::fold);
            return Ok(());
        }
        for mut track in std::mem::take(&mut self.tracks) {
            track.store(run)?;
            self.folded.extend(track.cursor.take());
        }
        self.folded.iter_mut().for_each(Cursor::fold);
        Ok(())
    }

    /// An answer to a request of this track has ended, or the pages before it were delivered.
    ///
    /// # Errors
    /// When what must outlive a crash cannot be stored.
    pub fn ended(&mut self, track: Option<u32>, echo: Option<&Echo>, run: &Run) -> Result<(), FetchError> {
        self.in_flight -= 1;
        let Some(id) = track else { return Ok(()) };
        self.pace.touch();
        let now = run.now();
        let delay = self.pace.delay();
        self.track(id).ended(echo.is_some(), run.cycle, now, delay);
        let Some(echo) = echo else { return Ok(()) };
        self.passed_over = 0;
        self.answered = Some(Instant::now());
        let elapsed = echo.elapsed.min(run.config.timeout);
        self.strain.answered(echo.sign, elapsed, self.asked_delay(run), &run.config);
        self.keep_delay(run);
        if let (Place::Known(Some(_), until), Some(peer)) = (self.place, echo.peer) {
            self.place = Place::Known(Some(peer), until);
        }
        let strain = self.strain;
        strain.keep(&mut self.track(id).state);
        if let Some(wait) = echo.retry_after {
            if wait <= run.config.max_retry_after {
                self.pace.hold(Instant::now() + wait);
                self.track(id).state.hold_until = now.saturating_add(wait.as_millis() as u64);
            } else {
                self.track(id).back_off(wait, now);
            }
        }
        if echo.sign == Sign::Overloaded { self.track(id).store(run) } else { Ok(()) }
    }

    /// Takes a page of the schedule out of its turn; none where it was visited, or is about to be.
    pub fn take_early(&mut self, found: Found, run: &Run) -> Option<Waiting> {
        let Found { host, index, entry } = found;
        let cursors = self.tracks.iter_mut().filter_map(|track| track.cursor.as_mut());
        let cursor = cursors.chain(&mut self.folded).find(|cursor| cursor.holds(index));
        let taken = match cursor {
            Some(cursor) if !cursor.is_ahead(index) => cursor.take(index)?,
            None if !self.runs.contains(&host) => return None,
            Some(_) | None => Waiting::of(Some(index), entry),
        };
        run.taken().insert(index).then_some(taken)
    }

    /// Takes away the pages that were promised to come out and wait beside the schedule: those that are to be asked
    /// for again, or that somebody asked for.
    pub fn take_promised(&mut self) -> Vec<Waiting> {
        let waiting = self.tracks.iter_mut().flat_map(|t| t.followed.drain(..));
        waiting.filter(|w| w.index.is_some() || w.entry.share == Share::Asked).collect()
    }

    /// Would a request that starts now be early, by the configured delay alone?
    pub fn is_early(&self, run: &Run) -> bool {
        self.answered.is_some_and(|at| at.elapsed() < run.config.delay_per_host)
    }

    /// Where it stands; none while nothing was read of it.
    pub fn figures(&self, run: &Run, now: u64) -> Option<HostFigures> {
        if self.tracks.is_empty() && self.folded.is_empty() {
            return None;
        }
        let runs = run.schedule.hosts()[self.runs.clone()].iter().map(|run| run.count);
        let begun = self.folded.iter().map(Cursor::queue);
        let failures = self.tracks.iter().map(|t| t.state.failures).max().unwrap_or_default();
        let state = match () {
            () if self.in_flight > 0 => HostStanding::Asking,
            () if self.seat == Seat::Held => HostStanding::Held,
            () if self.tracks.iter().any(|t| t.state.back_off_until > now) => HostStanding::BackedOff,
            () => HostStanding::Waiting,
        };
        Some(HostFigures {
            host: self.name.to_string(),
            queue: self.tracks.iter().map(Track::queue).chain(begun).chain(runs).sum(),
            done: self.done,
            delay: self.strain.delay(self.asked_delay(run), &run.config),
            latency: self.strain.latency,
            failures,
            state,
        })
    }

    /// Takes away all that is left of the schedule for this host: for the deadline.
    pub fn take_rest(&mut self, runs: &[HostRun]) -> Vec<Cursor> {
        let begun = self.tracks.iter_mut().filter_map(|t| t.cursor.take());
        let begun = begun.chain(self.folded.drain(..));
        begun.chain(self.runs.by_ref().map(|i| Cursor::new(&runs[i]))).collect()
    }

    /// Stores the state of all origins.
    pub fn store(&self, run: &Run) -> Result<(), FetchError> {
        self.tracks.iter().try_for_each(|t| t.store(run))
    }
}
