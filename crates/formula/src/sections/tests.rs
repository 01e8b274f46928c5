use super::*;
use proptest::prelude::*;
use recrawl_types::{Cycle, History, Known, UrlRules};
use std::collections::BTreeMap;

/// Pages in URL order: their keys, and the records of those that were visited.
type Pages = BTreeMap<CanonicalUrl, Option<History>>;

fn columns(pages: &Pages) -> StateColumns {
    let mut columns = StateColumns { global_rate: 0.1, ..StateColumns::default() };
    for history in pages.values() {
        columns.push(Known::default(), history.as_ref());
        columns.site_rate.push(0.3);
    }
    columns
}

fn find(pages: &Pages) -> Sections {
    let mut finder = SectionFinder::default();
    for (place, (url, history)) in (0..).zip(pages) {
        finder.push(place, url.key(), history.as_ref().map(RateEvidence::from_history).unwrap_or_default());
    }
    finder.finish()
}

/// The rates of all pages, filled block by block.
fn rates(pages: &Pages, block: usize) -> Vec<f64> {
    let (sections, mut whole) = (find(pages), columns(pages));
    let mut rates = Vec::new();
    for first in (0..pages.len()).step_by(block) {
        let end = pages.len().min(first + block);
        sections.fill(&mut whole, (first..end).map(|place| (place as u64, place)));
        rates.extend_from_slice(&whole.section_rate[first..end]);
    }
    rates
}

/// The rate of a page from the definition: each subtree is searched among all pages.
fn by_definition(pages: &Pages, url: &CanonicalUrl) -> f64 {
    let others = |is_in: &dyn Fn(&CanonicalUrl) -> bool| {
        let mut shown = RateEvidence::default();
        let within: Vec<_> = pages.iter().filter(|(other, _)| is_in(other)).collect();
        for (_, history) in within.iter().filter(|(other, _)| *other != url) {
            shown.add(history.as_ref().map(RateEvidence::from_history).unwrap_or_default());
        }
        (within.len(), shown)
    };
    let (mut around, all) = others(&|_| true);
    let mut rate = (all.changes as f64 + 0.5) / (all.cycles as f64 + 1.0);
    let mut chain = vec![
        others(&|other| Site::from_url(other) == Site::from_url(url)),
        others(&|other| other.host() == url.host()),
    ];
    for prefix in CanonicalUrl::folders(url.key()) {
        chain.push(others(&|other| other.key().starts_with(&url.key()[..prefix])));
    }
    for (level, (pages, shown)) in chain.into_iter().enumerate() {
        if pages >= 8 && (pages < around || level == 0) {
            rate = (shown.changes as f64 + 500.0 * rate) / (shown.cycles as f64 + 500.0);
        }
        around = pages;
    }
    rate
}

fn histories() -> impl Strategy<Value = Option<History>> {
    let visits = prop::collection::vec((1u32..30, any::<bool>()), 0..6);
    prop::option::weighted(
        0.8,
        visits.prop_map(|visits| {
            let mut history = History::first_fetch(Cycle(1));
            visits
                .into_iter()
                .for_each(|(gap, changed)| history.record(Cycle(history.last.0 + gap), changed));
            history
        }),
    )
}

fn trees() -> impl Strategy<Value = Pages> {
    let url = "http(s)?://([ab]\\.)?[xy]\\.test/([ab]/){0,4}[a-p]?(\\?x=[/12])?";
    let url = url.prop_map(|text| UrlRules::keep_all().canonicalize(&text).unwrap());
    prop::collection::btree_map(url, histories(), 1..150)
}

proptest! {
    #[test]
    fn rates_are_those_of_the_definition_in_blocks_of_any_size(pages in trees(), block in 1usize..200) {
        let found = rates(&pages, block);
        for (url, rate) in pages.keys().zip(found) {
            let expected = by_definition(&pages, url);
            prop_assert!((rate / expected - 1.0).abs() < 1e-12, "{url}: {rate} for {expected}");
        }
    }

    /// The digits are those of sections found without the page's visits.
    #[test]
    fn a_page_itself_is_left_out(pages in trees(), at in any::<prop::sample::Index>()) {
        let at = at.index(pages.len());
        let mut unvisited = pages.clone();
        *unvisited.values_mut().nth(at).unwrap() = None;
        prop_assert_eq!(rates(&pages, 1_000)[at], rates(&unvisited, 1_000)[at]);
    }
}

