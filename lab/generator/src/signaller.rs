//! Signals of generated changes.

use crate::Recipe;
use crate::draws::{Chance, Draws};

/// The streams of signals come after those of sites, so that signals leave the changes as they are.
const FIRST_STREAM: u64 = 1 << 32;

/// Draws the signals of a site's pages.
pub struct Signaller {
    draws: Draws,
    told: Chance,
    /// False signals per change: ν/Δ = λ(1 − p)/p.
    false_per_change: f64,
    cycles: u32,
}

impl Signaller {
    /// For the site of this number; `None` if the recipe has no signals.
    pub fn of_site(recipe: &Recipe, number: u64) -> Option<Signaller> {
        let Recipe { signal_precision: precision, signal_recall: recall, seed, cycles, .. } = *recipe;
        (recall > 0.0).then(|| Signaller {
            draws: Draws::new(seed, FIRST_STREAM + number),
            told: Chance::new(recall),
            false_per_change: recall * (1.0 - precision) / precision,
            cycles,
        })
    }

    /// The cycles of the signals of the site's next page, with these changes. False signals come at a
    /// rate in proportion to the page's changes, so that all pages have the recipe's precision.
    pub fn write_page(&mut self, changes: &[(u32, u16)], signals: &mut Vec<u32>) {
        signals.clear();
        let rate = changes.len() as f64 / f64::from(self.cycles);
        let by_mistake = Chance::at_rate(rate * self.false_per_change);
        let mut changes = changes.iter().map(|change| change.0).peekable();
        for cycle in 1..=self.cycles {
            // Both drawn in any case: the same change is told in all worlds with a higher recall.
            let (told, mistaken) = (self.draws.is(self.told), self.draws.is(by_mistake));
            let changed = changes.next_if_eq(&cycle).is_some();
            if (changed && told) || mistaken {
                signals.push(cycle);
            }
        }
    }
}
