//! The pass before a plan: what visits yielded, by group, site and crawl; which sites are exhausted; and with these the
//! expected relevance of what was never fetched.
//!
//! Memory: 12 bytes a group up to `focus.groups`, and 57 bytes a site. Nothing grows with known pages.

use super::FocusRules;
use super::report::{ExhaustedSite, FocusFacts};
use super::state::FocusState;
use crate::failure::Failure;
use crate::site_rates::{each_site, runs};
use recrawl_focus::live::recall::{AllPending, Pending};
use recrawl_focus::live::scorer::Scorer;
use recrawl_focus::live::stop::{StopEvidence, is_exhausted};
use recrawl_focus::live::yields::{GroupYields, Yield};
use recrawl_focus::live::{LiveModel, UntriedUrl, logit};
use recrawl_focus::logistic::logistic;
use recrawl_formula::{Formula, expected_change};
use recrawl_repository::{Generation, SledTables};
use recrawl_scheduler::Gate;
use recrawl_types::{Cycle, Expectation, Known, Reads, Site, StateColumns};
use std::collections::BTreeMap;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Log odds of a seed, which nothing links to: it comes first (the thesis gives it score 1).
const SEED_ODDS: f64 = 15.0;
/// Cycles since their first visit that part the visits of a site, the newest first.
const AGES: [u32; 3] = [2, 8, 32];
/// Groups of a site whose yield counts for what still waits there.
const MAX_SITE_GROUPS: usize = 1 << 16;
/// Exhausted sites that are named.
const NAMED_SITES: usize = 20;
/// Parts of the halvings of a value in the histogram of what revisits are worth.
const BINS_A_HALVING: f64 = 4.0;
/// Bins of that histogram.
const BINS: usize = 64;

/// The discovery visits of a site, by age, and what waits there.
#[derive(Clone, Copy, Debug, Default)]
struct SiteSums {
    /// Visits and finds, the newest first.
    ages: [(u32, u32); AGES.len() + 1],
    /// Σ odds of never-fetched URLs, without those of their site.
    pending: f32,
    /// Never-fetched URLs that are due and within the tunnel.
    open: u32,
}

impl SiteSums {
    fn all(&self) -> (u64, u64) {
        self.ages
            .iter()
            .fold((0, 0), |(visits, finds), age| (visits + u64::from(age.0), finds + u64::from(age.1)))
    }

    /// The newest visits, at least `patience` of them if there are so many. `odds` are those of the site.
    fn newest(&self, patience: u64, odds: f64) -> StopEvidence {
        let mut newest = StopEvidence { pending: f64::from(self.pending) * odds, ..StopEvidence::default() };
        for (visits, finds) in self.ages {
            if newest.visits >= patience {
                break;
            }
            newest.visits += u64::from(visits);
            newest.finds += u64::from(finds);
        }
        newest
    }
}

/// URLs that wait on the site that is read, Σ odds without those of the site.
#[derive(Debug, Default)]
struct SitePending {
    site: usize,
    /// By group.
    groups: BTreeMap<u32, f64>,
    /// Of URLs without a group, and of groups beyond the limit.
    alone: f64,
}

impl SitePending {
    fn add(&mut self, group: Option<u32>, odds: f64) {
        match group {
            Some(group) if self.groups.len() < MAX_SITE_GROUPS || self.groups.contains_key(&group) => {
                *self.groups.entry(group).or_default() += odds;
            }
            _ => self.alone += odds,
        }
    }
}

/// Worth of revisits, Σ relevance × P(change), as a histogram.
#[derive(Clone, Debug)]
struct ValueHistogram([(u64, f64); BINS]);

impl ValueHistogram {
    fn add(&mut self, value: f64) {
        let bin = if value > 0.0 { (-value.log2() * BINS_A_HALVING) as usize } else { BINS };
        let bin = &mut self.0[bin.min(BINS - 1)];
        *bin = (bin.0 + 1, bin.1 + value);
    }

    /// The sum over the places from rank `from` on.
    fn sum(&self, mut from: u64, mut places: u64) -> f64 {
        let mut sum = 0.0;
        for (count, total) in self.0 {
            let passed = from.min(count);
            from -= passed;
            let taken = places.min(count - passed);
            places -= taken;
            sum += if count > 0 { total / count as f64 * taken as f64 } else { 0.0 };
        }
        sum
    }
}

/// Sums of a pass over a generation.
#[derive(Debug)]
pub struct FocusSurvey {
    rules: Arc<FocusRules>,
    model: LiveModel,
    cycle: Cycle,
    groups: GroupYields,
    all: Yield,
    sites: Vec<SiteSums>,
    is_exhausted: Vec<bool>,
    /// By site, the hash of its name.
    hashes: Vec<u64>,
    /// By site, the ordinal after its last page.
    ends: Vec<u64>,
    facts: FocusFacts,
    worth: ValueHistogram,
    /// Changes a cycle of all pages.
    rate: f64,
}

