//! Figures of a replay, cycle by cycle.

/// The counts of one scheduled cycle. Everything that is reported follows from these; docs/metrics.md has
/// the definitions with their sources.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CycleFigures {
    /// The cycle.
    pub cycle: u32,
    /// Pages that are there.
    pub pages: u64,
    /// Pages that the budget was spent on: k, or fewer where fewer compete.
    pub visited: u64,
    /// Of these, how many showed another content than at their last visit.
    pub changed: u64,
    /// Pages that came with this cycle and were visited for the first time, outside the budget.
    pub first_visits: u64,
    /// Pages that came with one of the last cycles and were visited in their warm-up, outside the budget.
    pub warmup_visits: u64,
    /// Pages that differed from their last visit before the cycle's visits by budget.
    pub pending: u64,
    /// Pages that differ from their last visit after the cycle's visits: the copy is not what is live.
    pub stale: u64,
    /// Σ over the stale pages of the cycles since the first change that was not seen, which is in the cycle
    /// of the change itself 0.
    pub age: u64,
    /// Σ over the stale pages of H(m) = 1 + 1/2 + … + 1/m for the m changes since the last visit (Kolobov et
    /// al. 2019). Added up by ascending m, each m once times its number of pages, so that the order of pages
    /// leaves no trace in the last digit.
    pub harmonic: f64,
    /// NDCG of the visits in the order of their ranks, gain 1/log2(rank + 1).
    pub ndcg_log2: f64,
    /// The same with the gains of the GP4C authors' program: 1 at rank 1, then 1/ln(rank + 1).
    pub ndcg_gp4c: f64,
}

/// What a whole replay counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The cycles after the warm-up.
    pub cycles: Vec<CycleFigures>,
    /// What happened at each site in these cycles, in the order of the data set's sites.
    pub sites: Vec<SiteFigures>,
    /// Pages that competed for the budget in at least one of these cycles.
    pub pages: u64,
    /// Of these, pages that it was spent on at least once.
    pub visited: u64,
    /// How many visits by budget met a change whose first unseen part was so many cycles old: the place is the age.
    pub delays: Vec<u64>,
    /// The most cycles that a page was left alone, up to the end.
    pub longest_neglect: u32,
}

/// The counts of one site over all cycles after the warm-up: what a bootstrap over sites draws from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SiteFigures {
    /// Pages times cycles.
    pub pages: u64,
    /// Visits by budget.
    pub visited: u64,
    /// Of these, visits that met a change.
    pub changed: u64,
    /// Pages times cycles in which the copy was not what is live.
    pub stale: u64,
    /// Σ of ages, as in [`CycleFigures::age`].
    pub age: u64,
    /// Σ of H(m), as in [`CycleFigures::harmonic`], added up cycle by cycle and page by page.
    pub harmonic: f64,
}

impl SiteFigures {
    /// Adds those of another site.
    pub fn add(&mut self, other: &SiteFigures) {
        self.pages += other.pages;
        self.visited += other.visited;
        self.changed += other.changed;
        self.stale += other.stale;
        self.age += other.age;
        self.harmonic += other.harmonic;
    }
}
