//! The suite of sinks: over each storage, from any position, every visit once and in order.

use super::*;
use crate::storage::{FaultyStorage, FileStorage, MemoryStorage, Storage, StorageFault};
use crate::testing::canonical;
use crate::{Generation, Repository};
use proptest::prelude::*;
use recrawl_types::{Change, Outcome, PageRecord, Share};
use std::sync::Arc;

/// The pages of each round; a page may be visited twice in one.
type Rounds = Vec<Vec<u8>>;

fn rounds() -> impl Strategy<Value = Rounds> {
    proptest::collection::vec(proptest::collection::vec(0u8..20, 0..25), 1..6)
}

fn page(number: u8) -> CanonicalUrl {
    canonical(&format!("http://a.example/{number:03}"))
}

/// A repository of these rounds, the last `kept` of which have their visits.
fn crawled(storage: Arc<dyn Storage>, rounds: &Rounds, kept: u32) -> Repository {
    let mut repository = Repository::open(storage).unwrap().keeping_visits(kept);
    for pages in rounds {
        let cycle = repository.current().cycle().next();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, cycle).unwrap();
        let mut sorted = pages.clone();
        sorted.sort_unstable();
        for (at, number) in (0..).zip(&sorted) {
            let url = page(*number);
            if at == 0 || sorted[at - 1] != *number {
                writer.push(url.key(), &PageRecord::discovered(cycle, 0)).unwrap();
            }
            let (share, outcome) = (Share::Score, Outcome::Fetched(Change::Changed));
            let at = at as u64;
            writer
                .keep_visit(&StoredVisit { url, at, share, outcome, confirmed: 0, missed: 0, learned: None })
                .unwrap();
        }
        repository.commit(writer, b"report").unwrap();
    }
    repository
}

/// What a sink took: the visits by round, page and place, and the ends of rounds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Taken {
    visits: Vec<(u32, CanonicalUrl, u64)>,
    ended: Vec<u32>,
}

impl Taken {
    /// Takes up to `steps` steps, as a new process would: the position comes from text. True at the end.
    fn follow(&mut self, at: &mut StoredPosition, repository: &Repository, steps: usize) -> bool {
        *at = serde_json::from_str(&serde_json::to_string(at).unwrap()).unwrap();
        let mut follower = VisitFollower::default();
        for _ in 0..steps {
            match follower.next(at, &repository.kept(), repository.current().number()) {
                Ok(Followed::Page(round, visits)) => {
                    assert!(visits.iter().all(|visit| visit.url == visits[0].url));
                    self.visits.extend(visits.into_iter().map(|visit| (round.round.0, visit.url, visit.at)));
                }
                Ok(Followed::End(round)) => self.ended.push(round.round.0),
                Ok(Followed::Lost(_)) => {}
                Ok(Followed::Nothing) => return true,
                Err(error) => assert!(matches!(error, ReadError::Io { .. }), "{error}"),
            }
        }
        false
    }

    fn expected(rounds: &Rounds, kept: u32) -> Taken {
        let mut taken = Taken::default();
        let first = rounds.len().saturating_sub(kept as usize);
        for (number, pages) in (1..).zip(rounds).skip(first) {
            let mut sorted = pages.clone();
            sorted.sort_unstable();
            taken.visits.extend((0..).zip(sorted).map(|(at, number_of)| (number, page(number_of), at)));
            taken.ended.push(number);
        }
        taken
    }
}

fn check(storage: Arc<dyn Storage>, rounds: &Rounds, kept: u32, stops: &[usize]) {
    let repository = crawled(storage, rounds, kept);
    let (mut at, mut taken) = (StoredPosition::before(Round(1)), Taken::default());
    for steps in stops {
        taken.follow(&mut at, &repository, *steps);
    }
    assert!(taken.follow(&mut at, &repository, usize::MAX));
    assert_eq!(taken, Taken::expected(rounds, kept));
    assert_eq!(at.lost, (rounds.len() as u64).saturating_sub(kept.into()));
    assert_eq!((at.round, at.after), (repository.current().number().next(), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_stops_lose_and_double_nothing(
        rounds in rounds(), kept in 1u32..7, stops in proptest::collection::vec(1usize..9, 0..12),
    ) {
        check(Arc::new(MemoryStorage::new()), &rounds, kept, &stops);
    }

    /// A disk that refuses any operation while it is read: the next try goes on at the same place.
    #[test]
    fn errors_of_the_disk_lose_and_double_nothing(rounds in rounds(), stop in 0usize..20) {
        let storage = Arc::new(FaultyStorage::new());
        let repository = crawled(storage.clone(), &rounds, 100);
        let (mut at, mut taken) = (StoredPosition::before(Round(1)), Taken::default());
        taken.follow(&mut at, &repository, stop);
        for read in (1..5).chain(1..3) {
            storage.set_fault(StorageFault::FailRead(read));
            taken.follow(&mut at, &repository, 2);
        }
        storage.set_fault(StorageFault::None);
        prop_assert!(taken.follow(&mut at, &repository, usize::MAX));
        prop_assert_eq!(taken, Taken::expected(&rounds, 100));
    }
}

#[test]
fn files_are_followed_like_memory() {
    let folder = tempfile::tempdir().unwrap();
    let rounds = vec![vec![3, 1, 1], vec![], vec![2], vec![1, 2, 3]];
    check(Arc::new(FileStorage::create(folder.path()).unwrap()), &rounds, 2, &[1, 1, 2]);
}
