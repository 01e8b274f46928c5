//! The panels of the Grafana dashboard, row by row.

/// A panel.
pub struct Panel {
    /// Title.
    pub title: &'static str,
    /// Description.
    pub about: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// Kind of picture.
    pub picture: Picture,
    /// Curves: PromQL, in which `{}` stands for the instance selector, and the name of the curve.
    pub curves: &'static [(&'static str, &'static str)],
}

/// Unit of values.
#[derive(Clone, Copy)]
pub enum Unit {
    /// Numbers.
    Number,
    /// A share from 0 to 1.
    Share,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Events per second.
    PerSecond,
    /// Seconds since 1970, shown as a relative time.
    Ago,
}

impl Unit {
    /// Grafana's name of the unit.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Number => "short",
            Unit::Share => "percentunit",
            Unit::Seconds => "s",
            Unit::Bytes => "bytes",
            Unit::BytesPerSecond => "Bps",
            Unit::PerSecond => "cps",
            Unit::Ago => "dateTimeFromNow",
        }
    }
}

/// Kinds of pictures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// Curves over time.
    Curves,
    /// The last value, large.
    Figure,
}

/// All panels, in rows of four figures or two charts.
pub const PANELS: &[Panel] = &[
    figure("State", "State of the crawl.", Unit::Number, &[("recrawl_state{} == 1", "{{state}}")]),
    figure("Version", "Program version.", Unit::Number, &[("recrawl_build_info{}", "{{version}}")]),
    figure(
        "Pages",
        "Known, visited and gone pages.",
        Unit::Number,
        &[
            ("recrawl_pages{}", "known"),
            ("recrawl_pages_visited{}", "visited"),
            ("recrawl_pages_gone{}", "gone"),
        ],
    ),
    figure("Hosts", "Known hosts.", Unit::Number, &[("recrawl_hosts{}", "hosts")]),
    curves(
        "ChangeRate",
        "Share of the revisits selected by score that found a change, and the expected share. If it falls for \
         days, check the formula.",
        Unit::Share,
        &[
            ("recrawl_last_cycle_change_ratio{}", "last cycle"),
            ("recrawl_last_cycle_promised_change_ratio{}", "expected"),
            ("recrawl_cycle_change_ratio{}", "this cycle so far"),
        ],
    ),
    curves(
        "Freshness",
        "Share of pages whose copy is current, estimated from the audit sample, with its interval.",
        Unit::Share,
        &[
            ("recrawl_freshness_ratio{}", "estimate"),
            ("recrawl_freshness_low_ratio{}", "low"),
            ("recrawl_freshness_high_ratio{}", "high"),
        ],
    ),
    curves(
        "Pages by outcome",
        "Scheduled pages by outcome.",
        Unit::PerSecond,
        &[("rate(recrawl_pages_done_total{}[$__rate_interval])", "{{outcome}}")],
    ),
    curves(
        "Running cycle",
        "Progress of its schedule.",
        Unit::Number,
        &[
            ("recrawl_cycle_pages_scheduled{}", "scheduled"),
            ("recrawl_cycle_pages_done{}", "done"),
            ("recrawl_cycle_requests_in_flight{}", "in flight"),
            ("recrawl_cycle_open_hosts{}", "open hosts"),
        ],
    ),
    curves(
        "Time",
        "Cycle duration, time left, and time since the last progress.",
        Unit::Seconds,
        &[
            ("recrawl_last_cycle_duration_seconds{}", "last cycle"),
            ("recrawl_cycle_seconds_left{}", "left"),
            ("recrawl_idle_seconds{}", "idle"),
        ],
    ),
    curves(
        "Visits",
        "Visits, 304 responses and links found, per second.",
        Unit::PerSecond,
        &[
            ("rate(recrawl_visits_total{}[$__rate_interval])", "visits"),
            ("rate(recrawl_not_modified_total{}[$__rate_interval])", "not modified"),
            ("rate(recrawl_links_seen_total{}[$__rate_interval])", "links"),
        ],
    ),
    curves(
        "Bytes fetched",
        "Body bytes per second.",
        Unit::BytesPerSecond,
        &[("rate(recrawl_body_bytes_total{}[$__rate_interval])", "bodies")],
    ),
    curves(
        "Disk and memory",
        "The crawl stops when free space falls below the reserve.",
        Unit::Bytes,
        &[
            ("recrawl_disk_used_bytes{}", "data directory"),
            ("recrawl_disk_free_bytes{}", "free"),
            ("recrawl_disk_reserved_bytes{}", "reserved"),
            ("process_resident_memory_bytes{}", "memory"),
        ],
    ),
    figure(
        "Early requests, lost log lines",
        "Requests sent too early (0, or a bug). Log lines dropped.",
        Unit::Number,
        &[
            ("increase(recrawl_early_requests_total{}[$__range])", "early requests"),
            ("increase(recrawl_log_lines_lost_total{}[$__range])", "lost lines"),
        ],
    ),
    figure(
        "Cycles",
        "Running cycle, last committed cycle, generation.",
        Unit::Number,
        &[
            ("recrawl_cycle{}", "running"),
            ("recrawl_last_cycle{}", "last"),
            ("recrawl_generation{}", "generation"),
        ],
    ),
    figure(
        "Times",
        "Start of process and cycle, last commit, next cycle.",
        Unit::Ago,
        &[
            ("process_start_time_seconds{} * 1000", "process start"),
            ("recrawl_cycle_start_time_seconds{} * 1000", "cycle start"),
            ("recrawl_last_cycle_end_time_seconds{} * 1000", "last commit"),
            ("recrawl_next_cycle_time_seconds{} * 1000", "next cycle"),
        ],
    ),
    figure(
        "Operators",
        "Paused hosts and blocked patterns.",
        Unit::Number,
        &[("recrawl_hosts_paused{}", "paused hosts"), ("recrawl_patterns_blocked{}", "blocked patterns")],
    ),
    curves(
        "Cycles by result",
        "Committed and failed cycles per hour.",
        Unit::Number,
        &[("increase(recrawl_cycles_total{}[1h])", "{{result}}")],
    ),
    curves(
        "Console",
        "Responses by status, rejected requests, event streams.",
        Unit::PerSecond,
        &[
            ("rate(recrawl_console_answers_total{}[$__rate_interval])", "{{class}}"),
            ("rate(recrawl_console_refused_changes_total{}[$__rate_interval])", "rejected changes"),
            ("rate(recrawl_console_refused_connections_total{}[$__rate_interval])", "rejected connections"),
            ("recrawl_console_event_streams{}", "streams"),
        ],
    ),
];

type Curves = &'static [(&'static str, &'static str)];

const fn figure(title: &'static str, about: &'static str, unit: Unit, curves: Curves) -> Panel {
    Panel { title, about, unit, picture: Picture::Figure, curves }
}

const fn curves(title: &'static str, about: &'static str, unit: Unit, curves: Curves) -> Panel {
    Panel { title, about, unit, picture: Picture::Curves, curves }
}
