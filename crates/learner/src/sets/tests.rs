use super::*;
use crate::checkpoint::Checkpoint;
use crate::fitness::mean;
use crate::folds::{FoldBy, FoldsError};
use crate::learn::Progress;
use crate::learn::tests::{options, pool};
use crate::options::{StartFormula, rivals, start};
use crate::testing::{data, folders};
use crate::work::Work;
use recrawl_formula::terminal::TerminalSet;
use recrawl_formula::{Expr, Formula};
use recrawl_simulation::policy::ReplayFormula;
use recrawl_simulation::{Budget, replay};

/// Stops after a number of generations.
struct Patience(u64);

impl Observer for Patience {
    fn generation(&mut self, _: &Progress) {}

    fn begins(&mut self, _: &str) {}

    fn stop(&mut self) -> bool {
        self.0 -= 1;
        self.0 == 0
    }
}

/// A small set whose pages change often, and a large one whose pages change seldom and by folders.
fn sets() -> [Dataset; 2] {
    [data(45, 30, 6), folders(9, 8, 25, 3)]
}

fn of_related_pages() -> LearnOptions {
    let mut options = options("recrawl");
    options.preset.tree.terminals = TerminalSet::Related;
    options.preset.population.random_seeds = vec![7];
    options.preset.population.size = 40;
    options.start = start(&options.preset, &options.fitness, &[StartFormula::Rivals]).unwrap();
    options.preset.population.generations = 2;
    options.fold_by = FoldBy::Site;
    options
}

fn go_on(
    sets: &[Dataset],
    options: &LearnOptions,
    runs: Vec<EvolutionRun>,
    threads: usize,
    stop: u64,
) -> Ending<LearnedOfSets> {
    learn_sets(sets, options, runs, &pool(threads), &mut Patience(stop)).unwrap()
}

fn learned(sets: &[Dataset], options: &LearnOptions, threads: usize) -> LearnedOfSets {
    match go_on(sets, options, Vec::new(), threads, u64::MAX) {
        Ending::Learned(learned) => LearnedOfSets { work: Work::default(), ..*learned },
        Ending::Stopped(_) => panic!("stopped"),
    }
}

fn fitness(options: &LearnOptions, part: &Dataset, expr: &Expr) -> f64 {
    let (protection, basis) = (options.preset.protection, options.preset.estimators);
    let formula = Formula { protection, basis, ..Formula::new(expr.clone()) };
    let trace = replay::run(part, &options.rules, &mut ReplayFormula::new(&formula)).unwrap();
    mean(&options.fitness.of_cycles(&trace.cycles))
}

/// The fitness of a formula, recomputed from plain replays: the mean gain over the formula that is best on the training
/// part of a set, on every part.
#[test]
fn the_fitness_is_the_mean_gain_over_the_best_known_formula_of_each_set() {
    let (sets, options) = (sets(), of_related_pages());
    let learned = learned(&sets, &options, 2);
    assert_eq!((learned.folds.len(), learned.sets.len()), (3, 2));
    for of_fold in &learned.folds {
        let mut gains = [Vec::new(), Vec::new(), Vec::new()];
        for (set, known) in sets.iter().zip(&of_fold.known) {
            let folds = Folds::new(set, options.preset.protocol, options.fold_by, 3, 2).unwrap();
            let fold = folds.fold(of_fold.fold);
            let known_fitness = fitness(&options, &fold.train, &known.expr);
            for rival in rivals(TerminalSet::Related, &options.fitness) {
                assert!(fitness(&options, &fold.train, &rival.expr) <= known_fitness, "{}", rival.name);
            }
            for (gains, part) in gains.iter_mut().zip([&fold.train, &fold.validation, &fold.test]) {
                let [ours, base] =
                    [&of_fold.candidate.simplified, &known.expr].map(|expr| fitness(&options, part, expr));
                gains.push((ours - base) / base.abs());
            }
        }
        let gains = gains.map(|gains| mean(&gains));
        assert_eq!(gains, [of_fold.candidate.train(), of_fold.candidate.validation(), of_fold.test]);
    }
    let differences = learned.sets.iter().map(|set| set.gain - set.known_gain);
    assert_eq!(learned.gain, mean(&differences.collect::<Vec<_>>()));
    assert!(learned.error > 0.0);
    let formula = &learned.formula;
    assert_eq!(formula.provenance.data.as_deref(), Some("rates, folders"));
    assert_eq!(formula.provenance.is_learned(), learned.is_worth_it());
    assert_eq!(Formula::from_toml(&formula.to_toml().unwrap()).unwrap(), *formula);
    let text = report::markdown(&learned, &options);
    assert!(
        text.contains("| rates | 45 |") && text.contains("| folders | 72 |") && !text.contains("NaN"),
        "{text}"
    );
}