impl FocusSurvey {
    /// Reads the generation. `rate` is the change rate of all pages by the last survey. `passed` is called with the pages of
    /// each block.
    ///
    /// # Errors
    /// When the generation cannot be read.
    pub fn read(
        rules: &Arc<FocusRules>,
        model: LiveModel,
        rate: f64,
        cycle: Cycle,
        generation: &Generation,
        passed: &dyn Fn(usize),
    ) -> Result<FocusSurvey, Failure> {
        let most = generation.summary().origins as usize;
        let (mut ends, mut hashes) = (Vec::with_capacity(most), Vec::with_capacity(most));
        // The pass over the states has ordinals only: sites must be known by them before.
        each_site(generation, |site, end| {
            ends.push(end);
            hashes.push(hash(&site));
        })?;
        let config = &rules.config;
        let mut survey = FocusSurvey {
            rules: rules.clone(),
            model,
            cycle,
            groups: GroupYields::new(config.groups),
            all: Yield::default(),
            sites: vec![SiteSums::default(); ends.len()],
            is_exhausted: vec![false; ends.len()],
            hashes,
            ends,
            facts: FocusFacts {
                digest: rules.digest.clone(),
                order: rules.order.name().into(),
                ..FocusFacts::default()
            },
            worth: ValueHistogram([(0, 0.0); BINS]),
            rate,
        };
        let scorer = Scorer::new(&model, rules.order, Yield::default());
        let mut of_site = SitePending::default();
        let (mut changes, mut cycles) = (0, 0);
        generation.scan(false, |first, columns| -> Result<(), Failure> {
            survey.add(first, columns, rate, &scorer, &mut of_site);
            for row in 0..columns.len() {
                changes += u64::from(columns.changes[row]);
                cycles += u64::from(columns.last[row] - columns.first[row]);
            }
            passed(columns.len());
            Ok(())
        })?;
        if cycles > 0 {
            survey.rate = (changes as f64 / cycles as f64).max(1e-6);
        }
        // Each site is closed when the next one begins, so the last one is still open.
        if !survey.sites.is_empty() {
            survey.sites[of_site.site].pending = survey.waiting(&of_site, &scorer);
        }
        survey.end(generation)?;
        Ok(survey)
    }

    fn add(
        &mut self,
        first: u64,
        columns: &StateColumns,
        rate: f64,
        scorer: &Scorer<'_>,
        of_site: &mut SitePending,
    ) {
        let rules = self.rules.clone();
        let mut sites = runs(&self.ends, first);
        for (row, known) in columns.known.iter().enumerate() {
            let site = sites.next().expect("each page is of a site");
            if of_site.site != site {
                self.sites[of_site.site].pending = self.waiting(of_site, scorer);
                *of_site = SitePending { site, ..SitePending::default() };
            }
            if columns.visited[row] {
                let Some(verdict) = known.verdict else { continue };
                let (relevance, sums) = (verdict.relevance(), &mut self.sites[site]);
                let is_relevant = rules.is_relevant(relevance);
                let find = f64::from(u8::from(is_relevant));
                self.all.add(find);
                self.facts.judged += 1;
                self.facts.relevant += u64::from(is_relevant);
                if let Some(Expectation { group, .. }) = known.expectation {
                    self.groups.add(group, if rules.order.is_of_thesis() { relevance } else { find });
                }
                let age = self.cycle.since(Cycle(columns.first[row]));
                let age = AGES.iter().filter(|bound| age >= **bound).count();
                let (visits, finds) = &mut sums.ages[age];
                *visits = visits.saturating_add(1);
                *finds = finds.saturating_add(u32::from(is_relevant));
                if rules.weighs_revisits
                    && let Some(history) = columns.history(row)
                {
                    self.worth.add(relevance * expected_change(&history, self.cycle, rate));
                }
            } else if Gate::for_page(known, None, self.cycle, 0) == Gate::Discovery {
                self.facts.due += 1;
                let tunnel = known.expectation.map_or(0, |expectation| expectation.tunnel);
                let odds = scorer.odds_alone(self.links(known), tunnel, known.depth);
                of_site.add(known.expectation.map(|expectation| expectation.group), odds);
                self.sites[site].open += u32::from(is_within(&rules, known));
            }
        }
    }

    /// Sum of the odds that wait on a site, all of whose pages were read: a group is of one site, so its
    /// yield is known.
    fn waiting(&self, of: &SitePending, scorer: &Scorer<'_>) -> f32 {
        let of_site = self.site(of.site).shrunk(self.all.shrunk(0.01));
        let of_group =
            |(group, odds): (&u32, &f64)| odds * scorer.odds_of_group(self.groups.get(*group), of_site);
        (of.alone + of.groups.iter().map(of_group).sum::<f64>()) as f32
    }

