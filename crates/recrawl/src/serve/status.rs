//! Status of the crawl, from the shared state.

use super::shared_state::{CrawlPhase, SharedState};
use super::{disk, formulas, hosts, pings, promises};
use crate::report::health::{counts, idle_cycles};
use recrawl_archive::timestamp;
use recrawl_console::view::{
    ByteBudget, ConversionFigures, CrawlHealth, CycleDone, CycleNow, CycleStage, Fetching, FocusFigures,
    Freshness, HealthLevel, HostNow, Promise, SeedsRefused, State, Status, VaultFigures,
};
use recrawl_crawl::contact_check;
use recrawl_crawl::labels::{counted, thousands};
use recrawl_crawl::partition::boot_clock;
use recrawl_crawl::parts::convert::ConvertFigures;
use recrawl_crawl::parts::seed_hosts;
use recrawl_crawl::progress::figures::{RefusedSeeds, RunningCycle, Stage};
use recrawl_crawl::report::{RoundReport, Tally};
use recrawl_crawl::settings::Settings;
use recrawl_crawl::vault::CrawlVault;
use recrawl_fetcher::control::RunProgress;
use recrawl_simulation::SeriesMean;
use recrawl_terminal::logging;
use recrawl_types::Origin;
use serde_json::Value;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum hosts of a running cycle that are shown.
const SLOWEST: usize = 20;
/// Maximum pages in flight that are shown.
const FETCHING: usize = 20;
/// Maximum cycles on which an expected ChangeRate is based.
const PROMISING: usize = 10;

/// Status of the crawl.
pub fn read(shared: &SharedState) -> Status {
    let (generation, settings, disk) = (shared.generation(), shared.settings(), shared.disk());
    let summary = generation.summary();
    let (phase, failure, paused) = (shared.phase(), shared.failure(), shared.control.paused());
    let (state, reason) = match &phase {
        CrawlPhase::Starting => (State::Starting, None),
        CrawlPhase::Stopping => (State::Stopping, None),
        _ if paused.is_some() => (State::Paused, paused.map(|by| format!("paused by {}", by.who))),
        CrawlPhase::Crawling => (State::Crawling, None),
        CrawlPhase::Waiting { .. } if failure.is_some() => (State::Failed, failure),
        CrawlPhase::Waiting { what, .. } => (State::Waiting, what.map(|what| format!("waiting for {what}"))),
    };
    // Read once: a cycle that is due now is not due before the time that the status tells.
    let now = shared.now();
    let running = shared.live.now();
    let (next_cycle_at, next_round) = match (phase, &running) {
        // The crawl thread notes a pause with its next look.
        _ if state == State::Paused => (None, None),
        (CrawlPhase::Waiting { cycle_at, next, .. }, _) => (cycle_at, next),
        // A cycle that runs too long is followed by the next one at once.
        (CrawlPhase::Crawling, Some(round)) if state == State::Crawling => {
            let period = settings.config.cycle.period.0.as_millis() as u64;
            (Some(round.cycle_started.saturating_add(period).max(now)), None)
        }
        _ => (None, None),
    };
    // One more, since a report is shown in comparison with those before it.
    let reports = shared.crawl_reports(PROMISING + 1);
    let [paused_hosts, blocked, seeds_waiting, _] = shared.control.counts();
    let mut status = Status {
        version: env!("CARGO_PKG_VERSION").into(),
        data_dir: shared.data_dir.display().to_string(),
        now,
        started: shared.started,
        idle_ms: shared.live.idle_ms(),
        stall_ms: settings.config.serve.stall.0.as_millis() as u64,
        health: CrawlHealth { level: HealthLevel::Green, reason: String::new(), at: None, also: Vec::new() },
        state,
        reason,
        generation: summary.number.0.into(),
        pages: summary.pages,
        // The running round adds to the last commit.
        visited: summary.visited + running.as_ref().map_or(0, |now| now.tally.first_visits),
        gone: summary.gone,
        hosts: summary.origins,
        bytes_on_disk: disk.used,
        bytes_free: disk.free,
        bytes_reserved: settings.config.storage.reserve.0,
        memory_bytes: disk::memory(),
        formula: formulas::ranking_text(shared, &settings),
        idle_cycles: idle(&reports, running.as_ref()),
        cycle: running.map(|now| cycle_now(shared, &now, &reports)),
        last: reports.first().map(|last| cycle_done(last, &reports[1..])),
        next_cycle_at,
        next_round,
        budget: budget(shared, &settings),
        seeds_refused: seeds_refused(shared),
        freshness: reports.iter().find_map(freshness),
        promises: promises::figures(&reports),
        notify: shared.notify_thread.figures(shared.generation().number()),
        deliver: shared.deliver_threads.figures(),
        vault: shared.vault.as_deref().map(|vault| vault_now(vault, &settings)),
        conversions: conversions(shared),
        fleet: shared.place.fleet.as_ref().map(|fleet| fleet.figures(boot_clock())),
        focus: reports.first().and_then(focus),
        totals: counts(&shared.live.totals()),
        cycles_done: shared.cycles_done.load(Relaxed),
        cycles_failed: shared.cycles_failed.load(Relaxed),
        early_requests: shared.steering.early_requests(),
        log_lines_lost: logging::lost(),
        paused_hosts,
        blocked,
        failing_seed_hosts: failing_seed_hosts(shared),
        seeds_waiting,
        needs_contact: contact_check::is_missing(&settings),
        pings: pings::figures(shared),
    };
    status.health = CrawlHealth::from_status(&status);
    status
}

