//! Pages that could not be fetched: the last ones, and their number by outcome in a cycle.

use crate::labels::counted;
use recrawl_types::{CanonicalUrl, Outcome, OutcomeEffect, Visit};
use std::collections::VecDeque;

/// Number of pages that are remembered; the stored visits have the older ones.
pub const MAX_ERRORS: usize = 50;

/// Most frequent kinds that are named as reasons.
const MAX_REASONS: usize = 5;

/// Recent errors.
#[derive(Clone, Debug, Default)]
pub struct RecentErrors {
    /// Of the running or last cycle. There are about as many kinds as HTTP statuses.
    kinds: Vec<(Outcome, u64)>,
    /// The same when [`RecentErrors::newly_failed`] was last asked.
    told: Vec<(Outcome, u64)>,
    /// The same when the round began.
    before_round: Vec<(Outcome, u64)>,
    /// Newest last.
    last: VecDeque<Missed>,
}

/// A page that could not be fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// Time of the visit, in milliseconds since 1970.
    pub at: u64,
    /// The page.
    pub url: CanonicalUrl,
    /// The outcome.
    pub outcome: Outcome,
}

impl RecentErrors {
    /// Clears the counts at the start of a cycle.
    pub fn begin(&mut self) {
        self.kinds.clear();
        self.before_round.clear();
        self.told.clear();
    }

    /// Starts a round of the cycle.
    pub fn begin_round(&mut self) {
        self.before_round = self.kinds.clone();
    }

    /// Counts a recorded visit, if it is an error.
    pub fn note(&mut self, visit: &Visit) {
        let outcome = visit.outcome;
        if outcome.is_visit() {
            return;
        }
        // A rule that is obeyed, or a deadline, keeps thousands of pages at once, without anything wrong with
        // them: count, do not list.
        if matches!(outcome.effect(), OutcomeEffect::Failure | OutcomeEffect::Absence) {
            if self.last.len() == MAX_ERRORS {
                self.last.pop_front();
            }
            self.last.push_back(Missed { at: visit.at, url: visit.url.clone(), outcome });
        }
        match self.kinds.iter_mut().find(|(kind, _)| *kind == outcome) {
            Some((_, pages)) => *pages += 1,
            None => self.kinds.push((outcome, 1)),
        }
    }

    /// Each outcome with its number of visits, the most frequent first.
    pub fn kinds(&self) -> Vec<(Outcome, u64)> {
        let mut kinds = self.kinds.clone();
        kinds.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
        kinds
    }

    /// Why the last round fetched nothing. Earlier rounds of its cycle may have fetched pages; they are told if this one
    /// visited none.
    pub fn why_nothing(&self) -> String {
        let told = |kinds: Vec<(Outcome, u64)>| {
            let reasons = kinds.into_iter().take(MAX_REASONS);
            let list: Vec<String> =
                reasons.map(|(outcome, visits)| format!("{}: {outcome}", counted(visits, "visit"))).collect();
            list.join(", ")
        };
        match self.since(&self.before_round) {
            none if none.is_empty() => {
                format!("this round visited nothing; in the cycle so far: {}", told(self.kinds()))
            }
            kinds => format!("nothing was fetched in this round: {}", told(kinds)),
        }
    }

    /// Visits by outcome since these, the most frequent first.
    fn since(&self, before: &[(Outcome, u64)]) -> Vec<(Outcome, u64)> {
        let before =
            |outcome| before.iter().find(|(kind, _)| *kind == outcome).map_or(0, |(_, visits)| *visits);
        let news = self.kinds().into_iter().map(|(outcome, visits)| (outcome, visits - before(outcome)));
        let mut news: Vec<_> = news.filter(|(_, visits)| *visits > 0).collect();
        news.sort_by_key(|(_, visits)| std::cmp::Reverse(*visits));
        news
    }

    /// Which pages failed in the cycle so far, by reason, with an example of each; none if none did. Rules that were
    /// obeyed and deadlines are no failures.
    pub fn failed(&self) -> Option<String> {
        Some(format!("failed in this cycle so far: {}", self.listed(self.kinds())?))
    }

