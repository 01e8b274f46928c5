//! The truth: the content of every page in every cycle.

use std::borrow::Cow;
use std::ops::Range;

/// The recorded history of all pages, cycle by cycle. Cycle 0 is the first observation, without
/// changes.
///
/// There are two equivalent forms. If no page returns to an earlier content and no cycle is above
/// 63, a page is one machine word, and "changed since" is one mask. Otherwise the number of the
/// current content is kept for every page and cycle, two bytes each.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    cycles: u32,
    contents: ContentVersions,
    /// For each cycle, the pages whose content differs from the previous cycle, ascending.
    changed: Vec<Vec<u32>>,
}

#[derive(Clone, Debug, PartialEq)]
enum ContentVersions {
    /// Bit c of a page's word: whether it changed between cycles c − 1 and c.
    Words(Vec<u64>),
    /// The content's number, all pages of cycle `base` first. Cycles before are like it.
    Versions { pages: usize, base: u32, numbers: Vec<u16> },
}

/// The last cycle that fits in a machine word.
pub const LAST_OF_A_WORD: u32 = 63;

impl Truth {
    /// From one word per page, with bit c set if the page changed in cycle c; no content returns.
    ///
    /// # Panics
    /// If `cycles`, the number of the last cycle, is above [`LAST_OF_A_WORD`], or bit 0 or a bit
    /// above `cycles` is set.
    pub fn from_words(cycles: u32, words: Vec<u64>) -> Truth {
        assert!(cycles <= LAST_OF_A_WORD, "{cycles} cycles in a word");
        let room = u64::MAX >> (LAST_OF_A_WORD - cycles) & !1;
        let mut changed = vec![Vec::new(); cycles as usize + 1];
        for (page, &word) in words.iter().enumerate() {
            assert_eq!(word & !room, 0, "page {page} changes outside cycles 1 to {cycles}");
            let mut rest = word;
            while rest != 0 {
                changed[rest.trailing_zeros() as usize].push(page as u32);
                rest &= rest - 1;
            }
        }
        Truth { cycles, contents: ContentVersions::Words(words), changed }
    }

