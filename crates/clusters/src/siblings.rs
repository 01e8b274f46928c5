//! Siblings: the pages of one small subtree of URLs.

use crate::shown::{MEMORY, Shown};
use crate::subtree::{Group, SubtreeFinder};
use recrawl_types::{Cycle, StateColumns};

/// Gathers what siblings show, in one pass in URL order.
pub struct SiblingsGatherer {
    finder: SubtreeFinder,
    cycle: Cycle,
}

/// What siblings show of each other as of a cycle.
#[derive(Clone, Debug, Default)]
pub struct Siblings {
    /// By start; of two groups with one start, the outer one first.
    groups: Vec<Entry>,
}

/// A group of siblings.
#[derive(Clone, Debug)]
struct Entry {
    start: u64,
    end: u64,
    /// The place of the group around this one.
    outer: Option<u32>,
    pages: u64,
    changes: f64,
    cycles: f64,
    bursts: [f32; MEMORY + 1],
}

/// The group of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SiblingGroup {
    /// Its number.
    pub number: u32,
    /// Its visited pages.
    pub pages: u64,
}

impl SiblingGroup {
    /// The most of its pages that a round visits which is not the last of its cycle: one of [`Siblings::MOST`].
    pub fn sample(&self) -> u64 {
        self.pages.div_ceil(Siblings::MOST)
    }
}

impl SiblingsGatherer {
    /// Gathers as of `cycle`.
    pub fn new(cycle: Cycle) -> SiblingsGatherer {
        SiblingsGatherer { finder: SubtreeFinder::new(Siblings::MOST), cycle }
    }

    /// Adds the page in a row, if it was ever visited. Keys and ordinals rise from call to call. The rate of all
    /// pages is filled in.
    pub fn push(&mut self, key: &[u8], ordinal: u64, columns: &StateColumns, row: usize) {
        if columns.visited[row] {
            self.finder.push(key, ordinal, Shown::of_row(columns, row, self.cycle));
        }
    }

    /// What they show.
    pub fn finish(self) -> Siblings {
        Siblings::of(self.finder.finish())
    }
}

impl Siblings {
    /// Maximum pages of a subtree whose pages are siblings.
    pub const MOST: u64 = 8;
    /// After this many observed cycles of its pages, a group has the same weight as its site.
    pub const WEIGHT: f64 = 500.0;

    fn of(mut groups: Vec<Group>) -> Siblings {
        groups.sort_unstable_by_key(|group| (group.start, u64::MAX - group.end));
        let mut entries: Vec<Entry> = Vec::with_capacity(groups.len());
        for group in groups {
            let mut outer = entries.len().checked_sub(1);
            while let Some(place) = outer.filter(|&place| entries[place].end <= group.start) {
                outer = entries[place].outer.map(|outer| outer as usize);
            }
            let evidence = group.shown.evidence;
            entries.push(Entry {
                start: group.start,
                end: group.end,
                outer: outer.map(|outer| outer as u32),
                pages: group.shown.pages,
                changes: evidence.changes as f64,
                cycles: evidence.cycles as f64,
                bursts: group.shown.bursts(),
            });
        }
        Siblings { groups: entries }
    }

    /// The group of a page that was visited; none if it has no siblings.
    pub fn group(&self, ordinal: u64) -> Option<SiblingGroup> {
        let place = self.place(ordinal)?;
        Some(SiblingGroup { number: place as u32, pages: self.groups[place].pages })
    }

    /// The sibling rate of a page with this site rate, and its burst `t` cycles after its last visit.
    pub fn of_page(&self, ordinal: u64, site_rate: f64, t: u32) -> (f64, f64) {
        let Some(place) = self.place(ordinal) else { return (site_rate, 1.0) };
        let Entry { changes, cycles, bursts, .. } = &self.groups[place];
        let rate = (changes + Siblings::WEIGHT * site_rate) / (cycles + Siblings::WEIGHT);
        (rate, f64::from(bursts[(t as usize).min(MEMORY)]))
    }

    /// The place of the innermost group around a page.
    fn place(&self, ordinal: u64) -> Option<usize> {
        let mut place = self.groups.partition_point(|group| group.start <= ordinal).checked_sub(1)?;
        while self.groups[place].end <= ordinal {
            place = self.groups[place].outer? as usize;
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{History, Known, UrlRules};

    /// Eleven pages of one host; all of the folder `a` changed in the last cycle but the one that was not visited.
    fn gathered() -> (Siblings, Vec<String>) {
        let rules = UrlRules::keep_all();
        let mut urls: Vec<_> = ["", "x", "a/1", "a/2", "a/3", "b/1", "b/2", "c/1", "c/d/1", "e/1", "e/2"]
            .map(|path| rules.canonicalize(&format!("http://h.test/{path}")).unwrap())
            .into();
        urls.sort();
        let mut columns = StateColumns { global_rate: 0.01, ..StateColumns::default() };
        for url in &urls {
            let path = url.to_string();
            let mut history = History::first_fetch(Cycle(1));
            if path.contains("/a/") && !path.ends_with('3') {
                history.record(Cycle(20), true);
            }
            columns.push(Known::default(), Some(&history));
        }
        columns.push(Known::default(), None);
        let mut gatherer = SiblingsGatherer::new(Cycle(20));
        (0..).zip(&urls).for_each(|(row, url)| gatherer.push(url.key(), row as u64, &columns, row));
        // A page that was never visited is nobody's sibling.
        gatherer.push(&[urls[10].key(), b"/z"].concat(), 11, &columns, 11);
        (gatherer.finish(), urls.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_page_has_the_rate_and_the_burst_of_the_innermost_group() {
        let (siblings, urls) = gathered();
        let of = |path: &str, t| {
            let ordinal = urls.iter().position(|url| url.ends_with(path)).unwrap() as u64;
            (siblings.group(ordinal).unwrap().pages, siblings.of_page(ordinal, 0.02, t))
        };
        let (pages, (rate, burst)) = of("/a/3", 19);
        assert_eq!(pages, 3);
        assert_eq!(rate, (2.0 + 500.0 * 0.02) / (19.0 + 19.0 + 500.0));
        assert!(burst > 3.0, "{burst}");
        assert_eq!(of("/a/1", 0).1.1, 1.0, "what it showed itself tells it nothing");
        assert_eq!(of("/b/1", 19), (2, (0.02, 1.0)));
        assert_eq!(of("/x", 19).0, 2, "the pages beside the folders, / and x");
        assert_eq!((of("/c/1", 3).0, of("/c/d/1", 3).0), (2, 2), "c is small as a whole");
        assert_eq!((siblings.group(11), siblings.group(99)), (None, None));
        assert_eq!(Siblings::default().of_page(3, 0.25, 7), (0.25, 1.0));
    }

    #[test]
    fn a_sample_is_one_of_eight() {
        let sample = |pages| SiblingGroup { number: 0, pages }.sample();
        assert_eq!([2, 8, 9, 100].map(sample), [1, 1, 2, 13]);
    }
}
