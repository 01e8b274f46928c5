//! Walks the pages of all promises, with their kept visits: what was kept, what is due, and which
//! limit binds.

use super::account::PromiseAccount;
use super::due::{DuePages, PromisedPage, most_urgent};
use super::limits::{PromiseLimit, Rhythm, SlowestHost};
use super::{VisitPromise, cycles_of};
use crate::admission::decisions::Decisions;
use crate::config::Config;
use crate::failure::Failure;
use crate::forbidding::{Forbidding, OfOrigin};
use recrawl_fetcher::{DelayReason, FetchConfig, HostDelay};
use recrawl_repository::{Generation, SledTables, StoredRounds, StoredVisit, StoredVisits};
use recrawl_scheduler::Gate;
use recrawl_types::{
    CanonicalUrl, Change, Cycle, HostState, HostTable, Origin, Outcome, PageRecord, PageStatus,
};
use std::time::Duration;

/// Part of a period that is left for the plan and the requests.
const HEADROOM: i64 = 10;

/// The part of a survey that settings, tables and operators decide.
pub struct SurveyRules<'s> {
    /// The promises.
    pub promises: &'s [VisitPromise],
    /// The budget and the shares that bound them.
    pub config: &'s Config,
    /// Delays that are configured.
    pub fetch: &'s FetchConfig,
    /// The rules that keep pages from being fetched; none without tables.
    pub forbidding: Option<Forbidding<'s>>,
    /// None while another process has them: then nothing is known of robots.txt and delays.
    pub tables: Option<&'s SledTables>,
    /// Decisions of operators.
    pub decided: &'s Decisions,
}

/// The inputs of a survey.
pub struct PromiseSurvey<'s> {
    /// See [`SurveyRules`].
    pub rules: SurveyRules<'s>,
    /// The known pages.
    pub generation: &'s Generation,
    /// Their visits.
    pub kept: &'s StoredRounds,
    /// The cycle that is planned.
    pub cycle: Cycle,
    /// Its k.
    pub k: u64,
    /// Time from cycle to cycle: `cycle.period`, or more if the last one took longer.
    pub period: Duration,
    /// In milliseconds since 1970.
    pub now: u64,
    /// When the cycle before began; gaps that ended earlier were counted then.
    pub since: u64,
    /// Called now and then.
    pub on_progress: &'s dyn Fn(),
}

/// Findings of a survey.
#[derive(Default)]
pub struct Surveyed {
    /// Of each promise.
    pub accounts: Vec<PromiseAccount>,
    /// The pages to visit in this cycle, at most k/2.
    pub due: Vec<PromisedPage>,
}

impl Surveyed {
    /// At most so many pages, the most urgent ones: the plan of a round has no room for more.
    pub fn within(mut self, pages: u64) -> Surveyed {
        let room = usize::try_from(pages).unwrap_or(usize::MAX);
        if self.due.len() > room {
            self.due.sort_unstable();
            let left_out = self.due.split_off(room);
            left_out.iter().for_each(|page| self.accounts[page.promise].planned -= 1);
        }
        self
    }
}

/// Where a page of a promise stands.
#[derive(Clone, Copy, PartialEq)]
enum DeadlineStatus {
    Gone,
    Refused,
    KeptOut,
    BackingOff,
    NeverVisited,
    Visited,
}

/// State of the origin of the pages at hand.
struct SurveyedOrigin {
    of: Option<OfOrigin>,
    is_paused: bool,
    is_backing_off: bool,
    delay: Duration,
    is_crawl_delay: bool,
}

/// The pages of a promise that can be visited, host by host.
#[derive(Default)]
struct Demand {
    pages: u64,
    slowest: SlowestHost,
    largest: SlowestHost,
    /// The host at hand.
    host: SlowestHost,
}

impl Demand {
    fn add(&mut self, host: &str, origin: &SurveyedOrigin) {
        if self.host.host != host {
            self.close();
            self.host = SlowestHost { host: host.into(), ..SlowestHost::default() };
        }
        self.pages += 1;
        self.host.pages += 1;
        if origin.delay > self.host.delay {
            (self.host.delay, self.host.is_crawl_delay) = (origin.delay, origin.is_crawl_delay);
        }
    }

    fn close(&mut self) {
        let host = std::mem::take(&mut self.host);
        if host.pages > self.largest.pages {
            self.largest = host.clone();
        }
        if host.takes() > self.slowest.takes() {
            self.slowest = host;
        }
    }
}

/// Of each promise, its rhythm and the limit that binds.
struct Rhythms {
    of: Vec<(Rhythm, Option<PromiseLimit>)>,
    visits: Vec<u64>,
}

