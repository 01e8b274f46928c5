//! What a policy sees of the contents.

use super::*;
use crate::policy::{PolicyVisit, ReplayPolicy};
use crate::testing::{datasets, rules, unchanging, with_contents};
use crate::{Dataset, Observed, Rules, RulesError, Trace, replay};
use ::proptest::prelude::*;
use std::collections::HashSet;

const LAST: u32 = 25;

/// Chooses by what it saw, a few visits at a time.
#[derive(Default)]
struct SeenReader {
    /// Each choice with its cycle: pages in the order of their visits.
    choices: Vec<(u32, Vec<u32>)>,
    /// Of each page what it saw last, and before.
    seen: Vec<[Option<ReplayDocument>; 2]>,
    visits: Vec<(u32, u32)>,
    scores: Vec<f64>,
}

fn sum(document: Option<&ReplayDocument>) -> f64 {
    document.map_or(7.0, |document| document.words.iter().map(|&(word, count)| f64::from(word * count)).sum())
}

impl ReplayPolicy for SeenReader {
    fn name(&self) -> &str {
        "reader"
    }

    fn reads_contents(&self) -> bool {
        true
    }

    fn wants(&mut self, _: &Observed, left: u64) -> u64 {
        left / 2
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        out.clear();
        for page in 0..observed.columns().len() {
            let seen = observed.seen(page);
            if let Some(known) = self.seen.get(page) {
                assert_eq!([seen.last.cloned(), seen.before.cloned()], *known, "page {page}");
            }
            out.push((sum(seen.last) + 3.0 * sum(seen.before) + f64::from(observed.cycle().0)) % 11.0);
        }
        self.scores.extend(out.iter());
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.seen.resize(observed.columns().len(), [None, None]);
        for visit in visits {
            let seen = observed.seen(visit.page as usize);
            let last = self.seen[visit.page as usize][0].take();
            self.seen[visit.page as usize] = [seen.last.cloned(), last];
        }
        let pages = visits.iter().map(|visit| visit.page);
        let cycle = observed.cycle().0;
        self.visits.extend(pages.clone().map(|page| (cycle, page)));
        self.choices.push((cycle, pages.collect()));
    }
}

fn run(data: &Dataset, rules: &Rules) -> (Trace, SeenReader) {
    let mut reader = SeenReader::default();
    let trace = replay::run(data, rules, &mut reader).unwrap();
    (trace, reader)
}

fn document(word: u32) -> ReplayDocument {
    ReplayDocument { words: [(word % 97, 1 + word % 3)].into(), ..ReplayDocument::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_policy_sees_what_its_visits_met_and_nothing_else(data in datasets(false, LAST), rules in rules(LAST)) {
        let data = with_contents(data, |page, version| document(31 * page + 7 * u32::from(version)));
        let (trace, reader) = run(&data, &rules);
        let contents = data.contents.as_deref().unwrap();
        for &(cycle, page) in &reader.visits {
            prop_assert!(contents.shown(page as usize, cycle).is_some());
        }
        let last = |page: usize| reader.visits.iter().rev().find(|visit| visit.1 as usize == page).map(|visit| visit.0);
        for (page, [seen, _]) in reader.seen.iter().enumerate() {
            let expected = last(page).and_then(|cycle| contents.shown(page, cycle));
            prop_assert_eq!(seen.as_ref(), expected);
        }
        // Other contents where nobody looked.
        let met: HashSet<*const ReplayDocument> = reader
            .visits
            .iter()
            .filter_map(|&(cycle, page)| contents.shown(page as usize, cycle).map(std::ptr::from_ref))
            .collect();
        let mut planted = contents.clone();
        for (other, old) in planted.documents.iter_mut().zip(&contents.documents) {
            if !met.contains(&std::ptr::from_ref(old)) {
                *other = document(1000);
            }
        }
        let planted = Dataset { contents: Some(Arc::new(planted)), ..data.clone() };
        let (same, other) = run(&planted, &rules);
        prop_assert_eq!(&other.scores, &reader.scores);
        prop_assert_eq!(&other.choices, &reader.choices);
        prop_assert_eq!(same, trace);
    }

    #[test]
    fn a_choice_in_parts_spends_the_whole_budget(data in datasets(true, LAST), rules in rules(LAST)) {
        let data = with_contents(data, |page, _| document(page));
        let rules = Rules { per_site: None, ..rules };
        let (trace, reader) = run(&data, &rules);
        let k = rules.budget.visits(data.pages.len() as u64);
        for cycle in rules.warmup + 1..=LAST {
            let choices = reader.choices.iter().filter(|choice| choice.0 == cycle).map(|choice| &choice.1);
            // Each choice is half of what is left, and one visit at least.
            let (mut left, mut sizes) = (k, Vec::new());
            while left > 0 {
                sizes.push((left / 2).max(1) as usize);
                left -= (left / 2).max(1);
            }
            prop_assert_eq!(choices.clone().map(Vec::len).collect::<Vec<_>>(), sizes);
            let distinct: HashSet<u32> = choices.flatten().copied().collect();
            prop_assert_eq!(distinct.len() as u64, k, "no page twice");
        }
        prop_assert!(trace.cycles.iter().all(|figures| figures.visited == k));
    }
}

#[test]
fn a_policy_that_reads_contents_needs_them() {
    let error = replay::run(&unchanging(3, 9), &Rules::default(), &mut SeenReader::default()).unwrap_err();
    assert_eq!(error, RulesError::NoContents { what: "policy reader".into() });
}
