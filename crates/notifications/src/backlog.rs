//! The queue: kept visits that a target was not told of yet.

use crate::delivery::Place;
use crate::kind::ChangeKind;
use crate::message::Change;
use recrawl_repository::{KeptRounds, KeptVisit, KeptVisits, ReadError};
use recrawl_types::{CanonicalUrl, DatedRound, Round};

/// Visits that are passed over before others have a turn.
const MAX_PASSED: usize = 1 << 16;

/// Reads kept visits from a place on.
#[derive(Default)]
pub struct Backlog {
    reading: Option<Reading>,
}

/// A round that is being read.
struct Reading {
    round: DatedRound,
    visits: KeptVisits,
    /// The next visit, of another page than the last.
    next: Option<KeptVisit>,
}

/// What was found of the backlog.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// The changes of the next page that has some.
    Changes(Vec<Change>),
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
        place: &mut Place,
        kept: &KeptRounds,
        until: Round,
        target: &Asked<'_>,
    ) -> Result<Found, ReadError> {
        let found = self.read(place, kept, until, target);
        if found.is_err() {
            // The file is opened again from the place on.
            self.reading = None;
        }
        if let Err(ReadError::Damaged(_)) = &found {
            // No later try would read more.
            place.pass_to(place.round.next());
        }
        found
    }

    /// Passes rounds whose visits are not kept any more.
    ///
    /// # Errors
    /// When it cannot be listed which are.
    pub fn pass_removed(&mut self, place: &mut Place, kept: &KeptRounds) -> Result<(), ReadError> {
        if let Some(oldest) = kept.list()?.first().filter(|oldest| oldest.round > place.round) {
            place.pass_to(oldest.round);
            self.reading = None;
        }
        Ok(())
    }

    fn read(
        &mut self,
        place: &mut Place,
        kept: &KeptRounds,
        until: Round,
        target: &Asked<'_>,
    ) -> Result<Found, ReadError> {
        for _ in 0..MAX_PASSED {
            if self.reading.is_none() && !self.open(place, kept, until)? {
                return Ok(Found::Nothing);
            }
            let reading = self.reading.as_mut().expect("it was opened");
            let Some(first) = reading.next.take() else {
                (place.round, place.after) = (reading.round.round.next(), None);
                self.reading = None;
                continue;
            };
            let page = first.url.clone();
            let mut visits = vec![first];
            loop {
                match reading.visits.next_visit()? {
                    Some(visit) if visit.url == page => visits.push(visit),
                    next => break reading.next = next,
                }
            }
            let round = reading.round;
            let is_wanted = (target.wants)(&page);
            (place.round, place.after) = (round.round, Some(page));
            let kinds = visits.iter().filter_map(|visit| Some((ChangeKind::of(visit, target.kinds)?, visit)));
            let changes: Vec<Change> = kinds
                .filter(|_| is_wanted)
                .map(|(kind, visit)| Change::of(target.name, round, kind, visit))
                .collect();
            if !changes.is_empty() {
                return Ok(Found::Changes(changes));
            }
        }
        Ok(Found::Passed)
    }

    /// Opens the round of the place, or the next one that is kept. False if none is up to `until`.
    fn open(&mut self, place: &mut Place, kept: &KeptRounds, until: Round) -> Result<bool, ReadError> {
        while place.round <= until {
            let Some(round) = kept.list()?.into_iter().find(|kept| kept.round >= place.round) else {
                return Ok(false);
            };
            if round.round > until {
                return Ok(false);
            }
            if round.round > place.round {
                place.pass_to(round.round);
            }
            // A commit may have removed it just now.
            let Some(mut visits) = kept.visits(round)? else { continue };
            let next = match &place.after {
                None => visits.next_visit()?,
                Some(url) => loop {
                    match visits.next_from(url.key())? {
                        Some(visit) if visit.url == *url => {}
                        next => break next,
                    }
                },
            };
            self.reading = Some(Reading { round, visits, next });
            return Ok(true);
        }
        Ok(false)
    }
}

/// What a target asks for.
pub struct Asked<'a> {
    /// Its name.
    pub name: &'a str,
    /// The kinds of changes.
    pub kinds: &'a [ChangeKind],
    /// Is the page one of its pages?
    pub wants: Box<dyn Fn(&CanonicalUrl) -> bool + 'a>,
}

#[cfg(test)]
mod tests;
