//! Decides which round is next, from what is committed and what waits.
//!
//! A cycle begins with its revisit rounds. Fill rounds follow while URLs are due that were never fetched,
//! until the cycle is over. Urgent rounds come in between. The decision depends only on arguments, so a
//! restart decides the same.

use crate::report::facts::Facts;
use crate::report::{FIRST_LOOK, RoundReport};
use crate::round::RoundKind;
use recrawl_repository::Generation;
use recrawl_types::DatedRound;

/// The current cycle, as the reports of committed rounds tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Number of the cycle; 0 before the first round of a crawl.
    pub cycle: u32,
    /// Its start, in milliseconds since 1970; none before the first round.
    pub started: Option<u64>,
    /// The kind of its last round; none after an import or takedown.
    last: Option<RoundKind>,
    /// When the last fill or urgent round ended, if it changed nothing: the hosts of all that is due are
    /// down, paused or spent.
    stalled: Option<u64>,
    /// Pages that its last round carried into the next one.
    pub carried: u64,
    /// Its revisit rounds, and those that are still to come.
    pub revisits: u32,
    /// See `revisits`.
    pub revisits_left: u32,
    /// Pages that these planned within k.
    pub of_k: u64,
    /// Never-fetched URLs that its fill rounds visited.
    pub filled: u64,
    /// Its fill rounds.
    pub fills: u32,
    /// Pages that the last round fetched.
    pub fetched: u64,
    /// Pages that pings brought in beyond the plan.
    pub pinged: u64,
    /// Did its last round end a first look, which leaves the rest of the cycle to a crawl with a contact?
    ended_first_look: bool,
}

impl SoFar {
    /// Adds the report of the next round. Imports and takedowns are rounds without visits: they leave
    /// the cycle as it is.
    pub fn add(&mut self, report: &RoundReport) {
        if !report.is_of_crawl() {
            // There may be new URLs.
            (self.last, self.stalled) = (None, None);
            return;
        }
        let is_revisit = report.kind == RoundKind::Revisit;
        // After an import, rounds have the next number of a cycle although their cycle goes on.
        if is_revisit && report.cycle != self.cycle && report.cycle_started() == report.started {
            *self = SoFar::default();
        }
        let has_changed = report.tally.conclusive + report.links_new + report.links_pending > 0;
        let is_stalled = !is_revisit && !has_changed;
        *self = SoFar {
            cycle: report.cycle,
            started: self.started.or(Some(report.cycle_started())),
            last: Some(report.kind),
            stalled: is_stalled.then_some(report.ended()),
            carried: report.carried,
            revisits: self.revisits + u32::from(is_revisit),
            revisits_left: if is_revisit { report.revisits_left } else { self.revisits_left },
            of_k: self.of_k + report.of_k,
            filled: self.filled + if is_revisit { 0 } else { report.tally.discoveries },
            fills: self.fills + u32::from(report.kind == RoundKind::Fill),
            fetched: report.tally.fetched,
            pinged: self.pinged + report.tally.pinged,
            ended_first_look: report.stopped_by == FIRST_LOOK,
        };
    }

    /// Is the cycle known to have a rest, after its last round?
    pub fn has_rest(&self) -> bool {
        self.revisits_left > 0 || self.ended_first_look
    }

    /// Did the last fill round fetch nothing? Then only links that wait can bring more pages.
    pub fn has_run_dry(&self) -> bool {
        self.last == Some(RoundKind::Fill) && self.fetched == 0
    }
}

/// Work that waits for a round, besides what is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingWork {
    /// Is the next cycle due?
    pub cycle: bool,
    /// May the cycle send no more requests, by its deadline?
    pub is_past_deadline: bool,
    /// Do new seeds or requested pages wait that no round has tried yet?
    pub urgent: bool,
    /// Is `cycle.fill` on, and may URLs be due that were never fetched?
    pub fill: bool,
    /// Maximum of [`SoFar::filled`]; 0 for no limit.
    pub fill_pages: u64,
    /// The time, in milliseconds since 1970.
    pub now: u64,
    /// How long a crawl that is stalled waits before it tries again, in milliseconds.
    pub stall: u64,
    /// Has an operator changed something since the last round?
    pub has_new_work: bool,
}

/// A round to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundToRun {
    /// Its purpose.
    pub kind: RoundKind,
    /// Does it begin the next cycle?
    pub begins_cycle: bool,
}

