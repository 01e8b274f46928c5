//! Counts the population of the audit sample in each arm, for a plan that does not divide it.

use crate::PlanError;

/// Runs of pages of one arm in scan order, each with its number of pages and the index of its arm.
pub type ArmRuns = Box<dyn Iterator<Item = Result<(u64, usize), PlanError>>>;

/// Counts by arm what a selection counts in all.
pub(crate) struct ArmCounter {
    /// Those that come.
    runs: ArmRuns,
    /// Pages that are left of the present run, and its arm.
    left: u64,
    arm: usize,
    /// The population of all runs so far, and the changes expected in it.
    before: (u64, f64),
    arms: Vec<(u64, f64)>,
}

impl ArmCounter {
    pub fn new(runs: ArmRuns) -> ArmCounter {
        ArmCounter { runs, left: 0, arm: 0, before: (0, 0.0), arms: Vec::new() }
    }

    /// How many of the next rows, from `ordinal` on, are in one run.
    pub fn in_run(&mut self, ordinal: u64, rows: usize) -> Result<usize, PlanError> {
        while self.left == 0 {
            let next = self.runs.next();
            (self.left, self.arm) = next.unwrap_or(Err(PlanError::Hosts { pages: ordinal, more: false }))?;
        }
        Ok(usize::try_from(self.left).unwrap_or(usize::MAX).min(rows))
    }

    /// These rows of the run are scanned; the population of all rows is now so large.
    pub fn add(&mut self, rows: usize, pages: u64, expected: f64) {
        self.left -= rows as u64;
        if self.arms.len() <= self.arm {
            self.arms.resize(self.arm + 1, (0, 0.0));
        }
        let arm = &mut self.arms[self.arm];
        arm.0 += pages - self.before.0;
        arm.1 += expected - self.before.1;
        self.before = (pages, expected);
    }

    /// Pages of each arm, and the changes expected in them.
    pub fn finish(self) -> Vec<(u64, f64)> {
        self.arms
    }
}
