mod promtool;

use super::registry::MetricKind;
use super::*;
use crate::tests::crawl::{meters, status};
use crate::tests::improve::improve;
use crate::view::ImproveMode;
use promtool::promtool;
use std::collections::BTreeSet;

fn names() -> BTreeSet<&'static str> {
    METRICS.iter().map(|metric| metric.name).collect()
}

fn all() -> String {
    let traffic = Traffic::default();
    traffic.answered(axum::http::StatusCode::NOT_FOUND);
    let (status, meters, improve) = (status(), meters(), improve());
    text(&MetricsReading {
        status: &status,
        meters: &meters,
        improve: &improve,
        traffic: &traffic,
        streams: 3,
    })
}

#[test]
fn names_and_help_follow_the_conventions() {
    assert_eq!(names().len(), METRICS.len(), "a name is given once");
    for ConsoleMetric { name, kind, help, .. } in METRICS {
        assert!(name.starts_with("recrawl_") || name.starts_with("process_"), "{name}");
        assert_eq!(name.ends_with("_total"), *kind == MetricKind::Counter, "{name}");
        assert!(help.ends_with('.') && !help.contains(['\n', '\\', '|']), "{name}: {help}");
        for unit in ["_ms", "_milliseconds", "_minutes", "_kilobytes", "_percent", "_rate"] {
            assert!(!name.contains(unit), "{name}: base units");
        }
    }
}

#[test]
fn every_metric_is_told_once_with_its_values() {
    let text = all();
    for ConsoleMetric { name, kind, help, .. } in METRICS {
        let head = format!("# HELP {name} {help}\n# TYPE {name} {}\n{name}", kind.name());
        assert_eq!(text.matches(&head).count(), 1, "{name} in\n{text}");
    }
    for line in [
        "recrawl_state{state=\"crawling\"} 1",
        "recrawl_state{state=\"paused\"} 0",
        "recrawl_generation 7",
        "recrawl_idle_seconds 0.25",
        "recrawl_pages_done_total{outcome=\"changed\"} 40",
        "recrawl_last_cycle_change_ratio 0.25",
        "recrawl_console_answers_total{class=\"4xx\"} 1",
        "recrawl_console_event_streams 3",
        "recrawl_health{level=\"green\"} 1",
        "recrawl_health{level=\"red\"} 0",
        "recrawl_answers_total{status=\"304\"} 20",
        "recrawl_vault_age_seconds 2",
        "recrawl_vault_unshipped_bytes 4096",
        "recrawl_vault_failures_total 2",
        "recrawl_fleet_node_age_seconds{node=\"b\"} 135",
        "recrawl_fleet_unowned_leases{partition=\"2\"} 1.5",
        "recrawl_fleet_epoch{partition=\"1\",node=\"a\"} 4",
        "recrawl_fleet_cycle{partition=\"1\",node=\"a\"} 7",
        "recrawl_fleet_untaken_runs{partition=\"1\",node=\"a\"} 3",
        "recrawl_fleet_store_age_seconds 5",
        "recrawl_pings_total{result=\"taken\"} 12",
        "recrawl_answer_duration_seconds_bucket{le=\"0.1\"} 60",
        "recrawl_answer_duration_seconds_bucket{le=\"0.5\"} 95",
        "recrawl_answer_duration_seconds_bucket{le=\"+Inf\"} 100",
        "recrawl_answer_duration_seconds_sum 12.5",
        "recrawl_answer_duration_seconds_count 100",
        "process_cpu_seconds_total 7.25",
        "recrawl_improve_freshness_ratio 0.83",
        "recrawl_improve_drift_sum{direction=\"below\"} 1.5",
        "recrawl_improve_alarm_age_cycles 3",
        "recrawl_improve_population_psi 0.04",
        "recrawl_improve_population_moved 0",
        "recrawl_improve_step{step=\"trial\"} 1",
        "recrawl_improve_step{step=\"idle\"} 0",
        "recrawl_improve_events_total{event=\"rolled_back\"} 2",
        "recrawl_learner_running 1",
        "recrawl_learner_cpu_seconds_total 12.5",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }
}

