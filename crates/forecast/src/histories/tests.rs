use super::*;
use proptest::prelude::*;
use recrawl_types::Importance;

proptest! {
    /// What was known before the kept visits follows from the record and from them.
    #[test]
    fn counters_before_the_kept_visits_are_exact(
        gaps in prop::collection::vec((1u32..9, any::<bool>()), 1..60), cut in 2u32..200,
    ) {
        let (mut history, mut cycle) = (History::first_fetch(Cycle(1)), 1);
        let (mut visits, mut true_before) = (Vec::new(), history);
        for (gap, changed) in gaps {
            cycle += gap;
            history.record(Cycle(cycle), changed);
            if cycle < cut {
                true_before = history;
            } else {
                visits.push(Seeing { cycle: Cycle(cycle), changed, age: Some(gap) });
            }
        }
        let mut censored = 0;
        let found = before(&history, &visits, Cycle(cut), &mut censored).unwrap();
        let exact = |h: &History| (h.visits, h.changes, h.first, h.last, h.changed_cycles);
        prop_assert_eq!(exact(&found), exact(&true_before));
        prop_assert_eq!(censored, 0);
        if visits.is_empty() {
            prop_assert_eq!(found, history);
        }
        let page = SeenPage {
            url: recrawl_types::UrlRules::keep_all().canonicalize("http://a.example/").unwrap(),
            before: found,
            visits: visits.iter().map(|visit| (visit.cycle, visit.changed)).collect(),
            importance: Importance::ONE,
        };
        let (mut count, mut changed) = (0, 0);
        let visited = page.visited();
        let kept = visited.gaps.iter().map(|&(cycles, changed)| Gaps { cycles, changed, count: 1 });
        for gap in visited.earlier.iter().copied().chain(kept) {
            count += gap.count;
            changed += if gap.changed { gap.count } else { 0 };
        }
        prop_assert_eq!((count, changed), (history.visits, history.changes));
        // Without the age of the first visit, its last visit before is taken for usual.
        let unknown: Vec<Seeing> = visits.iter().map(|visit| Seeing { age: None, ..*visit }).collect();
        let found = before(&history, &unknown, Cycle(cut), &mut censored).unwrap();
        prop_assert_eq!((found.visits, found.changes), (true_before.visits, true_before.changes));
        prop_assert!(found.last < Cycle(cut) && found.last >= found.first);
    }
}

#[test]
fn records_that_do_not_agree_are_left_out() {
    let mut history = History::first_fetch(Cycle(1));
    for (cycle, changed) in [(5, true), (9, false)] {
        history.record(Cycle(cycle), changed);
    }
    let seeing = |cycle, changed, age| Seeing { cycle: Cycle(cycle), changed, age: Some(age) };
    let of = |visits: &[Seeing]| before(&history, visits, Cycle(4), &mut 0);
    assert!(of(&[seeing(5, true, 4), seeing(9, false, 4)]).is_some());
    assert_eq!(of(&[seeing(5, true, 4), seeing(9, true, 4)]), None, "more changes than the record has");
    assert_eq!(of(&[seeing(5, true, 1), seeing(9, false, 4)]), None, "a visit that is not kept");
    assert_eq!(of(&[seeing(3, true, 2), seeing(5, true, 2), seeing(9, false, 4)]), None, "more visits");
}

#[test]
fn the_longest_run_of_the_panel_counts() {
    let of = |cycles: &[u32]| without_gaps(cycles.iter().map(|c| (Cycle(*c), c % 2 == 0)).collect());
    assert_eq!(of(&[9, 1, 2, 5, 6, 7]), Some(vec![false, true, false]));
    assert_eq!(of(&[1, 3, 5]), None);
}

#[test]
fn halves_share_no_site_and_where_there_are_few_no_folder() {
    let pages = |sites: usize| -> Vec<SeenPage> {
        let page = |number: usize| {
            let url = format!("http://s{}.example/f{}/{number}", number % sites, number / sites % 20);
            let url = recrawl_types::UrlRules::keep_all().canonicalize(&url).unwrap();
            SeenPage {
                url,
                before: History::first_fetch(Cycle(1)),
                visits: Vec::new(),
                importance: Importance::ONE,
            }
        };
        (0..600).map(page).collect()
    };
    for (sites, segments) in [(1, 4), (9, 4), (30, 3)] {
        let all = Histories { pages: pages(sites), ..Histories::default() };
        let (to_learn, to_test) = all.halves(7);
        assert_eq!(to_learn.pages.len() + to_test.pages.len(), 600);
        let groups = |half: &Histories| -> std::collections::BTreeSet<String> {
            let group = |page: &SeenPage| page.url.as_text().split('/').take(segments).collect();
            half.pages.iter().map(group).collect()
        };
        assert!(groups(&to_learn).is_disjoint(&groups(&to_test)), "{sites}");
        assert!(to_learn.pages.len().min(to_test.pages.len()) > 150, "{sites}: {}", to_test.pages.len());
    }
}
