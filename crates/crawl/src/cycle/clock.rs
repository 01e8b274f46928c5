//! Decides which round is next, from what is committed and what waits.
//!
//! A cycle begins with a revisit round. Fill rounds follow while URLs are due that were never fetched,
//! until the cycle is over. Urgent rounds come in between. The decision depends only on arguments, so a
//! restart decides the same.

use crate::report::RoundReport;
use crate::report::facts::RoundKind;

/// What the reports of committed rounds say of the current cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Number of the cycle; 0 before the first round of a crawl.
    pub cycle: u32,
    /// Its start, in milliseconds since 1970; none before the first round.
    pub started: Option<u64>,
    /// The kind of its last round, and whether that round left nothing to do for another of its kind.
    last: Option<(RoundKind, bool)>,
    /// Pages that its last round carried into the next one.
    pub carried: u64,
    /// Never-fetched URLs that its fill rounds visited.
    pub filled: u64,
    /// Pages that the last round fetched.
    pub fetched: u64,
}

impl SoFar {
    /// Adds the report of the next round. Imports and takedowns are rounds without visits: they leave
    /// the cycle as it is.
    pub fn add(&mut self, report: &RoundReport) {
        if !report.is_of_crawl() {
            // There may be new URLs.
            self.last = None;
            return;
        }
        if report.cycle != self.cycle {
            *self = SoFar::default();
        }
        let is_done = report.carried == 0
            && report.requested() == 0
            && report.links_new == 0
            && report.links_pending == 0;
        *self = SoFar {
            cycle: report.cycle,
            started: self.started.or(Some(report.cycle_started())),
            last: Some((report.kind, is_done)),
            carried: report.carried,
            filled: self.filled + if report.kind == RoundKind::Fill { report.requested() } else { 0 },
            fetched: report.tally.fetched,
        };
    }

    /// Did the last fill round request nothing? Then only links that wait can bring more pages.
    pub fn is_out_of_pages(&self) -> bool {
        matches!(self.last, Some((RoundKind::Fill, _))) && self.fetched == 0
    }

    /// Did the last round of this kind leave nothing to do for another?
    fn is_done(&self, kind: RoundKind) -> bool {
        self.last == Some((kind, true))
    }
}

/// What waits for a round, besides what is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Is the next cycle due?
    pub cycle: bool,
    /// May the cycle send no more requests, by its deadline?
    pub is_past_deadline: bool,
    /// Do new seeds or requested pages wait that no round has tried yet?
    pub urgent: bool,
    /// Is `cycle.fill` on, and has no plan of this generation found that nothing is due?
    pub fill: bool,
    /// Maximum of [`SoFar::filled`]; 0 for no limit.
    pub fill_pages: u64,
}

/// A round to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextRound {
    /// What it is for.
    pub kind: RoundKind,
    /// Does it begin the next cycle?
    pub begins_cycle: bool,
}

impl NextRound {
    /// The first round of the next cycle.
    pub const OF_NEXT_CYCLE: NextRound = NextRound { kind: RoundKind::Revisit, begins_cycle: true };
}

/// The next round; none until the next cycle is due or something urgent comes.
pub fn next(so_far: &SoFar, waiting: &Waiting) -> Option<NextRound> {
    let in_this_cycle = |kind| Some(NextRound { kind, begins_cycle: false });
    if waiting.cycle || so_far.started.is_none() {
        return Some(NextRound::OF_NEXT_CYCLE);
    }
    if waiting.is_past_deadline {
        return None;
    }
    if waiting.urgent {
        return in_this_cycle(RoundKind::Urgent);
    }
    let has_room = waiting.fill_pages == 0 || so_far.filled < waiting.fill_pages;
    let is_left = so_far.carried > 0 || has_room && !so_far.is_done(RoundKind::Fill);
    if waiting.fill && is_left { in_this_cycle(RoundKind::Fill) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::facts::Facts;
    use crate::report::{IMPORT, Sample, Tally};
    use RoundKind::{Fill, Revisit, Urgent};
    use recrawl_fetcher::StoppedBy;
    use recrawl_types::{Cycle, DatedRound, Round};
    use recrawl_verifier::MergeReport;

    fn report(cycle: u32, kind: RoundKind, fetched: u64, links_new: u64) -> RoundReport {
        let round = DatedRound { round: Round(9), cycle: Cycle(cycle) };
        let facts = Facts { kind, ..Facts::without_plan(round, 1_000 * u64::from(cycle), "age") };
        let merged = MergeReport { links_new, ..MergeReport::default() };
        let tally = Tally { fetched, ..Tally::default() };
        RoundReport::new(&facts, tally, &Sample::default(), &merged, StoppedBy::End, 0)
    }

    fn after(reports: &[RoundReport]) -> SoFar {
        let mut so_far = SoFar::default();
        reports.iter().for_each(|report| so_far.add(report));
        so_far
    }

    #[test]
    fn the_next_round_follows_from_what_is_committed_and_what_waits() {
        let nothing = Waiting::default();
        let fill = Waiting { fill: true, ..nothing };
        let urgent = Waiting { urgent: true, ..fill };
        let due = Waiting { cycle: true, ..urgent };
        let late = Waiting { is_past_deadline: true, ..urgent };
        let few = Waiting { fill_pages: 5, ..fill };
        let begun = vec![report(1, Revisit, 1, 9)];
        let filling = [&begun[..], &[report(1, Fill, 9, 0)]].concat();
        let filled = [&filling[..], &[report(1, Fill, 0, 0)]].concat();
        let merged = [&filling[..], &[report(1, Fill, 0, 3)]].concat();
        let asked = [&filled[..], &[report(1, Urgent, 1, 2)]].concat();
        let second = [&asked[..], &[report(2, Revisit, 1, 0)]].concat();
        let import = RoundReport { stopped_by: IMPORT.into(), ..report(2, Revisit, 0, 7) };
        let imported = [&filled[..], std::slice::from_ref(&import)].concat();
        let slow = vec![RoundReport { carried: 3, ..report(1, Fill, 0, 0) }];
        for (what, reports, waiting, expected) in [
            ("a new crawl begins", &vec![], nothing, Some(Revisit)),
            ("an import before the first cycle", &vec![import], nothing, Some(Revisit)),
            ("fill is off", &begun, nothing, None),
            ("the first round found links", &begun, fill, Some(Fill)),
            ("a fill found pages", &filling, fill, Some(Fill)),
            ("a fill found nothing to request", &filled, fill, None),
            ("a fill merged links that had waited", &merged, fill, Some(Fill)),
            ("a fill has its limit", &filling, few, None),
            ("the limit has room", &begun, few, Some(Fill)),
            ("seeds before links", &filling, urgent, Some(Urgent)),
            ("seeds while nothing else is due", &filled, urgent, Some(Urgent)),
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
            assert_eq!(begins, expected == Some(Revisit), "{what}");
        }
        assert_eq!(after(&imported).started, Some(1_000), "an import starts no period");
        assert_eq!(after(&second).started, Some(2_000));
        assert_eq!((after(&filled).filled, after(&second).filled), (9, 0));
    }
}
