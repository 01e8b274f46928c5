//! Measures the cost of an evaluation for a learner, and the effect of each shortcut.
//!
//! Breeds populations like GP4C's over a generated history. For every few generations it prints the
//! time per evaluation and the saved work. The breeding is simplified; the real one is in the
//! learner.
//!
//! `cargo run --release -p recrawl-generator --example evaluations -- pages=417048 generations=50
//! population=300 terminals=basic wants=rate memo=512 texts=yes threads=1 seed=1`
//!
//! With `data=FOLDER` it uses a recorded history. With `formula="…"` it replays only that formula,
//! a few times.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_formula::terminal::TerminalSet;
use recrawl_formula::{Basis, Expr, Function, Program, Protection, function, parse, simplify};
use recrawl_generator::{Recipe, generate};
use recrawl_simulation::{CycleFigures, ReplayScratch, Replayer, Rules, WantedFigures, open};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const CONSTANTS: [f64; 9] = [0.001, 0.01, 0.1, 0.5, 1.0, std::f64::consts::E, 10.0, 100.0, 1000.0];
const DEPTH: usize = 10;

/// The arguments: `name=value`, each with a default.
struct NamedArguments(HashMap<String, String>);

impl NamedArguments {
    fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.0.get(name).map_or(default, String::as_str)
    }

    fn number(&self, name: &str, default: usize) -> usize {
        self.0.get(name).map_or(default, |text| text.parse().expect("a whole number"))
    }
}

fn main() {
    let pairs = std::env::args().skip(1);
    let arguments = NamedArguments(
        pairs.filter_map(|a| a.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect(),
    );
    let seed = arguments.number("seed", 1) as u64;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let data = match arguments.0.get("data") {
        Some(path) => open(path.as_ref(), None).expect("a data set").fixed_part(),
        None => {
            // The training part of a fold of the thesis: two pages of five.
            let recipe = Recipe { seed, ..Recipe::brdc12() };
            let pages = arguments.number("pages", recipe.pages as usize) as u32;
            let whole = generate(&Recipe { pages, ..recipe }).expect("a recipe that can be followed");
            let two_of_five: Vec<u32> = (0..pages).filter(|page| page % 5 < 2).collect();
            whole.part(&two_of_five, 0..whole.truth.cycles() + 1)
        }
    };
    let (rules, start) = (Rules::default(), Instant::now());
    let replayer = Replayer::new(&data, &rules)
        .expect("a history of a fixed set of pages")
        .with_memo(arguments.number("memo", 512) << 20);
    let wants = match arguments.text("wants", "rate") {
        "rate" => WantedFigures::default(),
        "ndcg" => WantedFigures { ndcg: true, ..WantedFigures::default() },
        "freshness" => WantedFigures { freshness: true, ..WantedFigures::default() },
        _ => WantedFigures::ALL,
    };
    let begin = core_ms();
    if let Some(text) = arguments.0.get("formula") {
        let expr = [parse(text).expect("an expression")];
        let fitness = evaluate(&replayer, &expr, &[0; 40], wants, 1)[0].1;
        println!("{text}: {fitness:.4}");
        return report(&replayer, begin, start);
    }
    let Some(set) = TerminalSet::named(arguments.text("terminals", "basic")) else {
        return eprintln!("terminals=basic, terminals=all or terminals=extended");
    };
    let vocabulary = Vocabulary::new(set);
    let count = arguments.number("population", 300);
    let mut population: Vec<Expr> = (0..count)
        .map(|i| vocabulary.call(2 + i / 2 % (DEPTH - 1), i.is_multiple_of(2), &mut rng))
        .filter(|e| e.nodes() <= Expr::MAX_NODES)
        .collect();
    let mut texts: HashMap<String, f64> = HashMap::new();
    let (keeps_texts, threads) = (arguments.text("texts", "yes") == "yes", arguments.number("threads", 1));
    let (mut asked, mut before) = (0, (0, begin));
    let generations = arguments.number("generations", 50);
    for generation in 1..=generations {
        let simple: Vec<Expr> = population.iter().map(|e| simplify(e, Protection::default())).collect();
        let keys: Vec<String> = simple.iter().map(Expr::to_string).collect();
        let mut new: Vec<usize> = (0..simple.len()).collect();
        if keeps_texts {
            new.retain(|&i| !texts.contains_key(&keys[i]) && keys[..i].iter().all(|k| *k != keys[i]));
        }
        for (i, fitness) in evaluate(&replayer, &simple, &new, wants, threads) {
            texts.insert(keys[i].clone(), fitness);
        }
        asked += population.len();
        let scored: Vec<(f64, &Expr)> = population.iter().zip(&keys).map(|(e, k)| (texts[k], e)).collect();
        if generation.is_multiple_of(10) || generation == generations {
            let work = replayer.work();
            let nodes = simple.iter().map(Expr::nodes).sum::<usize>() as f64 / simple.len() as f64;
            let best = scored.iter().map(|s| s.0).fold(f64::NEG_INFINITY, f64::max);
            println!(
                "generation {generation}: best {best:.4}, {nodes:.0} nodes, {:.2} ms of a core an individual, {:.2} ms since the \
                 last line; by text {:.1} %, wholly remembered {:.1} % of runs, cycles remembered {:.1} %, scores \
                 computed {:.3} %, {:.0} states a cycle, visits {:.1} %, memo {} MiB",
                (core_ms() - begin) / asked as f64,
                (core_ms() - before.1) / (asked - before.0) as f64,
                100.0 - percent(work.runs, asked as u64),
                percent(work.runs_remembered, work.runs),
                percent(work.cycles_remembered, work.cycles),
                percent(work.state_scores, work.page_scores),
                work.state_scores as f64 / work.cycles as f64,
                percent(work.visits, work.page_scores / 20),
                replayer.memo_bytes() >> 20,
            );
            before = (asked, core_ms());
        }
        population = vocabulary.breed(&scored, &mut rng);
    }
    report(&replayer, begin, start);
}

fn report(replayer: &Replayer<'_>, begin: f64, start: Instant) {
    let work = replayer.work();
    let seconds = (core_ms() - begin) / 1e3;
    println!(
        "{work:?}\n{:.1} million page-scores a second and core",
        work.page_scores as f64 / 1e6 / seconds
    );
    println!(
        "{:.1} s elapsed, {seconds:.1} s of a core, peak memory {} MiB",
        start.elapsed().as_secs_f64(),
        peak_mib()
    );
    println!("{:.0} states a cycle", work.state_scores as f64 / work.cycles as f64);
}

fn evaluate(
    replayer: &Replayer<'_>,
    formulas: &[Expr],
    which: &[usize],
    wants: WantedFigures,
    threads: usize,
) -> Vec<(usize, f64)> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let (mut scratch, mut results) = (ReplayScratch::default(), Vec::new());
        while let Some(&i) = which.get(next.fetch_add(1, Ordering::Relaxed)) {
            let program = Program::compile(&formulas[i], Protection::default(), Basis::default());
            let figures = replayer.run(&program, wants, &mut scratch);
            let fitness = |f: &CycleFigures| match wants {
                WantedFigures { ndcg: true, .. } => f.ndcg_log2,
                WantedFigures { freshness: true, .. } => 1.0 - f.stale as f64 / f.pages as f64,
                _ => f.changed as f64 / f.visited as f64,
            };
            results.push((i, figures.iter().map(fitness).sum::<f64>() / figures.len() as f64));
        }
        results
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no evaluation panics")).collect()
    })
}

