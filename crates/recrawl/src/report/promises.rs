//! Whether pages are visited as `[[promises]]` promise, now and in the last cycles.

use super::{counted, thousands};
use recrawl_archive::timestamp;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::config::units::Span;
use recrawl_crawl::cycle::plan;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::promises::account::PromiseAccount;
use recrawl_crawl::parts::promises::{self, PromiseSurvey};
use recrawl_crawl::report::RoundReport;
use recrawl_crawl::settings::Settings;
use recrawl_repository::{Generation, SledTables, StoredRounds};
use serde_json::{Value, json};
use std::time::Duration;

/// Promises, as of now and at the start of the last cycles.
pub struct Promises {
    now: Vec<PromiseAccount>,
    /// Cycles that counted any, newest first.
    cycles: Vec<RoundReport>,
}

/// What is read.
pub struct PromiseSources<'s> {
    pub settings: &'s Settings,
    pub tables: &'s SledTables,
    pub generation: &'s Generation,
    pub kept: &'s StoredRounds,
    pub decided: &'s Decisions,
    /// Reports of the last cycles, newest first.
    pub reports: Vec<RoundReport>,
    pub random_seed: u64,
    /// In milliseconds since 1970.
    pub now: u64,
}

/// Cycles shown.
pub const CYCLES: usize = 10;

impl Promises {
    /// Counts the promises that are kept now.
    ///
    /// # Errors
    /// When pages, visits or tables cannot be read.
    pub fn count(sources: PromiseSources<'_>) -> Result<Promises, Failure> {
        let PromiseSources { settings, tables, generation, kept, decided, reports, random_seed, now } =
            sources;
        let cycle = generation.cycle().next();
        let last = reports.iter().find(|report| report.is_of_crawl());
        let since = last.map_or(0, RoundReport::cycle_started);
        let survey = PromiseSurvey {
            rules: settings.promise_rules(Some(tables), decided)?,
            period: promises::period(&settings.config, since, now),
            generation,
            kept,
            cycle,
            k: plan::request(settings, cycle, generation.pages(), random_seed).pages,
            now,
            since,
            on_progress: &|| {},
        };
        let now = if settings.promises.is_empty() { Vec::new() } else { survey.survey()?.accounts };
        let cycles = reports.into_iter().filter(|report| !report.promises.is_empty()).collect();
        Ok(Promises { now, cycles })
    }

    /// The document of `recrawl promises --json`.
    pub fn json(&self) -> Value {
        let cycle = |report: &RoundReport| {
            json!({
                "cycle": report.cycle, "started": report.cycle_started(), "promises": report.promises,
                "promised_visits": report.tally.promised_visits,
            })
        };
        json!({"promises": self.now, "cycles": self.cycles.iter().map(cycle).collect::<Vec<Value>>()})
    }

    /// The text of `recrawl promises`.
    pub fn text(&self) -> String {
        if self.now.is_empty() {
            return "promises    none; write [[promises]] in the configuration".into();
        }
        let mut lines = Vec::new();
        for account in &self.now {
            lines.extend(now_lines(account));
            for report in &self.cycles {
                // A report of an older version has the prefix of the URLs alone.
                let is_same = |of: &&PromiseAccount| {
                    of.pages == account.pages || account.pages.strip_suffix('*') == Some(&of.pages)
                };
                let of_cycle = report.promises.iter().find(is_same);
                lines.extend(of_cycle.map(|of| {
                    format!(
                        "            at the start of cycle {} ({}): {}",
                        report.cycle,
                        timestamp(report.cycle_started()),
                        kept_text(of)
                    )
                }));
            }
        }
        lines.join("\n")
    }
}

fn kept_text(account: &PromiseAccount) -> String {
    let of = thousands(account.kept + account.late);
    match account.kept_share {
        Some(kept) => format!("{kept:.3} kept: {} of {of} pages", thousands(account.kept)),
        None => "no page that can be visited".into(),
    }
}

fn now_lines(account: &PromiseAccount) -> Vec<String> {
    let within = Span(Duration::from_millis(account.within_ms));
    let verdict = if account.is_kept() { "kept" } else { "broken" };
    let mut lines = vec![
        format!("promise     {} within {within}, {:.3} of the pages", account.pages, account.share),
        format!("now         {verdict}: {}", kept_text(account)),
    ];
    let apart = [
        (account.never_visited, "never visited"),
        (account.gone, "gone"),
        (account.refused, "refused"),
        (account.backing_off, "backing off"),
        (account.kept_out, "kept out by a rule"),
    ];
    let apart: Vec<String> = apart
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", thousands(*count)))
        .collect();
    if !apart.is_empty() {
        lines.push(format!("not counted {}", apart.join(", ")));
    }
    let cycles = counted(account.every.into(), "cycle");
    lines.push(format!(
        "next        {} planned; each is visited every {cycles}",
        counted(account.planned, "page")
    ));
    if let Some(binding) = &account.limit {
        lines.push(format!("limit       {}", binding.why));
    }
    lines
}
