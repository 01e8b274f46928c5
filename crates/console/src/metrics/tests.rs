use super::alert::{ALERTS, rules};
use super::panel::PANELS;
use super::registry::MetricKind;
use super::*;
use crate::tests::crawl::{meters, status};
use crate::tests::improve::improve;
use crate::view::ImproveMode;
use crate::view::health::with_thresholds;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

fn names() -> BTreeSet<&'static str> {
    METRICS.iter().map(|metric| metric.name).collect()
}

/// The metrics that an expression names.
fn mentioned(expression: &str) -> impl Iterator<Item = &str> {
    expression
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("recrawl_") || word.starts_with("process_"))
        .map(|word| word.strip_suffix("_bucket").unwrap_or(word))
}

fn all() -> String {
    let traffic = Traffic::default();
    traffic.answered(axum::http::StatusCode::NOT_FOUND);
    let (status, meters, improve) = (status(), meters(), improve());
    text(&Reading { status: &status, meters: &meters, improve: &improve, traffic: &traffic, streams: 3 })
}

#[test]
fn names_and_help_follow_the_conventions() {
    assert_eq!(names().len(), METRICS.len(), "a name is given once");
    for Metric { name, kind, help, .. } in METRICS {
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
    for Metric { name, kind, help, .. } in METRICS {
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
        focus: None,
        bytes_free: None,
        pings: None,
        ..status()
    };
    let meters = Meters { open_files: None, loop_events: Vec::new(), rendering: None, ..meters() };
    let improve =
        Improve { mode: ImproveMode::Off, todo: None, watch: None, cycles: Vec::new(), stands: None };
    let traffic = Traffic::default();
    let reading =
        Reading { status: &bare, meters: &meters, improve: &improve, traffic: &traffic, streams: 0 };
    let text = text(&reading);
    for name in [
        "recrawl_cycle_pages_done",
        "recrawl_last_cycle",
        "recrawl_freshness_ratio",
        "recrawl_promises",
        "recrawl_notify",
        "recrawl_focus",
        "recrawl_disk_free_bytes",
        "recrawl_pings_total",
        "process_open_fds",
        "recrawl_improve_",
        "recrawl_learner_running",
        "recrawl_render",
        "recrawl_browser",
    ] {
        assert!(!text.contains(name), "{text}");
    }
    assert!(text.contains("recrawl_disk_used_bytes"));
}

#[test]
fn panels_and_alerts_speak_of_metrics_that_there_are_and_panels_show_them_all() {
    let names = names();
    let shown: Vec<&str> =
        PANELS.iter().flat_map(|p| p.curves).flat_map(|(query, _)| mentioned(query)).collect();
    let watched = ALERTS.iter().flat_map(|alert| mentioned(alert.when));
    for name in shown.iter().copied().chain(watched) {
        assert!(names.contains(name), "unknown metric {name}");
    }
    for name in names {
        assert!(shown.contains(&name), "no panel shows {name}: add it to one in panel.rs");
    }
    for (query, _) in PANELS.iter().flat_map(|p| p.curves) {
        assert!(query.contains("{}") || query.contains(",INSTANCE}"), "{query} lacks the instance selector");
    }
}

#[test]
fn coloured_shares_begin_where_an_alert_of_the_same_metric_begins() {
    let shares: Vec<&panel::Panel> =
        PANELS.iter().filter(|p| matches!(p.unit, panel::Unit::Share) && !p.limits.is_empty()).collect();
    assert!(shares.len() > 2);
    for panel in shares {
        for (query, curve) in panel.curves {
            let metrics: BTreeSet<&str> = mentioned(query).collect();
            let concerned =
                ALERTS.iter().filter(|a| mentioned(a.when).any(|metric| metrics.contains(metric)));
            let whens: Vec<String> = concerned.map(|alert| with_thresholds(alert.when)).collect();
            for limit in panel.limits {
                let from = format!(" {}", limit.from);
                assert!(whens.iter().any(|when| when.contains(&from)), "{}, {curve}: {whens:?}", panel.title);
            }
        }
    }
}

#[test]
fn no_threshold_stays_a_name() {
    let (rules, dashboard) = (rules(), grafana::dashboard());
    for (name, _) in crate::view::health::THRESHOLDS {
        assert!(!rules.contains(name) && !dashboard.contains(name), "{name}");
    }
    assert!(!dashboard.contains("INSTANCE"));
}

#[test]
fn every_alert_says_what_to_do() {
    let names: BTreeSet<&str> = ALERTS.iter().map(|alert| alert.name).collect();
    assert_eq!(names.len(), ALERTS.len());
    for alert in ALERTS {
        assert!(alert.name.starts_with("Recrawl") && alert.summary.ends_with('.'), "{}", alert.name);
        assert!(alert.runbook.len() > 20, "{}", alert.name);
    }
}

/// The output of promtool for `input`; none if it is not installed (Debian: package `prometheus`).
fn promtool(arguments: &[&str], input: &str) -> Option<String> {
    let command = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match command {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            // Bypasses the capture of test output: a skipped check must be visible.
            let text = format!("promtool {arguments:?} was skipped: install Debian's package prometheus\n");
            io::stderr().write_all(text.as_bytes()).unwrap();
            return None;
        }
        other => other.unwrap(),
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    assert!(said.status.success(), "promtool {arguments:?}: {text}");
    Some(text)
}

#[test]
fn promtool_finds_nothing_to_complain_of() {
    let text = all();
    let said = promtool(&["check", "metrics"], &text);
    assert!(said.is_none_or(|said| said.trim().is_empty()));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), rules()).unwrap();
    let said = promtool(&["check", "rules", file.path().to_str().unwrap()], "");
    let found = format!("SUCCESS: {} rules found", ALERTS.len());
    assert!(said.as_ref().is_none_or(|said| said.contains(&found)), "{said:?}");
}
