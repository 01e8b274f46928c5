//! The gates that keep a page from its next fetch, each with its evidence and a remedy.

use super::{Explanation, SelectionChance};
use crate::report::{counted, traps};
use recrawl_archive::timestamp;
use recrawl_crawl::admission::gates::ClosedGate;
use recrawl_crawl::admission::scope::ScopeRefusal;
use recrawl_crawl::cycle::readmission::RECHECK_EVERY;
use recrawl_crawl::operator::takedown;
use recrawl_fetcher::LeftAlone;
use recrawl_scheduler::{Gate, HostPlaces};
use recrawl_types::outcome::AddressRefusal;
use recrawl_types::{Origin, Outcome, Skip, Span};
use serde_json::{Value, json};

/// A gate that stops a page.
#[derive(Debug, PartialEq)]
pub struct Obstacle {
    /// The gate's name in JSON.
    pub gate: &'static str,
    /// When the page is visited while the gate stops it, such as "none" or "not before cycle 7".
    pub when: String,
    /// Why the gate stops the page: a clause without a full stop.
    pub evidence: String,
    /// What to do about it: an instruction that follows "To fetch it: ".
    pub lifted: String,
}

impl Obstacle {
    fn new(
        gate: &'static str,
        when: impl Into<String>,
        evidence: impl Into<String>,
        lifted: impl Into<String>,
    ) -> Obstacle {
        Obstacle { gate, when: when.into(), evidence: evidence.into(), lifted: lifted.into() }
    }

    /// Gate and evidence.
    pub fn json(&self) -> Value {
        json!({"gate": self.gate, "evidence": self.evidence})
    }
}

