//! Alert rules for Prometheus, each with a runbook line.

use crate::threshold::with_thresholds;
use std::fmt::Write;

/// An alert.
pub struct Alert {
    /// Name.
    pub name: &'static str,
    /// Condition, in PromQL, with the names of thresholds.
    pub when: &'static str,
    /// How long the condition must hold, as a Prometheus duration.
    pub lasting: &'static str,
    /// Severity.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub summary: &'static str,
    /// What to do, in one line.
    pub runbook: &'static str,
}

/// Severity of an alert.
#[derive(Clone, Copy)]
pub enum Severity {
    /// Act within a day.
    Warning,
    /// Act now.
    Critical,
}

impl Severity {
    /// Value of the label `severity`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// All alerts.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "RecrawlImpolite",
        when: "increase(recrawl_early_requests_total[15m]) > 0",
        lasting: "0m",
        severity: Severity::Critical,
        summary: "A host got a request before its delay had passed.",
        runbook: "Pause the crawl (PUT /api/v1/pause). Find the host in the log and report the bug.",
    },
    Alert {
        name: "RecrawlMissing",
        when: "absent(recrawl_build_info)",
        lasting: "5m",
        severity: Severity::Critical,
        summary: "Prometheus cannot scrape recrawl.",
        runbook: "Check that the process runs (systemctl status recrawl) and that Prometheus reaches serve.listen by address or by a name in serve.names.",
    },
    Alert {
        name: "RecrawlUnhealthy",
        when: "recrawl_health{level=\"red\"} == 1",
        lasting: "5m",
        severity: Severity::Critical,
        summary: "The health of the crawl is red.",
        runbook: "The reason is `health` in /api/v1/status, and at the top of the dashboard.",
    },
    Alert {
        name: "RecrawlStalled",
        when: "recrawl_idle_seconds > recrawl_stall_seconds",
        lasting: "1m",
        severity: Severity::Critical,
        summary: "The crawl made no progress for serve.stall.",
        runbook: "Check the end of the log and the disk. A restart loses only the pages in flight.",
    },
    Alert {
        name: "RecrawlNoPages",
        when: "sum by (job, instance) (increase(recrawl_pages_done_total[1h])) == 0 and on (job, instance) recrawl_state{state=\"crawling\"} == 1",
        lasting: "30m",
        severity: Severity::Warning,
        summary: "A cycle is running but finished no page for an hour.",
        runbook: "Check delays, failures and pauses in /api/v1/hosts?sort=queue. Then check the network and DNS.",
    },
    Alert {
        name: "RecrawlFailed",
        when: "recrawl_state{state=\"failed\"} == 1",
        lasting: "1m",
        severity: Severity::Critical,
        summary: "The last cycle failed.",
        runbook: "See /api/v1/status or the log for the reason and the remedy.",
    },
    Alert {
        name: "RecrawlChangeRateFalling",
        when: "recrawl_last_cycle_change_ratio < 0.5 * avg_over_time(recrawl_last_cycle_change_ratio[7d])",
        lasting: "1h",
        severity: Severity::Warning,
        summary: "ChangeRate is below half of its average over the last week.",
        runbook: "Check for a new formula or many new pages. Compare formulas (POST /api/v1/formulas/compare), or roll back (DELETE /api/v1/formula).",
    },
    Alert {
        name: "RecrawlChangeRateBelowPromise",
        when: "recrawl_last_cycle_change_ratio < 0.5 * recrawl_last_cycle_promised_change_ratio",
        lasting: "1h",
        severity: Severity::Warning,
        summary: "ChangeRate is below half of the expected ChangeRate.",
        runbook: "The formula does not fit these pages, or noise makes pages differ at each visit. Check the noise of the site in /api/v1/hosts/HOST. Learn a formula from the stored visits.",
    },
    Alert {
        name: "RecrawlManyErrors",
        when: "sum by (job, instance) (increase(recrawl_pages_done_total{outcome=\"failed\"}[1h])) > FAILED_SHARE * sum by (job, instance) (increase(recrawl_pages_done_total{outcome!~\"skipped|robots_denied|robots_unreachable|refused\"}[1h]))",
        lasting: "15m",
        severity: Severity::Warning,
        summary: "More than a fifth of the requested pages fail.",
        runbook: "See /api/v1/hosts?sort=failures. If all hosts fail, check network, DNS and proxy. If one host fails, it is down or rejects the crawler: do nothing.",
    },
    Alert {
        name: "RecrawlSeedFails",
        when: "recrawl_seed_hosts_failing > 0",
        lasting: "0m",
        severity: Severity::Warning,
        summary: "No page of a seed's host can be fetched.",
        runbook: "`failing_seed_hosts` in /api/v1/status names it, and `recrawl status --host` says why. It is down, moved, or refuses the crawler.",
    },
    Alert {
        name: "RecrawlIdle",
        when: "recrawl_idle_cycles >= 2",
        lasting: "0m",
        severity: Severity::Warning,
        summary: "The last two cycles fetched nothing.",
        runbook: "`health` in /api/v1/status and `recrawl explain URL` say why. Check network, DNS and proxy, and whether the pages are gone.",
    },
    Alert {
        name: "RecrawlDiskLow",
        when: "recrawl_disk_free_bytes < LOW_DISK_RESERVES * recrawl_disk_reserved_bytes",
        lasting: "5m",
        severity: Severity::Critical,
        summary: "The disk is nearly full. The crawl stops at storage.reserve.",
        runbook: "Move or remove WARC files, lower storage.keep_visits, or enlarge the disk. Committed data stays intact.",
    },
    Alert {
        name: "RecrawlDiskFilling",
        when: "predict_linear(recrawl_disk_free_bytes[6h], 86400) < recrawl_disk_reserved_bytes",
        lasting: "1h",
        severity: Severity::Warning,
        summary: "At the current rate the disk is full within a day.",
        runbook: "Do the same as for RecrawlDiskLow.",
    },
    Alert {
        name: "RecrawlBudgetSpent",
        when: "recrawl_cycle_budget_used_ratio >= SPENT_SHARE",
        lasting: "5m",
        severity: Severity::Warning,
        summary: "Nine tenths of budget.bytes_per_cycle are spent.",
        runbook: "At the limit, the cycle stops fetching. Raise budget.bytes_per_cycle, or lower cycle.pages.",
    },
    Alert {
        name: "RecrawlManyBackOffs",
        when: "recrawl_cycle_hosts_backed_off > BACKED_OFF_SHARE * recrawl_cycle_open_hosts",
        lasting: "15m",
        severity: Severity::Warning,
        summary: "More than a fifth of the open hosts are in back-off.",
        runbook: "See /api/v1/hosts?state=backed_off. If they fail alike, check network, DNS and proxy, or lower the request rate.",
    },
    Alert {
        name: "RecrawlDrift",
        when: "recrawl_improve_alarm_age_cycles < 7",
        lasting: "0m",
        severity: Severity::Warning,
        summary: "Visits find more, or fewer, changes than expected.",
        runbook: "`watch` in /api/v1/improve says which. Look for a site that changed its pages, or for a change detector that sees other things. The loop learns again by itself.",
    },
    Alert {
        name: "RecrawlPopulationMoved",
        when: "recrawl_improve_population_moved == 1",
        lasting: "0m",
        severity: Severity::Warning,
        summary: "The pages that compete by score are distributed in another way than 28 cycles before.",
        runbook: "After an import or a new site this is as it should be. Otherwise look in /api/v1/hosts?sort=pages for a host that grew.",
    },
    Alert {
        name: "RecrawlLoopStuck",
        when: "(recrawl_improve_step{step=\"idle\"} == 1 and on (job, instance) recrawl_improve_held == 0 and on (job, instance) recrawl_improve_cycles_since_learning > 3 * recrawl_improve_learning_period_cycles) or on (job, instance) recrawl_learner_failures >= 3",
        lasting: "15m",
        severity: Severity::Warning,
        summary: "The loop of improve tries nothing and learns nothing, or learning failed three times in a row.",
        runbook: "`loop.learner.ended` in /api/v1/improve and the log say why learning failed. With too few sites to learn from, set improve.mode = \"watch\".",
    },
    Alert {
        name: "RecrawlRolledBack",
        when: "increase(recrawl_improve_events_total{event=\"rolled_back\"}[1d]) > 0",
        lasting: "0m",
        severity: Severity::Warning,
        summary: "A promoted formula was taken back.",
        runbook: "/api/v1/improve/history says why. The formula before is in force, so nothing needs to be done at once.",
    },
    Alert {
        name: "RecrawlPromiseBroken",
        when: "recrawl_promises_broken > 0 or recrawl_promises_limited > 0",
        lasting: "0m",
        severity: Severity::Warning,
        summary: "Pages are not visited as promised, or a limit keeps them from it.",
        runbook: "`recrawl promises` or /api/v1/promises names the promise and the limit that binds.",
    },
    Alert {
        name: "RecrawlChangesLost",
        when: "increase(recrawl_notify_rounds_lost_total[1h]) > 0",
        lasting: "0m",
        severity: Severity::Critical,
        summary: "Changes were lost before a target of [[notify]] took them.",
        runbook: "Raise storage.keep_visits, and mend the target: `recrawl notify status` says what is wrong with it.",
    },
    Alert {
        name: "RecrawlChangesNotDelivered",
        when: "recrawl_notify_failing > 0",
        lasting: "15m",
        severity: Severity::Warning,
        summary: "A target of [[notify]] takes no messages.",
        runbook: "`recrawl notify status` says since when and why. Nothing is lost while the visits are kept \
                  (storage.keep_visits).",
    },
    Alert {
        name: "RecrawlDocumentsNotDelivered",
        when: "recrawl_deliver_failing > 0",
        lasting: "15m",
        severity: Severity::Warning,
        summary: "A target of [[deliver]] takes no documents.",
        runbook: "The health and the log say why; `recrawl deliver test NAME` tries it. Nothing is lost: the next delivery sends \
                  what differs.",
    },
    Alert {
        name: "RecrawlDocumentsNotConverted",
        when: "increase(recrawl_converted_documents_total{outcome=\"failed\"}[1h]) >= 10 unless on (job, instance) increase(recrawl_converted_documents_total{outcome=\"converted\"}[1h]) > 0",
        lasting: "15m",
        severity: Severity::Warning,
        summary: "Commands of [[pages]] convert make no text of documents.",
        runbook: "The health says what the last command said. Run it by hand with a document.",
    },
    Alert {
        name: "RecrawlVaultLate",
        when: "recrawl_vault_age_seconds > recrawl_vault_late_seconds",
        lasting: "5m",
        severity: Severity::Warning,
        summary: "Changes of the crawl are on its disk alone.",
        runbook: "The health and the log say why; `recrawl vault status` asks the store. Beyond vault.unshipped the crawl waits.",
    },
    Alert {
        name: "RecrawlPartitionUnowned",
        when: "recrawl_fleet_unowned_leases > 2",
        lasting: "1m",
        severity: Severity::Critical,
        summary: "Nobody crawls a partition of the fleet.",
        runbook: "Start a process that stands by: `recrawl serve --fleet URL --name NAME`. Logs say why owners gave it up.",
    },
    Alert {
        name: "RecrawlNoTurns",
        when: "recrawl_fleet_no_turns_leases > 2",
        lasting: "1m",
        severity: Severity::Warning,
        summary: "A process of the fleet may ask no host.",
        runbook: "The health and the log say why: the store is slow, clocks are unclear, or `delay_per_ip` differs.",
    },
    Alert {
        name: "RecrawlLinksNotTaken",
        when: "recrawl_fleet_untaken_runs > 20",
        lasting: "1h",
        severity: Severity::Warning,
        summary: "Links between partitions of the fleet wait.",
        runbook: "A partition takes none: `recrawl fleet status URL` shows which one is silent; its rounds may fail.",
    },
    Alert {
        name: "RecrawlManyFiles",
        when: "process_open_fds > FILES_SHARE * process_max_fds",
        lasting: "5m",
        severity: Severity::Warning,
        summary: "Most of the allowed file descriptors are open.",
        runbook: "Raise the limit (ulimit -Hn, LimitNOFILE= in systemd), or lower fetch.open_hosts.",
    },
    Alert {
        name: "RecrawlTokenGuessed",
        when: "rate(recrawl_console_refused_changes_total[5m]) > 0.1",
        lasting: "5m",
        severity: Severity::Warning,
        summary: "Unauthorized changes are being attempted.",
        runbook: "The log has the address. Check for a script with an old token. Otherwise close serve.listen to that network.",
    },
];

/// The rules file.
pub fn rules() -> String {
    let mut text = String::from(
        "# Prometheus alert rules, generated from crates/console/examples/generated/alert.rs by `make generated`.\n\
         groups:\n  - name: recrawl\n    rules:\n",
    );
    for alert in ALERTS {
        let Alert { name, when, lasting, severity, summary, runbook } = alert;
        // JSON strings are valid YAML strings.
        let quoted = |s: &str| serde_json::to_string(s).expect("text is plain data");
        write!(
            text,
            "      - alert: {name}\n        expr: {}\n        for: {lasting}\n        labels:\n          severity: {}\n        \
             annotations:\n          summary: {}\n          runbook: {}\n",
            quoted(&with_thresholds(when)),
            severity.name(),
            quoted(summary),
            quoted(runbook)
        )
        .expect("text takes all");
    }
    text
}
