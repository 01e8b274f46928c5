use super::*;

fn link(group: u64, word: u64) -> LinkEvidence {
    LinkEvidence { group, words: vec![word], ..LinkEvidence::default() }
}

fn feature(yields: &Yields, link: &LinkEvidence, site: u32, name: &str) -> f64 {
    let place = FEATURES.iter().position(|known| *known == name).unwrap();
    yields.features(&LinkParent::default(), link, site)[place]
}

fn verdict(genre: f64) -> Assessment {
    Assessment { genre, ..Assessment::default() }
}

#[test]
fn a_relevant_visit_raises_the_links_beside_it_and_its_site() {
    let mut yields = Yields::default();
    let beside = link(1, 10);
    yields.visited(7, [&beside], 0.0, &verdict(0.0));
    yields.visited(8, [&link(2, 20)], 0.9, &verdict(0.8));
    let of =
        |name| [(1, 7), (2, 8), (3, 9)].map(|(group, site)| feature(&yields, &link(group, 30), site, name));
    for name in ["site yield", "site genre"] {
        let [poor, rich, new] = of(name);
        assert!(poor < new && new < rich, "{name}: {poor} {new} {rich}");
        assert_eq!(new, 0.0, "{name}: a new site is as the crawl's mean");
    }
    let [_, rich, new] = of("group yield");
    assert!(rich >= 0.0 && new == 0.0);
    let anchors = [10, 20].map(|word| feature(&yields, &link(3, word), 9, "anchor yield"));
    assert!(anchors[0] < 0.0 && anchors[1] > 0.0, "{anchors:?}");
}

#[test]
fn yields_do_not_depend_on_the_order_of_visits_and_links() {
    let links: Vec<LinkEvidence> = (0..6).map(|n| link(n % 2, n % 3)).collect();
    let relevance = |n: usize| [0.5, 0.25, 0.125][n % 3];
    let (mut ahead, mut back) = (Yields::default(), Yields::default());
    for n in 0..6 {
        ahead.visited(n as u32 % 2, [&links[n], &links[(n + 1) % 6]], relevance(n), &verdict(0.5));
    }
    for n in (0..6).rev() {
        back.visited(n as u32 % 2, [&links[(n + 1) % 6], &links[n]], relevance(n), &verdict(0.5));
    }
    for link in &links {
        let of = |yields: &Yields| yields.features(&LinkParent::default(), link, 1);
        assert_eq!(of(&ahead), of(&back));
    }
}

#[test]
fn what_is_kept_of_anchors_is_bounded() {
    let mut yields = Yields::default();
    for first in (0..MAX_ANCHORS as u64 + 10_000).step_by(1000) {
        let many = LinkEvidence { words: (first..first + 1000).collect(), ..LinkEvidence::default() };
        yields.visited(0, [&many], 0.5, &verdict(0.5));
    }
    assert_eq!((yields.anchors.len(), yields.groups.len()), (MAX_ANCHORS, 1));
}

#[test]
fn features_are_finite_whatever_was_seen() {
    let mut yields = Yields::default();
    let parent = LinkParent { depth: u32::MAX, tunnel: u32::MAX, ..LinkParent::default() };
    for relevance in [0.0, 1.0, 0.0] {
        let features = yields.features(&parent, &LinkEvidence::default(), 3);
        assert!(features.iter().all(|feature| feature.is_finite()), "{features:?}");
        yields.visited(3, [&LinkEvidence::default()], relevance, &verdict(relevance));
    }
}
