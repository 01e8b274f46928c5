//! A page in three sentences: what it showed, the chance that it has changed, and when it is visited.

use super::Explanation;
use super::obstacle::Obstacle;
use crate::report::counted;
use recrawl_formula::{Formula, Terminal};
use recrawl_scheduler::Gate;
use recrawl_types::{Cycle, StateColumns};

/// Cycles that are looked ahead.
const AHEAD: u32 = 1_000;
/// Terminals that are a chance of a change, those that know more first.
const CHANCES: [&str; 5] = ["p_next_section", "p_next", "p_burst", "p_eb_site", "p_eb"];

/// The page as the formula sees it.
pub struct Outlook {
    /// The probability of a change since the last visit; none if the formula reads too little to tell.
    chance: Option<f64>,
    /// Changes a cycle of the pages around it, if the formula reads them.
    around: Option<f64>,
    /// Cycles after the next one until its score reaches the lowest score that the last cycle chose; none without such a
    /// score, or if more than 1,000.
    wait: Option<u32>,
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
            let chance = Formula::from_expression(name).expect("a terminal is an expression").compile();
            chance.evaluate(page, cycle, &mut score);
            score[0]
        });
        let around = page.section_rate.first().or(page.site_rate.first()).copied();
        let wait = cutoff.and_then(|cutoff| {
            (0..=AHEAD).find(|ahead| {
                program.evaluate(page, Cycle(cycle.0.saturating_add(*ahead)), &mut score);
                score[0] >= cutoff
            })
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
                format!("{since}, and the chance of a change since is {:.0} %.", 100.0 * chance)
            }
            (None, Some(score)) => format!("{since}, and its score is {score:.4}."),
            (None, None) => format!("{since}."),
        }
    }

    fn when(&self, obstacles: &[Obstacle]) -> String {
        if let Some(Obstacle { when, evidence, .. }) = obstacles.iter().find(|by| by.gate != "score") {
            return format!("Next visit: {when}, because of this: {evidence}.");
        }
        match (self.gate, self.outlook.as_ref().and_then(|outlook| outlook.wait)) {
            (Gate::Revisit, Some(0)) => "Its score is high enough for the next cycle.".into(),
            (Gate::Revisit, Some(wait)) => format!(
                "Its score is high enough in {}, if nothing else changes.",
                counted(u64::from(wait) + 1, "cycle")
            ),
            (Gate::Revisit, None) => "When its score is high enough cannot be told yet.".into(),
            (Gate::Warmup, _) => "It is visited in the next cycle, whatever its score.".into(),
            (Gate::Discovery, _) => "It is visited when new URLs have their turn.".into(),
            _ => "It is not visited again by its score.".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{History, Known};

    #[test]
    fn the_wait_ends_when_the_score_reaches_the_lowest_that_was_chosen() {
        let mut history = History::first_fetch(Cycle(1));
        history.record(Cycle(6), true);
        history.record(Cycle(11), false);
        let mut page = StateColumns { global_rate: 0.02, site_rate: vec![0.03], ..StateColumns::default() };
        page.push(Known::default(), Some(&history));
        let of = |text: &str, cutoff| {
            Outlook::by(&page, &Formula::from_expression(text).unwrap(), Cycle(12), cutoff)
        };
        let plain = of("t * X", Some(7.5));
        assert_eq!((plain.chance, plain.around, plain.wait), (None, Some(0.03), Some(7)));
        assert_eq!(of("t", Some(1.0)).wait, Some(0));
        assert_eq!((of("t", Some(5_000.0)).wait, of("t", None).wait), (None, None));
        // A posterior of 1.5 changes in 0.5/0.03 + 7.5 cycles.
        let chance = of("sqrt(p_eb_site) * t", None).chance.unwrap();
        assert!((chance - (1.0 - (1.0 + 1.0 / (0.5 / 0.03 + 7.5f64)).powf(-1.5))).abs() < 1e-9, "{chance}");
    }
}
