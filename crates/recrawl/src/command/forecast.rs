//! `recrawl whatif` and `recrawl savings`: what other budgets would bring, and what plain revisiting would ask for.

use super::table::{self, number};
use super::{counted, improve, print, print_json, print_labelled, thousands};
use crate::cli::{OwnVisitsArgs, PagesACycle, SavingsArgs, WhatIfArgs};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::improve::watch::Pooled;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::{Settings, formula_file};
use recrawl_estimation::Interval;
use recrawl_forecast::what_if::{BUDGETS, Forecast, Replays, Savings, savings as saved};
use recrawl_forecast::{Completions, Histories, SampleRequest};
use recrawl_formula::Formula;
use serde::Serialize;

/// Pages, cycles and groups below which nothing is forecast.
const ENOUGH_PAGES: usize = 200;
const ENOUGH_CYCLES: u32 = 14;
const ENOUGH_GROUPS: usize = 5;
/// The formula of plain revisiting: the page that was not visited for the longest time comes first.
const PLAIN: &str = "t";

/// The sample, and whether it tells enough.
#[derive(Clone, Debug, Serialize)]
struct Basis {
    /// Is there enough for a forecast?
    enough: bool,
    /// What is missing, and how much it takes.
    missing: Vec<String>,
    /// The measured freshness before the visits of a cycle.
    freshness: Pooled,
    /// Revisits of a cycle.
    pages_a_cycle: f64,
    /// Pages of the sample, of how many.
    sample_pages: usize,
    population: u64,
    /// Cycles whose visits are used.
    first_cycle: u32,
    last_cycle: u32,
    /// Sites, or folders of few sites.
    groups: usize,
    /// Pages left out since record and visits disagree, and pages whose first gap was taken for usual.
    left_out: u64,
    censored: u64,
    /// Why older visits are not used.
    ends_at: Option<String>,
    /// Changes overwritten unseen, for each change that a visit found.
    missed_a_found: Option<f64>,
}

/// Reads a sample of the crawl's own pages and visits.
///
/// # Errors
/// When they cannot be read.
pub fn histories(settings: &Settings, own: &OwnVisitsArgs) -> Result<Histories, Failure> {
    let repository = open_read::repository(settings)?;
    let request = SampleRequest {
        pages: own.sample_pages as usize,
        cycles: own.sample_cycles,
        warmup: settings.config.cycle.warmup,
        seed: 0,
    };
    Histories::read(&repository.current(), &repository.kept(), request).map_err(Failure::work)
}

impl Basis {
    fn of(histories: &Histories, completions: Option<&Completions<'_>>, freshness: Pooled) -> Basis {
        let cycles = histories.last.since(histories.first) + 1;
        let groups = completions.map_or(0, Completions::groups);
        let mut missing = Vec::new();
        if !freshness.enough {
            missing.push(format!("{} audited, 100 are needed", counted(freshness.pages, "page")));
        }
        if histories.pages.len() < ENOUGH_PAGES {
            let pages = counted(histories.pages.len() as u64, "page");
            missing.push(format!("{pages} with a history, {ENOUGH_PAGES} are needed"));
        } else if groups < ENOUGH_GROUPS {
            let groups = counted(groups as u64, "site or folder");
            missing.push(format!("{groups}, {ENOUGH_GROUPS} are needed"));
        }
        if cycles < ENOUGH_CYCLES {
            missing.push(format!(
                "visits of {} kept, {ENOUGH_CYCLES} are needed",
                counted(cycles.into(), "cycle")
            ));
        }
        Basis {
            enough: missing.is_empty(),
            missing,
            freshness,
            pages_a_cycle: histories.visits_a_page() * histories.population as f64,
            sample_pages: histories.pages.len(),
            population: histories.population,
            first_cycle: histories.first.0,
            last_cycle: histories.last.0,
            groups,
            left_out: histories.left_out,
            censored: histories.censored,
            ends_at: histories.ends_at.clone(),
            missed_a_found: completions.and_then(Completions::missed_a_found),
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![
            format!(
                "pages      {} of {}, in {}",
                thousands(self.sample_pages as u64),
                thousands(self.population),
                counted(self.groups as u64, "group")
            ),
            format!("cycles     {} to {}", self.first_cycle, self.last_cycle),
        ];
        lines.extend(self.ends_at.iter().map(|why| format!("older      not used: {why}")));
        lines.extend(self.missing.iter().map(|what| format!("missing    {what}")));
        lines.join("\n")
    }
}

/// What both commands start from.
struct Start {
    settings: Settings,
    histories: Histories,
    freshness: Pooled,
    formula: Formula,
}

impl Start {
    fn of(own: &OwnVisitsArgs) -> Result<Start, Failure> {
        let settings = own.at.settings()?;
        let freshness = improve::watched(&settings)?.freshness;
        let (histories, formula) = (histories(&settings, own)?, formula_file::in_force(&settings)?);
        Ok(Start { settings, histories, freshness, formula })
    }

