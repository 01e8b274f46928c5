//! What stands between a page and its next fetch: each gate that stops it, with its evidence, and what would have to be
//! otherwise.

use super::{Chance, Explanation};
use crate::command::traps;
use crate::scope::Refusal;
use recrawl_archive::timestamp;
use recrawl_fetcher::promise::LeftAlone;
use recrawl_scheduler::{Gate, HostPlaces};
use recrawl_types::Origin;
use serde_json::{Value, json};

/// A gate that stops a page.
#[derive(Debug, PartialEq)]
pub struct Obstacle {
    /// One word for machines.
    pub gate: &'static str,
    /// What shows that it does.
    pub evidence: String,
    /// "would be fetched if …"
    pub lifted: String,
}

impl Obstacle {
    fn new(gate: &'static str, evidence: impl Into<String>, lifted: impl Into<String>) -> Obstacle {
        Obstacle { gate, evidence: evidence.into(), lifted: lifted.into() }
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({"gate": self.gate, "evidence": self.evidence})
    }
}

impl Explanation {
    /// All gates that stop the page, in the order in which they are met. None where nothing is known to.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let mut all = Vec::new();
        if let Some(why) = &self.opted_out {
            all.push(Obstacle::new("opted_out", why, "its host's owner takes the opt-out back"));
        }
        all.extend(self.refusal.as_ref().filter(|_| self.opted_out.is_none()).map(scope));
        if let Some((pattern, by)) = &self.held.blocked {
            let evidence = format!("{pattern} was blocked by {} at {}", by.who, timestamp(by.at));
            all.push(Obstacle::new("blocked", evidence, format!("{pattern} were unblocked")));
        }
        let trap = self.trap.as_ref().filter(|_| self.record.visited.is_none());
        if let Some(evidence) = trap.and_then(traps::Standing::refusal) {
            let lifted = format!(
                "traps.allow_hosts named {}, or fewer pages of its pattern were alike",
                self.url.host()
            );
            all.push(Obstacle::new("trap", evidence, lifted));
        }
        if let Some(by) = &self.held.all {
            let evidence = format!("{} paused the crawl at {}", by.who, timestamp(by.at));
            all.push(Obstacle::new("paused", evidence, "the pause of the whole crawl were ended"));
        }
        if let Some(by) = &self.held.host {
            let evidence = format!("{} paused its host at {}", by.who, timestamp(by.at));
            all.push(Obstacle::new("paused", evidence, "the pause of its host were ended"));
        }
        all.extend(self.robots());
        all.extend(self.left_alone.and_then(left_alone));
        all.extend(self.host_failures.filter(|_| self.left_alone.is_none()).map(|failures| {
            let evidence =
                format!("{failures} requests in a row failed at its host: one page is tried in a cycle");
            Obstacle::new("host_fails", evidence, "its host answered, or it were the best page of its host")
        }));
        all.extend(self.host_places());
        all.extend(self.by_plan());
        all
    }

    fn host_places(&self) -> Option<Obstacle> {
        let HostPlaces { limit, warmup, before, last, .. } = self.places.filter(HostPlaces::are_taken)?;
        let (taken, needed) = match self.gate {
            Gate::Warmup => (format!("{before} of its pages wait longer for their warm-up"), before + 1),
            _ => (
                format!(
                    "{} have pages in their warm-up, and {before} others go before this one",
                    warmup.min(limit)
                ),
                warmup + before + 1,
            ),
        };
        let last = last.map(|last| format!("; the last of them with a place has the score {last:.4}"));
        let evidence = format!(
            "{} has {limit} places in a cycle: {taken}{}",
            Origin::of(&self.url),
            last.unwrap_or_default()
        );
        let lifted = format!("schedule.max_per_host were {needed} or more, or somebody asked for it");
        Some(Obstacle::new("max_per_host", evidence, lifted))
    }

    fn robots(&self) -> Option<Obstacle> {
        let rule = self.robots.rule.as_ref()?;
        let lifted = format!("its host's robots.txt did not say `{rule}`, which is obeyed");
        Some(Obstacle::new("robots", &self.robots.words, lifted))
    }

    fn by_plan(&self) -> Option<Obstacle> {
        let known = &self.record.known;
        match self.gate {
            Gate::Gone => Some(Obstacle::new(
                "gone",
                format!("confirmed {} times, the last in cycle {}", known.not_found, known.not_found_cycle),
                "a seed named it, or a redirect led to it",
            )),
            Gate::Refused => Some(Obstacle::new(
                "refused",
                format!(
                    "a rule refused it in cycle {}, and the rules have not been found changed since",
                    known.last_attempt
                ),
                "a look at the rules found that they let it in, or somebody asked for it",
            )),
            Gate::BackOff => {
                let due = known.last_attempt.0 + known.back_off();
                let evidence = format!(
                    "{} attempts in a row failed, the last in cycle {}",
                    known.failures, known.last_attempt
                );
                Some(Obstacle::new(
                    "back_off",
                    evidence,
                    format!("it were cycle {due}, or somebody asked for it"),
                ))
            }
            Gate::Discovery => {
                let waiting = self.never_tried?;
                (waiting > self.chosen).then(|| {
                    let evidence =
                        format!("{waiting} pages were never fetched, and a cycle has {} places", self.chosen);
                    Obstacle::new(
                        "discovery",
                        evidence,
                        "cycle.discovery_share, discovery_min or cycle.pages were larger, or its turn came",
                    )
                })
            }
            Gate::Warmup => None,
            Gate::Revisit if self.lastmod.is_news => None,
            Gate::Revisit => self.by_score(),
        }
    }

    fn by_score(&self) -> Option<Obstacle> {
        if self.by_rank()? != Chance::None {
            return None;
        }
        let rank = self.rank?;
        // All places but those that go by score belong to other shares, in proportion.
        let pages = (rank as f64 * self.chosen as f64 / self.score_places.max(1) as f64).ceil();
        let lifted =
            format!("its score were higher, or cycle.pages were about {pages}, or somebody asked for it");
        Some(Obstacle::new("score", self.standing(), lifted))
    }
}

