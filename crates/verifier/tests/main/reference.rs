//! The rules of docs/outcomes.md again, over a sorted map: without blocks, runs, threads or memory
//! limits.

use crate::pages::Pages;
use recrawl_repository::{StoredVisit, VisitLesson};
use recrawl_types::{
    CanonicalUrl, Change, Cycle, Expectation, Failure, History, LogRecord, Outcome, OutcomeEffect,
    PageRecord, PageStatus, Skip, Visit, Visited,
};
use recrawl_verifier::{MergeReport, MergeRules};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Links {
    pub seen: u64,
    pub counted: u32,
    pub depth: u16,
    pub hops: u8,
    pub listed: bool,
    pub seeded: bool,
    pub lastmod: u32,
    pub since: Cycle,
    /// Highest odds, least tunnel and group, of those links that have them.
    pub expected: Option<(NonZeroU16, u8, u32)>,
}

/// Known pages and waiting links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    pub pages: Pages,
    pub waiting: BTreeMap<CanonicalUrl, Links>,
}

#[derive(Debug, Default, PartialEq)]
pub struct Merged {
    pub report: MergeReport,
    /// Compared visits of dated pages.
    pub watched: Vec<(CanonicalUrl, bool, bool)>,
    pub met: Vec<CanonicalUrl>,
    pub kept: Vec<StoredVisit>,
}

/// The links and visits of one URL.
#[derive(Default)]
struct Said<'l> {
    links: Option<Links>,
    visits: Vec<&'l Visit>,
}

impl Reference {
    /// Merges the next cycle. `blocks` are the first keys of all blocks; only the decision which
    /// links wait needs them.
    pub fn merge(&mut self, rules: &MergeRules<'_>, blocks: &[Vec<u8>], log: &[LogRecord]) -> Merged {
        let mut merged = Merged::default();
        let gone = self.pages.iter().filter(|(_, record)| record.known.status == PageStatus::Gone);
        let gone: BTreeSet<CanonicalUrl> = gone.map(|(url, _)| url.clone()).collect();
        let mut said: BTreeMap<CanonicalUrl, Said<'_>> = BTreeMap::new();
        for (url, links) in std::mem::take(&mut self.waiting) {
            said.entry(url).or_default().links = Some(links);
        }
        let mut main = BTreeSet::new();
        for record in log {
            let (links, seeded) = match record {
                LogRecord::Seeds(links) => (links, true),
                LogRecord::Visit(visit) => {
                    if visit.outcome.effect() != OutcomeEffect::Nothing {
                        main.insert(visit.url.origin_key());
                    }
                    said.entry(visit.url.clone()).or_default().visits.push(visit);
                    (&visit.links, false)
                }
                LogRecord::Skipped(_) => panic!("skipped pages come with a log"),
            };
            for link in links {
                let said = said.entry(link.url.clone()).or_default();
                let all = said.links.get_or_insert(Links {
                    seen: 0,
                    counted: 0,
                    depth: link.depth,
                    hops: link.hops,
                    listed: true,
                    seeded: false,
                    lastmod: 0,
                    since: rules.cycle,
                    expected: None,
                });
                all.seen += 1;
                all.counted += u32::from(link.counted);
                all.depth = all.depth.min(link.depth);
                all.hops = all.hops.min(link.hops);
                all.listed &= link.listed;
                all.seeded |= seeded;
                all.lastmod = all.lastmod.max(link.lastmod);
                if let Some(new) = link.expectation {
                    all.expected = Some(raised(all.expected, (new.code(), new.tunnel, new.group)));
                }
                if seeded {
                    main.insert(link.url.origin_key());
                }
            }
        }
        let block_of = |url: &CanonicalUrl| {
            let begun = blocks.partition_point(|first| first.as_slice() <= url.key());
            begun.saturating_sub(1)
        };
        let mut urls_of: BTreeMap<usize, Vec<CanonicalUrl>> = BTreeMap::new();
        for url in said.keys() {
            urls_of.entry(block_of(url)).or_default().push(url.clone());
        }
        for (&at, urls) in &urls_of {
            let has_its_turn = |first: &Vec<u8>| {
                let turn = u128::from(xxhash_rust::xxh3::xxh3_64(first)) + u128::from(rules.cycle.0);
                rules.waiting.has_turns
                    && rules.waiting.max_cycles > 0
                    && turn % (1 << 64) % u128::from(rules.waiting.max_cycles) == 0
            };
            let may_wait = |url: &CanonicalUrl| {
                let Said { links, visits } = &said[url];
                let is_young =
                    |links: &Links| rules.cycle.0 < links.since.0.saturating_add(rules.waiting.max_cycles);
                visits.is_empty() && links.as_ref().is_some_and(is_young) && !main.contains(url.origin_key())
            };
            let waits = blocks.get(at).is_some_and(|first| !has_its_turn(first))
                && urls.len() < rules.waiting.enough
                && urls.iter().all(may_wait);
            for url in urls {
                if waits {
                    self.waiting.insert(url.clone(), said[url].links.expect("only links wait"));
                } else {
                    self.page(rules, url, &said[url], &gone, &mut merged);
                }
            }
        }
        merged.report.links_waiting = self.waiting.len() as u64;
        for record in self.pages.values() {
            merged.report.pages += 1;
            merged.report.visited += u64::from(record.visited.is_some());
            let is_live = record.known.status == PageStatus::Live;
            merged.report.never_tried += u64::from(is_live && record.known.last_attempt == Cycle(0));
            merged.report.gone_total += u64::from(record.known.status == PageStatus::Gone);
        }
        merged
    }

