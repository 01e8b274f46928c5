//! A power cut, or an I/O error, at every write while the reports are replaced by shorter ones.

use crate::cycle;
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, Storage, StorageFault, Survivors};
use recrawl_repository::{CommitError, Generation, Repository};
use recrawl_types::{Cycle, Round};
use std::collections::BTreeSet;
use std::sync::Arc;

const CYCLES: u32 = 4;

fn replace(repository: &mut Repository) -> Result<bool, CommitError> {
    let mut next = repository.begin_reports()?;
    next.push(b"cycles 1 to 3")?;
    next.push(b"report of cycle 4")?;
    repository.replace_reports(next)
}

fn before() -> Vec<String> {
    (1..=CYCLES).map(|cycle| format!("report of cycle {cycle}")).collect()
}

fn after() -> Vec<String> {
    vec!["cycles 1 to 3".into(), "report of cycle 4".into()]
}

/// The reports are the old or the new ones, for a reader and after a start, and the next cycle adds its own.
fn check(storage: Arc<dyn Storage>, is_replaced: bool, what: &str) {
    let is_either = |reports: &Vec<String>| !is_replaced && *reports == before() || *reports == after();
    let reader = Repository::open_read(storage.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let read = cycle::reports(&reader);
    assert!(is_either(&read), "{what}: {read:?}");
    let repository = Repository::open(storage.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut expected = cycle::reports(&repository);
    assert!(is_either(&expected), "{what}: {expected:?}");
    assert_eq!(repository.verify(), [], "{what}");
    let names = storage.list().unwrap();
    assert!(names.iter().all(|name| !name.ends_with(".part")), "{what}: left behind: {names:?}");
    drop(repository);
    cycle::run(&storage, &mut BTreeSet::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
    expected.push(format!("report of cycle {}", CYCLES + 1));
    let ended = Repository::open(storage).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(cycle::reports(&ended), expected, "{what}");
    // The reader goes on seeing what it saw.
    assert_eq!(cycle::reports(&reader), read, "{what}");
}

fn faulty(fault: StorageFault) -> (Arc<FaultyStorage>, Repository) {
    let storage = Arc::new(FaultyStorage::with_files(cycle::after(CYCLES).image()));
    let repository = Repository::open(storage.clone()).unwrap().keeping_visits(cycle::KEPT_CYCLES);
    storage.set_fault(fault);
    (storage, repository)
}

#[test]
fn a_power_cut_at_any_write_leaves_the_old_or_the_new_reports() {
    let mut kinds = BTreeSet::new();
    for point in 1.. {
        let (storage, mut repository) = faulty(StorageFault::Stop(point));
        let replaced = replace(&mut repository);
        drop(repository);
        let chances = (0..20).map(|i| Survivors::Some(point * 1031 + i));
        for survivors in [Survivors::Synced, Survivors::All].into_iter().chain(chances) {
            let left: Arc<dyn Storage> = Arc::new(storage.after_power_cut(survivors));
            let is_old = cycle::reports(&Repository::open_read(left.clone()).unwrap()) == before();
            kinds.insert(is_old);
            check(left, replaced.is_ok(), &format!("point {point}, {survivors:?}"));
        }
        if replaced.is_ok() {
            break;
        }
    }
    assert_eq!(kinds.len(), 2, "both were found");
}

/// Commits another round, without pages.
fn commit(repository: &mut Repository) -> Result<(), CommitError> {
    let empty = Generation::default();
    let writer = repository.begin(&empty, Cycle(CYCLES + 1))?;
    repository.commit(writer, b"report of cycle 5")
}

#[test]
fn after_an_error_of_any_write_the_process_goes_on_and_may_lose_its_power_at_any_further_one() {
    let (mut refused, mut tried) = (0, 0);
    for point in 1.. {
        let (mut is_replaced, mut is_committed) = (false, false);
        for stop in 1.. {
            let (storage, mut repository) = faulty(StorageFault::Fail(point));
            is_replaced = replace(&mut repository).is_ok();
            storage.set_fault(StorageFault::Stop(stop));
            is_committed = commit(&mut repository).is_ok();
            drop(repository);
            for survivors in [Survivors::Synced, Survivors::All, Survivors::Some(point * 1031 + stop)] {
                let what = format!("error at point {point}, power cut at {stop}, {survivors:?}");
                let left = Repository::open(Arc::new(storage.after_power_cut(survivors)))
                    .unwrap_or_else(|e| panic!("{what}: {e}"));
                let (mut found, number) = (cycle::reports(&left), left.current().number());
                if number == Round(CYCLES + 1) {
                    assert_eq!(found.pop().as_deref(), Some("report of cycle 5"), "{what}");
                }
                assert!(number == Round(CYCLES + 1) || !is_committed, "{what}");
                assert!(found == after() || !is_replaced && found == before(), "{what}: {found:?}");
                tried += 1;
            }
            if is_committed {
                break;
            }
        }
        assert!(is_committed);
        if is_replaced {
            break;
        }
        refused += 1;
    }
    assert!(refused >= 9 && tried > 300, "{refused} errors, {tried} power cuts");
}

#[test]
fn reports_that_are_not_shorter_are_not_taken() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(cycle::after(CYCLES).image()));
    let mut repository = Repository::open(storage.clone()).unwrap();
    let mut next = repository.begin_reports().unwrap();
    before().iter().for_each(|report| assert!(next.push(report.as_bytes()).is_ok()));
    assert!(!repository.replace_reports(next).unwrap());
    assert_eq!(repository.reports_replaced().unwrap(), Round(CYCLES));
    drop(repository);
    check(storage, false, "as long");
}
