//! The histories of a sample of pages, from their records and the kept visits: what learning, back-tests and forecasts
//! start from.

use crate::places::Places;
use recrawl_estimation::{Gaps, Visited};
use recrawl_repository::{Generation, ReadError, StoredRounds, StoredVisit};
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, History, Importance, PageRecord, Share};
use std::collections::{BTreeMap, BinaryHeap};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What was seen of a sample of pages in the cycles whose visits are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histories {
    /// The first cycle whose visits are known, and the last.
    pub first: Cycle,
    /// The last one.
    pub last: Cycle,
    /// Pages from which the sample was drawn: live, and visited before `first`.
    pub population: u64,
    /// The sample in the order of URLs.
    pub pages: Vec<SeenPage>,
    /// Pages of the sample whose records do not agree with the kept visits, and which are left out.
    pub left_out: u64,
    /// Pages whose last visit before `first` is not known, and was taken for usual.
    pub censored: u64,
    /// Visits of the panel: of each page, whether it had changed, cycle by cycle without a gap.
    pub panel: Vec<Vec<bool>>,
    /// Mean bytes of a body; none if no visit says.
    pub bytes_a_visit: Option<f64>,
    /// Why older visits are not used.
    pub ends_at: Option<String>,
}

/// A page of the sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenPage {
    /// The page.
    pub url: CanonicalUrl,
    /// What was known of it before `first`. Its counters and its last visit are exact; where it was visited since, the
    /// changes before are taken for evenly spread.
    pub before: History,
    /// Visits since, by ascending cycles, each with whether it had changed.
    pub visits: Vec<(Cycle, bool)>,
    /// As how many ordinary pages it counts.
    pub importance: Importance,
}

impl SeenPage {
    /// Its visits as the laws of changes see them. Of those before the kept ones only sums are known; their gaps are taken
    /// for equal.
    pub fn visited(&self) -> Visited {
        let History { visits, changes, changed_cycles, first, last, .. } = self.before;
        let unchanged = visits.saturating_sub(changes);
        let mean = |cycles: u32, count: u32, changed| {
            let cycles = (f64::from(cycles) / f64::from(count)).round().max(1.0) as u32;
            (count > 0).then_some(Gaps { cycles, changed, count })
        };
        let unchanged_cycles = last.since(first).saturating_sub(changed_cycles);
        let earlier = [mean(changed_cycles, changes, true), mean(unchanged_cycles, unchanged, false)];
        let mut last = last;
        let gaps = self
            .visits
            .iter()
            .map(|&(cycle, changed)| (cycle.since(std::mem::replace(&mut last, cycle)).max(1), changed));
        Visited { earlier: earlier.into_iter().flatten().collect(), gaps: gaps.collect() }
    }
}

/// What to read.
#[derive(Clone, Copy, Debug)]
pub struct SampleRequest {
    /// Pages of the sample at most.
    pub pages: usize,
    /// Cycles at most, the last ones.
    pub cycles: u32,
    /// Visits of a page below which it is in its warm-up and not in the sample.
    pub warmup: u32,
    /// The seed of the draw.
    pub seed: u64,
}

impl Histories {
    /// Reads them. Visits older than a damaged or missing round are not used.
    ///
    /// # Errors
    /// When the generation cannot be read.
    pub fn read(
        generation: &Generation,
        kept: &StoredRounds,
        request: SampleRequest,
    ) -> Result<Histories, ReadError> {
        let rounds = kept.list()?;
        let Some(last) = rounds.last().map(|round| round.cycle) else {
            return Ok(Histories { ends_at: Some("no visits are kept".into()), ..Histories::default() });
        };
        let earliest = Cycle(last.0.saturating_sub(request.cycles - 1)).max(rounds[0].cycle);
        let Drawn { sample, visited_first } = Drawn::draw(generation, &request)?;
        let first = earliest.max(Cycle(settled(&visited_first).0 + request.warmup + 1)).min(last);
        let population = visited_first.range(..first).map(|(_, pages)| pages).sum();
        let mut seen = SeenVisits::new(&sample);
        let (first, ends_at) = seen.read(kept, &rounds, first, &sample);
        let mut histories = Histories {
            first,
            last,
            population,
            bytes_a_visit: (seen.bodies > 0).then(|| seen.bytes as f64 / seen.bodies as f64),
            panel: seen.panel.into_values().filter_map(without_gaps).collect(),
            ends_at,
            ..Histories::default()
        };
        for ((url, record), visits) in sample.into_iter().zip(seen.visits) {
            histories.add(url, &record, visits, request.warmup);
        }
        Ok(histories)
    }

    /// Gives each page an importance.
    pub fn weigh(&mut self, importance: impl Fn(&CanonicalUrl) -> Importance) {
        self.pages.iter_mut().for_each(|page| page.importance = importance(&page.url));
    }

