//! Recorded pages, as what features are made of.

use crate::LinkGraph;
use recrawl_clusters::features::{FeatureContent, FeaturePage};
use recrawl_simulation::{Dataset, ReplayDocument};
use std::collections::BTreeMap;

/// The pages that a data set shows in a cycle.
#[derive(Clone, Debug)]
pub struct PagesOfCycle<'a> {
    /// The index of each page in the data set, ascending.
    pub numbers: Vec<u32>,
    /// The pages, in the same order.
    pub pages: Vec<FeaturePage<'a>>,
    /// The cycle.
    pub cycle: u32,
}

/// In-links and PageRank of a page.
type Place = (u64, f64);

impl<'a> PagesOfCycle<'a> {
    /// The pages that exist in `cycle`, as a crawler knows them that visits all pages in all cycles up to it.
    ///
    /// The content before is the one that the last change replaced, with the links of that time; for a page that never
    /// changed it is the same content. A page in its first cycle has none. Without contents there are only URLs and the
    /// frequency of changes.
    ///
    /// # Panics
    /// If `cycle` is after the last cycle.
    pub fn in_cycle(data: &'a Dataset, cycle: u32) -> PagesOfCycle<'a> {
        assert!(cycle <= data.truth.cycles(), "cycle {cycle} is after the last one");
        let exists = |page: usize| (data.pages[page].first..=data.pages[page].last).contains(&cycle);
        let numbers: Vec<u32> =
            (0..data.pages.len()).filter(|&page| exists(page)).map(|p| p as u32).collect();
        let last_changes = last_changes(data, cycle);
        let before = |page: u32| {
            let (last, first) = (last_changes[page as usize], data.pages[page as usize].first);
            (first < cycle).then(|| last.changed.map_or(cycle, |changed| changed - 1))
        };
        let mut wanted: BTreeMap<u32, Vec<u32>> = BTreeMap::from([(cycle, numbers.clone())]);
        for &page in &numbers {
            if let Some(before) = before(page).filter(|before| *before != cycle) {
                wanted.entry(before).or_default().push(page);
            }
        }
        let places = places(data, &wanted);
        let content = |page: u32, cycle: u32| {
            let document = data.contents.as_ref().and_then(|contents| contents.shown(page as usize, cycle));
            page_content(document, places[&(page, cycle)])
        };
        let page = |&number: &u32| {
            let (page, last) = (&data.pages[number as usize], last_changes[number as usize]);
            FeaturePage {
                url: &page.url,
                content: content(number, cycle),
                before: before(number).map(|before| content(number, before)),
                change_frequency: f64::from(last.changes) / f64::from((cycle - page.first).max(1)),
            }
        };
        PagesOfCycle { pages: numbers.iter().map(page).collect(), numbers, cycle }
    }
}

/// The changes of a page up to a cycle.
#[derive(Clone, Copy, Default)]
struct LastChange {
    changes: u32,
    /// The cycle of the last one.
    changed: Option<u32>,
}

fn last_changes(data: &Dataset, cycle: u32) -> Vec<LastChange> {
    let mut found = vec![LastChange::default(); data.pages.len()];
    for now in 1..=cycle {
        for &page in data.truth.changed_in(now) {
            let page = &mut found[page as usize];
            *page = LastChange { changes: page.changes + 1, changed: Some(now) };
        }
    }
    found
}

/// The places of the wanted pages of each cycle in the graph of links of that cycle.
fn places(data: &Dataset, wanted: &BTreeMap<u32, Vec<u32>>) -> BTreeMap<(u32, u32), Place> {
    let mut places = BTreeMap::new();
    for (&cycle, pages) in wanted {
        let Some(contents) = &data.contents else {
            places.extend(pages.iter().map(|&page| ((page, cycle), Place::default())));
            continue;
        };
        let exists = data.pages.iter().map(|page| (page.first..=page.last).contains(&cycle)).collect();
        let graph = LinkGraph::shown(contents, cycle, exists);
        let (in_links, ranks) = (graph.in_links(), graph.page_rank());
        let place = |page: u32| (u64::from(in_links[page as usize]), ranks[page as usize]);
        places.extend(pages.iter().map(|&page| ((page, cycle), place(page))));
    }
    places
}

/// A content of a page, and its in-links and PageRank at that time. Without a document its counts are 0.
pub(crate) fn page_content(
    document: Option<&ReplayDocument>,
    (links_in, pagerank): Place,
) -> FeatureContent<'_> {
    let Some(document) = document else {
        return FeatureContent { links_in, pagerank, ..FeatureContent::default() };
    };
    FeatureContent {
        words: &document.words,
        words_total: document.word_count(),
        bytes: document.bytes.into(),
        images: document.images.into(),
        tables: document.tables.into(),
        kind: document.kind,
        links_in,
        links_out: document.links_out.into(),
        pagerank,
        addresses: document.addresses.into(),
    }
}
