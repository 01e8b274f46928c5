//! A page in three sentences: what it showed, the chance that it has changed, and when it is visited.

use super::obstacle::Obstacle;
use super::{Decider, Explanation, SelectionChance};
use crate::report::counted;
use recrawl_crawl::parts::promises::VisitPromise;
use recrawl_crawl::settings::Settings;
use recrawl_formula::{Formula, RateEvidence, Terminal};
use recrawl_types::{CanonicalUrl, Cycle, PageRecord, Span, StateColumns};

/// Cycles that are looked ahead, from the next one on.
const AHEAD: u32 = 1_000;
/// Terminals that are a chance of a change, those that know more first.
const CHANCES: [&str; 5] = ["p_next_section", "p_next", "p_burst", "p_eb_site", "p_eb"];

/// The page as the formula sees it.
pub struct Outlook {
    /// The probability of a change since the last visit; none if the formula reads too little to tell.
    chance: Option<f64>,
    /// Changes a cycle of the pages around it, if the formula reads them and visits of these were compared.
    around: Option<f64>,
    wait: Wait,
}

/// Until a page's score reaches the lowest score that the last cycle chose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wait {
    /// There is no such score.
    Unknown,
    /// Cycles after the next one.
    Cycles(u32),
    /// Not within [`AHEAD`].
    Beyond,
}

/// Visits that a page gets whatever its score.
pub struct Agreed {
    /// The longest promised time between two visits.
    pub promised: Option<Span>,
    /// The interval of visits of a page that was fetched. They are beyond the budget of a cycle.
    pub rhythm: Option<Span>,
}

impl Agreed {
    pub fn configured(settings: &Settings, url: &CanonicalUrl, record: &PageRecord) -> Agreed {
        let mut rhythms = settings.pages.rhythms().filter(|_| record.visited.is_some());
        let promised = VisitPromise::covering(&settings.promises, url);
        Agreed {
            promised: promised.map(|(_, promise)| Span(promise.within)),
            rhythm: rhythms.find(|(page, _)| *page == url).map(|(_, every)| Span(every)),
        }
    }
}

impl Outlook {
    /// Of a block of one visited page, with all that the formula reads.
    pub fn by(page: &StateColumns, formula: &Formula, cycle: Cycle, cutoff: Option<f64>) -> Outlook {
        let program = formula.compile();
        let reads = program.reads();
        let known = |name: &&str| {
            let terminal = Terminal::named(name).expect("a terminal");
            reads.contains((terminal.reads)(formula.basis))
        };
        let mut score = Vec::with_capacity(1);
        let chance = CHANCES.into_iter().find(known).map(|name| {
            let terminal = Formula::from_expression(name).expect("a terminal is an expression");
            let chance = Formula { basis: formula.basis, ..terminal };
            chance.compile().evaluate(page, cycle, &mut score);
            score[0]
        });
        let around = page.section_rate.first().or(page.site_rate.first()).copied();
        // Without a comparison, the rate is a constant that says nothing of these pages.
        let around = around.filter(|rate| *rate != RateEvidence::default().rate());
        let wait = cutoff.map_or(Wait::Unknown, |cutoff| {
            let reaches = |ahead: &u32| {
                program.evaluate(page, Cycle(cycle.0.saturating_add(*ahead)), &mut score);
                score[0] >= cutoff
            };
            (0..AHEAD).find(reaches).map_or(Wait::Beyond, Wait::Cycles)
        });
        Outlook { chance, around, wait }
    }
}

impl Explanation {
    /// The three sentences.
    pub(super) fn in_short(&self, obstacles: &[Obstacle]) -> [String; 3] {
        [self.shown(), self.chance(), self.when(obstacles)]
    }

