use super::*;
use proptest::prelude::*;
use recrawl_repository::storage::MemoryStorage;
use recrawl_repository::{Generation, Repository};
use recrawl_types::{Change as Verdict, Cycle, Outcome, PageRecord, Share};
use std::sync::Arc;

fn url(page: u8) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.test/{page:03}?a=b c")).unwrap()
}

fn outcome(number: u8) -> Outcome {
    match number % 4 {
        0 => Outcome::Fetched(Verdict::First),
        1 => Outcome::Fetched(Verdict::Changed),
        2 => Outcome::Fetched(Verdict::Unchanged),
        _ => Outcome::NotFound(404),
    }
}

/// A repository of rounds of visits: page, seconds after the round's beginning, and number of the outcome. A round takes
/// ten seconds.
fn repository(rounds: &[Vec<(u8, u8, u8)>]) -> (Repository, Vec<(Round, StoredVisit)>) {
    let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap().keeping_visits(1000);
    let mut all = Vec::new();
    for (number, visits) in rounds.iter().enumerate() {
        let cycle = repository.current().cycle().next();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, cycle).unwrap();
        let mut sorted = visits.clone();
        sorted.sort_unstable();
        sorted.dedup_by_key(|(page, ..)| *page);
        for (page, second, kind) in sorted {
            let (url, outcome) = (url(page), outcome(kind));
            writer.push(url.key(), &PageRecord::discovered(cycle, 0)).unwrap();
            let at = 10 * number as u64 + u64::from(second % 10);
            let confirmed = if matches!(outcome, Outcome::NotFound(_)) { 3 } else { 0 };
            let visit =
                StoredVisit { url, at, share: Share::Score, outcome, confirmed, missed: 0, learned: None };
            writer.keep_visit(&visit).unwrap();
            all.push((Round(number as u32 + 1), visit));
        }
        repository.commit(writer, b"report").unwrap();
    }
    (repository, all)
}

/// The list in parts of these lengths, the last one again and again, each place written and read.
fn in_parts(repository: &Repository, sought: &Sought<'_>, parts: &[usize]) -> Vec<ChangeNotice> {
    let (mut changes, mut place) = (Vec::new(), None);
    for at in 0.. {
        let limit = parts[at.min(parts.len() - 1)];
        let part = sought.newest(&repository.kept(), place.as_ref(), limit).unwrap();
        assert!(part.changes.len() <= limit);
        changes.extend(part.changes);
        match part.next {
            Some(next) => place = Some(next.to_string().parse().unwrap()),
            None => break,
        }
    }
    changes
}

#[test]
fn a_text_that_is_no_place_is_refused() {
    for text in ["", "7", "7 x", "-1 5", "4294967296 1", "1 2 no-url", "1 2 "] {
        assert_eq!(text.parse::<ChangePlace>(), Err(NoPlace), "{text:?}");
    }
    let place = ChangePlace { round: Round(7), time: 9, url: Some(url(3)) };
    assert_eq!(place.to_string().parse(), Ok(place));
}

#[test]
fn ids_of_changes_are_the_same_in_each_list() {
    let (repository, _) = repository(&[vec![(1, 1, 1), (2, 2, 1)], vec![(1, 1, 1)]]);
    let sought = Sought { kinds: &ChangeKind::ALL, since: 0, wants: &|_| true };
    let (whole, parts) = (in_parts(&repository, &sought, &[9]), in_parts(&repository, &sought, &[1]));
    assert_eq!(whole, parts);
    assert_eq!(whole.iter().map(|change| change.cycle).collect::<Vec<_>>(), [2, 1, 1].map(Cycle));
    assert!(whole[0].id != whole[1].id && whole[1].id != whole[2].id);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the parts, the list is all visits that are sought, sorted by time and URL.
    #[test]
    fn the_list_is_what_was_visited_newest_first(
        rounds in proptest::collection::vec(proptest::collection::vec((0u8..12, 0u8..10, any::<u8>()), 0..14), 0..6),
        parts in proptest::collection::vec(1usize..9, 1..6),
        since in 0u64..70, modulus in 1u8..4, asked in proptest::sample::subsequence(ChangeKind::ALL.to_vec(), 0..6),
    ) {
        let (repository, visits) = repository(&rounds);
        let wants = |page: &CanonicalUrl| (0..12).any(|number| number % modulus == 0 && url(number) == *page);
        let mut expected: Vec<(u64, CanonicalUrl, Round, ChangeKind)> = visits
            .into_iter()
            .filter(|(_, visit)| visit.at >= since && wants(&visit.url))
            .filter_map(|(round, visit)| Some((visit.at, visit.url.clone(), round, ChangeKind::from_visit(&visit, &asked)?)))
            .collect();
        expected.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
        let sought = Sought { kinds: &asked, since, wants: &wants };
        let found = in_parts(&repository, &sought, &parts).into_iter();
        let found: Vec<_> = found.map(|change| (change.time, change.url, change.round, change.kind)).collect();
        prop_assert_eq!(found, expected);
    }
}
