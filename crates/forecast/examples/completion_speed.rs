//! Seconds and memory of completing the histories of many pages, and of replaying a formula over them.
//!
//! `cargo run --release -p recrawl-forecast --example completion_speed [PAGES [CYCLES]]`
//!
//! A crawl of a generated web visits 10 % of its pages a cycle; all its visits are kept. Then, as `recrawl improve run`
//! and `recrawl whatif` do: laws are fitted; five completions are drawn, and one formula is replayed over each; and it is
//! replayed over five completions at seven budgets.

#[path = "../src/rehearsal.rs"]
mod rehearsal;

use recrawl_forecast::Completions;
use recrawl_forecast::back_test::{Aim, back_test};
use recrawl_forecast::what_if::{BUDGETS, BudgetReplays};
use recrawl_formula::Formula;
use recrawl_generator::{Recipe, generate};
use recrawl_simulation::policy::formula::ReplayFormula;
use recrawl_simulation::{Budget, Rules};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pages = arguments.next().map_or(Ok(50_000), |pages| pages.parse())?;
    let cycles = arguments.next().map_or(Ok(100), |cycles| cycles.parse())?;
    let formula = Formula::from_expression("p_eb_site")?;
    let histories = {
        let recipe = Recipe { pages, sites: pages / 50, cycles: cycles + 5, ..Recipe::default() };
        let data = generate(&recipe)?.fixed_part();
        let rules = Rules { budget: Budget::Share(0.1), ..Rules::default() };
        rehearsal::crawl(&data, &rules, &mut ReplayFormula::new(&formula), 5, 1)?.0
    };
    let visits = histories.visits_a_page();
    println!(
        "{} pages, {} visits",
        histories.pages.len(),
        visits * histories.pages.len() as f64 * f64::from(cycles)
    );
    let before = forget_peak()?;
    let begun = Begun::now()?;
    let completions = Completions::new(&histories);
    println!("laws fitted after {}", begun.elapsed()?);
    back_test(&completions, std::slice::from_ref(&formula), visits, Aim::ChangeRate);
    println!("one formula replayed over all completions after {}", begun.elapsed()?);
    println!("memory above the histories: {} MiB at most", peak()?.saturating_sub(before) >> 20);
    let begun = Begun::now()?;
    BudgetReplays::run(&completions, &formula, visits, &BUDGETS);
    println!("replayed at {} budgets in {}", BUDGETS.len(), begun.elapsed()?);
    println!("memory above the histories: {} MiB at most", peak()?.saturating_sub(before) >> 20);
    Ok(())
}

/// A moment, by the clock and in processor time.
struct Begun(Instant, f64);

impl Begun {
    fn now() -> Result<Begun, Box<dyn Error>> {
        Ok(Begun(Instant::now(), processor_time()?))
    }

    fn elapsed(&self) -> Result<String, Box<dyn Error>> {
        Ok(format!("{:.2} s, {:.2} CPU s", self.0.elapsed().as_secs_f64(), processor_time()? - self.1))
    }
}

/// Processor time of this process in seconds.
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').ok_or("no name")?.1.split_whitespace();
    let ticks: Vec<u64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<u64>() as f64 / 100.0)
}

/// Resets the peak; returns the present memory in bytes.
fn forget_peak() -> Result<u64, Box<dyn Error>> {
    std::fs::write("/proc/self/clear_refs", "5")?;
    peak()
}

/// Peak memory of this process in bytes.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse::<u64>()? << 10)
}
