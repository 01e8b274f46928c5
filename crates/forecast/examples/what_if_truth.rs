//! Forecasts of freshness at other budgets, beside crawls that really have them.
//!
//! `cargo run --release -p recrawl-forecast --example what_if_truth SHARE FORMULA DATA…`
//!
//! DATA is a data set, or `poisson`, `spells` or `quiet`: generated webs without bursts, with bursts, and with weekends.
//! Crawls visit SHARE of the pages a cycle; their visits of the last two thirds of the cycles are kept. Each line:
//! data, budget, forecast with its interval, what the replay of completions says alone, what replaying the raw log says,
//! and the truth.

#[path = "../src/rehearsal.rs"]
mod rehearsal;

use recrawl_estimation::Interval;
use recrawl_forecast::Completions;
use recrawl_forecast::histories::{Histories, SeenPage};
use recrawl_forecast::what_if::{BUDGETS, BudgetReplays, freshness};
use recrawl_formula::Formula;
use recrawl_generator::{Recipe, generate};
use recrawl_simulation::policy::formula::ReplayFormula;
use recrawl_simulation::{Beginning, Budget, Dataset, Rules, Truth, replay};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [share, formula, sets @ ..] = arguments.as_slice() else {
        return Err("give a share, a formula and data sets".into());
    };
    let (share, formula): (f64, Formula) = (share.parse()?, Formula::from_expression(formula)?);
    println!("data budget forecast low high replayed raw truth");
    let (mut held, mut near, mut all) = (0, 0, 0);
    for set in sets {
        let data = read(set)?;
        let since = (data.truth.cycles() / 3).max(3);
        let real = |budget: f64| -> Result<_, Box<dyn Error>> {
            let rules = Rules { budget: Budget::Share((share * budget).min(1.0)), ..Rules::default() };
            Ok(rehearsal::crawl(&data, &rules, &mut ReplayFormula::new(&formula), since, 1)?)
        };
        let (histories, trace) = real(1.0)?;
        let completions = Completions::new(&histories);
        let replays = BudgetReplays::run(&completions, &formula, histories.visits_a_page(), &BUDGETS);
        let audited = share * rehearsal::AUDIT_SHARE * 0.5 * data.pages.len() as f64 * 28.0;
        let value = freshness(&trace);
        let measured = Interval { value, variance: value * (1.0 - value) / audited.max(100.0), sample: 0 };
        let raw = of_log(&histories, &data);
        for forecast in replays.forecasts(measured) {
            let truth = freshness(&real(forecast.budget)?.1);
            let rules = Rules {
                warmup: 0,
                budget: Budget::Share((histories.visits_a_page() * forecast.budget).min(1.0)),
                ..Rules::default()
            };
            let of_raw = freshness(&replay::run(&raw, &rules, &mut ReplayFormula::new(&formula))?);
            let [low, high] = forecast.interval;
            if forecast.budget != 1.0 {
                all += 1;
                held += usize::from((low..=high).contains(&truth));
                near += usize::from((forecast.share - truth).abs() <= 0.01);
            }
            println!(
                "{} {:.2} {:.4} {low:.4} {high:.4} {:.4} {of_raw:.4} {truth:.4}",
                data.name, forecast.budget, forecast.share, forecast.replayed
            );
        }
    }
    println!("within .01: {near} of {all}; within the interval: {held}");
    Ok(())
}

fn read(set: &str) -> Result<Dataset, Box<dyn Error>> {
    let plain = Recipe {
        pages: 6000,
        sites: 150,
        cycles: 100,
        returns: 0.0,
        burst: 0.0,
        quiet: 0.0,
        ..Recipe::default()
    };
    Ok(match set {
        "poisson" => Dataset { name: set.into(), ..generate(&plain)? },
        "spells" => {
            Dataset { name: set.into(), ..generate(&Recipe { burst: 0.2, burst_length: 10.0, ..plain })? }
        }
        "quiet" => Dataset { name: set.into(), ..generate(&Recipe { quiet: 0.7, ..plain })? },
        path => recrawl_simulation::open(Path::new(path), None)?,
    }
    .fixed_part())
}

/// The log taken for the truth: pages change when a visit finds it.
fn of_log(histories: &Histories, data: &Dataset) -> Dataset {
    let begun = histories.first.0 - 1;
    let of = |page: &SeenPage| {
        let found = page.visits.iter().filter(|(_, changed)| *changed);
        found.zip(1..).map(|((cycle, _), version)| (cycle.0, version)).collect::<Vec<(u32, u16)>>()
    };
    let changes: Vec<Vec<(u32, u16)>> = histories.pages.iter().map(of).collect();
    let before = histories.pages.iter().map(|page| page.before).collect();
    Dataset {
        truth: Truth::from_changes_after(begun - 1, histories.last.0, changes.iter().map(Vec::as_slice)),
        beginning: Some(Arc::new(Beginning { cycle: begun, histories: before })),
        ..data.clone()
    }
}
