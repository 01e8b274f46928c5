//! The registry of metrics. The Prometheus text and the table in docs/console.md are generated from
//! it, and the Grafana dashboard and the alert rules are tested against it.

pub mod alert;
pub mod grafana;
pub mod panel;
pub mod registry;
#[cfg(test)]
mod tests;
pub mod traffic;

use crate::view::Status;
use registry::{METRICS, Metric, Read};
use std::fmt::Write;
use traffic::Traffic;

/// Source of the metric values.
pub struct Reading<'a> {
    /// Status of the crawl.
    pub status: &'a Status,
    /// Counters of the console.
    pub traffic: &'a Traffic,
    /// Open event streams.
    pub streams: usize,
}

/// Media type of the Prometheus text format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics in the Prometheus text format. Metrics without a current value are omitted.
pub fn text(reading: &Reading<'_>) -> String {
    let mut text = String::new();
    for metric in METRICS {
        let Metric { name, kind, help, read } = metric;
        let samples: Vec<(String, f64)> = match read {
            Read::Count(read) => vec![(String::new(), read(reading) as f64)],
            Read::One(read) => read(reading).map(|value| (String::new(), value)).into_iter().collect(),
            Read::Each(label, read) => {
                let named = |(of, value): (String, f64)| (format!("{{{label}={of:?}}}"), value);
                read(reading).into_iter().map(named).collect()
            }
        };
        if samples.is_empty() {
            continue;
        }
        write!(text, "# HELP {name} {help}\n# TYPE {name} {}\n", kind.name()).expect("text takes all");
        for (labels, value) in samples {
            writeln!(text, "{name}{labels} {value}").expect("text takes all");
        }
    }
    text
}

/// The table of metrics in docs/console.md.
pub fn table() -> String {
    let mut table = String::from("| metric | kind | label | what |\n|---|---|---|---|\n");
    for metric in METRICS {
        let label = match metric.read {
            Read::Count(_) | Read::One(_) => String::new(),
            Read::Each(label, _) => format!("`{label}`"),
        };
        let Metric { name, kind, help, .. } = metric;
        writeln!(table, "| `{name}` | {} | {label} | {help} |", kind.name()).expect("text takes all");
    }
    table
}
