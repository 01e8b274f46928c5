use super::*;
use crate::artifact;
use crate::checkpoint::CheckpointError;
use crate::folds::{FoldBy, FoldsError, Protocol};
use crate::judge::FoldComparison;
use crate::options::StartFormula;
use crate::preset::{ChoiceMethod, Preset};
use crate::testing::data;
use recrawl_formula::terminal::TerminalSet;
use recrawl_formula::{Formula, Protection};
use recrawl_simulation::{Budget, Rules};
use recrawl_types::Importance;

/// Options of a small learning.
pub(crate) fn options(preset: &str) -> LearnOptions {
    let mut preset = Preset::find(preset).unwrap();
    (preset.population.size, preset.population.generations) = (24, 3);
    preset.population.random_seeds = vec![111, 222];
    preset.selection.kept = 5;
    LearnOptions {
        preset,
        folds: 3,
        fold_by: FoldBy::Page,
        only_fold: None,
        rules: Rules { budget: Budget::Share(0.2), ..Rules::default() },
        fitness: "change_rate".parse().unwrap(),
        all_policies: true,
        start: Vec::new(),
        name: "learned".into(),
        data_digest: "xxh3:0".into(),
        date: "2026-01-31".into(),
        program_version: "0.1.0".into(),
    }
}

/// Stops after a number of generations, and records the progress.
struct Patience {
    left: u64,
    seen: Vec<u64>,
}

impl Observer for Patience {
    fn generation(&mut self, progress: &Progress) {
        self.seen.push(progress.done);
        assert!(progress.done <= progress.all);
    }

    fn begins(&mut self, what: &str) {
        assert!(what.starts_with("fold "));
    }

    fn stop(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }
}

pub(crate) fn pool(threads: usize) -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn go_on(
    data: &Dataset,
    options: &LearnOptions,
    runs: Vec<EvolutionRun>,
    threads: usize,
    generations: u64,
) -> Ending {
    let mut patience = Patience { left: generations, seen: Vec::new() };
    learn(data, options, runs, &pool(threads), &mut patience).unwrap()
}

/// Learns without interruption; work counters are reset.
pub(crate) fn learned(data: &Dataset, options: &LearnOptions, threads: usize) -> LearningResult {
    match go_on(data, options, Vec::new(), threads, u64::MAX) {
        Ending::Learned(learned) => LearningResult { work: Work::default(), ..*learned },
        Ending::Stopped(_) => panic!("stopped"),
    }
}

#[test]
fn a_formula_is_learned_with_all_that_tells_where_it_comes_from() {
    let data = data(60, 30, 6);
    let options = options("program");
    let learned = learned(&data, &options, 2);
    assert_eq!(learned.folds.len(), 3);
    for fold in &learned.folds {
        assert_eq!(fold.sizes, [(20, 27); 3]);
        assert_eq!(fold.choices.len(), ChoiceMethod::ALL.len());
        assert_eq!(fold.runs.iter().map(|r| r.seed).collect::<Vec<_>>(), [111, 222]);
        assert!(fold.policies.iter().any(|p| p.name == "age" && !p.is_bound));
        assert!(fold.policies.iter().any(|p| p.name == "oracle" && p.is_bound));
        let best = &fold.choices[0].candidate;
        assert!(fold.choices.iter().all(|c| c.candidate.train() <= best.train()));
        assert!(
            fold.choices.iter().all(|c| c.candidate.validation() <= fold.choices[3].candidate.validation())
        );
        assert_eq!(fold.front.last().unwrap().train(), best.train());
        assert_eq!(fold.front.len(), fold.front_test.len());
    }
    let folds = Folds::new(&data, Protocol::Thesis, FoldBy::Page, 3, 2).unwrap();
    let formula = artifact::formula(&learned.folds[learned.from], &folds, &options);
    let p = &formula.provenance;
    let choice = &learned.folds[learned.from].choices[0];
    assert_eq!((p.train, p.test), (Some(choice.candidate.train()), Some(choice.test.fitness)));
    assert_eq!(p.fold.as_deref(), Some(&*format!("{} of 3, by page", learned.from + 1)));
    assert_eq!(p.rules.as_deref(), Some("warm-up 2, share 0.2, ties by hash"));
    assert_eq!(p.selection.as_deref(), Some("best"));
    let known = artifact::known(&learned.across, &folds, &options);
    assert!(p.is_learned() && !known.provenance.is_learned());
    assert!(known.provenance.source.as_ref().unwrap().contains(&learned.across.known.name));
    for formula in [&formula, &known] {
        assert_eq!(Formula::from_toml(&formula.to_toml().unwrap()).unwrap(), *formula);
    }
    assert_eq!(learned.formula, if learned.across.is_worth_it() { formula } else { known });
}