fn conversions(shared: &SharedState) -> Option<ConversionFigures> {
    let ConvertFigures { converted, failed, millis, failed_in_a_row, error } = shared.live.conversions()?;
    Some(ConversionFigures { converted, failed, seconds: millis as f64 / 1000.0, failed_in_a_row, error })
}

fn seeds_refused(shared: &SharedState) -> Option<SeedsRefused> {
    let RefusedSeeds { seeds, first, at } = shared.live.refused_seeds()?;
    Some(SeedsRefused { seeds, first, at })
}

fn vault_now(vault: &CrawlVault, settings: &Settings) -> VaultFigures {
    let figures = vault.figures();
    VaultFigures {
        address: vault.address().into(),
        shipped_at: Some(figures.last).filter(|last| *last > 0),
        waiting_since: figures.waiting_since,
        unshipped: figures.unshipped,
        is_waited_for: vault.is_waited_for(),
        failures: figures.failures,
        error: figures.lost.or(figures.error),
        ship_ms: settings.config.vault.ship.0.as_millis() as u64,
    }
}

fn failing_seed_hosts(shared: &SharedState) -> Vec<String> {
    let failing = seed_hosts::failing_unblocked(&shared.tables, &shared.control.blocks());
    failing.unwrap_or_default().into_iter().collect()
}

/// The byte budget of a cycle while it fetches.
fn budget(shared: &SharedState, settings: &Settings) -> Option<ByteBudget> {
    let limit = settings.config.budget.bytes_per_cycle.0;
    let is_fetching = limit > 0 && shared.live.now().is_some_and(|now| now.stage == Stage::Fetching);
    is_fetching.then(|| ByteBudget { limit, spent: shared.steering.figures().spent })
}

/// Cycles in a row that fetched nothing. One that is not over may still fetch something.
fn idle(reports: &[RoundReport], running: Option<&RunningCycle>) -> u64 {
    idle_cycles(reports.iter().filter(|report| running.is_none_or(|now| now.cycle.0 != report.cycle)))
}

