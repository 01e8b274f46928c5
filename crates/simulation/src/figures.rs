//! Figures of a replay, cycle by cycle.

use crate::ContentFigures;

/// The counts of one scheduled cycle. All reported figures follow from these; docs/metrics.md has
/// the definitions with their sources.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CycleFigures {
    /// Number of the cycle.
    pub cycle: u32,
    /// Existing pages.
    pub pages: u64,
    /// Pages visited by budget: k, or fewer if fewer compete.
    pub visited: u64,
    /// Of these, pages whose content differed from their last visit.
    pub changed: u64,
    /// New pages of this cycle, visited for the first time outside the budget.
    pub first_visits: u64,
    /// Pages visited in their warm-up, outside the budget.
    pub warmup_visits: u64,
    /// Pages that differed from their last visit, before the cycle's visits by budget.
    pub pending: u64,
    /// Pages that differ from their last visit, after the cycle's visits: their copy is stale.
    pub stale: u64,
    /// Pages that were visited by budget in this cycle or an earlier one.
    pub covered: u64,
    /// Σ over the stale pages of the cycles since the first unseen change, which counts as 0 in the
    /// cycle of the change.
    pub age: u64,
    /// Σ over the stale pages of H(m) = 1 + 1/2 + … + 1/m for the m changes since the last visit
    /// (Kolobov et al. 2019). Summed by ascending m, each m times its number of pages, so that the
    /// order of pages does not affect the last digit.
    pub harmonic: f64,
    /// NDCG of the visits in rank order, gain 1/log2(rank + 1).
    pub ndcg_log2: f64,
    /// The same with the gains of the GP4C authors' program: 1 at rank 1, then 1/ln(rank + 1).
    pub ndcg_gp4c: f64,
    /// The counts of the figures by importance.
    pub importance: ImportanceFigures,
    /// The figures that need contents; 0 unless the replay is judged.
    pub contents: ContentFigures,
}

/// Sums of [importance](crate::RecordedPage::importance), in thousandths: exact in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportanceFigures {
    /// Of the existing pages.
    pub pages: u64,
    /// Of the visits by budget that found a change.
    pub changed: u64,
    /// Of the stale pages.
    pub stale: u64,
    /// Of the pages that were visited by budget in the cycle or an earlier one; 0 for sites.
    pub covered: u64,
}

/// The counts of a whole replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The cycles after the warm-up.
    pub cycles: Vec<CycleFigures>,
    /// The counts of each site in these cycles, in the data set's site order.
    pub sites: Vec<SiteFigures>,
    /// Pages that competed for the budget in at least one of these cycles.
    pub pages: u64,
    /// Of these, pages visited by budget at least once.
    pub visited: u64,
    /// Number of visits by budget that found a change, by the age of its first unseen part in
    /// cycles (the index).
    pub delays: Vec<u64>,
    /// The most cycles without a visit of one page, up to the end.
    pub longest_neglect: u32,
}

/// The counts of one site over all cycles after the warm-up, for a bootstrap over sites.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SiteFigures {
    /// Pages times cycles.
    pub pages: u64,
    /// Visits by budget.
    pub visited: u64,
    /// Of these, visits that found a change.
    pub changed: u64,
    /// Pages times cycles with a stale copy.
    pub stale: u64,
    /// Σ of ages, as in [`CycleFigures::age`].
    pub age: u64,
    /// Σ of H(m), as in [`CycleFigures::harmonic`], summed cycle by cycle and page by page.
    pub harmonic: f64,
    /// The same sums of importance.
    pub importance: ImportanceFigures,
}

impl SiteFigures {
    /// Adds the counts of another site.
    pub fn add(&mut self, other: &SiteFigures) {
        self.pages += other.pages;
        self.visited += other.visited;
        self.changed += other.changed;
        self.stale += other.stale;
        self.age += other.age;
        self.harmonic += other.harmonic;
        self.importance.pages += other.importance.pages;
        self.importance.changed += other.importance.changed;
        self.importance.stale += other.importance.stale;
    }
}
