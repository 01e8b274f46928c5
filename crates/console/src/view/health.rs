//! Health of the crawl: a table of rules over the status.
//!
//! `/health`, `/api/v1/status`, the dashboard, the metric `recrawl_health` and the alerts all derive from
//! this table and its thresholds, so they cannot disagree.

use super::{Counts, CycleStage, FleetFigures, State, Status, TargetFigures};
use recrawl_types::{Size, Span};
use serde::Serialize;
use std::fmt;
use utoipa::ToSchema;

/// Share of requested pages above which failures are many.
pub const FAILED_SHARE: f64 = 0.2;
/// Requested pages below which a share says little.
const FEW_REQUESTS: u64 = 20;
/// Free disk space is low below this multiple of `storage.reserve`.
pub const LOW_DISK_RESERVES: f64 = 2.0;
/// Share of `budget.bytes_per_cycle` above which it is nearly spent.
pub const SPENT_SHARE: f64 = 0.9;
/// Share of the open hosts above which back-offs are many.
pub const BACKED_OFF_SHARE: f64 = 0.2;
/// Cycles in a row without a page that are no accident.
const IDLE_CYCLES: u64 = 2;
/// Documents in a row that are not converted, until the command may be at fault.
const FAILED_CONVERSIONS: u64 = 10;
/// How long refused seeds count, in milliseconds.
const REFUSED_SEEDS_FOR: u64 = 3_600_000;
/// How long lost changes count, in milliseconds.
const LOST_CHANGES_FOR: u64 = 24 * 3_600_000;

/// Health of the crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct CrawlHealth {
    /// The worst level of the rules that apply.
    pub level: HealthLevel,
    /// Why: the text of the first rule that applies, without a full stop.
    pub reason: String,
    /// The time that `reason` is about, such as the start of the next round.
    pub at: Option<u64>,
    /// The texts of the other red and amber rules that apply.
    pub also: Vec<String>,
}

/// Level of health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthLevel {
    /// The crawl works, or waits for its next round.
    #[default]
    Green,
    /// The crawl works less than it should, or somebody stopped it.
    Amber,
    /// The crawl does not work: act now.
    Red,
}

impl HealthLevel {
    /// All levels, the best first.
    pub const ALL: [HealthLevel; 3] = [HealthLevel::Green, HealthLevel::Amber, HealthLevel::Red];
}

/// As in JSON, and in metric labels.
impl fmt::Display for HealthLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A rule of health.
pub struct HealthRule {
    /// What it is about.
    pub name: &'static str,
    /// The level while it applies.
    pub level: HealthLevel,
    /// When it applies, for docs/console.md.
    pub when: &'static str,
    /// The reason, if it applies.
    reason: fn(&Status) -> Option<String>,
}