/// Without the other policies all else is the same, to the last digit.
#[test]
fn known_policies_change_nothing_but_their_own_lines() {
    let data = data(60, 30, 6);
    for preset in ["thesis", "recrawl"] {
        let all = options(preset);
        let few = LearnOptions { all_policies: false, ..options(preset) };
        let (with, mut without) = (learned(&data, &all, 2), learned(&data, &few, 2));
        let [long, short] =
            [(&with, &all), (&without, &few)].map(|(l, o)| crate::Report::new(l, o).markdown());
        let name = &without.across.known.name;
        assert!(long.contains("| oracle (bound) |") && !short.contains("oracle"), "{short}");
        assert!(short.contains(&format!("\n| {name} |")), "{short}");
        for line in short.lines().filter(|line| line.starts_with("| gp4c_") || line.starts_with("wrote")) {
            assert!(long.contains(line), "{line}");
        }
        let mut gains = 0.0;
        for (fold, whole) in without.folds.iter_mut().zip(&with.folds) {
            let [known] = fold.policies.as_slice() else { panic!("the known formula only") };
            assert_eq!((&known.name, known.is_bound), (&without.across.known.name, false));
            gains += fold.choices[fold.chosen].test.fitness - known.fitness;
            fold.policies.clone_from(&whole.policies);
        }
        assert!((gains / 3.0 - without.across.gain).abs() < 1e-12, "{gains}");
        assert_eq!(without, with);
    }
}

/// If pages change at constant rates, known formulas are optimal, so the best of them is written.
#[test]
fn what_gains_no_more_than_a_standard_error_is_not_written() {
    let mut options = options("recrawl");
    options.start =
        crate::options::start(&options.preset, &options.fitness, &[StartFormula::Rivals]).unwrap();
    options.preset.population.size = 40;
    let learned = learned(&data(90, 60, 9), &options, 2);
    assert!(!learned.across.is_worth_it() && learned.across.error > 0.001, "{}", learned.why());
    assert_eq!(learned.formula.expr, learned.across.known.expr);
    assert!(learned.why().starts_with("the known formula"), "{}", learned.why());
    let gain = learned.across.error * 1.01;
    let won = LearningResult { across: FoldComparison { gain, ..learned.across.clone() }, ..learned };
    assert!(won.why().starts_with(&format!("the formula of fold {}", won.from + 1)), "{}", won.why());
}

/// Formulas that read importance are replayed page by page, and others by states; and known ones are weighed as well.
#[test]
fn a_fitness_by_importance_learns_formulas_that_read_it() {
    let mut options = options("recrawl");
    options.fitness = "freshness_by_importance".parse().unwrap();
    options.start =
        crate::options::start(&options.preset, &options.fitness, &[StartFormula::Rivals]).unwrap();
    options.preset.population.size = 40;
    let mut data = data(90, 40, 9);
    data.weigh(|name| Importance::new(if name.ends_with('7') { 50.0 } else { 1.0 }).unwrap());
    let one = learned(&data, &options, 2);
    let weighs = |formula: &Formula| formula.expr.to_string().contains("importance");
    assert!(weighs(&one.formula) && weighs(&one.across.known), "{}", one.formula.expr);
    assert_eq!(learned(&data, &options, 1), one);
}

#[test]
fn threads_and_interruptions_leave_no_trace() {
    let options = LearnOptions { folds: 3, ..options("recrawl") };
    no_trace(&data(45, 20, 5), &options);
}

