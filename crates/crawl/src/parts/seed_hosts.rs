//! Hosts of seeds of which no page can be fetched: a dead site is told, also when few pages were asked for.
//!
//! A host stands in the list from a round on in which all that was asked of it failed, until a round gets an answer,
//! be it a 404. What was not asked, or refused by robots.txt, changes nothing.
//!
//! The seeds of a listed host of which no page was ever fetched are requested again after a minute, then after twice as
//! long each time, at most a cycle. Without that, the first look at a site that was down for a moment costs a cycle. They
//! are also requested when the rules of the address guard change. Of a listed host that had pages, the first seed is
//! requested likewise until it is told.

use crate::admission::blocks::Blocks;
use crate::failure::Failure;
use crate::lesson::RoundLesson;
use crate::part::{InTables, Takedown};
use crate::stored::{keep, kept};
use recrawl_repository::{Generation, SledTables};
use recrawl_types::outcome::OutcomeEffect;
use recrawl_types::{CanonicalUrl, DatedRound, Known, Origin, PageRecord, Share, Visit, VisitRequest};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Hosts at most that are listed: more are told no better.
const MAX_LISTED: usize = 100;
/// Pages of a host, the first in URL order, among which its seed is looked for.
const LOOKED_AT: usize = 100;

/// Seeds of a host at most that are requested again together.
const RETRIED_TOGETHER: usize = 10;
/// Time from the failure of a seed to its first retry.
const FIRST_RETRY: Duration = Duration::from_secs(60);

/// Name of the setting in the tables.
const FAILING: &str = "failing_seed_hosts";
/// Name of the retries in the tables.
const RETRIES: &str = "seed_retries";

/// The next retry of a host's seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedRetry {
    /// Time of the next one, in milliseconds since 1970.
    pub at: u64,
    /// Those before.
    tries: u32,
    /// Digest of the rules of the address guard.
    #[serde(default)]
    rules: u64,
}

impl SeedRetry {
    /// After this one, or the first of a host under these rules; at most `longest` from now.
    fn after(before: Option<SeedRetry>, now: u64, longest: Duration, rules: u64) -> SeedRetry {
        let before = before.filter(|retry| retry.rules == rules);
        let tries = before.map_or(0, |retry| retry.tries.saturating_add(1));
        let wait = FIRST_RETRY.saturating_mul(1 << tries.min(20)).min(longest);
        SeedRetry { at: now.saturating_add(wait.as_millis() as u64), tries, rules }
    }
}

/// The next retries, by host.
///
/// # Errors
/// When the tables cannot be read.
pub fn retries(tables: &SledTables) -> Result<BTreeMap<String, SeedRetry>, Failure> {
    Ok(kept(tables, RETRIES)?.unwrap_or_default())
}

/// The seeds of failing hosts that are due, for a caller that requests them now. The retries after them are stored.
/// `rules` are those of the address guard.
///
/// # Errors
/// When a page or the tables cannot be read or written.
pub fn take_due(
    tables: &SledTables,
    generation: &Generation,
    now: u64,
    longest: Duration,
    rules: &str,
) -> Result<Vec<CanonicalUrl>, Failure> {
    let (hosts, before, rules) = (failing(tables)?, retries(tables)?, xxh3_64(rules.as_bytes()));
    let (mut due, mut next) = (Vec::new(), BTreeMap::new());
    for host in hosts {
        let retry = before.get(&host).copied();
        let is_due = retry.is_some_and(|retry| retry.at <= now || retry.rules != rules);
        if is_due && let Some(home) = home(&host) {
            due.extend(seeds_to_retry(generation, &home)?);
        }
        // If the clock was set back, the host waits no longer than usual.
        let keeps =
            retry.filter(|retry| !is_due && retry.at <= now.saturating_add(longest.as_millis() as u64));
        next.insert(host, keeps.unwrap_or_else(|| SeedRetry::after(retry, now, longest, rules)));
    }
    if next != before {
        keep(tables, RETRIES, &next)?;
    }
    Ok(due)
}

