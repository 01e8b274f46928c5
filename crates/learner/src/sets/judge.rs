//! Validation, selection and test over several data sets.

use super::gains::{Gains, gain, not_zero};
use super::{SeveralSets, names};
use crate::artifact;
use crate::evaluate::Evaluate;
use crate::evolve::EvolutionRun;
use crate::fitness::{first_highest, mean};
use crate::judge::{self, EvaluatedFormula, Judge, RunHistory, TestedPolicy, Validated, choice};
use crate::learn::{LearnError, Observer};
use crate::policy_result::Paired;
use crate::preset::ChoiceMethod;
use crate::work::Work;
use recrawl_formula::{Expr, Formula};
use recrawl_simulation::policy::{ReplayFormula, ReplayPolicy, ReplayPolicyKind};
use recrawl_simulation::{Dataset, replay};

/// The result of learning from several data sets.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedOfSets {
    /// The formula to use: that of fold `from`, or `known` if learning gained too little over it.
    pub formula: Formula,
    /// The index in `folds` of the fold whose formula gains most on the validation parts of the others.
    pub from: usize,
    /// For each fold that gain: the mean over those parts and all sets.
    pub gains: Vec<f64>,
    /// The known formula with the highest mean gain over the validation parts of all folds and sets.
    pub known: Formula,
    /// The gain of the folds' formulas on their test parts minus that of `known`: the mean over folds and sets.
    pub gain: f64,
    /// Its standard error: the larger of that over sets, and that within sets (over cycles or draws of sites).
    pub error: f64,
    /// The results by data set.
    pub sets: Vec<SetResult>,
    /// The results by fold.
    pub folds: Vec<FoldOfSets>,
    /// Work done and saved.
    pub work: Work,
}

/// The test parts of one data set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetResult {
    /// Its name.
    pub name: String,
    /// Pages of all folds.
    pub pages: usize,
    /// Cycles of a test part after the warm-up.
    pub cycles: u32,
    /// The mean fitness of the folds' formulas.
    pub learned: f64,
    /// By fold the best known formula of the training part.
    pub best_known: Vec<String>,
    /// Their mean fitness.
    pub best_known_fitness: f64,
    /// The gain of the learned formulas over these: the mean over the folds.
    pub gain: f64,
    /// Learned formulas and these.
    pub paired: Paired,
    /// The mean fitness of [`LearnedOfSets::known`].
    pub known: f64,
    /// Its gain over the best known formulas of this set.
    pub known_gain: f64,
    /// The standard error of `gain` − `known_gain` within this set.
    pub error: f64,
    /// The fitness of `true_rate`, which knows what no crawler can.
    pub bound: f64,
}

/// The results of one fold.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldOfSets {
    /// Its number, from 0.
    pub fold: usize,
    /// How its formula was selected.
    pub method: ChoiceMethod,
    /// The formula; its fitness in training and validation is the mean gain over the sets.
    pub candidate: EvaluatedFormula,
    /// The mean gain over the sets on the test parts.
    pub test: f64,
    /// By set the best known formula of the training part.
    pub known: Vec<Formula>,
    /// The generations of each run.
    pub runs: Vec<RunHistory>,
    /// By set the formula on the test part, the best known one, and `true_rate`.
    tested: Vec<[TestedPolicy; 3]>,
}

impl LearnedOfSets {
    /// Whether learning gained more than one standard error over the known formula.
    pub fn is_worth_it(&self) -> bool {
        self.gain > self.error
    }

    /// Which formula was written and why, in a sentence.
    pub fn why(&self) -> String {
        let (fold, known) = (self.folds[self.from].fold + 1, &self.known.name);
        let found = format!(
            "on the test parts of {} data sets, the formulas of the folds gain {:+.4} ± {:.4} more than {known}",
            self.sets.len(),
            self.gain,
            self.error
        );
        if self.is_worth_it() {
            format!("the formula of fold {fold}: {found}, more than one standard error")
        } else {
            format!(
                "the known formula {known}, not that of fold {fold}: {found}, no more than one standard error"
            )
        }
    }
}

