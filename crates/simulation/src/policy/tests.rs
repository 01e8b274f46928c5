mod recorded;

use super::*;
use crate::testing::{Watched, datasets, rules, visits, visits_with_and_without_the_unseen, with_signals};
use crate::{Budget, Rules, Truth, replay};
use ::proptest::prelude::*;
use recrawl_scheduler::Parts;
use recrawl_types::StateColumns;

const LAST: u32 = 25;

#[test]
fn every_policy_of_the_crawler_but_its_formula_is_in_the_list() {
    let crawler = recrawl_scheduler::policy::ALL.iter().filter(|kind| !kind.is_formula());
    for kind in crawler {
        let listed =
            ReplayPolicyKind::named(kind.name).unwrap_or_else(|| panic!("{} is not listed", kind.name));
        assert!(matches!(listed.make, Make::Honest(_)), "{}", kind.name);
    }
}

/// A policy of a file that is missing in the list would never be compared.
#[test]
fn every_policy_of_the_folder_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/policy");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut declared: Vec<String> = Vec::new();
    for path in files.filter(|path| path.is_file() && path.file_name().unwrap() != "tests.rs") {
        let text = std::fs::read_to_string(&path).unwrap();
        // Each entry begins with its name.
        let entries = text.split(": ReplayPolicyKind =").skip(1);
        declared.extend(entries.map(|entry| entry.split('"').nth(1).unwrap().to_owned()));
    }
    let mut listed: Vec<String> = ALL.iter().map(|kind| kind.name.to_owned()).collect();
    listed.sort_unstable();
    let missing: Vec<_> = declared.iter().filter(|name| !listed.contains(name)).collect();
    assert!(!declared.is_empty() && missing.is_empty(), "{missing:?}");
    listed.dedup();
    assert_eq!(listed.len(), ALL.len(), "a name is given twice");
}

#[test]
fn only_the_bounds_are_given_the_truth() {
    let bounds: Vec<&str> = ALL.iter().filter(|kind| kind.is_bound()).map(|kind| kind.name).collect();
    assert_eq!(bounds, ["true_rate", "oracle"]);
    assert!(ReplayPolicyKind::named("oracle").is_some() && ReplayPolicyKind::named("t").is_none());
}

#[test]
fn all_rounds_but_the_last_visit_one_page_of_a_group() {
    let page = |i: u32| crate::RecordedPage {
        url: format!("http://a.test/{}/{i}", i / 5).into(),
        last: LAST,
        ..Default::default()
    };
    let data = Dataset {
        name: "folders".into(),
        dates: Vec::new(),
        pages: (0..100).map(page).collect(),
        sites: vec!["a".into()],
        groups: vec!["a".into()],
        truth: Truth::from_words(LAST, (0..100).map(|i| 0x2_4924 << (i % 3)).collect()),
        signals: Default::default(),
        contents: None,
        beginning: None,
    };
    let rules = Rules { rounds: Parts::Equal(3), budget: Budget::Pages(45), ..Rules::default() };
    // Of each round the cycle, and the groups of siblings that it visited.
    let mut rounds: Vec<(u32, Vec<u32>)> = Vec::new();
    let watch = |observed: &Observed, visits: &[PolicyVisit]| {
        // In the warm-up no siblings are filled in.
        let siblings = |visit: &PolicyVisit| observed.columns().siblings.get(visit.page as usize).copied();
        let groups = visits.iter().filter_map(siblings).filter(|group| *group != StateColumns::ALONE);
        rounds.push((observed.cycle().0, groups.collect()));
    };
    let policy = ReplayFormula::expression("p_burst", "p_burst");
    replay::run(&data, &rules, &mut Watched { policy, watch }).unwrap();
    let mut twice = [0; 3];
    for cycle in rules.warmup + 1..=LAST {
        let of_cycle: Vec<_> = rounds.iter().filter(|(of, _)| *of == cycle).collect();
        assert_eq!(of_cycle.len(), 3);
        for (twice, (_, groups)) in twice.iter_mut().zip(of_cycle) {
            let distinct = groups.iter().collect::<std::collections::HashSet<_>>().len();
            *twice += groups.len() - distinct;
        }
    }
    assert!(twice[..2] == [0, 0] && twice[2] > 0, "{twice:?}");
}

/// Pages with these addresses that change in the cycles of these words.
fn pages_at(urls: impl Iterator<Item = String>, word: impl Fn(usize) -> u64) -> Dataset {
    let importance = |i: usize| recrawl_types::Importance::new([0.0, 1.0, 1_000.0][i % 3]).unwrap();
    let page = |(i, url): (usize, String)| crate::RecordedPage {
        url: url.into(),
        last: LAST,
        importance: importance(i),
        ..Default::default()
    };
    let pages: Vec<crate::RecordedPage> = urls.enumerate().map(page).collect();
    Dataset {
        name: "odd".into(),
        dates: Vec::new(),
        truth: Truth::from_words(LAST, (0..pages.len()).map(word).collect()),
        pages,
        sites: vec!["a".into()],
        groups: vec!["a".into()],
        signals: Default::default(),
        contents: None,
        beginning: None,
    }
}

