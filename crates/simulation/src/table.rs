//! A comparison as a text table: within 120 characters, or in parts below each other within fewer.

use crate::ReplayMetric;
use crate::compare::{Comparison, MetricCell, ReplayRole, Verdict};
use crate::plot::shortened;
use std::fmt::Write;

/// The columns: a metric and its heading.
const COLUMNS: [(&str, &str); 10] = [
    ("change_rate", "ChangeRate"),
    ("ndcg_log2", "NDCG"),
    ("freshness", "freshness"),
    ("age", "age"),
    ("harmonic", "harmonic"),
    ("visited_share", "visited"),
    ("pending_share", "pending"),
    ("delay_p50", "delay"),
    ("delay_p95", "p95"),
    ("longest_neglect", "neglect"),
];

/// Headings of further metrics, which are shown when the comparison has them.
const FURTHER: [(&str, &str); 8] = [
    ("change_rate_by_importance", "CR(imp)"),
    ("freshness_by_importance", "fresh(imp)"),
    ("coverage_by_importance", "cov(imp)"),
    ("weighted_change_rate", "weighted"),
    ("weight_of_changed", "weight"),
    ("freshness_at_10", "fresh@10"),
    ("mp_at_10", "MP@10"),
    ("ap_at_10", "AP@10"),
];

/// Metrics that are shown with their interval.
const WITH_INTERVAL: [&str; 4] =
    ["change_rate", "freshness", "change_rate_by_importance", "freshness_by_importance"];

/// Maximum letters of a name.
const NAME: usize = 24;

/// Explanation of the marks.
pub const LEGEND: &str = "\
* best known policy; = same value; ? not different from the best by paired tests
over cycles and over groups; ± half of the 95 % interval over groups
delay, p95: cycles from a change to the visit that found it
visited, delay, neglect (the longest time without a visit): not tested
docs/metrics.md has the definitions";

/// The table: one line per replay; known policies and bounds are set apart. Columns that do not fit in `max_width`
/// characters follow in further parts.
pub fn render(names: &[(&str, ReplayRole)], comparison: &Comparison, max_width: Option<usize>) -> String {
    let place = |name: &str| comparison.metrics.iter().position(|metric| metric.name == name);
    let columns = COLUMNS.iter().chain(&FURTHER);
    let columns: Vec<(usize, &str)> =
        columns.filter_map(|(name, heading)| Some((place(name)?, *heading))).collect();
    let (mut rest, mut parts) = (columns.as_slice(), Vec::new());
    while !rest.is_empty() {
        let mut used = NAME;
        let fits = |(at, _): &&(usize, &str)| {
            used += width(comparison.metrics[*at]);
            max_width.is_none_or(|most| used <= most)
        };
        let (part, others) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        parts.push(render_part(names, comparison, part));
        rest = others;
    }
    parts.join("\n\n")
}

/// Letters of a metric's column. The last one is a mark.
fn width(metric: &ReplayMetric) -> usize {
    match metric.name {
        name if WITH_INTERVAL.contains(&name) => 14,
        name if name.starts_with("delay") => 6,
        _ => 9,
    }
}

/// The table of some columns: metrics and headings.
fn render_part(names: &[(&str, ReplayRole)], comparison: &Comparison, columns: &[(usize, &str)]) -> String {
    let mut table = format!("{:NAME$}", "");
    for &(at, heading) in columns {
        write!(table, "{heading:>width$} ", width = width(comparison.metrics[at]) - 1)
            .expect("a string takes all");
    }
    let mut before = None;
    for (replay, &(name, role)) in names.iter().enumerate() {
        let line = if before.is_some_and(|before| before != role) { "\n\n" } else { "\n" };
        before = Some(role);
        write!(table, "{line}{:NAME$}", shortened(name, NAME)).expect("a string takes all");
        for &(at, _) in columns {
            let cell = &comparison.cells[replay][at];
            let text = shown(cell, comparison.metrics[at]) + mark(cell, comparison.best[at] == replay);
            write!(table, "{text:>width$}", width = width(comparison.metrics[at]))
                .expect("a string takes all");
        }
    }
    let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn mark(cell: &MetricCell, is_best: bool) -> &'static str {
    match cell.verdict {
        _ if cell.value.is_nan() => " ",
        _ if is_best => "*",
        Verdict::Same => "=",
        Verdict::CannotTell => "?",
        Verdict::Better | Verdict::Worse | Verdict::Untested => " ",
    }
}

