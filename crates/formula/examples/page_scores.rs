//! Measures the pages scored per second by one core: `taskset -c 0 cargo run --release -p
//! recrawl-formula --example page_scores`.
//!
//! Scores random expressions, shaped like those of genetic programming, over one block. The block
//! has as many pages as two fifths of the BRDC'12 collection, with as many cycles of history. Each
//! figure is the median of the rounds; run it several times, on an idle machine.

use recrawl_formula::{Expr, Formula, Function, Program, Terminal, terminal};
use recrawl_types::{Cycle, History, Known, StateColumns};
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

const PAGES: usize = 166_912;
const CYCLES: u32 = 57;
const EXPRESSIONS: usize = 40;
const ROUNDS: usize = 9;
const CONSTANTS: [f64; 8] = [0.001, 0.01, 0.1, 0.5, 1.0, 10.0, 100.0, 1000.0];

fn main() {
    let mut random = Random(88_172_645_463_325_252);
    let columns = pages(&mut random);
    let (basic, all) = (terminal::TerminalSet::Basic, terminal::TerminalSet::All);
    let shape = |set: terminal::TerminalSet,
                 unary: &'static [&str],
                 binary: &'static [&str],
                 counts: [[usize; 2]; 2]| {
        move |random: &mut Random| -> Vec<Expr> {
            (0..EXPRESSIONS).map(|i| tree(random, set, unary, binary, counts[i % 2])).collect()
        }
    };
    // In "full" trees, two of seven inner nodes have one argument, on average.
    let (plain, powers) = (&["add", "sub", "mul", "div"], &["add", "sub", "mul", "div", "pow"]);
    for (set, of) in [(basic, "n, X, t"), (all, "and rates")] {
        let arithmetic = shape(set, &[], plain, [[0, 13]; 2])(&mut random);
        let full = shape(set, &["log", "exp"], powers, [[4, 13], [6, 12]])(&mut random);
        report(&format!("arithmetic, {of}"), &arithmetic, &columns);
        report(&format!("full set, {of}"), &full, &columns);
    }
    let text =
        "max(u_harm_site, p_eb * t) * (eb_site + 0.1 * recent_8) / sqrt(1 + quiet) + p_eb_site * weekday";
    let extended = Formula::from_expression(text).expect("an expression");
    report("extended", &[extended.expr], &columns);
    for text in ["log(X + 2)", "exp(t)", "pow(t, X)", "pow(t, 0.5)", "pow(2, t)", "pow(0 - t, 0.5)"] {
        report(text, &[recrawl_formula::parse(text).expect("an expression")], &columns);
    }
    for name in ["n", "eb", "eb_site", "p_eb_site", "u_harm", "mm", "recent_32", "cg", "gad"] {
        report(name, &[Expr::named(name, vec![])], &columns);
    }
}

/// Times the expressions over the block, each simplified and compiled like a formula.
fn report(name: &str, expressions: &[Expr], columns: &StateColumns) {
    let programs: Vec<Program> = expressions.iter().map(|e| Formula::new(e.clone()).compile()).collect();
    let mut scores = Vec::new();
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let (start, mut scored) = (on_processor(), 0);
            // The clock ticks every few milliseconds.
            while on_processor() - start < 0.2 {
                for program in &programs {
                    program.evaluate(black_box(columns), Cycle(CYCLES), &mut scores);
                    black_box(&scores);
                }
                scored += programs.len() * PAGES;
            }
            scored as f64 / (on_processor() - start) / 1e6
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let mean = |total: usize| total as f64 / expressions.len() as f64;
    println!(
        "{name:<21} {:6.1} million page-scores/s  ({:.1} nodes, {:.1} steps a page)",
        rounds[ROUNDS / 2],
        mean(expressions.iter().map(Expr::nodes).sum()),
        mean(programs.iter().map(Program::cost).sum()),
    );
}

/// CPU seconds of this thread, if Linux reports them. Otherwise seconds since the first call, which
/// other programs disturb.
fn on_processor() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// Pages of a thousand sites, some busy and most quiet, visited at random.
fn pages(random: &mut Random) -> StateColumns {
    let mut columns = StateColumns { global_rate: 0.1, ..StateColumns::default() };
    for page in 0..PAGES {
        let rate = if page % 4 == 0 { 400 } else { 50 };
        let mut history = History::first_fetch(Cycle(1));
        for cycle in 2..CYCLES {
            if cycle < 4 || random.below(4) == 0 {
                history.record(Cycle(cycle), random.below(1000) < rate);
            }
        }
        columns.push(Known::default(), Some(&history));
        columns.site_rate.push(0.01 + (page / 167) as f64 / 2000.0);
        columns.section_rate.push(0.01 + (page / 64) as f64 / 5_000.0);
        columns.sibling_rate.push(0.01 + (page / 16) as f64 / 20_000.0);
        columns.burst.push(1.0);
    }
    columns
}

/// An expression with these numbers of unary and binary functions, in random places.
fn tree(
    random: &mut Random,
    set: terminal::TerminalSet,
    unary: &[&str],
    binary: &[&str],
    counts: [usize; 2],
) -> Expr {
    let [one, two] = counts;
    let mut parts: Vec<Expr> = (0..=two).map(|_| leaf(random, set)).collect();
    let mut left = [one, two];
    while left != [0, 0] {
        let arity = usize::from(random.below(left[0] + left[1]) >= left[0]);
        left[arity] -= 1;
        let names = [unary, binary][arity];
        let function = Function::named(names[random.below(names.len())]).expect("a function");
        let mut take = || parts.swap_remove(random.below(parts.len()));
        let arguments = (0..=arity).map(|_| take()).collect();
        parts.push(Expr::Call(function, arguments));
    }
    parts.remove(0)
}

/// A terminal or, in one of four cases, a constant.
fn leaf(random: &mut Random, set: terminal::TerminalSet) -> Expr {
    if random.below(4) == 0 {
        return Expr::Constant(CONSTANTS[random.below(CONSTANTS.len())]);
    }
    let terminals: &[&'static Terminal] = set.terminals();
    Expr::Terminal(terminals[random.below(terminals.len())])
}

/// Marsaglia's xorshift: the same expressions and pages in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}
