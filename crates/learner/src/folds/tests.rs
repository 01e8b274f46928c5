use super::*;
use crate::testing::data;
use proptest::prelude::*;
use recrawl_simulation::Truth;
use std::collections::BTreeSet;

fn urls(part: &Dataset) -> BTreeSet<&str> {
    part.pages.iter().map(|p| &*p.url).collect()
}

proptest! {
    #[test]
    fn each_page_is_the_test_once_and_in_one_part_only(
        pages in 10usize..60, count in 3usize..8, journal in any::<bool>(), by_site in any::<bool>(),
    ) {
        let data = data(pages, 20, 10);
        let protocol = if journal { Protocol::Journal } else { Protocol::Thesis };
        let by = if by_site { FoldBy::Site } else { FoldBy::Page };
        let folds = Folds::new(&data, protocol, by, count, 2).unwrap();
        prop_assert_eq!(folds.pages(), pages);
        let mut tested = BTreeSet::new();
        for i in 0..count {
            let fold = folds.fold(i);
            let parts = [&fold.train, &fold.validation, &fold.test];
            let together: BTreeSet<&str> = parts.iter().flat_map(|p| urls(p)).collect();
            prop_assert_eq!(together.len(), pages);
            prop_assert_eq!(parts.iter().map(|p| p.pages.len()).sum::<usize>(), pages);
            if by_site {
                let of = |p: &Dataset| p.pages.iter().map(|p| p.site).collect::<BTreeSet<_>>();
                prop_assert!(of(&fold.train).is_disjoint(&of(&fold.test)));
                prop_assert!(of(&fold.validation).is_disjoint(&of(&fold.test)));
                prop_assert!(of(&fold.train).is_disjoint(&of(&fold.validation)));
            }
            tested.extend(fold.test.pages.iter().map(|p| p.url.clone()));
        }
        prop_assert_eq!(tested.len(), pages);
    }
}

#[test]
fn the_parts_have_the_sizes_of_the_texts() {
    let data = data(50, 57, 10);
    let sizes = |protocol, part: fn(&Fold) -> (usize, u32)| {
        part(&Folds::new(&data, protocol, FoldBy::Page, 5, 2).unwrap().fold(3))
    };
    assert_eq!(sizes(Protocol::Thesis, |f| (f.train.pages.len(), f.train.truth.cycles())), (20, 56));
    assert_eq!(
        sizes(Protocol::Thesis, |f| (f.validation.pages.len(), f.validation.truth.cycles())),
        (20, 56)
    );
    assert_eq!(sizes(Protocol::Thesis, |f| (f.test.pages.len(), f.test.truth.cycles())), (10, 56));
    // 19 days each.
    assert_eq!(sizes(Protocol::Journal, |f| (f.train.pages.len(), f.train.truth.cycles())), (30, 18));
    assert_eq!(
        sizes(Protocol::Journal, |f| (f.validation.pages.len(), f.validation.truth.cycles())),
        (10, 18)
    );
    assert_eq!(sizes(Protocol::Journal, |f| (f.test.pages.len(), f.test.truth.cycles())), (10, 18));
}

#[test]
fn what_cannot_be_divided_is_refused_with_the_reason() {
    let refused = |data: &Dataset, protocol, by, count| {
        Folds::new(data, protocol, by, count, 2).map(|f| f.count()).unwrap_err()
    };
    use FoldBy::{Page, Site};
    use Protocol::{Journal, Thesis};
    assert_eq!(refused(&data(10, 20, 5), Thesis, Page, 2), FoldsError::FewFolds { count: 2 });
    for pages in [0, 1, 4] {
        assert_eq!(
            refused(&data(pages, 20, 5), Thesis, Page, 5),
            FoldsError::FewPages { fixed: pages, all: pages, count: 5 }
        );
    }
    assert_eq!(refused(&data(40, 20, 4), Thesis, Site, 5), FoldsError::FewSites { sites: 4, count: 5 });
    assert_eq!(
        refused(&data(40, 10, 5), Journal, Page, 5),
        FoldsError::FewCycles { what: "training", cycles: 3, warmup: 2 }
    );
    assert_eq!(
        refused(&data(40, 3, 5), Thesis, Page, 5),
        FoldsError::FewCycles { what: "training", cycles: 3, warmup: 2 }
    );
    let still = Dataset { truth: Truth::from_words(19, vec![0; 40]), ..data(40, 20, 5) };
    assert_eq!(refused(&still, Thesis, Page, 5), FoldsError::NothingChanges);
}

#[test]
fn the_folds_are_the_same_every_time() {
    let data = data(30, 20, 5);
    let fold = || Folds::new(&data, Protocol::Thesis, FoldBy::Site, 5, 2).unwrap().fold(1);
    assert_eq!(fold(), fold());
}

/// One site has half of the pages, others have all changes: every fold gets its share of both.
#[test]
fn folds_by_site_are_alike_in_pages_and_in_changes() {
    let mut data = data(300, 20, 60);
    for (i, page) in data.pages.iter_mut().enumerate().filter(|(i, _)| i % 6 >= 4) {
        page.site = if i % 12 < 6 { 0 } else { i as u32 % 60 };
    }
    let folds = Folds::new(&data, Protocol::Thesis, FoldBy::Site, 5, 2).unwrap();
    let tests: Vec<Dataset> = (0..5).map(|i| folds.fold(i).test).collect();
    let changes = |d: &Dataset| d.truth.changes().iter().sum::<u32>();
    let all: u32 = tests.iter().map(changes).sum();
    for test in &tests {
        assert!((40..=80).contains(&test.pages.len()), "{} pages of 300", test.pages.len());
        let share = f64::from(changes(test)) / f64::from(all);
        assert!((0.15..=0.25).contains(&share), "{share} of the changes");
    }
}
