//! A report as text.

use super::{ExperimentReport, Point};
use std::fmt::Write;

/// The tables of a report, for a terminal.
pub fn render(report: &ExperimentReport) -> String {
    let mut out = String::new();
    let ExperimentReport { pages, .. } = report;
    // Writing to a string cannot fail.
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    line(format!(
        "{}: pages {}, in every cycle {}, with texts {}, changing {}, significantly ({}) {}",
        report.data,
        pages.all,
        pages.fixed,
        if report.texts { pages.with_texts.to_string() } else { "none".into() },
        pages.changing,
        report.change,
        pages.significant
    ));
    line(format!("kept with alpha {:.4}: {}; predicted: {}", report.alpha, report.kept, report.predicted));
    line(format!(
        "{} windows a page, from every {}; {} training days; related pages at most {}, found every {} days, \
         delays {} to {}",
        report.windows,
        ordinal_day(report.every),
        report.days,
        report.experts,
        report.refresh,
        report.delays.0,
        report.delays.1
    ));
    line(format!(
        "changes {:.1} % of the predicted steps; windows of one class {:.1} %; flips {}; random seed {}",
        100.0 * report.changes,
        100.0 * report.one_class,
        report.flips,
        report.random_seed
    ));
    let related = report.related.iter().map(|related| {
        let recall =
            related.recall.map(|recall| format!(" (planted {:.1} %)", 100.0 * recall)).unwrap_or_default();
        format!("{} {:.1}{recall}", related.relation, related.pages)
    });
    let related = related.collect::<Vec<_>>().join(", ");
    if !related.is_empty() {
        line(format!("related pages found, mean: {related}"));
    }
    if report.machines.1 > 0 {
        line(format!(
            "{} of {} machines did not reach their tolerance",
            report.machines.1, report.machines.0
        ));
    }
    line(format!("\n{:28} {:>9} {:>14} {:>14}", "method", "accuracy", "p vs. experts", "p vs. majority"));
    for method in &report.methods {
        let p = |value: Option<f64>| {
            value.map_or("–".into(), |p| if p < 1e-4 { "< 0.0001".into() } else { format!("{p:.4}") })
        };
        let (experts, majority) = (p(method.p_against_experts), p(method.p_against_majority));
        let accuracy = 100.0 * method.accuracy;
        line(format!("{:28} {accuracy:>7.2} % {experts:>14} {majority:>14}", method.name));
    }
    for (title, points) in [
        ("accuracy by training days", &report.by_days),
        ("accuracy by experts", &report.by_experts),
        ("freshness by days of a crawl that visits 10 % of the pages a day", &report.freshness),
    ] {
        if !points.is_empty() {
            line(format!("\n{title}"));
            points.iter().for_each(|point| line(figure_line(point)));
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn figure_line(point: &Point) -> String {
    let values = point.accuracies.iter().map(|(name, accuracy)| format!("{name} {:.2} %", 100.0 * accuracy));
    format!("{:>4}  {}", point.at, values.collect::<Vec<_>>().join(", "))
}

fn ordinal_day(every: u32) -> String {
    match every {
        1 => "day".into(),
        2 => "second day".into(),
        3 => "third day".into(),
        _ => format!("{every}th day"),
    }
}
