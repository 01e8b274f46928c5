use super::*;
use crate::testing::{bits_of, other_future, threes};
use proptest::prelude::*;

fn search(today: u32) -> RelatedSearch {
    RelatedSearch { today, days: 30, count: 3, delays: Delays::Quarter, seed: 2 }
}

#[test]
fn pages_ahead_correlate_best() {
    let recording = threes(12, 50, 3);
    let targets = [2, 5, 8, 11];
    for relation in [Relation::Correlation, Relation::Warping] {
        let found = find(&recording, relation, &targets, search(45));
        for (found, target) in found.iter().zip(targets) {
            let others: Vec<u32> = found.others.iter().map(|other| other.0).collect();
            assert_eq!(others[..2], [target - 2, target - 1], "{relation}: {found:?}");
            assert!(found.others[0].1 <= found.own, "{relation}: {found:?}");
        }
    }
    // Without texts, the bits of the pages ahead run ahead as well.
    let found = find(&bits_of(recording), Relation::Correlation, &targets, search(45));
    assert_eq!(found.iter().map(|found| found.others[0].0).collect::<Vec<_>>(), [0, 3, 6, 9]);
}

#[test]
fn graph_and_content_are_as_told() {
    let recording = threes(12, 50, 3);
    let graph = find(&recording, Relation::Graph, &[0, 5], search(45));
    assert_eq!(graph[0], RelatedPages { own: 1.0, others: vec![(1, 1.0), (11, 1.0)] });
    assert_eq!(graph[1].others, [(4, 1.0), (6, 1.0)]);
    let content = find(&recording, Relation::Content, &[4], search(45));
    let (text, other) = (recording.pages[4].text(45), recording.pages[5].text(45));
    let [a, b] = [text, other].map(|text| {
        let mut counts = vec![0.0; 600];
        text.words.iter().for_each(|&(word, count)| counts[word as usize] = f64::from(count));
        counts
    });
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let cosine = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
    let found = content[0].others.iter().find(|related| related.0 == 5).unwrap();
    assert!((found.1 - cosine).abs() < 1e-12, "{found:?} for {cosine}");
}

#[test]
fn no_relation_reads_a_later_day() {
    let recording = threes(10, 50, 8);
    let planted = other_future(recording.clone(), 41);
    let targets = [0, 3, 8];
    for relation in Relation::ALL.into_iter().chain([Relation::Random]) {
        let [found, same, other] = [(&recording, 40), (&planted, 40), (&planted, 44)]
            .map(|(recording, today)| find(recording, relation, &targets, search(today)));
        assert_eq!(found, same, "{relation}");
        assert_ne!(found, other, "{relation}");
    }
}

#[test]
fn pages_that_do_not_change_are_no_candidates() {
    let mut recording = threes(10, 50, 8);
    for day in 11..=40 {
        recording.pages[1].observed[day] = false;
    }
    for relation in Relation::ALL.into_iter().chain([Relation::Random]) {
        let found = find(&recording, relation, &[0], RelatedSearch { count: 20, ..search(40) });
        assert!(found[0].others.iter().all(|&(page, _)| page != 1 && page != 0), "{relation}: {found:?}");
        assert_eq!(relation == Relation::Random, found[0].others.len() == 8, "{relation}: {found:?}");
    }
}

proptest! {
    /// Shortcuts for series that do not move, against the dynamic programme for all.
    #[test]
    fn warping_of_words_is_that_of_their_series(seed in 0u64..500) {
        let recording = threes(6, 40, seed);
        let days = 11..=40;
        let dynamics = Dynamics::of_words(&recording, days.clone());
        let found = find(&recording, Relation::Warping, &[2], search(40));
        let series = |page: u32, word: u32| match dynamics.varying(page, word) {
            Some(series) => series.to_vec(),
            None => vec![dynamics.level(page, word); 30],
        };
        for &(other, weight) in &found[0].others {
            let distance = dynamics.terms(2).map(|(word, omega)| {
                omega * warping(&series(2, word), &series(other, word), &mut Vec::new())
            });
            prop_assert!((1.0 / (1.0 + distance.sum::<f64>() / 30.0) - weight).abs() < 1e-12);
        }
    }
}