    /// `gone` are the pages that were gone before the cycle.
    fn page(
        &mut self,
        rules: &MergeRules<'_>,
        url: &CanonicalUrl,
        said: &Said<'_>,
        gone: &BTreeSet<CanonicalUrl>,
        merged: &mut Merged,
    ) {
        let report = &mut merged.report;
        let before = self.pages.get(url).cloned();
        let too_far = said.links.is_some_and(|links| links.hops > rules.max_hops);
        report.links_seen += said.links.map_or(0, |links| links.seen);
        let mut record = if let Some(mut record) = before.clone() {
            if too_far {
                report.links_over_hops += 1;
            } else if let Some(links) = &said.links {
                report.links_known += 1;
                let known = &mut record.known;
                known.depth = known.depth.min(links.depth);
                known.hops = known.hops.min(links.hops);
                known.in_links += links.counted;
                if let Some(new) = links.expected.filter(|_| record.visited.is_none()) {
                    let old = known.expectation.map(|old| (old.code(), old.tunnel, old.group));
                    known.expectation = Some(expectation(raised(old, new)));
                }
                if links.seeded && known.status != PageStatus::Live {
                    report.revived += u64::from(known.status == PageStatus::Gone);
                    (known.status, known.failures) = (PageStatus::Live, 0);
                }
            }
            record
        } else {
            if too_far && said.visits.is_empty() {
                report.links_over_hops += 1;
                return;
            }
            let neighbours = self.pages.keys().filter(|other| other.same_origin(url)).count() as u64;
            let tombstones = gone.iter().filter(|other| other.same_origin(url)).count() as u64;
            let is_nested = said.links.is_some_and(|links| links.hops > 0 || links.listed);
            let is_full = neighbours - tombstones >= rules.max_pages_per_host
                || neighbours >= 4 * rules.max_pages_per_host
                || is_nested && 2 * neighbours >= rules.max_pages_per_host;
            let is_seeded = said.links.is_some_and(|links| links.seeded);
            if said.visits.is_empty() && !is_seeded && is_full {
                report.links_over_host_cap += 1;
                return;
            }
            report.links_new += 1;
            report.visits_of_unknown += u64::from(!said.visits.is_empty());
            let mut record = PageRecord::discovered(rules.cycle, 0);
            if let Some(links) = &said.links {
                record = PageRecord::discovered(links.since, links.depth);
                record.known.hops = links.hops;
                record.known.in_links = links.counted;
                record.known.expectation = links.expected.map(expectation);
            }
            record
        };
        let date = said.links.map_or(0, |links| links.lastmod);
        for visit in &said.visits {
            let was_dated = record.known.lastmod > 0;
            if u64::from(date) <= visit.at / 1000 {
                claim(&mut record, date);
            }
            let is_announced = record.known.is_announced;
            let absences = record.known.not_found;
            let is_first = record.visited.is_none();
            let (tries, is_awaited) = (record.known.failures, !is_first || record.known.depth == 0);
            let outcome = enter(&mut record, visit, rules.cycle, &mut merged.report);
            if outcome.is_visit() {
                record.known.is_announced = false;
                let change = outcome.change().expect("it was compared");
                if was_dated && !is_first {
                    merged.watched.push((url.clone(), is_announced, change == Change::Changed));
                }
                if is_first && matches!(outcome, Outcome::Fetched(_)) {
                    merged.met.push(url.clone());
                }
            }
            let (at, share, learned) = (visit.at / 1000, visit.share, VisitLesson::from_visit(visit));
            let confirmed = match outcome {
                Outcome::NotFound(_) => record.known.not_found + u8::from(absences > 2),
                _ if outcome.change().is_some() => absences,
                _ => 0,
            };
            let missed = match outcome {
                _ if !is_awaited => 0,
                Outcome::NotFound(_) | Outcome::Failed(_) | Outcome::RefusedAddress(_)
                    if record.known.failures == 3 && tries == 2 =>
                {
                    3
                }
                _ if outcome.is_visit() && tries >= 3 => tries,
                _ => 0,
            };
            merged.kept.push(StoredVisit {
                url: url.clone(),
                at,
                share,
                outcome,
                confirmed,
                missed,
                learned,
            });
        }
        claim(&mut record, date);
        let is_updated = before.is_some_and(|before| before != record);
        merged.report.pages_updated += u64::from(is_updated);
        self.pages.insert(url.clone(), record);
    }
}

