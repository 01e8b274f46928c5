//! The candidates of one pass, by share.

use crate::candidate::RankedPage;
use crate::expected::ExpectedChanges;
use crate::first::DueFirst;
use crate::memory::{MemoryDivision, bytes_needed};
use crate::spilling_top_k::SpillingTopK;

/// Maximum number of candidates per share.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PoolLimits {
    /// None if all are chosen, so that none must be kept.
    pub warmup: Option<u64>,
    pub discovery: u64,
    pub score: u64,
    pub announced: u64,
    pub audit: u64,
}

impl PoolLimits {
    /// Bytes that each pool needs.
    pub fn bytes_needed(&self) -> [f64; 5] {
        let [discovery, score, announced] =
            [self.discovery, self.score, self.announced].map(bytes_needed::<RankedPage>);
        [
            self.warmup.map_or(0.0, bytes_needed::<RankedPage>),
            discovery,
            score,
            announced,
            bytes_needed::<RankedPage>(self.audit),
        ]
    }
}

/// The candidates of all pages, or of one host.
pub(crate) struct Pools {
    /// Warm-up pages, if not all are chosen.
    pub warmup: Option<SpillingTopK<RankedPage>>,
    /// URLs that were never fetched.
    pub discovery: SpillingTopK<RankedPage>,
    /// Pages that compete by score only.
    pub score: SpillingTopK<RankedPage>,
    /// Announced pages, also by score. They compete by score too.
    pub announced: SpillingTopK<RankedPage>,
    /// Pages of both pools above, by their images under the audit's shuffle, with their scores. The least are the
    /// sample.
    pub audit: SpillingTopK<RankedPage>,
    /// Pages to visit whatever their score, if not all are chosen at once.
    pub first: Option<Vec<DueFirst>>,
    /// Size of the sample's population.
    pub eligible: u64,
    /// The changes expected in it.
    pub expected: ExpectedChanges,
    /// Number of URLs offered for discovery.
    pub unfetched: u64,
    /// Pages that earlier rounds of the cycle tried.
    pub tried: u64,
}

impl Pools {
    /// Makes pools with these limits.
    pub fn new(limits: &PoolLimits, memory: MemoryDivision) -> Pools {
        let candidates = |k| SpillingTopK::new(k, memory.quota(bytes_needed::<RankedPage>(k)));
        Pools {
            warmup: limits.warmup.map(candidates),
            discovery: candidates(limits.discovery),
            score: candidates(limits.score),
            announced: candidates(limits.announced),
            audit: candidates(limits.audit),
            first: limits.warmup.map(|_| Vec::new()),
            eligible: 0,
            expected: ExpectedChanges::default(),
            unfetched: 0,
            tried: 0,
        }
    }
}
