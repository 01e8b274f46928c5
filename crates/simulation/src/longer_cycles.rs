//! Longer cycles: a history that is observed less often than it was recorded.

use crate::truth::number_from;
use crate::{Dataset, RecordedPage, Signals, Truth};
use std::sync::Arc;

impl Dataset {
    /// The history as every `step`-th recorded cycle shows it, from cycle 0; cycle `step * c` becomes c. A change that is
    /// undone in between is not seen, and several are one. Pages that exist in none of these cycles are left out. Signals
    /// since the kept cycle before are signals of the next one.
    ///
    /// # Panics
    /// If `step` is 0.
    pub fn every(&self, step: u32) -> Dataset {
        let last = self.truth.cycles() / step;
        let exists = |page: &RecordedPage| page.first.div_ceil(step) <= page.last / step;
        let pages = self.pages.iter().zip(0..).filter(|(page, _)| exists(page));
        let kept: Vec<u32> = pages.map(|(_, place)| place).collect();
        let part = match kept.len() == self.pages.len() {
            true => self.clone(),
            false => self.part(&kept, 0..self.truth.cycles() + 1),
        };
        let firsts: Vec<u32> = part.pages.iter().map(|page| page.first.div_ceil(step)).collect();
        let page = |page: RecordedPage| RecordedPage {
            first: page.first.div_ceil(step),
            last: page.last / step,
            ..page
        };
        Dataset {
            name: format!("{}, every {step} cycles", self.name),
            dates: part.dates.into_iter().step_by(step as usize).collect(),
            pages: part.pages.into_iter().map(page).collect(),
            truth: part.truth.every(step, &firsts),
            signals: part.signals.every(step, last, kept.len()),
            contents: part.contents.map(|contents| Arc::new(contents.every(step, last))),
            ..part
        }
    }
}

impl Truth {
    /// The contents in every `step`-th cycle, of pages with these first ones. What a page shows first is no change.
    fn every(&self, step: u32, firsts: &[u32]) -> Truth {
        let last = self.cycles() / step;
        let mut pages: Vec<Vec<(u32, u16)>> = Vec::with_capacity(self.pages());
        let each = |page: usize, changes: &[(u32, u16)]| -> Result<(), std::convert::Infallible> {
            let mut kept: Vec<(u32, u16)> = Vec::new();
            for &(cycle, version) in changes {
                let cycle = cycle.div_ceil(step);
                if kept.last().is_some_and(|kept| kept.0 == cycle) {
                    kept.pop();
                }
                if kept.last().map_or(0, |kept| kept.1) != version {
                    kept.push((cycle, version));
                }
            }
            kept.retain(|change| change.0 <= last);
            // Numbers stay, so that the first content and later ones are told apart.
            let shown =
                kept.iter().rev().find(|change| change.0 <= firsts[page]).map_or(0, |change| change.1);
            kept.retain(|change| change.0 > firsts[page]);
            number_from(shown, &mut kept);
            pages.push(kept);
            Ok(())
        };
        let Ok(()) = self.try_each_page(each);
        Truth::from_changes(last, pages.iter().map(Vec::as_slice))
    }
}

