//! Test helpers: small random histories, and rules for them.

use proptest::prelude::*;
use recrawl_formula::Basis;
use recrawl_scheduler::Ties;
use recrawl_simulation::policy::{PolicyVisit, ReplayPolicyKind};
use recrawl_simulation::{
    Budget, Contents, Dataset, Observed, RecordedPage, ReplayDocument, ReplayPolicy, Rules, Trace, Truth,
    replay,
};
use recrawl_types::Reads;
use std::sync::Arc;

/// A policy whose visits a test watches.
pub(crate) struct Watched<'a, W> {
    pub policy: Box<dyn ReplayPolicy + 'a>,
    /// Called after the policy has observed visits.
    pub watch: W,
}

impl<W: FnMut(&Observed, &[PolicyVisit]) + Send> ReplayPolicy for Watched<'_, W> {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn reads(&self) -> Reads {
        self.policy.reads()
    }

    fn reads_contents(&self) -> bool {
        self.policy.reads_contents()
    }

    fn reads_urls(&self) -> bool {
        self.policy.reads_urls()
    }

    fn wants(&mut self, observed: &Observed, left: u64) -> u64 {
        self.policy.wants(observed, left)
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.policy.score(observed, out);
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.policy.observe(observed, visits);
        (self.watch)(observed, visits);
    }
}

/// The history of a page: its first and last cycle, and its changes.
type History = (u32, u32, Vec<(u32, u16)>);

/// Histories of a few pages in a few folders of a few sites, with cycles 0 to `last`. Pages of one site are
/// contiguous. Unless `fixed`, some come late and leave early, and contents return.
pub(crate) fn datasets(fixed: bool, last: u32) -> impl Strategy<Value = Dataset> {
    let pages = prop::collection::vec((0u32..3, history(fixed, last)), 1..30);
    pages.prop_map(move |mut pages| {
        pages.sort_by_key(|page| page.0);
        let page = |(i, (site, (first, last, _))): (usize, &(u32, History))| RecordedPage {
            url: format!("http://site-{site}.test/{}/{i}", i % 5).into(),
            site: *site,
            group: *site,
            first: *first,
            last: *last,
            ..RecordedPage::default()
        };
        Dataset {
            name: "random".into(),
            dates: Vec::new(),
            pages: pages.iter().enumerate().map(page).collect(),
            sites: vec!["a".into(), "b".into(), "c".into()],
            groups: vec!["a".into(), "b".into(), "c".into()],
            truth: Truth::from_changes(last, pages.iter().map(|(_, (_, _, changes))| changes.as_slice())),
            signals: Default::default(),
            contents: None,
            beginning: None,
        }
    })
}

fn history(fixed: bool, last: u32) -> impl Strategy<Value = History> {
    let life = if fixed { (0..=0, last..=last) } else { (0..=last, 0..=last) };
    let steps = prop::collection::vec((1u32..12, 0u16..4), 0..12);
    (life, steps, any::<bool>()).prop_map(move |((a, b), steps, returns)| {
        let (first, last) = (a.min(b), a.max(b));
        let (mut cycle, mut changes, mut known, mut version) = (first, Vec::new(), 0, 0);
        for (gap, step) in steps {
            cycle += gap;
            let next = if returns && step < known { step } else { known + 1 };
            if cycle <= last && next != version {
                (version, known) = (next, known.max(next));
                changes.push((cycle, version));
            }
        }
        (first, last, changes)
    })
}

/// The same with signals.
pub(crate) fn with_signals(
    data: impl Strategy<Value = Dataset>,
    last: u32,
) -> impl Strategy<Value = Dataset> {
    let signals = prop::collection::vec(prop::collection::btree_set(1..=last, 0..10), 30);
    (data, signals).prop_map(|(mut data, signals)| {
        for ((number, page), cycles) in (0..).zip(&data.pages).zip(signals) {
            let cycles = cycles.into_iter().filter(|cycle| page.first < *cycle && *cycle <= page.last);
            data.signals.push(number, &cycles.collect::<Vec<u32>>());
        }
        data
    })
}

/// Rules under which any of these histories can be replayed.
pub(crate) fn rules(last: u32) -> impl Strategy<Value = Rules> {
    let budget = prop_oneof![(0.01..=1.0f64).prop_map(Budget::Share), (1u64..40).prop_map(Budget::Pages)];
    let ties = prop_oneof![Just(Ties::Index), Just(Ties::Hash)];
    let warmup = 0..last.min(4);
    (warmup, budget, ties, any::<u64>(), prop::option::of(0u64..6)).prop_map(
        |(warmup, budget, ties, seed, per_site)| Rules {
            warmup,
            budget,
            ties,
            seed,
            per_site,
            ..Rules::default()
        },
    )
}