impl RoundToRun {
    /// The first round of the next cycle.
    pub const OF_NEXT_CYCLE: RoundToRun = RoundToRun { kind: RoundKind::Revisit, begins_cycle: true };
}

/// A round to plan, or to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundToPlan {
    /// Its number and cycle.
    pub round: DatedRound,
    /// Its purpose.
    pub kind: RoundKind,
    /// Start of the cycle, in milliseconds since 1970; none if the cycle starts with this round.
    pub cycle_started: Option<u64>,
}

impl RoundToPlan {
    /// The round after this generation.
    pub fn after(generation: &Generation, next: RoundToRun, so_far: &SoFar) -> RoundToPlan {
        let last = generation.dated();
        match next.begins_cycle {
            true => RoundToPlan { kind: next.kind, ..RoundToPlan::revisit(last.in_next_cycle()) },
            false => {
                let round = DatedRound { round: last.round.next(), ..last };
                RoundToPlan { round, kind: next.kind, cycle_started: so_far.started }
            }
        }
    }

    /// Does it begin its cycle?
    pub fn begins_cycle(&self) -> bool {
        self.cycle_started.is_none()
    }

    /// A revisit round that begins its cycle.
    pub fn revisit(round: DatedRound) -> RoundToPlan {
        RoundToPlan { round, kind: RoundKind::Revisit, cycle_started: None }
    }

    /// A round with these facts.
    pub fn begun(facts: &Facts) -> RoundToPlan {
        RoundToPlan { round: facts.round(), kind: facts.kind, cycle_started: facts.cycle_started }
    }
}

/// The next round; none until the next cycle is due or something urgent comes.
pub fn next(so_far: &SoFar, waiting: &WaitingWork) -> Option<RoundToRun> {
    let in_this_cycle = |kind| Some(RoundToRun { kind, begins_cycle: false });
    if waiting.cycle || so_far.started.is_none() {
        return Some(RoundToRun::OF_NEXT_CYCLE);
    }
    if waiting.is_past_deadline {
        return None;
    }
    if so_far.revisits_left > 0 {
        return in_this_cycle(RoundKind::Revisit);
    }
    let has_room = waiting.fill_pages == 0 || so_far.filled < waiting.fill_pages;
    let has_fill = waiting.fill && (so_far.carried > 0 || has_room);
    // A fill round takes what is urgent too: so a stream of seeds does not keep it from its turn.
    let is_fills_turn = has_fill && so_far.last == Some(RoundKind::Urgent);
    match so_far.stalled_until(waiting) {
        Some(_) => None,
        None if waiting.urgent && !is_fills_turn => in_this_cycle(RoundKind::Urgent),
        None if has_fill => in_this_cycle(RoundKind::Fill),
        None => None,
    }
}

