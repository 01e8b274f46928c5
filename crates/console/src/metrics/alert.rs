//! When somebody should look: alert rules for Prometheus, each with what to do.

use std::fmt::Write;

/// An alert.
pub struct Alert {
    /// Its name.
    pub name: &'static str,
    /// When it holds, in PromQL.
    pub when: &'static str,
    /// For how long it must hold, as Prometheus writes it.
    pub lasting: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is the matter, in a line.
    pub summary: &'static str,
    /// What to do, in a line.
    pub runbook: &'static str,
}

/// How bad it is.
#[derive(Clone, Copy)]
pub enum Severity {
    /// Look today.
    Warning,
    /// Look now.
    Critical,
}

impl Severity {
    /// The value of the label.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// Every alert.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "RecrawlImpolite",
        when: "increase(recrawl_early_requests_total[15m]) > 0",
        lasting: "0m",
        severity: Severity::Critical,
        summary: "A host was asked faster than it was promised.",
        runbook: "Pause the crawl (PUT /api/v1/pause): no owner of a host should suffer a bug. Then see the log for the host, and report it.",
    },
    Alert {
        name: "RecrawlMissing",
        when: "absent(recrawl_build_info)",
        lasting: "5m",
        severity: Severity::Critical,
        summary: "No crawl answers Prometheus.",
        runbook: "Does the process run (systemctl status recrawl)? Does Prometheus reach serve.listen, by a name in serve.names?",
    },
    Alert {
        name: "RecrawlStalled",
        when: "recrawl_idle_seconds > 600",
        lasting: "5m",
        severity: Severity::Critical,
        summary: "The crawl has not moved for ten minutes.",
        runbook: "See the last lines of the log, and whether the disk answers. Starting the process anew loses no more than the pages in flight.",
    },
    Alert {
        name: "RecrawlNoPages",
        when: "sum by (job, instance) (increase(recrawl_pages_done_total[1h])) == 0 and on (job, instance) recrawl_state{state=\"crawling\"} == 1",
        lasting: "30m",
        severity: Severity::Warning,
        summary: "A cycle runs, and no page was done for an hour.",
        runbook: "See what holds the hosts back: /api/v1/hosts?sort=queue has delays, failures and pauses. Is the network there, and DNS?",
    },
    Alert {
        name: "RecrawlFailed",
        when: "recrawl_state{state=\"failed\"} == 1",
        lasting: "1m",
        severity: Severity::Critical,
        summary: "The last cycle failed.",
        runbook: "The reason is in /api/v1/status and in the log, with what to do.",
    },
    Alert {
        name: "RecrawlChangeRateFalling",
        when: "recrawl_last_cycle_change_ratio < 0.5 * avg_over_time(recrawl_last_cycle_change_ratio[7d])",
        lasting: "1h",
        severity: Severity::Warning,
        summary: "ChangeRate is less than half of what it was in the last week.",
        runbook: "Was the formula changed, or were many pages added? Compare formulas (POST /api/v1/formulas/compare); roll back by DELETE /api/v1/formula.",
    },
    Alert {
        name: "RecrawlChangeRateBelowPromise",
        when: "recrawl_last_cycle_change_ratio < 0.5 * recrawl_last_cycle_promised_change_ratio",
        lasting: "1h",
        severity: Severity::Warning,
        summary: "ChangeRate is less than half of what the formula promised.",
        runbook: "The formula does not fit these pages, or pages differ at each visit by noise: see the site's noise in /api/v1/hosts/HOST, and learn a formula from the visits kept.",
    },
    Alert {
        name: "RecrawlManyErrors",
        when: "sum by (job, instance) (increase(recrawl_pages_done_total{outcome=\"failed\"}[1h])) > 0.2 * sum by (job, instance) (increase(recrawl_pages_done_total{outcome!=\"skipped\"}[1h]))",
        lasting: "15m",
        severity: Severity::Warning,
        summary: "More than a fifth of the pages asked for fail.",
        runbook: "One host, or all? /api/v1/hosts?sort=failures tells. All: network, DNS, proxy. One: it is down, or it refuses us; leave it alone.",
    },
    Alert {
        name: "RecrawlDiskLow",
        when: "recrawl_disk_free_bytes < 2 * recrawl_disk_reserved_bytes",
        lasting: "5m",
        severity: Severity::Critical,
        summary: "The disk is nearly full; the crawl stops at storage.reserve.",
        runbook: "Move or remove WARC files that are read elsewhere, lower storage.keep_visits, or enlarge the disk. What was committed stays whole.",
    },
    Alert {
        name: "RecrawlDiskFilling",
        when: "predict_linear(recrawl_disk_free_bytes[6h], 86400) < recrawl_disk_reserved_bytes",
        lasting: "1h",
        severity: Severity::Warning,
        summary: "At this pace the disk is full within a day.",
        runbook: "As for RecrawlDiskLow, in good time.",
    },
    Alert {
        name: "RecrawlTokenGuessed",
        when: "rate(recrawl_console_refused_changes_total[5m]) > 0.1",
        lasting: "5m",
        severity: Severity::Warning,
        summary: "Someone tries to change the crawl without a right to it.",
        runbook: "The log has the address. A script with an old token? Else close serve.listen to that network.",
    },
];

/// The file of rules.
pub fn rules() -> String {
    let mut text = String::from(
        "# Alert rules for Prometheus, made from crates/console/src/metrics/alert.rs; `make generated` writes them anew.\n\
         groups:\n  - name: recrawl\n    rules:\n",
    );
    for alert in ALERTS {
        let Alert { name, when, lasting, severity, summary, runbook } = alert;
        // Strings of JSON are strings of YAML.
        let quoted = |s: &str| serde_json::to_string(s).expect("text is plain data");
        write!(
            text,
            "      - alert: {name}\n        expr: {}\n        for: {lasting}\n        labels:\n          severity: {}\n        \
             annotations:\n          summary: {}\n          runbook: {}\n",
            quoted(when),
            severity.name(),
            quoted(summary),
            quoted(runbook)
        )
        .expect("text takes all");
    }
    text
}
