mod recorded;
mod sampling;

use super::*;
use crate::testing::{
    Watched, datasets, linked, rules, visits, visits_with_and_without_the_unseen, with_signals,
};
use ::proptest::prelude::*;
use recrawl_formula::Basis;
use recrawl_simulation::policy::{Make, PolicyVisit};
use recrawl_simulation::{Budget, Dataset, Observed, RecordedPage, Rules, Truth, replay};

const LAST: u32 = 25;

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
    declared.sort_unstable();
    let mut listed: Vec<String> = ALL.iter().map(|kind| kind.name.to_owned()).collect();
    listed.sort_unstable();
    assert_eq!(declared, listed);
    let all = with_rivals();
    let names: std::collections::HashSet<&str> = all.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), all.len(), "a name is given twice");
}

#[test]
fn only_the_bound_is_given_the_truth() {
    let bounds: Vec<&str> = ALL.iter().filter(|kind| kind.is_bound()).map(|kind| kind.name).collect();
    assert_eq!(bounds, ["bayes_greedy"]);
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
    fn every_policy_can_be_replayed_on_pages_that_come_and_go(data in with_signals(datasets(false, LAST), LAST), rules in rules(LAST)) {
        for kind in ALL {
            let (trace, seen) = visits(&data, &rules, kind, Basis::Visits);
            prop_assert_eq!(visits(&data, &rules, kind, Basis::Visits), (trace, seen), "{}", kind.name);
        }
    }
}
