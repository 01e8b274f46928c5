use super::*;
use proptest::prelude::*;
use recrawl_types::UrlRules;

const RULE: TrapRule = TrapRule { min_pages: 20, near_duplicates: 0.95, max_distance: 3 };

fn url(path: &str) -> CanonicalUrl {
    UrlRules::default().canonicalize(&format!("http://a.example{path}")).unwrap()
}

/// SplitMix64: texts with nothing in common.
fn scattered(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A cycle in which these pages were visited.
fn cycle(
    known: &mut OriginTraps,
    number: u32,
    pages: impl IntoIterator<Item = (String, u64)>,
) -> Vec<String> {
    let mut pages: Vec<(CanonicalUrl, u64)> =
        pages.into_iter().map(|(path, hash)| (url(&path), hash)).collect();
    pages.sort_by(|a, b| a.0.cmp(&b.0));
    pages.iter().for_each(|(url, hash)| known.observe(url, *hash, Cycle(1), &RULE));
    known.settle(DatedRound::only_of(Cycle(number)), &RULE).into_iter().map(|pattern| pattern.text).collect()
}

fn trap(form: &str, count: u64) -> Vec<(String, u64)> {
    // One of 64 bits differs, as if only a date did.
    (0..count).map(|n| (form.replace('N', &n.to_string()), 99 ^ (1 << (n % 64)))).collect()
}

fn cut(known: &OriginTraps, path: &str) -> Option<String> {
    known.cut(&url(path), &RULE).map(|pattern| pattern.text)
}

#[test]
fn the_narrowest_pattern_that_explains_it_is_cut_off() {
    let random = |n: u64| format!("{:016x}a1", scattered(n));
    for (pages, pattern) in [
        (trap("/cal/N/x", 30), "/cal/#/x"),
        ((0..30).map(|n| (format!("/s/{}/x", random(n)), 5)).collect(), "/s/{id}/x"),
        ((0..64u32).map(|n| (format!("/list?{}", facets(n)), 5)).collect(), "/list?*"),
        ((0..60u64).map(|n| (format!("/p/w{}", word(n)), 5)).collect(), "/p/*"),
        ((0..90).map(|n| (format!("/sp/{}", "a/".repeat(n + 1)), 5)).collect(), "/sp/**"),
    ] {
        let mut known = OriginTraps::default();
        assert_eq!(cycle(&mut known, 2, pages), [pattern]);
        assert_eq!(
            known.cut_patterns().map(|(p, e)| (&*p.text, e.cut_since)).collect::<Vec<_>>(),
            [(pattern, Some(Cycle(2)))]
        );
        let again = OriginTraps::from_bytes(&known.to_bytes()).unwrap();
        assert_eq!(again, known);
    }
}

/// A word of letters, another for each number.
fn word(n: u64) -> String {
    (0..6).map(|at| char::from(b'a' + ((n >> (2 * at)) % 4) as u8 * 6)).collect()
}

/// One of 64 sets of parameters.
fn facets(n: u32) -> String {
    (0..6).filter(|bit| n >> bit & 1 == 1).map(|bit| format!("f{}=1&", char::from(b'a' + bit))).collect()
}

#[test]
fn a_trap_is_told_at_once_and_costs_its_neighbours_nothing() {
    let mut known = OriginTraps::default();
    let pages = (0..3u64).map(|n| (format!("/shop/item-{n}"), scattered(n))).chain(trap("/shop/N/cal", 200));
    let mut told = Vec::new();
    for ((path, hash), visits) in pages.zip(1..) {
        let news = known.observe_and_judge(&url(&path), hash, Cycle(1), &RULE);
        told.extend(news.into_iter().map(|pattern| (pattern.text, visits)));
    }
    // Three items, and the first page of the calendar, which is like none before it, are among the
    // first twenty.
    assert_eq!(told, [("/shop/#/cal".to_owned(), 23)]);
    assert_eq!(cut(&known, "/shop/item-9999"), None);
    // If a block of similar pages comes first, the pattern is readmitted as soon as its probes
    // differ.
    let mut known = OriginTraps::default();
    let judged = |known: &mut OriginTraps, pages: Vec<(String, u64)>| {
        for (path, hash) in pages {
            known.observe_and_judge(&url(&path), hash, Cycle(1), &RULE);
        }
        known.cut_patterns().count()
    };
    assert_eq!(judged(&mut known, trap("/p/N", 20)), 1);
    assert_eq!(judged(&mut known, (20..45u64).map(|n| (format!("/p/{n}"), scattered(n))).collect()), 0);
}

#[test]
fn an_honest_neighbour_stays() {
    let mut known = OriginTraps::default();
    let honest = |count: u64| (0..count).map(|n| (format!("/shop/item-{n}"), scattered(n)));
    // The folder as a whole has as many near-duplicates as a trap, but the calendar in it explains
    // them.
    assert_eq!(cycle(&mut known, 1, trap("/shop/N/cal", 200).into_iter().chain(honest(3))), ["/shop/#/cal"]);
    assert_eq!(cut(&known, "/shop/7/cal").as_deref(), Some("/shop/#/cal"));
    assert_eq!(cut(&known, "/shop/item-9999"), None);
    // Here the folder is cut off, but not the patterns known to be honest.
    let mut known = OriginTraps::default();
    let words = (0..400u64).map(|n| (format!("/shop/{}", word(n)), 5));
    assert_eq!(cycle(&mut known, 1, words.chain(honest(5))), ["/shop/*"]);
    assert_eq!(cut(&known, "/shop/anything").as_deref(), Some("/shop/*"));
    assert_eq!(cut(&known, "/shop/item-9999"), None);
}

#[test]
fn a_pattern_whose_pages_come_to_differ_is_let_in_again() {
    let mut known = OriginTraps::default();
    assert_eq!(cycle(&mut known, 1, trap("/cal/N", 500)), ["/cal/#"]);
    assert!(cut(&known, "/cal/9").is_some());
    let honest = (1000..1060u64).map(|n| (format!("/cal/{n}"), scattered(n)));
    assert_eq!(cycle(&mut known, 2, honest), [] as [&str; 0]);
    assert_eq!(cut(&known, "/cal/9"), None);
    assert_eq!(known.cut_patterns().count(), 0);
}

#[test]
fn a_trap_that_opens_among_honest_pages_is_found() {
    let mut known = OriginTraps::default();
    cycle(&mut known, 1, (0..100u64).map(|n| (format!("/n/{n}"), scattered(n))));
    let found = (2..40).find(|number| {
        let opened = trap("/n/N", 50).into_iter().map(|(path, hash)| (format!("{path}{number:04}"), hash));
        !cycle(&mut known, *number, opened).is_empty()
    });
    assert!(found.is_some(), "{known:?}");
}

#[test]
fn what_is_kept_of_an_origin_is_bounded_and_traps_stay() {
    let mut known = OriginTraps::default();
    assert_eq!(cycle(&mut known, 1, trap("/cal/N", 60)), ["/cal/#"]);
    for number in 2..5 {
        cycle(
            &mut known,
            number,
            (0..2000u64).map(|n| (format!("/{}/{}", word(n), word(n / 3)), scattered(n))),
        );
        assert!(
            known.patterns.len() <= MAX_KEPT && known.patterns.values().all(|e| e.sample.len() <= MAX_SAMPLE)
        );
    }
    assert!(cut(&known, "/cal/7").is_some());
    assert!(known.to_bytes().len() < 64 << 10, "{}", known.to_bytes().len());
}

#[test]
fn another_version_and_damage_are_refused() {
    let bytes = OriginTraps::default().to_bytes();
    let text = String::from_utf8(bytes).unwrap();
    let error = OriginTraps::from_bytes(text.replace(":1", ":2").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("version 2"), "{error}");
    assert!(OriginTraps::from_bytes(b"{}").is_err());
}

proptest! {
    #[test]
    fn pages_that_differ_are_never_cut_off(seed: u64, forms in proptest::collection::vec("/[ab]{1,2}(/[0-9]{1,3}){0,2}(\\?[ab]=[0-9])?", 1..200)) {
        let mut known = OriginTraps::default();
        for number in 1..4 {
            let pages = forms.iter().zip(0..).map(|(form, n)| (form.clone(), scattered(seed ^ (n + 1000 * u64::from(number)))));
            prop_assert_eq!(cycle(&mut known, number, pages), [] as [&str; 0]);
        }
        prop_assert_eq!(known.cut_patterns().count(), 0);
    }

    /// A third of a pattern's pages are alike (empty months of a real calendar, products without a
    /// description): in any order, they are not cut off while a cycle runs.
    #[test]
    fn a_pattern_that_is_in_part_alike_is_not_cut_off_at_once(seed: u64) {
        let mut known = OriginTraps::default();
        for n in 0..1000u64 {
            let hash = if scattered(seed ^ n).is_multiple_of(3) { 99 } else { scattered(n) };
            let news = known.observe_and_judge(&url(&format!("/cal/{n}")), hash, Cycle(1), &RULE);
            prop_assert_eq!(news, []);
        }
    }
}
