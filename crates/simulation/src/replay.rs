//! A policy replayed over a recorded history, page by page and cycle by cycle.
//!
//! A cycle has these steps: the policy scores all pages by what was observed before the cycle, and
//! by its signals; new pages are fetched, and pages in their warm-up are visited; then the budget is
//! spent on the best of the others. With several rounds, or if it [asks](ReplayPolicy::wants) for a sample, the
//! policy scores again after each, and no page is visited twice in a cycle. A visit finds a change if the content differs from that of the
//! last visit. As in a crawl, the scheduler decides which pages compete, and how ties are broken.

pub mod ndcg;
mod unseen;

use crate::judge::{ContentJudge, ReplayJudge};
use crate::policy::{PolicyVisit, ReplayPolicy};
use crate::{CycleFigures, Dataset, Observed, Rules, RulesError, SiteFigures, Trace};
use ndcg::Ndcg;
use recrawl_scheduler::{Gate, RankedPage, TieBreak, TopK};
use recrawl_types::{Cycle, Reads};
use unseen::Unseen;

pub use unseen::harmonic;

/// Replays a history under the rules; the policy chooses the visits.
///
/// # Errors
/// If the history cannot be replayed under these rules.
///
/// # Panics
/// If the policy does not score each page.
pub fn run(data: &Dataset, rules: &Rules, policy: &mut dyn ReplayPolicy) -> Result<Trace, RulesError> {
    run_judged(data, rules, policy, None)
}

/// The same with the [figures that need contents](CycleFigures::contents), if there is a judge. The policy does not know
/// of it.
///
/// # Errors
/// Those of [`run`].
///
/// # Panics
/// If the policy does not score each page, or the judge is not of this history.
pub fn run_judged(
    data: &Dataset,
    rules: &Rules,
    policy: &mut dyn ReplayPolicy,
    judge: Option<&dyn ContentJudge>,
) -> Result<Trace, RulesError> {
    run_through(data, rules, policy, judge, &mut |_| {})
}

/// The same as [`run`], and shows the figures so far after each cycle.
///
/// # Errors
/// Those of [`run`].
///
/// # Panics
/// If the policy does not score each page.
pub fn run_watched(
    data: &Dataset,
    rules: &Rules,
    policy: &mut dyn ReplayPolicy,
    watch: &mut dyn FnMut(&Trace),
) -> Result<Trace, RulesError> {
    run_through(data, rules, policy, None, watch)
}

fn run_through(
    data: &Dataset,
    rules: &Rules,
    policy: &mut dyn ReplayPolicy,
    judge: Option<&dyn ContentJudge>,
    watch: &mut dyn FnMut(&Trace),
) -> Result<Trace, RulesError> {
    rules.check_begun(data.pages.len(), data.begun(rules), data.truth.cycles())?;
    let mut replay = Replay::new(data, rules, policy.reads());
    if policy.reads_contents() {
        let none = || RulesError::NoContents { what: format!("policy {}", policy.name()) };
        replay.observed.read_contents(data.contents.clone().ok_or_else(none)?);
    }
    replay.judging = judge.map(|judge| judge.replay(data));
    if policy.reads_urls() {
        replay.observed.read_urls(data);
    }
    let first = replay.begin(policy);
    for cycle in first..=data.truth.cycles() {
        replay.step(cycle, policy);
        watch(&replay.trace);
    }
    Ok(replay.finish())
}

struct Replay<'a> {
    data: &'a Dataset,
    rules: &'a Rules,
    observed: Observed,
    unseen: Unseen,
    /// The cycle after which the budget is spent.
    begun: u32,
    log2: Ndcg,
    gp4c: Ndcg,
    harmonic_numbers: Vec<f64>,
    /// Pages of each site that were ranked in this cycle.
    of_site: Vec<u64>,
    /// Whether the page was ever visited by budget.
    chosen: Vec<bool>,
    trace: Trace,
    judging: Option<Box<dyn ReplayJudge + 'a>>,
    /// Pages of this cycle's visits by budget that found a change.
    found: Vec<u32>,
    // Buffers, reused in each cycle.
    scores: Vec<f64>,
    /// The best candidate of each group of siblings, by its number.
    best_of_group: Vec<Option<RankedPage>>,
    visits: Vec<PolicyVisit>,
    stale_by_changes: Vec<u64>,
}

