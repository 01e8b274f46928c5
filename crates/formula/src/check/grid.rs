//! The grid of records on which a formula is checked.

use crate::SiteRates;
use recrawl_types::{Cycle, History, decay};

/// Cycles since the last visit.
pub(super) const AGES: &[u32] = &[1, 2, 3, 7, 30, 365, 1000, 100_000, 2_000_000_000];
/// The site rates of every page.
pub(super) const RATES: SiteRates = SiteRates { global: 0.05, site: 0.05 };
/// Maximum history that is built visit by visit: a daily visit for a year.
pub(super) const LONG: u32 = 365;
/// Maximum history. With the maximum age it still fits a cycle number.
const LONGEST: u32 = 2_000_000_000;

/// All records of the grid.
pub(super) fn histories() -> Vec<History> {
    let mut histories = Vec::new();
    for n in [0, 1, 2, 3, 10, 57, LONG] {
        let mut changes = vec![0, 1, n / 2, n.saturating_sub(1), n];
        changes.retain(|&x| x <= n);
        changes.sort_unstable();
        changes.dedup();
        for x in changes {
            histories.push(history(n, |i| i < x));
            histories.push(history(n, |i| i >= n - x));
            // Spread: visit i finds a change if the running share of x passes an integer.
            histories.push(history(n, |i| (i + 1) * x / n > i * x / n));
        }
    }
    histories.extend([longest(false), longest(true)]);
    histories
}

/// A page with `n` visits in `n` cycles.
fn history(n: u32, changed: impl Fn(u32) -> bool) -> History {
    let mut history = History::first_fetch(Cycle(1));
    for i in 0..n {
        history.record(Cycle(2 + i), changed(i));
    }
    history
}

/// A page that was visited in every cycle and changed at every visit, or never. Its sums are those
/// that the visits would give.
fn longest(changed: bool) -> History {
    let n = u64::from(LONGEST);
    let last = Cycle(1 + LONGEST);
    let quiet = History { visits: LONGEST, first: Cycle(1), last, streak: LONGEST, ..History::default() };
    if !changed {
        return quiet;
    }
    History {
        changes: LONGEST,
        last_change: last,
        ramp_visits: n * (n + 1) / 2,
        ramp_cycles: n * (n + 1) / 2 + n,
        geometric_visits: 2.0,
        geometric_cycles: 2.0,
        changed_cycles: LONGEST,
        // The fixed points of s <- s * weight + 1.
        decayed: decay::HALF_LIVES.map(|h| (1.0 / (1.0 - decay::weight(h, 1))) as f32),
        weekdays: [u16::MAX; 7],
        ..quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_possible_ones() {
        let all = histories();
        assert!(all.len() > 50);
        for h in &all {
            assert!(h.changes <= h.visits, "{h:?}");
            assert_eq!(h.last.0 - h.first.0, h.visits, "{h:?}");
            assert_eq!(h.changed_cycles, h.changes, "{h:?}");
            assert!(h.streak <= h.visits && (h.visits == 0) == (h.streak == 0), "{h:?}");
            let days: u64 = h.weekdays.iter().map(|&d| u64::from(d)).sum();
            assert!(days == u64::from(h.changes) || h.weekdays == [u16::MAX; 7], "{h:?}");
            assert!(h.decayed.iter().all(|&sum| sum <= h.changes as f32), "{h:?}");
        }
        for x in [0, 1, 182, 364, 365] {
            assert!(all.iter().any(|h| (h.visits, h.changes) == (365, x)), "n = 365, X = {x}");
        }
    }
}
