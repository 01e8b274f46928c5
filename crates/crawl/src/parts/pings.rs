//! Pings: site owners tell which of their pages have changed ([`indexnow`], [`websub`]).
//!
//! A ping is a noisy change signal. What it is worth is measured per origin, like the dates of sitemaps: each
//! visit that is compared tells whether a ping was right, and whether a change came without one
//! ([`LastmodCounts`]). The pinged page of a trusted origin is visited at once, by an urgent round or the
//! running one. Those of other origins wait for a visit that is due anyway, and only count.
//!
//! Pings wait in the tables until a visit answers them. All else is in memory: after a restart, keys are
//! checked again.

pub mod indexnow;
mod keys;
mod lesson;
pub mod websub;

pub use keys::{MAX_CHECKS_PER_HOUR, MAX_KEYS, MAX_PAGES_WITHOUT_KEY};
pub use lesson::PingLesson;

use crate::failure::Failure;
use crate::part::{InTables, Takedown};
use indexnow::Notice;
use keys::{IndexNowKeys, KeyState};
use recrawl_fetcher::{FetchedPage, RunControl};
use recrawl_repository::{Generation, OriginTable, SledTables};
use recrawl_types::{CanonicalUrl, LastmodCounts, Origin, PageRecord, Ping, ScheduleEntry, Share};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use websub::WebSub;

/// Maximum number of pages with pings that no visit has answered.
pub const MAX_PINGED: usize = 100_000;
/// Maximum number of origins whose pings are counted.
pub const MAX_ORIGINS: usize = 100_000;
/// Maximum number of hosts whose pings of the hour are counted.
const MAX_HOSTS: usize = 100_000;
const HOUR: u64 = 3_600_000;

/// The pings of a crawl.
pub struct Pings {
    tables: Arc<SledTables>,
    state: Mutex<PingState>,
    /// Was there ever a ping? If not, no visit is looked up.
    is_used: AtomicBool,
    /// Subscriptions, while they are on.
    websub: OnceLock<WebSub>,
}

struct PingState {
    min_trust: f64,
    waiting: BTreeMap<CanonicalUrl, WaitingPing>,
    origins: BTreeMap<Origin, LastmodCounts>,
    keys: IndexNowKeys,
    /// The hour that `of_hour` counts, since 1970.
    hour: u64,
    /// By host.
    of_hour: HashMap<Box<str>, Hour>,
    /// Pages that pings may still bring into the current cycle.
    allowance: u64,
    /// Has something come that a round can do at once?
    has_news: bool,
    counts: PingCounts,
}

struct WaitingPing {
    ping: Ping,
    /// Has a round of this cycle tried to visit the page?
    is_tried: bool,
}

/// Pings of a host in the current hour.
#[derive(Default)]
struct Hour {
    /// Pages, with a key that is known to be right.
    proven: u32,
    /// Pages, with a key that is not known yet.
    unproven: u32,
    /// New keys.
    checks: u32,
}

/// A number of [`Hour`].
type HourCount = fn(&mut Hour) -> &mut u32;

macro_rules! ping_counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts since the start of the program.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct PingCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl PingCounts {
            /// The counts with their names.
            pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

ping_counts! {
    /// Pinged pages that were noted.
    noted,
    /// Pinged pages whose key must be checked first.
    unproven,
    /// Pinged pages that are not of the crawl.
    foreign,
    /// Pinged pages whose key was wrong, and notifications of WebSub whose signature was.
    forged,
    /// Pinged pages beyond a limit.
    excess,
}

/// The answer to a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// This many pages were noted.
    Noted(usize),
    /// This many will be if the host has the key.
    Checking(usize),
}

/// Why a notice is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PingRefusal {
    /// The key is not in its file.
    WrongKey,
    /// The host has sent its pings or keys of the hour: seconds until the next.
    TooMany(u32),
    /// Too many pings, keys or origins wait.
    Full,
}

