//! Rules of a crawl that the thesis leaves open, or sets by experiment.

/// Which parents of a page pass its score on to siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parents {
    /// All through which it was found.
    All,
    /// The first.
    First,
}

/// Which of equally scored pages comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The page found first.
    Fifo,
    /// The one with the least hash of its number and the random seed.
    Hash,
}

/// Rules that the thesis leaves open, or sets by experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorpusRules {
    /// ChangeThreshold (section 4.4).
    pub change_threshold: f64,
    /// Whether a lower score replaces a higher one, as step 11 reads.
    pub lower_overwrites: bool,
    /// Which parents pass scores on.
    pub parents: Parents,
    /// Order of equal scores.
    pub ties: Ties,
    /// Links from a seed to the farthest pages (section 4.1.3).
    pub max_depth: u32,
    /// Different links of a page that are followed (section 4.1.3).
    pub max_links: usize,
}

impl Default for CorpusRules {
    fn default() -> CorpusRules {
        CorpusRules {
            change_threshold: 0.20,
            lower_overwrites: true,
            parents: Parents::All,
            ties: Ties::Hash,
            max_depth: 7,
            max_links: 200,
        }
    }
}
