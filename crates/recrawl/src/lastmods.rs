//! What a cycle teaches about the dates that sitemaps and feeds give, gathered while records are merged.

use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Cycle, LastmodCounts, Origin};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;

/// Counts of a cycle, by origin: one small entry for each whose pages have dates.
#[derive(Default)]
pub struct LastmodLesson {
    counts: RefCell<BTreeMap<Origin, LastmodCounts>>,
}

impl LastmodLesson {
    /// Takes in one comparison.
    pub fn observe(&self, url: &CanonicalUrl, newer: bool, changed: bool) {
        self.counts.borrow_mut().entry(Origin::of(url)).or_default().observe(newer, changed);
    }

    /// Adds it to what is known.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn keep(self, tables: &SledTables, cycle: Cycle) -> io::Result<()> {
        tables.apply_lastmods(cycle, self.counts.into_inner())
    }
}
