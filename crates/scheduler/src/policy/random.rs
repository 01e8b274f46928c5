//! `rand`: random scores.

use super::{Policy, PolicyKind};
use crate::shuffle::{Shuffle, ShufflePurpose};
use recrawl_types::{Cycle, StateColumns};

/// New random scores in every cycle: the baseline Rand (Santos et al. 2015 §5.1).
#[derive(Clone, Copy, Debug)]
pub struct RandomPolicy {
    shuffle: Shuffle,
}

impl Default for RandomPolicy {
    fn default() -> RandomPolicy {
        RandomPolicy { shuffle: Shuffle::new(0, Cycle::default(), ShufflePurpose::Scores) }
    }
}

impl Policy for RandomPolicy {
    fn name(&self) -> &str {
        KIND.name
    }

    fn prepare(&mut self, cycle: Cycle, seed: u64) {
        self.shuffle = Shuffle::new(seed, cycle, ShufflePurpose::Scores);
    }

    /// Uniform in [0, 1), from the upper 53 bits of the page's image.
    fn score(&self, columns: &StateColumns, first_ordinal: u64, out: &mut Vec<f64>) {
        out.clear();
        let ordinals = first_ordinal..first_ordinal + columns.len() as u64;
        out.extend(ordinals.map(|o| (self.shuffle.apply(o) >> 11) as f64 / (1u64 << 53) as f64));
    }
}

/// The registered policy.
pub(super) const KIND: PolicyKind =
    PolicyKind { name: "rand", help: "random scores", build: |_| Box::new(RandomPolicy::default()) };
