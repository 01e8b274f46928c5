//! Builds a data set page by page while it is read.

use crate::{Dataset, RecordedPage, Signals, Truth, truth::LAST_OF_A_WORD};
use std::collections::HashMap;

/// The pages read so far.
#[derive(Default)]
pub struct Histories {
    pages: Vec<RecordedPage>,
    sites: Vec<String>,
    known_sites: HashMap<String, u32>,
    changes: Vec<(u32, u16)>,
    ends: Vec<usize>,
    signals: Signals,
    signal_count: usize,
    /// Whether any page shows an earlier content again.
    returns: bool,
}

impl Histories {
    /// The index of a site. Without a name, a page gets a site of its own.
    pub fn site(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.known_sites.get(name) {
            return place;
        }
        let place = self.sites.len() as u32;
        self.sites.push(name.to_owned());
        if !name.is_empty() {
            self.known_sites.insert(name.to_owned(), place);
        }
        place
    }

    /// Adds the next page. Its changes are as for [`Truth::from_changes`].
    ///
    /// # Errors
    /// If there are too many pages or changes.
    pub fn push(&mut self, page: RecordedPage, changes: &[(u32, u16)]) -> Result<(), String> {
        if self.pages.len() == Dataset::MAX_PAGES {
            return Err(format!("more than {} pages; split the data set", Dataset::MAX_PAGES));
        }
        if self.changes.len() + changes.len() > Dataset::MAX_CHANGES {
            return Err(format!("more than {} changes; split the data set", Dataset::MAX_CHANGES));
        }
        self.returns |= changes.iter().zip(1..).any(|(&(_, version), next)| version < next);
        self.changes.extend_from_slice(changes);
        self.ends.push(self.changes.len());
        self.pages.push(page);
        Ok(())
    }

    /// Adds the cycles of the signals of the page that was added last, ascending.
    ///
    /// # Errors
    /// If there are too many.
    pub fn signal(&mut self, cycles: &[u32]) -> Result<(), String> {
        self.signal_count += cycles.len();
        if self.signal_count > Dataset::MAX_CHANGES {
            return Err(format!("more than {} signals; split the data set", Dataset::MAX_CHANGES));
        }
        self.signals.push(self.pages.len() as u32 - 1, cycles);
        Ok(())
    }

    /// The data set; `cycles` is the number of the last cycle.
    ///
    /// # Errors
    /// If it is empty or larger than the memory limits.
    pub fn finish(self, name: String, dates: Vec<String>, cycles: u32) -> Result<Dataset, String> {
        if self.pages.is_empty() {
            return Err("no pages".into());
        }
        if cycles > Dataset::MAX_CYCLES {
            return Err(format!("last cycle {cycles}: the maximum is {}", Dataset::MAX_CYCLES));
        }
        let contents = self.pages.len() as u64 * (u64::from(cycles) + 1);
        if (self.returns || cycles > LAST_OF_A_WORD) && contents > Dataset::MAX_CONTENTS {
            let most = Dataset::MAX_CONTENTS;
            return Err(format!("{contents} pages times cycles: the maximum is {most}; split the data set"));
        }
        let starts = std::iter::once(&0).chain(&self.ends);
        let changes = starts.zip(&self.ends).map(|(&start, &end)| &self.changes[start..end]);
        let truth = Truth::from_changes(cycles, changes);
        Ok(Dataset { name, dates, pages: self.pages, sites: self.sites, truth, signals: self.signals })
    }
}
