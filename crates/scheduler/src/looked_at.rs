//! The population of the audit sample by parts of the hosts, of a plan that does not treat them apart.

/// Adds up by part what a selection adds up in all.
pub(crate) struct LookedAt {
    /// Pages and part of each run that comes, in scan order.
    runs: std::vec::IntoIter<(u64, usize)>,
    /// Pages that are left of the present run, and its part.
    left: u64,
    part: usize,
    /// The population of all runs so far, and the changes expected in it.
    before: (u64, f64),
    parts: Vec<(u64, f64)>,
}

impl LookedAt {
    pub fn new(runs: Vec<(u64, usize)>) -> LookedAt {
        LookedAt { runs: runs.into_iter(), left: 0, part: 0, before: (0, 0.0), parts: Vec::new() }
    }

    /// How many of the next rows are in one run.
    pub fn in_run(&mut self, rows: usize) -> usize {
        while self.left == 0 {
            // The pages after the last run are of its part.
            (self.left, self.part) = self.runs.next().unwrap_or((u64::MAX, self.part));
        }
        usize::try_from(self.left).unwrap_or(usize::MAX).min(rows)
    }

    /// These rows of the run are scanned; the population of all rows is now so large.
    pub fn add(&mut self, rows: usize, pages: u64, expected: f64) {
        self.left -= rows as u64;
        if self.parts.len() <= self.part {
            self.parts.resize(self.part + 1, (0, 0.0));
        }
        let part = &mut self.parts[self.part];
        part.0 += pages - self.before.0;
        part.1 += expected - self.before.1;
        self.before = (pages, expected);
    }

    /// Pages of each part, and the changes expected in them.
    pub fn finish(self) -> Vec<(u64, f64)> {
        self.parts
    }
}