/// For machines.
pub fn places_json(places: HostPlaces) -> Value {
    let HostPlaces { limit, warmup, before, open, last } = places;
    json!({"max_per_host": limit, "warmup": warmup, "before": before, "open": open, "last_score": last})
}

fn scope(refusal: &Refusal) -> Obstacle {
    let lifted = match refusal {
        Refusal::Host => "scope.hosts named its host, or a seed were of its site",
        Refusal::RefusedHost => "scope.refuse_hosts did not name its host",
        Refusal::OptedOut(_) => "its host's owner took the opt-out back",
        Refusal::TakenDown(_) => "it had not been taken down, which is for good",
        Refusal::Prefix => "scope.prefixes had a beginning of it",
        Refusal::RefusedPrefix => "scope.refuse_prefixes had no beginning of it",
        Refusal::Shape(_) => "that limit were higher",
    };
    Obstacle::new("scope", refusal.to_string(), lifted)
}

/// What robots.txt forbids page by page stands apart.
fn left_alone(why: LeftAlone) -> Option<Obstacle> {
    let lifted = match why {
        LeftAlone::BackOff { until } => format!("it were {}, when its host is asked again", timestamp(until)),
        LeftAlone::CrawlDelay { asked, .. } => format!("politeness.max_crawl_delay were {asked:?} or more"),
        LeftAlone::NoRobots { again, .. } => {
            format!("its host's robots.txt could be had; it is asked for again from {} on", timestamp(again))
        }
    };
    let gate = if matches!(why, LeftAlone::NoRobots { .. }) { "robots" } else { why.name() };
    Some(Obstacle::new(gate, why.to_string(), lifted))
}
