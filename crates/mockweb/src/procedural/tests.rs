//! Tests of the web as a whole, without a server.

use super::*;
use proptest::prelude::*;

fn web(pages: u32, hosts: u32, seed: u64) -> Procedural {
    Procedural::new(ProceduralConfig { pages, hosts, seed, ..ProceduralConfig::default() }).unwrap()
}

fn html(web: &Procedural, page: u32, version: u32) -> String {
    let names: Vec<String> = (0..web.hosts()).map(|h| format!("h{h}:1")).collect();
    let mut out = Vec::new();
    web.write_page(page, version, "", &names, &mut out);
    String::from_utf8(out).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_same_seed_makes_the_same_web(seed: u64, page in 0..500_u32, cycle in 0..1_000_u32) {
        let (one, other) = (web(500, 8, seed), web(500, 8, seed));
        let version = one.version(page, cycle).unwrap();
        prop_assert_eq!(other.version(page, cycle), Some(version));
        prop_assert_eq!(html(&one, page, version), html(&other, page, version));
        prop_assert_eq!(one.address(page), other.address(page));
        let changes = one.changes(page, 0, cycle);
        prop_assert_eq!(changes.last().map_or(0, |change| change.1), version);
    }

    #[test]
    fn versions_of_a_page_differ(seed: u64, page in 0..50_u32, a in 0..100_u32, b in 0..100_u32) {
        let web = web(50, 4, seed);
        prop_assert_eq!(a == b, html(&web, page, a) == html(&web, page, b));
    }
}

#[test]
fn another_seed_makes_another_web() {
    assert_ne!(html(&web(50, 4, 1), 7, 0), html(&web(50, 4, 2), 7, 0));
}

#[test]
fn pages_change_at_the_rate_of_their_laws() {
    let web = web(4_000, 16, 11);
    let changes: usize = (0..4_000).map(|page| web.changes(page, 0, 500).len()).sum();
    let law: f64 = (0..4_000).map(|page| web.process(page).rate()).sum();
    let seen = changes as f64 / 500.0;
    assert!((seen / law - 1.0).abs() < 0.02, "{seen} changes a cycle instead of {law}");
}

#[test]
fn habits_change_what_comes_after_and_versions_stay_those_of_the_changes() {
    let habits =
        Habits { liveliness: 3.0, drifts: vec!["100:3@0.5".parse().unwrap()], swaps: vec![200], week: true };
    let config = ProceduralConfig { pages: 400, hosts: 8, seed: 5, ..ProceduralConfig::default() };
    let drifting = Procedural::new(ProceduralConfig { habits, ..config.clone() }).unwrap();
    for page in 0..400 {
        let changes = drifting.changes(page, 0, 300);
        assert!(changes.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order, one a cycle");
        for cycle in [0, 1, 50, 99, 100, 150, 199, 200, 250, 300] {
            let last = changes.iter().rev().find(|(at, _)| *at <= cycle).map_or(0, |change| change.1);
            assert_eq!(drifting.version(page, cycle), Some(last), "page {page}, cycle {cycle}");
            let part: Vec<_> = changes.iter().copied().filter(|(at, _)| *at > cycle).collect();
            assert_eq!(drifting.changes(page, cycle, 300), part);
        }
    }
    // Half of the hosts change three times as often, as far as pages change at most once a cycle.
    let drift = Habits { drifts: vec!["100:3@0.5".parse().unwrap()], ..Habits::default() };
    let [plain, drifting] = [Habits::default(), drift]
        .map(|habits| Procedural::new(ProceduralConfig { habits, ..config.clone() }).unwrap());
    let slow: Vec<u32> = (0..400)
        .filter(|page| matches!(plain.process(*page), Process::Poisson { probability } if probability < 0.1))
        .collect();
    let count = |web: &Procedural, from, to| {
        slow.iter().map(|page| web.changes(*page, from, to).len()).sum::<usize>()
    };
    assert_eq!(count(&plain, 0, 100), count(&drifting, 0, 100), "nothing before");
    let ratio = count(&drifting, 100, 400) as f64 / count(&plain, 100, 400) as f64;
    assert!((1.3..2.7).contains(&ratio), "{ratio}");
    let bad = Procedural::new(ProceduralConfig {
        habits: Habits { liveliness: 0.5, ..Habits::default() },
        ..config
    });
    assert_eq!(bad.err(), Some(ProceduralError::Liveliness(0.5)));
}

#[test]
fn no_page_lies_where_robots_are_not_welcome() {
    let web = web(3_000, 20, 3);
    for page in 0..3_000 {
        let PageAddress { host, target } = web.address(page);
        assert!(web.robots(host).allows(&target), "{target}");
    }
}

#[test]
fn links_are_spelled_in_many_ways() {
    let web = web(2_000, 8, 1);
    let all: String = (0..50).map(|page| html(&web, page, 3)).collect();
    for form in
        ["href=\"http://h", "href=\"//h", "href=\"../", "href=\"/", "#section\"", "&amp;part=", "%C3%A9"]
    {
        assert!(all.contains(form), "{form}");
    }
    assert!(!all.contains("&part="));
}

#[test]
fn impossible_webs_are_refused() {
    let make = |pages, hosts, skew| {
        Procedural::new(ProceduralConfig { pages, hosts, skew, ..ProceduralConfig::default() }).err()
    };
    assert_eq!(make(0, 1, 0.0), Some(ProceduralError::Pages(0)));
    assert_eq!(make(5, 6, 0.0), Some(ProceduralError::Hosts { hosts: 6, pages: 5 }));
    assert_eq!(make(5, 0, 0.0), Some(ProceduralError::Hosts { hosts: 0, pages: 5 }));
    assert_eq!(make(5, 5, -1.0), Some(ProceduralError::Skew(-1.0)));
    assert_eq!(make(5, 5, 3.0), None);
}

#[test]
fn syllabi_stand_in_lists_and_nowhere_else() {
    let config = |syllabi| ProceduralConfig {
        pages: 4_000,
        hosts: 10,
        seed: 3,
        syllabi,
        ..ProceduralConfig::default()
    };
    let web = Procedural::new(config(0.1)).unwrap();
    let syllabi = (0..4_000).filter(|&page| web.is_syllabus(page)).count();
    assert!((200..500).contains(&syllabi), "{syllabi}");
    let without = Procedural::new(config(0.0)).unwrap();
    assert!((0..4_000).all(|page| !without.is_syllabus(page)));
    // A syllabus has siblings that are syllabi too.
    let alone = (1..3_999)
        .filter(|&page| web.is_syllabus(page) && !web.is_syllabus(page - 1) && !web.is_syllabus(page + 1));
    assert!(alone.count() * 10 < syllabi);
    assert!(Procedural::new(config(1.5)).is_err());
}