/// One folder of many pages, many folders of few, no folders, no URLs; pages that change alike or never, and count for
/// nothing or for a thousand.
#[test]
fn no_objective_scores_any_pages_with_nan() {
    let folders: [fn(usize) -> String; 4] = [
        |i| format!("http://a.test/all/{i}"),
        |i| format!("http://a.test/{}/{}", i / 8, i % 8),
        |i| format!("http://{i}.test/"),
        |i| format!("page {i}"),
    ];
    let changes: [fn(usize) -> u64; 3] =
        [|_| 0, |_| (2 << LAST) - 2, |i| if i % 7 == 0 { 0b10_1010 } else { 0 }];
    let rules = Rules { rounds: Parts::Equal(2), budget: Budget::Share(0.1), ..Rules::default() };
    for data in folders.iter().flat_map(|url| changes.map(|word| pages_at((0..800).map(url), word))) {
        for name in ["balanced", "fresh", "changes", "default"] {
            let builtin = recrawl_formula::builtin::Builtin::named(name).unwrap();
            for formula in [builtin.formula(), builtin.by_importance()] {
                let mut policy = NeverNan(ReplayFormula::new(&formula), 0);
                let trace = replay::run(&data, &rules, &mut policy).unwrap();
                assert!(policy.1 > 0 && trace.cycles.iter().all(|cycle| cycle.visited == 80), "{name}");
                let figures = crate::metric::ALL.iter().chain(crate::metric::BY_IMPORTANCE);
                for metric in figures.filter(|metric| metric.of_cycle().is_some()) {
                    assert!(metric.of_replay(&trace).is_finite(), "{name}: {}", metric.name);
                }
            }
        }
    }
}

/// Checks the scores of a policy, and counts the checked cycles.
struct NeverNan(ReplayFormula, u32);

impl ReplayPolicy for NeverNan {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn reads(&self) -> recrawl_types::Reads {
        self.0.reads()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.0.score(observed, out);
        let is_wrong = |(page, score): (usize, &f64)| observed.competes(page) && !score.is_finite();
        assert!(!out.iter().enumerate().any(is_wrong), "cycle {}", observed.cycle());
        self.1 += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn honest_policies_know_nothing_of_what_they_did_not_visit(data in with_signals(datasets(true, LAST), LAST), rules in rules(LAST)) {
        for kind in ALL.iter().filter(|kind| !kind.is_bound()) {
            for basis in Basis::ALL {
                let [seen, again] = visits_with_and_without_the_unseen(kind, &data, &rules, basis);
                prop_assert_eq!(again, seen, "{}", kind.name);
            }
        }
    }

    #[test]
    fn with_rounds_they_know_nothing_either(data in datasets(true, LAST), rules in rules(LAST), rounds in 2u32..5) {
        let rules = Rules { rounds: Parts::Equal(rounds), ..rules };
        for kind in ALL.iter().filter(|kind| kind.build(&data, Basis::Visits).reads().needs_neighbours()) {
            let [seen, again] = visits_with_and_without_the_unseen(kind, &data, &rules, Basis::Visits);
                prop_assert_eq!(again, seen, "{}", kind.name);
        }
    }

    #[test]
    fn every_policy_can_be_replayed_on_pages_that_come_and_go(data in with_signals(datasets(false, LAST), LAST), rules in rules(LAST)) {
        for kind in ALL {
            let (trace, seen) = visits(&data, &rules, kind, Basis::Visits);
            prop_assert_eq!(visits(&data, &rules, kind, Basis::Visits), (trace, seen), "{}", kind.name);
        }
    }

    /// Without signals, policies that read them choose as those that do not.
    #[test]
    fn signals_that_are_off_change_nothing(data in datasets(true, LAST), rules in rules(LAST)) {
        let seen = |name| visits(&data, &rules, &ReplayPolicyKind::named(name).unwrap(), Basis::Visits);
        let plain = seen("u_fresh_site");
        prop_assert_eq!(&seen("u_fresh_signal"), &plain);
        prop_assert_eq!(&seen("announced_u_fresh_site"), &plain);
    }

    #[test]
    fn the_oracle_finds_what_there_is_to_find(data in datasets(true, LAST), rules in rules(LAST)) {
        let rules = Rules { per_site: None, ..rules };
        let oracle = ReplayPolicyKind::named("oracle").unwrap();
        for cycle in visits(&data, &rules, &oracle, Basis::Visits).0.cycles {
            prop_assert_eq!(cycle.changed, cycle.pending.min(cycle.visited));
        }
    }
}