struct Vocabulary {
    leaves: Vec<Expr>,
}

impl Vocabulary {
    fn new(set: TerminalSet) -> Vocabulary {
        let terminals = set.terminals().iter().copied().map(Expr::Terminal);
        Vocabulary { leaves: terminals.chain(CONSTANTS.into_iter().map(Expr::Constant)).collect() }
    }

    fn leaf(&self, rng: &mut impl Rng) -> Expr {
        self.leaves[rng.random_range(0..self.leaves.len())].clone()
    }

    fn call(&self, depth: usize, full: bool, rng: &mut impl Rng) -> Expr {
        if depth <= 1 {
            return self.leaf(rng);
        }
        let function: &'static Function = function::ALL[rng.random_range(0..function::ALL.len())];
        let argument = |_| {
            let leaf =
                !full && rng.random_range(0..self.leaves.len() + function::ALL.len()) < self.leaves.len();
            if leaf { self.leaf(rng) } else { self.call(depth - 1, full, rng) }
        };
        Expr::Call(function, (0..function.arity).map(argument).collect())
    }

    /// The next generation: the best formula, then winners of tournaments of two. 15 % are new, 90
    /// % of the rest are crossed, and 5 % of all are shrunk or changed in one node.
    fn breed(&self, scored: &[(f64, &Expr)], rng: &mut ChaCha8Rng) -> Vec<Expr> {
        let best = scored.iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("a population");
        let mut next = vec![best.1.clone()];
        while next.len() < scored.len() {
            let winner = |rng: &mut ChaCha8Rng| {
                let [a, b] = [0; 2].map(|_| scored[rng.random_range(0..scored.len())]);
                if a.0 >= b.0 { a.1.clone() } else { b.1.clone() }
            };
            let mut child = winner(rng);
            if rng.random::<f64>() < 0.15 {
                let depth = rng.random_range(2..=DEPTH);
                child = self.call(depth, false, rng);
            } else if rng.random::<f64>() < 0.9 {
                let mut other = winner(rng);
                let (i, j) = (rng.random_range(0..child.nodes()), rng.random_range(0..other.nodes()));
                *at(&mut child, i) = at(&mut other, j).clone();
            }
            if rng.random::<f64>() < 0.05 {
                let i = rng.random_range(0..child.nodes());
                *at(&mut child, i) = self.leaf(rng);
            }
            if child.depth() <= DEPTH && child.nodes() <= Expr::MAX_NODES {
                next.push(child);
            }
        }
        next
    }
}

/// The node at this index in prefix order.
fn at(expr: &mut Expr, place: usize) -> &mut Expr {
    if place == 0 {
        return expr;
    }
    let Expr::Call(_, arguments) = expr else { panic!("no such place") };
    let mut place = place - 1;
    for argument in arguments {
        let nodes = argument.nodes();
        if place < nodes {
            return at(argument, place);
        }
        place -= nodes;
    }
    panic!("no such place")
}

/// CPU milliseconds of all threads in steps of 10, if the system reports them. Unlike wall time
/// they exclude other programs.
fn core_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Peak resident memory, if the system reports it.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) >> 10
}