/// The value, with its interval if the table shows one.
fn shown(cell: &MetricCell, metric: &ReplayMetric) -> String {
    if cell.value.is_nan() {
        return "—".to_owned();
    }
    match metric.name {
        "longest_neglect" => format!("{:.0}", cell.value),
        name if name.starts_with("delay") => format!("{:.0}", cell.value),
        "age" => format!("{:.2}", cell.value),
        name if WITH_INTERVAL.contains(&name) => {
            let half = cell.interval.map(|[low, high]| format!("{:.3}", (high - low) / 2.0));
            let half = half.as_deref().map_or("?", |half| half.trim_start_matches('0'));
            format!("{:.4} ±{half:4}", cell.value)
        }
        _ => format!("{:.4}", cell.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CycleFigures, SiteFigures, Trace, metric};

    fn trace(changed: u64) -> Trace {
        let cycle = CycleFigures {
            pages: 40,
            visited: 4,
            changed,
            pending: 9,
            stale: 9 - changed,
            ..CycleFigures::default()
        };
        let site = SiteFigures { pages: 100, visited: 10, changed: changed * 3, ..SiteFigures::default() };
        Trace {
            cycles: vec![cycle; 6],
            sites: vec![site; 8],
            pages: 40,
            visited: 20,
            delays: vec![3; changed as usize],
            longest_neglect: 17,
        }
    }

    #[test]
    fn a_table_is_narrow_and_marks_the_best_and_its_ties() {
        let (poor, good, none) = (trace(1), trace(3), trace(0));
        let replays = [
            (&poor, ReplayRole::Baseline),
            (&good, ReplayRole::Baseline),
            (&good, ReplayRole::Candidate),
            (&none, ReplayRole::Bound),
        ];
        let names = [
            ("poor", ReplayRole::Baseline),
            ("good", ReplayRole::Baseline),
            ("t * (X + 0.1) / (n + 1) + 17 * n", ReplayRole::Candidate),
            ("oracle", ReplayRole::Bound),
        ];
        let comparison = Comparison::new(&replays, 0);
        let table = render(&names, &comparison, None);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 7, "{table}");
        assert!(lines.iter().all(|line| line.chars().count() <= 120), "{table}");
        assert!(lines[1].contains(" 0.2500 ±.000  "), "{table}");
        assert!(lines[2].contains("0.7500 ±.000*") && lines[4].contains("0.7500 ±.000="), "{table}");
        assert!(lines[4].starts_with("t * (X + 0.1) / (n + 1)… 0.75"), "{table}");
        assert!(lines[6].contains(" — "), "nothing was found, so nothing was late:\n{table}");
        assert!(lines[3].is_empty() && lines[5].is_empty());
        // On a narrow terminal, the same cells in parts.
        for most in [80, 50, 0] {
            let parts = render(&names, &comparison, Some(most));
            let widest = parts.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= most.max(38), "{most}:\n{parts}");
            let (mut cells, mut whole) =
                (parts.split_whitespace().collect::<Vec<_>>(), table.split_whitespace().collect::<Vec<_>>());
            cells.sort_unstable();
            whole.sort_unstable();
            cells.dedup();
            whole.dedup();
            assert_eq!(cells, whole, "{parts}");
        }
        assert_eq!(render(&names, &comparison, Some(119)), table);
    }

    #[test]
    fn every_further_metric_has_a_column() {
        let (one, further) =
            (trace(1), metric::BY_IMPORTANCE.iter().chain(metric::OF_CONTENTS).collect::<Vec<_>>());
        let comparison = Comparison::with(&[(&one, ReplayRole::Baseline)], &further, 0);
        let table = render(&[("one", ReplayRole::Baseline)], &comparison, None);
        let headings: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(headings.len(), COLUMNS.len() + further.len(), "{table}");
        assert_eq!(&headings[COLUMNS.len()..], FURTHER.map(|(_, heading)| heading));
        assert_eq!(
            FURTHER.map(|(name, _)| name).as_slice(),
            further.iter().map(|m| m.name).collect::<Vec<_>>()
        );
    }
}