impl Signals {
    /// The signals since the kept cycle before, as signals of every `step`-th cycle.
    fn every(&self, step: u32, last: u32, pages: usize) -> Signals {
        let mut every = Signals::default();
        for (page, cycles) in (0..).zip(self.by_page(pages)) {
            let mut kept: Vec<u32> = cycles.into_iter().map(|cycle| cycle.div_ceil(step)).collect();
            kept.dedup();
            kept.retain(|cycle| *cycle <= last);
            every.push(page, &kept);
        }
        every
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReplayDocument;
    use crate::testing::with_contents;
    use proptest::prelude::*;

    const LAST: u32 = 60;

    /// Pages with at most three contents each, between which they go back and forth.
    fn history() -> impl Strategy<Value = Dataset> {
        let page = (0..=LAST, 0..=LAST, prop::collection::btree_map(1..=LAST, 0u16..3, 0..20));
        prop::collection::vec(page, 1..6).prop_map(|pages| {
            let mut changes = Vec::new();
            let mut recorded = Vec::new();
            for (a, b, contents) in pages {
                let (first, last) = (a.min(b), a.max(b));
                let listed = contents.into_iter().filter(|(cycle, _)| (first + 1..=last).contains(cycle));
                let mut listed: Vec<(u32, u16)> = listed.collect();
                let mut version = 0;
                listed.retain(|change| std::mem::replace(&mut version, change.1) != change.1);
                number_from(0, &mut listed);
                changes.push(listed);
                recorded.push(RecordedPage { first, last, ..RecordedPage::default() });
            }
            let mut signals = Signals::default();
            (0..).zip(&changes).for_each(|(page, listed)| {
                signals.push(page, &listed.iter().map(|change| change.0).collect::<Vec<_>>());
            });
            let data = Dataset {
                name: "pages".into(),
                dates: (0..=LAST)
                    .map(|day| format!("2026-{:02}-{:02}", 1 + day / 28, 1 + day % 28))
                    .collect(),
                truth: Truth::from_changes(LAST, changes.iter().map(Vec::as_slice)),
                pages: recorded,
                sites: vec!["a".into()],
                groups: vec!["a".into()],
                signals,
                contents: None,
                beginning: None,
            };
            with_contents(data, |page, version| ReplayDocument {
                bytes: 100 * page + u32::from(version),
                ..ReplayDocument::default()
            })
        })
    }

    proptest! {
        #[test]
        fn a_visit_meets_what_it_meets_on_that_day(data in history(), step in 1u32..=20) {
            let every = data.every(step);
            let last = LAST / step;
            prop_assert_eq!(every.truth.cycles(), last);
            let contents = data.contents.as_ref().unwrap();
            let mut row = 0;
            for (page, known) in data.pages.iter().enumerate() {
                let days = (0..=last).filter(|c| (known.first..=known.last).contains(&(c * step)));
                let days: Vec<u32> = days.collect();
                let (Some(first), Some(end)) = (days.first(), days.last()) else { continue };
                prop_assert_eq!((every.pages[row].first, every.pages[row].last), (*first, *end));
                for &seen in &days {
                    for &now in days.iter().filter(|now| **now >= seen) {
                        prop_assert_eq!(
                            every.truth.differs(row, seen, now),
                            data.truth.differs(page, seen * step, now * step)
                        );
                    }
                    let signalled = (seen * step).saturating_sub(step - 1)..=seen * step;
                    prop_assert_eq!(
                        every.signals.in_cycle(seen).contains(&(row as u32)),
                        seen > 0 && signalled.into_iter().any(|c| data.signals.in_cycle(c).contains(&(page as u32)))
                    );
                    let shown = every.contents.as_ref().unwrap().shown(row, seen);
                    prop_assert_eq!(shown, contents.shown(page, seen * step));
                    prop_assert_eq!(&every.dates[seen as usize], &data.dates[(seen * step) as usize]);
                }
                row += 1;
            }
            prop_assert_eq!(every.pages.len(), row);
            let firsts_stay = every.truth.try_each_page(|row, listed| {
                let is_later = |change: &(u32, u16)| change.0 > every.pages[row].first;
                if listed.iter().all(is_later) { Ok(()) } else { Err(row) }
            });
            prop_assert_eq!(firsts_stay, Ok(()), "what a page shows first is no change");
        }
    }

    #[test]
    fn a_change_that_is_undone_within_a_cycle_is_not_seen() {
        let page = RecordedPage { last: 14, ..RecordedPage::default() };
        let data = Dataset {
            name: "days".into(),
            dates: Vec::new(),
            pages: vec![page; 3],
            sites: vec!["a".into()],
            groups: vec!["a".into()],
            // Undone within a week; undone in the next week; changed thrice in a week.
            truth: Truth::from_changes(
                14,
                [&[(2, 1), (5, 0)][..], &[(2, 1), (9, 0)], &[(8, 1), (9, 2), (14, 3)]].into_iter(),
            ),
            signals: Signals::default(),
            contents: None,
            beginning: None,
        };
        let weeks = data.every(7);
        assert_eq!((weeks.name.as_str(), weeks.truth.cycles()), ("days, every 7 cycles", 2));
        assert_eq!((weeks.truth.changed_in(1), weeks.truth.changed_in(2)), (&[1][..], &[1, 2][..]));
        assert!(!weeks.truth.differs(1, 0, 2));
    }
}