/// Pages without changes.
pub(crate) fn unchanging(pages: usize, cycles: u32) -> Dataset {
    Dataset {
        name: "unchanging".into(),
        dates: Vec::new(),
        pages: vec![RecordedPage { last: cycles, ..RecordedPage::default() }; pages],
        sites: vec!["a".into()],
        groups: vec!["a".into()],
        truth: Truth::from_changes(cycles, vec![&[][..]; pages].into_iter()),
        signals: Default::default(),
        contents: None,
        beginning: None,
    }
}

/// The same data with contents: a document for each version of each page. Its title has the words of the first.
pub(crate) fn with_contents(data: Dataset, mut document: impl FnMut(u32, u16) -> ReplayDocument) -> Dataset {
    let mut documents = Vec::new();
    let mut in_force: Vec<Box<[(u32, u32)]>> = Vec::new();
    let each = |page: usize, changes: &[(u32, u16)]| -> Result<(), ()> {
        let first = documents.len() as u32;
        let listed = std::iter::once((data.pages[page].first, 0)).chain(changes.iter().copied());
        let listed = listed.map(|(cycle, version)| {
            for new in documents.len() as u32 - first..=u32::from(version) {
                documents.push(document(page as u32, new as u16));
            }
            (cycle, first + u32::from(version))
        });
        in_force.push(listed.collect());
        Ok(())
    };
    data.truth.try_each_page(each).unwrap();
    let title = |in_force: &[(u32, u32)]| -> Box<[u32]> {
        documents[in_force[0].1 as usize].words.iter().map(|word| word.0).collect()
    };
    let titles = in_force.iter().map(|listed| title(listed)).collect();
    let words =
        1 + documents.iter().flat_map(|document| &*document.words).map(|word| word.0).max().unwrap_or(0);
    let words = (0..words).map(|word| format!("w{word}").into()).collect();
    let contents = Contents::new(words, documents, in_force, titles);
    Dataset { contents: Some(Arc::new(contents)), ..data }
}

/// With contents: each version of a page links to some pages.
pub(crate) fn linked(data: &Dataset) -> Dataset {
    let pages = data.pages.len() as u32;
    with_contents(data.clone(), |page, version| {
        let mut links: Vec<u32> = (1..4).map(|i| (page * i + 5 * u32::from(version) + i) % pages).collect();
        links.sort_unstable();
        links.dedup();
        ReplayDocument { links: links.into(), ..ReplayDocument::default() }
    })
}

/// The replay of a policy, and its visits as cycle and page.
pub(crate) fn visits(
    data: &Dataset,
    rules: &Rules,
    kind: &ReplayPolicyKind,
    basis: Basis,
) -> (Trace, Vec<(u32, u32)>) {
    let with_links;
    let data = match kind.reads_contents() {
        true => {
            with_links = linked(data);
            &with_links
        }
        false => data,
    };
    let policy = kind.build(data, basis);
    assert_eq!(policy.name(), kind.name);
    let mut seen = Vec::new();
    let watch = |observed: &Observed, visits: &[PolicyVisit]| {
        seen.extend(visits.iter().map(|visit| (observed.cycle().0, visit.page)));
    };
    let trace = replay::run(data, rules, &mut Watched { policy, watch }).unwrap();
    (trace, seen)
}

/// The visits of a policy, and its visits where only those changes happen that they show. They are the same for honest
/// policies. The data have one word of changes.
pub(crate) fn visits_with_and_without_the_unseen(
    kind: &ReplayPolicyKind,
    data: &Dataset,
    rules: &Rules,
    basis: Basis,
) -> [Vec<(u32, u32)>; 2] {
    let last = data.truth.cycles();
    let whole = Dataset { truth: Truth::from_words(last, words(data, last, |_, _| true)), ..data.clone() };
    let (_, seen) = visits(&whole, rules, kind, basis);
    let visited_since = |page, cycle| seen.iter().any(|&(at, p)| p == page && at >= cycle);
    let known = Dataset { truth: Truth::from_words(last, words(&whole, last, visited_since)), ..whole };
    let again = visits(&known, rules, kind, basis).1;
    [seen, again]
}

/// The changes of each page for which `kept` is true, one word each.
fn words(data: &Dataset, last: u32, kept: impl Fn(u32, u32) -> bool) -> Vec<u64> {
    let mut words = vec![0; data.pages.len()];
    for cycle in 1..=last {
        for &page in data.truth.changed_in(cycle) {
            words[page as usize] |= u64::from(kept(page, cycle)) << cycle;
        }
    }
    words
}
