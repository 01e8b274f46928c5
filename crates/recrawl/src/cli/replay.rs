//! The words for the rules of a replay.

use clap::{Args, ValueEnum};
use recrawl_scheduler::Ties;
use recrawl_simulation::{Budget, Rules};

/// Under which rules a recorded history is replayed.
#[derive(Args)]
pub struct ReplayArgs {
    /// Visit this share of the pages in every cycle [default: 0.05]
    #[arg(long, value_name = "SHARE", conflicts_with = "pages_per_cycle")]
    pub share: Option<f64>,
    /// Visit this many pages in every cycle; all, where there are fewer
    #[arg(long, value_name = "N")]
    pub pages_per_cycle: Option<u64>,
    /// Visit every page in this many cycles before scores choose
    #[arg(long, value_name = "CYCLES", default_value_t = 2)]
    pub warmup: u32,
    /// What decides between equal scores
    #[arg(long, value_enum, default_value_t = TieRule::Hash)]
    pub ties: TieRule,
}

/// What decides between equal scores.
#[derive(Clone, Copy, ValueEnum)]
pub enum TieRule {
    /// The page that comes first in the data
    Index,
    /// A seeded shuffle, another one in every cycle
    Hash,
}

impl ReplayArgs {
    /// The rules, where all else is as in the papers.
    pub fn rules(&self) -> Rules {
        let ordinary = Rules::default();
        let budget = match (self.share, self.pages_per_cycle) {
            (Some(share), _) => Budget::Share(share),
            (None, Some(pages)) => Budget::Pages(pages),
            (None, None) => ordinary.budget,
        };
        let ties = match self.ties {
            TieRule::Index => Ties::Index,
            TieRule::Hash => Ties::Hash,
        };
        Rules { warmup: self.warmup, budget, ties, ..ordinary }
    }
}
