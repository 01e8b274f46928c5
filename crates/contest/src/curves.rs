//! The plot of ChangeRate and freshness per cycle.

use crate::ContestEntry;
use recrawl_simulation::metric::{CHANGE_RATE, FRESHNESS};
use recrawl_simulation::plot::{Panel, Plot, smoothed};
use recrawl_simulation::{Dataset, ReplayMetric, Rules, Trace};

/// Curves are means over this many cycles (a week of daily cycles), because single cycles vary
/// much.
const SMOOTHED_OVER: usize = 7;

pub fn svg(data: &Dataset, rules: &Rules, entries: &[ContestEntry], traces: &[Trace]) -> String {
    let panel = |metric: &ReplayMetric, label: &str| {
        let of_cycle = metric.of_cycle().expect("these have a value in each cycle");
        let curve = |trace: &Trace| {
            let values: Vec<f64> = trace.cycles.iter().map(of_cycle).collect();
            let cycles = trace.cycles.iter().map(|figures| f64::from(figures.cycle));
            cycles.zip(smoothed(&values, SMOOTHED_OVER)).collect()
        };
        Panel { label: label.to_owned(), curves: traces.iter().map(curve).collect(), ..Panel::default() }
    };
    let plot = Plot {
        title: format!("{}: {} pages, warm-up of {} cycles", data.name, data.pages.len(), rules.warmup),
        across: format!("cycle (means over {SMOOTHED_OVER})"),
        panels: vec![panel(&CHANGE_RATE, "ChangeRate"), panel(&FRESHNESS, "freshness")],
        names: entries.iter().map(|entry| entry.name().to_owned()).collect(),
        is_logarithmic: false,
    };
    plot.svg()
}
