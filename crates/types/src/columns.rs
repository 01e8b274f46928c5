//! A block of page state as columns: what scoring reads, and all that it reads.

use crate::{Cycle, History, Known};

/// The state of consecutive pages, one entry a page in every column. Rows of pages that were never
/// visited hold zeros in all columns of [`History`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateColumns {
    /// What every discovered URL has.
    pub known: Vec<Known>,
    /// Was the page ever visited?
    pub visited: Vec<bool>,
    /// [`History::visits`] (n).
    pub visits: Vec<u32>,
    /// [`History::changes`] (X).
    pub changes: Vec<u32>,
    /// [`History::first`].
    pub first: Vec<u32>,
    /// [`History::last`].
    pub last: Vec<u32>,
    /// [`History::last_change`].
    pub last_change: Vec<u32>,
    /// [`History::ramp_visits`].
    pub ramp_visits: Vec<u64>,
    /// [`History::ramp_cycles`].
    pub ramp_cycles: Vec<u64>,
    /// [`History::geometric_visits`].
    pub geometric_visits: Vec<f64>,
    /// [`History::geometric_cycles`].
    pub geometric_cycles: Vec<f64>,
    /// [`History::changed_cycles`].
    pub changed_cycles: Vec<u32>,
    /// [`History::streak`].
    pub streak: Vec<u32>,
    /// [`History::decayed`], a column a half-life.
    pub decayed: [Vec<f32>; 3],
    /// [`History::weekdays`], a column a weekday.
    pub weekdays: [Vec<u16>; 7],
    /// The rate of change of each page's site, in changes a cycle. Not part of a record: empty, until
    /// whoever scores fills it for a formula that asks for it.
    pub site_rate: Vec<f64>,
    /// The rate of change of all pages together, in changes a cycle; 0 until it is filled with `site_rate`.
    pub global_rate: f64,
}

impl StateColumns {
    /// Number of pages.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Is there no page?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Empties all columns and keeps their memory.
    pub fn clear(&mut self) {
        self.known.clear();
        self.visited.clear();
        self.visits.clear();
        self.changes.clear();
        self.first.clear();
        self.last.clear();
        self.last_change.clear();
        self.ramp_visits.clear();
        self.ramp_cycles.clear();
        self.geometric_visits.clear();
        self.geometric_cycles.clear();
        self.changed_cycles.clear();
        self.streak.clear();
        self.decayed.iter_mut().for_each(Vec::clear);
        self.weekdays.iter_mut().for_each(Vec::clear);
        self.site_rate.clear();
        self.global_rate = 0.0;
    }

    /// Adds one page.
    pub fn push(&mut self, known: Known, history: Option<&History>) {
        let none = History::default();
        let h = history.unwrap_or(&none);
        self.known.push(known);
        self.visited.push(history.is_some());
        self.visits.push(h.visits);
        self.changes.push(h.changes);
        self.first.push(h.first.0);
        self.last.push(h.last.0);
        self.last_change.push(h.last_change.0);
        self.ramp_visits.push(h.ramp_visits);
        self.ramp_cycles.push(h.ramp_cycles);
        self.geometric_visits.push(h.geometric_visits);
        self.geometric_cycles.push(h.geometric_cycles);
        self.changed_cycles.push(h.changed_cycles);
        self.streak.push(h.streak);
        self.decayed.iter_mut().zip(h.decayed).for_each(|(column, sum)| column.push(sum));
        self.weekdays.iter_mut().zip(h.weekdays).for_each(|(column, count)| column.push(count));
    }

    /// Replaces the history of the page in row `i`, which has one now if it had none.
    pub fn set_history(&mut self, i: usize, h: &History) {
        self.visited[i] = true;
        self.visits[i] = h.visits;
        self.changes[i] = h.changes;
        self.first[i] = h.first.0;
        self.last[i] = h.last.0;
        self.last_change[i] = h.last_change.0;
        self.ramp_visits[i] = h.ramp_visits;
        self.ramp_cycles[i] = h.ramp_cycles;
        self.geometric_visits[i] = h.geometric_visits;
        self.geometric_cycles[i] = h.geometric_cycles;
        self.changed_cycles[i] = h.changed_cycles;
        self.streak[i] = h.streak;
        self.decayed.iter_mut().zip(h.decayed).for_each(|(column, sum)| column[i] = sum);
        self.weekdays.iter_mut().zip(h.weekdays).for_each(|(column, count)| column[i] = count);
    }

    /// The history of the page in row `i`; none when it was never visited.
    pub fn history(&self, i: usize) -> Option<History> {
        self.visited[i].then(|| History {
            visits: self.visits[i],
            changes: self.changes[i],
            first: Cycle(self.first[i]),
            last: Cycle(self.last[i]),
            last_change: Cycle(self.last_change[i]),
            ramp_visits: self.ramp_visits[i],
            ramp_cycles: self.ramp_cycles[i],
            geometric_visits: self.geometric_visits[i],
            geometric_cycles: self.geometric_cycles[i],
            changed_cycles: self.changed_cycles[i],
            streak: self.streak[i],
            decayed: std::array::from_fn(|h| self.decayed[h][i]),
            weekdays: std::array::from_fn(|d| self.weekdays[d][i]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_comes_back_from_its_columns() {
        let mut history = History::first_fetch(Cycle(3));
        history.record(Cycle(5), true);
        history.record(Cycle(9), false);
        let mut columns = StateColumns::default();
        columns.push(Known::default(), Some(&history));
        columns.push(Known { depth: 4, ..Known::default() }, None);
        assert_eq!(columns.len(), 2);
        assert_eq!(columns.history(0), Some(history));
        assert_eq!(columns.history(1), None);
        columns.set_history(1, &history);
        assert_eq!(columns.history(1), Some(history));
        columns.clear();
        assert!(columns.is_empty() && columns.geometric_cycles.is_empty());
    }
}
