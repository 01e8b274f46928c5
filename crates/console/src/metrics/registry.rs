//! Every metric, once: name, kind, what it is, and how it is read.
//!
//! Names follow Prometheus' conventions: base units, `_total` for what only grows, `_ratio` for shares from 0 to 1. No
//! label has values that a page or a host could add to. What only grows is read from one counter, never from a
//! difference of two: the two are not read at the same moment, and a step back looks like a restart.

use super::Reading;
use crate::view::{Counts, CycleDone, CycleNow, Freshness, State};

/// A metric.
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// What it is, in a line.
    pub help: &'static str,
    /// How it is read.
    pub read: Read,
}

/// Kinds of metrics.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, and begins at 0 with the process.
    Counter,
    /// Goes up and down.
    Gauge,
}

impl Kind {
    /// As Prometheus calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        }
    }
}

/// How a metric is read.
pub enum Read {
    /// A count.
    Count(fn(&Reading<'_>) -> u64),
    /// One value, or none at this moment.
    One(fn(&Reading<'_>) -> Option<f64>),
    /// A label, and a value for each of its values.
    Each(&'static str, fn(&Reading<'_>) -> Vec<(String, f64)>),
}

/// Every metric.
pub const METRICS: &[Metric] = &[
    each("recrawl_build_info", Kind::Gauge, "Always 1; the label has the version.", "version", |r| {
        vec![(r.status.version.clone(), 1.0)]
    }),
    gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", |r| {
        seconds(Some(r.status.started))
    }),
    gauge("process_resident_memory_bytes", "Resident memory.", |r| r.status.memory_bytes.map(count)),
    each("recrawl_state", Kind::Gauge, "1 for what the crawl does, 0 for all else.", "state", |r| {
        let is = |state: State| f64::from(u8::from(state == r.status.state));
        State::ALL.iter().map(|&state| (state.name().to_owned(), is(state))).collect()
    }),
    gauge(
        "recrawl_idle_seconds",
        "Since the crawl last moved; small also while it waits for its next cycle.",
        |r| seconds(Some(r.status.idle_ms)),
    ),
    gauge("recrawl_generation", "The last generation that was committed.", |r| {
        Some(count(r.status.generation))
    }),
    gauge("recrawl_pages", "Pages known.", |r| Some(count(r.status.pages))),
    gauge("recrawl_pages_visited", "Pages fetched at least once.", |r| Some(count(r.status.visited))),
    gauge("recrawl_pages_gone", "Pages confirmed gone.", |r| Some(count(r.status.gone))),
    gauge("recrawl_hosts", "Hosts known.", |r| Some(count(r.status.hosts))),
    gauge("recrawl_hosts_paused", "Hosts that operators paused.", |r| Some(count(r.status.paused_hosts))),
    gauge("recrawl_patterns_blocked", "Patterns that operators blocked.", |r| Some(count(r.status.blocked))),
    gauge("recrawl_disk_used_bytes", "Bytes of the data directory, as far as they were counted.", |r| {
        Some(count(r.status.bytes_on_disk))
    }),
    gauge("recrawl_disk_free_bytes", "Bytes that its disk has left.", |r| r.status.bytes_free.map(count)),
    gauge(
        "recrawl_disk_reserved_bytes",
        "The crawl stops when its disk has less left (storage.reserve).",
        |r| Some(count(r.status.bytes_reserved)),
    ),
    each(
        "recrawl_pages_done_total",
        Kind::Counter,
        "Scheduled pages, by what came of them.",
        "outcome",
        |r| OUTCOMES.iter().map(|(name, read)| ((*name).to_owned(), count(read(&r.status.totals)))).collect(),
    ),
    counter(
        "recrawl_visits_total",
        "Pages fetched, not modified or redirected, first visits included.",
        |r| r.status.totals.fetched,
    ),
    counter("recrawl_not_modified_total", "Answers 304 among the visits.", |r| r.status.totals.not_modified),
    counter("recrawl_links_seen_total", "Links found, each time they were.", |r| r.status.totals.links_seen),
    counter("recrawl_body_bytes_total", "Bytes of bodies.", |r| r.status.totals.bytes),
    counter(
        "recrawl_early_requests_total",
        "Requests begun before the delay promised to their host or address was over. More than none is a bug.",
        |r| r.status.early_requests,
    ),
    counter(
        "recrawl_log_lines_lost_total",
        "Lines of the log that nobody took, since whoever reads standard error stood still.",
        |r| r.status.log_lines_lost,
    ),
    each("recrawl_cycles_total", Kind::Counter, "Cycles, by how they ended.", "result", |r| {
        vec![
            ("committed".into(), count(r.status.cycles_done)),
            ("failed".into(), count(r.status.cycles_failed)),
        ]
    }),
    gauge("recrawl_next_cycle_time_seconds", "When the next cycle is due, in seconds since 1970.", |r| {
        seconds(r.status.next_cycle_at)
    }),
    gauge("recrawl_cycle", "The running cycle.", |r| now(r).map(|c| count(c.cycle))),
    gauge("recrawl_cycle_start_time_seconds", "When the running cycle began, in seconds since 1970.", |r| {
        seconds(now(r).map(|c| c.started))
    }),
    gauge("recrawl_cycle_pages_scheduled", "Pages in the schedule of the running cycle.", |r| {
        now(r).map(|c| count(c.scheduled))
    }),
    gauge("recrawl_cycle_pages_done", "Pages of that schedule that are done.", |r| {
        now(r).map(|c| count(c.done))
    }),
    gauge(
        "recrawl_cycle_requests_in_flight",
        "Pages of that schedule that are asked for at this moment.",
        |r| now(r).map(|c| count(c.in_flight)),
    ),
    gauge(
        "recrawl_cycle_open_hosts",
        "Hosts of the running cycle with pages still to ask for, in memory.",
        |r| now(r).map(|c| count(c.open_hosts)),
    ),
    gauge(
        "recrawl_cycle_seconds_left",
        "Until the schedule of the running cycle is done, as estimated.",
        |r| now(r)?.seconds_left,
    ),
    gauge(
        "recrawl_cycle_change_ratio",
        "ChangeRate of the running cycle so far: changed by comparable visits, of those that the score chose.",
        |r| now(r)?.change_rate,
    ),
    gauge("recrawl_last_cycle", "The last committed cycle.", |r| last(r).map(|c| count(c.cycle))),
    gauge(
        "recrawl_last_cycle_end_time_seconds",
        "When the last cycle was committed, in seconds since 1970.",
        |r| seconds(last(r).map(|c| c.ended)),
    ),
    gauge(
        "recrawl_last_cycle_duration_seconds",
        "How long the last cycle took, interruptions included.",
        |r| last(r).map(|c| c.seconds),
    ),
    gauge("recrawl_last_cycle_change_ratio", "ChangeRate of the last cycle.", |r| last(r)?.change_rate),
    gauge(
        "recrawl_last_cycle_promised_change_ratio",
        "ChangeRate that was to be expected of the last cycle.",
        |r| Some(last(r)?.promise.as_ref()?.change_rate),
    ),
    gauge(
        "recrawl_freshness_ratio",
        "Share of pages that are as they were seen last, by the audit sample.",
        |r| fresh(r).map(|f| f.share),
    ),
    gauge("recrawl_freshness_low_ratio", "The lower end of the interval of freshness.", |r| {
        fresh(r).map(|f| f.low)
    }),
    gauge("recrawl_freshness_high_ratio", "The upper end of the interval of freshness.", |r| {
        fresh(r).map(|f| f.high)
    }),
    each(
        "recrawl_console_answers_total",
        Kind::Counter,
        "Answers of the console, by status.",
        "class",
        |r| {
            (1..)
                .zip(r.traffic.answers())
                .map(|(digit, answers)| (format!("{digit}xx"), count(answers)))
                .collect()
        },
    ),
    counter("recrawl_console_refused_changes_total", "Changes refused for want of a right to them.", |r| {
        r.traffic.refused_changes()
    }),
    counter("recrawl_console_refused_connections_total", "Connections beyond serve.connections.", |r| {
        r.traffic.refused_connections()
    }),
    gauge("recrawl_console_event_streams", "Streams of events that are open.", |r| Some(r.streams as f64)),
];

/// What came of a page, and its count.
type Outcome = (&'static str, fn(&Counts) -> u64);

/// What can come of a scheduled page, without overlap.
const OUTCOMES: &[Outcome] = &[
    ("first", |c| c.first_visits),
    ("changed", |c| c.changed),
    ("unchanged", |c| c.unchanged),
    ("failed", |c| c.failed),
    ("not_found", |c| c.not_found),
    ("robots_denied", |c| c.robots_denied),
    ("refused", |c| c.refused),
    ("skipped", |c| c.skipped),
];

/// A counter is read as what it counts, so that nothing else can be called one.
const fn counter(name: &'static str, help: &'static str, read: fn(&Reading<'_>) -> u64) -> Metric {
    Metric { name, kind: Kind::Counter, help, read: Read::Count(read) }
}

const fn gauge(name: &'static str, help: &'static str, read: fn(&Reading<'_>) -> Option<f64>) -> Metric {
    Metric { name, kind: Kind::Gauge, help, read: Read::One(read) }
}

const fn each(
    name: &'static str,
    kind: Kind,
    help: &'static str,
    label: &'static str,
    read: fn(&Reading<'_>) -> Vec<(String, f64)>,
) -> Metric {
    Metric { name, kind, help, read: Read::Each(label, read) }
}

/// Prometheus has floating-point numbers only; counts are exact to 2^53.
fn count(n: u64) -> f64 {
    n as f64
}

fn seconds(milliseconds: Option<u64>) -> Option<f64> {
    milliseconds.map(|ms| ms as f64 / 1000.0)
}

fn now<'a>(reading: &Reading<'a>) -> Option<&'a CycleNow> {
    reading.status.cycle.as_ref()
}

fn last<'a>(reading: &Reading<'a>) -> Option<&'a CycleDone> {
    reading.status.last.as_ref()
}

fn fresh<'a>(reading: &Reading<'a>) -> Option<&'a Freshness> {
    reading.status.freshness.as_ref()
}