    /// From each page's changes: pairs of a cycle and the number of the new content, by ascending
    /// cycle; content 0 comes first. Uses words if possible.
    ///
    /// # Panics
    /// If cycles do not ascend from 1 to `cycles`, or a content follows itself.
    pub fn from_changes<'a>(cycles: u32, pages: impl Iterator<Item = &'a [(u32, u16)]>) -> Truth {
        let pages: Vec<&[(u32, u16)]> = pages.collect();
        // Without a return every number exceeds all before it.
        let returns = |page: &&[(u32, u16)]| page.iter().zip(1..).any(|(&(_, version), next)| version < next);
        if cycles <= LAST_OF_A_WORD && !pages.iter().any(returns) {
            let word = |page: &&[(u32, u16)]| page.iter().fold(0, |word, &(cycle, _)| word | 1 << cycle);
            return Truth::from_words(cycles, pages.iter().map(word).collect());
        }
        Truth::from_versions(0, cycles, &pages)
    }

    /// From changes that all come after cycle `base`: memory is taken for the cycles from it on.
    ///
    /// # Panics
    /// As of [`Truth::from_changes`], and if a change is not after `base`.
    pub fn from_changes_after<'a>(
        base: u32,
        cycles: u32,
        pages: impl Iterator<Item = &'a [(u32, u16)]>,
    ) -> Truth {
        Truth::from_versions(base, cycles, &pages.collect::<Vec<_>>())
    }

    fn from_versions(base: u32, cycles: u32, pages: &[&[(u32, u16)]]) -> Truth {
        let mut numbers = vec![0; pages.len() * ((cycles - base) as usize + 1)];
        let mut changed = vec![Vec::new(); cycles as usize + 1];
        for (page, changes) in pages.iter().enumerate() {
            let (mut before, mut version) = (base, 0);
            let ends = changes.iter().map(|c| c.0).skip(1).chain([cycles + 1]);
            for (&(cycle, next), end) in changes.iter().zip(ends) {
                assert!(before < cycle && cycle <= cycles, "page {page}: cycle {cycle} after {before}");
                assert_ne!(next, version, "page {page}: content {next} follows itself in cycle {cycle}");
                (before, version) = (cycle, next);
                changed[cycle as usize].push(page as u32);
                for c in cycle..end {
                    numbers[(c - base) as usize * pages.len() + page] = version;
                }
            }
        }
        Truth { cycles, contents: ContentVersions::Versions { pages: pages.len(), base, numbers }, changed }
    }

    /// The number of the last cycle.
    pub fn cycles(&self) -> u32 {
        self.cycles
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        match &self.contents {
            ContentVersions::Words(words) => words.len(),
            ContentVersions::Versions { pages, .. } => *pages,
        }
    }

    /// The form: "words" or "versions".
    pub fn form(&self) -> &'static str {
        match self.contents {
            ContentVersions::Words(_) => "words",
            ContentVersions::Versions { .. } => "versions",
        }
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> u64 {
        let contents = match &self.contents {
            ContentVersions::Words(words) => size_of_val(words.as_slice()),
            ContentVersions::Versions { numbers, .. } => size_of_val(numbers.as_slice()),
        };
        let lists = self.changed.iter().map(|pages| size_of::<Vec<u32>>() + size_of_val(pages.as_slice()));
        contents as u64 + lists.sum::<usize>() as u64
    }

    /// The pages whose content in `cycle` differs from the previous cycle, ascending; none in cycle
    /// 0.
    pub fn changed_in(&self, cycle: u32) -> &[u32] {
        &self.changed[cycle as usize]
    }

    /// Whether the page's content in cycle `now` differs from that in `seen`, which is not later. A
    /// page that changed back does not differ.
    #[inline]
    pub fn differs(&self, page: usize, seen: u32, now: u32) -> bool {
        self.since(seen, now).differs(page)
    }

    /// The same question about many pages.
    #[inline]
    pub fn since(&self, seen: u32, now: u32) -> Since<'_> {
        debug_assert!(seen <= now && now <= self.cycles);
        match &self.contents {
            ContentVersions::Words(words) => {
                // Bits seen + 1 to now; neither shift reaches 64.
                let mask = (u64::MAX >> (LAST_OF_A_WORD - now)) & !(u64::MAX >> (LAST_OF_A_WORD - seen));
                Since::Words { words, mask }
            }
            ContentVersions::Versions { pages, base, numbers } => {
                let row = |cycle: u32| &numbers[cycle.saturating_sub(*base) as usize * pages..][..*pages];
                Since::Versions { seen: row(seen), now: row(now) }
            }
        }
    }

    /// Number of changes of each page, from cycle 1 to the last.
    pub fn changes(&self) -> Vec<u32> {
        let mut counts = vec![0; self.pages()];
        for &page in self.changed.iter().flatten() {
            counts[page as usize] += 1;
        }
        counts
    }

    /// The number of each page here, in an order in which pages with similar changes are near each other, and the
    /// history of pages in that order. The first cycle in which two pages differ decides. Only words are reordered.
    pub fn by_likeness(&self) -> (Vec<u32>, Cow<'_, Truth>) {
        let mut pages: Vec<u32> = (0..self.pages() as u32).collect();
        match &self.contents {
            ContentVersions::Words(words) => {
                pages.sort_by_cached_key(|&page| words[page as usize].reverse_bits());
                let part = self.part(&pages, 0..self.cycles + 1);
                (pages, Cow::Owned(part))
            }
            ContentVersions::Versions { .. } => (pages, Cow::Borrowed(self)),
        }
    }

    /// Passes each page's changes to `each`, in the form of [`Truth::from_changes`].
    ///
    /// # Errors
    /// The first error of `each`; no page follows it.
    pub fn try_each_page<E>(
        &self,
        mut each: impl FnMut(usize, &[(u32, u16)]) -> Result<(), E>,
    ) -> Result<(), E> {
        // Converts lists by cycle into lists by page: sizes first, then entries.
        let counts = self.changes();
        let mut next: Vec<usize> = Vec::with_capacity(counts.len());
        let mut total = 0;
        for &count in &counts {
            next.push(total);
            total += count as usize;
        }
        let mut cycles = vec![0; total];
        for (cycle, pages) in self.changed.iter().enumerate() {
            for &page in pages {
                cycles[next[page as usize]] = cycle as u32;
                next[page as usize] += 1;
            }
        }
        let mut changes = Vec::new();
        for (page, &count) in counts.iter().enumerate() {
            changes.clear();
            for (place, &cycle) in (1..).zip(&cycles[next[page] - count as usize..next[page]]) {
                let version = match &self.contents {
                    ContentVersions::Words(_) => place,
                    ContentVersions::Versions { pages, base, numbers } => {
                        numbers[(cycle - base) as usize * pages + page]
                    }
                };
                changes.push((cycle, version));
            }
            each(page, &changes)?;
        }
        Ok(())
    }

    /// The history of some pages over `cycles`; `cycles.start` becomes cycle 0.
    ///
    /// # Panics
    /// If a page or the range is outside the history, or the range is empty.
    pub fn part(&self, pages: &[u32], cycles: Range<u32>) -> Truth {
        assert!(!cycles.is_empty() && cycles.end <= self.cycles + 1, "cycles {cycles:?} of {}", self.cycles);
        let last = cycles.end - 1 - cycles.start;
        match &self.contents {
            ContentVersions::Words(words) => {
                let room = u64::MAX >> (LAST_OF_A_WORD - last) & !1;
                let words = pages.iter().map(|&p| words[p as usize] >> cycles.start & room).collect();
                Truth::from_words(last, words)
            }
            ContentVersions::Versions { pages: all, base, numbers } => {
                let at = |page: u32, cycle: u32| {
                    numbers[cycle.saturating_sub(*base) as usize * all + page as usize]
                };
                let mut changes = Vec::with_capacity(pages.len());
                for &page in pages {
                    let moved = |c: &u32| at(page, *c) != at(page, *c - 1);
                    let listed: Vec<(u32, u16)> = (cycles.start + 1..cycles.end)
                        .filter(moved)
                        .map(|c| (c - cycles.start, at(page, c)))
                        .collect();
                    changes.push((at(page, cycles.start), listed));
                }
                for (first, listed) in &mut changes {
                    number_from(*first, listed);
                }
                let changes = changes.iter().map(|(_, listed)| listed.as_slice());
                match base.saturating_sub(cycles.start) {
                    0 => Truth::from_changes(last, changes),
                    base => Truth::from_changes_after(base.min(last), last, changes),
                }
            }
        }
    }
}