/// All rules, the most important first. Levels never rise from one to the next, and the last applies always.
pub const RULES: &[HealthRule] = &[
    red("stalled", "no progress for `serve.stall`", |s| {
        s.is_stalled().then(|| {
            format!(
                "the crawl made no progress for {} (serve.stall); read the log, then restart it",
                Span::millis(s.idle_ms).rounded()
            )
        })
    }),
    red("disk full", "less free space than `storage.reserve`", |s| {
        let free = s.bytes_free.filter(|free| *free < s.bytes_reserved)?;
        Some(format!(
            "the disk is full: {} free, {} reserved (storage.reserve); free space, then the crawl goes on",
            Size(free).below(Size(s.bytes_reserved)),
            Size(s.bytes_reserved).rounded()
        ))
    }),
    red("failed", "the last round failed, as when nothing can be committed", |s| {
        let why = s.reason.as_deref().unwrap_or("see the log");
        (s.state == State::Failed).then(|| format!("the last round failed: {why}"))
    }),
    red("nothing fetched", "pages were asked for, and none was ever fetched", |s| {
        let counts = s.last.as_ref().filter(|_| s.visited == 0 && s.state != State::Starting)?.counts;
        match misses(&counts) {
            misses if !misses.is_empty() => {
                Some(format!("no page was fetched yet: {misses}; `recrawl explain URL` says why"))
            }
            // After failures, hosts and pages are left alone for some cycles.
            _ => (s.pages > 0 && s.idle_cycles > 1).then(|| {
                format!(
                    "no page was fetched yet, in {} cycles; `recrawl explain URL` says why",
                    s.idle_cycles
                )
            }),
        }
    }),
    red("nothing answered", "all of at least 20 requests failed", |s| {
        let counts = recent(s)?;
        (counts.failed == counts.requested())
            .then(|| format!("all {} requests failed; check the network, DNS and the proxy", counts.failed))
    }),
    red(
        "changes lost",
        "changes were lost before a target of `[[notify]]` took them, in the last day",
        |s| {
            let lost = |target: &&TargetFigures| {
                target.lost_at.is_some_and(|at| s.now < at.saturating_add(LOST_CHANGES_FOR))
            };
            let names: Vec<&str> = s.notify.iter().filter(lost).map(|target| &*target.name).collect();
            let names = names.join(", ");
            (!names.is_empty()).then(|| {
                format!("changes were lost before they were delivered to: {names}; raise storage.keep_visits")
            })
        },
    ),
    red("fleet cut off", "the store of the fleet does not answer for two thirds of a lease", |s| {
        let fleet = s.fleet.as_ref().filter(|fleet| fleet.store_age_ms >= fleet.lease_ms * 2 / 3)?;
        Some(cut_off(fleet, "until then this process asks no host"))
    }),
    amber("impolite", "a request was sent too early since the start, which is a bug", |s| {
        let early = s.early_requests;
        (early > 0)
            .then(|| format!("{early} requests were sent too early since the start; please report this bug"))
    }),
    amber("no contact", "the first look is over, and `crawler.contact` is not set", |s| {
        s.needs_contact.then(|| {
            "the first look without a contact is over; set crawler.contact, or pass --contact, and the crawl goes on".into()
        })
    }),
    amber("paused", "an operator paused the crawl", |s| {
        (s.state == State::Paused).then(|| s.reason.clone().unwrap_or_else(|| "paused".into()))
    }),
    amber("starting", "the data directory is being opened", |s| {
        (s.state == State::Starting).then(|| "opening the data directory".into())
    }),
    amber("stopping", "a signal came", |s| {
        (s.state == State::Stopping).then(|| "stopping: the pages in flight are finished".into())
    }),
    amber("disk low", "less free space than twice `storage.reserve`", |s| {
        let free =
            s.bytes_free.filter(|free| (*free as f64) < LOW_DISK_RESERVES * s.bytes_reserved as f64)?;
        Some(format!(
            "the disk is nearly full: {} free; the crawl stops at {}",
            Size(free).above(Size(s.bytes_reserved)),
            Size(s.bytes_reserved).rounded()
        ))
    }),
    amber("many failures", "more than a fifth of at least 20 requests failed", |s| {
        let counts = recent(s)?;
        (counts.failed as f64 > FAILED_SHARE * counts.requested() as f64).then(|| {
            format!("{} of {} requests failed; the dashboard lists them", counts.failed, counts.requested())
        })
    }),
    amber("seed fails", "all that was asked of a seed's host failed, the last time", |s| {
        let (first, more) = (s.failing_seed_hosts.first()?, s.failing_seed_hosts.len() - 1);
        let hosts = if more == 1 { "host" } else { "hosts" };
        let more = if more > 0 { format!(", nor of {more} more {hosts} of seeds") } else { String::new() };
        Some(format!("no page of {first} can be fetched{more}; `recrawl status --host {first}` says why"))
    }),
    amber("idle", "the last two cycles fetched nothing", |s| {
        (s.idle_cycles >= IDLE_CYCLES && s.pages > 0).then(|| {
            format!("the last {} cycles fetched nothing; `recrawl explain URL` says why", s.idle_cycles)
        })
    }),
    amber("budget", "nine tenths of `budget.bytes_per_cycle` are spent", |s| {
        let budget = s.budget.as_ref().filter(|budget| budget.used() >= SPENT_SHARE)?;
        let (spent, limit) = (Size(budget.spent).rounded(), Size(budget.limit));
        Some(format!(
            "{spent} of the cycle's {limit} are spent (budget.bytes_per_cycle); the rest waits for the next cycle"
        ))
    }),
    amber("back-off", "more than a fifth of the open hosts are in back-off", |s| {
        let cycle = s.cycle.as_ref()?;
        (cycle.backed_off as f64 > BACKED_OFF_SHARE * cycle.open_hosts as f64).then(|| {
            format!(
                "{} of {} open hosts are in back-off, as they fail or ask for it; see Hosts",
                cycle.backed_off, cycle.open_hosts
            )
        })
    }),
    amber("vault late", "changes wait for the vault for 5 min and 30 times `vault.ship`", |s| {
        let vault = s.vault.as_ref()?;
        let (age, late) = (vault.age_ms(s.now), vault.late_ms());
        let why = vault.error.as_deref().unwrap_or("its store is slow, or much is new");
        let age = (age > late).then(|| Span::millis(age).rounded())?;
        let waits = if vault.is_waited_for { ", and the crawl waits for it" } else { "" };
        Some(format!("nothing was shipped to the vault for {age}{waits}; check its store: {why}"))
    }),
    amber("fleet store away", "the store of the fleet does not answer for a third of a lease", |s| {
        let is_late = |fleet: &&FleetFigures| {
            (fleet.lease_ms / 3..fleet.lease_ms * 2 / 3).contains(&fleet.store_age_ms)
        };
        let fleet = s.fleet.as_ref().filter(is_late)?;
        Some(cut_off(fleet, "this process soon asks no host"))
    }),
    amber("no turns", "this process may ask no host of the fleet, for longer than two leases", |s| {
        let fleet = s.fleet.as_ref().filter(|fleet| fleet.turns_unknown_ms > 2 * fleet.lease_ms)?;
        let why = match fleet.clock_bound_ms {
            Some(bound) if bound > 1_000 => format!("its clock is known within {bound} ms, not a second"),
            Some(_) => "lists of addresses came too late, or cannot be read".into(),
            None => "its clock could not be measured".into(),
        };
        Some(format!("no host is asked, as turns at addresses are unknown: {why}; check the store"))
    }),
    amber("turns begin", "hosts wait for turns at shared addresses", |s| {
        let fleet = s.fleet.as_ref().filter(|fleet| fleet.turns_unknown_ms <= 2 * fleet.lease_ms)?;
        let begin = Span::millis(fleet.turns_begin_ms.filter(|_| fleet.hosts_waiting > 0)?).rounded();
        let hosts = if fleet.hosts_waiting == 1 { "host waits" } else { "hosts wait" };
        Some(format!(
            "{} {hosts} for turns at addresses, which this process shares with others; they begin in {begin}",
            fleet.hosts_waiting
        ))
    }),
    amber("change waits", "a change of the fleet cannot be made here", |s| {
        let why = s.fleet.as_ref()?.waiting.as_deref()?;
        Some(format!("a change of the fleet waits here; mend what keeps it: {why}"))
    }),
    amber("no owner", "a partition of the fleet has had no owner for two leases", |s| {
        let fleet = s.fleet.as_ref()?;
        let ids: Vec<String> = fleet.unowned().map(|one| one.partition.to_string()).collect();
        (!ids.is_empty())
            .then(|| format!("nobody crawls partition {}; start a process that stands by", ids.join(", ")))
    }),
    amber("changes not delivered", "a target of `[[notify]]` took no message at several tries", |s| {
        let failing: Vec<&str> = s
            .notify
            .iter()
            .filter(|target| target.failing_since.is_some())
            .map(|target| &*target.name)
            .collect();
        let names = failing.join(", ");
        (!failing.is_empty())
            .then(|| format!("changes cannot be delivered to: {names}; `recrawl notify status` says why"))
    }),
    amber("documents not delivered", "a target of `[[deliver]]` took nothing at two tries", |s| {
        let failing = s.deliver.iter().filter(|copy| copy.failing_since.is_some());
        let failing: Vec<String> = failing
            .map(|copy| format!("{}: {}", copy.name, copy.error.as_deref().unwrap_or("unknown error")))
            .collect();
        let told = failing.join("; ");
        (!failing.is_empty()).then(|| {
            format!("documents cannot be delivered to {told}; `recrawl deliver test NAME` tries a target")
        })
    }),
    amber(
        "documents not converted",
        "commands of `[[pages]] convert` failed at the last ten documents",
        |s| {
            let figures = s.conversions.as_ref().filter(|of| of.failed_in_a_row >= FAILED_CONVERSIONS)?;
            let (failed, why) = (figures.failed_in_a_row, &figures.error);
            Some(format!("the last {failed} documents were not converted; check the command: {why}"))
        },
    ),
    amber("seeds refused", "new seeds are out of scope, in the last hour", |s| {
        let refused = s.seeds_refused.as_ref().filter(|r| s.now < r.at.saturating_add(REFUSED_SEEDS_FOR))?;
        Some(format!("{} new seeds were refused; {}", refused.seeds, refused.first))
    }),
    amber("no seeds", "there is nothing to crawl", |s| {
        (s.state == State::Waiting && s.pages == 0 && s.seeds_waiting == 0)
            .then(|| "there is nothing to crawl yet: add a seed URL".into())
    }),
    green("working", "otherwise", |s| Some(works(s))),
];

