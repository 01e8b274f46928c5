//! What a policy may know: visits and their outcomes.

use crate::contents::{Contents, ReplayDocument};
use crate::related::Related;
use crate::{Dataset, Rules};
use recrawl_formula::{Priors, RateEvidence};
use recrawl_scheduler::Gate;
use recrawl_types::{Cycle, History, Known, LastmodCounts, PageStatus, Reads, SignalQuality, StateColumns};
use std::sync::Arc;

/// What a policy sees of a replay: the outcomes of visits, as in a crawl's records. It learns
/// nothing about pages that were not visited.
#[derive(Clone, Debug)]
pub struct Observed {
    cycle: Cycle,
    k: u64,
    seed: u64,
    warmup: u32,
    columns: StateColumns,
    sites: Vec<u32>,
    /// The evidence of each site, updated visit by visit.
    evidence: Vec<RateEvidence>,
    /// What visits showed of the signals of each site; empty in a history without signals.
    shown: Vec<SignalsShown>,
    /// Only for policies that read the neighbours of pages.
    related: Option<Related>,
    /// Does the policy read the model of the next change, which learns only then?
    learns: bool,
    /// Only for policies that read contents.
    contents: Option<SeenContents>,
    /// The URL of each page, only for policies that read URLs.
    urls: Vec<Box<str>>,
}

/// The contents of the last two visits of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen<'a> {
    /// The content of the last visit; none before the first, and where the data set has no text.
    pub last: Option<&'a ReplayDocument>,
    /// The content of the visit before it.
    pub before: Option<&'a ReplayDocument>,
}

/// What visits met of the contents.
#[derive(Clone, Debug)]
struct SeenContents {
    /// Private, so that a policy sees of it only what its visits met.
    all: Arc<Contents>,
    /// For each page the documents of its last visit, and of the one before.
    met: Vec<[Option<u32>; 2]>,
}

impl SeenContents {
    fn visit(&mut self, page: usize, cycle: Cycle) {
        let met = &mut self.met[page];
        *met = [self.all.number(page, cycle.0), met[0]];
    }
}

/// What visits showed of the signals of a site.
#[derive(Clone, Copy, Debug, Default)]
struct SignalsShown {
    /// Comparisons after any number of signals, as a crawl counts them for its announced share.
    any: [LastmodCounts; 2],
    /// Comparisons after at most one signal.
    single: [LastmodCounts; 2],
}

/// Of two counts: those of earlier cycles, and those of this one.
const EARLIER: usize = 0;
const NOW: usize = 1;

impl Observed {
    /// Before the first visit, for a policy that reads `reads`.
    pub(crate) fn new(data: &Dataset, rules: &Rules, reads: Reads) -> Observed {
        let sites: Vec<u32> = data.pages.iter().map(|page| page.site).collect();
        let (site_count, has_signals) = (data.sites.len(), !data.signals.is_empty());
        let mut columns = StateColumns::default();
        sites.iter().for_each(|_| columns.push(Known::default(), None));
        if reads.contains(Reads::IMPORTANCE) && data.is_weighed() {
            columns.importance = data.pages.iter().map(|page| page.importance.value()).collect();
        }
        let mut evidence = vec![RateEvidence::default(); site_count];
        let mut shown = Vec::new();
        if has_signals {
            columns.signals = vec![0; sites.len()];
            shown = vec![SignalsShown::default(); site_count];
        }
        for (page, history) in data.beginning.iter().flat_map(|b| &b.histories).enumerate() {
            columns.set_history(page, history);
            evidence[sites[page] as usize].add(RateEvidence::from_history(history));
        }
        let Rules { seed, warmup, .. } = *rules;
        let related = reads.needs_neighbours().then(|| Related::new(data));
        let learns = reads.contains(Reads::NEXT_CHANGE);
        Observed {
            cycle: Cycle(0),
            k: 0,
            seed,
            warmup,
            columns,
            sites,
            evidence,
            shown,
            related,
            learns,
            contents: None,
            urls: Vec::new(),
        }
    }

    /// Before the first visit, for a policy that reads URLs.
    pub(crate) fn read_urls(&mut self, data: &Dataset) {
        self.urls = data.pages.iter().map(|page| page.url.clone()).collect();
    }

    /// Before the first visit, for a policy that reads contents.
    pub(crate) fn read_contents(&mut self, all: Arc<Contents>) {
        let met = vec![[None; 2]; self.sites.len()];
        self.contents = Some(SeenContents { all, met });
    }

    /// The cycle whose visits are being chosen.
    pub fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Number of pages that the cycle can visit.
    pub fn k(&self) -> u64 {
        self.k
    }

