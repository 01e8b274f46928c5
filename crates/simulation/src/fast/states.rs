//! The distinct states of pages, one row each, and how visits move pages between them.

use super::memo::Mixer;
use recrawl_formula::{Priors, RateEvidence};
use recrawl_types::{Cycle, History, Known, Reads, StateColumns};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// Pages of one state that were visited in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    /// Their row before the visit.
    pub source: u32,
    pub visited: u32,
    /// Number of these that had changed.
    pub changed: u32,
    /// The rows after the visit: of changed pages, and of the others; [`NOWHERE`] if there are
    /// none.
    pub to: [u32; 2],
}

/// No row.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Move {
    /// The two parts of the move: number of pages, whether they had changed, and their row after
    /// the visit.
    pub fn parts(&self) -> [(u32, bool, u32); 2] {
        [(self.changed, true, self.to[0]), (self.visited - self.changed, false, self.to[1])]
    }
}

/// All states of pages, with the number of pages in each.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    /// The fields that distinguish states, including those they imply.
    reads: Reads,
    /// One row per state; rows without pages remain until they are reused. Only the columns that
    /// distinguish states are filled: no score reads the others.
    pub columns: StateColumns,
    /// The same rows as complete histories.
    histories: Vec<History>,
    /// Number of pages of each row.
    pub counts: Vec<u32>,
    /// The site of each row, if sites distinguish states; else 0.
    sites: Vec<u32>,
    /// Rows without pages.
    free: Vec<u32>,
    /// Evidence of all pages.
    shown: RateEvidence,
    /// Evidence of each site; empty if sites do not distinguish states.
    shown_by_site: Vec<RateEvidence>,
    /// The rows whose pages were visited in this cycle, by a hash of their state. Pages of other rows cannot be in the same
    /// state, since their last visit was in another cycle.
    arrivals: HashMap<u64, u32, BuildHasherDefault<Mixer>>,
}

impl States {
    /// All pages right after their first fetch in cycle 0: one row per site with pages, in site
    /// order, if sites distinguish states; else one row.
    pub fn first_fetch(reads: Reads, pages_of_site: &[u32]) -> States {
        let by_site = reads.contains(Reads::SITE_RATE);
        let mut states = States { reads: reads.closed(), ..States::default() };
        let history = states.reads.project(&History::first_fetch(Cycle(0)));
        if by_site {
            states.shown_by_site = vec![RateEvidence::default(); pages_of_site.len()];
            for (site, &pages) in pages_of_site.iter().enumerate().filter(|(_, pages)| **pages > 0) {
                let row = states.add(&history, site as u32);
                states.counts[row as usize] = pages;
            }
        } else {
            states.add(&history, 0);
            states.counts[0] = pages_of_site.iter().sum();
        }
        states
    }

