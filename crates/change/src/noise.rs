//! A site's noise floor: how far its pages differ although nothing on them changed.
//!
//! Some sites print a clock, a counter or a rotating advertisement into every page, and hardly two
//! visits see the same text. A page record cannot tell that from a change; the site's other visits can:
//! noise is there at every visit of every page, however short a time after the last one. The law:
//! - A comparison counts for 1/t, t the cycles since the page's last visit: the longer ago, the likelier
//!   it saw a real change. A difference on a page that the *score* chose counts for a quarter of that: it
//!   was chosen because it changes.
//! - A site has a floor while at least [`MIN_SEEN`] comparisons are remembered and at most one in
//!   [`RARE`] of them found the text unchanged.
//! - The floor is m + 2·√m bits, rounded down, with m the median distance of the comparisons that found
//!   a difference. Noise flips bits of a SimHash nearly independently, so the number of flipped bits
//!   spreads about its mean by no more than its root; and real changes in up to half of the visits do
//!   not move a median far.
//! - A site whose m is above [`MAX_NOISE`] has no floor: its pages do not differ *a little*.
//!
//! Memory is of about [`MEMORY`] comparisons, of which one cycle may bring [`PER_CYCLE`]: a burst of real
//! changes all over a site, in one cycle or a few, makes no floor on a site that was clean before. It is
//! slow to learn, except from nothing: a new site's floor comes with its second cycle of comparisons,
//! which is when its warm-up ends. Where noise stops, the floor is gone after two cycles in which as many
//! comparisons find nothing.

use recrawl_types::Share;
use serde::{Deserialize, Serialize};

/// Comparisons without which there is no judgement.
pub const MIN_SEEN: u32 = 12;
/// At most one comparison in so many may find no difference.
pub const RARE: u32 = 4;
/// The highest median distance that is a little.
pub const MAX_NOISE: u32 = 6;
/// Comparisons that are remembered, older ones fading.
pub const MEMORY: u32 = 32;
/// Comparisons that one cycle can add; a cycle that made more is scaled down to these.
pub const PER_CYCLE: u32 = 8;

/// Units that a comparison after one cycle counts for, so that weights, fading and scaling are whole
/// numbers.
const FULL: u32 = 1 << 12;
/// Units of a difference on a page that the score chose.
const CHOSEN: u32 = FULL / 4;
/// Distances are told apart up to here; the last cell holds all that are further.
const CELLS: usize = 18;

/// The comparisons of one site in one cycle. Their order does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    equal: u64,
    differing: [u64; CELLS],
}

impl Tally {
    /// Counts one comparison of texts: why the page was visited, how many cycles after its last visit,
    /// whether the digests were equal, and how far apart the SimHashes were (not read where the digests
    /// are equal). An answer that the server itself calls unmodified is an equal one. First fetches,
    /// redirects and opaque bodies are none.
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

    /// Has nothing been counted?
    pub fn is_empty(&self) -> bool {
        *self == Tally::default()
    }
}

/// What is remembered of one site: 76 bytes, whatever the site's size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseFloor {
    /// Units of comparisons that found the text unchanged.
    equal: u32,
    /// Units of those that found a difference, by distance.
    differing: [u32; CELLS],
}

impl NoiseFloor {
    /// Takes in a cycle's comparisons. Once a cycle and site.
    pub fn fold(&mut self, tally: &Tally) {
        let per_cycle = u64::from(PER_CYCLE * FULL);
        let counted = tally.differing.iter().fold(tally.equal, |sum, cell| sum.saturating_add(*cell));
        if counted == 0 {
            return;
        }
        let added = counted.min(per_cycle);
        let share = |cell: u64| (u128::from(cell) * u128::from(added) / u128::from(counted)) as u32;
        // What was remembered makes room for what is new.
        let room = u64::from(MEMORY * FULL) - added;
        let old = u64::from(self.total());
        let fade = |cell: u32| if old > room { (u64::from(cell) * room / old) as u32 } else { cell };
        self.equal = fade(self.equal) + share(tally.equal);
        for (cell, new) in self.differing.iter_mut().zip(tally.differing) {
            *cell = fade(*cell) + share(new);
        }
    }

    /// The distance up to which texts of this site differ without a change; none where there is no noise.
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
        // Saturating, since what is read from a damaged disk can be anything.
        self.differing.iter().fold(self.equal, |sum, cell| sum.saturating_add(*cell))
    }
}

#[cfg(test)]
mod tests;