impl<'a> Replay<'a> {
    fn new(data: &'a Dataset, rules: &'a Rules, reads: Reads) -> Replay<'a> {
        let begun = data.begun(rules);
        let competes = |first: u32, last: u32| first.saturating_add(begun) < last;
        let unseen = match &data.beginning {
            None => Unseen::new(data.pages.len()),
            Some(beginning) => {
                let last: Vec<u32> = beginning.histories.iter().map(|history| history.last.0).collect();
                Unseen::since(&data.truth, &last, beginning.cycle)
            }
        };
        let pages = data.pages.iter().filter(|p| competes(p.first, p.last)).count() as u64;
        let ranks = rules.budget.visits(data.pages.len() as u64) as usize;
        Replay {
            data,
            rules,
            observed: Observed::new(data, rules, reads),
            unseen,
            begun,
            log2: Ndcg::log2(ranks),
            gp4c: Ndcg::gp4c(ranks),
            harmonic_numbers: unseen::harmonic_numbers(data.truth.cycles()),
            of_site: vec![0; data.sites.len()],
            chosen: vec![false; data.pages.len()],
            trace: Trace {
                pages,
                sites: vec![SiteFigures::default(); data.groups.len()],
                ..Trace::default()
            },
            judging: None,
            found: Vec::new(),
            scores: Vec::new(),
            best_of_group: Vec::new(),
            visits: Vec::new(),
            stale_by_changes: Vec::new(),
        }
    }

    /// Goes to the first cycle. With a beginning, a policy with a memory of its own sees all pages there as new.
    fn begin(&mut self, policy: &mut dyn ReplayPolicy) -> u32 {
        let Some(beginning) = &self.data.beginning else { return 0 };
        self.observed.begin(Cycle(beginning.cycle), 0, &[]);
        self.visits.extend((0..self.data.pages.len() as u32).map(|page| PolicyVisit { page, changed: None }));
        policy.observe(&self.observed, &self.visits);
        beginning.cycle + 1
    }

    fn step(&mut self, cycle: u32, policy: &mut dyn ReplayPolicy) {
        self.pages_leave(cycle);
        self.unseen.note(&self.data.truth, cycle, &self.observed.columns().visited);
        let pages = self.data.pages.iter().filter(|p| p.first <= cycle && cycle <= p.last).count() as u64;
        let k = if cycle > self.begun { self.rules.budget.visits(pages) } else { 0 };
        self.observed.begin(Cycle(cycle), k, self.data.signals.in_cycle(cycle));
        let mut figures = CycleFigures { cycle, pages, ..CycleFigures::default() };
        self.of_site.fill(0);
        self.found.clear();
        let rounds = if k > 0 { self.rules.rounds.count() } else { 1 };
        let mut hits: Vec<bool> = Vec::new();
        for round in 0..rounds {
            // As in a crawl, a round gets what the ones before have left.
            let up_to = (k as f64 * self.rules.rounds.up_to(round)).round() as u64;
            let is_last = round + 1 == rounds;
            let mut is_first = round == 0;
            while !self.choose(up_to, is_last, policy, &mut hits, is_first.then_some(&mut figures)) {
                is_first = false;
            }
        }
        if cycle > self.begun {
            self.count(&hits, &mut figures);
            if let Some(judging) = &mut self.judging {
                figures.contents = judging.figures(&self.observed, &self.found);
            }
            self.trace.cycles.push(figures);
        }
    }

    /// Makes the visits that the policy wants at once, and those beside the budget if their figures are given. Returns
    /// whether the round is over: `up_to` visits are made in this cycle, or no further page competes.
    fn choose(
        &mut self,
        up_to: u64,
        is_last: bool,
        policy: &mut dyn ReplayPolicy,
        hits: &mut Vec<bool>,
        beside: Option<&mut CycleFigures>,
    ) -> bool {
        let left = up_to.saturating_sub(hits.len() as u64);
        let reads = policy.reads();
        if left > 0 || reads.contains(Reads::NEXT_CHANGE) {
            self.observed.fill(reads);
        }
        let wanted = if left > 0 { policy.wants(&self.observed, left).clamp(1, left) } else { 0 };
        let ranked = if left > 0 { self.rank(wanted, is_last, policy) } else { Vec::new() };
        let is_over = wanted == left || (ranked.len() as u64) < wanted;
        self.visits.clear();
        if let Some(figures) = beside {
            self.visit_beside_the_budget(figures);
        }
        hits.extend(ranked.into_iter().map(|page| self.visit_by_budget(page)));
        self.observed.end_round();
        policy.observe(&self.observed, &self.visits);
        is_over
    }

    /// Pages whose last cycle was the previous one are never scheduled again.
    fn pages_leave(&mut self, cycle: u32) {
        for (page, known) in self.data.pages.iter().enumerate() {
            if known.last.checked_add(1) == Some(cycle) {
                self.neglect(page, known.last);
                self.observed.gone(page);
            }
        }
    }

    /// Up to k competing pages that were not visited in this cycle, best first, within the limit per site. All rounds
    /// but the last one visit at most one page of a group of siblings, so that the next one knows where changes are.
    fn rank(&mut self, k: u64, is_last: bool, policy: &mut dyn ReplayPolicy) -> Vec<usize> {
        policy.score(&self.observed, &mut self.scores);
        let pages = self.data.pages.len();
        assert_eq!(self.scores.len(), pages, "policy {} scores each page", policy.name());
        let ties = TieBreak::new(self.rules.ties, self.rules.seed, self.observed.cycle());
        let limit = self.rules.per_site;
        let samples = !is_last && policy.reads().needs_siblings();
        let siblings = &self.observed.columns().siblings;
        let mut best = TopK::new(if limit.is_some() { u64::MAX } else { k });
        self.best_of_group.clear();
        self.best_of_group.resize(if samples { pages } else { 0 }, None);
        for page in (0..pages).filter(|&page| self.observed.competes(page)) {
            let candidate = ties.by_score(self.scores[page], page as u64);
            // A page without siblings has no number of a group.
            let group = if samples { self.best_of_group.get_mut(siblings[page] as usize) } else { None };
            match group {
                Some(group) => *group = Some(group.map_or(candidate, |other| other.min(candidate))),
                None => best.offer(candidate),
            }
        }
        self.best_of_group.iter().flatten().for_each(|&candidate| best.offer(candidate));
        let of_site = &mut self.of_site;
        let has_room = |&page: &usize| {
            let taken: &mut u64 = &mut of_site[self.data.pages[page].site as usize];
            *taken += 1;
            limit.is_none_or(|limit| *taken <= limit)
        };
        let ranked = best.into_sorted().into_iter().map(|candidate| ties.ordinal(candidate) as usize);
        ranked.filter(has_room).take(k as usize).collect()
    }

    /// Fetches new pages, and visits pages in their warm-up.
    fn visit_beside_the_budget(&mut self, figures: &mut CycleFigures) {
        for page in 0..self.data.pages.len() {
            match self.observed.gate(page) {
                Gate::Discovery if self.data.pages[page].first <= figures.cycle => {
                    self.observed.first_fetch(page);
                    self.visits.push(PolicyVisit { page: page as u32, changed: None });
                    figures.first_visits += 1;
                }
                Gate::Warmup => {
                    self.visit(page);
                    figures.warmup_visits += 1;
                }
                _ => {}
            }
        }
    }

    /// Visits a chosen page; returns whether it had changed.
    fn visit_by_budget(&mut self, page: usize) -> bool {
        let first_change = self.unseen.first(page);
        let changed = self.visit(page);
        if changed {
            let first = first_change.expect("a page that differs has changed");
            let delay = self.observed.cycle().since(Cycle(first)) as usize;
            add(&mut self.trace.delays, delay);
            self.found.push(page as u32);
        }
        self.trace.visited += u64::from(!std::mem::replace(&mut self.chosen[page], true));
        let site = &mut self.trace.sites[self.data.pages[page].group as usize];
        site.visited += 1;
        if changed {
            site.changed += 1;
            site.importance.changed += self.data.pages[page].importance.thousandths();
        }
        changed
    }

    /// Visits a page again; returns whether it had changed.
    fn visit(&mut self, page: usize) -> bool {
        let (last, now) = (self.observed.columns().last[page], self.observed.cycle().0);
        let changed = self.data.truth.differs(page, last, now);
        self.neglect(page, now);
        self.observed.visit(page, changed);
        self.unseen.visit(page);
        self.visits.push(PolicyVisit { page: page as u32, changed: Some(changed) });
        changed
    }

    /// Records that a page was not visited until `now`.
    fn neglect(&mut self, page: usize, now: u32) {
        let alone = now - self.observed.columns().last[page];
        self.trace.longest_neglect = self.trace.longest_neglect.max(alone);
    }

    /// Counts the results of the visits by budget, in rank order, and the unseen changes that
    /// remain.
    fn count(&mut self, hits: &[bool], figures: &mut CycleFigures) {
        let now = figures.cycle;
        self.stale_by_changes.fill(0);
        for (page, known) in self.data.pages.iter().enumerate() {
            if now < known.first || known.last < now {
                continue;
            }
            let site = &mut self.trace.sites[known.group as usize];
            let importance = known.importance.thousandths();
            site.pages += 1;
            site.importance.pages += importance;
            figures.importance.pages += importance;
            if self.chosen[page] {
                figures.covered += 1;
                figures.importance.covered += importance;
            }
            if self.data.truth.differs(page, self.observed.columns().last[page], now) {
                let first = self.unseen.first(page).expect("a page that differs has changed");
                let age = u64::from(now - first);
                figures.stale += 1;
                figures.age += age;
                figures.importance.stale += importance;
                site.stale += 1;
                site.importance.stale += importance;
                site.age += age;
                let missed = self.unseen.number(page);
                add(&mut self.stale_by_changes, missed);
                site.harmonic += self.harmonic_numbers[missed];
            }
        }
        figures.visited = hits.len() as u64;
        figures.changed = hits.iter().filter(|&&hit| hit).count() as u64;
        let importance = |&page: &u32| self.data.pages[page as usize].importance.thousandths();
        figures.importance.changed = self.found.iter().map(importance).sum();
        figures.pending = figures.stale + figures.changed;
        figures.harmonic = harmonic(&self.stale_by_changes);
        figures.ndcg_log2 = self.log2.score(hits, figures.pending);
        figures.ndcg_gp4c = self.gp4c.score(hits, figures.pending);
    }

    fn finish(mut self) -> Trace {
        let last = self.data.truth.cycles();
        for page in (0..self.data.pages.len()).filter(|&page| self.data.pages[page].last >= last) {
            self.neglect(page, last);
        }
        self.trace
    }
}

/// Increments a count, extending the list as needed.
fn add(counts: &mut Vec<u64>, place: usize) {
    if counts.len() <= place {
        counts.resize(place + 1, 0);
    }
    counts[place] += 1;
}

#[cfg(test)]
mod tests;
