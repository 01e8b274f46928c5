//! All metrics: name, kind, help, and how to read the value.
//!
//! Names follow the Prometheus conventions: base units, `_total` for counters, `_ratio` for shares
//! from 0 to 1. Pages and hosts never become label values. A counter is read from one counter,
//! never from the difference of two: those are not read at the same moment, and a step back looks
//! like a restart.

use super::MetricsReading;
use crate::view::{
    ConversionFigures, CopyFigures, Counts, CycleDone, CycleNow, FleetFigures, FocusFigures, Freshness,
    HealthLevel, Loop, LoopStep, PartitionFigures, Rendering, RequisiteMeters, State, TargetFigures,
    VaultFigures, Watch,
};

/// A metric.
pub struct ConsoleMetric {
    /// Name.
    pub name: &'static str,
    /// Kind.
    pub kind: MetricKind,
    /// Help, in one line.
    pub help: &'static str,
    /// Reads the value.
    pub read: MetricRead,
}

/// Kind of a metric.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows; starts at 0 with the process.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts of observations by size, which only grow.
    Histogram,
}

impl MetricKind {
    /// Prometheus' name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        }
    }
}

/// Reads the value of a metric.
pub enum MetricRead {
    /// A count.
    Count(fn(&MetricsReading<'_>) -> u64),
    /// A sum that only grows.
    Sum(fn(&MetricsReading<'_>) -> f64),
    /// Observations by size.
    Histogram(for<'a> fn(&MetricsReading<'a>) -> Histogram<'a>),
    /// One value, if there is one now.
    One(fn(&MetricsReading<'_>) -> Option<f64>),
    /// A label, and one value for each of its values.
    Each(&'static str, fn(&MetricsReading<'_>) -> Vec<(String, f64)>),
    /// One value for each partition of a fleet, with its number and its owner.
    OfPartitions(fn(&MetricsReading<'_>) -> Vec<(u32, String, f64)>),
}

/// A histogram.
pub struct Histogram<'a> {
    /// Upper bounds of its buckets, in ascending order.
    pub bounds: &'a [f64],
    /// Observations in each bucket, and those above the last bound.
    pub buckets: &'a [u64],
    /// Sum of the observed values.
    pub sum: f64,
}

/// All metrics.
pub const METRICS: &[ConsoleMetric] = &[
    each("recrawl_build_info", MetricKind::Gauge, "Always 1; the label is the version.", "version", |r| {
        vec![(r.status.version.clone(), 1.0)]
    }),
    gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.", |r| {
        seconds(Some(r.status.started))
    }),
    gauge("process_resident_memory_bytes", "Resident memory of the process.", |r| {
        r.status.memory_bytes.map(count)
    }),
    ConsoleMetric {
        name: "process_cpu_seconds_total",
        kind: MetricKind::Counter,
        help: "Processor time of the process, in seconds.",
        read: MetricRead::Sum(|r| r.meters.cpu_seconds),
    },
    gauge("process_open_fds", "Open file descriptors.", |r| r.meters.open_files.map(count)),
    gauge("process_max_fds", "Limit of open file descriptors.", |r| r.meters.max_files.map(count)),
    each("recrawl_health", MetricKind::Gauge, "1 for the current health, 0 for all others.", "level", |r| {
        let is = |level: HealthLevel| f64::from(u8::from(level == r.status.health.level));
        HealthLevel::ALL.iter().map(|&level| (level.to_string(), is(level))).collect()
    }),
    each("recrawl_state", MetricKind::Gauge, "1 for the current state, 0 for all others.", "state", |r| {
        let is = |state: State| f64::from(u8::from(state == r.status.state));
        State::ALL.iter().map(|&state| (state.to_string(), is(state))).collect()
    }),
    gauge(
        "recrawl_idle_seconds",
        "Seconds since the crawl last made progress. Small also while it waits for its next cycle.",
        |r| seconds(Some(r.status.idle_ms)),
    ),
    gauge(
        "recrawl_stall_seconds",
        "Seconds without progress after which the crawl counts as stalled.",
        |r| seconds(Some(r.status.stall_ms)),
    ),
    gauge("recrawl_generation", "The last committed generation.", |r| Some(count(r.status.generation))),
    gauge("recrawl_pages", "Known pages.", |r| Some(count(r.status.pages))),
    gauge("recrawl_pages_visited", "Pages fetched at least once.", |r| Some(count(r.status.visited))),
    gauge("recrawl_pages_gone", "Pages confirmed gone.", |r| Some(count(r.status.gone))),
    gauge("recrawl_hosts", "Known hosts.", |r| Some(count(r.status.hosts))),
    gauge("recrawl_hosts_paused", "Hosts paused by operators.", |r| Some(count(r.status.paused_hosts))),
    gauge("recrawl_patterns_blocked", "Patterns blocked by operators.", |r| Some(count(r.status.blocked))),
    gauge("recrawl_disk_used_bytes", "Bytes used by the data directory, as last counted.", |r| {
        Some(count(r.status.bytes_on_disk))
    }),
    gauge("recrawl_disk_free_bytes", "Free bytes on the disk of the data directory.", |r| {
        r.status.bytes_free.map(count)
    }),
    gauge("recrawl_disk_reserved_bytes", "Free bytes below which the crawl stops (storage.reserve).", |r| {
        Some(count(r.status.bytes_reserved))
    }),
    each("recrawl_pages_done_total", MetricKind::Counter, "Scheduled pages by outcome.", "outcome", |r| {
        OUTCOMES.iter().map(|(name, read)| ((*name).to_owned(), count(read(&r.status.totals)))).collect()
    }),
    each(
        "recrawl_answers_total",
        MetricKind::Counter,
        "Requests for pages by answer. A failed one got none, or an invalid one.",
        "status",
        |r| r.meters.answers.by_status().map(|(status, n)| (status.to_owned(), count(n))).into(),
    ),
    each(
        "recrawl_pings_total",
        MetricKind::Counter,
        "Pinged pages by result, while pings are on.",
        "result",
        |r| {
            let results = r.status.pings.iter().flat_map(|pings| &pings.results);
            results.map(|(result, pages)| (result.clone(), count(*pages))).collect()
        },
    ),
    ConsoleMetric {
        name: "recrawl_answer_duration_seconds",
        kind: MetricKind::Histogram,
        help: "Response times of pages, from the request to the end of the body.",
        read: MetricRead::Histogram(|r| Histogram {
            bounds: &r.meters.times.0,
            buckets: &r.meters.times.1,
            sum: r.meters.total_time,
        }),
    },
    counter(
        "recrawl_visits_total",
        "Pages fetched, not modified or redirected, including first visits.",
        |r| r.status.totals.fetched,
    ),
    counter("recrawl_not_modified_total", "Visits answered with 304.", |r| r.status.totals.not_modified),
    counter(
        "recrawl_asked_again_total",
        "Requests of detours for a cookie beyond one a visit. Counted when their round ends.",
        |r| r.status.totals.asked_again,
    ),
    counter("recrawl_links_seen_total", "Links found, repeats included.", |r| r.status.totals.links_seen),
    counter("recrawl_body_bytes_total", "Body bytes.", |r| r.status.totals.bytes),
    counter(
        "recrawl_early_requests_total",
        "Requests sent before the delay of their host or address had passed. Above 0 is a bug.",
        |r| r.status.early_requests,
    ),
    counter(
        "recrawl_log_lines_lost_total",
        "Log lines dropped because standard error was not being read.",
        |r| r.status.log_lines_lost,
    ),
    each("recrawl_cycles_total", MetricKind::Counter, "Cycles by result.", "result", |r| {
        vec![
            ("committed".into(), count(r.status.cycles_done)),
            ("failed".into(), count(r.status.cycles_failed)),
        ]
    }),
    gauge("recrawl_next_cycle_time_seconds", "Start of the next cycle, in seconds since 1970.", |r| {
        seconds(r.status.next_cycle_at)
    }),
    gauge("recrawl_cycle", "The running cycle.", |r| now(r).map(|c| count(c.cycle))),
    gauge("recrawl_cycle_start_time_seconds", "Start of the running cycle, in seconds since 1970.", |r| {
        seconds(now(r).map(|c| c.started))
    }),
    gauge("recrawl_cycle_pages_scheduled", "Pages in the schedule of the running cycle.", |r| {
        now(r).map(|c| count(c.scheduled))
    }),
    gauge("recrawl_cycle_pages_done", "Finished pages of that schedule.", |r| now(r).map(|c| count(c.done))),
    gauge("recrawl_cycle_requests_in_flight", "Requests in flight.", |r| now(r).map(|c| count(c.in_flight))),
    gauge("recrawl_cycle_open_hosts", "Hosts in memory with pages left to fetch.", |r| {
        now(r).map(|c| count(c.open_hosts))
    }),
    gauge("recrawl_cycle_hosts_backed_off", "Of the open hosts, those in back-off.", |r| {
        now(r).map(|c| count(c.backed_off))
    }),
    gauge("recrawl_cycle_budget_used_ratio", "Share of budget.bytes_per_cycle that is spent.", |r| {
        r.status.budget.as_ref().map(|budget| budget.used())
    }),
    gauge("recrawl_cycle_seconds_left", "Estimated seconds until the schedule is finished.", |r| {
        now(r)?.seconds_left
    }),
    gauge(
        "recrawl_cycle_change_ratio",
        "ChangeRate of the running cycle so far (pages chosen by score).",
        |r| now(r)?.change_rate,
    ),
    gauge("recrawl_last_cycle", "The last committed cycle.", |r| last(r).map(|c| count(c.cycle))),
    gauge("recrawl_last_cycle_end_time_seconds", "Commit of the last cycle, in seconds since 1970.", |r| {
        seconds(last(r).map(|c| c.ended))
    }),
    gauge(
        "recrawl_last_cycle_duration_seconds",
        "Duration of the last cycle in seconds, including interruptions.",
        |r| last(r).map(|c| c.seconds),
    ),
    gauge("recrawl_last_cycle_change_ratio", "ChangeRate of the last cycle.", |r| last(r)?.change_rate),
    gauge("recrawl_last_cycle_promised_change_ratio", "Expected ChangeRate of the last cycle.", |r| {
        Some(last(r)?.promise.as_ref()?.change_rate)
    }),
    gauge(
        "recrawl_last_cycle_bursts",
        "Groups of siblings of which more pages changed than expected, when the last cycle was planned.",
        |r| last(r).map(|c| count(c.bursts)),
    ),
    gauge("recrawl_freshness_ratio", "Share of pages whose copy is current, by the audit sample.", |r| {
        fresh(r).map(|f| f.share)
    }),
    gauge("recrawl_freshness_low_ratio", "Lower bound of freshness (95 % interval).", |r| {
        fresh(r).map(|f| f.low)
    }),
    gauge("recrawl_freshness_high_ratio", "Upper bound of freshness (95 % interval).", |r| {
        fresh(r).map(|f| f.high)
    }),
    gauge(
        "recrawl_improve_freshness_ratio",
        "Share of pages unchanged since their last visit, before the visits of a cycle: mean of 28 cycles.",
        |r| Some(watch(r)?.freshness?.share),
    ),
    gauge("recrawl_improve_freshness_low_ratio", "Its lower bound (95 % interval).", |r| {
        Some(watch(r)?.freshness?.low)
    }),
    gauge("recrawl_improve_freshness_high_ratio", "Its upper bound (95 % interval).", |r| {
        Some(watch(r)?.freshness?.high)
    }),
    gauge("recrawl_improve_audited_pages", "Audited pages that it rests on.", |r| {
        watch(r).map(|watch| count(watch.pages))
    }),
    each(
        "recrawl_improve_drift_sum",
        MetricKind::Gauge,
        "Sums of the CUSUM of changes by score, in deviations. Above 5 is an alarm.",
        "direction",
        |r| {
            let sums =
                watch(r).map(|w| [("above".to_owned(), w.drift.above), ("below".to_owned(), w.drift.below)]);
            sums.into_iter().flatten().collect()
        },
    ),
    gauge(
        "recrawl_improve_alarm_age_cycles",
        "Cycles since visits by score found other numbers of changes than expected.",
        |r| watch(r).and_then(|w| Some(count(w.last.saturating_sub(w.drift.alarm?.cycle)))),
    ),
    gauge(
        "recrawl_improve_population_psi",
        "Largest stability index of the pages that compete by score, against 28 cycles before; absent where there is too \
         little to tell.",
        |r| watch(r)?.population.max(),
    ),
    gauge(
        "recrawl_improve_population_moved",
        "1 if an index reached its limit in three cycles in a row, else 0; absent likewise.",
        |r| watch(r)?.population.has_moved.map(truth),
    ),
    each(
        "recrawl_improve_step",
        MetricKind::Gauge,
        "1 for the step of the loop, 0 for all others.",
        "step",
        |r| {
            let is = |step: LoopStep| improve_loop(r).map(|stands| truth(stands.step == step));
            LoopStep::ALL.iter().filter_map(|&step| Some((step.to_string(), is(step)?))).collect()
        },
    ),
    gauge("recrawl_improve_held", "1 if an operator holds the loop, else 0.", |r| {
        improve_loop(r).map(|stands| truth(stands.is_held))
    }),
    each(
        "recrawl_improve_events_total",
        MetricKind::Counter,
        "Events of the loop, such as promotions, roll-backs, and candidates refused or rejected.",
        "event",
        |r| r.meters.loop_events.iter().map(|(kind, n)| (kind.to_string(), count(*n))).collect(),
    ),
    gauge("recrawl_improve_cycles_since_learning", "Cycles since learning was begun.", |r| {
        improve_loop(r).map(|stands| count(stands.learner.cycles_since))
    }),
    gauge(
        "recrawl_improve_learning_period_cycles",
        "Cycles between two times of learning (improve.every).",
        |r| improve_loop(r).map(|stands| count(stands.terms.every)),
    ),
    each(
        "recrawl_rendered_pages_total",
        MetricKind::Counter,
        "Pages rendered in a browser, and those given up.",
        "outcome",
        |r| of_rendering(r, |of| vec![("rendered", of.rendered), ("failed", of.failed)]),
    ),
    ConsoleMetric {
        name: "recrawl_render_seconds_total",
        kind: MetricKind::Counter,
        help: "Time in which pages were rendered, in seconds, summed over pages.",
        read: MetricRead::One(|r| r.meters.rendering.as_ref().map(|of| of.seconds)),
    },
    each(
        "recrawl_render_requests_total",
        MetricKind::Counter,
        "Requests of pages that are rendered: sent, answered by what was kept, refused.",
        "answer",
        |r| of_rendering(r, |of| vec![("sent", of.sent), ("kept", of.kept), ("refused", of.refused)]),
    ),
    ConsoleMetric {
        name: "recrawl_browser_starts_total",
        kind: MetricKind::Counter,
        help: "Browsers started: each round starts one, and so does a crash.",
        read: MetricRead::One(|r| r.meters.rendering.as_ref().map(|of| count(of.starts))),
    },
    each(
        "recrawl_converted_documents_total",
        MetricKind::Counter,
        "Documents that a command converted, and those of which it made no text.",
        "outcome",
        |r| {
            let counts = |of: &ConversionFigures| vec![("converted", of.converted), ("failed", of.failed)];
            by_name(r.status.conversions.as_ref().map(counts))
        },
    ),
    ConsoleMetric {
        name: "recrawl_convert_seconds_total",
        kind: MetricKind::Counter,
        help: "Time of commands that convert documents, in seconds, summed over documents.",
        read: MetricRead::One(|r| r.status.conversions.as_ref().map(|of| of.seconds)),
    },
    each(
        "recrawl_requisites_total",
        MetricKind::Counter,
        "Requisites of pages: requested, archived, as before, refused, failed, left out.",
        "outcome",
        |r| {
            let counts = |of: &RequisiteMeters| {
                vec![
                    ("requested", of.requested),
                    ("archived", of.archived),
                    ("same", of.same),
                    ("refused", of.refused),
                    ("failed", of.failed),
                    ("left_out", of.left_out),
                ]
            };
            by_name(r.meters.requisites.as_ref().map(counts))
        },
    ),
    ConsoleMetric {
        name: "recrawl_requisite_bytes_total",
        kind: MetricKind::Counter,
        help: "Bytes of the bodies of requisites that came.",
        read: MetricRead::One(|r| r.meters.requisites.as_ref().map(|of| count(of.bytes))),
    },
    gauge("recrawl_learner_running", "1 while a formula is learned, else 0.", |r| {
        improve_loop(r).map(|stands| truth(stands.learner.running_since.is_some()))
    }),
    gauge("recrawl_learner_failures", "Times in a row that learning failed.", |r| {
        improve_loop(r).map(|stands| count(stands.learner.failures))
    }),
    ConsoleMetric {
        name: "recrawl_learner_cpu_seconds_total",
        kind: MetricKind::Counter,
        help: "Processor time of learning, in seconds.",
        read: MetricRead::Sum(|r| improve_loop(r).map_or(0.0, |stands| stands.learner.cpu_seconds)),
    },
    gauge(
        "recrawl_seed_hosts_failing",
        "Hosts of seeds of which no page can be fetched; at most 100 are counted.",
        |r| Some(count(r.status.failing_seed_hosts.len() as u64)),
    ),
    gauge("recrawl_idle_cycles", "Cycles in a row that fetched no page; at most 11 are counted.", |r| {
        Some(count(r.status.idle_cycles))
    }),
    gauge(
        "recrawl_promises_broken",
        "Promises kept for fewer pages than promised when the last cycle began.",
        |r| r.status.promises.as_ref().map(|promises| count(promises.broken)),
    ),
    gauge("recrawl_promises_limited", "Promises that a limit keeps from being kept, likewise.", |r| {
        r.status.promises.as_ref().map(|promises| count(promises.limited))
    }),
    each(
        "recrawl_notify_delivered_total",
        MetricKind::Counter,
        "Messages of changes that a target took.",
        "target",
        |r| of_targets(r, |target| target.delivered),
    ),
    each(
        "recrawl_notify_given_up_total",
        MetricKind::Counter,
        "Messages of changes given up, since the target refused them for a day.",
        "target",
        |r| of_targets(r, |target| target.given_up),
    ),
    each(
        "recrawl_notify_waiting",
        MetricKind::Gauge,
        "Messages that were read and that a target has not taken yet. Of a target that fails, few are read.",
        "target",
        |r| of_targets(r, |target| target.waiting),
    ),
    each(
        "recrawl_notify_rounds_behind",
        MetricKind::Gauge,
        "Committed rounds that are not read for a target yet.",
        "target",
        |r| of_targets(r, |target| target.rounds_behind),
    ),
    each(
        "recrawl_notify_rounds_lost_total",
        MetricKind::Counter,
        "Rounds whose visits were removed or damaged before a target took their changes.",
        "target",
        |r| of_targets(r, |target| target.rounds_lost),
    ),
    each(
        "recrawl_notify_failing",
        MetricKind::Gauge,
        "1 while a target takes no message, else 0.",
        "target",
        |r| of_targets(r, |target| target.failing_since.is_some().into()),
    ),
    each("recrawl_deliver_documents", MetricKind::Gauge, "Documents that a target took.", "target", |r| {
        of_copies(r, |copy| Some(copy.delivered))
    }),
    each(
        "recrawl_deliver_waiting",
        MetricKind::Gauge,
        "Documents that a target has not confirmed, or is about to get or lose.",
        "target",
        |r| of_copies(r, |copy| Some(copy.waiting)),
    ),
    each(
        "recrawl_deliver_refused",
        MetricKind::Gauge,
        "Documents that a target refused, until their pages change.",
        "target",
        |r| of_copies(r, |copy| Some(copy.refused)),
    ),
    each(
        "recrawl_deliver_success_time_seconds",
        MetricKind::Gauge,
        "When a target was last brought up to date, since the start.",
        "target",
        |r| of_copies(r, |copy| copy.delivered_at.map(|at| at / 1000)),
    ),
    each(
        "recrawl_deliver_failing",
        MetricKind::Gauge,
        "1 while a target takes no documents, else 0.",
        "target",
        |r| of_copies(r, |copy| Some(copy.failing_since.is_some().into())),
    ),
    gauge(
        "recrawl_vault_age_seconds",
        "Time that the oldest change has waited for the vault; 0 if it has all.",
        |r| vault(r).map(|vault| vault.age_ms(r.status.now) as f64 / 1000.0),
    ),
    gauge("recrawl_vault_late_seconds", "The age above which the vault is late.", |r| {
        vault(r).map(|vault| vault.late_ms() as f64 / 1000.0)
    }),
    gauge("recrawl_vault_unshipped_bytes", "Visits and bodies that the vault has not, in bytes.", |r| {
        vault(r).map(|vault| count(vault.unshipped))
    }),
    ConsoleMetric {
        name: "recrawl_vault_failures_total",
        kind: MetricKind::Counter,
        help: "Attempts to ship to the vault that failed.",
        read: MetricRead::One(|r| vault(r).map(|vault| count(vault.failures))),
    },
    each(
        "recrawl_fleet_node_age_seconds",
        MetricKind::Gauge,
        "Time since a process of the fleet told of itself.",
        "node",
        |r| {
            let nodes = fleet(r).into_iter().flat_map(|fleet| &fleet.nodes);
            nodes.map(|node| (node.name.clone(), node.age_ms as f64 / 1000.0)).collect()
        },
    ),
    each(
        "recrawl_fleet_unowned_leases",
        MetricKind::Gauge,
        "Leases for which a partition has had no owner; 0 if it has one.",
        "partition",
        |r| {
            let all = fleet(r).into_iter().flat_map(|fleet| {
                let leases =
                    |partition: &PartitionFigures| partition.unowned_ms as f64 / fleet.lease_ms as f64;
                fleet.partitions.iter().map(move |one| (one.partition.to_string(), leases(one)))
            });
            all.collect()
        },
    ),
    of_partitions("recrawl_fleet_epoch", "The epoch of a partition's owner.", |r| owned(r, |one| one.epoch)),
    of_partitions("recrawl_fleet_cycle", "The cycle of a partition.", |r| owned(r, |one| one.cycle.into())),
    of_partitions("recrawl_fleet_unshipped_bytes", "Bytes that the vault of a partition has not.", |r| {
        owned(r, |one| one.unshipped)
    }),
    of_partitions("recrawl_fleet_untaken_runs", "Runs of links that other partitions have not taken.", |r| {
        owned(r, |one| one.untaken_runs)
    }),
    gauge(
        "recrawl_fleet_no_turns_leases",
        "Leases for which this process has had no turns at addresses.",
        |r| fleet(r).map(|fleet| fleet.turns_unknown_ms as f64 / fleet.lease_ms as f64),
    ),
    gauge("recrawl_fleet_store_age_seconds", "Time since the store of the fleet answered.", |r| {
        fleet(r).map(|fleet| fleet.store_age_ms as f64 / 1000.0)
    }),
    gauge("recrawl_focus_relevant_pages", "Relevant pages known to a focused crawl.", |r| {
        focus(r).map(|focus| count(focus.relevant_known))
    }),
    gauge(
        "recrawl_focus_harvest_ratio",
        "Relevant share of the pages first judged in the last cycle.",
        |r| focus(r)?.harvest_rate,
    ),
    gauge("recrawl_focus_harvest_low_ratio", "Its lower bound (90 % interval).", |r| focus(r)?.harvest_low),
    gauge("recrawl_focus_harvest_high_ratio", "Its upper bound (90 % interval).", |r| focus(r)?.harvest_high),
    gauge("recrawl_focus_recall_ratio", "Estimated share of all relevant pages that was found.", |r| {
        focus(r)?.recall_estimate
    }),
    gauge("recrawl_focus_recall_low_ratio", "Its lower bound (90 % interval).", |r| focus(r)?.recall_low),
    gauge("recrawl_focus_recall_high_ratio", "Its upper bound (90 % interval).", |r| focus(r)?.recall_high),
    gauge("recrawl_focus_explored_pages", "Pages of the last cycle that were drawn uniformly.", |r| {
        focus(r).map(|focus| count(focus.explored))
    }),
    gauge("recrawl_focus_sites_exhausted", "Sites whose new URLs are visited only if drawn.", |r| {
        focus(r).map(|focus| count(focus.sites_exhausted))
    }),
    each(
        "recrawl_console_answers_total",
        MetricKind::Counter,
        "Responses of the console by status class.",
        "class",
        |r| {
            (1..)
                .zip(r.traffic.answers())
                .map(|(digit, answers)| (format!("{digit}xx"), count(answers)))
                .collect()
        },
    ),
    counter("recrawl_console_refused_changes_total", "Changes rejected for lack of a valid token.", |r| {
        r.traffic.refused_changes()
    }),
    counter(
        "recrawl_console_refused_connections_total",
        "Connections rejected because of serve.connections.",
        |r| r.traffic.refused_connections(),
    ),
    gauge("recrawl_console_event_streams", "Open event streams.", |r| Some(r.streams as f64)),
];

/// An outcome and its count.
type OutcomeCount = (&'static str, fn(&Counts) -> u64);

/// The outcomes of scheduled pages, without overlap.
const OUTCOMES: &[OutcomeCount] = &[
    ("first", |c| c.first_visits),
    ("changed", |c| c.changed),
    ("unchanged", |c| c.unchanged),
    ("failed", |c| c.failed),
    ("not_found", |c| c.not_found),
    ("robots_denied", |c| c.robots_denied),
    ("robots_unreachable", |c| c.robots_unreachable),
    ("refused", |c| c.refused),
    ("skipped", |c| c.skipped),
];

fn vault<'r>(r: &MetricsReading<'r>) -> Option<&'r VaultFigures> {
    r.status.vault.as_ref()
}

fn fleet<'r>(r: &MetricsReading<'r>) -> Option<&'r FleetFigures> {
    r.status.fleet.as_ref()
}

/// A figure of each target of `[[notify]]`.
fn of_targets(r: &MetricsReading<'_>, figure: fn(&TargetFigures) -> u64) -> Vec<(String, f64)> {
    r.status.notify.iter().map(|target| (target.name.clone(), count(figure(target)))).collect()
}

/// A figure of each target of `[[deliver]]`.
fn of_copies(r: &MetricsReading<'_>, figure: fn(&CopyFigures) -> Option<u64>) -> Vec<(String, f64)> {
    let copies = r.status.deliver.iter();
    copies.filter_map(|copy| Some((copy.name.clone(), count(figure(copy)?)))).collect()
}

/// A gauge of each partition of a fleet.
const fn of_partitions(
    name: &'static str,
    help: &'static str,
    read: fn(&MetricsReading<'_>) -> Vec<(u32, String, f64)>,
) -> ConsoleMetric {
    ConsoleMetric { name, kind: MetricKind::Gauge, help, read: MetricRead::OfPartitions(read) }
}

/// A figure of each partition that has an owner.
fn owned(r: &MetricsReading<'_>, figure: fn(&PartitionFigures) -> u64) -> Vec<(u32, String, f64)> {
    let partitions = fleet(r).into_iter().flat_map(|fleet| &fleet.partitions);
    partitions.filter_map(|one| Some((one.partition, one.owner.clone()?, count(figure(one))))).collect()
}

/// A counter. It reads an integer count, so that no other value can be a counter.
const fn counter(
    name: &'static str,
    help: &'static str,
    read: fn(&MetricsReading<'_>) -> u64,
) -> ConsoleMetric {
    ConsoleMetric { name, kind: MetricKind::Counter, help, read: MetricRead::Count(read) }
}

const fn gauge(
    name: &'static str,
    help: &'static str,
    read: fn(&MetricsReading<'_>) -> Option<f64>,
) -> ConsoleMetric {
    ConsoleMetric { name, kind: MetricKind::Gauge, help, read: MetricRead::One(read) }
}

const fn each(
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    label: &'static str,
    read: fn(&MetricsReading<'_>) -> Vec<(String, f64)>,
) -> ConsoleMetric {
    ConsoleMetric { name, kind, help, read: MetricRead::Each(label, read) }
}

/// Prometheus values are floating-point; counts are exact up to 2^53.
fn count(n: u64) -> f64 {
    n as f64
}

fn seconds(milliseconds: Option<u64>) -> Option<f64> {
    milliseconds.map(|ms| ms as f64 / 1000.0)
}

fn now<'a>(reading: &MetricsReading<'a>) -> Option<&'a CycleNow> {
    reading.status.cycle.as_ref()
}

fn last<'a>(reading: &MetricsReading<'a>) -> Option<&'a CycleDone> {
    reading.status.last.as_ref()
}

fn watch<'a>(reading: &MetricsReading<'a>) -> Option<&'a Watch> {
    reading.improve.watch.as_ref()
}

fn focus<'a>(reading: &MetricsReading<'a>) -> Option<&'a FocusFigures> {
    reading.status.focus.as_ref()
}

fn improve_loop<'a>(reading: &MetricsReading<'a>) -> Option<&'a Loop> {
    reading.improve.stands.as_ref()
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn fresh<'a>(reading: &MetricsReading<'a>) -> Option<&'a Freshness> {
    reading.status.freshness.as_ref()
}

/// Counts of pages that are rendered, by their names; empty if none is.
fn of_rendering(
    r: &MetricsReading<'_>,
    counts: fn(&Rendering) -> Vec<(&'static str, u64)>,
) -> Vec<(String, f64)> {
    by_name(r.meters.rendering.as_ref().map(counts))
}

fn by_name(counts: Option<Vec<(&'static str, u64)>>) -> Vec<(String, f64)> {
    counts.unwrap_or_default().into_iter().map(|(name, n)| (name.to_owned(), count(n))).collect()
}
