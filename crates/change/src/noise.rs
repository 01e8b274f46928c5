//! A site's noise floor: how far its pages differ although nothing on them changed.
//!
//! Some sites print a clock, a counter or a rotating advertisement into every page, and no two visits
//! see the same text. A page record cannot tell that from a change; the site's other visits can: noise
//! is there at *every* visit of *every* page, a change is not. The law:
//! - A site has a floor while at least [`MIN_SEEN`] comparisons are remembered and at most one in
//!   [`RARE`] of them found the text unchanged. One page that stands still is enough to end a floor.
//! - The floor is m + 2·√m bits, rounded down, with m the median distance of the comparisons that found
//!   a difference. Noise flips bits of a SimHash nearly independently, so the number of flipped bits
//!   spreads about its mean by no more than its root; and up to half of the visits may meet real changes
//!   without moving a median far.
//! - A site whose m is above [`MAX_NOISE`] has no floor: its pages do not differ *a little*.
//!
//! Memory is of about [`MEMORY`] comparisons, of which one cycle may bring [`PER_CYCLE`]: a burst of real
//! changes all over a site, in one cycle or a few, makes no floor, and where noise stops the floor is
//! gone with the first cycle that shows it. It is quick to forget and slow to learn, except from nothing:
//! a new site's floor comes with its second cycle of comparisons.
//!
//! A page that the *score* chose was chosen because it changes, so that it differs says little; such a
//! difference counts for a quarter.

use recrawl_types::Share;
use serde::{Deserialize, Serialize};

/// Comparisons without which there is no judgement.
pub const MIN_SEEN: u32 = 12;
/// At most one comparison in so many may find no difference.
pub const RARE: u32 = 16;
/// The highest median distance that is a little.
pub const MAX_NOISE: u32 = 6;
/// Comparisons that are remembered, older ones fading.
pub const MEMORY: u32 = 32;
/// Comparisons that one cycle can add; a cycle that made more is scaled down to these.
pub const PER_CYCLE: u32 = 8;

/// Units that one comparison counts for, so that fading and scaling work in whole numbers.
const FULL: u32 = 256;
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
    /// Counts one comparison of texts: why the page was visited, whether the digests were equal, and how
    /// far apart the SimHashes were (not read where the digests are equal). An answer that the server
    /// itself calls unmodified is an equal one. First fetches, redirects and opaque bodies are none.
    pub fn observe(&mut self, share: Share, digest_equal: bool, distance: u32) {
        let units = if digest_equal || share != Share::Score { FULL } else { CHOSEN };
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
        if total < MIN_SEEN * FULL || self.equal * RARE > total {
            return None;
        }
        let median = self.median()?;
        let noise = f64::from(median);
        (median <= MAX_NOISE).then(|| (noise + 2.0 * noise.sqrt()) as u32)
    }

    /// The median distance of the differing comparisons.
    fn median(&self) -> Option<u32> {
        let differing = self.total() - self.equal;
        let mut below = 0;
        self.differing.iter().zip(0..).find_map(|(cell, distance)| {
            below += cell;
            (*cell > 0 && 2 * below >= differing).then_some(distance)
        })
    }

    fn total(&self) -> u32 {
        self.equal + self.differing.iter().sum::<u32>()
    }
}
