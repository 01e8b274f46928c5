//! The outcome of one contender: JSON from a child to its parent, and a line of the record.

use crate::model::{BlockBytes, TouchedBlocks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The outcome of one contender at one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContenderOutcome {
    /// Name of the contender.
    pub contender: String,
    /// Known pages at the start.
    pub pages: u64,
    /// Share of a visited site's pages that a cycle visits.
    pub visited_share: f64,
    /// The memory limit in bytes; none if the system permits none.
    pub memory_limit: Option<u64>,
    /// Seconds for writing the initially known pages.
    pub prepared: f64,
    /// Mean bytes of a known URL's key.
    pub text: f64,
    /// Bytes on disk per known page before the first cycle, by kind of file; only for the verifier.
    pub kinds: BTreeMap<String, f64>,
    /// The same by the parts of a block.
    pub parts: BlockBytes,
    /// Bytes on disk at the end.
    pub stored: u64,
    /// Peak memory in the timed part, in bytes.
    pub peak: Option<u64>,
    /// Whether `peak` excludes the part before, which is not timed.
    pub is_peak_of_cycles: bool,
    /// The cycles.
    pub cycles: Vec<CycleOutcome>,
    /// Seconds for copying and syncing the same files, after each cycle.
    pub copies: Vec<f64>,
    /// Known pages decoded and compared per CPU second, by one thread with cached files, by kind of
    /// link.
    pub decoded: BTreeMap<String, f64>,
}

/// One cycle of a contender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CycleOutcome {
    /// Checked links.
    pub checks: u64,
    /// New URLs.
    pub new: u64,
    /// URLs that wait for a later cycle.
    pub waiting: u64,
    /// Seconds by stage, in order.
    pub stages: Vec<(String, f64)>,
    /// CPU seconds of checking, over all threads: unlike wall time, not disturbed by other
    /// programs.
    pub processor: f64,
    /// Bytes read by system calls during checking.
    pub read: u64,
    /// Bytes written during checking.
    pub written: u64,
    /// Bytes read and written, by kind of file.
    pub kinds: BTreeMap<String, (u64, u64)>,
    /// Locality; only for the verifier.
    pub named: TouchedBlocks,
    /// Bytes of the log.
    pub log: u64,
    /// Links in the log.
    pub logged: u64,
    /// Whether it was stopped because its time was over.
    pub is_cut: bool,
}

/// The stage that plans the next cycle, which is not part of checking.
pub const PLAN: &str = "plan";

impl CycleOutcome {
    /// Seconds of checking.
    pub fn seconds(&self) -> f64 {
        self.stages.iter().filter(|stage| stage.0 != PLAN).map(|stage| stage.1).sum()
    }

    /// Seconds of the whole step.
    pub fn step_seconds(&self) -> f64 {
        self.stages.iter().map(|stage| stage.1).sum()
    }
}

impl ContenderOutcome {
    /// The median over cycles.
    pub fn median(&self, of: impl Fn(&CycleOutcome) -> f64) -> f64 {
        median(self.cycles.iter().map(of).collect())
    }

    /// Checks per second.
    pub fn checks_a_second(&self) -> f64 {
        self.median(|cycle| cycle.checks as f64 / cycle.seconds())
    }

    /// Checks per CPU second.
    pub fn checks_a_processor_second(&self) -> f64 {
        self.median(|cycle| cycle.checks as f64 / cycle.processor)
    }

    /// Bytes read and written per check.
    pub fn bytes_a_check(&self) -> (f64, f64) {
        let a_check = |bytes: u64, cycle: &CycleOutcome| bytes as f64 / cycle.checks as f64;
        (self.median(|c| a_check(c.read, c)), self.median(|c| a_check(c.written, c)))
    }
}

/// The median; for an even number the mean of the middle two. NaN without values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 9.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }

    #[test]
    fn planning_is_no_part_of_checking() {
        let stages = vec![("merge".to_owned(), 1.5), (PLAN.to_owned(), 2.0), ("commit".to_owned(), 0.5)];
        let cycle = CycleOutcome { checks: 10, stages, read: 40, written: 20, ..CycleOutcome::default() };
        assert_eq!((cycle.seconds(), cycle.step_seconds()), (2.0, 4.0));
        let outcome = ContenderOutcome { cycles: vec![cycle], ..ContenderOutcome::default() };
        assert_eq!((outcome.checks_a_second(), outcome.bytes_a_check()), (5.0, (4.0, 2.0)));
    }
}
