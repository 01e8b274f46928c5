//! Validation, selection, and the test against known policies (thesis sections 3.5 and 4.3).

pub(crate) mod choice;
mod fold_comparison;

pub use choice::EvaluatedFormula;
pub(crate) use fold_comparison::Validated;
pub use fold_comparison::{FoldChanges, FoldComparison};

use crate::evaluate::Evaluate;
use crate::evaluate::cpu::{Meaning, Replays};
use crate::evolve::{EvolutionRun, EvolvedGeneration};
use crate::fitness::mean;
use crate::folds::{Fold, Folds};
use crate::hall_of_fame::Front;
use crate::learn::{LearnError, Observer};
use crate::options::LearnOptions;
use crate::preset::ChoiceMethod;
use crate::select::Individual;
use crate::work::Work;
use crate::{artifact, memo, proof};
use rayon::ThreadPool;
use rayon::prelude::*;
use recrawl_formula::{Expr, Formula};
use recrawl_simulation::policy;
use recrawl_simulation::{Dataset, Trace, replay};
use std::collections::HashSet;

/// The result of learning.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningResult {
    /// The formula to use: that of fold `from`, or the best known one if learning gained too
    /// little.
    pub formula: Formula,
    /// The index in `folds` of the fold whose formula is best on the validation parts of the
    /// others.
    pub from: usize,
    /// The reason for that formula.
    pub across: FoldComparison,
    /// The results of all folds.
    pub folds: Vec<FoldResult>,
    /// Work done and saved.
    pub work: Work,
}

impl LearningResult {
    /// Which formula was written and why, in a sentence.
    pub fn why(&self) -> String {
        let FoldComparison { gains, known, gain, error, changes } = &self.across;
        let (fold, name) = (self.folds[self.from].fold + 1, &known.name);
        if !changes.are_enough() {
            return format!("the known formula {name}, since nothing can be learned: {}", changes.text());
        }
        let error = if error.is_finite() { format!("{error:.4}") } else { "unknown error".into() };
        let on_tests =
            format!("on the test parts, the formulas of the folds gain {gain:+.4} ± {error} over {name}");
        let best = match gains.len() {
            1 => format!("the formula of fold {fold}"),
            folds => format!(
                "the formula of fold {fold}, the best of {folds} on the validation parts of the other folds ({:+.4} \
                 over {name})",
                gains[self.from]
            ),
        };
        if self.across.is_worth_it() {
            format!("{best}: {on_tests}, more than one standard error")
        } else {
            format!("the known formula {name}, not {best}: {on_tests}, no more than one standard error")
        }
    }
}

/// Result of one fold.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldResult {
    /// Number of the fold, from 0.
    pub fold: usize,
    /// Pages and scheduled cycles of training, validation and test.
    pub sizes: [(usize, u32); 3],
    /// The choice of each method, in the order of [`ChoiceMethod::ALL`].
    pub choices: Vec<LearnedChoice>,
    /// The index in `choices` of the preset's method.
    pub chosen: usize,
    /// The fitness of the best rival formula on the validation part.
    pub rival: f64,
    /// The Pareto front of fitness and size, smallest first.
    pub front: Vec<EvaluatedFormula>,
    /// The fitness of each of these on the test part.
    pub front_test: Vec<f64>,
    /// Known policies on the test part: all of them with [`LearnOptions::all_policies`], else the best known formula.
    pub policies: Vec<TestedPolicy>,
    /// The generations of each run.
    pub runs: Vec<RunHistory>,
}

/// The formula that a method chooses.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedChoice {
    /// The method.
    pub method: ChoiceMethod,
    /// The formula.
    pub candidate: EvaluatedFormula,
    /// Its replay on the test part.
    pub test: TestedPolicy,
}

/// A policy on the test part.
#[derive(Clone, Debug, PartialEq)]
pub struct TestedPolicy {
    /// Name of the policy.
    pub name: String,
    /// Whether it knows what no crawler can.
    pub is_bound: bool,
    /// The mean fitness over the cycles.
    pub fitness: f64,
    /// The fitness in each cycle.
    pub cycles: Vec<f64>,
    /// The figures of the replay.
    pub trace: Trace,
}