impl Explanation {
    /// All known gates that stop the page, in the order in which they apply: the first one decides about
    /// the next visit.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let mut all = Vec::new();
        if self.gate == Gate::Gone {
            all.extend(self.by_plan());
        }
        let is_named = |gate: &ClosedGate| matches!(gate, ClosedGate::Scope(ScopeRefusal::OptedOut(_)));
        if let Some(why) = self.opted_out.as_ref().filter(|_| !self.closed.iter().any(is_named)) {
            all.push(Obstacle::new("opted_out", "never", why, END_OPT_OUT));
        }
        let (of_origin, of_crawl): (Vec<&ClosedGate>, Vec<&ClosedGate>) =
            self.closed.iter().partition(|gate| gate.is_of_origin());
        all.extend(of_crawl.into_iter().map(|gate| self.closed_gate(gate)));
        if let Some(by) = &self.held.all {
            let evidence = format!("{} paused the crawl at {}", by.who, timestamp(by.at));
            all.push(Obstacle::new("paused", "none", evidence, "resume the crawl"));
        }
        if let Some(by) = &self.held.host {
            let evidence = format!("{} paused the host at {}", by.who, timestamp(by.at));
            all.push(Obstacle::new("paused", "none", evidence, "resume the host"));
        }
        let back_off = self.left_alone.filter(|why| matches!(why, LeftAlone::BackOff { .. }));
        all.extend(back_off.map(|why| self.left_alone(why)));
        all.extend(of_origin.into_iter().map(|gate| self.closed_gate(gate)));
        all.extend(self.host_failures.filter(|_| self.left_alone.is_none()).map(|failures| {
            let evidence =
                format!("{}; each cycle tries one of its pages until it answers", host_failed(failures));
            let lifted = "wait until the host answers, or until this page ranks first on it";
            Obstacle::new("host_fails", "only if it ranks first on its host", evidence, lifted)
        }));
        all.extend(self.host_places());
        // A rule that refuses the page is listed already.
        if self.gate != Gate::Gone && (self.gate != Gate::Refused || all.is_empty()) {
            all.extend(self.by_plan());
        }
        all.extend(self.refused_address());
        all
    }

    /// The address guard refused the host at the last attempt.
    fn refused_address(&self) -> Option<Obstacle> {
        let (cycle, last) = self.last_attempt()?;
        let Outcome::RefusedAddress(why) = last.outcome else { return None };
        let evidence = format!("refused in cycle {cycle}: {}", last.outcome);
        let lifted = match why {
            Some(AddressRefusal::NoContact) => "set crawler.contact",
            Some(AddressRefusal::Special) | None => {
                "list the host's address in fetch.allow_addresses, if the network is your own"
            }
        };
        Some(Obstacle::new("address", "none", evidence, lifted))
    }

    fn closed_gate(&self, gate: &ClosedGate) -> Obstacle {
        match gate {
            ClosedGate::Scope(refusal) => scope(refusal),
            ClosedGate::Block(pattern) => {
                let by = self.held.blocked.as_ref().map(|(_, by)| by);
                let by = by.map(|by| format!("{} blocked {pattern} at {}", by.who, timestamp(by.at)));
                let evidence = by.unwrap_or_else(|| gate.to_string());
                Obstacle::new("blocked", "none", evidence, format!("unblock {pattern}"))
            }
            ClosedGate::Trap => {
                let evidence = self.trap.as_ref().and_then(traps::UrlTrap::refusal);
                let lifted = format!(
                    "add {} to traps.allow_hosts, or wait until fewer pages of the pattern are alike",
                    self.url.host()
                );
                Obstacle::new("trap", "none", evidence.unwrap_or_else(|| gate.to_string()), lifted)
            }
            ClosedGate::Robots(line) => {
                Obstacle::new("robots", "none", &self.robots.words, lift_robots(line))
            }
            ClosedGate::Host(why) => self.left_alone(*why),
        }
    }

    /// The gate of a host that is skipped as a whole; rules of robots.txt for single pages are another
    /// gate.
    fn left_alone(&self, why: LeftAlone) -> Obstacle {
        let evidence = format!("the host is skipped: {why}");
        let gate = if matches!(why, LeftAlone::NoRobots { .. }) { "robots" } else { why.name() };
        if let LeftAlone::CrawlDelay { asked, .. } = why {
            let lifted = format!("set politeness.max_crawl_delay to {} or more", Span(asked));
            return Obstacle::new(gate, "none", evidence, lifted);
        }
        // The page itself may wait longer than its host.
        let (when, wait) = self.next_try().unwrap_or_else(|| {
            let until = timestamp(why.until().unwrap_or_default());
            let wait = match why {
                LeftAlone::NoRobots { .. } => {
                    format!("wait for a round after {until}: it asks for robots.txt again")
                }
                _ => format!("wait for a round after {until}, when the host's back-off ends"),
            };
            (format!("none before {until}"), wait)
        });
        Obstacle::new(gate, when, evidence, wait)
    }

    /// When a page that failed is tried again, and the instruction to wait for it; none if it is not in back-off.
    fn next_try(&self) -> Option<(String, String)> {
        if let Some(at) = self.seed_retry.map(timestamp) {
            let wait = format!("wait for a round after {at}, which tries this seed again");
            return Some((format!("not before {at}"), wait));
        }
        if self.gate != Gate::BackOff || self.agreed.rhythm.is_some() {
            return None;
        }
        let due = self.record.known.last_attempt.0 + self.record.known.back_off();
        Some((format!("not before cycle {due}"), format!("wait for cycle {due}")))
    }

    fn host_places(&self) -> Option<Obstacle> {
        let HostPlaces { limit, warmup, before, last, .. } = self.places.filter(HostPlaces::are_taken)?;
        let (taken, needed) = match self.gate {
            Gate::Warmup => (format!("{before} pages have waited longer for their warm-up"), before + 1),
            _ => (
                format!("{} are in warm-up, and {before} others rank higher", warmup.min(limit)),
                warmup + before + 1,
            ),
        };
        let last = last.map(|last| format!("; lowest selected score: {last:.4}"));
        let evidence = format!(
            "{} may have {} per cycle: {taken}{}",
            Origin::from_url(&self.url),
            counted(limit, "page"),
            last.unwrap_or_default()
        );
        let lifted = format!("set schedule.max_per_host to {needed} or more, or {FETCH_NOW}");
        Some(Obstacle::new("max_per_host", NOT_SELECTED, evidence, lifted))
    }

    fn by_plan(&self) -> Option<Obstacle> {
        let known = &self.record.known;
        match self.gate {
            Gate::Gone => Some(Obstacle::new(
                "gone",
                "never",
                format!(
                    "confirmed {}, the last in cycle {}",
                    counted(known.not_found.into(), "time"),
                    known.not_found_cycle
                ),
                "add it as a seed",
            )),
            Gate::Refused => Some(self.refused()),
            // A rhythm goes on, whatever fails.
            Gate::BackOff if self.agreed.rhythm.is_some() => None,
            // The next try of a seed is told beside its host.
            Gate::BackOff if self.seed_retry.is_some() && self.left_alone.is_some() => None,
            Gate::BackOff => {
                let (when, wait) = self.next_try()?;
                let evidence = format!(
                    "{}, the last in cycle {}",
                    counted(known.failures.into(), "consecutive failure"),
                    known.last_attempt
                );
                Some(Obstacle::new("back_off", when, evidence, format!("{wait}, or {FETCH_NOW}")))
            }
            // Such a crawl visits new pages until none is left: they wait for nothing but their turn.
            Gate::Discovery if self.fills => None,
            Gate::Discovery => {
                let waiting = self.never_tried?;
                (waiting > self.chosen).then(|| {
                    let evidence = format!(
                        "{waiting} pages were never fetched; a cycle visits {}",
                        counted(self.chosen, "page")
                    );
                    Obstacle::new(
                        "discovery",
                        "when the discovery share reaches it",
                        evidence,
                        "raise cycle.discovery_share, cycle.discovery_min or cycle.pages, or wait",
                    )
                })
            }
            Gate::Warmup | Gate::Visited => None,
            // A newer date of a trusted origin has a share of its own, and a rhythm its time, whatever the score.
            Gate::Revisit if self.lastmod.is_news || self.agreed.rhythm.is_some() => None,
            Gate::Revisit => self.by_score(),
        }
    }

    /// A rule refused the page at its last attempt.
    fn refused(&self) -> Obstacle {
        if let Some(cycle) = self.ended_so_in(Outcome::Skipped(Skip::MediaType)) {
            let evidence = format!(
                "in cycle {cycle} its media type was not in scope.types (each page is checked every {RECHECK_EVERY} \
                 cycles)"
            );
            let lifted = "add its media type to scope.types (`recrawl page test URL` shows it)";
            return Obstacle::new("media_type", "none", evidence, lifted);
        }
        let evidence = format!(
            "refused by a rule or a takedown, last attempt in cycle {}; no cycle has found a change since (each page \
             is checked every {RECHECK_EVERY} cycles)",
            self.record.known.last_attempt
        );
        let lifted = format!("change the rule (the next cycle checks it again), or {FETCH_NOW}");
        Obstacle::new("refused", "none", evidence, lifted)
    }

    fn by_score(&self) -> Option<Obstacle> {
        if self.by_rank()? != SelectionChance::None {
            return None;
        }
        let rank = self.rank?;
        // The score share grows in proportion to cycle.pages.
        let pages = (rank.worst() as f64 * self.chosen as f64 / self.score_places.max(1) as f64).ceil();
        let lifted = format!("raise cycle.pages to about {pages}, or {FETCH_NOW}");
        Some(Obstacle::new("score", NOT_SELECTED, self.place_in_schedule(), lifted))
    }
}