fn cycle_now(shared: &SharedState, now: &RunningCycle, reports: &[RoundReport]) -> CycleNow {
    let figures = shared.steering.figures();
    let is_held = shared.steering.is_held();
    let stage = match now.stage {
        Stage::Planning => CycleStage::Planning,
        Stage::Fetching if is_held => CycleStage::Waiting,
        Stage::Fetching => CycleStage::Fetching,
        Stage::Merging => CycleStage::Merging,
    };
    let settings = shared.settings();
    let deadline = settings.config.cycle.deadline.map(|d| now.cycle_started + d.0.as_millis() as u64);
    let ends_by = [deadline, figures.ends_by].into_iter().flatten().min();
    let host_now = |host: &recrawl_fetcher::control::HostFigures| HostNow {
        host: host.host.clone(),
        queue: host.queue,
        done: host.done,
        delay_ms: host.delay.as_millis() as u64,
        latency_ms: Some(host.latency.as_millis() as u64).filter(|ms| *ms > 0),
        failures: host.failures,
        state: hosts::state(shared, &host.host, Some(figures.activity(host.state)), false),
    };
    CycleNow {
        cycle: now.cycle.0.into(),
        round: now.round.0.into(),
        kind: now.kind.name().into(),
        stage,
        started: now.started,
        deadline,
        ends_by,
        scheduled: now.scheduled,
        done: now.done,
        passed: now.passed,
        to_pass: now.to_pass,
        in_flight: figures.in_flight as u64,
        open_hosts: figures.open_hosts as u64,
        backed_off: figures.backed_off as u64,
        counts: counts(&now.tally),
        seconds_left: (stage == CycleStage::Fetching)
            .then(|| seconds_left(now, &figures, shared.now()))
            .flatten()
            // A deadline or a limit may end the cycle before its last page.
            .map(|seconds| match ends_by {
                Some(end) => seconds.min(end.saturating_sub(shared.now()) as f64 / 1000.0),
                None => seconds,
            }),
        change_rate: ratio(now.tally.score_changed, now.tally.score_visits),
        promise: promise(&now.formula, reports),
        // Hosts that have nothing left do not hold up the cycle.
        slowest: figures.slowest.iter().filter(|host| host.queue > 0).take(SLOWEST).map(host_now).collect(),
        fetching: figures.fetching.iter().take(FETCHING).map(fetching).collect(),
    }
}

fn fetching(page: &recrawl_fetcher::control::PageInFlight) -> Fetching {
    Fetching { url: page.url.to_string(), host: Origin::from_url(&page.url).to_string(), since: page.since }
}

/// Estimated from the pace of this run, but at least what the longest host queue needs.
fn seconds_left(now: &RunningCycle, figures: &RunProgress, at: u64) -> Option<f64> {
    let (done, left) = (now.done - now.done_before, now.scheduled.saturating_sub(now.done));
    let seconds = at.saturating_sub(now.fetching_since) as f64 / 1000.0;
    if done == 0 || seconds <= 0.0 {
        return None;
    }
    let by_pace = left as f64 * seconds / done as f64;
    let of_host = |host: &recrawl_fetcher::control::HostFigures| host.queue as f64 * host.delay.as_secs_f64();
    Some(figures.slowest.iter().map(of_host).fold(by_pace, f64::max))
}

/// A committed cycle; `before` has the reports of earlier ones, newest first.
fn cycle_done(report: &RoundReport, before: &[RoundReport]) -> CycleDone {
    CycleDone {
        cycle: report.cycle.into(),
        ended: report.started + (report.seconds * 1000.0) as u64,
        seconds: report.seconds,
        scheduled: report.scheduled,
        counts: counts(&report.tally),
        change_rate: report.change_rate,
        promise: promise(&report.formula, before),
        bursts: report.bursts.groups,
    }
}

/// The reports of the last cycles, newest first, each with its expected ChangeRate.
///
/// # Errors
/// When one is not JSON.
pub fn reports(shared: &SharedState, last: usize) -> serde_json::Result<Vec<Value>> {
    // An expected ChangeRate is based on the cycles before.
    with_promises(&shared.reports(last.saturating_add(PROMISING)), last)
}