    fn add(&mut self, url: CanonicalUrl, record: &PageRecord, mut visits: Vec<Seeing>, warmup: u32) {
        let Some(history) = record.visited.as_ref().map(|visited| visited.history) else { return };
        visits.retain(|visit| visit.cycle >= self.first);
        // Rounds are read from the last one back.
        visits.reverse();
        visits.dedup_by(|later, earlier| {
            let is_again = later.cycle == earlier.cycle;
            earlier.changed |= is_again && later.changed;
            is_again
        });
        if history.first >= self.first {
            return;
        }
        let Some(before) = before(&history, &visits, self.first, &mut self.censored) else {
            self.left_out += 1;
            return;
        };
        if before.visits >= warmup {
            let visits = visits.iter().map(|visit| (visit.cycle, visit.changed)).collect();
            self.pages.push(SeenPage { url, before, visits, importance: Importance::ONE });
        }
    }

    /// Divides the sample by site, or by folder where there are few sites: pages to learn from, and pages to test on.
    pub fn halves(&self, seed: u64) -> (Histories, Histories) {
        let places = Places::from_pages(&self.pages);
        let is_tested = |group: &String| xxh3_64_with_seed(group.as_bytes(), seed).is_multiple_of(2);
        let are_tested: Vec<bool> = places.groups.iter().map(is_tested).collect();
        let (mut to_learn, mut to_test) = (Vec::new(), Vec::new());
        for (page, (_, group)) in self.pages.iter().zip(&places.of_pages) {
            if are_tested[*group as usize] { &mut to_test } else { &mut to_learn }.push(page.clone());
        }
        let bare = Histories { pages: Vec::new(), ..self.clone() };
        (Histories { pages: to_learn, ..bare.clone() }, Histories { pages: to_test, ..bare })
    }

    /// Visits of a page of the sample in a cycle, on average.
    pub fn visits_a_page(&self) -> f64 {
        let visits: usize = self.pages.iter().map(|page| page.visits.len()).sum();
        let cycles = f64::from(self.last.since(self.first) + 1);
        visits as f64 / (cycles * self.pages.len().max(1) as f64)
    }
}

/// A visit that could compare.
#[derive(Clone, Copy, Debug)]
struct Seeing {
    cycle: Cycle,
    changed: bool,
    /// t, if the plan wrote it down.
    age: Option<u32>,
}

/// A uniform sample of the live pages that were ever visited.
struct Drawn {
    /// The pages with the lowest hashes: so the sample stays the same while pages come and go.
    sample: Vec<(CanonicalUrl, PageRecord)>,
    /// All such pages by the cycle of their first visit.
    visited_first: BTreeMap<Cycle, u64>,
}

impl Drawn {
    fn draw(generation: &Generation, request: &SampleRequest) -> Result<Drawn, ReadError> {
        let (mut visited_first, mut lowest) = (BTreeMap::new(), BinaryHeap::new());
        generation.scan(true, |begin, columns| -> Result<(), ReadError> {
            for row in 0..columns.len() {
                if !columns.visited[row] || !columns.known[row].status.is_live() {
                    continue;
                }
                *visited_first.entry(Cycle(columns.first[row])).or_insert(0) += 1;
                let hash = xxh3_64_with_seed(columns.keys.get(row), request.seed);
                if lowest.len() < request.pages {
                    lowest.push((hash, begin + row as u64));
                } else if lowest.peek().is_some_and(|highest: &(u64, u64)| hash < highest.0) {
                    lowest.pop();
                    lowest.push((hash, begin + row as u64));
                }
            }
            Ok(())
        })?;
        let mut ordinals: Vec<u64> = lowest.into_iter().map(|(_, ordinal)| ordinal).collect();
        ordinals.sort_unstable();
        let mut pages = generation.gather(ordinals.into_iter());
        let mut sample = Vec::new();
        while let Some((_, url, record)) = pages.next_page()? {
            sample.push((url, record));
        }
        Ok(Drawn { sample, visited_first })
    }
}

/// The cycle up to which nine in ten pages were visited first: a younger crawl has no histories to go on from.
fn settled(visited_first: &BTreeMap<Cycle, u64>) -> Cycle {
    let all: u64 = visited_first.values().sum();
    let mut sum = 0;
    let found = visited_first.iter().find(|(_, pages)| {
        sum += *pages;
        sum * 10 >= all * 9
    });
    found.map_or(Cycle(0), |(cycle, _)| *cycle)
}

/// What the kept visits say of the sample and the panel.
struct SeenVisits {
    visits: Vec<Vec<Seeing>>,
    panel: BTreeMap<CanonicalUrl, Vec<(Cycle, bool)>>,
    bytes: u64,
    bodies: u64,
}

impl SeenVisits {
    fn new(sample: &[(CanonicalUrl, PageRecord)]) -> SeenVisits {
        SeenVisits { visits: vec![Vec::new(); sample.len()], panel: BTreeMap::new(), bytes: 0, bodies: 0 }
    }