/// The first seeds of this page's host that failed, if no page of the host was ever fetched. Else the first seed, until its
/// third failure is told: of a host that is down each cycle tries another page, so no page would come to its third.
fn seeds_to_retry(generation: &Generation, of: &CanonicalUrl) -> Result<Vec<CanonicalUrl>, Failure> {
    let pages = first_pages(generation, of)?;
    if pages.iter().all(|(_, page)| page.visited.is_none()) {
        let failed = pages.into_iter().filter(|(_, page)| is_failed_seed(page)).map(|(url, _)| url);
        return Ok(failed.take(RETRIED_TOGETHER).collect());
    }
    let mut seeds = pages.into_iter().filter(|(_, page)| page.known.depth == 0 && page.visited.is_some());
    let is_untold =
        |page: &PageRecord| page.known.status.is_live() && page.known.failures < Known::MISSING_AFTER;
    Ok(seeds.next().filter(|(_, page)| is_untold(page)).map(|(url, _)| url).into_iter().collect())
}

/// Is this a seed that failed and was never fetched?
pub fn is_failed_seed(page: &PageRecord) -> bool {
    page.known.depth == 0 && page.known.failures > 0 && page.visited.is_none()
}

/// The first known pages of this page's host, in URL order.
fn first_pages(
    generation: &Generation,
    of: &CanonicalUrl,
) -> Result<Vec<(CanonicalUrl, PageRecord)>, Failure> {
    let origin = of.origin_key();
    let first = generation.first_ordinal(origin);
    let mut pages = generation.gather(first..generation.pages());
    let mut found = Vec::new();
    while found.len() < LOOKED_AT
        && let Some((_, url, record)) = pages.next_page()?
    {
        if url.key() < origin {
            continue;
        }
        if url.origin_key() != origin {
            break;
        }
        found.push((url, record));
    }
    Ok(found)
}

/// The hosts of seeds of which no page can be fetched.
///
/// # Errors
/// When the tables cannot be read.
pub fn failing(tables: &SledTables) -> Result<BTreeSet<String>, Failure> {
    Ok(kept(tables, FAILING)?.unwrap_or_default())
}

/// The same without hosts whose home page an operator has blocked: they fail by intent, and are not told.
///
/// # Errors
/// When the tables cannot be read.
pub fn failing_unblocked(tables: &SledTables, blocks: &Blocks) -> Result<BTreeSet<String>, Failure> {
    let mut hosts = failing(tables)?;
    hosts.retain(|host| home(host).is_none_or(|home| blocks.cover(&home).is_none()));
    Ok(hosts)
}

/// Adds those of another crawl, whose hosts are others.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn add_failing(tables: &SledTables, other: &SledTables) -> Result<(), Failure> {
    let (mut hosts, mut next) = (failing(tables)?, retries(tables)?);
    hosts.extend(failing(other)?);
    next.extend(retries(other)?);
    keep(tables, FAILING, &hosts)?;
    keep(tables, RETRIES, &next)
}

/// Removes the hosts that are meant as a whole.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn forget(down: &Takedown<'_>, removed: &mut InTables) -> Result<(), Failure> {
    let mut hosts = failing(down.tables)?;
    let before = hosts.len();
    hosts.retain(|host| !home(host).is_some_and(|home| down.meant.covers_host(&home.host())));
    removed.hosts += (before - hosts.len()) as u64;
    if hosts.len() < before && !down.only_count {
        keep(down.tables, FAILING, &hosts)?;
        let mut retries = retries(down.tables)?;
        retries.retain(|host, _| hosts.contains(host));
        keep(down.tables, RETRIES, &retries)?;
    }
    Ok(())
}

fn home(origin: &str) -> Option<CanonicalUrl> {
    recrawl_types::UrlRules::keep_all().canonicalize(origin).ok()
}

/// The answers of one host in a round.
struct HostAnswers {
    has_answered: bool,
    /// A page that failed.
    failed: Option<CanonicalUrl>,
}

