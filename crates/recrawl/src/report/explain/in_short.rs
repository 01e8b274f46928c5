//! A page in three sentences: what it showed, the chance that it has changed, and when it is visited.

use super::obstacle::Obstacle;
use super::{Decider, Explanation, SelectionChance};
use crate::report::counted;
use recrawl_crawl::parts::promises::VisitPromise;
use recrawl_crawl::settings::Settings;
use recrawl_formula::{Formula, RateEvidence, Terminal};
use recrawl_types::{CanonicalUrl, Cycle, PageRecord, Span, StateColumns};

/// Terminals that are a chance of a change, those that know more first.
const CHANCES: [&str; 5] = ["p_next_section", "p_next", "p_burst", "p_eb_site", "p_eb"];

/// The page as the formula sees it.
pub struct Outlook {
    /// The probability of a change since the last visit; none if the formula reads too little to tell.
    chance: Option<f64>,
    /// Changes a cycle of the pages around it, if the formula reads them and visits of these were compared.
    around: Option<f64>,
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
    pub fn by(page: &StateColumns, formula: &Formula, cycle: Cycle) -> Outlook {
        let reads = formula.compile().reads();
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
        Outlook { chance, around }
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
        by_score(chance, self.rank.map(|rank| rank.best()), self.score_places)
    }
}

/// A chance for people: a small one is not none.
fn percent(chance: f64) -> String {
    match chance {
        small if small > 0.0 && small < 0.01 => "below 1 %".into(),
        chance => format!("{:.0} %", 100.0 * chance),
    }
}

/// When a score suffices. The rank tells it: all that come first are visited before, and others may overtake.
fn by_score(chance: SelectionChance, rank: Option<u64>, places: u64) -> String {
    match (chance, rank) {
        (SelectionChance::Sure, _) => "Its score is high enough for the next cycle.".into(),
        (SelectionChance::Likely, _) => "Its score is probably high enough for the next cycle.".into(),
        (SelectionChance::None, Some(rank)) if places > 0 => format!(
            "Its score is high enough in {} at the earliest: {} first.",
            counted(rank.div_ceil(places).max(2), "cycle"),
            match rank - 1 {
                1 => "1 page comes".into(),
                before => format!("{} come", counted(before, "page")),
            }
        ),
        (SelectionChance::None, _) => {
            "Its score is not high enough for the next cycle, and when it is cannot be told.".into()
        }
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

    #[test]
    fn without_evidence_nothing_is_told_of_the_pages_around() {
        let mut page = page();
        page.site_rate = vec![RateEvidence::default().rate()];
        let formula = Formula::from_expression("t * X").unwrap();
        assert_eq!(Outlook::by(&page, &formula, Cycle(12)).around, None);
        page.section_rate = vec![0.4999];
        assert_eq!(Outlook::by(&page, &formula, Cycle(12)).around, Some(0.4999));
    }

    #[test]
    fn a_small_chance_is_not_told_as_none() {
        assert_eq!([0.0, 0.004, 0.01, 0.996].map(percent), ["0 %", "below 1 %", "1 %", "100 %"]);
    }

    #[test]
    fn the_chance_is_told_whatever_the_basis_of_the_formula() {
        for basis in Basis::ALL {
            let formula = Formula { basis, ..Formula::from_expression("sqrt(p_eb_site) * t").unwrap() };
            let chance = Outlook::by(&page(), &formula, Cycle(12)).chance.unwrap();
            // A posterior of 1.5 changes in 0.5/0.03 + 7.5 cycles.
            let expected = 1.0 - (1.0 + 1.0 / (0.5 / 0.03 + 7.5f64)).powf(-1.5);
            assert!((chance - expected).abs() < 1e-9, "{basis}: {chance}");
        }
    }

    #[test]
    fn a_rank_beyond_the_budget_waits_for_those_that_come_first() {
        for (rank, expected, told) in [
            (50, SelectionChance::Sure, "Its score is high enough for the next cycle."),
            (100, SelectionChance::Likely, "Its score is probably high enough for the next cycle."),
            (
                101,
                SelectionChance::None,
                "Its score is high enough in 3 cycles at the earliest: 100 pages come first.",
            ),
        ] {
            let rank = Rank { rank, error: 0 };
            let chance = SelectionChance::at(rank, true, 50, 100);
            assert_eq!((chance, &*by_score(chance, Some(rank.best()), 50)), (expected, told), "{rank:?}");
        }
        let without = "Its score is not high enough for the next cycle, and when it is cannot be told.";
        for (rank, places) in [(None, 50), (Some(2), 0)] {
            assert_eq!(by_score(SelectionChance::None, rank, places), without);
        }
    }
}