/// What siblings and the model show depends on the visits of each formula.
#[test]
fn threads_and_interruptions_leave_no_trace_on_formulas_of_related_pages() {
    let mut options = options("recrawl");
    options.preset.tree.terminals = TerminalSet::Related;
    options.preset.population.size = 30;
    options.start =
        crate::options::start(&options.preset, &options.fitness, &[StartFormula::Rivals]).unwrap();
    options.rules.rounds = recrawl_simulation::rules::Parts::Equal(2);
    no_trace(&crate::testing::folders(6, 6, 20, 4), &options);
}

fn no_trace(data: &Dataset, options: &LearnOptions) {
    let whole = learned(data, options, 1);
    assert_eq!(learned(data, options, 2), whole);
    // Interrupted after every generation, with another number of threads each time, and resumed
    // from the text of a checkpoint.
    let mut runs = Vec::new();
    for step in 0.. {
        match go_on(data, options, runs, step % 4 + 1, 1) {
            Ending::Stopped(checkpoint) => {
                let text = checkpoint.to_json();
                let read = Checkpoint::from_json(&text, &data.name, options).unwrap();
                assert_eq!(read, checkpoint);
                runs = read.runs;
            }
            Ending::Learned(learned) => {
                assert_eq!(step, 3 * 2 * 3, "one stop a generation");
                assert_eq!(LearningResult { work: Work::default(), ..*learned }, whole);
                break;
            }
        }
    }
}

#[test]
fn progress_goes_up_by_one_to_the_end() {
    let (data, options) = (data(45, 20, 5), options("thesis"));
    let mut patience = Patience { left: 7, seen: Vec::new() };
    let Ending::Stopped(checkpoint) = learn(&data, &options, vec![], &pool(2), &mut patience).unwrap() else {
        panic!("not stopped")
    };
    patience.left = u64::MAX;
    learn(&data, &options, checkpoint.runs, &pool(2), &mut patience).unwrap();
    assert_eq!(patience.seen, (1..=18).collect::<Vec<u64>>());
}

#[test]
fn a_checkpoint_of_another_learning_is_refused() {
    let (data, options) = (data(45, 20, 5), options("thesis"));
    let Ending::Stopped(checkpoint) = go_on(&data, &options, vec![], 1, 2) else { panic!("not stopped") };
    let text = checkpoint.to_json();
    let refused = |options: &LearnOptions, says: &str| {
        let error = Checkpoint::from_json(&text, &data.name, options).unwrap_err().to_string();
        assert!(error.contains(says), "{error}\nshould say: {says}");
    };
    refused(
        &LearnOptions { data_digest: "xxh3:1".into(), ..options.clone() },
        "its data digest is xxh3:0, now it is xxh3:1",
    );
    let mut other = options.clone();
    other.preset.protocol = Protocol::Journal;
    refused(&other, "its fold protocol is \"thesis\"");
    refused(
        &LearnOptions { fitness: "age".parse().unwrap(), ..options.clone() },
        "its fitness is change_rate",
    );
    refused(&LearnOptions { only_fold: Some(1), ..options.clone() }, "its only-fold is none, now it is 2");
    let mut other = options.clone();
    other.preset.population.random_seeds.push(333);
    refused(&other, "its preset is");
    let other = Rules { warmup: 1, ..options.rules.clone() };
    refused(&LearnOptions { rules: other, ..options.clone() }, "its rules is");
    // Options that do not affect the result may differ.
    let other = LearnOptions { name: "x".into(), date: "2026-02-01".into(), ..options.clone() };
    assert!(Checkpoint::from_json(&text, &data.name, &other).is_ok());
    for (broken, is) in [
        ("nonsense".to_owned(), "not a checkpoint"),
        (text.replacen("\"version\":1", "\"version\":9", 1), "version 9"),
        (text[..text.len() / 2].to_owned(), "not a checkpoint"),
        (text.replacen("\"generation\":2", "\"generation\":1", 1), "is inconsistent"),
        (text.replacen("\"population\":[\"", "\"population\":[\"?", 1), "is inconsistent"),
    ] {
        let error = Checkpoint::from_json(&broken, &data.name, &options).expect_err(is);
        assert!(error.to_string().contains(is), "{error}");
    }
    assert!(matches!(Checkpoint::from_json("{}", &data.name, &options), Err(CheckpointError::Json(_))));
}