/// The lesson of a round. Memory: an entry for each host that it asked.
pub struct SeedHostLesson<'r> {
    /// As the round began.
    generation: &'r Generation,
    asked: BTreeMap<Origin, HostAnswers>,
}

impl<'r> SeedHostLesson<'r> {
    /// An empty lesson of a round that begins with this generation.
    pub fn new(generation: &'r Generation) -> SeedHostLesson<'r> {
        SeedHostLesson { generation, asked: BTreeMap::new() }
    }

    /// Is a page of this host a seed? One that was asked for and is not known yet is one.
    fn is_of_seed(&self, failed: &CanonicalUrl) -> Result<bool, Failure> {
        if self.generation.get(failed)?.is_none() {
            return Ok(true);
        }
        Ok(first_pages(self.generation, failed)?.iter().any(|(_, page)| page.known.depth == 0))
    }
}

impl RoundLesson for SeedHostLesson<'_> {
    fn visited(&mut self, visit: &Visit) {
        let has_failed = match visit.outcome.effect() {
            OutcomeEffect::Failure => true,
            OutcomeEffect::Visit | OutcomeEffect::Absence => false,
            // It answered, with another media type.
            OutcomeEffect::Refusal if visit.outcome.request() == VisitRequest::Page => false,
            OutcomeEffect::Refusal | OutcomeEffect::Nothing => return,
        };
        let answers = HostAnswers { has_answered: false, failed: None };
        let answers = self.asked.entry(Origin::from_url(&visit.url)).or_insert(answers);
        answers.has_answered |= !has_failed;
        // What a redirect led to may be unknown, and is no seed.
        if has_failed && visit.share != Share::Followed {
            answers.failed.get_or_insert_with(|| visit.url.clone());
        }
    }

