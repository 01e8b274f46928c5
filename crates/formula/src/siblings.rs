//! Siblings: pages that are next to each other in URL order, in one subtree.
//!
//! They are found in one pass over the records, and all that they show follows from the records, so nothing is stored
//! for them. The change rate of a group is a prior for its pages (Tan and Mitra 2010). The last visits of a page's
//! siblings tell of changes that the page has not shown yet (Radinsky and Bennett 2013, related pages).

mod shown;

pub use shown::ObservedVisits;

use recrawl_types::{CanonicalUrl, Cycle, StateColumns, shared_beginning};
use shown::{MEMORY, ShownPages};
use std::ops::Range;

/// Maximum pages of a group of siblings.
pub const GROUP_PAGES: usize = 8;
/// After this many observed cycles of its pages, a group has the same weight as its site.
pub const WEIGHT: f64 = 500.0;

/// Fills the columns of siblings as of `cycle`, from `pages`: their keys, rising, and rows. Other rows have no
/// siblings. The rates of sites and of all pages are filled in.
///
/// A group is the largest subtree (an origin or a folder) of at most [`GROUP_PAGES`] visited pages. In a larger folder,
/// the pages directly in it form groups of up to [`GROUP_PAGES`] in a row; a subtree of one page counts as such a page.
/// The folders of the first and the last page count as large, since the pages may be a part of more. Gone pages count.
/// Takes O(1) time a page, and memory for one URL and a range for each group. Gives the groups that
/// [burst](is_burst) now.
pub fn fill<'k>(
    columns: &mut StateColumns,
    cycle: Cycle,
    pages: impl Iterator<Item = (&'k [u8], usize)>,
) -> Vec<Group> {
    Groups::of_visited(columns, pages).fill(columns, cycle)
}

/// The groups of siblings among the visited pages of a block. They last until another page is visited for the first
/// time.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// The rows of the visited pages, in URL order.
    rows: Vec<usize>,
    /// Each group, as places in `rows`.
    groups: Vec<Range<usize>>,
}

impl Groups {
    /// Finds the groups of [`fill`].
    pub fn of_visited<'k>(columns: &StateColumns, pages: impl Iterator<Item = (&'k [u8], usize)>) -> Groups {
        let mut finder = Finder::default();
        let mut rows = Vec::with_capacity(columns.len());
        for (key, row) in pages.filter(|(_, row)| columns.visited[*row]) {
            finder.push(key);
            rows.push(row);
        }
        Groups { rows, groups: finder.finish() }
    }

    /// Number of visited pages when the groups were found.
    pub fn pages(&self) -> usize {
        self.rows.len()
    }

    /// Fills the columns, like [`fill`].
    pub fn fill(&self, columns: &mut StateColumns, cycle: Cycle) -> Vec<Group> {
        columns.siblings.clear();
        columns.siblings.resize(columns.len(), StateColumns::ALONE);
        columns.burst.clear();
        columns.burst.resize(columns.len(), 1.0);
        columns.sibling_rate.clone_from(&columns.site_rate);
        let mut bursting = Vec::new();
        for (number, group) in (0..).zip(&self.groups) {
            let rows = &self.rows[group.clone()];
            let mut shown = ShownPages::NONE;
            rows.iter().for_each(|&row| shown.add_row(columns, row, cycle));
            let bursts = shown.bursts();
            for &row in rows {
                let age = cycle.since(Cycle(columns.last[row])) as usize;
                columns.siblings[row] = number;
                columns.burst[row] = bursts[age.min(MEMORY)];
                columns.sibling_rate[row] = shown.evidence.rate_shrunk(columns.site_rate[row], WEIGHT);
            }
            let met = shown.later_than(NOW);
            if is_burst(&met) {
                bursting.push(Group { first: rows[0], last: rows[rows.len() - 1], pages: rows.len(), met });
            }
        }
        bursting
    }
}

/// A group of siblings, and what its last visits met.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The row of its first page.
    pub first: usize,
    /// The row of its last page.
    pub last: usize,
    /// Number of its pages.
    pub pages: usize,
    /// What the visits met that are meant.
    pub met: ObservedVisits,
}

/// Visits in this cycle and the one before tell of a burst now.
const NOW: usize = 2;

