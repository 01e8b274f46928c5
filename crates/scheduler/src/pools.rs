//! The candidates of one pass, by what they compete for.

use crate::candidate::Candidate;
use crate::memory::{MemoryDivision, bytes_needed};
use crate::spilling_top_k::SpillingTopK;

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
    pub fn bytes_needed(&self) -> [f64; 5] {
        let [discovery, score, announced] =
            [self.discovery, self.score, self.announced].map(bytes_needed::<Candidate>);
        [
            self.warmup.map_or(0.0, bytes_needed::<Candidate>),
            discovery,
            score,
            announced,
            bytes_needed::<u64>(self.audit),
        ]
    }
}

/// The candidates of all pages, or of one host.
pub(crate) struct Pools {
    /// Pages in their warm-up, where not all are chosen.
    pub warmup: Option<SpillingTopK<Candidate>>,
    /// URLs never fetched.
    pub discovery: SpillingTopK<Candidate>,
    /// Pages that compete by score alone.
    pub score: SpillingTopK<Candidate>,
    /// Pages that are announced as changed, in the same order; they compete by score too.
    pub announced: SpillingTopK<Candidate>,
    /// Both by their images under the audit's shuffle: the least are the sample.
    pub audit: SpillingTopK<u64>,
    /// How many pages the sample is drawn from.
    pub eligible: u64,
    /// How many URLs were offered for discovery.
    pub unfetched: u64,
}

impl Pools {
    /// Pools for so many pages, each with its part of the memory.
    pub fn new(limits: &Limits, memory: MemoryDivision) -> Pools {
        let candidates = |k| SpillingTopK::new(k, memory.quota(bytes_needed::<Candidate>(k)));
        Pools {
            warmup: limits.warmup.map(candidates),
            discovery: candidates(limits.discovery),
            score: candidates(limits.score),
            announced: candidates(limits.announced),
            audit: SpillingTopK::new(limits.audit, memory.quota(bytes_needed::<u64>(limits.audit))),
            eligible: 0,
            unfetched: 0,
        }
    }
}
