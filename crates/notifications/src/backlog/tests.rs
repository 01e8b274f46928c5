use super::*;
use crate::delivery::Delivery;
use crate::store;
use proptest::prelude::*;
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{Generation, Repository};
use recrawl_types::{Change as Verdict, Failure, Outcome, PageRecord, Share, UrlRules};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rounds that are kept.
const KEPT: u32 = 1000;

fn url(page: u8) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.test/{page:03}")).unwrap()
}

/// The outcome with this number, the confirmations beside it, and the tries without the page.
fn outcome(number: u8) -> (Outcome, u8, u8) {
    let (outcome, confirmed) = match number % 16 {
        8 => return (Outcome::NotFound(404), 1, 3),
        9 => return (Outcome::Failed(Failure::Timeout), 0, 3),
        10 => return (Outcome::Failed(Failure::Timeout), 0, 4),
        11 => return (Outcome::Fetched(Verdict::Changed), 1, 5),
        12 => return (Outcome::RobotsUnreachable(None), 0, 3),
        13 => return (Outcome::Fetched(Verdict::Unchanged), 1, 2),
        14 => return (Outcome::RobotsDenied, 0, 0),
        15 => return (Outcome::Failed(Failure::Status(503)), 0, 2),
        0 => (Outcome::Fetched(Verdict::First), 0),
        1 => (Outcome::Fetched(Verdict::Changed), 0),
        2 => (Outcome::Fetched(Verdict::Unchanged), 3),
        3 => (Outcome::Fetched(Verdict::Changed), 3),
        4 => (Outcome::NotFound(404), 2),
        5 => (Outcome::NotFound(410), 3),
        6 => (Outcome::NotFound(404), 4),
        _ => (Outcome::Redirected(Verdict::First), 0),
    };
    (outcome, confirmed, 0)
}

/// Commits a round with these visits: pages and numbers of outcomes.
fn commit(repository: &mut Repository, visits: &[(u8, u8)]) {
    let cycle = repository.current().cycle().next();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, cycle).unwrap();
    let mut sorted: Vec<(u8, u8)> = visits.to_vec();
    sorted.sort_unstable_by_key(|(page, _)| *page);
    let mut last = None;
    for (at, (page, number)) in sorted.into_iter().enumerate() {
        let url = url(page);
        if last.replace(page) != Some(page) {
            writer.push(url.key(), &PageRecord::discovered(cycle, 0)).unwrap();
        }
        let (outcome, confirmed, missed) = outcome(number);
        let visit = StoredVisit {
            url,
            at: at as u64,
            share: Share::Score,
            outcome,
            confirmed,
            missed,
            learned: None,
        };
        writer.keep_visit(&visit).unwrap();
    }
    repository.commit(writer, b"report").unwrap();
}

/// Changes a byte in the middle of a file.
fn damage(storage: &dyn Storage, name: &str) {
    let file = storage.open(name).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    storage.create(name).unwrap().write(&bytes).unwrap();
}

fn begun() -> Repository {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    Repository::open(storage).unwrap().keeping_visits(KEPT)
}

fn all(kinds: &[ChangeKind]) -> TargetFilter<'_> {
    TargetFilter { name: "desk", kinds, wants: Box::new(|_| true) }
}

/// All changes from a place on, as rounds, pages and kinds.
fn read(
    place: &mut StoredPosition,
    repository: &Repository,
    asked: &TargetFilter<'_>,
) -> Vec<(u32, CanonicalUrl, ChangeKind)> {
    let (mut backlog, mut found) = (Backlog::default(), Vec::new());
    let committed = repository.current().number();
    loop {
        match backlog.next(place, &repository.kept(), committed, asked).unwrap() {
            BacklogFound::Changes(changes) => {
                found.extend(changes.into_iter().map(|change| (change.round.0, change.url, change.kind)));
            }
            BacklogFound::Passed => {}
            BacklogFound::Nothing => return found,
        }
    }
}

#[test]
fn a_visit_is_the_first_kind_that_is_asked_for() {
    let mut repository = begun();
    commit(&mut repository, &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)]);
    let kinds = |asked: &[ChangeKind]| {
        let found = read(&mut StoredPosition::before(Round(1)), &repository, &all(asked));
        found.into_iter().map(|(_, url, kind)| (url.as_text(), kind.name())).collect::<BTreeMap<_, _>>()
    };
    let of = |found: &[(u8, &'static str)]| {
        found.iter().map(|(page, kind)| (url(*page).as_text(), *kind)).collect()
    };
    assert_eq!(
        kinds(&ChangeKind::ALL),
        of(&[(0, "new"), (1, "changed"), (2, "back"), (3, "back"), (5, "gone")])
    );
    assert_eq!(kinds(&[ChangeKind::Changed]), of(&[(1, "changed"), (3, "changed")]));
    assert_eq!(kinds(&[ChangeKind::Back]), of(&[(2, "back"), (3, "back")]));
}