/// Do visits tell of a burst? At least 3 changes, and at least twice as many as expected: one or two are chance.
pub fn is_burst(met: &ObservedVisits) -> bool {
    met.changes >= 3 && met.burst() >= 2.0
}

/// The group of the page in a row that [`fill`] has filled, with the last visits since its own that tell of a burst:
/// those of the last 16 cycles. None for a page without siblings.
pub fn of_page(columns: &StateColumns, cycle: Cycle, row: usize) -> Option<Group> {
    let number = columns.siblings[row];
    let rows: Vec<usize> = (0..columns.len()).filter(|&other| columns.siblings[other] == number).collect();
    let (&first, &last) = rows.first().zip(rows.last()).filter(|_| number != StateColumns::ALONE)?;
    let mut shown = ShownPages::NONE;
    rows.iter().for_each(|&row| shown.add_row(columns, row, cycle));
    let age = cycle.since(Cycle(columns.last[row])) as usize;
    Some(Group { first, last, pages: rows.len(), met: shown.later_than(age) })
}

/// Finds the groups of pages that are pushed in URL order, each as a range of their places.
#[derive(Default)]
struct Finder {
    key: Vec<u8>,
    pages: usize,
    /// The folders of the last key, outermost first.
    folders: Vec<SiblingFolder>,
    /// The last pages in a row that are directly in a large folder.
    run: Range<usize>,
    groups: Vec<Range<usize>>,
}

/// An open folder.
struct SiblingFolder {
    /// Length of its prefix of the key.
    prefix: usize,
    start: usize,
    /// Its pages and closed subfolders, as long as it is small.
    parts: Vec<Range<usize>>,
    is_large: bool,
}

impl Finder {
    fn push(&mut self, key: &[u8]) {
        let common = shared_beginning(&self.key, key);
        self.close(common);
        let start = self.pages;
        let open = CanonicalUrl::folders_beyond(common, key);
        let is_large = self.pages == 0;
        self.folders.extend(open.map(|prefix| SiblingFolder { prefix, start, parts: Vec::new(), is_large }));
        self.key.clear();
        self.key.extend_from_slice(key);
        self.pages += 1;
        self.add(start..self.pages);
    }

    fn finish(mut self) -> Vec<Range<usize>> {
        self.grow();
        self.close(0);
        self.groups
    }

    /// Closes the folders whose prefix is longer than `common`.
    fn close(&mut self, common: usize) {
        while let Some(folder) = self.folders.pop_if(|folder| folder.prefix > common) {
            if folder.is_large {
                self.leave(folder.start);
            } else if self.folders.is_empty() {
                self.emit(folder.start..self.pages);
            } else {
                self.add(folder.start..self.pages);
            }
        }
    }

    /// Adds a page or a small subtree to the innermost folder.
    fn add(&mut self, part: Range<usize>) {
        // Bytes that are no key have no folder.
        let Some(folder) = self.folders.last_mut() else { return };
        if folder.is_large {
            return self.take(part);
        }
        folder.parts.push(part);
        if self.pages - folder.start > GROUP_PAGES {
            self.grow();
        }
    }

    /// The innermost folder is large, and so are those around it.
    fn grow(&mut self) {
        for at in 0..self.folders.len() {
            if !std::mem::replace(&mut self.folders[at].is_large, true) {
                self.leave(self.folders[at].start);
                let parts = std::mem::take(&mut self.folders[at].parts);
                parts.into_iter().for_each(|part| self.take(part));
            }
        }
    }

    /// A part of a large folder: a page joins the run, a subtree is a group.
    fn take(&mut self, part: Range<usize>) {
        if part.len() > 1 {
            self.end_run();
            self.emit(part);
        } else if self.run.end == part.start && self.run.len() < GROUP_PAGES {
            self.run.end = part.end;
        } else {
            self.end_run();
            self.run = part;
        }
    }

    /// Ends the run where a large folder begins or ends, unless it has one page.
    fn leave(&mut self, start: usize) {
        if self.pages - start > 1 {
            self.end_run();
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.emit(run);
    }

    fn emit(&mut self, group: Range<usize>) {
        if group.len() > 1 {
            self.groups.push(group);
        }
    }
}

#[cfg(test)]
mod tests;
