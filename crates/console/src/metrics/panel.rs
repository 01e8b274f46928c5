//! What a dashboard of Grafana shows, row by row.

/// A panel.
pub struct Panel {
    /// Its title.
    pub title: &'static str,
    /// What to see in it.
    pub about: &'static str,
    /// How its values are written.
    pub unit: Unit,
    /// Its picture.
    pub picture: Picture,
    /// Curves: PromQL, where `{}` stands for the choice of an instance, and what the curve is called.
    pub curves: &'static [(&'static str, &'static str)],
}

/// How values are written.
#[derive(Clone, Copy)]
pub enum Unit {
    /// As numbers.
    Number,
    /// A share from 0 to 1.
    Share,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// So many a second.
    PerSecond,
    /// Seconds since 1970, as how long ago.
    Ago,
}

impl Unit {
    /// As Grafana calls it.
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

/// Every panel, in rows of four figures or two pictures.
pub const PANELS: &[Panel] = &[
    figure("State", "What the crawl does.", Unit::Number, &[("recrawl_state{} == 1", "{{state}}")]),
    figure("Version", "The program's.", Unit::Number, &[("recrawl_build_info{}", "{{version}}")]),
    figure(
        "Pages",
        "How many are known.",
        Unit::Number,
        &[
            ("recrawl_pages{}", "known"),
            ("recrawl_pages_visited{}", "visited"),
            ("recrawl_pages_gone{}", "gone"),
        ],
    ),
    figure("Hosts", "How many are known.", Unit::Number, &[("recrawl_hosts{}", "hosts")]),
    curves(
        "ChangeRate",
        "How many of the visits that the score chose met a change, beside what was to be expected. Falling for days: see \
         the formula.",
        Unit::Share,
        &[
            ("recrawl_last_cycle_change_ratio{}", "last cycle"),
            ("recrawl_last_cycle_promised_change_ratio{}", "promised"),
            ("recrawl_cycle_change_ratio{}", "this cycle so far"),
        ],
    ),
    curves(
        "Freshness",
        "Share of pages that are as they were seen last, by the audit sample, with its interval.",
        Unit::Share,
        &[
            ("recrawl_freshness_ratio{}", "estimate"),
            ("recrawl_freshness_low_ratio{}", "low"),
            ("recrawl_freshness_high_ratio{}", "high"),
        ],
    ),
    curves(
        "Pages by outcome",
        "What comes of scheduled pages.",
        Unit::PerSecond,
        &[("rate(recrawl_pages_done_total{}[$__rate_interval])", "{{outcome}}")],
    ),
    curves(
        "The running cycle",
        "Where it is in its schedule.",
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
        "How long cycles take and have left, and since when nothing moved.",
        Unit::Seconds,
        &[
            ("recrawl_last_cycle_duration_seconds{}", "last cycle"),
            ("recrawl_cycle_seconds_left{}", "left"),
            ("recrawl_idle_seconds{}", "idle"),
        ],
    ),
    curves(
        "Visits",
        "Visits a second, answers 304 among them, and links found.",
        Unit::PerSecond,
        &[
            ("rate(recrawl_visits_total{}[$__rate_interval])", "visits"),
            ("rate(recrawl_not_modified_total{}[$__rate_interval])", "not modified"),
            ("rate(recrawl_links_seen_total{}[$__rate_interval])", "links"),
        ],
    ),
    curves(
        "Bytes fetched",
        "Of bodies.",
        Unit::BytesPerSecond,
        &[("rate(recrawl_body_bytes_total{}[$__rate_interval])", "bodies")],
    ),
    curves(
        "Disk and memory",
        "The crawl stops when less is free than reserved.",
        Unit::Bytes,
        &[
            ("recrawl_disk_used_bytes{}", "data directory"),
            ("recrawl_disk_free_bytes{}", "free"),
            ("recrawl_disk_reserved_bytes{}", "reserved"),
            ("process_resident_memory_bytes{}", "memory"),
        ],
    ),
    figure(
        "Bugs and losses",
        "Requests begun before the delay promised to their host was over: 0, or a bug. Lines of the log that nobody took.",
        Unit::Number,
        &[
            ("increase(recrawl_early_requests_total{}[$__range])", "early requests"),
            ("increase(recrawl_log_lines_lost_total{}[$__range])", "lost lines"),
        ],
    ),
    figure(
        "Cycles",
        "The running one, the last committed one, and the generation.",
        Unit::Number,
        &[
            ("recrawl_cycle{}", "running"),
            ("recrawl_last_cycle{}", "last"),
            ("recrawl_generation{}", "generation"),
        ],
    ),
    figure(
        "Since and until",
        "When things began, ended, and are due.",
        Unit::Ago,
        &[
            ("process_start_time_seconds{} * 1000", "process began"),
            ("recrawl_cycle_start_time_seconds{} * 1000", "cycle began"),
            ("recrawl_last_cycle_end_time_seconds{} * 1000", "last commit"),
            ("recrawl_next_cycle_time_seconds{} * 1000", "next cycle"),
        ],
    ),
    figure(
        "Operators",
        "What they paused and blocked.",
        Unit::Number,
        &[("recrawl_hosts_paused{}", "hosts paused"), ("recrawl_patterns_blocked{}", "patterns blocked")],
    ),
    curves(
        "Cycles by result",
        "Committed and failed, within an hour.",
        Unit::Number,
        &[("increase(recrawl_cycles_total{}[1h])", "{{result}}")],
    ),
    curves(
        "The console",
        "Its answers by status, what it refused, and streams of events.",
        Unit::PerSecond,
        &[
            ("rate(recrawl_console_answers_total{}[$__rate_interval])", "{{class}}"),
            ("rate(recrawl_console_refused_changes_total{}[$__rate_interval])", "changes refused"),
            ("rate(recrawl_console_refused_connections_total{}[$__rate_interval])", "connections refused"),
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