impl CrawlHealth {
    /// The health of a crawl with this status.
    pub fn from_status(status: &Status) -> CrawlHealth {
        let mut found = RULES.iter().filter_map(|rule| Some((rule.level, (rule.reason)(status)?)));
        let (level, reason) = found.next().expect("the last rule applies always");
        let at = status.next_round.as_ref().and_then(|next| next.at);
        let at = at.filter(|_| level == HealthLevel::Green && status.state == State::Waiting);
        let also = found.filter(|(level, _)| *level > HealthLevel::Green).map(|(_, reason)| reason).collect();
        CrawlHealth { level, reason, at, also }
    }
}

/// What a healthy crawl does.
fn works(status: &Status) -> String {
    let Some(cycle) = &status.cycle else {
        return match &status.next_round {
            Some(next) => format!("waiting for the next {} round", next.kind),
            None => status.reason.clone().unwrap_or_else(|| "waiting".into()),
        };
    };
    let (kind, number) = (&cycle.kind, cycle.cycle);
    match cycle.stage {
        CycleStage::Planning => format!("planning a {kind} round of cycle {number}"),
        CycleStage::Merging => format!("merging a {kind} round of cycle {number}"),
        CycleStage::Fetching | CycleStage::Waiting => {
            format!(
                "fetching: {} of {} pages of a {kind} round of cycle {number}",
                cycle.done, cycle.scheduled
            )
        }
    }
}