impl Pings {
    /// Loads the pings that wait.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn open(tables: Arc<SledTables>, min_trust: f64) -> Result<Pings, Failure> {
        let pings = tables.pings()?.into_iter().take(MAX_PINGED);
        let waiting: BTreeMap<_, _> =
            pings.map(|(url, ping)| (url, WaitingPing { ping, is_tried: false })).collect();
        let mut origins: BTreeMap<_, _> = tables.all_ping_counts()?.into_iter().collect();
        // An origin whose first pings still wait has no row yet, and its visits count all the same.
        waiting.keys().for_each(|url| _ = origins.entry(Origin::from_url(url)).or_default());
        let is_used = AtomicBool::new(!waiting.is_empty() || !origins.is_empty());
        let state = PingState {
            min_trust,
            waiting,
            origins,
            keys: IndexNowKeys::default(),
            hour: 0,
            of_hour: HashMap::new(),
            allowance: 0,
            has_news: false,
            counts: PingCounts::default(),
        };
        Ok(Pings { tables, state: Mutex::new(state), is_used, websub: OnceLock::new() })
    }

    /// Turns subscriptions on; `base` and `new_key` as in [`WebSub::open`].
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn subscribe(
        &self,
        base: &str,
        new_key: impl FnOnce() -> Result<[u8; websub::KEY_BYTES], Failure>,
    ) -> Result<(), Failure> {
        let websub = WebSub::open(self.tables.clone(), base, new_key)?;
        // Turned on before: then the two are the same.
        let _ = self.websub.set(websub);
        Ok(())
    }

    /// The subscriptions; none while they are off.
    pub fn websub(&self) -> Option<&WebSub> {
        self.websub.get()
    }

    fn state(&self) -> MutexGuard<'_, PingState> {
        self.state.lock().expect("no panic under the lock")
    }

    /// Sets the trust from which on pings are believed.
    pub fn set_min_trust(&self, min_trust: f64) {
        self.state().min_trust = min_trust;
    }

    /// Takes a notice. `admits` tells the pages of the crawl; `max_per_host` is a limit per hour.
    ///
    /// # Errors
    /// The outer one when the tables cannot be written.
    pub fn receive(
        &self,
        notice: Notice,
        admits: &dyn Fn(&CanonicalUrl) -> bool,
        max_per_host: u32,
        now: u64,
    ) -> Result<Result<Received, PingRefusal>, Failure> {
        let Notice { pages, key, key_file } = notice;
        let sent = pages.len();
        let pages: Vec<CanonicalUrl> = pages.into_iter().filter(|url| admits(url)).collect();
        let mut state = self.state();
        state.counts.foreign += (sent - pages.len()) as u64;
        if pages.is_empty() {
            return Ok(Ok(Received::Noted(0)));
        }
        let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
        let known = state.keys.get(&key_file, &key, now);
        if known == Some(KeyState::Wrong) {
            state.counts.forged += u64::from(count);
            return Ok(Err(PingRefusal::WrongKey));
        }
        // Pings that may be forged do not use up the limit of the others.
        let is_proven = known == Some(KeyState::Valid);
        let kind: HourCount = if is_proven { |hour| &mut hour.proven } else { |hour| &mut hour.unproven };
        let mut spent = state.spend(kind, &key_file.host(), count, max_per_host, now);
        if known.is_none() && spent.is_ok() {
            spent = state.spend(|hour| &mut hour.checks, &key_file.host(), 1, MAX_CHECKS_PER_HOUR, now);
        }
        if let Err(refused) = spent {
            state.counts.excess += u64::from(count);
            return Ok(Err(refused));
        }
        if is_proven {
            let noted = self.note(&mut state, pages, now)?;
            return Ok(if noted > 0 { Ok(Received::Noted(noted)) } else { Err(PingRefusal::Full) });
        }
        self.is_used.store(true, Relaxed);
        if !state.keys.wait(key_file, key, pages, now) {
            state.counts.excess += u64::from(count);
            return Ok(Err(PingRefusal::Full));
        }
        state.has_news = true;
        state.counts.unproven += u64::from(count);
        Ok(Ok(Received::Checking(count as usize)))
    }

    /// Takes a notification of a feed whose signature was right.
    ///
    /// # Errors
    /// The outer one when the tables cannot be written.
    pub fn notified(
        &self,
        feed: CanonicalUrl,
        max_per_host: u32,
        now: u64,
    ) -> Result<Result<Received, PingRefusal>, Failure> {
        let mut state = self.state();
        if let Err(refused) = state.spend(|hour| &mut hour.proven, &feed.host(), 1, max_per_host, now) {
            state.counts.excess += 1;
            return Ok(Err(refused));
        }
        let noted = self.note(&mut state, vec![feed], now)?;
        Ok(if noted > 0 { Ok(Received::Noted(noted)) } else { Err(PingRefusal::Full) })
    }

    /// Counts a notification whose signature was wrong.
    pub fn count_forged(&self) {
        self.state().counts.forged += 1;
    }

    /// Counts a notification of a feed that is not of the crawl any more.
    pub fn count_foreign(&self) {
        self.state().counts.foreign += 1;
    }

    /// Notes that these pages were pinged; returns how many.
    fn note(&self, state: &mut PingState, pages: Vec<CanonicalUrl>, now: u64) -> Result<usize, Failure> {
        let mut noted = 0;
        for url in pages {
            let origin = Origin::from_url(&url);
            let before = state.waiting.get(&url).map(|waiting| waiting.ping);
            let has_room = before.is_some() || state.waiting.len() < MAX_PINGED;
            let is_counted = state.origins.contains_key(&origin) || state.origins.len() < MAX_ORIGINS;
            if !has_room || !is_counted {
                state.counts.excess += 1;
                continue;
            }
            let ping = before.map_or(Ping::at(now), |ping| ping.and(now));
            self.tables.keep_ping(&url, Some(ping))?;
            let counts = state.origins.entry(origin).or_default();
            state.has_news |= counts.is_trusted(state.min_trust);
            state.waiting.insert(url, WaitingPing { ping, is_tried: false });
            noted += 1;
        }
        state.counts.noted += noted as u64;
        self.is_used.store(true, Relaxed);
        Ok(noted)
    }

    /// Does a key wait to be checked, or a trusted ping for a visit that no round has tried?
    pub fn is_urgent(&self) -> bool {
        let state = self.state();
        state.keys.has_unchecked() || state.allowance > 0 && state.urgent().next().is_some()
    }

    /// Begins a round, which may visit this many pinged pages beyond its plan.
    pub fn begin_round(&self, allowance: u64, begins_cycle: bool) {
        let mut state = self.state();
        state.allowance = allowance;
        if begins_cycle {
            state.waiting.values_mut().for_each(|waiting| waiting.is_tried = false);
        }
    }

    /// Adds key files and trusted pings to the running round.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn join(&self, steering: &RunControl, generation: &Generation) -> Result<(), Failure> {
        let files = self.state().keys.take_unchecked();
        let new = || PageRecord::discovered(generation.cycle(), 1);
        for url in files {
            steering.ask(ScheduleEntry::new(url, Share::Asked, new()));
        }
        let mut lookup = generation.lookup();
        for url in self.take_urgent() {
            let record = lookup.take(&url).map_err(Failure::work)?.map_or_else(new, |(_, record)| record);
            steering.ask(ScheduleEntry::new(url, Share::Announced, record));
        }
        Ok(())
    }

    /// Ends a round: key files that did not come are asked for again.
    pub fn end_round(&self) {
        self.state().keys.end_round();
    }

    /// Has something come since the last call that a round can do at once?
    pub fn take_news(&self) -> bool {
        std::mem::take(&mut self.state().has_news)
    }

    /// Takes pages to visit at once, in URL order: pinged by trusted origins, those that wait longest, at most
    /// as many as the cycle allows.
    fn take_urgent(&self) -> Vec<CanonicalUrl> {
        let mut state = self.state();
        let mut urgent: Vec<(u64, CanonicalUrl)> =
            state.urgent().map(|(url, waiting)| (waiting.ping.first, url.clone())).collect();
        urgent.sort_unstable();
        urgent.truncate(usize::try_from(state.allowance).unwrap_or(usize::MAX));
        state.allowance -= urgent.len() as u64;
        for (_, url) in &urgent {
            state.waiting.get_mut(url).expect("it waits").is_tried = true;
        }
        let mut urgent: Vec<CanonicalUrl> = urgent.into_iter().map(|(_, url)| url).collect();
        urgent.sort_unstable();
        urgent
    }

    /// The pages that trusted origins pinged, in URL order.
    pub fn trusted(&self) -> Vec<CanonicalUrl> {
        let state = self.state();
        state.waiting.keys().filter(|url| state.trusts(url)).cloned().collect()
    }

    /// Is this the file of a key that is being checked?
    pub fn is_key_file(&self, url: &CanonicalUrl) -> bool {
        self.is_used.load(Relaxed) && self.state().keys.is_file(url)
    }

    /// Takes a fetched page if it is a key file: it is no visit. Notes the pages of a key that is right.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn take_key_file(&self, page: &FetchedPage) -> Result<bool, Failure> {
        if !self.is_key_file(&page.entry.url) {
            return Ok(false);
        }
        let mut state = self.state();
        let (proven, forged) = state.keys.answer(page);
        state.counts.forged += forged;
        self.note(&mut state, proven, page.at)?;
        // A page of the schedule is a visit all the same.
        Ok(page.index.is_none())
    }

    /// The pings of a page that wait for a visit.
    pub fn of_page(&self, url: &CanonicalUrl) -> Option<Ping> {
        self.state().waiting.get(url).map(|waiting| waiting.ping)
    }

    /// Number of pages that wait, keys that are checked, and origins that are trusted.
    pub fn sizes(&self) -> [u64; 3] {
        let state = self.state();
        let trusted = state.origins.values().filter(|counts| counts.is_trusted(state.min_trust)).count();
        [state.waiting.len(), state.keys.checking(), trusted].map(|size| size as u64)
    }

    /// Counts since the start of the program.
    pub fn counts(&self) -> PingCounts {
        self.state().counts
    }

    /// Removes the pings of the pages that are meant, and subscriptions to them, from the tables of a stopped
    /// crawl, or only counts them.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn forget(
        tables: &SledTables,
        is_meant: &dyn Fn(&CanonicalUrl) -> bool,
        only_count: bool,
    ) -> Result<u64, Failure> {
        let mut removed = WebSub::forget(tables, is_meant, only_count)?;
        for (url, _) in tables.pings()?.iter().filter(|(url, _)| is_meant(url)) {
            removed += 1;
            if !only_count {
                tables.keep_ping(url, None)?;
            }
        }
        Ok(removed)
    }
}