    /// The same of what failed since this was last asked: a daemon that commits many small rounds repeats nothing.
    pub fn newly_failed(&mut self) -> Option<String> {
        let told = std::mem::replace(&mut self.told, self.kinds.clone());
        Some(format!("failed: {}", self.listed(self.since(&told))?))
    }

    /// Failures of these kinds; none without any.
    fn listed(&self, kinds: Vec<(Outcome, u64)>) -> Option<String> {
        let example = |outcome| self.last().find(|missed| missed.outcome == outcome);
        let is_failure =
            |outcome: &Outcome| matches!(outcome.effect(), OutcomeEffect::Failure | OutcomeEffect::Absence);
        let kinds = kinds.into_iter().filter(|(outcome, _)| is_failure(outcome)).take(MAX_REASONS);
        let list = kinds.map(|(outcome, visits)| {
            let such_as =
                example(outcome).map_or(String::new(), |missed| format!(", such as {}", missed.url));
            format!("{}: {outcome}{such_as}", counted(visits, "visit"))
        });
        let list: Vec<String> = list.collect();
        (!list.is_empty()).then(|| list.join("; "))
    }

    /// The last ones, newest first.
    pub fn last(&self) -> impl Iterator<Item = &Missed> {
        self.last.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Change, Failure, Skip, UrlRules};

    fn visit(page: usize, outcome: Outcome) -> Visit {
        let url = UrlRules::default().canonicalize(&format!("http://a.test/{page}")).unwrap();
        Visit { at: page as u64, ..Visit::new(url, outcome) }
    }

    #[test]
    fn the_last_are_remembered_and_all_are_counted_by_kind() {
        let mut errors = RecentErrors::default();
        for page in 0..MAX_ERRORS + 10 {
            errors.note(&visit(page, Outcome::Failed(Failure::Status(503))));
            errors.note(&visit(page, Outcome::Fetched(Change::Changed)));
            errors.note(&visit(page, Outcome::Skipped(Skip::Deadline)));
            errors.note(&visit(page, Outcome::RobotsDenied));
            errors.note(&visit(page, Outcome::Skipped(Skip::Deadline)));
        }
        errors.note(&visit(1000, Outcome::NotFound(404)));
        let last: Vec<u64> = errors.last().map(|missed| missed.at).collect();
        assert_eq!((last.len(), last[0], last[1], last[MAX_ERRORS - 1]), (MAX_ERRORS, 1000, 59, 11));
        let kinds = [
            (Outcome::Skipped(Skip::Deadline), 120),
            (Outcome::Failed(Failure::Status(503)), 60),
            (Outcome::RobotsDenied, 60),
            (Outcome::NotFound(404), 1),
        ];
        assert_eq!(errors.kinds(), kinds);
        let why = errors.why_nothing();
        assert!(
            why.contains("120 visits: not requested: ") && why.ends_with("1 visit: HTTP status 404"),
            "{why}"
        );
        let failed = errors.failed().unwrap();
        assert!(
            failed.contains("60 visits: HTTP status 503, such as http://a.test/59; 1 visit: HTTP status 404, such as http://a.test/1000"),
            "{failed}"
        );
        assert_eq!(
            errors.newly_failed().as_deref(),
            failed
                .strip_prefix("failed in this cycle so far: ")
                .map(|all| format!("failed: {all}"))
                .as_deref()
        );
        errors.note(&visit(7, Outcome::RobotsDenied));
        assert_eq!(errors.newly_failed(), None, "nothing new");
        errors.note(&visit(1001, Outcome::NotFound(404)));
        assert_eq!(
            errors.newly_failed().unwrap(),
            "failed: 1 visit: HTTP status 404, such as http://a.test/1001"
        );
        // A round tells of its own visits alone, whatever the rounds before it fetched.
        errors.begin_round();
        let why = errors.why_nothing();
        assert!(why.starts_with("this round visited nothing; in the cycle so far: 120 visits: "), "{why}");
        (0..2).for_each(|page| errors.note(&visit(page, Outcome::RobotsDenied)));
        let why = errors.why_nothing();
        assert_eq!(why, "nothing was fetched in this round: 2 visits: forbidden by robots.txt");
        errors.begin();
        assert_eq!((errors.failed(), errors.newly_failed()), (None, None));
        assert!(errors.kinds().is_empty() && errors.last().count() == MAX_ERRORS);
    }
}
