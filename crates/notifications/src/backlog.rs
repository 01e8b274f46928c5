//! The queue: kept visits that a target was not told of yet.

use crate::kind::ChangeKind;
use crate::message::ChangeNotice;
use recrawl_repository::{Followed, ReadError, StoredPosition, StoredRounds, StoredVisit, VisitFollower};
use recrawl_types::{CanonicalUrl, DatedRound, Round};

/// Visits that are passed over before others have a turn.
const MAX_PASSED: usize = 1 << 16;

/// Reads the changes among kept visits, from a position on.
#[derive(Default)]
pub struct Backlog {
    follower: VisitFollower,
}

/// What was found of the backlog.
#[derive(Debug, PartialEq)]
pub enum BacklogFound {
    /// The changes of the next page that has some.
    Changes(Vec<ChangeNotice>),
    /// None so far; the place has moved on.
    Passed,
    /// Nothing is left.
    Nothing,
}

impl Backlog {
    /// The next changes of the kinds asked for that `wants` takes, up to the round `until`. Moves the place behind them.
    ///
    /// # Errors
    /// When the visits cannot be read. The place stays, unless they are damaged: then the rest of the round is lost.
    pub fn next(
        &mut self,
        place: &mut StoredPosition,
        kept: &StoredRounds,
        until: Round,
        target: &TargetFilter<'_>,
    ) -> Result<BacklogFound, ReadError> {
        for _ in 0..MAX_PASSED {
            let followed = self.follower.next(place, kept, until).inspect_err(|error| {
                if let ReadError::Damaged(_) = error {
                    // No later try would read more.
                    place.pass_to(place.round.next());
                }
            });
            match followed? {
                Followed::Page(round, visits) => {
                    let changes = target.changes(round, &visits);
                    if !changes.is_empty() {
                        return Ok(BacklogFound::Changes(changes));
                    }
                }
                Followed::End(_) | Followed::Lost(_) => {}
                Followed::Nothing => return Ok(BacklogFound::Nothing),
            }
        }
        Ok(BacklogFound::Passed)
    }

    /// Passes rounds whose visits are not kept any more.
    ///
    /// # Errors
    /// When it cannot be listed which are.
    pub fn pass_removed(&mut self, place: &mut StoredPosition, kept: &StoredRounds) -> Result<(), ReadError> {
        self.follower.pass_removed(place, kept).map(|_| ())
    }
}

/// What a target asks for.
pub struct TargetFilter<'a> {
    /// Its name.
    pub name: &'a str,
    /// The kinds of changes.
    pub kinds: &'a [ChangeKind],
    /// Is the page one of its pages?
    pub wants: Box<dyn Fn(&CanonicalUrl) -> bool + 'a>,
}

impl TargetFilter<'_> {
    /// The changes that a page's visits of one round are to the target.
    fn changes(&self, round: DatedRound, visits: &[StoredVisit]) -> Vec<ChangeNotice> {
        let is_wanted = |visit: &StoredVisit| (self.wants)(&visit.url);
        let kinds = visits.iter().filter_map(|visit| Some((ChangeKind::told(visit, self.kinds)?, visit)));
        let wanted = kinds.filter(|(_, visit)| is_wanted(visit));
        wanted.map(|(kind, visit)| ChangeNotice::new(self.name, round, kind, visit)).collect()
    }
}

#[cfg(test)]
mod tests;