/// Evaluates the runs of the folds with these numbers.
pub(super) fn judge(
    sets: &SeveralSets<'_>,
    numbers: &[usize],
    runs: &[&[EvolutionRun]],
    work: Work,
    observer: &mut dyn Observer,
) -> Result<LearnedOfSets, LearnError> {
    let judge =
        JudgeOfSets { sets, one: Judge { options: sets.options, meaning: &sets.meaning, pool: sets.pool } };
    let mut folds = Vec::with_capacity(numbers.len());
    for (&number, runs) in numbers.iter().zip(runs) {
        observer.begins(&format!("fold {}: validation and test", number + 1));
        folds.push(judge.fold(number, runs)?);
    }
    observer.begins("fold by fold: the formulas of the other folds");
    let (known, gains) = judge.across(&folds)?;
    let from = first_highest(&gains).expect("at least one fold");
    let results = judge.results(&folds, &known)?;
    let differences: Vec<f64> = results.iter().map(|set| set.gain - set.known_gain).collect();
    let (gain, error) = (mean(&differences), standard_error(&differences, &results));
    let (options, names) = (sets.options, names(sets.sets));
    let fitness = format!("relative gain in {} over the best known formula of each set", options.fitness);
    let formula = if gain > error {
        let FoldOfSets { fold, method, candidate, test, .. } = &folds[from];
        let learned = artifact::LearnedFormula {
            data: &names,
            fold: *fold,
            folds: options.folds,
            method: *method,
            candidate,
            test: *test,
            fitness,
        };
        learned.formula(options)
    } else {
        artifact::instead(&known, &names, &fitness, gain, error, options)
    };
    Ok(LearnedOfSets { formula, from, gains, known, gain, error, sets: results, folds, work })
}

/// The larger of the standard errors of the mean of `differences`: that of their spread over the sets, and that of the
/// errors within them.
fn standard_error(differences: &[f64], results: &[SetResult]) -> f64 {
    let (sets, middle) = (differences.len() as f64, mean(differences));
    let squares: f64 = differences.iter().map(|d| (d - middle) * (d - middle)).sum();
    let over_sets = (squares / (sets - 1.0) / sets).sqrt();
    let within = results.iter().map(|set| set.error * set.error).sum::<f64>().sqrt() / sets;
    over_sets.max(within)
}

struct JudgeOfSets<'a> {
    sets: &'a SeveralSets<'a>,
    one: Judge<'a>,
}