    fn shown(&self) -> String {
        let Some(visited) = &self.record.visited else { return "No visit has shown it yet.".into() };
        let history = &visited.history;
        let shown = match history.visits {
            0 => "It was fetched once, so nothing is known of its changes".to_owned(),
            visits => {
                format!("{} of {} found a change", history.changes, counted(visits.into(), "later visit"))
            }
        };
        let around = self.outlook.as_ref().and_then(|outlook| outlook.around);
        let around = around.map(|rate| format!("; the pages around it change {rate:.4} times a cycle"));
        format!("{shown}{}.", around.unwrap_or_default())
    }

    fn chance(&self) -> String {
        let Some(visited) = &self.record.visited else { return "So it has no score.".into() };
        let ago = counted(self.cycle.since(visited.history.last).into(), "cycle");
        let since = format!("In the next cycle, its last visit was {ago} ago");
        match (self.outlook.as_ref().and_then(|outlook| outlook.chance), self.score) {
            (Some(chance), _) => {
                let counts = self.importance.clause();
                format!("{since}, and the chance of a change since is {}{counts}.", percent(chance))
            }
            (None, Some(score)) => format!("{since}, and its score is {score:.4}."),
            (None, None) => format!("{since}."),
        }
    }

    /// Only a page that too many others outrank has a wait: all others are told what decides about them.
    fn when(&self, obstacles: &[Obstacle]) -> String {
        match self.decider(obstacles) {
            Decider::Obstacle(Obstacle { when, evidence, .. }) => {
                format!("Next visit: {when}, because of this: {evidence}.")
            }
            Decider::Discovery => "It is visited when new URLs have their turn.".into(),
            Decider::Rhythm(every) => format!("It is visited every {every}, whatever its score."),
            Decider::Warmup => "It is visited in the next cycle, whatever its score.".into(),
            Decider::Announced => {
                "It is visited when the announced share reaches it, whatever its score.".into()
            }
            // Whether one is due in the next cycle is not known here: a survey of all promised pages tells that.
            Decider::Outranked(_) => match self.agreed.promised {
                Some(within) => {
                    format!("It is promised a visit within {within} of the last one, whatever its score.")
                }
                None => self.sentence_by_score(SelectionChance::None),
            },
            Decider::Score(Some(chance)) => self.sentence_by_score(chance),
            Decider::Score(None) => "Its next visit depends on its score.".into(),
        }
    }

    fn sentence_by_score(&self, chance: SelectionChance) -> String {
        by_score(chance, self.outlook.as_ref().map_or(Wait::Unknown, |outlook| outlook.wait))
    }
}

/// A chance for people: a small one is not none.
fn percent(chance: f64) -> String {
    match chance {
        small if small > 0.0 && small < 0.01 => "below 1 %".into(),
        chance => format!("{:.0} %", 100.0 * chance),
    }
}

