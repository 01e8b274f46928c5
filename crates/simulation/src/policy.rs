//! The policies: who says which pages a cycle visits, one file each.

use crate::Observed;

pub mod formula;

pub use formula::FormulaPolicy;

/// Scores pages by what was observed of them.
pub trait Policy: Send {
    /// Its name, for reports.
    fn name(&self) -> &str;

    /// Does it read the rates of sites or of all pages? They are filled only for those that do.
    fn needs_priors(&self) -> bool {
        false
    }

    /// Scores every page for the cycle whose visits are chosen: `out` is emptied and gets one score a
    /// page. The higher the score the sooner the visit; NaN ranks below every number. Pages that are not
    /// there may get any score.
    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>);

    /// Is told of the visits of a cycle, after them, in whatever order: for what a policy keeps of pages
    /// beside the running sums of their records.
    fn observe(&mut self, _observed: &Observed, _visits: &[Visit]) {}
}

/// A visit, as a policy is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The page.
    pub page: u32,
    /// Did it show another content than at its last visit? None at its first.
    pub changed: Option<bool>,
}