#[test]
fn threads_and_interruptions_leave_no_trace() {
    let (sets, options) = (sets(), of_related_pages());
    let whole = learned(&sets, &options, 1);
    assert_eq!(learned(&sets, &options, 2), whole);
    let mut runs = Vec::new();
    for step in 0.. {
        match go_on(&sets, &options, runs, step % 3 + 1, 1) {
            Ending::Stopped(checkpoint) => {
                let read = Checkpoint::from_json(&checkpoint.to_json(), &names(&sets), &options).unwrap();
                runs = read.runs;
            }
            Ending::Learned(learned) => {
                assert_eq!(step, 6, "one stop a generation");
                assert_eq!(LearnedOfSets { work: Work::default(), ..*learned }, whole);
                break;
            }
        }
    }
    // In another order they are other data.
    let Ending::Stopped(checkpoint) = go_on(&sets, &options, vec![], 1, 1) else { panic!("not stopped") };
    let error = Checkpoint::from_json(&checkpoint.to_json(), "folders, rates", &options).unwrap_err();
    assert!(
        error.to_string().contains("its data set is rates, folders, now it is folders, rates"),
        "{error}"
    );
}

#[test]
fn sets_that_do_not_go_together_are_refused() {
    let [rates, folders] = sets();
    let refused = |sets: &[&Dataset], says: &str| {
        let sets: Vec<Dataset> = sets.iter().map(|set| (*set).clone()).collect();
        let error = check(&sets).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    };
    let renamed = |set: &Dataset| Dataset { name: "other".into(), ..set.clone() };
    assert_eq!(check(&[rates.clone(), folders.clone()]), Ok(()));
    refused(&[&rates, &folders, &renamed(&rates)], "rates and other are the same data");
    let other = Dataset { name: "rates".into(), ..folders.clone() };
    refused(&[&rates, &other], "two data sets have the name rates");
    let mut dated = renamed(&folders);
    dated.dates = (1..=25).map(|day| format!("2026-01-{day:02}")).collect();
    refused(
        &[&rates, &dated],
        "cycles of rates are of unknown length (it has no dates), those of other of a day",
    );
}

#[test]
fn a_page_of_several_sets_takes_part_in_the_first() {
    let [rates, folders] = sets();
    let (one, other) = (folders.part(&[0, 3, 4, 5], 0..25), folders.part(&[9, 5, 8, 3], 0..25));
    let (sets, left_out) =
        without_shared_pages(vec![rates.clone(), one.clone(), other.clone(), rates.clone()]);
    assert_eq!(left_out, [0, 0, 2, 0], "names that are no URL tell nothing");
    assert_eq!(sets, [rates.clone(), one, folders.part(&[9, 8], 0..25), rates]);
    assert_eq!(without_shared_pages(vec![other.clone(), other]).1, [0, 4]);
}

/// Refusals come before the first generation.
struct Untrained;

impl Observer for Untrained {
    fn generation(&mut self, progress: &Progress) {
        panic!("trained up to {progress:?}");
    }

    fn begins(&mut self, _: &str) {}

    fn stop(&mut self) -> bool {
        false
    }
}

#[test]
fn a_set_that_allows_no_learning_is_named() {
    let [rates, folders] = sets();
    let refused = |sets: &[Dataset], options: &LearnOptions| {
        learn_sets(sets, options, Vec::new(), &pool(1), &mut Untrained).expect_err("refused")
    };
    let few_sites = Dataset { groups: vec!["all".into()], ..data(45, 30, 1) };
    let error = refused(&[folders.clone(), few_sites], &of_related_pages());
    assert!(error.to_string().starts_with("rates: 1 sites are too few for 3 folds"), "{error}");
    assert!(matches!(error.cause(), LearnError::Folds(FoldsError::FewSites { .. })));
    // One page changes once.
    let truth = recrawl_simulation::Truth::from_words(24, [vec![0; 71], vec![2]].concat());
    let quiet = Dataset { truth, ..folders };
    let error = refused(&[rates, quiet], &LearnOptions { fold_by: FoldBy::Page, ..of_related_pages() });
    assert!(error.to_string().starts_with("folders: changes after the warm-up: 0 in training"), "{error}");
    assert!(error.to_string().ends_with("leave this set out"), "{error}");
    // All pages are visited in each cycle, so no copy has an age.
    let mut all = LearnOptions { fitness: "age".parse().unwrap(), ..of_related_pages() };
    all.rules.budget = Budget::Share(1.0);
    let error = refused(&sets(), &all);
    assert!(error.to_string().starts_with("rates: the best known formula has a fitness of 0"), "{error}");
    let error = refused(&sets(), &LearnOptions { only_fold: Some(3), ..of_related_pages() });
    assert!(error.to_string().contains("no fold 4; use 1 to 3"), "{error}");
}
