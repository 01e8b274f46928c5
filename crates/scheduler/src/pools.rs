//! The candidates of one pass, by what they compete for.

use crate::TopK;
use crate::candidate::Candidate;

/// The candidates of all pages, or of one host.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    /// Pages in their warm-up.
    pub warmup: TopK<Candidate>,
    /// URLs never fetched.
    pub discovery: TopK<Candidate>,
    /// Pages that compete by score.
    pub score: TopK<Candidate>,
    /// Those of them that are announced as changed.
    pub announced: TopK<Candidate>,
    /// The same pages by their images under the audit's shuffle: the least are the sample.
    pub audit: TopK<u64>,
    /// How many pages the sample is drawn from.
    pub eligible: u64,
    /// How many URLs were offered for discovery.
    pub unfetched: u64,
}

impl Pools {
    /// Pools for at most so many pages of each kind.
    pub fn new(warmup: u64, discovery: u64, score: u64, announced: u64, audit: u64) -> Pools {
        Pools {
            warmup: TopK::new(warmup),
            discovery: TopK::new(discovery),
            score: TopK::new(score),
            announced: TopK::new(announced),
            audit: TopK::new(audit),
            eligible: 0,
            unfetched: 0,
        }
    }
}