    /// Pages with these histories at these sites, and the row of each.
    pub fn begun<'h>(
        reads: Reads,
        histories: impl Iterator<Item = &'h History>,
        sites: &[u32],
        site_count: usize,
    ) -> (States, Vec<u32>) {
        let by_site = reads.contains(Reads::SITE_RATE);
        let mut states = States { reads: reads.closed(), ..States::default() };
        if by_site {
            states.shown_by_site = vec![RateEvidence::default(); site_count];
        }
        let place = |(history, site): (&History, &u32)| {
            states.shown.add(RateEvidence::from_history(history));
            if let Some(shown) = states.shown_by_site.get_mut(*site as usize) {
                shown.add(RateEvidence::from_history(history));
            }
            let row = states.arrive(&states.reads.project(history), if by_site { *site } else { 0 });
            states.counts[row as usize] += 1;
            row
        };
        let rows = histories.zip(sites).map(place).collect();
        (states, rows)
    }

    /// The cycle in which the pages of a row were visited last.
    pub fn last(&self, row: u32) -> u32 {
        self.columns.last[row as usize]
    }

    /// The rows that have pages.
    pub fn occupied(&self) -> Vec<u32> {
        (0..self.counts.len() as u32).filter(|&row| self.counts[row as usize] > 0).collect()
    }

    /// Frees the buffers for the visits of a cycle.
    pub fn forget_arrivals(&mut self) {
        self.arrivals = HashMap::default();
    }

    pub fn site(&self, row: u32) -> u32 {
        self.sites[row as usize]
    }

    /// Fills in the rates of sites and of all pages, for a score that reads them.
    pub fn fill_priors(&mut self) {
        let sites = self.sites.iter().map(|&site| site as usize);
        if !self.shown_by_site.is_empty() {
            Priors::new(&self.shown_by_site).fill(&mut self.columns, sites);
        } else if self.reads.needs_priors() {
            // Every row has site 0 here, whose rate is not read.
            Priors::new(&[self.shown]).fill(&mut self.columns, sites);
        }
    }

    /// Carries out the visits of a cycle and sets the destinations. The choice of rows for new
    /// states depends only on the moves so far.
    pub fn apply(&mut self, cycle: u32, moves: &mut [Move]) {
        self.arrivals.clear();
        for m in &mut *moves {
            let source = m.source as usize;
            let history = self.histories[source];
            let site = self.sites[source];
            self.show(m, site, u64::from(cycle - history.last.0));
            for (to, (pages, changed, _)) in m.parts().into_iter().enumerate() {
                if pages > 0 {
                    let mut next = history;
                    next.record(Cycle(cycle), changed);
                    let row = self.arrive(&self.reads.project(&next), site);
                    self.counts[row as usize] += pages;
                    m.to[to] = row;
                } else {
                    m.to[to] = NOWHERE;
                }
            }
            self.counts[source] -= m.visited;
        }
        self.free_left(moves);
    }

    /// The same with the destinations of an earlier replay, which came here by the same moves.
    pub fn repeat(&mut self, cycle: u32, moves: &[Move]) {
        for m in moves {
            let source = m.source as usize;
            self.show(m, self.sites[source], u64::from(cycle - self.histories[source].last.0));
            for (pages, changed, to) in m.parts().into_iter().filter(|part| part.0 > 0) {
                // The first pages of a cycle that reach a row make it.
                if self.columns.last.get(to as usize) != Some(&cycle) {
                    let mut next = self.histories[source];
                    next.record(Cycle(cycle), changed);
                    let row = self.add(&self.reads.project(&next), self.sites[source]);
                    assert_eq!(row, to, "the same moves make the same rows");
                }
                self.counts[to as usize] += pages;
            }
            self.counts[source] -= m.visited;
        }
        self.free_left(moves);
    }

    /// Frees the rows that moves have emptied; only after all of them, so that no row is left and reused in one cycle.
    fn free_left(&mut self, moves: &[Move]) {
        let left = moves.iter().map(|m| m.source).filter(|&row| self.counts[row as usize] == 0);
        self.free.extend(left);
    }

    /// Adds the evidence of a move. Integers, so that the order does not matter.
    fn show(&mut self, m: &Move, site: u32, cycles: u64) {
        let shown = RateEvidence {
            changes: m.changed.into(),
            cycles: cycles * u64::from(m.visited),
            changed_cycles: cycles * u64::from(m.changed),
        };
        self.shown.add(shown);
        if let Some(of_site) = self.shown_by_site.get_mut(site as usize) {
            of_site.add(shown);
        }
    }

    /// The row of a state that pages reach in this cycle.
    fn arrive(&mut self, history: &History, site: u32) -> u32 {
        let mut key = hash(history, site);
        while let Some(&row) = self.arrivals.get(&key) {
            if self.histories[row as usize] == *history && self.sites[row as usize] == site {
                return row;
            }
            key = key.wrapping_add(1);
        }
        let row = self.add(history, site);
        self.arrivals.insert(key, row);
        row
    }

    fn add(&mut self, history: &History, site: u32) -> u32 {
        let row = self.free.pop().map_or(self.counts.len(), |row| row as usize);
        put(&mut self.histories, row, *history);
        put(&mut self.sites, row, site);
        if row == self.counts.len() {
            self.counts.push(0);
            self.columns.known.push(Known::default());
            self.columns.visited.push(true);
        }
        self.put_columns(row, history);
        row as u32
    }

    fn put_columns(&mut self, row: usize, h: &History) {
        let (c, reads) = (&mut self.columns, self.reads);
        put(&mut c.last, row, h.last.0);
        let mut u32s = [
            (Reads::VISITS, &mut c.visits, h.visits),
            (Reads::CHANGES, &mut c.changes, h.changes),
            (Reads::FIRST, &mut c.first, h.first.0),
            (Reads::LAST_CHANGE, &mut c.last_change, h.last_change.0),
            (Reads::CHANGED_CYCLES, &mut c.changed_cycles, h.changed_cycles),
            (Reads::STREAK, &mut c.streak, h.streak),
        ];
        for (field, column, value) in &mut u32s {
            if reads.contains(*field) {
                put(column, row, *value);
            }
        }
        if reads.contains(Reads::RAMP_VISITS) {
            put(&mut c.ramp_visits, row, h.ramp_visits);
        }
        if reads.contains(Reads::RAMP_CYCLES) {
            put(&mut c.ramp_cycles, row, h.ramp_cycles);
        }
        if reads.contains(Reads::GEOMETRIC_VISITS) {
            put(&mut c.geometric_visits, row, h.geometric_visits);
        }
        if reads.contains(Reads::GEOMETRIC_CYCLES) {
            put(&mut c.geometric_cycles, row, h.geometric_cycles);
        }
        for (half_life, column) in c.decayed.iter_mut().enumerate() {
            if reads.contains(Reads::DECAYED[half_life]) {
                put(column, row, h.decayed[half_life]);
            }
        }
        if reads.contains(Reads::WEEKDAYS) {
            c.weekdays.iter_mut().zip(h.weekdays).for_each(|(column, count)| put(column, row, count));
        }
    }
}

/// Sets an entry, or appends it after the last.
fn put<T>(column: &mut Vec<T>, row: usize, value: T) {
    if row == column.len() {
        column.push(value);
    } else {
        column[row] = value;
    }
}

/// A fast hash of a history and a site. The last visit is omitted, since all rows share it. Results
/// do not depend on the hash.
fn hash(h: &History, site: u32) -> u64 {
    let two = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let days = |d: usize| u32::from(h.weekdays[d]) << 16 | u32::from(h.weekdays[d + 1]);
    let decayed = h.decayed.map(f32::to_bits);
    let words = [
        two(h.visits, h.changes),
        two(h.first.0, h.last_change.0),
        h.ramp_visits,
        h.ramp_cycles,
        h.geometric_visits.to_bits(),
        h.geometric_cycles.to_bits(),
        two(h.changed_cycles, h.streak),
        two(decayed[0], decayed[1]),
        two(decayed[2], days(0)),
        two(days(2), days(4)),
        two(h.weekdays[6].into(), site),
    ];
    // Independent products; the factors are odd and very different.
    let factor = |i: usize| 0x9e37_79b9_7f4a_7c15u64.rotate_left(5 * i as u32) | 1;
    let sum =
        (0..).zip(words).fold(0u64, |sum, (i, word)| sum ^ word.wrapping_mul(factor(i)).rotate_left(32));
    let sum = (sum ^ sum >> 32).wrapping_mul(factor(0));
    sum ^ sum >> 32
}