/// The generations of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHistory {
    /// The random seed.
    pub seed: u64,
    /// Figures of the generations.
    pub generations: Vec<EvolvedGeneration>,
}

/// Evaluates the runs of the folds with these numbers.
pub(crate) fn judge(
    folds: &Folds<'_>,
    numbers: &[usize],
    runs: &[&[EvolutionRun]],
    options: &LearnOptions,
    pool: &ThreadPool,
    work: Work,
    observer: &mut dyn Observer,
) -> Result<LearningResult, LearnError> {
    let meaning = options.meaning();
    let judge = Judge { options, meaning: &meaning, pool };
    let mut results = Vec::with_capacity(numbers.len());
    for (&number, runs) in numbers.iter().zip(runs) {
        observer.begins(&format!("fold {}: validation and test", number + 1));
        results.push(judge.fold(number, &folds.fold(number), runs)?);
    }
    observer.begins("fold by fold: the formulas of the other folds");
    let (across, known) = judge.across(folds, &results)?;
    if !options.all_policies {
        results.iter_mut().zip(known).for_each(|(fold, known)| fold.policies.push(known));
    }
    let from = across.best();
    let formula = if across.is_worth_it() {
        artifact::formula(&results[from], folds, options)
    } else {
        artifact::known(&across, folds, options)
    };
    Ok(LearningResult { formula, from, across, folds: results, work })
}

pub(crate) struct Judge<'a> {
    pub(crate) options: &'a LearnOptions,
    pub(crate) meaning: &'a Meaning,
    pub(crate) pool: &'a ThreadPool,
}

impl Judge<'_> {
    fn fold(&self, number: usize, fold: &Fold, runs: &[EvolutionRun]) -> Result<FoldResult, LearnError> {
        let preset = &self.options.preset;
        let (kept, front) = (kept(runs, &self.options.start, self.meaning), front(runs, self.meaning));
        let exprs: Vec<Expr> = kept.iter().chain(&front).map(|(_, expr)| expr.clone()).collect();
        // One evaluator at a time, since each has large caches.
        let train = self.evaluator(&fold.train)?.evaluate(&exprs);
        let (validation, rival) = {
            let evaluator = self.evaluator(&fold.validation)?;
            (evaluator.evaluate(&exprs), best_rival(&evaluator, &self.options.rivals()))
        };
        let cycles = train.into_iter().zip(validation);
        let candidate = |((seed, expr), (train, validation))| {
            EvaluatedFormula::new(seed, expr, self.meaning.protection, train, validation)
        };
        let first_of_front = kept.len();
        let mut kept: Vec<EvaluatedFormula> =
            kept.into_iter().chain(front).zip(cycles).map(candidate).collect();
        let front = kept.split_off(first_of_front);
        let simplified: Vec<Expr> = front.iter().map(|c| c.simplified.clone()).collect();
        let front_test = self.evaluator(&fold.test)?.evaluate(&simplified);
        let chosen = ChoiceMethod::ALL.iter().position(|m| *m == preset.selection.method).expect("listed");
        Ok(FoldResult {
            fold: number,
            sizes: [&fold.train, &fold.validation, &fold.test]
                .map(|part| (part.pages.len(), part.truth.cycles() - part.begun(&self.options.rules))),
            choices: self.choices(&kept, fold)?,
            chosen,
            rival,
            front_test: front_test.iter().map(|cycles| mean(cycles)).collect(),
            front,
            policies: if self.options.all_policies { self.policies(&fold.test)? } else { Vec::new() },
            runs: runs.iter().map(|r| RunHistory { seed: r.seed, generations: r.history.clone() }).collect(),
        })
    }

    fn evaluator<'d>(&'d self, part: &'d Dataset) -> Result<Replays<'d>, LearnError> {
        Replays::new(part, &self.options.rules, self.meaning, self.pool, 1).map_err(LearnError::Replay)
    }

    /// The choice of each method. Methods often agree; a repeated choice is not proved again.
    fn choices(&self, kept: &[EvaluatedFormula], fold: &Fold) -> Result<Vec<LearnedChoice>, LearnError> {
        let mut choices: Vec<LearnedChoice> = Vec::new();
        for method in ChoiceMethod::ALL {
            let candidate = choice::choose(kept, method, self.options.preset.selection.sigma);
            let before = choices.iter().find(|before| before.candidate == *candidate);
            let name = format!("gp4c_{}", method.name());
            let test = match before {
                Some(before) => TestedPolicy { name, ..before.test.clone() },
                None => self.prove(&name, candidate, fold)?,
            };
            choices.push(LearnedChoice { method, candidate: candidate.clone(), test });
        }
        Ok(choices)
    }

    /// Replays a candidate on the test part, and proves on all parts that its simplified form is
    /// equivalent.
    pub(crate) fn prove(
        &self,
        name: &str,
        candidate: &EvaluatedFormula,
        fold: &Fold,
    ) -> Result<TestedPolicy, LearnError> {
        let Meaning { protection, basis, .. } = *self.meaning;
        let forms = [&candidate.bred, &candidate.simplified];
        let rules = &self.options.rules;
        let test = || proof::equal(&fold.test, rules, forms, protection, basis).map_err(LearnError::Rules);
        let is_equal = |part| proof::is_equal(part, rules, forms, protection, basis);
        let others = || Ok(is_equal(&fold.train)? && is_equal(&fold.validation)?);
        let (test, others): (_, Result<bool, LearnError>) = self.pool.join(test, others);
        match test? {
            Some(trace) if others? => Ok(self.tested(name, false, trace)),
            _ => {
                let [bred, simplified] = forms.map(Expr::to_string);
                Err(LearnError::NotEqual { bred, simplified })
            }
        }
    }

    /// Replays every policy of a crawl, and the bounds.
    fn policies(&self, part: &Dataset) -> Result<Vec<TestedPolicy>, LearnError> {
        let one = |kind: &policy::ReplayPolicyKind| {
            let mut policy = kind.build(part, self.meaning.basis);
            let trace = replay::run(part, &self.options.rules, &mut *policy).map_err(LearnError::Rules)?;
            Ok(self.tested(kind.name, kind.is_bound(), trace))
        };
        self.pool.install(|| policy::ALL.par_iter().with_max_len(1).map(one).collect())
    }

    pub(crate) fn tested(&self, name: &str, is_bound: bool, trace: Trace) -> TestedPolicy {
        let cycles = self.meaning.fitness.of_cycles(&trace.cycles);
        TestedPolicy { name: name.to_owned(), is_bound, fitness: mean(&cycles), cycles, trace }
    }
}

