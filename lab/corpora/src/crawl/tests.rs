use super::*;
use crate::corpus::{Corpus, CorpusLink, CorpusPage, CorpusSite, LinkKind};
use crate::learned;
use crate::link::{LINK_FEATURES, LinkModel, VERDICT_FEATURES};
use recrawl_focus::classifier::Assessment;
use recrawl_focus::evidence::LinkEvidence;
use recrawl_focus::logistic::Weights;
use recrawl_focus::policy::{ALL, FocusPolicy, named};

/// The links of twelve pages of one site.
///
/// ```text
/// 0 ─ 1 ─ 4 ─ 8     3 ─ 5, 8, 9
///   │   └ 5         7 ─ 10, 11
///   ├ 2 ─ 6, 7      8 ─ 11
///   └ 3
/// ```
const LINKS: [&[u32]; 12] =
    [&[1, 2, 3], &[4, 5], &[6, 7], &[5, 8, 9], &[8], &[], &[], &[10, 11], &[11], &[], &[], &[]];
const SCORES: [f64; 12] = [0.3, 0.1, 0.3, 0.05, 0.1, 0.1, 0.5, 0.25, 0.6, 0.15, 0.1, 0.0];
const CONTENT: [f64; 12] = [0.2, 0.4, 0.1, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

/// The links of page 3 to 8 and 9 have a genre term in their anchors.
fn has_genre(parent: usize, to: u32) -> bool {
    parent == 3 && to > 5
}

fn corpus() -> Corpus {
    let link = |&to: &u32| CorpusLink { to, kind: LinkKind::Body, anchor: String::new() };
    Corpus {
        pages: vec![CorpusPage::default(); 12],
        links: LINKS.iter().map(|links| links.iter().map(link).collect()).collect(),
        sites: vec![CorpusSite { name: "one".into(), ..CorpusSite::default() }],
    }
}

fn web(corpus: &Corpus) -> Web<'_> {
    let evidence = |parent: usize| {
        let of = |&to: &u32| LinkEvidence {
            genre: f64::from(u8::from(has_genre(parent, to))),
            group: parent as u64,
            ..LinkEvidence::default()
        };
        LINKS[parent].iter().map(of).collect()
    };
    let assess = |page: usize| Assessment {
        relevance: SCORES[page],
        genre: SCORES[page],
        content: CONTENT[page],
        url: None,
    };
    Web { corpus, assessments: (0..12).map(assess).collect(), evidence: (0..12).map(evidence).collect() }
}

fn fifo() -> CorpusRules {
    CorpusRules { ties: Ties::Fifo, ..CorpusRules::default() }
}

fn order(policy: &FocusPolicy, rules: &CorpusRules, seed: u64) -> Vec<u32> {
    let corpus = corpus();
    let web = web(&corpus);
    if policy.rule == FocusRule::Learned {
        let model =
            LinkModel { verdict: Weights([0.0; VERDICT_FEATURES]), link: Weights([0.0; LINK_FEATURES]) };
        let settings = learned::LearnedSettings { round: 2, explore: 0.5, ..Default::default() };
        return learned::crawl(&web, &[0], &[model], rules, &settings, &[0], seed);
    }
    crawl(&web, policy.rule, rules, &[0], seed)
}

fn ordered(name: &str, rules: &CorpusRules) -> Vec<u32> {
    order(named(name).unwrap(), rules, 0)
}

#[test]
fn each_policy_visits_in_the_order_worked_out_by_hand() {
    for (name, by_hand) in [
        ("ps", [0, 1, 2, 3, 6, 7, 10, 11, 4, 8, 5, 9]),
        ("fs-1", [0, 1, 2, 3, 4, 5, 8, 9, 6, 7, 11, 10]),
        ("fs-2", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("pfs-1", [0, 1, 2, 3, 6, 7, 10, 4, 5, 8, 9, 11]),
        ("pfs-2", [0, 1, 2, 3, 6, 7, 10, 11, 4, 5, 8, 9]),
        ("breadth", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("anchor", [0, 1, 4, 5, 2, 3, 8, 9, 6, 7, 11, 10]),
    ] {
        assert_eq!(ordered(name, &fifo()), by_hand, "{name}");
    }
}

#[test]
fn variants_of_the_rules_change_the_order_as_worked_out_by_hand() {
    let stays = CorpusRules { lower_overwrites: false, ..fifo() };
    assert_eq!(ordered("pfs-1", &stays), [0, 1, 2, 3, 6, 7, 10, 11, 4, 5, 8, 9]);
    let first = CorpusRules { parents: Parents::First, ..fifo() };
    assert_eq!(ordered("fs-1", &first), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    let lower = CorpusRules { change_threshold: 0.0, ..fifo() };
    assert_eq!(ordered("fs-2", &lower), ordered("fs-1", &fifo()));
    let near = CorpusRules { max_depth: 1, ..fifo() };
    assert_eq!(ordered("breadth", &near), [0, 1, 2, 3]);
    let narrow = CorpusRules { max_links: 1, ..fifo() };
    assert_eq!(ordered("breadth", &narrow), [0, 1, 4, 8, 11]);
}

#[test]
fn the_same_seed_gives_the_same_order_and_every_page_comes_once() {
    for policy in ALL {
        let orders: Vec<Vec<u32>> = (0..8).map(|seed| order(policy, &CorpusRules::default(), seed)).collect();
        for (seed, visits) in orders.iter().enumerate() {
            assert_eq!(order(policy, &CorpusRules::default(), seed as u64), *visits, "{}", policy.name);
            let mut sorted = visits.clone();
            sorted.sort_unstable();
            assert_eq!((sorted, visits[0]), ((0..12).collect(), 0), "{}", policy.name);
        }
        assert!(orders.iter().any(|visits| *visits != orders[0]), "{}: seeds change ties", policy.name);
    }
}

#[test]
fn the_list_has_each_rule_once_and_finds_policies_by_name() {
    for (place, policy) in ALL.iter().enumerate() {
        assert_eq!(named(policy.name).map(|found| found.about), Some(policy.about));
        assert!(ALL[..place].iter().all(|before| before.rule != policy.rule), "{}", policy.name);
    }
    let of_thesis: Vec<&str> = ALL.iter().filter(|p| p.is_of_thesis()).map(|p| p.name).collect();
    assert_eq!(of_thesis, ["ps", "fs-1", "fs-2", "pfs-1", "pfs-2"]);
    assert!(named("best").is_none());
}
