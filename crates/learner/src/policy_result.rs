//! The learned formula compared with known policies, on all test parts together.

use crate::fitness::{Fitness, mean};
use crate::judge::{FoldResult, LearningResult, TestedPolicy};
use crate::preset::ChoiceMethod;
use recrawl_simulation::bootstrap::SiteDifference;
use recrawl_simulation::compare::{ReplayRole, Verdict};
use recrawl_simulation::series::by_cycle;
use recrawl_simulation::{Bootstrap, SeriesMean, SiteFigures, Trace};

/// The results of one policy or selection method on the test parts of all folds.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyResult {
    /// The policy, or `gp4c_` and the method.
    pub name: String,
    /// Known, learned, or a bound.
    pub role: ReplayRole,
    /// The mean fitness over the cycles of each fold.
    pub folds: Vec<f64>,
    /// The mean over all folds and cycles.
    pub fitness: f64,
    /// The joined replays: concatenated cycles, summed sites.
    pub trace: Trace,
    /// The chosen method's fitness minus this one's.
    pub difference: f64,
    /// That difference by cycle, each the mean over the folds, which share their days.
    pub over_cycles: SeriesMean,
    /// That difference over draws of sites, if sites have the fitness figure: the paired bootstrap.
    pub over_sites: Option<SiteDifference>,
}

impl PolicyResult {
    /// Whether the learned formula is better or worse than this.
    pub fn verdict(&self) -> Verdict {
        let sites = self.over_sites.map(|sites| sites.p);
        Verdict::from_tests(self.difference, std::iter::once(self.over_cycles.p).chain(sites))
    }
}

/// Two policies on the same test parts, one of each fold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The first one's fitness minus the second one's by cycle, each the mean over the folds, which share their days.
    pub over_cycles: SeriesMean,
    /// That difference over draws of sites, if sites have the fitness figure.
    pub over_sites: Option<SiteDifference>,
}

impl Paired {
    /// Compares the replays of two policies.
    pub(crate) fn compare(pair: [&[&TestedPolicy]; 2], fitness: &Fitness, seed: u64) -> Paired {
        let folds = pair[0].len();
        let [a, b] = pair.map(together);
        let values = [&a, &b].map(|trace| fitness.of_cycles(&trace.cycles));
        let differences: Vec<f64> = values[0].iter().zip(&values[1]).map(|(a, b)| a - b).collect();
        let bootstrap = Bootstrap::new(&[&a, &b], seed);
        Paired {
            over_cycles: SeriesMean::estimate(&by_cycle(&differences, folds)),
            over_sites: fitness.single().and_then(|metric| bootstrap.difference(0, 1, metric)),
        }
    }

    /// The standard error: the larger of that over cycles and that over draws of sites; infinite if neither is known.
    pub fn error(&self) -> f64 {
        let errors = [Some(self.over_cycles.error), self.over_sites.map(|sites| sites.error)];
        let known = errors.into_iter().flatten().filter(|error| error.is_finite());
        known.reduce(f64::max).unwrap_or(f64::INFINITY)
    }

    /// Whether the first is better or worse.
    pub fn verdict(&self) -> Verdict {
        let sites = self.over_sites.map(|sites| sites.p);
        Verdict::from_tests(self.over_cycles.mean, std::iter::once(self.over_cycles.p).chain(sites))
    }
}

/// The selection methods first, then the known policies, then the bounds.
pub fn policy_results(learned: &LearningResult, fitness: &Fitness, seed: u64) -> Vec<PolicyResult> {
    let folds = &learned.folds;
    let mut all: Vec<(ReplayRole, Vec<&TestedPolicy>)> = Vec::new();
    for method in 0..ChoiceMethod::ALL.len() {
        all.push((ReplayRole::Candidate, folds.iter().map(|f| &f.choices[method].test).collect()));
    }
    for role in [ReplayRole::Baseline, ReplayRole::Bound] {
        for policy in 0..folds[0].policies.len() {
            let tested: Vec<&TestedPolicy> = folds.iter().map(|f: &FoldResult| &f.policies[policy]).collect();
            if tested[0].is_bound == (role == ReplayRole::Bound) {
                all.push((role, tested));
            }
        }
    }
    let traces: Vec<Trace> = all.iter().map(|(_, tested)| together(tested)).collect();
    let values: Vec<Vec<f64>> = traces.iter().map(|trace| fitness.of_cycles(&trace.cycles)).collect();
    let bootstrap = Bootstrap::new(&traces.iter().collect::<Vec<_>>(), seed);
    let (chosen, metric) = (folds[0].chosen, fitness.single());
    let result = |(place, ((role, tested), trace)): (usize, ((ReplayRole, Vec<&TestedPolicy>), Trace))| {
        let pairs = values[chosen].iter().zip(&values[place]);
        let differences: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
        PolicyResult {
            name: tested[0].name.clone(),
            role,
            folds: tested.iter().map(|t| t.fitness).collect(),
            fitness: mean(&values[place]),
            trace,
            difference: mean(&differences),
            over_cycles: SeriesMean::estimate(&by_cycle(&differences, folds.len())),
            over_sites: metric.and_then(|metric| bootstrap.difference(chosen, place, metric)),
        }
    };
    all.into_iter().zip(traces.clone()).enumerate().map(result).collect()
}

/// Joins the replays of several parts: concatenates cycles and sums sites. Sites have the same
/// numbers in all parts.
pub(crate) fn together(parts: &[&TestedPolicy]) -> Trace {
    let mut all = Trace::default();
    for part in parts.iter().map(|tested| &tested.trace) {
        all.cycles.extend_from_slice(&part.cycles);
        if all.sites.len() < part.sites.len() {
            all.sites.resize(part.sites.len(), SiteFigures::default());
        }
        all.sites.iter_mut().zip(&part.sites).for_each(|(sum, site)| sum.add(site));
        if all.delays.len() < part.delays.len() {
            all.delays.resize(part.delays.len(), 0);
        }
        all.delays.iter_mut().zip(&part.delays).for_each(|(sum, delay)| *sum += delay);
        all.pages += part.pages;
        all.visited += part.visited;
        all.longest_neglect = all.longest_neglect.max(part.longest_neglect);
    }
    all
}
