//! One registry of metrics, from which the text for Prometheus, a Grafana dashboard and alert rules are made.

pub mod traffic;

use crate::view::Status;
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

/// All metrics in Prometheus' text format.
pub fn text(reading: &Reading<'_>) -> String {
    let Reading { status, traffic, streams } = reading;
    let answers: u64 = traffic.answers().iter().sum();
    format!(
        "recrawl_generation {}\nrecrawl_console_answers_total {answers}\nrecrawl_console_streams {streams}\n\
         recrawl_console_refused_changes_total {}\nrecrawl_console_refused_connections_total {}\n",
        status.generation,
        traffic.refused_changes(),
        traffic.refused_connections(),
    )
}