/// The third try in a row tells, and the next ones do not; a page that robots.txt denies is not missing.
#[test]
fn a_page_that_is_missing_is_told_once_and_again_when_it_is_back() {
    let mut repository = begun();
    let visits: Vec<(u8, u8)> = (8..16).map(|number| (number, number)).collect();
    commit(&mut repository, &visits);
    let kinds = |asked: &[ChangeKind]| {
        let found = read(&mut StoredPosition::before(Round(1)), &repository, &all(asked));
        found.into_iter().map(|(_, url, kind)| (url.as_text(), kind.name())).collect::<Vec<_>>()
    };
    let of = |found: &[(u8, &'static str)]| {
        found.iter().map(|(page, kind)| (url(*page).as_text(), *kind)).collect::<Vec<_>>()
    };
    let all_kinds = [(8, "not_found"), (9, "failed"), (11, "back"), (12, "failed")];
    assert_eq!(kinds(&ChangeKind::ALL), of(&all_kinds));
    assert_eq!(kinds(&[ChangeKind::Failed, ChangeKind::Back]), of(&all_kinds[1..]));
    // Who was not told that it is missing is told what it is.
    assert_eq!(kinds(&[ChangeKind::Changed, ChangeKind::Back]), of(&[(11, "changed")]));
}

#[test]
fn rounds_whose_visits_are_gone_are_counted_and_passed() {
    let mut repository = begun().keeping_visits(2);
    (0..6).for_each(|_| commit(&mut repository, &[(1, 1)]));
    let mut place = StoredPosition::before(Round(1));
    let found = read(&mut place, &repository, &all(&ChangeKind::ALL));
    assert_eq!(found.iter().map(|(round, ..)| *round).collect::<Vec<_>>(), [5, 6]);
    assert_eq!((place.lost, place.round), (4, Round(7)));
}

#[test]
fn rounds_that_are_removed_are_noticed_without_reading_on() {
    let mut repository = begun().keeping_visits(2);
    (0..6).for_each(|_| commit(&mut repository, &[(1, 1)]));
    let (mut place, mut backlog) = (StoredPosition::before(Round(1)), Backlog::default());
    backlog.pass_removed(&mut place, &repository.kept()).unwrap();
    assert_eq!((place.lost, place.round), (4, Round(5)));
    backlog.pass_removed(&mut place, &repository.kept()).unwrap();
    assert_eq!(place.lost, 4);
    // One that is being read counts too: a restart could not read on.
    let asked = all(&ChangeKind::ALL);
    backlog.next(&mut place, &repository.kept(), Round(6), &asked).unwrap();
    (0..2).for_each(|_| commit(&mut repository, &[(2, 1)]));
    backlog.pass_removed(&mut place, &repository.kept()).unwrap();
    assert_eq!((place.lost, place.round), (6, Round(7)));
    assert_eq!(read(&mut place, &repository, &asked).len(), 2);
}

#[test]
fn damaged_visits_are_lost_and_those_of_other_rounds_are_not() {
    let mut repository = begun();
    (0..3).for_each(|_| commit(&mut repository, &[(1, 1), (2, 1)]));
    let storage = repository.storage().clone();
    let name = storage.list().unwrap().into_iter().filter(|name| name.ends_with(".kept")).nth(1).unwrap();
    damage(&*storage, &name);
    let (mut place, mut backlog) = (StoredPosition::before(Round(1)), Backlog::default());
    let asked = all(&ChangeKind::ALL);
    let (mut found, mut errors) = (Vec::new(), 0);
    loop {
        match backlog.next(&mut place, &repository.kept(), Round(3), &asked) {
            Ok(BacklogFound::Changes(changes)) => {
                found.extend(changes.into_iter().map(|change| change.round.0))
            }
            Ok(BacklogFound::Passed) => {}
            Ok(BacklogFound::Nothing) => break,
            Err(error) => {
                assert!(matches!(error, ReadError::Damaged(_)), "{error}");
                errors += 1;
            }
        }
    }
    assert_eq!((errors, place.lost, found), (1, 1, vec![1, 1, 3, 3]));
}

#[test]
fn a_new_target_is_told_of_later_rounds_and_after_a_rollback_of_what_follows() {
    let mut repository = begun();
    commit(&mut repository, &[(1, 1)]);
    let storage = repository.storage().clone();
    let of =
        |committed| store::of_targets(&*storage, ["desk"].into_iter(), committed).unwrap().0["desk"].clone();
    assert_eq!(of(Round(1)).place, StoredPosition::before(Round(2)));
    assert_eq!(of(Round(9)).place, StoredPosition::before(Round(2)), "it stays where it was");
    assert_eq!(of(Round(0)).place, StoredPosition::before(Round(1)), "the repository was rolled back");
    let (nobody, removed) = store::of_targets(&*storage, std::iter::empty(), Round(1)).unwrap();
    assert!(nobody.is_empty() && removed.contains_key("desk") && store::read(&*storage).unwrap().is_empty());
}

#[test]
fn without_targets_no_file_is_written() {
    let storage = MemoryStorage::new();
    store::of_targets(&storage, std::iter::empty(), Round(1)).unwrap();
    assert!(storage.list().unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A target that is read from any place it was left at is told of each change once, in order.
    #[test]
    fn reading_goes_on_where_it_was_left(
        rounds in proptest::collection::vec(proptest::collection::vec((0u8..20, any::<u8>()), 0..25), 1..6),
        stops in proptest::collection::vec(1usize..7, 0..12),
    ) {
        let mut repository = begun();
        rounds.iter().for_each(|visits| commit(&mut repository, visits));
        let asked = all(&ChangeKind::ALL);
        let expected = read(&mut StoredPosition::before(Round(1)), &repository, &asked);
        let (mut place, mut found) = (StoredPosition::before(Round(1)), Vec::new());
        for pages in stops {
            let mut backlog = Backlog::default();
            for _ in 0..pages {
                let next = backlog.next(&mut place, &repository.kept(), repository.current().number(), &asked);
                if let BacklogFound::Changes(changes) = next.unwrap() {
                    found.extend(changes.into_iter().map(|change| (change.round.0, change.url, change.kind)));
                }
            }
            // As a restart does.
            place = serde_json::from_str(&serde_json::to_string(&place).unwrap()).unwrap();
        }
        found.extend(read(&mut place, &repository, &asked));
        prop_assert_eq!(found, expected);
    }

    /// A takedown at any place removes all that waits of its pages, and nothing else.
    #[test]
    fn after_a_takedown_the_other_pages_are_still_told(
        rounds in proptest::collection::vec(proptest::collection::vec((0u8..20, any::<u8>()), 0..25), 1..5),
        read_before in 0usize..30, modulus in 2u8..5,
    ) {
        let mut repository = begun();
        rounds.iter().for_each(|visits| commit(&mut repository, visits));
        let storage = repository.storage().clone();
        let asked = all(&ChangeKind::ALL);
        let is_meant = |page: &CanonicalUrl| (0..20).any(|number| number % modulus == 0 && url(number) == *page);
        let mut delivery = Delivery::from(Round(1));
        let mut backlog = Backlog::default();
        for _ in 0..read_before {
            let next = backlog.next(&mut delivery.place, &repository.kept(), repository.current().number(), &asked);
            if let BacklogFound::Changes(changes) = next.unwrap() {
                delivery.hold(changes);
            }
        }
        let of_others = |found: Vec<(u32, CanonicalUrl, ChangeKind)>| {
            found.into_iter().filter(|(_, page, _)| !is_meant(page)).collect::<Vec<_>>()
        };
        let rest = of_others(read(&mut delivery.place.clone(), &repository, &asked));
        let held: Vec<CanonicalUrl> = delivery.held.iter().map(|held| held.change.url.clone()).filter(|page| !is_meant(page)).collect();
        store::write(&*storage, &[("desk".to_owned(), delivery)].into()).unwrap();
        repository.remove_visits(&is_meant, false).unwrap();
        let counted = store::remove(&*storage, &repository.kept(), &is_meant, true).unwrap();
        prop_assert_eq!(store::remove(&*storage, &repository.kept(), &is_meant, false).unwrap(), counted);
        let text = format!("{:?}", store::read(&*storage).unwrap());
        for number in (0..20).filter(|number| number % modulus == 0) {
            prop_assert!(!text.contains(&url(number).as_text()), "{}", text);
        }
        let mut after = store::read(&*storage).unwrap()["desk"].clone();
        prop_assert_eq!(after.held.iter().map(|held| held.change.url.clone()).collect::<Vec<_>>(), held);
        prop_assert_eq!(read(&mut after.place, &repository, &asked), rest);
    }
}