/// Numbers the contents of a page by their first use, from `first`, which gets 0: so words can be detected.
pub(crate) fn number_from(first: u16, changes: &mut [(u32, u16)]) {
    let mut known = vec![first];
    for (_, version) in changes {
        let place = known.iter().position(|v| v == version).unwrap_or_else(|| {
            known.push(*version);
            known.len() - 1
        });
        *version = place as u16;
    }
}

/// Tells whether pages differ between an earlier and a later cycle.
#[derive(Clone, Copy, Debug)]
pub enum Since<'a> {
    /// Any change in the mask is a difference.
    Words {
        /// One word per page.
        words: &'a [u64],
        /// The cycles after the earlier one, up to the later.
        mask: u64,
    },
    /// The numbers of the contents differ.
    Versions {
        /// All pages in the earlier cycle.
        seen: &'a [u16],
        /// All pages in the later cycle.
        now: &'a [u16],
    },
}

impl Since<'_> {
    /// Whether the page differs.
    #[inline]
    pub fn differs(&self, page: usize) -> bool {
        match self {
            Since::Words { words, mask } => words[page] & mask != 0,
            Since::Versions { seen, now } => seen[page] != now[page],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The content of every page in every cycle, by random walks over few contents.
    fn histories(returns: bool) -> impl Strategy<Value = Vec<Vec<(u32, u16)>>> {
        let page = prop::collection::vec((1u32..8, 0u16..3), 0..12);
        let page = page.prop_map(move |steps| {
            let (mut cycle, mut changes, mut known, mut version) = (0, Vec::new(), 0, 0);
            for (gap, step) in steps {
                cycle += gap;
                let next = if returns && step < known { step } else { known + 1 };
                if cycle > 40 || next == version {
                    continue;
                }
                (version, known) = (next, known.max(next));
                changes.push((cycle, version));
            }
            changes
        });
        prop::collection::vec(page, 1..6)
    }

    fn content(changes: &[(u32, u16)], cycle: u32) -> u16 {
        changes.iter().take_while(|c| c.0 <= cycle).last().map_or(0, |c| c.1)
    }

    fn truth(pages: &[Vec<(u32, u16)>]) -> Truth {
        Truth::from_changes(40, pages.iter().map(Vec::as_slice))
    }

    proptest! {
        #[test]
        fn the_order_by_likeness_moves_pages_with_their_history(pages in histories(false), returning in histories(true)) {
            let words = truth(&pages);
            let (numbers, ordered) = words.by_likeness();
            let mut all = numbers.clone();
            all.sort_unstable();
            prop_assert_eq!(all, (0..pages.len() as u32).collect::<Vec<_>>());
            prop_assert_eq!(&*ordered, &words.part(&numbers, 0..41));
            let cycles = |&page: &u32| -> Vec<bool> {
                (1..=40).map(|cycle| pages[page as usize].iter().any(|change| change.0 == cycle)).collect()
            };
            prop_assert!(numbers.iter().map(cycles).is_sorted());
            let truth = truth(&returning);
            let (numbers, ordered) = truth.by_likeness();
            prop_assert_eq!(&*ordered, &truth.part(&numbers, 0..41), "in the form of versions too");
        }

        #[test]
        fn cycles_before_the_base_are_like_it(pages in histories(true), base in 0u32..30, seen in 0u32..=40) {
            let after: Vec<Vec<(u32, u16)>> = pages.iter().map(|changes| {
                let mut kept: Vec<(u32, u16)> = changes.iter().copied().filter(|c| c.0 > base).collect();
                if kept.first().is_some_and(|first| first.1 == 0) {
                    kept.remove(0);
                }
                kept
            }).collect();
            let slices = || after.iter().map(Vec::as_slice);
            let whole = Truth::from_versions(0, 40, &slices().collect::<Vec<_>>());
            let truth = Truth::from_changes_after(base, 40, slices());
            prop_assert!(truth.bytes() <= whole.bytes());
            for page in 0..pages.len() {
                for now in seen..=40 {
                    prop_assert_eq!(truth.differs(page, seen, now), whole.differs(page, seen, now));
                }
            }
            let ordinals: Vec<u32> = (0..pages.len() as u32).rev().collect();
            for start in [0, base / 2, base, base + 3] {
                let [part, expected] = [&truth, &whole].map(|truth| truth.part(&ordinals, start..41));
                for page in 0..pages.len() {
                    for seen in 0..=40 - start {
                        prop_assert_eq!(part.differs(page, seen, 40 - start), expected.differs(page, seen, 40 - start));
                    }
                }
                prop_assert_eq!(part.changes(), expected.changes());
            }
        }

        #[test]
        fn both_forms_answer_as_the_list_of_changes(
            pages in any::<bool>().prop_flat_map(histories), seen in 0u32..=40, gap in 0u32..=40,
        ) {
            let now = (seen + gap).min(40);
            let truth = truth(&pages);
            let slices: Vec<&[(u32, u16)]> = pages.iter().map(Vec::as_slice).collect();
            let versions = Truth::from_versions(0, 40, &slices);
            for (page, changes) in pages.iter().enumerate() {
                let differs = content(changes, seen) != content(changes, now);
                prop_assert_eq!(truth.differs(page, seen, now), differs);
                prop_assert_eq!(versions.differs(page, seen, now), differs);
            }
            for cycle in 0..=40 {
                let listed: Vec<u32> = (0..pages.len() as u32)
                    .filter(|&p| pages[p as usize].iter().any(|c| c.0 == cycle)).collect();
                prop_assert_eq!(truth.changed_in(cycle), &listed);
                prop_assert_eq!(versions.changed_in(cycle), &listed);
            }
            prop_assert_eq!(truth.changes(), pages.iter().map(|p| p.len() as u32).collect::<Vec<_>>());
            for form in [truth, versions] {
                let mut listed = Vec::new();
                let each = |_, changes: &[(u32, u16)]| -> Result<(), ()> { listed.push(changes.to_vec()); Ok(()) };
                prop_assert_eq!(form.try_each_page(each), Ok(()));
                prop_assert_eq!(&listed, &pages);
            }
        }

        #[test]
        fn a_part_answers_as_the_whole(
            pages in any::<bool>().prop_flat_map(histories), start in 0u32..40, length in 1u32..41,
        ) {
            let cycles = start..(start + length).min(41);
            let whole = truth(&pages);
            let chosen: Vec<u32> = (0..pages.len() as u32).rev().step_by(2).collect();
            let part = whole.part(&chosen, cycles.clone());
            prop_assert_eq!(part.cycles(), cycles.end - 1 - cycles.start);
            for now in cycles.clone() {
                for (row, &page) in chosen.iter().enumerate() {
                    prop_assert_eq!(
                        part.differs(row, 0, now - start), whole.differs(page as usize, start, now));
                }
            }
        }
    }

    #[test]
    fn pages_that_never_change_back_are_words() {
        let forward = truth(&[vec![(3, 1), (40, 2)], vec![]]);
        assert!(matches!(forward.contents, ContentVersions::Words(_)));
        let back = truth(&[vec![(3, 1), (40, 0)]]);
        assert!(matches!(back.contents, ContentVersions::Versions { .. }));
        assert!(!back.differs(0, 0, 40) && back.differs(0, 0, 39));
        let long = Truth::from_changes(64, [[(64, 1)].as_slice()].into_iter());
        assert!(matches!(long.contents, ContentVersions::Versions { .. }));
        // The part of a page that changed back before it began is a word again.
        assert!(matches!(back.part(&[0], 3..40).contents, ContentVersions::Words(_)));
    }
}