/// Removes what a takedown means from the tables, or only counts it.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn forget(takedown: &Takedown<'_>, removed: &mut InTables) -> Result<(), Failure> {
    let Takedown { tables, meant, only_count, .. } = takedown;
    removed.asked += Pings::forget(tables, &|url| meant.matches(url), *only_count)?;
    removed.dates += takedown.rows(OriginTable::PingCounts)?;
    Ok(())
}

impl PingState {
    /// Takes `count` of what the host may send of this kind in the current hour.
    fn spend(
        &mut self,
        kind: HourCount,
        host: &str,
        count: u32,
        most: u32,
        now: u64,
    ) -> Result<(), PingRefusal> {
        if self.hour != now / HOUR {
            self.hour = now / HOUR;
            self.of_hour.clear();
        }
        if self.of_hour.len() >= MAX_HOSTS && !self.of_hour.contains_key(host) {
            return Err(PingRefusal::Full);
        }
        let spent = kind(self.of_hour.entry(host.into()).or_default());
        let left = most.saturating_sub(*spent);
        if count > left {
            return Err(PingRefusal::TooMany(until_next_hour(now)));
        }
        *spent += count;
        Ok(())
    }

    fn trusts(&self, url: &CanonicalUrl) -> bool {
        self.origins.get(&Origin::from_url(url)).is_some_and(|counts| counts.is_trusted(self.min_trust))
    }

    /// Pages to visit at once.
    fn urgent(&self) -> impl Iterator<Item = (&CanonicalUrl, &WaitingPing)> {
        self.waiting.iter().filter(|(url, waiting)| !waiting.is_tried && self.trusts(url))
    }
}

fn until_next_hour(now: u64) -> u32 {
    (HOUR - now % HOUR).div_ceil(1000) as u32
}

#[cfg(test)]
mod tests;
