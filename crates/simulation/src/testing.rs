//! Test helpers: small random histories, and rules for them.

use crate::policy::PolicyVisit;
use crate::{Budget, Dataset, RecordedPage, Rules, Truth};
use crate::{Observed, Policy};
use proptest::prelude::*;
use recrawl_scheduler::Ties;
use recrawl_types::Reads;

/// A policy whose visits a test watches.
pub(crate) struct Watched<'a, W> {
    pub policy: Box<dyn Policy + 'a>,
    /// Called after the policy has observed visits.
    pub watch: W,
}

impl<W: FnMut(&Observed, &[PolicyVisit]) + Send> Policy for Watched<'_, W> {
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