fn with_promises(reports: &[RoundReport], last: usize) -> serde_json::Result<Vec<Value>> {
    let one = |(at, report): (usize, &RoundReport)| {
        let mut json: Value = serde_json::from_slice(&report.to_json())?;
        json["promise"] = serde_json::to_value(promise(&report.formula, &reports[at + 1..]))?;
        Ok(json)
    };
    reports.iter().enumerate().take(last).map(one).collect()
}

/// Scores are not probabilities in general. So the expected ChangeRate of a formula is the observed
/// one: that of all visits of the last cycles that it ranked.
fn promise(formula: &str, before: &[RoundReport]) -> Option<Promise> {
    let crawled = before.iter().filter(|report| report.is_of_crawl());
    let ranked: Vec<&RoundReport> =
        crawled.take_while(|report| report.formula == formula).take(PROMISING).collect();
    let sum = |of: fn(&Tally) -> u64| ranked.iter().map(|report| of(&report.tally)).sum::<u64>();
    let change_rate = ratio(sum(|t| t.score_changed), sum(|t| t.score_visits))?;
    let basis = format!("the last {} cycles with this formula", ranked.len());
    let rates: Vec<f64> = ranked.iter().filter_map(|report| report.change_rate).collect();
    let [low, high] = match SeriesMean::estimate(&rates).next_value() {
        Some([low, high]) => [Some(low.max(0.0)), Some(high.min(1.0))],
        None => [None, None],
    };
    Some(Promise { change_rate, low, high, basis })
}

/// The freshness estimated from the audit sample of a cycle.
fn freshness(report: &RoundReport) -> Option<Freshness> {
    let estimate = report.estimates.freshness?;
    let (audit, cycle) = (&report.tally.audit, report.cycle);
    let (answered, unanswered) = (audit.answered().pages, audit.unanswered.pages);
    let population = match report.audit_eligible {
        Some(pages) => format!("the {} pages", thousands(pages)),
        None => "the pages".into(),
    };
    let without = match report.estimates.freshness_bounds {
        Some([low, high]) if unanswered > 0 => format!(
            " Another {unanswered} could not be fetched; whatever their state, freshness is between {:.1} \
             and {:.1} %.",
            100.0 * low,
            100.0 * high
        ),
        _ => String::new(),
    };
    let began = timestamp(report.cycle_started());
    let day = began.get(..10).unwrap_or_default();
    let basis = format!(
        "State of {day}, before cycle {cycle}, of {population} due for a revisit: {} fetched \
         (effective sample {:.0}), 95 % Wilson interval.{without}",
        counted(answered, "audited page"),
        estimate.effective
    );
    Some(Freshness {
        share: estimate.share,
        low: estimate.low,
        high: estimate.high,
        effective: estimate.effective,
        answered,
        unanswered,
        population: report.audit_eligible,
        basis,
    })
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    recrawl_crawl::report::ratio(part, whole)
}