/// Counts of the running round if it sent enough requests for a share, or else of the last cycle.
fn recent(status: &Status) -> Option<&Counts> {
    let counts = [status.cycle.as_ref().map(|c| &c.counts), status.last.as_ref().map(|c| &c.counts)];
    counts.into_iter().flatten().find(|counts| counts.requested() >= FEW_REQUESTS)
}

/// Why pages were not fetched.
fn misses(counts: &Counts) -> String {
    let kinds = [
        (counts.failed, "failed"),
        (counts.not_found, "not found"),
        (counts.robots_unreachable, "on hosts whose robots.txt could not be fetched"),
        (counts.robots_denied, "denied by robots.txt"),
        (counts.refused, "on refused addresses"),
    ];
    let some = kinds.iter().filter(|(pages, _)| *pages > 0);
    some.map(|(pages, what)| format!("{pages} {what}")).collect::<Vec<_>>().join(", ")
}

type HealthReason = fn(&Status) -> Option<String>;

/// Why a process of a fleet may not go on.
fn cut_off(fleet: &FleetFigures, and: &str) -> String {
    let age = Span::millis(fleet.store_age_ms).rounded();
    let why = fleet.error.as_deref().unwrap_or("it is slow");
    format!("the store of the fleet has not answered for {age}; check it, {and}: {why}")
}

