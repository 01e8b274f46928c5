use super::*;
use crate::evaluate::Evaluate;
use crate::evaluate::cpu::{Fast, Meaning};
use crate::fitness::mean;
use crate::testing::data;
use crate::work::Work;
use rayon::ThreadPool;
use recrawl_formula::terminal::TerminalSet;
use recrawl_formula::{Basis, Protection, parse};
use recrawl_simulation::{Budget, Dataset, Rules};

fn preset(name: &str) -> Preset {
    let mut preset = Preset::find(name).unwrap();
    (preset.population.size, preset.population.generations) = (40, 6);
    preset.tree.terminals = TerminalSet::Basic;
    preset
}

/// The data that an evaluator borrows.
struct Bench {
    data: Dataset,
    rules: Rules,
    meaning: Meaning,
    pool: ThreadPool,
}

impl Bench {
    fn new(threads: usize) -> Bench {
        Bench {
            data: data(60, 30, 6),
            rules: Rules { budget: Budget::Share(0.1), ..Rules::default() },
            meaning: Meaning {
                protection: Protection::Program,
                basis: Basis::Visits,
                fitness: "change_rate".parse().unwrap(),
            },
            pool: rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap(),
        }
    }

    fn evaluator(&self) -> Fast<'_> {
        Fast::new(&self.data, &self.rules, &self.meaning, &self.pool).unwrap()
    }
}

fn run(preset: &Preset, seed: u64, evaluator: &dyn Evaluate) -> EvolutionRun {
    let vocabulary = preset.vocabulary().unwrap();
    let mut memo = Memo::new(evaluator, preset.protection);
    let mut run = EvolutionRun::new(preset, &vocabulary, &[], seed);
    while !run.is_done() {
        run.step(preset, &vocabulary, &mut memo);
    }
    run
}

#[test]
fn the_same_seed_gives_the_same_run_on_any_number_of_threads() {
    for name in ["program", "recrawl"] {
        let preset = preset(name);
        let one = run(&preset, 111, &Bench::new(1).evaluator());
        assert_eq!(one.history.len(), 6);
        assert_eq!(one, run(&preset, 111, &Bench::new(2).evaluator()), "{name}");
        assert_eq!(one, run(&preset, 111, &Bench::new(4).evaluator()), "{name}");
        assert_ne!(one, run(&preset, 222, &Bench::new(1).evaluator()), "{name}");
    }
}

#[test]
fn the_elite_never_gets_worse() {
    for name in ["thesis", "journal", "program", "recrawl"] {
        let run = run(&preset(name), 5, &Bench::new(2).evaluator());
        let best: Vec<f64> = run.history.iter().map(|g| g.best).collect();
        assert!(best.windows(2).all(|pair| pair[0] <= pair[1]), "{name}: {best:?}");
        assert_eq!(run.kept.best().next().unwrap().fitness, best[5]);
        assert_eq!(run.front.points().last().unwrap().fitness, best[5]);
    }
}

/// A cheap fitness: short texts are best.
struct Text;

impl Evaluate for Text {
    fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>> {
        exprs.iter().map(|e| vec![-(e.to_string().len() as f64)]).collect()
    }

    fn work(&self) -> Work {
        Work::default()
    }
}

#[test]
fn generations_are_whole_and_of_the_vocabulary() {
    for name in ["thesis", "journal", "program", "recrawl"] {
        let preset = preset(name);
        let vocabulary = preset.vocabulary().unwrap();
        let mut memo = Memo::new(&Text, preset.protection);
        let mut run = EvolutionRun::new(&preset, &vocabulary, &[parse("t * X").unwrap()], 9);
        assert_eq!(run.population[0].to_string(), "t * X");
        while !run.is_done() {
            assert_eq!(run.population.len(), 40, "{name}");
            for tree in &run.population {
                assert!(preset.limits().admit(tree) && vocabulary.speaks(tree), "{name}: {tree}");
            }
            run.step(&preset, &vocabulary, &mut memo);
        }
    }
}

#[test]
fn a_run_without_chance_to_vary_copies() {
    let mut preset = preset("thesis");
    preset.breeding =
        crate::preset::BreedingParameters { crossover: 0.0, new: 0.0, reproduction: 1.0, ..preset.breeding };
    preset.mutation.shrink = 0.0;
    preset.mutation.node_replacement = 0.0;
    let vocabulary = preset.vocabulary().unwrap();
    let mut memo = Memo::new(&Text, preset.protection);
    let mut run = EvolutionRun::new(&preset, &vocabulary, &[], 3);
    let first = run.population.clone();
    run.step(&preset, &vocabulary, &mut memo);
    assert!(run.population.iter().all(|tree| first.contains(tree)));
}

#[test]
fn unique_children_are_mostly_unique() {
    let mut preset = preset("recrawl");
    preset.population.size = 200;
    let vocabulary = preset.vocabulary().unwrap();
    let distinct = |preset: &Preset| {
        let mut memo = Memo::new(&Text, preset.protection);
        let mut run = EvolutionRun::new(preset, &vocabulary, &[], 4);
        for _ in 0..5 {
            run.step(preset, &vocabulary, &mut memo);
        }
        run.population.iter().map(Expr::to_string).collect::<HashSet<_>>().len()
    };
    assert_eq!(distinct(&preset), 200);
    preset.breeding.unique = false;
    assert!(distinct(&preset) < 200);
}

/// With as many evaluations as random search, evolution finds more, summed over these seeds.
#[test]
fn evolution_finds_more_than_random_search() {
    let mut preset = preset("program");
    (preset.population.size, preset.population.generations) = (60, 10);
    let bench = Bench::new(2);
    let evaluator = bench.evaluator();
    let vocabulary = preset.vocabulary().unwrap();
    let (mut evolved, mut random) = (Vec::new(), Vec::new());
    for seed in [1, 2, 3] {
        evolved.push(run(&preset, seed, &evaluator).history[9].best);
        let trees =
            create::ramped(&vocabulary, 600, 10, preset.limits(), &mut ChaCha8Rng::seed_from_u64(seed));
        let mut memo = Memo::new(&evaluator, preset.protection);
        random.push(memo.fitness(&trees).into_iter().fold(0.0, f64::max));
    }
    assert!(mean(&evolved) > mean(&random), "{evolved:?} beside {random:?}");
    let age = mean(&evaluator.evaluate(&[parse("t").unwrap()])[0]);
    assert!(evolved.iter().all(|e| *e > 1.2 * age), "{evolved:?}, age {age}");
}