impl SoFar {
    /// When a stalled crawl tries again; none if it is not stalled.
    pub fn stalled_until(&self, waiting: &WaitingWork) -> Option<u64> {
        let since = self.stalled?;
        let until = since.saturating_add(waiting.stall);
        // If the clock was set back, it is not.
        (!waiting.has_new_work && (since..until).contains(&waiting.now)).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{CycleSample, IMPORT, Tally};
    use RoundKind::{Fill, Revisit, Urgent};
    use recrawl_fetcher::StoppedBy;
    use recrawl_types::{Cycle, Round};
    use recrawl_verifier::MergeReport;

    fn report(cycle: u32, kind: RoundKind, fetched: u64, links_new: u64) -> RoundReport {
        let round = DatedRound { round: Round(9), cycle: Cycle(cycle) };
        let facts = Facts { kind, ..Facts::without_plan(round, 1_000 * u64::from(cycle), "age") };
        let merged = MergeReport { links_new, ..MergeReport::default() };
        let tally = Tally { fetched, conclusive: fetched, discoveries: fetched, ..Tally::default() };
        RoundReport::new(&facts, tally, &CycleSample::default(), &merged, StoppedBy::End, 5_000)
    }

    fn after(reports: &[RoundReport]) -> SoFar {
        let mut so_far = SoFar::default();
        reports.iter().for_each(|report| so_far.add(report));
        so_far
    }

    #[test]
    fn the_next_round_follows_from_what_is_committed_and_what_waits() {
        let nothing = WaitingWork::default();
        let fill = WaitingWork { fill: true, ..nothing };
        let urgent = WaitingWork { urgent: true, ..fill };
        let due = WaitingWork { cycle: true, ..urgent };
        let late = WaitingWork { is_past_deadline: true, ..urgent };
        let few = WaitingWork { fill_pages: 5, ..fill };
        let stalled = WaitingWork { now: 5_999, stall: 1_000, ..fill };
        let over = WaitingWork { now: 6_000, ..stalled };
        let set_back = WaitingWork { now: 4_999, ..stalled };
        let stirred = WaitingWork { has_new_work: true, ..stalled };
        let begun = vec![report(1, Revisit, 1, 9)];
        let part = |revisits_left| RoundReport { revisits_left, started: 1_000, ..report(1, Revisit, 9, 0) };
        let (first, both) = (vec![part(1)], vec![part(1), part(0)]);
        let between = [&first[..], &[report(1, Urgent, 1, 2)]].concat();
        let filling = [&begun[..], &[report(1, Fill, 9, 0)]].concat();
        let filled = [&filling[..], &[report(1, Fill, 0, 0)]].concat();
        let merged = [&filling[..], &[report(1, Fill, 0, 3)]].concat();
        let asked = [&filled[..], &[report(1, Urgent, 1, 2)]].concat();
        let second = [&asked[..], &[report(2, Revisit, 1, 0)]].concat();
        let import = RoundReport { stopped_by: IMPORT.into(), ..report(2, Revisit, 0, 7) };
        let imported = [&filled[..], std::slice::from_ref(&import)].concat();
        let slow = vec![RoundReport { carried: 3, ..report(1, Fill, 9, 0) }];
        let held = vec![RoundReport { carried: 3, ..report(1, Fill, 0, 0) }];
        let seeded = [&filling[..], &[report(1, Urgent, 1, 2)]].concat();
        let in_vain = [&filling[..], &[report(1, Urgent, 0, 0)]].concat();
        for (what, reports, waiting, expected) in [
            ("a new crawl begins", &vec![], nothing, Some(Revisit)),
            ("an import before the first cycle", &vec![import], nothing, Some(Revisit)),
            ("fill is off", &begun, nothing, None),
            ("the first round found links", &begun, fill, Some(Fill)),
            ("the second part of k", &first, fill, Some(Revisit)),
            ("the same, after seeds", &between, fill, Some(Revisit)),
            ("then what was found", &both, fill, Some(Fill)),
            ("a fill found pages", &filling, fill, Some(Fill)),
            ("a fill could ask nobody", &filled, stalled, None),
            ("it tries again later", &filled, over, Some(Fill)),
            ("or at once if the clock was set back", &filled, set_back, Some(Fill)),
            ("or when a host is resumed", &filled, stirred, Some(Fill)),
            ("hosts with carried pages are held", &held, stalled, None),
            ("an asked page could not be asked for", &in_vain, stalled, None),
            ("seeds on and on", &seeded, urgent, Some(Fill)),
            ("a fill merged links that had waited", &merged, fill, Some(Fill)),
            ("a fill has its limit", &filling, few, None),
            ("the limit has room", &begun, few, Some(Fill)),
            ("seeds before links", &filling, urgent, Some(Urgent)),
            (
                "seeds while nothing else is due",
                &filled,
                WaitingWork { fill: false, now: 9_000, ..urgent },
                Some(Urgent),
            ),
            ("what seeds link to", &asked, fill, Some(Fill)),
            ("an import brings URLs", &imported, fill, Some(Fill)),
            ("a new cycle is filled again", &second, fill, Some(Fill)),
            ("the period is over", &filling, due, Some(Revisit)),
            ("no request after the deadline", &filling, late, None),
            ("slow hosts are waited for", &slow, few, Some(Fill)),
        ] {
            let next = next(&after(reports), &waiting);
            assert_eq!(next.map(|next| next.kind), expected, "{what}");
            let begins = next.is_some_and(|next| next.begins_cycle);
            let is_part = after(reports).revisits_left > 0;
            assert_eq!(begins, expected == Some(Revisit) && !is_part, "{what}");
        }
        assert_eq!(after(&imported).started, Some(1_000), "an import starts no period");
        assert_eq!(after(&second).started, Some(2_000));
        assert_eq!((after(&filled).filled, after(&second).filled), (9, 0));
        let goes_on = RoundReport { cycle_started: 1_000, ..report(2, Fill, 3, 0) };
        let both = after(&[&imported[..], &[goes_on]].concat());
        assert_eq!((both.started, both.revisits, both.filled), (Some(1_000), 1, 12), "after an import");
    }
}
