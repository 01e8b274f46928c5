//! Number, age and unseen changes of stale pages, updated at each change and visit.

use super::WantedFigures;
use super::pages::RowMembers;
use super::states::Move;
use crate::replay::harmonic;
use crate::{CycleFigures, ImportanceFigures, Since, Truth};
use std::sync::OnceLock;

/// The changes of each page, if they do not fit in one machine word.
#[derive(Debug, Default)]
pub(super) struct ChangeLists(OnceLock<(Vec<u64>, Vec<u32>)>);

impl ChangeLists {
    /// The cycles in which a page changed, after `seen` and up to `now`.
    fn between(&self, truth: &Truth, page: usize, seen: u32, now: u32) -> &[u32] {
        let (starts, cycles) = self.0.get_or_init(|| {
            let mut starts = vec![0u64];
            starts.extend(truth.changes().iter().map(|&n| u64::from(n)));
            (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
            let mut ends = starts.clone();
            let mut cycles = vec![0; *starts.last().expect("there is a first") as usize];
            for cycle in 1..=truth.cycles() {
                for &page in truth.changed_in(cycle) {
                    cycles[ends[page as usize] as usize] = cycle;
                    ends[page as usize] += 1;
                }
            }
            (starts, cycles)
        });
        let list = &cycles[starts[page] as usize..starts[page + 1] as usize];
        let list = &list[list.partition_point(|&cycle| cycle <= seen)..];
        &list[..list.partition_point(|&cycle| cycle <= now)]
    }
}

/// A stale page.
struct Stale {
    /// Cycle of the first unseen change.
    first: u32,
    /// Number of unseen changes.
    missed: u32,
}

/// Sums over the stale pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Staleness {
    wants: WantedFigures,
    /// The cycle of the last visit of each page, if any of them is wanted.
    seen: Vec<u32>,
    stale: u64,
    /// Σ of the cycles of the first unseen changes.
    first: u64,
    /// Number of stale pages by their number of unseen changes.
    missed: Vec<u64>,
    /// Importance of all pages, of the stale ones, and of those whose change was found in this cycle, in thousandths.
    importance: ImportanceFigures,
}

impl Staleness {
    /// Counts all pages as of cycle `now`, after its visits.
    pub fn count(
        &mut self,
        wants: WantedFigures,
        truth: &Truth,
        lists: &ChangeLists,
        importance: &[u32],
        pages: &RowMembers,
        now: u32,
    ) {
        self.wants = wants;
        let all = if wants.importance { importance } else { &[] };
        let all = all.iter().map(|&of| u64::from(of)).sum();
        self.importance = ImportanceFigures { pages: all, ..ImportanceFigures::default() };
        (self.stale, self.first) = (0, 0);
        self.missed.clear();
        self.missed.resize(truth.cycles() as usize + 1, 0);
        if wants.staleness() {
            self.seen.resize(importance.len(), 0);
            for (page, seen) in pages.seen() {
                self.seen[page as usize] = seen;
                self.add(self.look(truth, lists, page as usize, seen, now), importance[page as usize]);
            }
        }
    }

    /// Applies the changes of a cycle.
    pub fn change(&mut self, truth: &Truth, lists: &ChangeLists, importance: &[u32], cycle: u32) {
        if !self.wants.staleness() {
            return;
        }
        for &page in truth.changed_in(cycle) {
            let page = page as usize;
            let seen = self.seen[page];
            self.remove(self.look(truth, lists, page, seen, cycle - 1), importance[page]);
            self.add(self.look(truth, lists, page, seen, cycle), importance[page]);
        }
    }

    /// Number of pages that differ from their last visit.
    pub fn stale(&self) -> u64 {
        self.stale
    }

    /// Applies the visits of the chosen pages.
    pub fn visit(
        &mut self,
        truth: &Truth,
        lists: &ChangeLists,
        importance: &[u32],
        pages: &RowMembers,
        moves: &[Move],
        cycle: u32,
    ) {
        self.importance.changed = 0;
        if !self.wants.staleness() {
            return;
        }
        if !self.wants.age && !self.wants.harmonic && !self.wants.importance {
            self.stale -= moves.iter().map(|m| u64::from(m.changed)).sum::<u64>();
            pages.chosen().iter().for_each(|&page| self.seen[page as usize] = cycle);
            return;
        }
        let mut chosen = pages.chosen();
        for m in moves {
            let (here, rest) = chosen.split_at(m.visited as usize);
            chosen = rest;
            for &page in &here[..m.changed as usize] {
                let page = page as usize;
                self.remove(self.look(truth, lists, page, self.seen[page], cycle), importance[page]);
                self.importance.changed += u64::from(importance[page]);
            }
        }
        pages.chosen().iter().for_each(|&page| self.seen[page as usize] = cycle);
    }

    /// Sets the requested figures of the state after the visits of a cycle.
    pub fn report(&self, figures: &mut CycleFigures) {
        if self.wants.staleness() {
            figures.stale = self.stale;
        }
        if self.wants.age {
            figures.age = u64::from(figures.cycle) * self.stale - self.first;
        }
        if self.wants.harmonic {
            figures.harmonic = harmonic(&self.missed);
        }
        if self.wants.importance {
            figures.importance = self.importance;
        }
    }

    fn look(&self, truth: &Truth, lists: &ChangeLists, page: usize, seen: u32, now: u32) -> Option<Stale> {
        match truth.since(seen, now) {
            Since::Words { words, mask } => {
                let unseen = words[page] & mask;
                let stale = || Stale { first: unseen.trailing_zeros(), missed: unseen.count_ones() };
                (unseen != 0).then(stale)
            }
            Since::Versions { seen: before, now: after } if before[page] != after[page] => {
                if !self.wants.age && !self.wants.harmonic {
                    return Some(Stale { first: 0, missed: 0 });
                }
                let changes = lists.between(truth, page, seen, now);
                Some(Stale { first: changes[0], missed: changes.len() as u32 })
            }
            Since::Versions { .. } => None,
        }
    }

    fn add(&mut self, stale: Option<Stale>, importance: u32) {
        if let Some(Stale { first, missed }) = stale {
            self.stale += 1;
            self.importance.stale += u64::from(importance);
            self.first += u64::from(first);
            self.missed[missed as usize] += 1;
        }
    }

    fn remove(&mut self, stale: Option<Stale>, importance: u32) {
        if let Some(Stale { first, missed }) = stale {
            self.stale -= 1;
            self.importance.stale -= u64::from(importance);
            self.first -= u64::from(first);
            self.missed[missed as usize] -= 1;
        }
    }
}