impl JudgeOfSets<'_> {
    fn fold(&self, number: usize, runs: &[EvolutionRun]) -> Result<FoldOfSets, LearnError> {
        let (options, meaning) = (self.sets.options, &self.sets.meaning);
        let parts = self.sets.fold(number);
        let [train, validation, test]: [Vec<&Dataset>; 3] = [
            parts.iter().map(|fold| &fold.train).collect(),
            parts.iter().map(|fold| &fold.validation).collect(),
            parts.iter().map(|fold| &fold.test).collect(),
        ];
        let kept = judge::kept(runs, &options.start, meaning);
        let exprs: Vec<Expr> = kept.iter().map(|(_, expr)| expr.clone()).collect();
        let known = self.sets.known[&number].clone();
        let training = Gains::over(self.sets, &train, &known)?.evaluate(&exprs);
        let validated = Gains::over(self.sets, &validation, &known)?.evaluate(&exprs);
        let both = training.into_iter().zip(validated);
        let candidate = |((seed, expr), (train, validation))| {
            EvaluatedFormula::new(seed, expr, meaning.protection, train, validation)
        };
        let candidates: Vec<EvaluatedFormula> = kept.into_iter().zip(both).map(candidate).collect();
        let selection = &options.preset.selection;
        let candidate = choice::choose(&candidates, selection.method, selection.sigma).clone();
        let mut tested = Vec::with_capacity(parts.len());
        for (part, known) in parts.iter().zip(&known) {
            let of_set = |cause: LearnError| cause.in_set(&part.test.name);
            let learned = self.one.prove("learned", &candidate, part).map_err(of_set)?;
            tested.push([learned, self.formula(known, &part.test)?, self.bound(&part.test)?]);
        }
        let mut gains = Vec::with_capacity(parts.len());
        for ([learned, known, _], part) in tested.iter().zip(&test) {
            gains.push(gain(learned.fitness, not_zero(known.fitness, part)?));
        }
        Ok(FoldOfSets {
            fold: number,
            method: selection.method,
            candidate,
            test: mean(&gains),
            known,
            runs: runs.iter().map(|r| RunHistory { seed: r.seed, generations: r.history.clone() }).collect(),
            tested,
        })
    }

    /// The best known formula over the validation parts of all folds, and the gain of each fold's formula over those of
    /// the others; with a single fold, over its own.
    fn across(&self, folds: &[FoldOfSets]) -> Result<(Formula, Vec<f64>), LearnError> {
        let rivals = self.sets.options.rivals();
        let chosen = folds.iter().map(|fold| fold.candidate.simplified.clone());
        let exprs: Vec<Expr> = rivals.iter().map(|formula| formula.expr.clone()).chain(chosen).collect();
        let mut parts = Vec::with_capacity(folds.len());
        for fold in folds {
            let validation: Vec<Dataset> =
                self.sets.fold(fold.fold).into_iter().map(|fold| fold.validation).collect();
            let validation: Vec<&Dataset> = validation.iter().collect();
            let gains = Gains::over(self.sets, &validation, &fold.known)?.evaluate(&exprs);
            parts.push(gains.iter().map(|of_sets| mean(of_sets)).collect());
        }
        let validated = Validated { parts, known: rivals.len() };
        let (protection, basis) = (self.sets.meaning.protection, self.sets.meaning.basis);
        let known = Formula { protection, basis, ..rivals[validated.best_known()].clone() };
        Ok((known, validated.on_others(|_, gain| gain)))
    }

    fn results(&self, folds: &[FoldOfSets], known: &Formula) -> Result<Vec<SetResult>, LearnError> {
        let (fitness, seed) = (&self.sets.meaning.fitness, self.sets.options.rules.seed);
        let mut results = Vec::with_capacity(self.sets.sets.len());
        for (at, of_set) in self.sets.folds.iter().enumerate() {
            let tests = folds.iter().map(|fold| self.formula(known, &of_set.fold(fold.fold).test));
            let over_all: Vec<TestedPolicy> = tests.collect::<Result<_, _>>()?;
            let of = |which: usize| folds.iter().map(|fold| &fold.tested[at][which]).collect::<Vec<_>>();
            let [learned, best, bound] = [0, 1, 2].map(of);
            let over_all: Vec<&TestedPolicy> = over_all.iter().collect();
            let values =
                |tested: &[&TestedPolicy]| mean(&tested.iter().map(|t| t.fitness).collect::<Vec<_>>());
            let gains = |tested: &[&TestedPolicy]| {
                let pairs = tested.iter().zip(&best);
                mean(&pairs.map(|(t, best)| gain(t.fitness, best.fitness)).collect::<Vec<_>>())
            };
            let scale = mean(&best.iter().map(|best| best.fitness.abs()).collect::<Vec<_>>());
            results.push(SetResult {
                name: of_set.data().name.clone(),
                pages: of_set.pages(),
                cycles: (learned[0].cycles.len()) as u32,
                learned: values(&learned),
                best_known: folds.iter().map(|fold| fold.known[at].name.clone()).collect(),
                best_known_fitness: values(&best),
                gain: gains(&learned),
                paired: Paired::compare([&learned, &best], fitness, seed),
                known: values(&over_all),
                known_gain: gains(&over_all),
                error: Paired::compare([&learned, &over_all], fitness, seed).error() / scale,
                bound: values(&bound),
            });
        }
        Ok(results)
    }

    /// A known formula on a part of a set.
    fn formula(&self, known: &Formula, part: &Dataset) -> Result<TestedPolicy, LearnError> {
        let (protection, basis) = (self.sets.meaning.protection, self.sets.meaning.basis);
        let known = Formula { protection, basis, ..known.clone() };
        self.policy(&mut ReplayFormula::new(&known), false, part)
    }

    fn bound(&self, part: &Dataset) -> Result<TestedPolicy, LearnError> {
        let kind = ReplayPolicyKind::named("true_rate").expect("a bound of this name");
        self.policy(&mut *kind.build(part, self.sets.meaning.basis), true, part)
    }

    fn policy(
        &self,
        policy: &mut dyn ReplayPolicy,
        is_bound: bool,
        part: &Dataset,
    ) -> Result<TestedPolicy, LearnError> {
        let name = policy.name().to_owned();
        let trace = replay::run(part, &self.sets.options.rules, policy);
        let trace = trace.map_err(|cause| LearnError::Rules(cause).in_set(&part.name))?;
        Ok(self.one.tested(&name, is_bound, trace))
    }
}
