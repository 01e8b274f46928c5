use super::*;

fn parent(relevance: f64) -> Parent {
    Parent {
        verdict: Assessment { relevance, genre: relevance, content: relevance, url: None },
        threshold: 0.4,
    }
}

#[test]
fn a_rule_of_the_thesis_ranks_by_the_scores_it_passes_on() {
    let link = LinkEvidence::default();
    let model = LiveModel::default();
    let group = |relevance: f64| {
        let mut group = Yield::default();
        group.add(relevance);
        group
    };
    for (name, of_parent, of_siblings) in [
        ("ps", [0.1, 0.5], [0.0, 0.0]),
        ("fs-1", [0.0, 0.0], [0.1, 0.5]),
        ("fs-2", [0.0, 0.0], [0.0, 0.5]),
        ("pfs-1", [0.1, 0.5], [0.1, 0.5]),
        ("pfs-2", [0.0, 0.5], [0.0, 0.5]),
    ] {
        let order = DiscoveryOrder::named(name, 0.2).unwrap();
        for (at, score) in [0.1, 0.5].into_iter().enumerate() {
            let links = order.found(&model, &parent(score), &link);
            assert_eq!(links, logit(of_parent[at]), "{name}");
            let url = UntriedUrl { links: logit(0.0), group: group(score), ..UntriedUrl::default() };
            let planned = order.planned(&model, &url);
            assert!((planned - logit(of_siblings[at])).abs() < 0.05, "{name}: {planned}");
            let url = UntriedUrl { links: logit(0.9), ..url };
            assert_eq!(order.planned(&model, &url), logit(0.9), "{name}: the greater score counts");
        }
        assert!(order.is_of_thesis() && order.is_by_expectation());
    }
    let [breadth, learned] = ["breadth", "learned"].map(|name| DiscoveryOrder::named(name, 0.2).unwrap());
    assert!(!breadth.is_by_expectation() && learned.is_by_expectation());
    assert!(!breadth.is_of_thesis() && !learned.is_of_thesis());
    assert_eq!((DiscoveryOrder::named("random", 0.2), DiscoveryOrder::named("best", 0.2)), (None, None));
    assert_eq!(DiscoveryOrder::names(), ["ps", "fs-1", "fs-2", "pfs-1", "pfs-2", "breadth", "learned"]);
}

#[test]
fn the_first_weights_prefer_what_shows_signs_of_the_topic() {
    let model = LiveModel::default();
    let plain = LinkEvidence { words: vec![1], ..LinkEvidence::default() };
    let genre = LinkEvidence { genre: 1.0, ..plain.clone() };
    assert!(model.found(&parent(0.1), &genre) > model.found(&parent(0.1), &plain) + 0.5);
    let url = UntriedUrl { links: -4.0, depth: 2, ..UntriedUrl::default() };
    let of = |change: &dyn Fn(&mut UntriedUrl)| {
        let mut url = url;
        for _ in 0..100 {
            url.all.add(0.0);
        }
        (0..5).for_each(|_| url.all.add(1.0));
        change(&mut url);
        model.planned(&url)
    };
    let before = of(&|_| {});
    assert!(of(&|url| url.links += 1.0) > before + 0.25);
    assert!(of(&|url| (0..3).for_each(|_| url.group.add(1.0))) > before + 0.3, "siblings raise it");
    assert!(of(&|url| (0..9).for_each(|_| url.site.add(0.0))) < before, "a barren site lowers it");
}

#[test]
fn tried_links_move_the_weights_by_their_inverse_propensity() {
    let url = UntriedUrl { links: -2.0, tunnel: 1, depth: 2, ..UntriedUrl::default() };
    let start = LiveModel::default();
    let after = |is_relevant, propensity| {
        let mut model = start;
        model.learn(&url, is_relevant, propensity);
        assert_eq!((model.lessons, model.found), (1, start.found));
        model.planned(&url) - start.planned(&url)
    };
    assert!(after(true, 1.0) > 0.0 && after(false, 1.0) < 0.0);
    let ratio = after(true, 0.25) / after(true, 1.0);
    assert!((ratio - 4.0).abs() < 1e-9, "{ratio}");
    assert_eq!(after(true, 1e-9), after(true, 1.0 / MAX_WEIGHT), "bounded");
    let mut model = start;
    for _ in 0..3000 {
        model.learn(&url, true, 1.0);
    }
    assert!(model.planned(&url) > 1.0, "it learns");
    // One find among links of very low odds turns no weight.
    let mut model = start;
    model.learn(&UntriedUrl { links: -15.0, ..url }, true, 1e-9);
    let moved = model.planned.0.iter().zip(start.planned.0).map(|(after, before)| (after - before).abs());
    assert!(moved.fold(0.0, f64::max) <= MAX_STEP + 1e-12);
}
