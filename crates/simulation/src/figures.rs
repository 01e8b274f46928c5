//! What a replay counts, cycle by cycle.

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
    /// Pages that differed from their last visit before the cycle's visits.
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