impl PromiseSurvey<'_> {
    /// The first limit that keeps a promise from being kept, as far as known pages and delays tell.
    ///
    /// # Errors
    /// [`Failure::Usage`] with the limit; when something cannot be read.
    pub fn check(&self) -> Result<(), Failure> {
        let promises = self.rules.promises;
        let rhythms = self.rhythms()?;
        let binding = promises
            .iter()
            .zip(&rhythms.of)
            .find_map(|(promise, (_, limit))| limit.as_ref().map(|limit| limit.binding(&promise.pages)));
        binding.map_or(Ok(()), |binding| Err(Failure::usage(format!("[[promises]]: {binding}"))))
    }

    /// Counts what was kept, and chooses what is due.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn survey(&self) -> Result<Surveyed, Failure> {
        let promises = self.rules.promises;
        let Rhythms { of: rhythms, visits } = self.rhythms()?;
        let period = self.period.as_millis() as i64;
        // The other half of k stays with the score, whatever was promised.
        let most = self.k / 2;
        let mut accounts: Vec<PromiseAccount> = Vec::new();
        let mut due: Vec<DuePages> = Vec::new();
        for (promise, (rhythm, limit)) in promises.iter().zip(&rhythms) {
            accounts.push(PromiseAccount {
                pages: promise.pages.to_string(),
                within_ms: promise.within.as_millis() as u64,
                share: promise.share,
                every: rhythm.every,
                limit: limit.as_ref().map(|limit| limit.binding(&promise.pages)),
                ..PromiseAccount::default()
            });
            due.push(DuePages::new(period, rhythm.every, most));
        }
        let mut visits_of = VisitsOf::open(self.kept, self.first_cycle())?;
        let warmup = self.rules.config.cycle.warmup;
        self.walk(&mut |place, ordinal, url, record, standing, _| {
            let (promise, account) = (&promises[place], &mut accounts[place]);
            let count = match standing {
                DeadlineStatus::Gone => &mut account.gone,
                DeadlineStatus::Refused => &mut account.refused,
                DeadlineStatus::KeptOut => &mut account.kept_out,
                DeadlineStatus::BackingOff => &mut account.backing_off,
                DeadlineStatus::NeverVisited => &mut account.never_visited,
                DeadlineStatus::Visited => {
                    // From the visits that were kept: the record only knows the last one.
                    let gaps = visits_of.gaps(url, self.since / 1000, self.now / 1000)?;
                    let within = promise.within.as_millis();
                    let is_kept = gaps.longest.is_some_and(|gap| u128::from(gap) * 1000 <= within);
                    let visits = record.visited.as_ref().map(|visited| visited.history.visits);
                    if Gate::for_page(&record.known, visits, self.cycle, warmup) == Gate::Revisit {
                        let (rhythm, _) = &rhythms[place];
                        // The next cycle must still reach the page in time: its host takes time for the
                        // others, and planning takes some.
                        let slack = within as i64 - rhythm.spread.as_millis() as i64 - period / HEADROOM;
                        let age =
                            gaps.last.map_or(within as i64, |last| self.now as i64 - last as i64 * 1000);
                        let tie = tie(url.key());
                        due[place].offer(PromisedPage { left: slack - age, tie, ordinal, promise: place });
                    }
                    if is_kept { &mut account.kept } else { &mut account.late }
                }
            };
            *count += 1;
            Ok(())
        })?;
        let chosen: Vec<PromisedPage> =
            due.into_iter().zip(visits).flat_map(|(due, visits)| due.finish(visits)).collect();
        // A site may have outgrown its promise: then the most urgent pages come first.
        let due = most_urgent(chosen, most);
        due.iter().for_each(|page| accounts[page.promise].planned += 1);
        accounts.iter_mut().for_each(PromiseAccount::count_share);
        Ok(Surveyed { accounts, due })
    }

    /// The first cycle whose visits tell whether a promise was kept.
    fn first_cycle(&self) -> Cycle {
        let period = self.rules.config.cycle.period.0;
        let cycles = self.rules.promises.iter().map(|promise| cycles_of(promise.within, period)).max();
        let cycles = u32::try_from(cycles.unwrap_or_default()).unwrap_or(u32::MAX);
        Cycle(self.cycle.0.saturating_sub(cycles))
    }

    /// The rhythm of each promise.
    fn rhythms(&self) -> Result<Rhythms, Failure> {
        let (config, promises) = (self.rules.config, self.rules.promises);
        let mut demands: Vec<Demand> = promises.iter().map(|_| Demand::default()).collect();
        self.walk(&mut |place, _, url, _, standing, origin| {
            if matches!(
                standing,
                DeadlineStatus::NeverVisited | DeadlineStatus::Visited | DeadlineStatus::BackingOff
            ) {
                demands[place].add(&url.host(), origin);
            }
            Ok(())
        })?;
        demands.iter_mut().for_each(Demand::close);
        let period = self.period;
        let rhythm = |(promise, demand): (&VisitPromise, &Demand)| {
            let (within, slowest) = (promise.within, demand.slowest.clone());
            let takes = slowest.takes();
            let Some(rhythm) = Rhythm::slowest(within, period, takes) else {
                // A host that is too slow for the configured period is at fault; else the cycle, which took longer.
                let configured = config.cycle.period.0;
                let limit = match Rhythm::slowest(within, configured, takes) {
                    None => PromiseLimit::Host { within, period: configured, slowest },
                    Some(_) => PromiseLimit::Period { within, period },
                };
                return (Rhythm::best_effort(within, takes), Some(limit));
            };
            let (most, largest) = (config.schedule.max_per_host, &demand.largest);
            let visits = rhythm.visits(largest.pages);
            let is_capped = most > 0 && visits > most;
            (rhythm, is_capped.then(|| PromiseLimit::MaxPerHost { host: largest.host.clone(), visits, most }))
        };
        let mut of: Vec<(Rhythm, Option<PromiseLimit>)> = promises.iter().zip(&demands).map(rhythm).collect();
        let visits: Vec<u64> =
            of.iter().zip(&demands).map(|((rhythm, _), demand)| rhythm.visits(demand.pages)).collect();
        let (all, most) = (visits.iter().sum::<u64>(), self.k / 2);
        if all > most {
            of.iter_mut().zip(&visits).filter(|(_, visits)| **visits > 0).for_each(|((_, limit), _)| {
                limit.get_or_insert(PromiseLimit::Budget { visits: all, most });
            });
        }
        Ok(Rhythms { of, visits })
    }

    /// Calls `each` with every page of a promise, in URL order.
    fn walk(&self, each: &mut EachPage<'_>) -> Result<(), Failure> {
        let promises = self.rules.promises;
        let mut origin: Option<(Origin, SurveyedOrigin)> = None;
        let mut prefixes: Vec<Vec<u8>> = promises.iter().flat_map(VisitPromise::key_prefixes).collect();
        prefixes.sort_unstable();
        // A prefix within another is walked with it.
        prefixes.dedup_by(|next, walked| next.starts_with(walked));
        for prefix in prefixes {
            let first = self.generation.first_ordinal(&prefix);
            let mut pages = self.generation.gather(first..self.generation.pages());
            while let Some((ordinal, url, record)) = pages.next_page()? {
                if !url.key().starts_with(&prefix) {
                    if *url.key() < *prefix {
                        continue;
                    }
                    break;
                }
                (self.on_progress)();
                let Some((place, _)) = VisitPromise::covering(promises, &url) else { continue };
                let of = Origin::from_url(&url);
                if origin.as_ref().is_none_or(|(known, _)| *known != of) {
                    let now = self.origin(&of)?;
                    origin = Some((of, now));
                }
                let (_, now) = origin.as_ref().expect("it was just read");
                let standing = self.standing(&url, &record, now);
                each(place, ordinal, &url, &record, standing, now)?;
            }
        }
        Ok(())
    }

    fn origin(&self, origin: &Origin) -> Result<SurveyedOrigin, Failure> {
        let state =
            self.rules.tables.map(|tables| tables.load(origin)).transpose()?.flatten().unwrap_or_default();
        let of = match (&self.rules.forbidding, self.rules.tables) {
            (Some(forbidding), Some(tables)) => Some(forbidding.of_origin(tables, origin)?),
            _ => None,
        };
        let is_backing_off = state.back_off_until > self.now;
        // What robots.txt and the configuration ask for: latency passes.
        let asked = HostState { latency: 0, slow_down: 0, ..state };
        let HostDelay { delay, because, .. } = HostDelay::from_state(&asked, self.rules.fetch, self.now);
        Ok(SurveyedOrigin {
            of,
            is_paused: self.rules.decided.paused_hosts.contains_key(&*origin.host),
            is_backing_off,
            delay,
            is_crawl_delay: because == Some(DelayReason::CrawlDelay),
        })
    }

    fn standing(&self, url: &CanonicalUrl, record: &PageRecord, origin: &SurveyedOrigin) -> DeadlineStatus {
        let is_visited = record.visited.is_some();
        let is_forbidden = || {
            let gates = self.rules.forbidding.as_ref().zip(origin.of.as_ref());
            gates.is_some_and(|(forbidding, of)| !forbidding.gates(of, url, is_visited).is_empty())
        };
        match record.known.status {
            PageStatus::Gone => DeadlineStatus::Gone,
            PageStatus::Refused => DeadlineStatus::Refused,
            _ if origin.is_paused || is_forbidden() => DeadlineStatus::KeptOut,
            _ if origin.is_backing_off || !record.known.is_due(self.cycle) => DeadlineStatus::BackingOff,
            PageStatus::Live | PageStatus::AddressRefused if is_visited => DeadlineStatus::Visited,
            PageStatus::Live | PageStatus::AddressRefused => DeadlineStatus::NeverVisited,
        }
    }
}

