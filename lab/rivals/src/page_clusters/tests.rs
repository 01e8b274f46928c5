use super::figures::{GroupSizes, figure_1, figure_8};
use super::*;
use crate::testing::with_contents;
use recrawl_clusters::features::FeatureBlock;
use recrawl_simulation::{Dataset, RecordedPage, ReplayDocument, Truth};

const LAST: u32 = 20;

/// 120 pages of four kinds that differ in their contents and in how often they change: never, every 10, 4 and 2 cycles.
/// Sites and groups have pages of all kinds.
fn kinds() -> Dataset {
    let page = |i: u32| RecordedPage {
        url: format!("https://{}.test/{i}", i % 5).into(),
        site: i % 5,
        group: i % 7,
        last: LAST,
        ..RecordedPage::default()
    };
    let every =
        |gap: u32| (1..=LAST).filter(|cycle| cycle % gap == 0).fold(0, |word, cycle| word | 1 << cycle);
    let words = [0, every(10), every(4), every(2)];
    let data = Dataset {
        name: "kinds".into(),
        dates: Vec::new(),
        pages: (0..120).map(page).collect(),
        sites: (0..5).map(|site| site.to_string()).collect(),
        groups: (0..7).map(|group| group.to_string()).collect(),
        truth: Truth::from_words(LAST, (0..120).map(|i| words[i % 4]).collect()),
        signals: Default::default(),
        contents: None,
        beginning: None,
    };
    with_contents(data, |page, version| ReplayDocument {
        bytes: 1000 + page % 9 + u32::from(version),
        images: 30 * u32::from(page % 4 == 1),
        tables: 9 * u32::from(page % 4 == 2),
        links_out: 70 * u32::from(page % 4 == 3),
        words: [(page % 4, 3), (10 + page % 5, 1)].into(),
        ..ReplayDocument::default()
    })
}

fn options(clusters: Option<usize>) -> FitOptions {
    let blocks = [FeatureBlock::Content, FeatureBlock::Links, FeatureBlock::Dynamic].into();
    FitOptions { blocks, clusters, seed: 7, threads: 1 }
}

#[test]
fn pages_are_as_shown_in_the_cycle_with_the_content_before() {
    let page =
        |url: &str, first, last| RecordedPage { url: url.into(), first, last, ..RecordedPage::default() };
    let data = Dataset {
        name: "four".into(),
        dates: Vec::new(),
        pages: vec![page("a", 0, 6), page("b", 0, 6), page("c", 4, 6), page("d", 0, 3), page("e", 2, 6)],
        sites: vec!["s".into()],
        groups: vec!["g".into()],
        truth: Truth::from_words(6, vec![0b010_1000, 0, 0, 0b10, 0b100_0000]),
        signals: Default::default(),
        contents: None,
        beginning: None,
    };
    // Page a links to page b until it changes in cycle 3, then to c.
    let with = with_contents(data.clone(), |page, version| ReplayDocument {
        bytes: 100 * (page + 1) + u32::from(version),
        links_out: 1,
        links: if page > 0 { [].into() } else { [if version == 0 { 1 } else { 2 }].into() },
        ..ReplayDocument::default()
    });
    let shown = PagesOfCycle::in_cycle(&with, 4);
    assert_eq!(shown.numbers, [0, 1, 2, 4], "d is gone");
    let of = |place: usize| {
        let page = &shown.pages[place];
        let before = page.before.map(|before| (before.bytes, before.links_in));
        ((page.content.bytes, page.content.links_in), before, page.change_frequency)
    };
    assert_eq!(of(0), ((101, 0), Some((100, 0)), 0.25), "changed in cycle 3");
    assert_eq!(of(1), ((200, 0), Some((200, 0)), 0.0), "never changed");
    assert_eq!(of(2), ((300, 1), None, 0.0), "new");
    assert_eq!(of(3), ((500, 0), Some((500, 0)), 0.0), "changes later");
    assert_eq!(PagesOfCycle::in_cycle(&with, 2).pages[1].content.links_in, 1, "the links of that time");
    let ranks: f64 = shown.pages.iter().map(|page| page.content.pagerank).sum();
    assert!((ranks - 1.0).abs() < 1e-9, "{ranks}");
    let without = PagesOfCycle::in_cycle(&data, 5);
    assert_eq!((without.pages[0].content.bytes, without.pages[0].change_frequency), (0, 0.4));
}