/// The page's place under `schedule.max_per_host`, as JSON.
pub fn places_json(places: HostPlaces) -> Value {
    let HostPlaces { limit, warmup, before, open, last } = places;
    json!({"max_per_host": limit, "warmup": warmup, "before": before, "open": open, "last_score": last})
}

/// What to do about a rule of robots.txt.
pub fn lift_robots(line: &str) -> String {
    format!("ask the site owner to remove `{line}` from robots.txt")
}

/// That the last requests to a host failed.
fn host_failed(failures: u32) -> String {
    match failures {
        1 => "the last request to the host failed".into(),
        _ => format!("the last {failures} requests to the host failed"),
    }
}

const NOT_SELECTED: &str = "not in the next cycle, unless the audit sample selects it";
const FETCH_NOW: &str = "run `recrawl fetch URL`, or choose \"Fetch now\" in the dashboard";
const END_OPT_OUT: &str = "remove the host from the scope.opt_out file, if its owner agrees";

fn scope(refusal: &ScopeRefusal) -> Obstacle {
    if let ScopeRefusal::OptedOut(why) = refusal {
        return Obstacle::new("opted_out", "never", why, END_OPT_OUT);
    }
    let lifted = match refusal {
        ScopeRefusal::TakenDown(pattern) => {
            let why = refusal.to_string();
            let lifted = format!("end the takedown with {}", takedown::ending(pattern));
            return Obstacle::new("scope", "none: taken down", why, lifted);
        }
        ScopeRefusal::Host => "add its host to scope.hosts, or add a seed on its site",
        ScopeRefusal::RefusedHost => "remove its host from scope.refuse_hosts",
        ScopeRefusal::OptedOut(_) => END_OPT_OUT,
        ScopeRefusal::NotIncluded => "add a glob of it to scope.include",
        ScopeRefusal::Excluded(_) => "remove that glob from scope.exclude",
        ScopeRefusal::Shape(_) => "raise that limit",
    };
    Obstacle::new("scope", "none: outside the scope", refusal.to_string(), lifted)
}
