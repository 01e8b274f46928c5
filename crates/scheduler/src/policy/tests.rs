//! The test suite for every policy.

use super::*;
use crate::testing::{self, columns, request};
use crate::{PlanRequest, Rank, Ranking, Ties};
use proptest::prelude::*;
use recrawl_formula::builtin::{self, Builtin};
use std::collections::HashSet;
use std::path::Path;

#[test]
fn every_policy_of_the_folder_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/policy");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|stem| stem != "tests")
        .collect();
    files.sort();
    let mut names: Vec<&str> = ALL.iter().map(|kind| kind.name).collect();
    names.sort();
    assert_eq!(files.len(), names.len(), "{files:?} beside {names:?}");
    for (file, name) in files.iter().zip(names) {
        assert!(file.starts_with(name), "{file} beside {name}");
        assert!(!PolicyKind::named(name).unwrap().help.is_empty());
    }
    assert!(PolicyKind::named("best").is_none());
}

/// Every policy, with all built-in formulas for the formula policy.
fn all() -> Vec<Box<dyn Policy>> {
    let formulas: Vec<Formula> = builtin::ALL.iter().map(|b| b.formula()).collect();
    ALL.iter().flat_map(|kind| formulas.iter().map(|f| (kind.build)(f))).collect()
}

#[test]
fn a_formula_policy_has_the_name_of_its_formula() {
    let names: HashSet<String> = all().iter().map(|p| p.name().to_owned()).collect();
    for name in ["default", "t_times_X", "age", "rand"] {
        assert!(names.contains(name), "{name} in {names:?}");
    }
}

#[test]
fn the_policy_age_is_the_formula_age() {
    let pages: Vec<_> = (3..90).map(|last| testing::fetched(3, last)).collect();
    let of = |policy: &mut dyn Policy| {
        testing::plan(&PlanRequest { pages: 20, ..request() }, policy, &pages, &[], 7).unwrap()
    };
    let formula = Builtin::named("age").unwrap().formula();
    let (by_policy, by_formula) =
        (of(&mut age::AgePolicy::default()), of(&mut formula::FormulaPolicy::new(&formula)));
    assert_eq!(by_policy, by_formula);
    assert_eq!(by_policy.chosen.iter().map(|c| c.0).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
}

proptest! {
    /// Scores do not depend on the division into blocks, and equal seeds give equal scores. Scores
    /// may be NaN, and the plan equals that of a full sort.
    #[test]
    fn every_policy_passes_the_suite(pages in testing::pages(120), request in testing::requests(), block in 1usize..50) {
        let hosts = [pages.len() as u64];
        for mut policy in all() {
            policy.prepare(request.cycle, request.seed);
            let mut scores = Vec::new();
            policy.score(&columns(&pages), 0, &mut scores);
            prop_assert_eq!(scores.len(), pages.len(), "{}", policy.name());
            for (score, page) in scores.iter().zip(&pages) {
                prop_assert!(score.is_finite() || score.is_nan() || page.1.is_none(), "{}: {}", policy.name(), score);
            }
            let plan = testing::plan(&request, policy.as_mut(), &pages, &hosts, block).unwrap();
            let again = testing::plan(&request, policy.as_mut(), &pages, &hosts, pages.len().max(1)).unwrap();
            prop_assert_eq!(&plan, &again, "{}", policy.name());
            prop_assert_eq!(&plan, &testing::by_definition(&request, &scores, &pages, &hosts), "{}", policy.name());
        }
    }

    #[test]
    fn chance_is_another_in_every_cycle(seed: u64, cycle in 0u32..1000) {
        let mut policy = random::RandomPolicy::default();
        let block = columns(&vec![testing::fetched(2, 50); 100]);
        let (mut now, mut next, mut tail) = (Vec::new(), Vec::new(), Vec::new());
        policy.prepare(Cycle(cycle), seed);
        policy.score(&block, 0, &mut now);
        policy.score(&columns(&vec![testing::fetched(2, 50); 60]), 40, &mut tail);
        policy.prepare(Cycle(cycle + 1), seed);
        policy.score(&block, 0, &mut next);
        prop_assert!(now.iter().all(|s| (0.0..1.0).contains(s)));
        prop_assert_eq!(&now[40..], &tail[..], "by ordinal, not by row");
        prop_assert!(now.iter().zip(&next).all(|(a, b)| a != b));
    }

    /// The rank is the position in a full sort.
    #[test]
    fn ranks_are_places_in_the_order(
        pages in testing::pages(60), seed: u64, ties in prop_oneof![Just(Ties::Index), Just(Ties::Hash)], other: u8,
    ) {
        let request = PlanRequest { pages: u64::MAX, seed, ties, ..request() };
        let mut policy = age::AgePolicy::default();
        policy.prepare(request.cycle, seed);
        let mut scores = Vec::new();
        policy.score(&columns(&pages), 0, &mut scores);
        let competing = testing::plan(&request, &mut policy, &pages, &[], 9).unwrap().chosen;
        let competing: Vec<u64> =
            competing.iter().filter(|c| c.1 == recrawl_types::Share::Score).map(|c| c.0).collect();
        let mut all = Ranking::new(&request);
        for (first, block) in (0..).step_by(7).zip(pages.chunks(7)) {
            all.scan(&policy, first, &columns(block));
        }
        let mut ranks = Vec::new();
        for ordinal in &competing {
            let score = scores[*ordinal as usize];
            let Rank { rank: exact, error: 0 } = all.rank(*ordinal, score, pages.len() as u64) else {
                panic!("all were scanned")
            };
            // A page may be asked for with another score than its own.
            let higher = competing.iter().filter(|page| scores[**page as usize] > other.into()).count() as u64;
            let with_other = all.rank(*ordinal, other.into(), pages.len() as u64).rank;
            prop_assert!(with_other > higher && with_other <= competing.len() as u64 + 1, "{} of {}", with_other, higher);
            // With k = rank, this page is the last one chosen.
            let k = PlanRequest { pages: exact, ..request.clone() };
            let plan = testing::plan(&k, &mut policy, &pages, &[], 9).unwrap();
            prop_assert_eq!(plan.cutoff, Some(scores[*ordinal as usize]));
            prop_assert!(plan.chosen.iter().any(|c| c.0 == *ordinal));
            ranks.push(exact);
        }
        ranks.sort_unstable();
        prop_assert_eq!(&ranks, &(1..=ranks.len() as u64).collect::<Vec<_>>());
    }
}