    fn measured(&self) -> Option<Interval> {
        let (value, [low, high]) = (self.freshness.share?, self.freshness.interval?);
        let half = (high - low) / 2.0 / recrawl_estimation::interval::Z;
        Some(Interval { value, variance: half * half, sample: self.freshness.pages })
    }
}

/// # Errors
/// When the crawl cannot be read.
pub fn what_if(args: &WhatIfArgs) -> Result<(), Failure> {
    let start = Start::of(&args.own)?;
    let completions = (!start.histories.pages.is_empty()).then(|| Completions::new(&start.histories));
    let basis = Basis::of(&start.histories, completions.as_ref(), start.freshness);
    let mut forecasts = Vec::new();
    if let (Some(completions), Some(measured), true) = (&completions, start.measured(), basis.enough) {
        let budget = |pages: &PagesACycle| match *pages {
            PagesACycle::Times(times) => times,
            PagesACycle::Number(pages) => pages as f64 / basis.pages_a_cycle,
        };
        let asked: Vec<f64> = args.pages.iter().map(budget).collect();
        let budgets = if asked.is_empty() { &BUDGETS[..] } else { &asked };
        let visits = start.histories.visits_a_page();
        forecasts = Replays::of(completions, &start.formula, visits, budgets).forecasts(measured);
    }
    if args.json {
        return print_json(&WhatIf { basis: &basis, formula: &start.formula.name, forecasts: &forecasts });
    }
    print_labelled(basis.text())?;
    if !basis.enough {
        return print_labelled(todo(&start.settings));
    }
    let row = |f: &Forecast| {
        [
            format!("{:.2}x", f.budget),
            thousands((f.budget * basis.pages_a_cycle).round() as u64),
            format!("{:.3}", f.share),
            format!("{:.3} to {:.3}", f.interval[0], f.interval[1]),
        ]
    };
    let rows: Vec<[String; 4]> = forecasts.iter().map(row).collect();
    let columns = [number("budget"), number("revisits a cycle"), number("fresh"), number("95 % interval")];
    print("")?;
    table::lines(&columns, &rows, crate::process::colour::width()).iter().try_for_each(print)
}

/// What to do where too little is known.
fn todo(settings: &Settings) -> String {
    match settings.is_measured {
        true => "todo       let the crawl go on".into(),
        false => "todo       set improve.mode = \"watch\", and let the crawl go on".into(),
    }
}

#[derive(Serialize)]
struct WhatIf<'b> {
    #[serde(flatten)]
    basis: &'b Basis,
    formula: &'b str,
    /// By budget; empty where too little is known.
    forecasts: &'b [Forecast],
}

#[derive(Serialize)]
struct Saved<'b> {
    #[serde(flatten)]
    basis: &'b Basis,
    formula: &'b str,
    /// The budget of plain revisiting for the same freshness; none where too little is known.
    plain: Option<Savings>,
    /// Revisits of a cycle that are saved, at least where plain revisiting needs more than was replayed.
    pages_a_cycle_saved: Option<f64>,
    /// Mean bytes of a body.
    bytes_a_visit: Option<f64>,
}

/// # Errors
/// When the crawl cannot be read.
pub fn savings(args: &SavingsArgs) -> Result<(), Failure> {
    let start = Start::of(&args.own)?;
    let completions = (!start.histories.pages.is_empty()).then(|| Completions::new(&start.histories));
    let basis = Basis::of(&start.histories, completions.as_ref(), start.freshness);
    let mut plain = None;
    if let (Some(completions), true) = (&completions, basis.enough) {
        let visits = start.histories.visits_a_page();
        let uniform = Formula::from_expression(PLAIN).map_err(Failure::work)?;
        let ours = Replays::of(completions, &start.formula, visits, &[]);
        plain = Some(saved(&ours, &Replays::of(completions, &uniform, visits, &BUDGETS)));
    }
    let largest = BUDGETS[BUDGETS.len() - 1];
    let pages = plain.map(|plain| (plain.budget.unwrap_or(largest) - 1.0) * basis.pages_a_cycle);
    let bytes_a_visit = start.histories.bytes_a_visit;
    if args.json {
        let formula = &start.formula.name;
        let saved = Saved { basis: &basis, formula, plain, pages_a_cycle_saved: pages, bytes_a_visit };
        return print_json(&saved);
    }
    print_labelled(basis.text())?;
    let (Some(plain), Some(pages)) = (plain, pages) else { return print_labelled(todo(&start.settings)) };
    let times =
        |budget: Option<f64>| budget.map_or(format!("over {largest:.2}"), |budget| format!("{budget:.2}"));
    let [low, high] = plain.interval;
    print_labelled(format!(
        "plain      {} times the present revisits for the same freshness ({} to {})",
        times(plain.budget),
        times(low),
        times(high)
    ))?;
    let bytes = bytes_a_visit
        .map_or(String::new(), |bytes| format!(", {} bytes", thousands((pages.max(0.0) * bytes) as u64)));
    let least = if plain.budget.is_none() { "at least " } else { "" };
    print_labelled(format!("saved      {least}{:.0} revisits a cycle{bytes}", pages.max(0.0)))
}
