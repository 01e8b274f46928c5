//! The candidates of one pass, by what they compete for.

use crate::best::Best;
use crate::candidate::Candidate;
use crate::memory::{Division, wanted};

/// How many pages of each kind are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// None where all are chosen, so that none has to be kept.
    pub warmup: Option<u64>,
    pub discovery: u64,
    pub score: u64,
    pub announced: u64,
    pub audit: u64,
}

impl Limits {
    /// Bytes that each pool for so many pages wants.
    pub fn wanted(&self) -> [f64; 5] {
        let [discovery, score, announced] =
            [self.discovery, self.score, self.announced].map(wanted::<Candidate>);
        [self.warmup.map_or(0.0, wanted::<Candidate>), discovery, score, announced, wanted::<u64>(self.audit)]
    }
}

/// The candidates of all pages, or of one host.
pub(crate) struct Pools {
    /// Pages in their warm-up, where not all are chosen.
    pub warmup: Option<Best<Candidate>>,
    /// URLs never fetched.
    pub discovery: Best<Candidate>,
    /// Pages that compete by score alone.
    pub score: Best<Candidate>,
    /// Pages that are announced as changed, in the same order; they compete by score too.
    pub announced: Best<Candidate>,
    /// Both by their images under the audit's shuffle: the least are the sample.
    pub audit: Best<u64>,
    /// How many pages the sample is drawn from.
    pub eligible: u64,
    /// How many URLs were offered for discovery.
    pub unfetched: u64,
}

impl Pools {
    /// Pools for so many pages, each with its part of the memory.
    pub fn new(limits: &Limits, memory: Division) -> Pools {
        let candidates = |k| Best::new(k, memory.room(wanted::<Candidate>(k)));
        Pools {
            warmup: limits.warmup.map(candidates),
            discovery: candidates(limits.discovery),
            score: candidates(limits.score),
            announced: candidates(limits.announced),
            audit: Best::new(limits.audit, memory.room(wanted::<u64>(limits.audit))),
            eligible: 0,
            unfetched: 0,
        }
    }
}
