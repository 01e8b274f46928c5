//! The registry of metrics. The Prometheus text is generated from it; the Grafana dashboard and
//! the alert rules (`examples/generated/`) are tested against it.

pub mod registry;
#[cfg(test)]
mod tests;
pub mod traffic;

use crate::view::{Improve, Meters, Status};
use registry::{ConsoleMetric, Histogram, METRICS, MetricRead};
use std::fmt::Write;
use traffic::Traffic;

/// Source of the metric values.
pub struct MetricsReading<'a> {
    /// Status of the crawl.
    pub status: &'a Status,
    /// Figures read for metrics only.
    pub meters: &'a Meters,
    /// What the crawl measures, and its loop.
    pub improve: &'a Improve,
    /// Counters of the console.
    pub traffic: &'a Traffic,
    /// Open event streams.
    pub streams: usize,
}

/// Media type of the Prometheus text format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics in the Prometheus text format. Metrics without a current value are omitted.
pub fn text(reading: &MetricsReading<'_>) -> String {
    let mut text = String::new();
    for metric in METRICS {
        let ConsoleMetric { name, kind, help, read } = metric;
        let samples: Vec<(String, f64)> = match read {
            MetricRead::Count(read) => vec![(String::new(), read(reading) as f64)],
            MetricRead::Sum(read) => vec![(String::new(), read(reading))],
            MetricRead::Histogram(read) => histogram(&read(reading)),
            MetricRead::One(read) => read(reading).map(|value| (String::new(), value)).into_iter().collect(),
            MetricRead::Each(label, read) => {
                let named = |(of, value): (String, f64)| (format!("{{{label}={of:?}}}"), value);
                read(reading).into_iter().map(named).collect()
            }
            MetricRead::OfPartitions(read) => {
                let named = |(id, node, value): (u32, String, f64)| {
                    (format!("{{partition=\"{id}\",node={node:?}}}"), value)
                };
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

/// The samples of a histogram: buckets that include those below them, sum, and count.
fn histogram(read: &Histogram<'_>) -> Vec<(String, f64)> {
    let mut total = 0;
    let bounds = read.bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
    let mut samples: Vec<(String, f64)> = bounds
        .zip(read.buckets)
        .map(|(bound, count)| {
            total += count;
            (format!("_bucket{{le=\"{bound}\"}}"), total as f64)
        })
        .collect();
    samples.extend([("_sum".into(), read.sum), ("_count".into(), total as f64)]);
    samples
}