/// With the right formula among the start trees, nothing worse is learned.
#[test]
fn learning_begins_level_with_what_it_starts_from() {
    let data = data(90, 40, 9);
    let mut options = options("recrawl");
    options.start =
        crate::options::start(&options.preset, &options.fitness, &[StartFormula::Rivals]).unwrap();
    options.fold_by = FoldBy::Site;
    options.preset.population.size = 40;
    let learned = learned(&data, &options, 2);
    for fold in &learned.folds {
        assert!(fold.choices[3].candidate.validation() >= fold.rival, "fold {}", fold.fold);
    }
}

#[test]
fn every_fitness_protocol_and_set_of_terminals_learns() {
    let data = data(60, 45, 6);
    for (fitness, protocol, terminals) in [
        ("ndcg", Protocol::Journal, TerminalSet::All),
        ("freshness", Protocol::Thesis, TerminalSet::Extended),
        ("harmonic", Protocol::Journal, TerminalSet::Basic),
        ("0.5*change_rate+0.5*freshness", Protocol::Thesis, TerminalSet::All),
        ("age", Protocol::Journal, TerminalSet::Extended),
        ("change_rate", Protocol::Thesis, TerminalSet::Related),
    ] {
        let mut options = options("journal");
        options.preset.tree.terminals = terminals;
        options.preset.protocol = protocol;
        options.preset.population.random_seeds = vec![7];
        let options = LearnOptions { fitness: fitness.parse().unwrap(), only_fold: Some(2), ..options };
        let learned = learned(&data, &options, 2);
        assert_eq!((learned.folds.len(), learned.folds[0].fold), (1, 2));
        assert_eq!(learned.formula.protection, Protection::Journal);
        assert!(learned.folds[0].choices.iter().all(|c| c.test.fitness.is_finite()), "{fitness}");
    }
}

#[test]
fn what_cannot_be_learned_from_is_refused_with_the_reason() {
    let options = options("thesis");
    let refused = |data: &Dataset, options: &LearnOptions| {
        let mut patience = Patience { left: 1, seen: Vec::new() };
        learn(data, options, Vec::new(), &pool(1), &mut patience).expect_err("refused")
    };
    for pages in [0, 1, 2] {
        let error = refused(&data(pages, 20, 1), &options);
        assert!(matches!(error, LearnError::Folds(FoldsError::FewPages { .. })), "{error}");
    }
    let error = refused(&data(30, 20, 5), &LearnOptions { only_fold: Some(3), ..options.clone() });
    assert!(error.to_string().contains("no fold 4; use 1 to 3"), "{error}");
    let rules = Rules { budget: Budget::Pages(0), ..Rules::default() };
    let error = refused(&data(30, 20, 5), &LearnOptions { rules, ..options.clone() });
    assert!(error.to_string().contains("0 pages per cycle"), "{error}");
    // More pages than exist means all of them.
    let rules = Rules { budget: Budget::Pages(1000), ..Rules::default() };
    let Ending::Stopped(_) = go_on(&data(30, 20, 5), &LearnOptions { rules, ..options }, vec![], 1, 1) else {
        panic!("not stopped")
    };
}

/// log(−t) and similar are NaN: such formulas are the worst, and do no harm.
#[test]
fn formulas_that_are_no_number_have_a_fitness() {
    let data = data(45, 20, 5);
    let mut options = options("thesis");
    options.preset.tree.functions = ["log", "sub", "pow"].map(str::to_owned).to_vec();
    options.preset.tree.constants = vec![0.5, 1000.0];
    let learned = learned(&data, &options, 2);
    assert!(learned.folds.iter().flat_map(|f| &f.choices).all(|c| c.test.fitness.is_finite()));
}
