//! The importance of pages by their numbers.
//!
//! The pages of a pattern lie in one or two runs of URL order, so a few look-ups serve a plan of any size, and no URL is
//! compared with a rule.

use crate::admission::pattern::Pattern;
use crate::page_rules::PageRules;
use recrawl_repository::{Generation, ReadError};
use recrawl_types::StateColumns;
use std::ops::Range;

/// Runs of pages of equal importance: the number of the first page of each, and its importance.
#[derive(Debug, PartialEq)]
pub struct ImportanceRuns(Vec<(u64, f64)>);

impl ImportanceRuns {
    /// By the rules in force. Reads two blocks at most for each end of a run.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn read(rules: &PageRules, generation: &Generation) -> Result<ImportanceRuns, ReadError> {
        let mut ruled: Vec<(Range<u64>, f64)> = Vec::new();
        for rule in &rules.0 {
            for pages in pages_of(&rule.pattern, generation)? {
                ruled.push((pages, rule.importance.value()));
            }
        }
        let mut firsts: Vec<u64> = ruled.iter().flat_map(|(pages, _)| [pages.start, pages.end]).collect();
        firsts.push(0);
        firsts.sort_unstable();
        firsts.dedup();
        // The first rule that matches a page applies.
        let of = |page: &u64| ruled.iter().find(|(pages, _)| pages.contains(page)).map_or(1.0, |(_, of)| *of);
        Ok(ImportanceRuns(firsts.into_iter().map(|first| (first, of(&first))).collect()))
    }

    /// Fills the importance of a block whose first page has the ordinal `first`.
    pub fn fill(&self, first: u64, columns: &mut StateColumns) {
        let mut run = self.0.partition_point(|(start, _)| *start <= first) - 1;
        columns.importance.clear();
        for ordinal in (first..).take(columns.len()) {
            run += usize::from(self.0.get(run + 1).is_some_and(|(start, _)| *start <= ordinal));
            columns.importance.push(self.0[run].1);
        }
    }
}

/// The runs of pages of a pattern.
fn pages_of(pattern: &Pattern, generation: &Generation) -> Result<Vec<Range<u64>>, ReadError> {
    // Keys are ASCII without control characters.
    let between = |from: &[u8], after: u8| {
        Ok(generation.pages_before(from)?..generation.pages_before(&[from, &[after]].concat())?)
    };
    match (pattern, pattern.key_prefixes()) {
        (Pattern::Page(page), _) => Ok(vec![between(page.key(), 0)?]),
        (_, prefixes) => prefixes.iter().flatten().map(|prefix| between(prefix, u8::MAX)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PagesTable;
    use proptest::prelude::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Cycle, Importance, Known, PageRecord, UrlRules};
    use std::sync::Arc;

    const MATCHES: [&str; 9] = [
        "https://a.test/x/1",
        "https://a.test/x/*",
        "https://a.test/",
        "http://a.test/x/7",
        "a.test",
        "www.a.test",
        "*.a.test",
        "*.test",
        "*",
    ];

    proptest! {
        /// The runs give each page what its rule does, whatever rules there are.
        #[test]
        fn runs_agree_with_the_rules(
            given in prop::collection::vec(prop::option::of(0..4_000u32), MATCHES.len()), pages in 0..700usize,
        ) {
            let tables = MATCHES.iter().zip(given).filter_map(|(matches, importance)| {
                let importance = Importance::new(f64::from(importance?) / 1_000.0);
                Some(PagesTable { matches: (*matches).into(), importance, ..PagesTable::default() })
            });
            let urls = UrlRules::keep_all();
            let rules = PageRules::new(&tables.collect::<Vec<_>>(), &urls).unwrap();
            let hosts = ["https://a.test", "http://a.test", "https://www.a.test", "https://b.test", "https://c.example"];
            let mut all: Vec<_> = (0..pages)
                .map(|i| format!("{}/{}{}", hosts[i % 5], ["", "x/", "y/"][i % 3], ["", "1", "7", "12"][i % 4]))
                .chain((0..pages).map(|i| format!("https://a.test/x/{i}")))
                .map(|url| urls.canonicalize(&url).unwrap())
                .collect();
            all.sort();
            all.dedup();
            let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
            let empty = Generation::default();
            let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
            all.iter().for_each(|url| writer.push(url.key(), &PageRecord::discovered(Cycle(1), 1)).unwrap());
            repository.commit(writer, b"").unwrap();
            let runs = ImportanceRuns::read(&rules, &repository.current()).unwrap();
            let expected: Vec<f64> = all.iter().map(|url| rules.importance(url).value()).collect();
            for first in (0..all.len()).step_by(97) {
                let mut columns = StateColumns::default();
                expected[first..].iter().for_each(|_| columns.push(Known::default(), None));
                runs.fill(first as u64, &mut columns);
                prop_assert_eq!(&columns.importance, &expected[first..]);
            }
        }
    }
}
