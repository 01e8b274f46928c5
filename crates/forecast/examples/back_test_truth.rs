//! Promotions by back-tests alone, beside the gains that crawls then find: how often is there none?
//!
//! `cargo run --release -p recrawl-forecast --example back_test_truth WEBS SHARE FORMULA POOL [DATA]`
//!
//! POOL has formulas between semicolons. Each of WEBS webs, generated with a seed of its own, or a third of the cycles of
//! DATA, later ones for later webs, is crawled by FORMULA with SHARE of the pages a cycle. The back-test has the visits of
//! the last 60 cycles. Its best formula is promoted as the loop does without a trial; then the web is crawled on by both.
//! Each line: web, formula, ends of the gain in a balanced aim, the lower end of the gain in freshness, whether it is
//! promoted, and the true gains: balanced, and in freshness.

#[path = "../src/rehearsal.rs"]
mod rehearsal;

use rayon::prelude::*;
use recrawl_estimation::starves;
use recrawl_forecast::Completions;
use recrawl_forecast::back_test::{Aim, back_test, best};
use recrawl_formula::Formula;
use recrawl_generator::{Recipe, generate};
use recrawl_simulation::policy::formula::ReplayFormula;
use recrawl_simulation::{Budget, CycleFigures, Dataset, Observed, ReplayPolicy, Rules, Trace, replay};
use recrawl_types::Reads;
use std::error::Error;
use std::path::Path;

/// Cycles that a back-test has, until a promoted formula counts, and that are measured.
const KEPT: u32 = 60;
const SETTLING: u32 = 14;
const MEASURED: u32 = 60;
/// Of the loop: the first error probability, the least gain and the greatest loss.
const ALPHA: f64 = 0.025;
const MIN_GAIN: f64 = 0.002;
const MAX_LOSS: f64 = 0.02;

/// A web, crawled and judged.
struct Judged {
    formula: String,
    gain: [f64; 2],
    fresh_from: f64,
    is_promoted: bool,
    /// Balanced, and in freshness.
    truth: [f64; 2],
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [webs, share, formula, pool, data @ ..] = arguments.as_slice() else {
        return Err("give a number of webs, a share, a formula and a pool".into());
    };
    let texts = [formula.as_str()].into_iter().chain(pool.split(';'));
    let formulas: Vec<Formula> = texts.map(Formula::from_expression).collect::<Result<_, _>>()?;
    let (webs, share): (u32, f64) = (webs.parse()?, share.parse()?);
    let recorded = match data.first() {
        Some(path) => Some(recrawl_simulation::open(Path::new(path), None)?.fixed_part()),
        None => None,
    };
    let judged: Vec<Judged> = (0..webs)
        .into_par_iter()
        .map(|web| judge(&of_web(recorded.as_ref(), web, webs)?, share, &formulas).map_err(|e| e.to_string()))
        .collect::<Result<_, _>>()?;
    println!("web formula low high fresh_low promoted gain fresh_gain");
    for (web, Judged { formula, gain: [low, high], fresh_from, is_promoted, truth: [gain, fresh] }) in
        judged.iter().enumerate()
    {
        println!(
            "{web} {formula:?} {low:+.4} {high:+.4} {fresh_from:+.4} {is_promoted} {gain:+.4} {fresh:+.4}"
        );
    }
    let promoted = || judged.iter().filter(|judged| judged.is_promoted);
    let count = |of: fn(&&Judged) -> bool| promoted().filter(of).count();
    println!(
        "{webs} webs: {} promoted, {} of them without a gain, {} that lose more than {MAX_LOSS} of freshness",
        promoted().count(),
        count(|judged| judged.truth[0] <= 0.0),
        count(|judged| judged.truth[1] < -MAX_LOSS),
    );
    Ok(())
}

fn of_web(recorded: Option<&Dataset>, web: u32, webs: u32) -> Result<Dataset, String> {
    let pages: Vec<u32> = (0..recorded.map_or(0, |data| data.pages.len() as u32)).collect();
    if let Some(data) = recorded {
        let needed = KEPT + 30 + SETTLING + MEASURED;
        let spare = data.truth.cycles().checked_sub(needed).ok_or("too few cycles")?;
        let first = spare * web / webs.max(2).saturating_sub(1);
        return Ok(data.part(&pages, first..first + needed + 1));
    }
    let recipe = Recipe {
        pages: 800,
        sites: 80,
        cycles: KEPT + 30 + SETTLING + MEASURED,
        seed: web.into(),
        returns: 0.0,
        // Webs differ in how much their changes come in bursts and on weekdays.
        burst: [0.0, 0.2, 0.0, 0.1][web as usize % 4],
        quiet: [0.0, 0.0, 0.7, 0.3][web as usize % 4],
        ..Recipe::default()
    };
    Ok(generate(&recipe).map_err(|error| error.to_string())?.fixed_part())
}

fn judge(data: &Dataset, share: f64, formulas: &[Formula]) -> Result<Judged, Box<dyn Error>> {
    let decided = data.truth.cycles() - SETTLING - MEASURED;
    let pages: Vec<u32> = (0..data.pages.len() as u32).collect();
    let before = data.part(&pages, 0..decided + 1);
    let rules = Rules { budget: Budget::Share(share), ..Rules::default() };
    let in_force = &mut ReplayFormula::new(&formulas[0]);
    let (histories, _) = rehearsal::crawl(&before, &rules, in_force, decided - KEPT + 1, 1)?;
    let tested = back_test(&Completions::new(&histories), formulas, histories.visits_a_page(), Aim::Balanced);
    let place = best(&tested, Aim::Balanced).ok_or("an empty pool")?;
    let alpha = ALPHA / (formulas.len() - 1) as f64;
    let (gain, fresh) = (tested[place].gain.ends(alpha), tested[place].gains[1].ends(alpha));
    let is_promoted =
        gain[0] > MIN_GAIN && fresh[0] > -MAX_LOSS && !starves(tested[place].coverage, tested[0].coverage);
    let of = |then: &Formula| -> Result<[f64; 2], Box<dyn Error>> {
        let policies = [&formulas[0], then].map(ReplayFormula::new);
        let trace = replay::run(data, &rules, &mut Switched(policies, decided + 1))?;
        Ok(measured(&trace, decided + SETTLING))
    };
    let ([rate, fresh_before], [later_rate, fresh_later]) = (of(&formulas[0])?, of(&formulas[place])?);
    let fresh_gain = fresh_later - fresh_before;
    Ok(Judged {
        formula: formulas[place].expr.to_string(),
        gain,
        fresh_from: fresh[0],
        is_promoted,
        truth: [0.5 * (later_rate / rate - 1.0) + 0.5 * fresh_gain, fresh_gain],
    })
}

/// ChangeRate and freshness after a cycle.
fn measured(trace: &Trace, after: u32) -> [f64; 2] {
    let sum = |of: fn(&CycleFigures) -> u64| {
        trace.cycles.iter().filter(|cycle| cycle.cycle > after).map(of).sum::<u64>() as f64
    };
    [
        sum(|cycle| cycle.changed) / sum(|cycle| cycle.visited),
        1.0 - sum(|cycle| cycle.stale) / sum(|cycle| cycle.pages),
    ]
}

/// One formula up to a cycle, then another.
struct Switched([ReplayFormula; 2], u32);

impl ReplayPolicy for Switched {
    fn name(&self) -> &str {
        "switched"
    }

    fn reads(&self) -> Reads {
        self.0[0].reads() | self.0[1].reads()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.0[usize::from(observed.cycle().0 >= self.1)].score(observed, out);
    }
}