type Expected = (NonZeroU16, u8, u32);

fn raised(old: Option<Expected>, new: Expected) -> Expected {
    old.map_or(new, |old| (old.0.max(new.0), old.1.min(new.1), old.2.min(new.2)))
}

fn expectation((code, tunnel, group): Expected) -> Expectation {
    Expectation::of_code(code, tunnel, group)
}

fn claim(record: &mut PageRecord, date: u32) {
    let known = &mut record.known;
    let moved = known.lastmod > 0 && date > known.lastmod && record.visited.is_some();
    known.is_announced = known.is_announced || moved;
    known.lastmod = known.lastmod.max(date);
}

fn forget_doubts(record: &mut PageRecord, report: &mut MergeReport) {
    report.revived += u64::from(record.known.status == PageStatus::Gone);
    record.known.status = PageStatus::Live;
    record.known.failures = 0;
    record.known.not_found = 0;
    record.known.not_found_cycle = Cycle(0);
    record.known.not_found_at = 0;
}

/// Applies a visit and returns its outcome, decided.
fn enter(record: &mut PageRecord, visit: &Visit, cycle: Cycle, report: &mut MergeReport) -> Outcome {
    let outcome = visit.outcome;
    if matches!(outcome, Outcome::Skipped(Skip::Deadline | Skip::HostBackOff | Skip::ByteBudget)) {
        return outcome;
    }
    let is_another_try = record.known.failures > 0 && record.known.last_attempt == cycle;
    record.known.last_attempt = cycle;
    let old = record.visited.clone();
    let new = visit.content.clone();
    let is_visit = match outcome {
        Outcome::NotModified => old.is_some(),
        outcome => outcome.is_visit() && new.is_some(),
    };
    if !is_visit {
        // The other skips are refusals by a rule, as by robots.txt.
        let is_refused = matches!(outcome, Outcome::RobotsDenied | Outcome::Skipped(_));
        let is_try = !is_refused || outcome == Outcome::Skipped(Skip::MediaType);
        if is_try && (old.is_some() || !is_another_try) {
            record.known.failures = record.known.failures.saturating_add(1);
        }
        if record.known.status != PageStatus::Gone {
            record.known.status = match outcome {
                Outcome::RefusedAddress(_) => PageStatus::AddressRefused,
                _ if is_refused => PageStatus::Refused,
                _ => PageStatus::Live,
            };
        }
        if let Outcome::NotFound(_) = outcome {
            confirm_absence(record, visit.at, cycle, report);
        }
        return if outcome.is_visit() { Outcome::Failed(Failure::Protocol) } else { outcome };
    }
    forget_doubts(record, report);
    let (history, change) = match (&old, outcome.change().expect("it is a visit")) {
        (None, change) => {
            report.decided_first += u64::from(change == Change::Undecided);
            (History::first_fetch(cycle), Change::First)
        }
        (Some(old), change) => {
            let differs = new.as_ref().is_some_and(|new| new.fingerprint != old.content.fingerprint);
            let is_change = match change {
                Change::Changed => true,
                Change::Unchanged => false,
                Change::First | Change::Undecided => {
                    *(if differs { &mut report.decided_changed } else { &mut report.decided_unchanged }) += 1;
                    differs
                }
            };
            let mut history = old.history;
            history.record(cycle, is_change);
            (history, if is_change { Change::Changed } else { Change::Unchanged })
        }
    };
    let content = new.unwrap_or_else(|| old.expect("a 304 is of a page that was seen").content);
    record.visited = Some(Visited { history, content });
    match outcome {
        Outcome::Fetched(_) if visit.verdict.is_some() => record.known.verdict = visit.verdict,
        Outcome::Redirected(_) => record.known.verdict = None,
        _ => {}
    }
    match outcome {
        Outcome::Fetched(_) => Outcome::Fetched(change),
        Outcome::Redirected(_) => Outcome::Redirected(change),
        other => other,
    }
}

fn confirm_absence(record: &mut PageRecord, at: u64, cycle: Cycle, report: &mut MergeReport) {
    let known = &mut record.known;
    let seconds = (at / 1000) as u32;
    let is_long_after = seconds >= known.not_found_at.saturating_add(7 * 86_400)
        && cycle.0 >= known.not_found_cycle.0.saturating_add(3);
    if known.status == PageStatus::Live && (known.not_found == 0 || is_long_after) {
        known.not_found = if known.not_found < 4 { known.not_found + 1 } else { 4 };
        known.not_found_at = seconds;
        known.not_found_cycle = cycle;
        if known.not_found >= 3 {
            known.status = PageStatus::Gone;
            report.newly_gone += 1;
        }
    }
}
