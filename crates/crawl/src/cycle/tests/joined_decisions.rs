//! Decisions of a fleet that not all parts have made when they are put together.

use super::division::{fleet, run_fleet, run_partition, settings_of, within};
use super::joining::{leave_at, merge_at};
use super::lockstep::*;
use super::*;
use crate::fleet::NEXT_DECISION;
use crate::operator::control::{ChosenFormula, Mark, joined as control};
use crate::operator::stopped::StoppedCrawl;
use crate::settings::formula_file;
use crate::stored::{keep, kept};
use crate::vault::restore;
use recrawl_fleet::{FleetWaits, read_map};
use recrawl_formula::{Formula, builtin};
use recrawl_vault::Store;

/// One part has made a roll-back that the other has not: the merged one makes it once.
#[test]
fn a_merged_partition_has_the_formula_of_the_part_with_the_fewest_decisions() {
    let web = LinkedWeb { pages: 120, is_still: false };
    let store = fleet(&["h2.test"]);
    run_fleet(&store, &web, 0..1, true);
    let formulas = ["age", "t * 2"].map(|text| builtin::resolve(text).unwrap());
    let chosen = |formula: &Formula| ChosenFormula {
        toml: formula.to_toml().unwrap(),
        mark: Mark { who: "anna".into(), at: 1 },
        from_cycle: None,
    };
    let decide = |id, formulas: &[Formula], next: u64| {
        let waits = FleetWaits { plans: Box::new(NoPatience), runs: Box::new(NoPatience) };
        run_partition(&store, &web, id, 1..2, waits, &|crawl| {
            keep(&crawl.tables, NEXT_DECISION, &next).unwrap();
            crawl.control.set_chosen(formulas.iter().map(chosen).collect()).unwrap();
            formula_file::keep_in_data_dir(&crawl.settings.data_dir, formulas.last().unwrap()).unwrap();
        });
    };
    decide(1, &formulas[..1], 3);
    decide(2, &formulas, 2);
    let shared: Arc<dyn Store> = store.clone();
    merge_at(&shared, &web, [1, 2], "m").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("data");
    restore::restore(&restore::open_in(within(shared, 3), "merged").unwrap(), &folder).unwrap();
    let settings = settings_of(&folder, &web, 3);
    let tables = StoppedCrawl::open(&settings).unwrap().tables;
    assert_eq!(kept::<u64>(&tables, NEXT_DECISION).unwrap(), Some(2));
    assert_eq!(control::chosen(&tables).unwrap(), formulas.iter().map(chosen).collect::<Vec<_>>());
    assert_eq!(formula_file::in_force(&settings).unwrap(), formulas[1]);
}

#[test]
fn a_fleet_with_a_decision_to_make_is_left_as_it_is_before_anything_is_put_together() {
    let web = LinkedWeb { pages: 120, is_still: false };
    let store = fleet(&["h2.test"]);
    run_fleet(&store, &web, 0..1, true);
    store.create("decisions/0000000000", b"a decision").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let shared: Arc<dyn Store> = store.clone();
    let told = leave_at(&shared, &web, scratch.path(), "l").unwrap_err().to_string();
    assert!(told.contains("partition 1 has changes of operators to make"), "{told}");
    assert_eq!(read_map(&*store, 2).unwrap(), None);
}