    fn end(&mut self, generation: &Generation) -> Result<(), Failure> {
        let patience = self.rules.config.site_patience;
        let crawl_yield = self.all.mean();
        let is_by_expectation = self.rules.order.is_by_expectation();
        let mut exhausted = Vec::new();
        // A scorer of its own: the one of the pass could not know the yield of all pages.
        let mut scorer = Scorer::new(&self.model, self.rules.order, self.all);
        for (site, sums) in self.sites.iter().enumerate() {
            scorer.enter(self.site(site));
            let newest = sums.newest(patience, scorer.odds_of_site());
            // A site where nothing waits has nothing to close.
            self.is_exhausted[site] =
                is_by_expectation && sums.pending > 0.0 && is_exhausted(&newest, crawl_yield, patience);
            if self.is_exhausted[site] {
                exhausted.push((site, newest));
            } else {
                self.facts.open += u64::from(sums.open);
            }
        }
        self.facts.sites_exhausted = exhausted.len() as u64;
        exhausted.sort_by_key(|(site, newest)| (std::cmp::Reverse(newest.visits), *site));
        exhausted.truncate(NAMED_SITES);
        let mut names = vec![String::new(); exhausted.len()];
        // A second pass for a few names needs less memory than the names of all sites.
        if !exhausted.is_empty() {
            let mut number = 0;
            each_site(generation, |site, _| {
                let named = exhausted.iter().position(|(exhausted, _)| *exhausted == number);
                named.into_iter().for_each(|at| names[at] = site.to_string());
                number += 1;
            })?;
        }
        self.facts.exhausted = exhausted
            .into_iter()
            .zip(names)
            .map(|((_, StopEvidence { visits, finds, pending }), site)| ExhaustedSite {
                site,
                visits,
                finds,
                pending,
            })
            .collect();
        self.facts.groups = self.groups.len() as u64;
        Ok(())
    }

    /// Sums so far; `pending` once all blocks are filled.
    pub fn facts(&self) -> &FocusFacts {
        &self.facts
    }

    /// The model of its round.
    pub fn model(&self) -> &LiveModel {
        &self.model
    }

    /// Changes a cycle of all pages.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Worth of the next places of revisits, from a rank on; 0 unless the discovery share is `"auto"`.
    pub fn worth_of_revisits(&self, from: u64, places: u64) -> f64 {
        self.worth.sum(from, places)
    }

    /// Never-fetched URLs of the generation, by what is expected of them: all, and those open to discovery.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn pending(&self, generation: &Generation) -> Result<[AllPending; 2], Failure> {
        let mut filler = self.filler(false);
        generation.scan(false, |first, columns| -> Result<(), Failure> {
            filler.fill(first, columns);
            Ok(())
        })?;
        Ok([filler.pending, filler.open])
    }

    /// Begins to fill blocks. If `is_satisfied`, nothing is open to discovery.
    pub fn filler(&self, is_satisfied: bool) -> Filler<'_> {
        let scorer = Scorer::new(&self.model, self.rules.order, self.all);
        Filler {
            survey: self,
            scorer,
            pending: AllPending::default(),
            open: AllPending::default(),
            is_satisfied,
        }
    }

    /// Yield of the visits of a site.
    fn site(&self, site: usize) -> Yield {
        let (visits, finds) = self.sites[site].all();
        Yield::new(visits, finds)
    }

    /// By site, the hash of its name, with its number.
    pub fn index_of_sites(&self) -> Vec<(u64, usize)> {
        let mut index: Vec<(u64, usize)> = self.hashes.iter().copied().zip(0..).collect();
        index.sort_unstable();
        index
    }

    /// An untried URL of a site, with what is known of it.
    pub fn candidate(&self, known: &Known, site: Option<usize>) -> UntriedUrl {
        UntriedUrl {
            links: self.links(known),
            tunnel: known.expectation.map_or(0, |expectation| expectation.tunnel),
            depth: known.depth,
            group: known
                .expectation
                .map_or_else(Yield::default, |expectation| self.groups.get(expectation.group)),
            site: site.map_or_else(Yield::default, |site| self.site(site)),
            all: self.all,
        }
    }

    /// Why a URL of a site is open to exploration alone, if it is.
    pub fn closed(&self, known: &Known, site: Option<usize>) -> Option<&'static str> {
        if !is_within(&self.rules, known) {
            Some("too many irrelevant pages in a row (focus.tunnel)")
        } else if site.is_some_and(|site| self.is_exhausted[site]) {
            Some("its site is exhausted")
        } else {
            None
        }
    }

    /// Is the site of this number exhausted?
    pub fn is_exhausted(&self, site: usize) -> bool {
        self.is_exhausted[site]
    }

    /// The number of the site of a page.
    pub fn site_of(&self, ordinal: u64) -> usize {
        self.ends.partition_point(|&end| end <= ordinal)
    }

    /// Log odds that are kept with a URL. A seed has the highest; a URL that was found before the crawl was focused those
    /// that the crawl yields.
    fn links(&self, known: &Known) -> f64 {
        match known.expectation {
            Some(expectation) => expectation.logit(),
            None if known.depth == 0 => SEED_ODDS,
            None if self.rules.order.is_of_thesis() => logit(0.0),
            None => logit(self.all.shrunk(0.01)),
        }
    }

    /// The relevance of a visited page: its own, or 1 if it was never judged.
    fn of_visited(known: &Known) -> f64 {
        known.verdict.map_or(1.0, |verdict| verdict.relevance())
    }
}

