//! The words for the rules of a replay.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use recrawl_scheduler::Ties;
use recrawl_simulation::{Budget, Dataset, Rules};

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
    /// Begin with this cycle: it becomes cycle 0 [default: 0]
    #[arg(long, value_name = "CYCLE")]
    pub first: Option<u32>,
    /// Stop after this cycle
    #[arg(long, value_name = "CYCLE")]
    pub last: Option<u32>,
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

    /// Warns where most pages come after the first of these cycles, as they do in a young crawl: only those that are there
    /// throughout will take part.
    pub fn warn_of_few(&self, data: &Dataset) {
        let (fixed, all) = (data.fixed().len(), data.pages.len());
        let settled = self.first.unwrap_or(0) + data.settled();
        if fixed < all / 2 && data.settled() > 0 {
            tracing::warn!(
                "{}: only {fixed} of {all} pages are there throughout; nine in ten of those that stay are there from cycle \
                 {settled} on (--first {settled})",
                data.name
            );
        }
    }

    /// The cycles that were asked for, with the pages that are there in any of them. Where these are not all, the
    /// name says so, since what is learned from them carries it.
    ///
    /// # Errors
    /// When there are no such cycles.
    pub fn cut(&self, data: Dataset) -> Result<Dataset, Failure> {
        let recorded = data.truth.cycles();
        let (first, last) = (self.first.unwrap_or(0), self.last.unwrap_or(recorded));
        if last > recorded || first > last {
            let word = if last > recorded { format!("--last {last}") } else { format!("--first {first}") };
            return Err(Failure::Usage(format!(
                "{word}: {} has cycles 0 to {}",
                data.name,
                last.min(recorded)
            )));
        }
        if (first, last) == (0, recorded) {
            return Ok(data);
        }
        let pages = data.pages.iter().zip(0..).filter(|(page, _)| page.first <= last && page.last >= first);
        let pages: Vec<u32> = pages.map(|(_, place)| place).collect();
        let name = format!("{}, cycles {first} to {last}", data.name);
        Ok(Dataset { name, ..data.part(&pages, first..last + 1) })
    }
}