type EachPage<'e> = dyn FnMut(usize, u64, &CanonicalUrl, &PageRecord, DeadlineStatus, &SurveyedOrigin) -> Result<(), Failure>
    + 'e;

/// The kept visits of pages that are asked for in URL order. Memory: a frame for each round.
struct VisitsOf(Vec<VisitCursor>);

struct VisitCursor {
    visits: StoredVisits,
    next: Option<StoredVisit>,
    has_begun: bool,
}

/// The gaps of a page, in seconds.
#[derive(Debug, PartialEq)]
struct PageGaps {
    /// Its last visit, in seconds since 1970; none if it is not kept.
    last: Option<u64>,
    /// The longest of those that ended in time, and the open one; none if it began before the kept visits.
    longest: Option<u64>,
}

impl VisitsOf {
    fn open(kept: &StoredRounds, first: Cycle) -> Result<VisitsOf, Failure> {
        let mut cursors = Vec::new();
        for round in kept.list()?.into_iter().filter(|round| round.cycle >= first) {
            // Absent if a commit removed the file just now.
            if let Some(visits) = kept.visits(round)? {
                cursors.push(VisitCursor { visits, next: None, has_begun: false });
            }
        }
        Ok(VisitsOf(cursors))
    }

    /// The gaps of the next page, of those that ended after `since`.
    fn gaps(&mut self, url: &CanonicalUrl, since: u64, now: u64) -> Result<PageGaps, Failure> {
        let mut times = Vec::new();
        for cursor in &mut self.0 {
            if !cursor.has_begun || cursor.next.as_ref().is_some_and(|next| next.url < *url) {
                cursor.next = cursor.visits.next_from(url.key())?;
                cursor.has_begun = true;
            }
            while let Some(visit) = cursor.next.take_if(|next| next.url == *url) {
                let is_visit = matches!(
                    visit.outcome,
                    Outcome::Fetched(_) | Outcome::NotModified | Outcome::Redirected(_)
                );
                if is_visit {
                    times.push((visit.at, visit.outcome.change() == Some(Change::First)));
                }
                cursor.next = cursor.visits.next_entry()?;
            }
        }
        Ok(gaps(times, since, now))
    }
}

