//! The panels of the Grafana dashboard, row by row.

use crate::threshold::FILES_SHARE;
use recrawl_console::view::health::{FAILED_SHARE, SPENT_SHARE};

/// A panel.
pub struct DashboardPanel {
    /// Title.
    pub title: &'static str,
    /// Description.
    pub about: &'static str,
    /// Unit of the values.
    pub unit: PanelUnit,
    /// Kind of picture.
    pub picture: Picture,
    /// Where other colours begin, as the alerts have it; below them, and without any, green.
    pub limits: &'static [PanelLimit],
    /// Curves: PromQL with names of thresholds, in which `{}` stands for the instance selector and
    /// `INSTANCE` for the same beside other labels; and the name of the curve.
    pub curves: &'static [(&'static str, &'static str)],
}

/// A coloured range of values.
pub struct PanelLimit {
    /// Where it begins, in the unit of the panel.
    pub from: f64,
    /// Colour of the values from there on.
    pub colour: Colour,
}

/// Colours of values.
#[derive(Clone, Copy)]
pub enum Colour {
    /// An alert of severity `warning`.
    Amber,
    /// An alert of severity `critical`.
    Red,
}

impl Colour {
    /// Grafana's name of the colour.
    pub fn name(self) -> &'static str {
        match self {
            Colour::Amber => "orange",
            Colour::Red => "red",
        }
    }
}