    /// The seed of all random choices in the replay.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// One row per page. Rows of pages that do not exist yet have no visits; those of pages that no
    /// longer exist are [gone](PageStatus::Gone).
    pub fn columns(&self) -> &StateColumns {
        &self.columns
    }

    /// The site of each page.
    pub fn sites(&self) -> &[u32] {
        &self.sites
    }

    /// The URL of a page or, if unknown, its name in the source; empty unless the policy
    /// [reads URLs](crate::ReplayPolicy::reads_urls).
    pub fn url(&self, page: usize) -> &str {
        self.urls.get(page).map_or("", |url| url)
    }

    /// The evidence of each site.
    pub fn evidence(&self) -> &[RateEvidence] {
        &self.evidence
    }

    /// What the page competes for.
    pub fn gate(&self, page: usize) -> Gate {
        Gate::of_row(&self.columns, page, self.cycle, self.warmup)
    }

    /// Whether the budget can visit the page now: it is known, out of its warm-up, and not visited in this cycle.
    pub fn competes(&self, page: usize) -> bool {
        self.gate(page) == Gate::Revisit && self.columns.last[page] < self.cycle.0
    }

    /// The contents that the last visits of the page met; none unless the policy
    /// [reads contents](crate::ReplayPolicy::reads_contents).
    pub fn seen(&self, page: usize) -> Seen<'_> {
        self.contents.as_ref().map_or(Seen::default(), |contents| {
            let [last, before] = contents.met[page].map(|number| contents.all.document(number?));
            Seen { last, before }
        })
    }

    /// The different words of the title of a visited page; none unless the policy
    /// [reads contents](crate::ReplayPolicy::reads_contents).
    pub fn title_words(&self, page: usize) -> &[u32] {
        let contents = self.contents.as_ref().filter(|_| self.columns.visited[page]);
        contents.map_or(&[], |contents| contents.all.title_words(page))
    }

    /// How far the signals of the page's site are trusted, as a crawl trusts dates:
    /// [`LastmodCounts::trust`].
    pub fn trust(&self, page: usize) -> f64 {
        self.shown.get(self.sites[page] as usize).map_or(0.0, |shown| shown.any[EARLIER].trust())
    }

    /// Begins a cycle, in which these pages have a signal.
    pub(crate) fn begin(&mut self, cycle: Cycle, k: u64, signalled: &[u32]) {
        (self.cycle, self.k) = (cycle, k);
        for shown in &mut self.shown {
            for counts in [&mut shown.any, &mut shown.single] {
                let now = std::mem::take(&mut counts[NOW]);
                counts[EARLIER] = counts[EARLIER].and(now);
            }
        }
        for &page in signalled.iter().filter(|&&page| self.columns.visited[page as usize]) {
            let signals = &mut self.columns.signals[page as usize];
            *signals = signals.saturating_add(1);
        }
    }

    /// Fills the columns that a policy reads and no record has.
    pub(crate) fn fill(&mut self, reads: Reads) {
        if reads.needs_priors() {
            self.fill_priors();
        }
        if reads.needs_signals() {
            self.fill_signal_quality();
        }
        if let Some(related) = &mut self.related {
            related.fill(&mut self.columns, self.cycle, reads);
        }
    }

    /// The model of the next change learns from the visits of a round.
    pub(crate) fn end_round(&mut self) {
        if let Some(related) = self.related.as_mut().filter(|_| self.learns) {
            related.learn(self.cycle);
        }
    }

    /// Updates precision and recall of the signals of all sites, in a history with signals.
    fn fill_signal_quality(&mut self) {
        let quality = |shown: &SignalsShown| SignalQuality::from_counts(&shown.single[EARLIER]);
        let of_sites: Vec<SignalQuality> = self.shown.iter().map(quality).collect();
        if of_sites.is_empty() {
            return;
        }
        let columns = &mut self.columns;
        let of_pages = || self.sites.iter().map(|&site| of_sites[site as usize]);
        columns.signal_precision.clear();
        columns.signal_precision.extend(of_pages().map(|quality| quality.precision));
        columns.signal_recall.clear();
        columns.signal_recall.extend(of_pages().map(|quality| quality.recall));
    }

    /// Updates the rates of sites and of all pages.
    fn fill_priors(&mut self) {
        let sites = self.sites.iter().map(|&site| site as usize);
        Priors::new(&self.evidence).fill(&mut self.columns, sites);
    }

    /// Records the first visit of a page.
    pub(crate) fn first_fetch(&mut self, page: usize) {
        self.columns.set_history(page, &History::first_fetch(self.cycle));
        if let Some(contents) = &mut self.contents {
            contents.visit(page, self.cycle);
        }
    }

    /// Records another visit of a page.
    ///
    /// # Panics
    /// If it was never visited.
    pub(crate) fn visit(&mut self, page: usize, changed: bool) {
        if let Some(related) = self.related.as_mut().filter(|_| self.learns) {
            related.note(&self.columns, page, self.cycle, changed);
        }
        let mut history = self.columns.history(page).expect("a page is compared with its first visit");
        let site = &mut self.evidence[self.sites[page] as usize];
        site.remove(RateEvidence::from_history(&history));
        history.record(self.cycle, changed);
        site.add(RateEvidence::from_history(&history));
        self.columns.set_history(page, &history);
        if let Some(contents) = &mut self.contents {
            contents.visit(page, self.cycle);
        }
        if let Some(shown) = self.shown.get_mut(self.sites[page] as usize) {
            let signals = std::mem::take(&mut self.columns.signals[page]);
            shown.any[NOW].observe(signals > 0, changed);
            if signals < 2 {
                shown.single[NOW].observe(signals > 0, changed);
            }
        }
    }

    /// Records that a page no longer exists.
    pub(crate) fn gone(&mut self, page: usize) {
        self.columns.known[page].status = PageStatus::Gone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecordedPage, Truth};

    fn pages_of(sites: &[u32]) -> Dataset {
        let page = |&site: &u32| RecordedPage { site, ..RecordedPage::default() };
        Dataset {
            name: "pages".into(),
            dates: Vec::new(),
            pages: sites.iter().map(page).collect(),
            sites: vec!["a".into(), "b".into(), "c".into()],
            groups: vec!["a".into()],
            truth: Truth::from_words(5, vec![0; sites.len()]),
            signals: Default::default(),
            contents: None,
            beginning: None,
        }
    }

    #[test]
    fn evidence_is_that_of_all_pages_of_a_site() {
        let mut observed = Observed::new(&pages_of(&[0, 1, 0]), &Rules::default(), Reads::default());
        (0..3).for_each(|page| observed.first_fetch(page));
        for (cycle, page, changed) in [(1, 0, true), (1, 1, true), (3, 0, false), (4, 2, true)] {
            observed.begin(Cycle(cycle), 1, &[]);
            observed.visit(page, changed);
        }
        let mut expected = vec![RateEvidence::default(); 3];
        for (row, &site) in observed.sites().iter().enumerate() {
            expected[site as usize].add(RateEvidence::of_row(observed.columns(), row));
        }
        assert_eq!(observed.evidence(), expected);
        assert_eq!(expected[0], RateEvidence { changes: 2, cycles: 7, changed_cycles: 5 });
        observed.fill_priors();
        let priors = Priors::new(&expected);
        assert_eq!(observed.columns().global_rate, priors.global);
        assert_eq!(observed.columns().site_rate, [priors.sites[0], priors.sites[1], priors.sites[0]]);
    }

    #[test]
    fn signals_are_judged_by_the_visits_after_them() {
        let mut data = pages_of(&[0, 0, 1]);
        data.signals.push(0, &[1]);
        let mut observed = Observed::new(&data, &Rules::default(), Reads::default());
        (0..3).for_each(|page| observed.first_fetch(page));
        for cycle in 1..=40 {
            // Page 0 changes with every signal; page 2 has signals and does not change.
            observed.begin(Cycle(cycle), 1, if cycle % 2 == 0 { &[0, 2] } else { &[] });
            assert_eq!(observed.columns().signals, [u8::from(cycle % 2 == 0), 0, u8::from(cycle % 2 == 0)]);
            observed.visit(0, cycle % 2 == 0);
            observed.visit(1, false);
            observed.visit(2, false);
        }
        observed.begin(Cycle(41), 1, &[0]);
        observed.fill_signal_quality();
        observed.begin(Cycle(42), 1, &[0]);
        assert_eq!(observed.columns().signals, [2, 0, 0]);
        let columns = observed.columns();
        assert!(columns.signal_precision[0] > 0.5 && columns.signal_recall[0] > 0.5, "{columns:?}");
        assert_eq!(columns.signal_precision[0], columns.signal_precision[1], "one site");
        assert_eq!((columns.signal_precision[2], columns.signal_recall[2]), (0.0, 0.0));
        assert!(observed.trust(1) > 0.8 && observed.trust(2) < 0.1);
        // A visit after several signals shows nothing of a single one.
        let before = observed.shown[0].single[EARLIER];
        observed.visit(0, true);
        observed.begin(Cycle(43), 1, &[]);
        assert_eq!(observed.shown[0].single[EARLIER], before);
        assert_eq!(observed.columns().signals, [0, 0, 0]);
    }
}
