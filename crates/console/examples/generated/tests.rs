#[path = "../../src/metrics/tests/promtool.rs"]
mod promtool;

use super::*;
use crate::alert::{ALERTS, rules};
use crate::panel::PANELS;
use crate::threshold::{THRESHOLDS, with_thresholds};
use promtool::promtool;
use recrawl_console::metrics::registry::METRICS;
use recrawl_console::view::HealthLevel;
use std::collections::BTreeSet;

/// The metrics that an expression names.
fn mentioned(expression: &str) -> impl Iterator<Item = &str> {
    expression
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("recrawl_") || word.starts_with("process_"))
        .map(|word| word.strip_suffix("_bucket").unwrap_or(word))
}

#[test]
fn panels_and_alerts_speak_of_metrics_that_there_are_and_panels_show_them_all() {
    let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
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
    let shares: Vec<&panel::DashboardPanel> =
        PANELS.iter().filter(|p| matches!(p.unit, panel::PanelUnit::Share) && !p.limits.is_empty()).collect();
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
    for (name, _) in THRESHOLDS {
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

/// The alert of each amber rule of health, or why it has none. `RecrawlUnhealthy` is of all that are red.
const AMBER: &[(&str, Result<&str, &str>)] = &[
    ("impolite", Ok("RecrawlImpolite")),
    ("no contact", Err("the crawl ends, and says so")),
    ("paused", Err("an operator knows")),
    ("starting", Err("it ends by itself")),
    ("stopping", Err("an operator knows")),
    ("disk low", Ok("RecrawlDiskLow")),
    ("many failures", Ok("RecrawlManyErrors")),
    ("seed fails", Ok("RecrawlSeedFails")),
    ("idle", Ok("RecrawlIdle")),
    ("budget", Ok("RecrawlBudgetSpent")),
    ("back-off", Ok("RecrawlManyBackOffs")),
    ("vault late", Ok("RecrawlVaultLate")),
    ("fleet store away", Err("it is red soon, unless it ends")),
    ("no turns", Ok("RecrawlNoTurns")),
    ("turns begin", Err("it ends by itself")),
    ("change waits", Err("its cause, a full disk, has one of its own")),
    ("no owner", Ok("RecrawlPartitionUnowned")),
    ("changes not delivered", Ok("RecrawlChangesNotDelivered")),
    ("documents not delivered", Ok("RecrawlDocumentsNotDelivered")),
    ("documents not converted", Ok("RecrawlDocumentsNotConverted")),
    ("seeds refused", Err("the answer to whoever adds them says so")),
    ("no seeds", Err("an operator begins a crawl")),
];

#[test]
fn each_rule_of_health_has_an_alert_or_needs_none() {
    assert!(
        ALERTS.iter().any(|alert| alert.name == "RecrawlUnhealthy" && alert.when.contains("level=\"red\""))
    );
    let amber = RULES.iter().filter(|rule| rule.level == HealthLevel::Amber).map(|rule| rule.name);
    let told: Vec<&str> = AMBER.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(told, amber.collect::<Vec<_>>(), "say which alert a rule has, or why it needs none");
    for (rule, alert) in AMBER {
        let is_there = |name: &str| ALERTS.iter().any(|alert| alert.name == name);
        assert!(alert.is_err() || alert.is_ok_and(is_there), "no alert {alert:?} of {rule}");
    }
}

#[test]
fn promtool_finds_all_rules() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), rules()).unwrap();
    let said = promtool(&["check", "rules", file.path().to_str().unwrap()], "");
    let found = format!("SUCCESS: {} rules found", ALERTS.len());
    assert!(said.as_ref().is_none_or(|said| said.contains(&found)), "{said:?}");
}

#[test]
fn thresholds_are_named_so_that_none_is_part_of_another() {
    let text = with_thresholds("a > FAILED_SHARE * b, LOW_DISK_RESERVES, SPENT_SHARE, BACKED_OFF_SHARE");
    assert_eq!(text, "a > 0.2 * b, 2, 0.9, 0.2");
}

#[test]
fn generated_files_are_as_the_code_has_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, text) in files(&root).unwrap() {
        let there = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(there == text, "{path} is stale: run `make generated`");
    }
}

#[test]
fn a_table_takes_its_place_and_nothing_else() {
    let page = "a\n<!-- x, generated from the code -->\nold\n<!-- end of x -->\nb\n";
    let new = filled(page, "x", "| t |\n").unwrap();
    assert_eq!(new, "a\n<!-- x, generated from the code -->\n\n| t |\n\n<!-- end of x -->\nb\n");
    assert_eq!(filled(&new, "x", "| t |\n").unwrap(), new);
    assert!(filled(page, "y", "").unwrap_err().to_string().contains("<!-- y, generated"));
}