const fn red(name: &'static str, when: &'static str, reason: HealthReason) -> HealthRule {
    HealthRule { name, level: HealthLevel::Red, when, reason }
}

const fn amber(name: &'static str, when: &'static str, reason: HealthReason) -> HealthRule {
    HealthRule { name, level: HealthLevel::Amber, when, reason }
}

const fn green(name: &'static str, when: &'static str, reason: HealthReason) -> HealthRule {
    HealthRule { name, level: HealthLevel::Green, when, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::crawl::status;
    use crate::view::{
        ByteBudget, ConversionFigures, CycleDone, CycleNow, NextRound, PartitionFigures, SeedsRefused,
        VaultFigures,
    };

    fn cut_off_for(store_age_ms: u64) -> FleetFigures {
        let error = Some("no answer".into());
        FleetFigures { lease_ms: 90_000, store_age_ms, error, ..FleetFigures::default() }
    }

    fn with(change: fn(&mut Status)) -> Status {
        let mut status = status();
        change(&mut status);
        status
    }

    fn now(status: &mut Status) -> &mut CycleNow {
        status.cycle.as_mut().unwrap()
    }

    /// Between two rounds, after a cycle with these counts.
    fn after(status: &mut Status, counts: Counts) {
        (status.state, status.cycle) = (State::Waiting, None);
        status.last = status.last.take().map(|last| CycleDone { counts, ..last });
    }

    #[test]
    fn each_rule_applies_to_its_status() {
        use HealthLevel::{Amber, Green, Red};
        let failing = |failed, fetched| Counts { failed, fetched, ..Counts::default() };
        let cases: &[(&str, HealthLevel, &str, Status)] = &[
            ("working", Green, "fetching: 106 of 500 pages of a fill round of cycle 8", status()),
            ("working", Green, "planning a fill", with(|s| now(s).stage = CycleStage::Planning)),
            ("working", Green, "merging a fill", with(|s| now(s).stage = CycleStage::Merging)),
            (
                "working",
                Green,
                "waiting for the next revisit round",
                with(|s| {
                    after(s, Counts::default());
                    s.next_round =
                        Some(NextRound { kind: "revisit".into(), at: Some(5), why: String::new() });
                }),
            ),
            ("stalled", Red, "no progress for 1 min (serve.stall)", with(|s| s.idle_ms = 61_000)),
            ("disk full", Red, "less than 0.1 GiB free, 1 GiB", with(|s| s.bytes_free = Some(1 << 19))),
            ("disk full", Red, "0.9 GiB free, 1 GiB", with(|s| s.bytes_free = Some((1 << 30) - 1))),
            (
                "failed",
                Red,
                "failed: no space",
                with(|s| {
                    (s.state, s.reason) = (State::Failed, Some("no space".into()));
                }),
            ),
            (
                "nothing fetched",
                Red,
                "yet: 1 failed, 4 on hosts whose robots.txt could not be fetched, 2 denied by robots.txt",
                with(|s| {
                    s.visited = 0;
                    let counts = Counts { failed: 1, robots_denied: 2, ..Counts::default() };
                    after(s, Counts { robots_unreachable: 4, ..counts });
                }),
            ),
            (
                "nothing fetched",
                Red,
                "yet, in 3 cycles",
                with(|s| {
                    // Its hosts and pages are left alone.
                    (s.visited, s.idle_cycles) = (0, 3);
                    after(s, Counts { skipped: 2, ..Counts::default() });
                }),
            ),
            (
                "seed fails",
                Amber,
                "no page of http://a.test can be fetched, nor of 1 more host of seeds",
                with(|s| s.failing_seed_hosts = vec!["http://a.test".into(), "http://b.test".into()]),
            ),
            ("idle", Amber, "the last 2 cycles fetched nothing", with(|s| s.idle_cycles = 2)),
            ("working", Green, "fetching", with(|s| s.idle_cycles = 1)),
            ("nothing answered", Red, "all 20 requests failed", {
                let mut status = status();
                now(&mut status).counts = failing(20, 0);
                status
            }),
            ("working", Green, "fetching", {
                // Too few requests to judge by, and the last cycle was good.
                let mut status = status();
                now(&mut status).counts = failing(19, 0);
                status
            }),
            ("impolite", Amber, "3 requests", with(|s| s.early_requests = 3)),
            ("no contact", Amber, "set crawler.contact", with(|s| s.needs_contact = true)),
            (
                "paused",
                Amber,
                "paused by anna",
                with(|s| {
                    (s.state, s.reason) = (State::Paused, Some("paused by anna".into()));
                }),
            ),
            ("starting", Amber, "opening", with(|s| s.state = State::Starting)),
            ("stopping", Amber, "stopping", with(|s| s.state = State::Stopping)),
            (
                "disk low",
                Amber,
                "1.5 GiB free; the crawl stops at 1 GiB",
                with(|s| {
                    s.bytes_free = Some(3 << 29);
                }),
            ),
            ("working", Green, "fetching", with(|s| s.bytes_free = None)),
            ("many failures", Amber, "21 of 100 requests failed", {
                let mut status = status();
                now(&mut status).counts = failing(21, 79);
                status
            }),
            ("working", Green, "fetching", {
                let mut status = status();
                now(&mut status).counts = failing(20, 80);
                status
            }),
            ("many failures", Amber, "30 of 100", {
                let mut status = status();
                after(&mut status, failing(30, 70));
                status
            }),
            (
                "budget",
                Amber,
                "9 MiB of the cycle's 10 MiB",
                with(|s| {
                    s.budget = Some(ByteBudget { limit: 10 << 20, spent: 9 << 20 });
                }),
            ),
            ("back-off", Amber, "1 of 3 open hosts", with(|s| now(s).backed_off = 1)),
            (
                "seeds refused",
                Amber,
                "2 new seeds were refused; http://x/",
                with(|s| {
                    let at = s.now - 1;
                    s.seeds_refused =
                        Some(SeedsRefused { seeds: 2, first: "http://x/: out of scope".into(), at });
                }),
            ),
            (
                "working",
                Green,
                "fetching",
                with(|s| {
                    let at = s.now - REFUSED_SEEDS_FOR;
                    s.seeds_refused = Some(SeedsRefused { seeds: 2, first: String::new(), at });
                }),
            ),
            (
                "vault late",
                Amber,
                "to the vault for 6 min, and the crawl waits for it; check its store: no answer",
                with(|s| {
                    let since = Some(s.now - 360_000);
                    let (ship_ms, error) = (10_000, Some("no answer".into()));
                    s.vault = Some(VaultFigures {
                        waiting_since: since,
                        is_waited_for: true,
                        ship_ms,
                        error,
                        ..VaultFigures::default()
                    });
                }),
            ),
            (
                "working",
                Green,
                "fetching",
                with(|s| {
                    // As long as two of its intervals.
                    let (waiting_since, ship_ms) = (Some(s.now - 360_000), 180_000);
                    s.vault = Some(VaultFigures { waiting_since, ship_ms, ..VaultFigures::default() });
                }),
            ),
            (
                "fleet store away",
                Amber,
                "has not answered for 30 s; check it, this process soon asks no host: no answer",
                with(|s| s.fleet = Some(cut_off_for(30_000))),
            ),
            (
                "fleet cut off",
                Red,
                "has not answered for 1 min; check it, until then this process asks no host: no answer",
                with(|s| s.fleet = Some(cut_off_for(60_000))),
            ),
            (
                "no turns",
                Amber,
                "are unknown: its clock is known within 1300 ms, not a second; check the store",
                with(|s| {
                    let (turns_unknown_ms, clock_bound_ms) = (180_001, Some(1_300));
                    s.fleet = Some(FleetFigures { turns_unknown_ms, clock_bound_ms, ..cut_off_for(0) });
                }),
            ),
            (
                "turns begin",
                Amber,
                "40 hosts wait for turns at addresses, which this process shares with others; they begin in 23 s",
                with(|s| {
                    let (turns_begin_ms, hosts_waiting) = (Some(23_000), 40);
                    s.fleet = Some(FleetFigures { turns_begin_ms, hosts_waiting, ..cut_off_for(0) });
                }),
            ),
            (
                "working",
                Green,
                "fetching",
                with(|s| {
                    s.fleet = Some(FleetFigures { turns_begin_ms: Some(23_000), ..cut_off_for(0) });
                }),
            ),
            (
                "change waits",
                Amber,
                "waits here; mend what keeps it: anna sent to block a.test: no space",
                with(|s| {
                    let waiting = Some("anna sent to block a.test: no space".into());
                    s.fleet = Some(FleetFigures { waiting, ..cut_off_for(0) });
                }),
            ),
            (
                "no owner",
                Amber,
                "nobody crawls partition 4; start a process that stands by",
                with(|s| {
                    let unowned_ms = [180_000, 180_001];
                    let one = |(partition, unowned_ms)| PartitionFigures {
                        partition,
                        unowned_ms,
                        ..PartitionFigures::default()
                    };
                    let partitions = (3..).zip(unowned_ms).map(one).collect();
                    s.fleet = Some(FleetFigures { partitions, ..cut_off_for(0) });
                }),
            ),
            (
                "changes lost",
                Red,
                "lost before they were delivered to: desk",
                with(|s| s.notify[0].lost_at = Some(s.now - 1)),
            ),
            (
                "changes not delivered",
                Amber,
                "cannot be delivered to: desk",
                with(|s| s.notify[0].failing_since = Some(1)),
            ),
            (
                "documents not delivered",
                Amber,
                "cannot be delivered to search: status 401",
                with(|s| {
                    s.deliver[0].failing_since = Some(1);
                    s.deliver[0].error = Some("status 401".into());
                }),
            ),
            (
                "documents not converted",
                Amber,
                "the last 10 documents were not converted; check the command: exit status: 1",
                with(|s| {
                    let error = "exit status: 1".into();
                    s.conversions = Some(ConversionFigures {
                        failed_in_a_row: 10,
                        error,
                        ..ConversionFigures::default()
                    });
                }),
            ),
            (
                "no seeds",
                Amber,
                "add a seed URL",
                with(|s| {
                    (s.state, s.cycle, s.last, s.pages) = (State::Waiting, None, None, 0);
                }),
            ),
            (
                "working",
                Green,
                "waiting",
                with(|s| {
                    (s.state, s.cycle, s.last, s.pages) = (State::Waiting, None, None, 0);
                    s.seeds_waiting = 1;
                }),
            ),
        ];
        for (name, level, reason, status) in cases {
            let health = CrawlHealth::from_status(status);
            let first = RULES.iter().find(|rule| (rule.reason)(status).is_some()).unwrap();
            assert_eq!((first.name, health.level), (*name, *level), "{health:?}");
            assert!(health.reason.contains(reason), "{name}: {health:?}");
            assert!(!health.reason.ends_with('.'), "{health:?}");
            assert!(health.reason.split_whitespace().count() <= 25, "too long to read: {health:?}");
            // The state says the rest, or the round says why it failed.
            let says_enough =
                ["failed", "paused", "starting", "stopping", "seeds refused", "no seeds", "disk low"];
            let is_trouble = *level > Green && !says_enough.contains(name);
            assert!(
                !is_trouble || health.reason.contains("; "),
                "{name} does not say what to do: {health:?}"
            );
        }
        for rule in RULES {
            assert!(cases.iter().any(|(name, ..)| *name == rule.name), "no case for {}", rule.name);
        }
    }

    #[test]
    fn the_worst_comes_first_and_the_rest_is_told_too() {
        assert!(RULES.is_sorted_by(|before, after| before.level >= after.level));
        let health = CrawlHealth::from_status(&with(|s| {
            (s.idle_ms, s.early_requests) = (61_000, 1);
            s.next_round = Some(NextRound { kind: "fill".into(), at: Some(7), why: String::new() });
        }));
        assert_eq!((health.level, health.also.len(), health.at), (HealthLevel::Red, 1, None), "{health:?}");
        assert!(CrawlHealth::from_status(&status()).also.is_empty(), "what works is no trouble");
    }
}