/// What a focused crawl found in this cycle.
fn focus(report: &RoundReport) -> Option<FocusFigures> {
    report.focus.as_ref().map(|found| FocusFigures {
        relevant_known: found.relevant_known,
        discovered: found.discovered,
        relevant_found: found.relevant_found,
        harvest_rate: found.harvest_rate,
        harvest_low: found.harvest_low,
        harvest_high: found.harvest_high,
        recall_estimate: found.recall_estimate,
        recall_low: found.recall_low,
        recall_high: found.recall_high,
        explored: found.explored,
        sites_exhausted: found.sites_exhausted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_crawl::report::{AuditTally, Estimates};
    use recrawl_estimation::{HostResponses, Weighted};

    fn report(formula: &str, tally: Tally) -> RoundReport {
        let json = serde_json::json!({
            "cycle": 4, "scheduled": 0, "gone": 0, "links_new": 0, "links_pending": 0, "pages_known": 0,
            "pages_visited": 0, "never_tried": 0, "formula": formula, "started": 1000, "seconds": 2.5,
            "stopped_by": "schedule",
        });
        RoundReport { tally, ..serde_json::from_value(json).unwrap() }
    }

    #[test]
    fn freshness_is_told_with_interval_population_and_what_gave_no_answer() {
        assert_eq!(freshness(&report("age", Tally::default())), None);
        let drawn = |pages: u64, probability: f64| {
            let mut weighted = Weighted::default();
            (0..pages).for_each(|_| weighted.count(probability));
            weighted
        };
        // A host of 500 stale pages has places for 4; of 500 others, all fresh, 16 were drawn.
        let (changed, unchanged) = (drawn(4, 0.008), drawn(16, 0.032));
        let audit = AuditTally { changed, unchanged, unanswered: drawn(5, 0.032), ..AuditTally::default() };
        let found = RoundReport {
            audit_eligible: Some(1000),
            estimates: Estimates {
                freshness: audit.freshness(Some(1000), &HostResponses::default()),
                freshness_bounds: audit.freshness_bounds(Some(1000)),
                ..Estimates::default()
            },
            ..report("age", Tally { audit, ..Tally::default() })
        };
        let found = freshness(&found).unwrap();
        assert!((found.share - 0.5).abs() < 1e-12 && found.effective < 13.0, "{found:?}");
        assert_eq!((found.answered, found.unanswered, found.population), (20, 5, Some(1000)));
        for part in [
            "State of 1970-01-01, before cycle 4",
            "of the 1,000 pages",
            "20 audited pages fetched",
            "effective sample 13",
            "Another 5",
        ] {
            assert!(found.basis.contains(part), "{}", found.basis);
        }
    }

    #[test]
    fn a_promise_rests_on_cycles_of_the_same_formula() {
        let of = |formula, score_changed| {
            report(formula, Tally { score_visits: 10, score_changed, ..Tally::default() })
        };
        let before = [of("age", 4), of("age", 6), of("nad", 9), of("age", 9)];
        let promised = promise("age", &before).unwrap();
        assert_eq!((promised.change_rate, promised.basis.contains("last 2 cycles")), (0.5, true));
        assert_eq!((promised.low, promised.high), (None, None), "two cycles tell nothing of the next");
        let rate = |rate: f64| RoundReport { change_rate: Some(rate), ..of("age", 5) };
        let many = [0.52, 0.44, 0.55, 0.47, 0.5, 0.46, 0.56, 0.53, 0.45, 0.52].map(rate);
        let [low, high] = [promise("age", &many).unwrap().low, promise("age", &many).unwrap().high];
        assert!(low.unwrap() < 0.44 && low.unwrap() > 0.3 && high.unwrap() > 0.56 && high.unwrap() < 0.7);
        assert_eq!(promise("nad", &before), None, "the last cycle was ranked by another");
        assert_eq!(promise("age", &[]), None);
        let [import, takedown] = [recrawl_crawl::report::IMPORT, recrawl_crawl::report::TAKEDOWN]
            .map(|what| RoundReport { stopped_by: what.into(), ..report(what, Tally::default()) });
        let between = [import, before[0].clone(), takedown, before[1].clone()];
        assert_eq!(promise("age", &between), Some(promised), "neither an import nor a takedown is ranked");
        assert_eq!(promise("import", &between), None);
        let done = cycle_done(&before[0], &before[1..]);
        assert_eq!((done.ended, done.promise.unwrap().change_rate), (3500, 0.6));
        let told = with_promises(&before, 3).unwrap();
        let rates: Vec<Option<f64>> = told.iter().map(|r| r["promise"]["change_rate"].as_f64()).collect();
        assert_eq!(
            rates,
            [Some(0.6), None, None],
            "by the cycles before each, also by those that are not told"
        );
    }
}