#[test]
fn clusters_are_the_kinds_and_do_not_depend_on_threads() {
    let data = kinds();
    let pages = PagesOfCycle::in_cycle(&data, LAST);
    let fitted = fit(&data, &pages, &options(Some(4))).unwrap();
    assert_eq!(fitted.model.counts(), [30; 4]);
    let mean = fitted.closeness.iter().sum::<f64>() / 4.0;
    assert!((mean - fitted.model.tau_per_page()).abs() < 1e-6, "{mean} {}", fitted.model.tau_per_page());
    for (place, page) in pages.pages.iter().enumerate() {
        let cluster = |page| fitted.model.assign(&fitted.model.space().values(page).unwrap()).unwrap().0;
        assert_eq!(cluster(page), cluster(&pages.pages[place % 4]), "{place}");
    }
    assert_eq!(fit(&data, &pages, &FitOptions { threads: 3, ..options(Some(4)) }).unwrap(), fitted);
    let chosen = fit(&data, &pages, &options(None)).unwrap();
    assert_eq!(chosen.choice.unwrap(), figure_1(&data, &pages, &options(None)).unwrap());
    assert!(fit(&data, &pages, &options(Some(0))).is_err());
    let nobody = PagesOfCycle { numbers: Vec::new(), pages: Vec::new(), cycle: 0 };
    assert!(fit(&data, &nobody, &options(None)).unwrap_err().to_string().contains("no pages"));
}

#[test]
fn rates_vary_less_within_clusters_than_within_sites_or_by_chance() {
    let data = kinds();
    let pages = PagesOfCycle::in_cycle(&data, LAST / 2);
    let found = figure_8(&data, &pages, &options(None)).unwrap();
    assert_eq!(found.pages, 120);
    let at = |clusters| *found.clusters.iter().find(|point| point.clusters == clusters).unwrap();
    // One cluster has all pages. Rates in the cycles 11 to 20 are 0, 0.1, 0.3 and 0.5, with a mean of 0.225.
    let squares = [0.225f64, 0.125, 0.075, 0.275].map(|distance| distance * distance).iter().sum::<f64>();
    let all = (squares / 4.0).sqrt() / 0.225;
    let one = at(1);
    for value in [one.by_static, one.by_dynamic, one.by_both, one.by_chance] {
        assert!((value.unwrap() - all).abs() < 1e-9, "{value:?} {all}");
    }
    let five = at(5);
    assert!(five.by_both.unwrap() < 0.1 && five.by_static.unwrap() < 0.1, "{five:?}");
    assert!(five.by_chance.unwrap() > 0.5 && found.sites > 0.5 && found.groups > 0.5, "{found:?}");
    assert_eq!(figure_8(&data, &pages, &options(None)).unwrap(), found);
    let url = FitOptions { blocks: [FeatureBlock::Url, FeatureBlock::UrlWords].into(), ..options(None) };
    let found = figure_8(&data, &pages, &url).unwrap();
    assert!(found.clusters.iter().all(|p| p.by_dynamic.or(p.by_both).is_none() && p.by_chance.is_some()));
}

#[test]
fn sizes_count_groups_with_pages() {
    let sizes = GroupSizes::of_pages([0, 3, 3, 3, 1, 1]);
    assert_eq!(sizes, GroupSizes { number: 3, least: 1, most: 3, mean: 2.0 });
    let none = GroupSizes::from_counts([]);
    assert!(none.number == 0 && none.most == 0 && none.mean.is_nan());
}

#[test]
fn keywords_are_words_of_many_titles_but_not_of_most() {
    let data = kinds();
    // Each title has one of four words and one of five.
    assert_eq!(popular_keywords(&data, &(0..120).collect::<Vec<_>>()), [0, 1, 2, 3, 10, 11, 12, 13, 14]);
    assert_eq!(popular_keywords(&data, &[0, 4, 8, 1]), [1, 10, 11, 13, 14], "word 0 is in three of four");
    assert!(popular_keywords(&Dataset { contents: None, ..data }, &[0]).is_empty());
}
