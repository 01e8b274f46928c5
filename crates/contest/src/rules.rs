//! Arguments for the rules of a replay.

use crate::importance;
use clap::{Args, ValueEnum};
use recrawl_crawl::failure::Failure;
use recrawl_scheduler::Ties;
use recrawl_simulation::{Budget, Dataset, RecordedPage, Rules};
use std::path::PathBuf;

/// Rules of a replay: budget, warm-up, ties, cycles, importance of pages.
#[derive(Args)]
pub struct ReplayArgs {
    /// Share of pages to visit per cycle [default: 0.05]
    #[arg(long, value_name = "SHARE", conflicts_with = "pages_per_cycle")]
    pub share: Option<f64>,
    /// Number of pages to visit per cycle (all if there are fewer)
    #[arg(long, value_name = "N")]
    pub pages_per_cycle: Option<u64>,
    /// Warm-up cycles that visit every page before scores apply
    #[arg(long, value_name = "CYCLES", default_value_t = 2)]
    pub warmup: u32,
    /// Tie-breaking rule
    #[arg(long, value_enum, default_value_t = TieRule::Hash)]
    pub ties: TieRule,
    /// First cycle; it becomes cycle 0 [default: 0]
    #[arg(long, value_name = "CYCLE")]
    pub first: Option<u32>,
    /// Last cycle
    #[arg(long, value_name = "CYCLE")]
    pub last: Option<u32>,
    /// Observe only every N-th cycle, from the first on: longer cycles
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub every: u32,
    /// Importance of pages, as tables `pages` with match and importance: adds change_rate_by_importance and
    /// freshness_by_importance
    #[arg(long, value_name = "FILE")]
    pub importance: Option<PathBuf>,
}

/// Tie-breaking rule.
#[derive(Clone, Copy, ValueEnum)]
pub enum TieRule {
    /// By position in the data
    Index,
    /// By a seeded shuffle, different in each cycle
    Hash,
}

impl ReplayArgs {
    /// The rules; options that are not given default to those of the papers.
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

    /// Warns if most pages appear after the first cycle, as in a young crawl: only pages present in
    /// every cycle take part.
    pub fn warn_of_few(&self, data: &Dataset) {
        let (fixed, all) = (data.fixed().len(), data.pages.len());
        let settled = self.first.unwrap_or(0) + data.settled() * self.every;
        if fixed < all / 2 && data.settled() > 0 {
            tracing::warn!(
                "{}: only {fixed} of {all} pages are present in every cycle; 90 % of the pages that stay \
                 exist from cycle {settled} on (use --first {settled})",
                data.name
            );
        }
    }

    /// Cuts the data to the requested cycles and the pages present in any of them, makes the cycles longer, and weighs the
    /// pages. A part is named as such, because learned formulas carry the name.
    ///
    /// # Errors
    /// When the data has no such cycles, or the pages cannot be weighed.
    pub fn cut(&self, data: Dataset) -> Result<Dataset, Failure> {
        let recorded = data.truth.cycles();
        let (first, last) = (self.first.unwrap_or(0), self.last.unwrap_or(recorded));
        if last > recorded || first > last {
            let word = if last > recorded { format!("--last {last}") } else { format!("--first {first}") };
            return Err(Failure::Usage(format!(
                "{word}: out of range for {}; use a cycle from 0 to {}",
                data.name,
                last.min(recorded)
            )));
        }
        let data = if (first, last) == (0, recorded) {
            data
        } else {
            let exists = |page: &RecordedPage| page.first <= last && page.last >= first;
            let pages = data.pages.iter().zip(0..).filter(|(page, _)| exists(page));
            let pages: Vec<u32> = pages.map(|(_, place)| place).collect();
            let name = format!("{}, cycles {first} to {last}", data.name);
            Dataset { name, ..data.part(&pages, first..last + 1) }
        };
        let mut data = if self.every == 1 { data } else { data.every(self.every) };
        self.importance.iter().try_for_each(|file| importance::weigh(&mut data, file))?;
        Ok(data)
    }
}
