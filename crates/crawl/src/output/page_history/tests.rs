//! Remembering visits changes what is read, but not the result.

use super::*;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use recrawl_repository::Repository;
use recrawl_repository::storage::MemoryStorage;
use recrawl_types::{Outcome, Round, Share, UrlRules};
use std::collections::BTreeSet;

const PAGES: u32 = 12;

fn url(page: u32) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.example/{page:03}")).unwrap()
}

/// Commits a cycle with visits of these pages.
fn commit(repository: &mut Repository, pages: &BTreeSet<u32>) {
    let before = repository.current();
    let mut next = repository.begin(&before, repository.current().cycle().next()).unwrap();
    let at = 1_700_000_000 + u64::from(next.number().0);
    for page in pages {
        let visit = StoredVisit {
            url: url(*page),
            at,
            share: Share::Score,
            outcome: Outcome::NotModified,
            confirmed: 0,
            missed: 0,
            learned: None,
        };
        next.keep_visit(&visit).unwrap();
    }
    repository.commit(next, b"{}").unwrap();
}

/// Cycles, as the pages that each visits.
fn cycles() -> impl Strategy<Value = Vec<BTreeSet<u32>>> {
    vec(btree_set(0..PAGES, 0..6), 1..12)
}

proptest! {
    /// After every commit, with room for all visits, for some and for none.
    #[test]
    fn histories_are_those_of_the_plain_reading(cycles in cycles(), most in 0usize..40, keep in 1u32..8) {
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap().keeping_visits(keep);
        let visited = VisitedPages { most, ..VisitedPages::default() };
        for pages in &cycles {
            commit(&mut repository, pages);
            let kept = repository.kept();
            for page in 0..PAGES {
                let history = visited.history(&kept, &url(page)).unwrap();
                prop_assert_eq!(history, PageHistory::read(&kept, &url(page)).unwrap());
            }
            let known = visited.rounds.lock().unwrap();
            let remembered: usize = known.values().flatten().map(|pages| pages.digests.len()).sum();
            prop_assert!(remembered <= most && known.len() <= keep as usize);
        }
    }
}

/// Many frames, and visits of one page at the end of one frame and the start of the next.
#[test]
fn a_page_is_found_in_its_frame() {
    let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap().keeping_visits(1);
    let before = repository.current();
    let mut next = repository.begin(&before, repository.current().cycle().next()).unwrap();
    for i in 0..60_000u64 {
        let url = url(10 + i as u32 / 500);
        next.keep_visit(&StoredVisit {
            url,
            at: i,
            share: Share::Score,
            outcome: Outcome::NotModified,
            confirmed: 0,
            missed: 0,
            learned: None,
        })
        .unwrap();
    }
    repository.commit(next, b"{}").unwrap();
    let (kept, visited) = (repository.kept(), VisitedPages::default());
    for page in 9..131 {
        let history = visited.history(&kept, &url(page)).unwrap();
        assert_eq!(history, PageHistory::read(&kept, &url(page)).unwrap(), "{page}");
        assert_eq!(history.visits.len(), if (10..130).contains(&page) { 500 } else { 0 }, "{page}");
    }
    let frames =
        visited.rounds.lock().unwrap().values().flatten().map(|pages| pages.frames.len()).sum::<usize>();
    assert!(frames > 3, "{frames}");
}

#[test]
fn files_of_cycles_without_a_visit_are_not_read() {
    let storage = Arc::new(MemoryStorage::new());
    let mut repository = Repository::open(storage.clone()).unwrap().keeping_visits(100);
    commit(&mut repository, &[1, 2].into());
    commit(&mut repository, &[2, 3].into());
    let visited = VisitedPages::default();
    let of = |kept: &StoredRounds, page| visited.history(kept, &url(page));
    assert_eq!(of(&repository.kept(), 1).unwrap().visits.len(), 1);
    // From now on nothing of the second cycle can be read.
    let mut image = storage.image();
    let name = image.keys().find(|name| name.starts_with("visits-") && name.contains('2')).unwrap().clone();
    image.insert(name, b"damaged".to_vec());
    let kept = StoredRounds::new(Arc::new(MemoryStorage::with_files(image)), Round(2));
    assert_eq!(of(&kept, 1).unwrap().visits.len(), 1);
    assert_eq!(of(&kept, 1).unwrap().since, Some(Cycle(1)));
    let anew = VisitedPages::default();
    assert!(
        anew.history(&kept, &url(1)).is_err()
            && of(&kept, 2).is_err()
            && PageHistory::read(&kept, &url(1)).is_err()
    );
}
