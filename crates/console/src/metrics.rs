//! One registry of metrics, from which all else is made: the text for Prometheus, the table in docs/console.md, a Grafana
//! dashboard and alert rules.

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

/// What metrics are read from.
pub struct Reading<'a> {
    /// Where the crawl stands.
    pub status: &'a Status,
    /// The console's own counts.
    pub traffic: &'a Traffic,
    /// Streams of events that are open.
    pub streams: usize,
}

/// Of Prometheus' text format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics in Prometheus' text format. One without a value at this moment is left out.
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

/// The table of docs/console.md.
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
