//! The health of a crawl. A daemon judges its own status; without one, what is committed is judged by the same rules.

use recrawl_console::view::{Counts, CrawlHealth, CycleDone, State, Status};
use recrawl_crawl::admission::decisions::Mark;
use recrawl_crawl::report::{RoundReport, Tally};
use recrawl_repository::Generation;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};

/// A crawl before its first round that has queued seeds.
const QUEUED: &str = "the queued seeds wait for the next `recrawl crawl` or `recrawl serve`";

/// A committed crawl, as far as its reader can tell.
pub struct CommittedCrawl<'r> {
    pub generation: &'r Generation,
    /// The last cycles, oldest first, each added up from its rounds.
    pub cycles: &'r VecDeque<RoundReport>,
    /// The pause of the crawl.
    pub paused: Option<&'r Mark>,
    /// Hosts of seeds of which no page can be fetched.
    pub failing_seed_hosts: BTreeSet<String>,
    /// Queued seeds.
    pub seeds_waiting: u64,
    /// Is a first look over without a contact?
    pub needs_contact: bool,
    /// Free bytes on the disk.
    pub bytes_free: Option<u64>,
    /// `storage.reserve`.
    pub bytes_reserved: u64,
}

impl CommittedCrawl<'_> {
    /// The health, by the rules of the console.
    pub fn health(self) -> CrawlHealth {
        let summary = self.generation.summary();
        let reports: Vec<&RoundReport> =
            self.cycles.iter().rev().filter(|report| report.is_of_crawl()).collect();
        let (state, reason) = match self.paused {
            Some(by) => (State::Paused, format!("paused by {}", by.who)),
            None if reports.is_empty() && self.seeds_waiting > 0 => (State::Waiting, QUEUED.into()),
            None => (State::Waiting, "the last cycle went well".into()),
        };
        CrawlHealth::from_status(&Status {
            state,
            reason: Some(reason),
            pages: summary.pages,
            visited: summary.visited,
            idle_cycles: idle_cycles(reports.iter().copied()),
            last: reports
                .first()
                .map(|last| CycleDone { counts: counts(&last.tally), ..CycleDone::default() }),
            failing_seed_hosts: self.failing_seed_hosts.into_iter().collect(),
            seeds_waiting: self.seeds_waiting,
            needs_contact: self.needs_contact,
            bytes_free: self.bytes_free,
            bytes_reserved: self.bytes_reserved,
            ..Status::default()
        })
    }
}

/// The health for people: its level and reason, then the other rules that apply.
pub fn lines(health: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let first = format!("health      {}: {}", text(&health["level"]), text(&health["reason"]));
    let also = health["also"].as_array().into_iter().flatten();
    std::iter::once(first).chain(also.map(|reason| format!("            also: {}", text(reason)))).collect()
}

/// Cycles in a row that fetched nothing, newest first.
pub fn idle_cycles<'r>(reports: impl Iterator<Item = &'r RoundReport>) -> u64 {
    reports.take_while(|report| report.tally.fetched == 0).count() as u64
}

/// The counts of the console.
pub fn counts(tally: &Tally) -> Counts {
    Counts {
        fetched: tally.fetched,
        changed: tally.changed,
        unchanged: tally.unchanged,
        first_visits: tally.first_visits,
        not_modified: tally.not_modified,
        failed: tally.failed,
        not_found: tally.not_found,
        robots_denied: tally.robots_denied,
        robots_unreachable: tally.robots_unreachable,
        refused: tally.refused,
        asked_again: tally.asked_again,
        skipped: tally.skipped,
        links_seen: tally.links_seen,
        bytes: tally.bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn health(fetched: u64, unreachable: u64, failing: &[&str]) -> Value {
        let generation = Generation::default();
        let cycle = |number: u64| -> RoundReport {
            serde_json::from_value(json!({
                "cycle": number, "scheduled": 9, "gone": 0, "links_new": 0, "links_pending": 0, "pages_known": 9,
                "pages_visited": 0, "never_tried": 0, "formula": "age", "started": 1, "seconds": 1.0,
                "stopped_by": "schedule", "fetched": fetched, "robots_unreachable": unreachable,
            }))
            .unwrap()
        };
        let committed = CommittedCrawl {
            generation: &generation,
            cycles: &[cycle(1), cycle(2)].into(),
            paused: None,
            failing_seed_hosts: failing.iter().map(ToString::to_string).collect(),
            seeds_waiting: 0,
            needs_contact: false,
            bytes_free: Some(5),
            bytes_reserved: 1,
        };
        serde_json::to_value(committed.health()).unwrap()
    }

    #[test]
    fn a_stopped_crawl_is_judged_as_a_running_one() {
        let dead = health(0, 9, &["http://a.test"]);
        assert_eq!(dead["level"], "red");
        let told = lines(&dead);
        assert_eq!(
            told[0],
            "health      red: no page was fetched yet: 9 on hosts whose robots.txt could not be fetched; \
             `recrawl explain URL` says why"
        );
        assert!(told[1].starts_with("            also: no page of http://a.test can be fetched"), "{told:?}");
    }
}