/// Figures that no metric reads, by why none does.
const NOT_METRICS: &[(&str, &[&str])] = &[
    (
        "a moment: the age or the count beside it is a metric, or its alert is one of health",
        &[
            "CycleNow.deadline",
            "CycleNow.ends_by",
            "Fetching.since",
            "FleetFigures.turns_begin_ms",
            "NextRound.at",
            "SeedsRefused.at",
            "TargetFigures.lost_at",
            "VaultFigures.shipped_at",
            "VaultFigures.waiting_since",
        ],
    ),
    ("of one host", &["HostNow.delay_ms", "HostNow.latency_ms", "HostNow.queue"]),
    ("a setting", &["ByteBudget.limit", "VaultFigures.ship_ms"]),
    (
        "its cause is told by health, and by an alert of that",
        &[
            "ConversionFigures.failed_in_a_row",
            "FleetFigures.hosts_waiting",
            "NodeFigures.is_silent",
            "SeedsRefused.seeds",
            "Status.needs_contact",
            "VaultFigures.is_waited_for",
        ],
    ),
    (
        "a step of what is counted at its end",
        &[
            "ByteBudget.spent",
            "CycleNow.passed",
            "CycleNow.round",
            "CycleNow.to_pass",
            "FleetFigures.clock_bound_ms",
            "FocusFigures.discovered",
            "FocusFigures.relevant_found",
            "Freshness.answered",
            "Freshness.effective",
            "Freshness.unanswered",
            "PromiseFigures.made",
            "Status.seeds_waiting",
        ],
    ),
];

#[test]
fn each_figure_of_the_status_is_a_metric_or_says_why_not() {
    let registry = include_str!("registry.rs");
    let is_read = |field: &str| {
        let read = format!(".{field}");
        let goes_on =
            |at: usize| registry[at + read.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        registry.match_indices(&read).any(|(at, _)| !goes_on(at))
    };
    let (mut figures, mut owner) = (BTreeSet::new(), "");
    let figures_of = [include_str!("../view/status.rs"), include_str!("../view/fleet.rs")];
    for line in figures_of.into_iter().flat_map(str::lines) {
        if let Some(name) = line.strip_prefix("pub struct ") {
            owner = name.split(' ').next().unwrap();
        } else if let Some((field, of)) = line
            .strip_prefix("    pub ")
            .filter(|line| !line.starts_with("fn "))
            .and_then(|line| line.split_once(": "))
        {
            let is_figure = ["u64", "u32", "f64", "bool"].iter().any(|kind| of.contains(kind));
            figures.extend((is_figure && !is_read(field)).then(|| format!("{owner}.{field}")));
        }
    }
    let told = NOT_METRICS.iter().flat_map(|(_, figures)| *figures).map(|figure| (*figure).to_owned());
    assert_eq!(figures, told.collect(), "figures that no metric reads");
}

#[test]
fn what_has_no_value_is_left_out() {
    let bare = Status {
        cycle: None,
        last: None,
        freshness: None,
        promises: None,
        notify: Vec::new(),
        deliver: Vec::new(),
        vault: None,
        conversions: None,
        fleet: None,
        focus: None,
        bytes_free: None,
        pings: None,
        ..status()
    };
    let meters =
        Meters { open_files: None, loop_events: Vec::new(), rendering: None, requisites: None, ..meters() };
    let improve =
        Improve { mode: ImproveMode::Off, todo: None, watch: None, cycles: Vec::new(), stands: None };
    let traffic = Traffic::default();
    let reading =
        MetricsReading { status: &bare, meters: &meters, improve: &improve, traffic: &traffic, streams: 0 };
    let text = text(&reading);
    for name in [
        "recrawl_cycle_pages_done",
        "recrawl_last_cycle",
        "recrawl_freshness_ratio",
        "recrawl_promises",
        "recrawl_notify",
        "recrawl_vault",
        "recrawl_fleet",
        "recrawl_focus",
        "recrawl_disk_free_bytes",
        "recrawl_pings_total",
        "process_open_fds",
        "recrawl_improve_",
        "recrawl_learner_running",
        "recrawl_render",
        "recrawl_browser",
        "recrawl_requisite",
        "recrawl_convert",
    ] {
        assert!(!text.contains(name), "{text}");
    }
    assert!(text.contains("recrawl_disk_used_bytes"));
}

#[test]
fn promtool_finds_nothing_to_complain_of() {
    let text = all();
    let said = promtool(&["check", "metrics"], &text);
    assert!(said.is_none_or(|said| said.trim().is_empty()));
}
