//! The policies of which Tan & Mitra (2010, §6.3.5) tell: in turn, and by samples.

use super::*;
use crate::LinkGraph;
use std::collections::HashSet;

/// What a policy chose: the cycle of each choice, its visits, and what was known of links after it.
type Choices = Vec<(u32, Vec<PolicyVisit>, LinkGraph)>;

/// 60 pages: site 0 with 20 in two directories, site 1 with 40 in four. Of the second directory of site 0 and the third
/// of site 1, all pages change in every cycle, others never.
fn directories() -> Dataset {
    let page = |page: u32| RecordedPage {
        url: format!("https://{}.test/{}/{page}", page / 20 % 2, page / 10).into(),
        site: u32::from(page >= 20),
        last: LAST,
        ..RecordedPage::default()
    };
    let words = (0..60).map(|page| if [1, 4].contains(&(page / 10)) { (2 << LAST) - 2 } else { 0 });
    linked(&Dataset {
        name: "directories".into(),
        dates: Vec::new(),
        pages: (0..60).map(page).collect(),
        sites: vec!["0".into(), "1".into()],
        groups: vec!["a".into()],
        truth: Truth::from_words(LAST, words.collect()),
        signals: Default::default(),
        contents: None,
        beginning: None,
    })
}

fn choices(data: &Dataset, name: &str, k: u64) -> Choices {
    let (Make::Honest(make) | Make::WithContents(make)) =
        ALL.iter().find(|kind| kind.name == name).unwrap().make
    else {
        panic!("{name} is a bound");
    };
    let mut made = Choices::new();
    let watch = |observed: &Observed, visits: &[PolicyVisit]| {
        made.push((observed.cycle().0, visits.to_vec(), LinkGraph::seen(observed)));
    };
    let rules = Rules { budget: Budget::Pages(k), ..Rules::default() };
    replay::run(data, &rules, &mut Watched { policy: make(Basis::Visits), watch }).unwrap();
    made.retain(|choice| choice.0 > rules.warmup);
    made
}

/// Checks the samples of a policy, and that no page is visited by chance while one remains that `is_near` one that
/// changed. Returns how many visits followed a changed sample.
fn check(name: &str, is_near: impl Fn(&Dataset, &LinkGraph, &[u32], u32) -> bool) -> usize {
    let data = directories();
    let mut followed = 0;
    // √(30·30/60) = 3.9, √(30·12/60) = 2.4, √(30·4/60) = 1.4.
    for (k, of_site) in [(30, 4), (12, 2), (4, 1)] {
        let made = choices(&data, name, k);
        let mut samples = HashSet::new();
        for cycle in made.chunks(2) {
            let [(first, sample, links), (second, rest, _)] = cycle else {
                panic!("{name}: a sample and the rest")
            };
            let total = 2 * of_site;
            assert_eq!((first, sample.len(), rest.len()), (second, total, k as usize - total), "{name}");
            let pages: Vec<u32> = sample.iter().map(|visit| visit.page).collect();
            let of_first = pages.iter().filter(|&&page| page < 20).count();
            assert!(name != "sls" || of_first == of_site && total == 2 * of_site, "{pages:?}");
            let changed: Vec<u32> =
                sample.iter().filter(|visit| visit.changed == Some(true)).map(|visit| visit.page).collect();
            let near =
                (0..60).filter(|&page| !pages.contains(&page) && is_near(&data, links, &changed, page));
            let expected = near.count().min(rest.len());
            let found = rest.iter().filter(|visit| is_near(&data, links, &changed, visit.page)).count();
            assert_eq!(found, expected, "{name} {k}: {changed:?}");
            followed += found;
            samples.insert(pages);
        }
        assert!(samples.len() > made.len() / 4, "each cycle has a sample of its own");
    }
    followed
}

#[test]
fn a_changed_sample_brings_its_site() {
    let share =
        |changed: &[u32], site: u32| changed.iter().filter(|&&page| u32::from(page >= 20) == site).count();
    // Of both sites the same number is sampled.
    let followed = check("sls", |_, _, changed, page| {
        let site = u32::from(page >= 20);
        share(changed, site) > share(changed, 1 - site)
    });
    assert!(followed > 100, "{followed}");
}

#[test]
fn a_changed_sample_brings_its_directory() {
    let followed = check("db", |_, _, changed, page| changed.iter().any(|other| other / 10 == page / 10));
    assert!(followed > 100, "{followed}");
}

#[test]
fn a_changed_sample_brings_what_is_within_three_links() {
    let followed = check("lb", |_, links, changed, page| {
        // Links of links, without a queue.
        let mut near: HashSet<u32> = changed.iter().copied().collect();
        for _ in 0..3 {
            near = near.iter().flat_map(|&page| links.links(page as usize)).chain(&near).copied().collect();
        }
        near.contains(&page)
    });
    assert!(followed > 100, "{followed}");
}

#[test]
fn round_robin_takes_pages_in_turn() {
    let made = choices(&directories(), "rr", 7);
    let visited: Vec<u32> = made.iter().flat_map(|choice| &choice.1).map(|visit| visit.page).collect();
    let expected: Vec<u32> = (0..60).cycle().take(visited.len()).collect();
    assert_eq!((visited.len(), visited), (7 * 23, expected));
}
