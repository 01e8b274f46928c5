//! `recrawl whatif` and `recrawl savings`: what other budgets would bring, and what plain revisiting would ask for.

use super::table::{self, number};
use super::{counted, print, print_json, print_labelled, thousands};
use crate::cli::{SavingsArgs, WhatIfArgs};
use crate::report::forecast::{ForecastStart, LARGEST, PlainRevisiting, SampleBasis};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_forecast::what_if::{Forecast, RevisitSavings};
use recrawl_types::Size;
use serde::Serialize;

fn text(basis: &SampleBasis) -> String {
    let mut lines = vec![
        format!(
            "pages      {} of {}, in {}",
            thousands(basis.sample_pages),
            thousands(basis.population),
            counted(basis.groups, "group")
        ),
        format!("cycles     {} to {}", basis.first_cycle, basis.last_cycle),
    ];
    lines.extend(basis.ends_at.iter().map(|why| format!("older      not used: {why}")));
    lines.extend(basis.missing.iter().map(|what| format!("missing    {what}")));
    lines.join("\n")
}

/// # Errors
/// When the crawl cannot be read.
pub fn what_if(args: &WhatIfArgs) -> Result<(), Failure> {
    let settings = args.own.at.settings()?;
    let start = ForecastStart::read(&settings, &args.own)?;
    let (basis, forecasts) = start.what_if(&args.pages);
    if args.json {
        return print_json(&WhatIfReport {
            basis: &basis,
            formula: &start.formula.name,
            forecasts: &forecasts,
        });
    }
    print_labelled(text(&basis))?;
    if !basis.enough {
        return print_labelled(todo(&settings));
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
    table::lines(&columns, &rows, recrawl_terminal::colour::width()).iter().try_for_each(print)
}

/// What to do where too little is known.
fn todo(settings: &Settings) -> String {
    match settings.is_measured {
        true => "todo       let the crawl go on".into(),
        false => "todo       set improve.mode = \"watch\", and let the crawl go on".into(),
    }
}

#[derive(Serialize)]
struct WhatIfReport<'b> {
    #[serde(flatten)]
    basis: &'b SampleBasis,
    formula: &'b str,
    /// By budget; empty where too little is known.
    forecasts: &'b [Forecast],
}

#[derive(Serialize)]
struct SavedRevisits<'b> {
    #[serde(flatten)]
    basis: &'b SampleBasis,
    formula: &'b str,
    /// The budget of plain revisiting for the same freshness; none where too little is known.
    plain: Option<RevisitSavings>,
    /// Revisits of a cycle that are saved, at least where plain revisiting needs more than was replayed.
    pages_a_cycle_saved: Option<f64>,
    /// Mean bytes of a body.
    bytes_a_visit: Option<f64>,
}

/// # Errors
/// When the crawl cannot be read.
pub fn savings(args: &SavingsArgs) -> Result<(), Failure> {
    let settings = args.own.at.settings()?;
    let start = ForecastStart::read(&settings, &args.own)?;
    let (basis, plain) = start.savings()?;
    let bytes_a_visit = start.histories.bytes_a_visit;
    if args.json {
        return print_json(&SavedRevisits {
            basis: &basis,
            formula: &start.formula.name,
            plain: plain.map(|plain| plain.savings),
            pages_a_cycle_saved: plain.map(|plain| plain.pages_saved),
            bytes_a_visit,
        });
    }
    print_labelled(text(&basis))?;
    let Some(PlainRevisiting { savings, pages_saved }) = plain else {
        return print_labelled(todo(&settings));
    };
    let times =
        |budget: Option<f64>| budget.map_or(format!("over {LARGEST:.2}"), |budget| format!("{budget:.2}"));
    let [low, high] = savings.interval;
    print_labelled(format!(
        "plain      {} times the present revisits for the same freshness ({} to {})",
        times(savings.budget),
        times(low),
        times(high)
    ))?;
    let bytes = bytes_a_visit.map_or(String::new(), |bytes| {
        format!(", {}", Size((pages_saved.max(0.0) * bytes) as u64).rounded())
    });
    let least = if savings.budget.is_none() { "at least " } else { "" };
    print_labelled(format!("saved      {least}{:.0} revisits a cycle{bytes}", pages_saved.max(0.0)))
}
