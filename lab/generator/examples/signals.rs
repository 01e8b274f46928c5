//! Compares policies that use signals of changes, in worlds of known precision and recall.
//!
//! `cargo run --release -p recrawl-generator --example signals -- pages=3000 sites=60 cycles=100
//! seeds=3`
//!
//! Each row is a world and a budget: freshness and ChangeRate of `u_fresh_site` (mean over seeds), and
//! for every other policy the paired difference from it: mean ± standard deviation over seeds, and in
//! how many seeds it is better (+), worse (-) or neither (=), by the paired tests of `recrawl simulate`
//! (over cycles and over sites, each at 5 %). `known` is u_fresh_signal with the true precision and
//! recall instead of what it learned; `true_rate` and `oracle` know rates and changes.

use recrawl_formula::{Basis, Formula, Program};
use recrawl_generator::{Recipe, generate};
use recrawl_simulation::compare::{ReplayRole, Verdict};
use recrawl_simulation::metric::{CHANGE_RATE, FRESHNESS};
use recrawl_simulation::policy::ReplayPolicyKind;
use recrawl_simulation::{
    Budget, Comparison, Dataset, Observed, ReplayMetric, ReplayPolicy, Rules, Trace, metric, replay,
};
use recrawl_types::Reads;
use std::collections::HashMap;
use std::fmt::Write;

const SHARES: [f64; 4] = [0.3, 0.6, 0.9, 1.0];
const BUDGETS: [f64; 2] = [0.05, 0.2];
const POLICIES: [&str; 6] =
    ["u_fresh_site", "announced_u_fresh_site", "u_fresh_signal", "known", "true_rate", "oracle"];

/// `u_fresh_signal`, told the precision and recall of all signals.
struct Known {
    program: Program,
    precision: f64,
    recall: f64,
}

impl ReplayPolicy for Known {
    fn name(&self) -> &str {
        "known"
    }

    fn reads(&self) -> Reads {
        Reads::SITE_RATE
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let mut columns = observed.columns().clone();
        columns.signal_precision = vec![self.precision; columns.len()];
        columns.signal_recall = vec![self.recall; columns.len()];
        self.program.evaluate(&columns, observed.cycle(), out);
    }
}

fn policy<'a>(name: &str, data: &'a Dataset, precision: f64, recall: f64) -> Box<dyn ReplayPolicy + 'a> {
    match ReplayPolicyKind::named(name) {
        Some(kind) => kind.build(data, Basis::Visits),
        None => {
            let formula = Formula::from_expression("u_fresh_signal").expect("an expression");
            Box::new(Known { program: formula.compile(), precision, recall })
        }
    }
}

fn main() {
    let pairs = std::env::args().skip(1);
    let pairs =
        pairs.filter_map(|a| Some((a.split_once('=')?.0.to_owned(), a.split_once('=')?.1.parse().ok()?)));
    let arguments: HashMap<String, u32> = pairs.collect();
    let number = |name: &str, default| arguments.get(name).copied().unwrap_or(default);
    let base = Recipe {
        pages: number("pages", 3000),
        sites: number("sites", 60),
        cycles: number("cycles", 100),
        ..Recipe::default()
    };
    let seeds = u64::from(number("seeds", 3));
    println!("{} pages, {} sites, {} cycles, seeds 0 to {}", base.pages, base.sites, base.cycles, seeds - 1);
    let mut totals: HashMap<(&str, &str), [u32; 3]> = HashMap::new();
    for metric in [&FRESHNESS, &CHANGE_RATE] {
        println!("\n{}: precision recall k | {}", metric.name, POLICIES.join(" | "));
    }
    for budget in BUDGETS {
        for (precision, recall) in SHARES.into_iter().flat_map(|p| SHARES.map(|r| (p, r))) {
            let worlds: Vec<Vec<Trace>> = (0..seeds)
                .map(|seed| {
                    let recipe =
                        Recipe { seed, signal_precision: precision, signal_recall: recall, ..base.clone() };
                    let data = generate(&recipe).expect("a recipe that can be followed");
                    let rules = Rules { budget: Budget::Share(budget), seed, ..Rules::default() };
                    let run = |name: &&str| {
                        let mut policy = policy(name, &data, precision, recall);
                        replay::run(&data, &rules, &mut *policy).expect("rules that fit")
                    };
                    POLICIES.iter().map(run).collect()
                })
                .collect();
            for metric in [&FRESHNESS, &CHANGE_RATE] {
                println!("{}", row(metric, budget, precision, recall, &worlds, &mut totals));
            }
        }
    }
    println!("\nrows by verdict (better in all seeds / neither / worse in all seeds):");
    for metric in [&FRESHNESS, &CHANGE_RATE] {
        for name in &POLICIES[1..] {
            println!("{} {name} {:?}", metric.name, totals[&(metric.name, *name)]);
        }
    }
}

fn row(
    of: &ReplayMetric,
    budget: f64,
    precision: f64,
    recall: f64,
    worlds: &[Vec<Trace>],
    totals: &mut HashMap<(&'static str, &'static str), [u32; 3]>,
) -> String {
    let place = metric::ALL.iter().position(|metric| metric == of).expect("a metric of the list");
    let verdicts: Vec<Vec<Verdict>> = worlds
        .iter()
        .zip(0..)
        .map(|(traces, seed)| {
            let role = |i| if i == 0 { ReplayRole::Baseline } else { ReplayRole::Candidate };
            let replays: Vec<_> = traces.iter().enumerate().map(|(i, trace)| (trace, role(i))).collect();
            Comparison::new(&replays, seed).cells.iter().map(|cells| cells[place].verdict).collect()
        })
        .collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let value = |traces: &Vec<Trace>, i: usize| of.of_replay(&traces[i]);
    let plain: Vec<f64> = worlds.iter().map(|traces| value(traces, 0)).collect();
    let mut text = format!("{} {precision} {recall} {budget} | {:.4}", of.name, mean(&plain));
    for (i, name) in POLICIES.iter().enumerate().skip(1) {
        let ahead: Vec<f64> = worlds.iter().map(|traces| value(traces, i) - value(traces, 0)).collect();
        let average = mean(&ahead);
        let square = ahead.iter().map(|a| (a - average).powi(2)).sum::<f64>();
        let spread = (square / (ahead.len().max(2) - 1) as f64).sqrt();
        let sign = |verdicts: &Vec<Verdict>| match verdicts[i] {
            Verdict::Better => '+',
            Verdict::Worse => '-',
            _ => '=',
        };
        let signs: String = verdicts.iter().map(sign).collect();
        let all = |sign: char| signs.chars().all(|s| s == sign);
        let total = totals.entry((of.name, name)).or_default();
        total[if all('+') {
            0
        } else if all('-') {
            2
        } else {
            1
        }] += 1;
        let _ = write!(text, " | {average:+.4} ± {spread:.4} {signs}");
    }
    text
}