/// The survey for the next round of a crawl that is read, if it is focused. Without tables, as while a crawl runs that locks
/// them, the model is that of a new crawl.
///
/// # Errors
/// When the generation or the tables cannot be read.
pub fn of_reader(
    rules: Option<&Arc<FocusRules>>,
    generation: &Generation,
    tables: Option<&SledTables>,
) -> Result<Option<Arc<FocusSurvey>>, Failure> {
    let Some(rules) = rules else { return Ok(None) };
    let state = tables.map(FocusState::read).transpose()?.unwrap_or_default().with(rules);
    let cycle = generation.cycle().next();
    let survey = FocusSurvey::read(rules, state.model, state.rate, cycle, generation, &|_| {})?;
    Ok(Some(Arc::new(survey)))
}

/// The same, if the formula reads the relevance of pages.
///
/// # Errors
/// As [`of_reader`].
pub fn of_formula(
    formula: &Formula,
    rules: Option<&Arc<FocusRules>>,
    generation: &Generation,
    tables: Option<&SledTables>,
) -> Result<Option<Arc<FocusSurvey>>, Failure> {
    match formula.compile().reads().contains(Reads::RELEVANCE) {
        true => of_reader(rules, generation, tables),
        false => Ok(None),
    }
}

/// Hash of a site's name.
pub fn hash(site: &Site) -> u64 {
    xxh3_64(site.to_string().as_bytes())
}

/// Is the URL within the tunnel? An order that expects nothing has none.
fn is_within(rules: &FocusRules, known: &Known) -> bool {
    let is_short = |expectation: Expectation| expectation.tunnel <= rules.config.tunnel;
    !rules.order.is_by_expectation() || known.expectation.is_none_or(is_short)
}

/// Fills the columns of blocks.
pub struct Filler<'s> {
    survey: &'s FocusSurvey,
    scorer: Scorer<'s>,
    pending: AllPending,
    open: AllPending,
    is_satisfied: bool,
}

impl Filler<'_> {
    /// Fills the relevance of each page of a block, and what is expected of URLs that were never fetched.
    pub fn fill(&mut self, first: u64, columns: &mut StateColumns) {
        let Filler { survey, scorer, pending, open, is_satisfied } = self;
        let order = survey.rules.order;
        columns.relevance.clear();
        columns.expected.clear();
        let mut last = None;
        for ((row, known), site) in columns.known.iter().enumerate().zip(runs(&survey.ends, first)) {
            if columns.visited[row] {
                columns.relevance.push(FocusSurvey::of_visited(known));
                columns.expected.push(0.0);
                continue;
            }
            if last != Some(site) {
                scorer.enter(survey.site(site));
                last = Some(site);
            }
            let links = survey.links(known);
            let (tunnel, group) = known.expectation.map_or((0, Yield::default()), |expectation| {
                (expectation.tunnel, survey.groups.get(expectation.group))
            });
            let odds = scorer.score(links, tunnel, known.depth, group);
            // A page that is gone, or that a rule refuses, is not one that was missed.
            if known.status.is_live() {
                Pending::add(pending, odds);
            }
            columns.relevance.push(logistic(odds));
            let is_open = !*is_satisfied && !survey.is_exhausted[site] && is_within(&survey.rules, known);
            columns.expected.push(if is_open { odds as f32 } else { f32::NEG_INFINITY });
            if is_open && Gate::for_page(known, None, survey.cycle, 0) == Gate::Discovery {
                Pending::add(open, odds);
            }
        }
        if !order.is_by_expectation() && !*is_satisfied {
            columns.expected.clear();
        }
    }

    /// Never-fetched URLs of the filled blocks, by what is expected of them.
    pub fn pending(&self) -> AllPending {
        self.pending
    }
}

#[cfg(test)]
mod tests;
