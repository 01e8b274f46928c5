//! A site's noise floor: how far its pages differ although nothing changed.
//!
//! Some sites print a clock, a counter or a rotating advertisement into every page, so that almost
//! no two visits get the same text. One page record cannot tell that from a change, but the site's
//! other visits can: noise appears at every visit of every page, however short the interval. The
//! rules:
//! - A comparison has the weight 1/t, with t the cycles since the page's last visit: the longer the
//!   interval, the likelier it saw a real change. A difference on a page that the *score* chose has a
//!   quarter of that weight, since the page was chosen because it changes.
//! - A site has a floor while at least [`MIN_SEEN`] comparisons are remembered and at most one in
//!   [`RARE`] of them found the text unchanged.
//! - The floor is m + 2·√m bits, rounded down; m is the median distance of the comparisons that
//!   found a difference. Noise flips bits of a SimHash almost independently, so the number of flipped
//!   bits deviates from its mean by about its square root. Real changes in up to half of the visits
//!   move the median little.
//! - A site whose m is above [`MAX_NOISE`] has no floor: its pages differ by more than noise.
//!
//! About [`MEMORY`] comparisons are remembered, and one cycle adds at most [`PER_CYCLE`]. So a
//! burst of real changes over a whole site, in one cycle or a few, creates no floor on a clean
//! site. A floor never judges a page whose own visits show no noise ([`LastComparisons`]).
//!
//! Learning is slow except at the start: a new site gets its floor with its second cycle of
//! comparisons, when its warm-up ends. When noise stops, the floor goes after two cycles in which
//! as many comparisons find no difference.

mod own;

pub use own::{LastComparisons, remember};

use recrawl_types::Share;
use serde::{Deserialize, Serialize};

/// Comparisons needed for a judgement.
pub const MIN_SEEN: u32 = 12;
/// At most one comparison in this many may find no difference.
pub const RARE: u32 = 4;
/// The highest median distance that counts as noise.
pub const MAX_NOISE: u32 = 6;
/// Number of remembered comparisons; older ones fade.
pub const MEMORY: u32 = 32;
/// Comparisons that one cycle can add; a cycle with more is scaled down to this.
pub const PER_CYCLE: u32 = 8;

/// Weight of a comparison after one cycle. Integer units keep weights, fading and scaling exact.
const FULL: u32 = 1 << 12;
/// Weight of a difference on a page that the score chose.
const CHOSEN: u32 = FULL / 4;
/// Cells of the histogram of distances; the last one holds all larger distances.
const CELLS: usize = 18;

/// The comparisons of one site in one cycle, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoiseTally {
    equal: u64,
    differing: [u64; CELLS],
}

impl NoiseTally {
    /// Counts one comparison of texts. `cycles` is the number of cycles since the page's last
    /// visit. `distance` is ignored if the digests are equal. A 304 answer counts as equal. Do not
    /// count first fetches, redirects and opaque bodies.
    pub fn observe(&mut self, share: Share, cycles: u32, digest_equal: bool, distance: u32) {
        let weight = if digest_equal || share != Share::Score { FULL } else { CHOSEN };
        let units = (weight / cycles.max(1)).max(1);
        let cell = if digest_equal {
            &mut self.equal
        } else {
            &mut self.differing[(distance as usize).min(CELLS - 1)]
        };
        *cell = cell.saturating_add(u64::from(units));
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == NoiseTally::default()
    }
}

/// The remembered comparisons of one site: 76 bytes, whatever the site's size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseFloor {
    /// Weight of comparisons that found the text unchanged.
    equal: u32,
    /// Weight of comparisons that found a difference, by distance.
    differing: [u32; CELLS],
}

impl NoiseFloor {
    /// Adds a cycle's comparisons. Call it once per cycle and site.
    pub fn fold(&mut self, tally: &NoiseTally) {
        let per_cycle = u64::from(PER_CYCLE * FULL);
        let counted = tally.differing.iter().fold(tally.equal, |sum, cell| sum.saturating_add(*cell));
        if counted == 0 {
            return;
        }
        let added = counted.min(per_cycle);
        let share = |cell: u64| (u128::from(cell) * u128::from(added) / u128::from(counted)) as u32;
        // Old comparisons fade to make room for the new ones.
        let room = u64::from(MEMORY * FULL) - added;
        let old = u64::from(self.total());
        let fade = |cell: u32| if old > room { (u64::from(cell) * room / old) as u32 } else { cell };
        self.equal = fade(self.equal) + share(tally.equal);
        for (cell, new) in self.differing.iter_mut().zip(tally.differing) {
            *cell = fade(*cell) + share(new);
        }
    }

    /// The distance up to which texts of this site differ without a change; `None` without noise.
    pub fn floor(&self) -> Option<u32> {
        let total = self.total();
        if total < MIN_SEEN * FULL || self.equal > total / RARE {
            return None;
        }
        let median = self.median()?;
        let noise = f64::from(median);
        (median <= MAX_NOISE).then(|| (noise + 2.0 * noise.sqrt()) as u32)
    }

    /// The median distance of the differing comparisons.
    fn median(&self) -> Option<u32> {
        let differing = self.total() - self.equal;
        let mut below = 0u32;
        self.differing.iter().zip(0..).find_map(|(cell, distance)| {
            below = below.saturating_add(*cell);
            (*cell > 0 && below >= differing.div_ceil(2)).then_some(distance)
        })
    }

    fn total(&self) -> u32 {
        // Saturating, since a damaged disk can hold any value.
        self.differing.iter().fold(self.equal, |sum, cell| sum.saturating_add(*cell))
    }
}

#[cfg(test)]
mod tests;
