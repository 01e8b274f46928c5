use super::*;
use crate::testing::{datasets, rules, unchanging, with_contents};
use proptest::prelude::*;
use recrawl_formula::Basis;
use recrawl_simulation::policy::{PolicyVisit, ReplayPolicy, ReplayPolicyKind};
use recrawl_simulation::{Budget, ReplayDocument, ReplayMetric, Rules, Trace, Truth, replay};
use std::collections::BTreeMap;

const LAST: u32 = 15;

/// Chooses by age, and notes for each cycle the last visit of each page and the pages found changed.
#[derive(Default)]
struct Notes {
    last: Vec<Vec<Option<u32>>>,
    changed: Vec<Vec<u32>>,
}

impl ReplayPolicy for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        out.clear();
        out.extend(observed.columns().last.iter().map(|&last| -f64::from(last % 4)));
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        let columns = observed.columns();
        let last = |page: usize| columns.visited[page].then_some(columns.last[page]);
        self.last.push((0..columns.len()).map(last).collect());
        // By budget: out of the warm-up before this visit.
        let changed = visits.iter().filter(|visit| visit.changed == Some(true));
        self.changed.push(changed.map(|visit| visit.page).collect());
    }
}

/// A document of some of twelve words, the first of which is in all, with links.
fn document(page: u32, version: u16, pages: u32) -> ReplayDocument {
    let mut state = (page * 37 + u32::from(version) * 101 + 11) % 1009;
    let mut next = || {
        state = (state * 17 + 43) % 1009;
        state
    };
    let words: BTreeMap<u32, u32> = (0..5).map(|_| (next() % 12, 1 + next() % 3)).chain([(0, 1)]).collect();
    let mut links: Vec<u32> = (0..3).map(|_| next() % pages).filter(|&link| link != page).collect();
    links.sort_unstable();
    links.dedup();
    ReplayDocument { words: words.into_iter().collect(), links: links.into(), ..ReplayDocument::default() }
}

fn with_documents(data: Dataset) -> Dataset {
    let pages = data.pages.len() as u32;
    with_contents(data, |page, version| document(page, version, pages))
}