/// When a score suffices. For the next cycle the rank tells it; for later ones the score is an estimate.
fn by_score(chance: SelectionChance, wait: Wait) -> String {
    match (chance, wait) {
        (SelectionChance::Sure, _) => "Its score is high enough for the next cycle.".into(),
        (SelectionChance::Likely, _) => "Its score is probably high enough for the next cycle.".into(),
        // A score that the last cycle would have chosen, but the next one does not: the lowest chosen score rises.
        (SelectionChance::None, Wait::Unknown | Wait::Cycles(0)) => {
            "Its score is not high enough for the next cycle, and when it is cannot be told.".into()
        }
        (SelectionChance::None, Wait::Cycles(wait)) => format!(
            "Its score is high enough in {}, if nothing else changes.",
            counted(u64::from(wait) + 1, "cycle")
        ),
        (SelectionChance::None, Wait::Beyond) => format!(
            "Its score is not high enough in the next {}, if nothing else changes.",
            counted(AHEAD.into(), "cycle")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_formula::Basis;
    use recrawl_scheduler::Rank;
    use recrawl_types::{History, Known};

    /// X = 1, n = 2 and, in cycle 12, t = 1.
    fn page() -> StateColumns {
        let mut history = History::first_fetch(Cycle(1));
        history.record(Cycle(6), true);
        history.record(Cycle(11), false);
        let mut page = StateColumns { global_rate: 0.02, site_rate: vec![0.03], ..StateColumns::default() };
        page.push(Known::default(), Some(&history));
        page
    }

    fn outlook(text: &str, cutoff: Option<f64>) -> Outlook {
        Outlook::by(&page(), &Formula::from_expression(text).unwrap(), Cycle(12), cutoff)
    }

    #[test]
    fn the_wait_ends_when_the_score_reaches_the_lowest_that_was_chosen() {
        let plain = outlook("t * X", Some(7.5));
        assert_eq!((plain.chance, plain.around, plain.wait), (None, Some(0.03), Wait::Cycles(7)));
        for (cutoff, wait) in [
            (Some(1.0), Wait::Cycles(0)),
            (Some(1_000.0), Wait::Cycles(999)),
            (Some(1_001.0), Wait::Beyond),
            (None, Wait::Unknown),
        ] {
            assert_eq!(outlook("t", cutoff).wait, wait, "{cutoff:?}");
        }
    }

    #[test]
    fn without_evidence_nothing_is_told_of_the_pages_around() {
        let mut page = page();
        page.site_rate = vec![RateEvidence::default().rate()];
        let formula = Formula::from_expression("t * X").unwrap();
        assert_eq!(Outlook::by(&page, &formula, Cycle(12), None).around, None);
        page.section_rate = vec![0.4999];
        assert_eq!(Outlook::by(&page, &formula, Cycle(12), None).around, Some(0.4999));
    }

    #[test]
    fn a_small_chance_is_not_told_as_none() {
        assert_eq!([0.0, 0.004, 0.01, 0.996].map(percent), ["0 %", "below 1 %", "1 %", "100 %"]);
    }

    #[test]
    fn the_chance_is_told_whatever_the_basis_of_the_formula() {
        for basis in Basis::ALL {
            let formula = Formula { basis, ..Formula::from_expression("sqrt(p_eb_site) * t").unwrap() };
            let chance = Outlook::by(&page(), &formula, Cycle(12), None).chance.unwrap();
            // A posterior of 1.5 changes in 0.5/0.03 + 7.5 cycles.
            let expected = 1.0 - (1.0 + 1.0 / (0.5 / 0.03 + 7.5f64)).powf(-1.5);
            assert!((chance - expected).abs() < 1e-9, "{basis}: {chance}");
        }
    }

    #[test]
    fn a_score_above_the_cutoff_is_not_enough_for_a_rank_beyond_the_budget() {
        // The score is 1, and the last cycle would have chosen it.
        let wait = outlook("t", Some(0.5)).wait;
        for (rank, expected, told) in [
            (50, SelectionChance::Sure, "Its score is high enough for the next cycle."),
            (100, SelectionChance::Likely, "Its score is probably high enough for the next cycle."),
            (
                101,
                SelectionChance::None,
                "Its score is not high enough for the next cycle, and when it is cannot be told.",
            ),
        ] {
            let chance = SelectionChance::at(Rank { rank, error: 0 }, true, 50, 100);
            assert_eq!((chance, &*by_score(chance, wait)), (expected, told), "{rank}");
        }
    }

    #[test]
    fn a_score_that_is_below_the_cutoff_waits_only_if_the_rank_is_beyond_the_budget() {
        let wait = outlook("t", Some(3.0)).wait;
        assert_eq!(by_score(SelectionChance::Sure, wait), "Its score is high enough for the next cycle.");
        let [soon, never] = [wait, Wait::Beyond].map(|wait| by_score(SelectionChance::None, wait));
        assert_eq!(soon, "Its score is high enough in 3 cycles, if nothing else changes.");
        assert_eq!(never, "Its score is not high enough in the next 1,000 cycles, if nothing else changes.");
    }
}