    /// Reads the rounds from the last one back. Returns the first cycle of which all visits are known, and why it is not
    /// `first`.
    fn read(
        &mut self,
        kept: &StoredRounds,
        rounds: &[DatedRound],
        first: Cycle,
        sample: &[(CanonicalUrl, PageRecord)],
    ) -> (Cycle, Option<String>) {
        let after = |cycle: Cycle, why: String| (cycle.next(), Some(why));
        let mut newer: Option<DatedRound> = None;
        for &round in rounds.iter().rev().take_while(|round| round.cycle >= first) {
            if let Some(newer) = newer.filter(|newer| newer.round.0 != round.round.0 + 1) {
                return after(newer.cycle, format!("the visits before round {} are missing", newer.round));
            }
            newer = Some(round);
            if let Err(error) = self.read_round(kept, round, sample) {
                return after(round.cycle, error);
            }
        }
        (first, None)
    }

    fn read_round(
        &mut self,
        kept: &StoredRounds,
        round: DatedRound,
        sample: &[(CanonicalUrl, PageRecord)],
    ) -> Result<(), String> {
        let visits = kept.visits(round).map_err(|error| error.to_string())?;
        let mut visits = visits.ok_or_else(|| format!("the visits of round {} are missing", round.round))?;
        let mut place = 0;
        while let Some(visit) = visits.next_entry().map_err(|error| error.to_string())? {
            let Some(changed) = visit.outcome.has_changed() else { continue };
            while sample.get(place).is_some_and(|(url, _)| *url < visit.url) {
                place += 1;
            }
            self.add(round.cycle, changed, &visit);
            if sample.get(place).is_some_and(|(url, _)| *url == visit.url) {
                let age = visit.learned.map(|learned| learned.standing.age);
                self.visits[place].push(Seeing { cycle: round.cycle, changed, age });
            }
        }
        Ok(())
    }

    fn add(&mut self, cycle: Cycle, changed: bool, visit: &StoredVisit) {
        if let Some(learned) = visit.learned {
            self.bytes += learned.bytes;
            self.bodies += 1;
        }
        if visit.share == Share::Panel {
            self.panel.entry(visit.url.clone()).or_default().push((cycle, changed));
        }
    }
}

/// The longest run of cycles without a gap; none below two.
fn without_gaps(mut visits: Vec<(Cycle, bool)>) -> Option<Vec<bool>> {
    visits.sort_unstable();
    let runs = visits.chunk_by(|(one, _), (next, _)| next.since(*one) == 1);
    let longest = runs.max_by_key(|run| run.len()).filter(|run| run.len() > 1)?;
    Some(longest.iter().map(|(_, changed)| *changed).collect())
}

/// The history before the kept visits; none if it does not agree with them.
fn before(history: &History, visits: &[Seeing], since: Cycle, censored: &mut u64) -> Option<History> {
    let Some(earliest) = visits.first() else { return (history.last < since).then_some(*history) };
    let changes = visits.iter().filter(|visit| visit.changed).count() as u32;
    let n = history.visits.checked_sub(visits.len() as u32)?;
    let x = history.changes.checked_sub(changes).filter(|x| *x <= n)?;
    let last = match earliest.age {
        Some(age) => Cycle(earliest.cycle.0.checked_sub(age)?),
        None if n == 0 => history.first,
        None => {
            *censored += 1;
            let gap = history.last.since(history.first) / history.visits.max(1);
            let usual = Cycle(earliest.cycle.0.saturating_sub(gap.max(1))).min(Cycle(since.0 - 1));
            // Each of the n visits was in a cycle of its own.
            usual.max(Cycle(history.first.0.saturating_add(n)))
        }
    };
    if last >= since || last < history.first || (n > 0) != (last > history.first) {
        return None;
    }
    let mut changed_cycles = history.changed_cycles;
    let mut seen = last;
    for visit in visits {
        let gap = visit.cycle.since(std::mem::replace(&mut seen, visit.cycle));
        changed_cycles = changed_cycles.saturating_sub(if visit.changed { gap } else { 0 });
    }
    let mut before = evenly(history.first, last, n, x);
    before.changed_cycles =
        if x == 0 { 0 } else { changed_cycles.clamp(x, last.since(history.first).max(x)) };
    Some(before)
}

/// A history of n visits from `first` to `last`, of which x, evenly spread, met a change.
fn evenly(first: Cycle, last: Cycle, n: u32, x: u32) -> History {
    let mut history = History::first_fetch(first);
    let (n, x, cycles) = (u64::from(n), u64::from(x), u64::from(last.since(first)));
    // Changes up to a visit, the last one in the middle of its part.
    let changes = |visit: u64| (2 * visit * x + n) / (2 * n);
    for visit in 1..=n {
        let cycle = Cycle(first.0 + (visit * cycles / n) as u32);
        history.record(cycle, changes(visit) > changes(visit - 1));
    }
    history
}

#[cfg(test)]
mod tests;