/// Unit of values.
#[derive(Clone, Copy)]
pub enum PanelUnit {
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

impl PanelUnit {
    /// Grafana's name of the unit.
    pub fn name(self) -> &'static str {
        match self {
            PanelUnit::Number => "short",
            PanelUnit::Share => "percentunit",
            PanelUnit::Seconds => "s",
            PanelUnit::Bytes => "bytes",
            PanelUnit::BytesPerSecond => "Bps",
            PanelUnit::PerSecond => "cps",
            PanelUnit::Ago => "dateTimeFromNow",
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
pub const PANELS: &[DashboardPanel] = &[
    figure(
        "Health",
        "Health of the crawl: 0 green, 1 amber, 2 red. The reason is in /api/v1/status and on the dashboard.",
        PanelUnit::Number,
        &[(
            "recrawl_health{level=\"amber\",INSTANCE} + 2 * ignoring(level) recrawl_health{level=\"red\",INSTANCE}",
            "health",
        )],
    )
    .limited(&[amber(1.0), red(2.0)]),
    figure(
        "State",
        "State of the crawl, and the program's version.",
        PanelUnit::Number,
        &[("recrawl_state{} == 1", "{{state}}"), ("recrawl_build_info{}", "version {{version}}")],
    ),
    figure(
        "Pages",
        "Known, visited and gone pages.",
        PanelUnit::Number,
        &[
            ("recrawl_pages{}", "known"),
            ("recrawl_pages_visited{}", "visited"),
            ("recrawl_pages_gone{}", "gone"),
        ],
    ),
    figure("Hosts", "Known hosts.", PanelUnit::Number, &[("recrawl_hosts{}", "hosts")]),
    curves(
        "ChangeRate",
        "Share of the revisits selected by score that found a change, and the expected share. If it falls for \
         days, check the formula.",
        PanelUnit::Share,
        &[
            ("recrawl_last_cycle_change_ratio{}", "last cycle"),
            ("recrawl_last_cycle_promised_change_ratio{}", "expected"),
            ("recrawl_cycle_change_ratio{}", "this cycle so far"),
        ],
    ),
    curves(
        "Bursts",
        "Groups of siblings of which more pages changed than expected, when the last cycle was planned; 0 if the \
         formula reads no siblings.",
        PanelUnit::Number,
        &[("recrawl_last_cycle_bursts{}", "groups")],
    ),
    curves(
        "Freshness",
        "Share of pages whose copy is current, estimated from the audit sample, with its interval.",
        PanelUnit::Share,
        &[
            ("recrawl_freshness_ratio{}", "estimate"),
            ("recrawl_freshness_low_ratio{}", "low"),
            ("recrawl_freshness_high_ratio{}", "high"),
        ],
    ),
    curves(
        "Measured freshness",
        "Share of pages unchanged since their last visit, before the visits of a cycle, with its interval: mean of 28 \
         measured cycles (improve.mode).",
        PanelUnit::Share,
        &[
            ("recrawl_improve_freshness_ratio{}", "estimate"),
            ("recrawl_improve_freshness_low_ratio{}", "low"),
            ("recrawl_improve_freshness_high_ratio{}", "high"),
        ],
    ),
    curves(
        "Audit",
        "Audited pages that the measured freshness rests on.",
        PanelUnit::Number,
        &[("recrawl_improve_audited_pages{}", "audited pages")],
    ),
    curves(
        "Drift",
        "Changes that visits by score find beside what is expected: sums of a CUSUM, with an alarm above 5, and the \
         cycles since the last alarm.",
        PanelUnit::Number,
        &[
            ("recrawl_improve_drift_sum{}", "{{direction}} the norm"),
            ("recrawl_improve_alarm_age_cycles{}", "cycles since an alarm"),
        ],
    ),
    curves(
        "Population",
        "Largest stability index of the pages that compete by score, against 28 cycles before. 0.25 is much, if the pages are many.",
        PanelUnit::Number,
        &[
            ("recrawl_improve_population_psi{}", "largest index"),
            ("recrawl_improve_population_moved{}", "has moved"),
        ],
    ),
    curves(
        "Loop",
        "Step of the loop that learns and tries formulas, and whether an operator holds it.",
        PanelUnit::Number,
        &[("recrawl_improve_step{}", "{{step}}"), ("recrawl_improve_held{}", "held")],
    ),
    curves(
        "Loop events",
        "Promotions, roll-backs, and candidates that were refused or rejected, per day.",
        PanelUnit::Number,
        &[("increase(recrawl_improve_events_total{}[1d])", "{{event}}")],
    ),
    curves(
        "Learning",
        "Cycles since learning was begun, its period, and failures in a row.",
        PanelUnit::Number,
        &[
            ("recrawl_improve_cycles_since_learning{}", "cycles since learning"),
            ("recrawl_improve_learning_period_cycles{}", "period"),
            ("recrawl_learner_failures{}", "failures in a row"),
        ],
    ),
    curves(
        "Learner",
        "Processor time of learning per second, 1 being one core, and whether a learner runs.",
        PanelUnit::Number,
        &[
            ("rate(recrawl_learner_cpu_seconds_total{}[$__rate_interval])", "cores"),
            ("recrawl_learner_running{}", "running"),
        ],
    ),
    curves(
        "Rendering",
        "Pages rendered in a browser and given up, per second; their time, 1 being one tab; their requests; browsers started. \
         Only with a rule that asks for it.",
        PanelUnit::Number,
        &[
            ("rate(recrawl_rendered_pages_total{}[$__rate_interval])", "{{outcome}}"),
            ("rate(recrawl_render_seconds_total{}[$__rate_interval])", "tabs"),
            ("rate(recrawl_render_requests_total{}[$__rate_interval])", "requests {{answer}}"),
            ("rate(recrawl_browser_starts_total{}[$__rate_interval])", "browsers started"),
        ],
    ),
    curves(
        "Conversions",
        "Documents that commands converted and those of which they made no text, per second; their time, 1 being one command. \
         Only with a rule that asks for it.",
        PanelUnit::Number,
        &[
            ("rate(recrawl_converted_documents_total{}[$__rate_interval])", "{{outcome}}"),
            ("rate(recrawl_convert_seconds_total{}[$__rate_interval])", "commands"),
        ],
    ),
    curves(
        "Requisites",
        "Requisites of pages per second, by outcome. Only with a rule that asks for them.",
        PanelUnit::PerSecond,
        &[("rate(recrawl_requisites_total{}[$__rate_interval])", "{{outcome}}")],
    ),
    curves(
        "Requisite bytes",
        "Bytes of the bodies of requisites per second. Only with a rule that asks for them.",
        PanelUnit::BytesPerSecond,
        &[("rate(recrawl_requisite_bytes_total{}[$__rate_interval])", "bytes")],
    ),
    curves(
        "Nothing fetched",
        "Hosts of seeds of which no page can be fetched, and cycles in a row that fetched no page.",
        PanelUnit::Number,
        &[("recrawl_seed_hosts_failing{}", "hosts of seeds"), ("recrawl_idle_cycles{}", "cycles")],
    ),
    curves(
        "Promises",
        "Promises to visit pages in time that are kept for fewer pages than promised, and those that a limit keeps from \
         being kept.",
        PanelUnit::Number,
        &[("recrawl_promises_broken{}", "broken"), ("recrawl_promises_limited{}", "limited")],
    ),
    curves(
        "Changes delivered",
        "Messages of changes that the targets of [[notify]] took, a second, those that are pending, and rounds not read yet.",
        PanelUnit::Number,
        &[
            ("rate(recrawl_notify_delivered_total{}[$__rate_interval])", "{{target}}, taken"),
            ("recrawl_notify_waiting{}", "{{target}}, pending"),
            ("recrawl_notify_rounds_behind{}", "{{target}}, rounds behind"),
            ("rate(recrawl_notify_rounds_lost_total{}[$__rate_interval])", "{{target}}, rounds lost"),
            ("rate(recrawl_notify_given_up_total{}[$__rate_interval])", "{{target}}, given up"),
            ("recrawl_notify_failing{}", "{{target}}, failing"),
        ],
    ),
    curves(
        "Documents delivered",
        "Documents that the targets of [[deliver]] hold, those that are not confirmed, and those that they refused.",
        PanelUnit::Number,
        &[
            ("recrawl_deliver_documents{}", "{{target}}, delivered"),
            ("recrawl_deliver_waiting{}", "{{target}}, not confirmed"),
            ("recrawl_deliver_refused{}", "{{target}}, refused"),
            ("recrawl_deliver_failing{}", "{{target}}, failing"),
        ],
    ),
    curves(
        "Time since a delivery",
        "Time since the targets of [[deliver]] were last brought up to date.",
        PanelUnit::Seconds,
        &[("time() - recrawl_deliver_success_time_seconds{}", "{{target}}")],
    ),
    curves(
        "Vault",
        "Time that the oldest change has waited for the vault.",
        PanelUnit::Seconds,
        &[("recrawl_vault_age_seconds{}", "waiting"), ("recrawl_vault_late_seconds{}", "late")],
    ),
    curves(
        "Failed tries to ship",
        "Tries to ship to the vault that failed, a second.",
        PanelUnit::Number,
        &[("rate(recrawl_vault_failures_total{}[$__rate_interval])", "failed")],
    ),
    curves(
        "Not in the vault",
        "Visits and bodies that the vault has not.",
        PanelUnit::Bytes,
        &[("recrawl_vault_unshipped_bytes{}", "not shipped")],
    ),
    curves(
        "Partitions without an owner",
        "Leases for which a partition of the fleet has had no owner, or an owner no turns at addresses.",
        PanelUnit::Number,
        &[
            ("recrawl_fleet_unowned_leases{}", "partition {{partition}}"),
            ("recrawl_fleet_no_turns_leases{}", "no turns"),
        ],
    ),
    curves(
        "Signs of life",
        "Time since a process of the fleet told of itself, and since the store answered.",
        PanelUnit::Seconds,
        &[
            ("recrawl_fleet_node_age_seconds{}", "{{node}}"),
            ("recrawl_fleet_store_age_seconds{}", "store"),
        ],
    ),
    curves(
        "Cycles of partitions",
        "Cycle and epoch of each partition.",
        PanelUnit::Number,
        &[
            ("recrawl_fleet_cycle{}", "cycle of {{partition}} ({{node}})"),
            ("recrawl_fleet_epoch{}", "epoch of {{partition}} ({{node}})"),
        ],
    ),
    curves(
        "Links between partitions",
        "Runs of links that other partitions have not taken.",
        PanelUnit::Number,
        &[("recrawl_fleet_untaken_runs{}", "{{partition}} ({{node}})")],
    ),
    curves(
        "Partitions not in their vaults",
        "Visits and bodies of each partition that its vault has not.",
        PanelUnit::Bytes,
        &[("recrawl_fleet_unshipped_bytes{}", "{{partition}} ({{node}})")],
    ),
    curves(
        "Harvest and recall",
        "Of a focused crawl: the relevant share of the pages first judged in the last cycle, and the estimated share of all \
         relevant pages that was found, each with its 90 % interval.",
        PanelUnit::Share,
        &[
            ("recrawl_focus_harvest_ratio{}", "harvest"),
            ("recrawl_focus_harvest_low_ratio{}", "harvest, low"),
            ("recrawl_focus_harvest_high_ratio{}", "harvest, high"),
            ("recrawl_focus_recall_ratio{}", "recall"),
            ("recrawl_focus_recall_low_ratio{}", "recall, low"),
            ("recrawl_focus_recall_high_ratio{}", "recall, high"),
        ],
    ),
    curves(
        "Relevant pages",
        "Of a focused crawl: relevant pages known, pages of the last cycle that were drawn uniformly, and exhausted sites.",
        PanelUnit::Number,
        &[
            ("recrawl_focus_relevant_pages{}", "relevant"),
            ("recrawl_focus_explored_pages{}", "explored"),
            ("recrawl_focus_sites_exhausted{}", "exhausted sites"),
        ],
    ),
    curves(
        "Pages by outcome",
        "Scheduled pages by outcome.",
        PanelUnit::PerSecond,
        &[("rate(recrawl_pages_done_total{}[$__rate_interval])", "{{outcome}}")],
    ),
    curves(
        "Running cycle",
        "Progress of its schedule.",
        PanelUnit::Number,
        &[
            ("recrawl_cycle_pages_scheduled{}", "scheduled"),
            ("recrawl_cycle_pages_done{}", "done"),
            ("recrawl_cycle_requests_in_flight{}", "in flight"),
            ("recrawl_cycle_open_hosts{}", "open hosts"),
            ("recrawl_cycle_hosts_backed_off{}", "in back-off"),
        ],
    ),
    curves(
        "Time",
        "Cycle duration, time left, and time since the last progress.",
        PanelUnit::Seconds,
        &[
            ("recrawl_last_cycle_duration_seconds{}", "last cycle"),
            ("recrawl_cycle_seconds_left{}", "left"),
            ("recrawl_idle_seconds{}", "idle"),
            ("recrawl_stall_seconds{}", "idle at most"),
        ],
    ),
    curves(
        "Answers",
        "Requests for pages by answer. A failed one got none, or an invalid one.",
        PanelUnit::PerSecond,
        &[("rate(recrawl_answers_total{}[$__rate_interval])", "{{status}}")],
    ),
    curves(
        "Pings",
        "Pinged pages by result, while pings are on.",
        PanelUnit::PerSecond,
        &[("rate(recrawl_pings_total{}[$__rate_interval])", "{{result}}")],
    ),
    curves(
        "Response time",
        "From the request to the end of the body: half of the answers, and 95 %, were not slower.",
        PanelUnit::Seconds,
        &[
            ("histogram_quantile(0.5, sum by (le, instance) (rate(recrawl_answer_duration_seconds_bucket{}[$__rate_interval])))", "median"),
            ("histogram_quantile(0.95, sum by (le, instance) (rate(recrawl_answer_duration_seconds_bucket{}[$__rate_interval])))", "95 %"),
        ],
    ),
    curves(
        "Failures and back-off",
        "Share of the requested pages that failed, and of the open hosts in back-off. Above a fifth there is an alert.",
        PanelUnit::Share,
        &[
            (
                "sum by (instance) (rate(recrawl_pages_done_total{outcome=\"failed\",INSTANCE}[$__rate_interval])) / \
                 sum by (instance) (rate(recrawl_pages_done_total{outcome!~\"skipped|robots_denied|robots_unreachable|refused\",INSTANCE}[$__rate_interval]))",
                "failed",
            ),
            ("recrawl_cycle_hosts_backed_off{} / recrawl_cycle_open_hosts{}", "in back-off"),
        ],
    )
    .limited(&[amber(FAILED_SHARE)]),
    curves(
        "Budget",
        "Share of budget.bytes_per_cycle that is spent.",
        PanelUnit::Share,
        &[("recrawl_cycle_budget_used_ratio{}", "spent")],
    )
    .limited(&[amber(SPENT_SHARE)]),
    curves(
        "Visits",
        "Visits, 304 responses, requests of detours beyond one a visit, and links found, per second.",
        PanelUnit::PerSecond,
        &[
            ("rate(recrawl_visits_total{}[$__rate_interval])", "visits"),
            ("rate(recrawl_not_modified_total{}[$__rate_interval])", "not modified"),
            ("rate(recrawl_asked_again_total{}[$__rate_interval])", "asked again"),
            ("rate(recrawl_links_seen_total{}[$__rate_interval])", "links"),
        ],
    ),
    curves(
        "Bytes fetched",
        "Body bytes per second.",
        PanelUnit::BytesPerSecond,
        &[("rate(recrawl_body_bytes_total{}[$__rate_interval])", "bodies")],
    ),
    curves(
        "Disk and memory",
        "The crawl stops when free space falls below the reserve.",
        PanelUnit::Bytes,
        &[
            ("recrawl_disk_used_bytes{}", "data directory"),
            ("recrawl_disk_free_bytes{}", "free"),
            ("recrawl_disk_reserved_bytes{}", "reserved"),
            ("LOW_DISK_RESERVES * recrawl_disk_reserved_bytes{}", "free is low below"),
            ("process_resident_memory_bytes{}", "memory"),
        ],
    ),
    curves(
        "Processor",
        "Processor time per second: 1 is one core.",
        PanelUnit::Number,
        &[("rate(process_cpu_seconds_total{}[$__rate_interval])", "cores")],
    ),
    curves(
        "Open files",
        "Share of the allowed file descriptors that are open.",
        PanelUnit::Share,
        &[("process_open_fds{} / process_max_fds{}", "open")],
    )
    .limited(&[amber(FILES_SHARE)]),
    figure(
        "Early requests",
        "Requests sent before the delay of their host had passed. Above 0 is a bug.",
        PanelUnit::Number,
        &[("increase(recrawl_early_requests_total{}[$__range])", "early requests")],
    )
    .limited(&[red(0.5)]),
    figure(
        "Cycles",
        "Running cycle, last committed cycle, generation.",
        PanelUnit::Number,
        &[
            ("recrawl_cycle{}", "running"),
            ("recrawl_last_cycle{}", "last"),
            ("recrawl_generation{}", "generation"),
        ],
    ),
    figure(
        "Times",
        "Start of process and cycle, last commit, next cycle.",
        PanelUnit::Ago,
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
        PanelUnit::Number,
        &[("recrawl_hosts_paused{}", "paused hosts"), ("recrawl_patterns_blocked{}", "blocked patterns")],
    ),
    curves(
        "Cycles by result",
        "Committed and failed cycles per hour.",
        PanelUnit::Number,
        &[("increase(recrawl_cycles_total{}[1h])", "{{result}}")],
    ),
    curves(
        "Console",
        "Responses by status, rejected requests, event streams, and log lines dropped.",
        PanelUnit::PerSecond,
        &[
            ("rate(recrawl_console_answers_total{}[$__rate_interval])", "{{class}}"),
            ("rate(recrawl_console_refused_changes_total{}[$__rate_interval])", "rejected changes"),
            ("rate(recrawl_console_refused_connections_total{}[$__rate_interval])", "rejected connections"),
            ("recrawl_console_event_streams{}", "streams"),
            ("rate(recrawl_log_lines_lost_total{}[$__rate_interval])", "lost log lines"),
        ],
    ),
];

type Curves = &'static [(&'static str, &'static str)];

const fn figure(title: &'static str, about: &'static str, unit: PanelUnit, curves: Curves) -> DashboardPanel {
    DashboardPanel { title, about, unit, picture: Picture::Figure, limits: &[], curves }
}

const fn curves(title: &'static str, about: &'static str, unit: PanelUnit, curves: Curves) -> DashboardPanel {
    DashboardPanel { title, about, unit, picture: Picture::Curves, limits: &[], curves }
}

impl DashboardPanel {
    /// The same panel, with other colours from these values on.
    const fn limited(self, limits: &'static [PanelLimit]) -> DashboardPanel {
        DashboardPanel { limits, ..self }
    }
}

const fn amber(from: f64) -> PanelLimit {
    PanelLimit { from, colour: Colour::Amber }
}

const fn red(from: f64) -> PanelLimit {
    PanelLimit { from, colour: Colour::Red }
}