/// The figures of a cycle, each computed from its definition; without the weights.
fn slowly(data: &Dataset, seed: u64, cycle: u32, last: &[Option<u32>]) -> [f64; 3] {
    let contents = data.contents.as_deref().unwrap();
    let (words, queries) = queries::draw(contents, seed);
    let exists = |page: usize| data.pages[page].first <= cycle && cycle <= data.pages[page].last;
    let copy = |page: usize| contents.shown(page, last[page].filter(|_| exists(page))?);
    let pages = 0..data.pages.len();
    let known: Vec<bool> = pages.clone().map(|page| copy(page).is_some()).collect();
    let copies = known.iter().filter(|&&known| known).count() as f64;
    let ranks = LinkGraph::new(known, |page| copy(page).map_or(&[], |copy| &copy.links)).page_rank();
    let greatest_rank = ranks.iter().copied().fold(0.0, f64::max);
    let mut sums = [(0.0, 0.0); 3];
    for query in &queries {
        let query: Vec<u32> = query.iter().map(|&place| words[place as usize]).collect();
        let tf_idf = |page: usize| -> Option<f64> {
            let counts: Vec<u32> =
                query.iter().map(|&word| Some(copy(page)?.count(word))).collect::<Option<_>>()?;
            let idf = |word: u32| {
                let with =
                    pages.clone().filter(|&page| copy(page).is_some_and(|copy| copy.count(word) > 0)).count();
                (copies / with as f64).ln()
            };
            let of_word = |(&word, &count): (&u32, &u32)| (1.0 + f64::from(count).ln()) * idf(word);
            let sum = query.iter().zip(&counts).filter(|(_, count)| **count > 0).map(of_word).sum();
            counts.iter().any(|&count| count > 0).then_some(sum)
        };
        let found: Vec<(usize, f64)> = pages.clone().filter_map(|page| Some((page, tf_idf(page)?))).collect();
        let greatest = found.iter().map(|found| found.1).fold(0.0, f64::max);
        let score = |&(page, tf_idf): &(usize, f64)| {
            0.5 * if greatest > 0.0 { tf_idf / greatest } else { 0.0 } + 0.5 * (ranks[page] / greatest_rank)
        };
        let mut ranked: Vec<(f64, usize)> = found.iter().map(|found| (score(found), found.0)).collect();
        ranked.sort_by(|a, b| (b.0 * 1e9).round().total_cmp(&(a.0 * 1e9).round()).then(a.1.cmp(&b.1)));
        ranked.truncate(10);
        let has_all = |page: usize| {
            exists(page)
                && contents
                    .shown(page, cycle)
                    .is_some_and(|now| query.iter().all(|&word| now.count(word) > 0))
        };
        let (mut fresh, mut all, mut precision, mut hits) = (0.0, 0.0, 0.0, 0.0);
        for (place, &(_, page)) in ranked.iter().enumerate() {
            let rank = place as f64 + 1.0;
            all += rank.powf(-1.5);
            fresh += if data.truth.differs(page, last[page].unwrap(), cycle) { 0.0 } else { rank.powf(-1.5) };
            if has_all(page) {
                hits += 1.0;
                precision += hits / rank;
            }
        }
        if !ranked.is_empty() {
            sums[0] = (sums[0].0 + fresh / all, sums[0].1 + 1.0);
        }
        sums[1] = (sums[1].0 + precision, sums[1].1 + 1.0);
        let relevant = pages.clone().filter(|&page| has_all(page)).count();
        if relevant > 0 {
            sums[2] = (sums[2].0 + precision / relevant.min(10) as f64, sums[2].1 + 1.0);
        }
    }
    sums.map(|(sum, count)| sum / f64::max(count, 1.0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn figures_are_those_of_their_definitions(data in datasets(false, LAST), rules in rules(LAST)) {
        let data = with_documents(data);
        let Ok(judge) = SearchJudge::new(&data, rules.seed) else { return Ok(()) };
        let mut notes = Notes::default();
        let trace = replay::run_judged(&data, &rules, &mut notes, Some(&judge)).unwrap();
        for figures in &trace.cycles {
            let cycle = figures.cycle as usize;
            let expected = slowly(&data, rules.seed, figures.cycle, &notes.last[cycle]);
            let ContentFigures { freshness_at_10, mp_at_10, ap_at_10, .. } = figures.contents;
            for (found, expected) in [freshness_at_10, mp_at_10, ap_at_10].into_iter().zip(expected) {
                prop_assert!((found - expected).abs() < 1e-9, "cycle {}: {} {}", cycle, found, expected);
            }
        }
        // A judge changes nothing else.
        let mut plain = trace.clone();
        plain.cycles.iter_mut().for_each(|figures| figures.contents = ContentFigures::default());
        prop_assert_eq!(plain, replay::run(&data, &rules, &mut Notes::default()).unwrap());
    }

    #[test]
    fn weights_are_those_of_changed_visits(data in datasets(true, LAST), rules in rules(LAST)) {
        let data = with_documents(data);
        let Ok(judge) = SearchJudge::new(&data, rules.seed) else { return Ok(()) };
        let mut notes = Notes::default();
        let trace = replay::run_judged(&data, &rules, &mut notes, Some(&judge)).unwrap();
        for figures in &trace.cycles {
            let exists = vec![true; data.pages.len()];
            let ranks = LinkGraph::shown(data.contents.as_deref().unwrap(), figures.cycle, exists).page_rank();
            let changed = &notes.changed[figures.cycle as usize];
            let expected: f64 = changed.iter().map(|&page| ranks[page as usize] * ranks.len() as f64).sum();
            prop_assert!((figures.contents.weight_found - expected).abs() < 1e-9, "{:?} {}", figures, expected);
            prop_assert_eq!(figures.changed, changed.len() as u64);
        }
    }
}

/// By scikit-learn 1.9.1: `average_precision_score` of these results in order, times the relevant ones.
#[test]
fn precision_is_that_of_scikit_learn() {
    let relevant = [0, 1, 1, 0, 0, 1, 0, 0, 0, 1].map(|relevant| relevant == 1);
    assert!((precision(&relevant) - 2.066666666666666).abs() < 1e-12);
    assert_eq!((precision(&[true; 10]), precision(&[false; 10]), precision(&[])), (10.0, 0.0, 0.0));
    let top = 1.0 / (1.0 + 2f64.powf(-1.5));
    assert!((freshness([true, false].into_iter()) - top).abs() < 1e-12);
    assert_eq!(freshness([true; 10].into_iter()), 1.0);
}

/// Sixty pages; a third of them change every third cycle.
fn sixty() -> Dataset {
    let changes: Vec<(u32, u16)> = (1..=5).map(|i| (i * 3, i as u16)).collect();
    let mut data = unchanging(60, LAST);
    data.truth =
        Truth::from_changes(LAST, (0..60).map(|page| if page % 3 == 0 { &changes[..] } else { &[] }));
    with_documents(data)
}

#[test]
fn all_is_fresh_if_all_is_visited_and_stale_copies_cost_precision() {
    let data = sixty();
    let judge = SearchJudge::new(&data, 5).unwrap();
    assert!(judge.queries() > 20, "{}", judge.queries());
    let run = |name: &str, k| -> Trace {
        let rules = Rules { budget: Budget::Pages(k), ..Rules::default() };
        let mut policy = ReplayPolicyKind::named(name).unwrap().build(&data, Basis::Visits);
        replay::run_judged(&data, &rules, &mut *policy, Some(&judge)).unwrap()
    };
    let mean = |trace: &Trace, name: &str| ReplayMetric::named(name).unwrap().of_replay(trace);
    let (all, none) = (run("age", 60), run("age", 1));
    assert!((mean(&all, "freshness_at_10") - 1.0).abs() < 1e-12);
    assert!(mean(&none, "freshness_at_10") < 0.9);
    for metric in ["mp_at_10", "ap_at_10"] {
        assert!(mean(&all, metric) > mean(&none, metric), "{metric}");
    }
    assert!(mean(&all, "ap_at_10") <= 1.0 && mean(&all, "mp_at_10") <= 10.0);
    assert!(mean(&run("oracle", 20), "weighted_change_rate") > mean(&all, "weighted_change_rate"));
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let data = unchanging(3, 9);
    assert!(matches!(SearchJudge::new(&data, 0), Err(RulesError::NoContents { .. })));
    // A single word.
    let data =
        with_contents(data, |_, _| ReplayDocument { words: [(0, 1)].into(), ..ReplayDocument::default() });
    assert_eq!(SearchJudge::new(&data, 0).unwrap().queries(), 0);
    assert_ne!(
        queries::draw(sixty().contents.as_deref().unwrap(), 1),
        queries::draw(sixty().contents.as_deref().unwrap(), 2)
    );
}