fn page(text: &str, changed: bool) -> (CanonicalUrl, Option<History>) {
    let mut history = History::first_fetch(Cycle(1));
    history.record(Cycle(101), changed);
    (UrlRules::keep_all().canonicalize(text).unwrap(), Some(history))
}

#[test]
fn a_folder_that_changes_raises_its_pages_and_no_others() {
    let text = |i: usize| format!("http://a.test/{}/{i}", if i < 40 { "busy" } else { "quiet" });
    let mut pages: Pages = (0..80).map(|i| page(&text(i), i < 40)).collect();
    // Below the smallest folder, with a number of pages that is one too small to count.
    pages.extend((0..7).map(|i| page(&format!("http://a.test/few/{i}"), true)));
    let rates: BTreeMap<_, _> = pages.keys().map(ToString::to_string).zip(rates(&pages, 50)).collect();
    let of = |i| rates[&text(i)];
    assert!(of(0) > 1.5 * of(79) && of(0) == of(39), "{rates:?}");
    let root = (40.0 + 6.0 + 500.0 * (46.5 / 8_601.0)) / (8_600.0 + 500.0);
    assert!((rates["http://a.test/few/3"] / root - 1.0).abs() < 1e-12, "{rates:?}");
}

/// Memory follows the number of subtrees, and no rate is 0 or no number.
#[test]
fn large_folders_many_folders_and_odd_urls_are_bounded() {
    let subtrees = |url: &dyn Fn(u64) -> String, changed| {
        let pages: Pages = (0..24_000).map(|i| page(&url(i), changed)).collect();
        assert!(rates(&pages, 1 << 12).iter().all(|rate| *rate > 0.0 && rate.is_finite()));
        find(&pages).subtrees()
    };
    // Domain, host and origin.
    assert_eq!(subtrees(&|i| format!("http://a.test/all/{i:06}"), false), 4, "one folder");
    assert_eq!(subtrees(&|i| format!("http://a.test/{:06}/{i}", i / 8), true), 3 + 3_000, "folders of 8");
    assert_eq!(subtrees(&|i| format!("http://a.test/{:06}/{i}", i / 7), true), 3, "smaller folders");
    assert_eq!(subtrees(&|i| format!("http://{i}.test/"), true), 0, "domains of a page");
    let nested = |i: u64| format!("http://a.test/{}{i}", "a/".repeat(i as usize % 900));
    assert_eq!(subtrees(&nested, false), LEVELS, "deep folders");
    let mut finder = SectionFinder::default();
    (0..100)
        .for_each(|place| finder.push(place, b"", RateEvidence { changes: 1, cycles: 4, changed_cycles: 4 }));
    finder.push(100, b"no key", RateEvidence::default());
    let sections = finder.finish();
    assert_eq!(
        (sections.subtrees(), sections.rate(&mut [0; LEVELS], 100, RateEvidence::default())),
        (0, 100.5 / 401.0)
    );
    assert_eq!(SectionFinder::default().finish().rate(&mut [0; LEVELS], 0, RateEvidence::default()), 0.5);
}

/// Of a sample, a section has the pages that were pushed, and lies where all of its pages do.
#[test]
fn sections_go_on_behind_pages_that_are_not_in_a_sample() {
    let shown = |changes| RateEvidence { changes, cycles: 100, changed_cycles: 0 };
    let mut finder = SectionFinder::default();
    let key = |i: u64| page(&format!("http://a.test/{}/{i:03}", i / 100), false).0.key().to_vec();
    (0..10).for_each(|i| finder.push(i, &key(i), shown(1)));
    (60..70).for_each(|i| finder.push(i, &key(i), shown(1)));
    (105..115).for_each(|i| finder.push(i, &key(i), shown(9)));
    let sections = finder.finish();
    let rate = |place| sections.rate(&mut [0; LEVELS], place, RateEvidence::default());
    assert!(rate(5) == rate(65) && rate(5) < rate(110), "{} {} {}", rate(5), rate(65), rate(110));
    let folder = &sections.levels[HOST + 2];
    assert_eq!(
        folder.iter().map(|of| (of.first, of.end, of.changes)).collect::<Vec<_>>(),
        [(0, 70, 20), (105, 115, 90)]
    );
}