/// The gaps between visits, each with whether it is the page's first.
fn gaps(mut times: Vec<(u64, bool)>, since: u64, now: u64) -> PageGaps {
    times.sort_unstable();
    let Some((last, _)) = times.last().copied() else { return PageGaps { last: None, longest: None } };
    let mut longest = Some(now.saturating_sub(last));
    if let Some((at, is_first)) = times.first()
        && *at >= since
        && !is_first
    {
        // The visit before it is no longer kept.
        longest = None;
    }
    let ended = times.windows(2).filter(|pair| pair[1].0 >= since).map(|pair| pair[1].0 - pair[0].0);
    let longest = longest.map(|open| ended.fold(open, u64::max));
    PageGaps { last: Some(last), longest }
}

/// Mixes hosts in the order of pages with equal deadlines (FNV-1a).
fn tie(key: &[u8]) -> u64 {
    key.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_those_that_ended_and_the_open_one() {
        let of = |times: &[(u64, bool)]| gaps(times.to_vec(), 1000, 2000);
        let told = |last, longest| PageGaps { last, longest };
        assert_eq!(of(&[]), told(None, None));
        assert_eq!(
            of(&[(100, true), (900, false)]),
            told(Some(900), Some(1100)),
            "an old gap was counted before"
        );
        assert_eq!(of(&[(100, true), (1900, false)]), told(Some(1900), Some(1800)));
        assert_eq!(of(&[(1900, true)]), told(Some(1900), Some(100)), "a first visit ends no gap");
        assert_eq!(of(&[(1900, false)]), told(Some(1900), None), "the visit before is not kept any more");
        assert_eq!(of(&[(1500, false), (800, true), (1600, false)]), told(Some(1600), Some(700)));
    }
}