/// The individuals kept by all runs and their start trees, each formula once, with the seed of its
/// run. A start tree can be chosen even if it is not among the best in training.
pub(crate) fn kept(runs: &[EvolutionRun], start: &[Expr], meaning: &Meaning) -> Vec<(u64, Expr)> {
    let mut there = HashSet::new();
    let kept = runs.iter().flat_map(|run| run.kept.best().map(move |kept| (run.seed, &kept.expr)));
    kept.chain(start.iter().map(|expr| (runs[0].seed, expr)))
        .filter(|(_, expr)| there.insert(memo::key(expr, meaning.protection)))
        .map(|(seed, expr)| (seed, expr.clone()))
        .collect()
}

/// The Pareto front of all runs together, with the seeds of their runs.
fn front(runs: &[EvolutionRun], meaning: &Meaning) -> Vec<(u64, Expr)> {
    let mut all = Front::default();
    runs.iter().flat_map(|run| run.front.points()).for_each(|point| all.offer(point, meaning.protection));
    let seed = |point: &Individual| {
        let run = runs.iter().find(|run| run.front.points().contains(point));
        run.expect("the point of a run").seed
    };
    all.points().iter().map(|point| (seed(point), point.expr.clone())).collect()
}

/// The fitness of the best formula that was not learned.
fn best_rival(validation: &dyn Evaluate, rivals: &[Formula]) -> f64 {
    let values = validation.evaluate(&rivals.iter().map(|formula| formula.expr.clone()).collect::<Vec<_>>());
    values.iter().map(|cycles| mean(cycles)).fold(f64::NEG_INFINITY, f64::max)
}
