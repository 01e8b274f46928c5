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