    /// The same after the same round, however often it is stored.
    fn store(&mut self, tables: &SledTables, _round: DatedRound) -> Result<(), Failure> {
        let before = failing(tables)?;
        let mut hosts = before.clone();
        for (origin, answers) in &self.asked {
            match &answers.failed {
                _ if answers.has_answered => _ = hosts.remove(&origin.to_string()),
                Some(failed) if hosts.len() < MAX_LISTED && self.is_of_seed(failed)? => {
                    hosts.insert(origin.to_string());
                }
                _ => {}
            }
        }
        if hosts == before { Ok(()) } else { keep(tables, FAILING, &hosts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Change, Content, Cycle, History, Outcome, PageRecord, Skip, UrlRules, Visited};
    use std::sync::Arc;

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::keep_all().canonicalize(text).unwrap()
    }

    #[test]
    fn the_seeds_of_a_host_that_never_answered_are_due_after_a_minute_then_later_each_time() {
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
        let failed = |depth| {
            let mut page = PageRecord::discovered(Cycle(1), depth);
            page.known.failures = 1;
            page
        };
        let visited = Some(Visited { history: History::first_fetch(Cycle(1)), content: Content::default() });
        let seen = |depth, failures| {
            let mut page = failed(depth);
            (page.known.failures, page.visited) = (failures, visited.clone());
            page
        };
        for (page, record) in [
            ("http://a.test/", failed(0)),
            ("http://a.test/x", failed(1)),
            ("http://a.test/y", PageRecord::discovered(Cycle(1), 0)),
            ("http://b.test/", seen(0, Known::MISSING_AFTER)),
            ("http://b.test/x", seen(0, 1)),
            ("http://c.test/", failed(0)),
            ("http://d.test/", seen(1, 1)),
            ("http://d.test/x", seen(0, 0)),
            ("http://d.test/y", seen(0, 1)),
        ] {
            writer.push(url(page).key(), &record).unwrap();
        }
        repository.commit(writer, b"report").unwrap();
        let (tables, generation) = (SledTables::temporary().unwrap(), repository.current());
        let (minute, longest) = (60_000, Duration::from_secs(5 * 60));
        let due_by = |rules, now| {
            let due = take_due(&tables, &generation, now, longest, rules).unwrap();
            due.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let due = |now| due_by("", now);
        keep(&tables, FAILING, &["http://a.test", "http://b.test"]).unwrap();
        let start = 1_000 * minute;
        let times: Vec<u64> = (0..30).filter(|at| due(start + at * minute) == ["http://a.test/"]).collect();
        assert_eq!(times, [1, 3, 7, 12, 17, 22, 27], "1, 2, 4 and then 5 minutes apart");
        assert!(due(start + 30 * minute).is_empty(), "a restart asks no earlier");
        // Of a host that had pages, the first seed until it is told.
        keep(&tables, FAILING, &["http://a.test", "http://b.test", "http://d.test"]).unwrap();
        assert!(due(start + 31 * minute).is_empty());
        assert_eq!(due(start + 32 * minute), ["http://a.test/", "http://d.test/x"]);
        // The clock is set back.
        keep(&tables, FAILING, &["http://a.test", "http://b.test"]).unwrap();
        assert!(due(minute).is_empty());
        assert_eq!(due(6 * minute), ["http://a.test/"]);
        // It answers, and fails again much later: from a minute on.
        keep(&tables, FAILING, &BTreeSet::<String>::new()).unwrap();
        assert!(due(7 * minute).is_empty() && retries(&tables).unwrap().is_empty());
        keep(&tables, FAILING, &["http://a.test"]).unwrap();
        assert!(due(8 * minute).is_empty());
        assert_eq!(due(9 * minute), ["http://a.test/"]);
        // Addresses are allowed: at once, then from a minute on.
        assert_eq!(due_by(" 10.0.0.0/8", 9 * minute + 1), ["http://a.test/"]);
        assert!(due_by(" 10.0.0.0/8", 10 * minute).is_empty());
        assert_eq!(due_by(" 10.0.0.0/8", 10 * minute + 1), ["http://a.test/"]);
    }

    #[test]
    fn a_seeds_host_is_listed_from_its_failure_to_its_next_answer() {
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
        for (page, depth) in [("http://a.test/", 0), ("http://a.test/x", 1), ("http://b.test/", 1)] {
            writer.push(url(page).key(), &PageRecord::discovered(Cycle(1), depth)).unwrap();
        }
        repository.commit(writer, b"report").unwrap();
        let (tables, generation) = (SledTables::temporary().unwrap(), repository.current());
        let timeout = Outcome::Failed(recrawl_types::Failure::Timeout);
        let after = |visits: &[(&str, Outcome)]| {
            let mut lesson = SeedHostLesson::new(&generation);
            visits.iter().for_each(|(page, outcome)| lesson.visited(&Visit::new(url(page), *outcome)));
            // A crash between two stores makes no difference.
            (0..2).for_each(|_| lesson.store(&tables, DatedRound::only_of(Cycle(2))).unwrap());
            failing(&tables).unwrap().into_iter().collect::<Vec<_>>()
        };
        let nothing: [&str; 0] = [];
        let found = Outcome::Fetched(Change::Unchanged);
        assert_eq!(
            after(&[("http://a.test/x", timeout), ("http://a.test/", found)]),
            nothing,
            "one page fails"
        );
        assert_eq!(after(&[("http://b.test/", timeout)]), nothing, "it is no seed's");
        assert_eq!(after(&[("http://a.test/x", timeout)]), ["http://a.test"]);
        assert_eq!(after(&[("http://new.test/", timeout)]), ["http://a.test", "http://new.test"]);
        let not_asked = [Outcome::Skipped(Skip::HostBackOff), Outcome::RobotsDenied];
        let not_asked = not_asked.map(|outcome| ("http://a.test/", outcome));
        assert_eq!(after(&not_asked), ["http://a.test", "http://new.test"], "as before");
        assert_eq!(after(&[("http://a.test/x", Outcome::NotFound(404))]), ["http://new.test"], "it answers");
    }
}
