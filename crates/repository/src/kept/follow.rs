//! Follows committed visits: how everything that a crawl feeds reads them.
//!
//! Events, notifications and exports are *sinks*. A sink stores a [`StoredPosition`] with what it took, and asks a
//! [`VisitFollower`] for the visits behind it. So a stop, kill or power cut loses nothing: an older position only gives
//! some visits again. What was removed before it was read is told as lost, never passed in silence.

use crate::file::error::ReadError;
use crate::kept::rounds::StoredRounds;
use crate::kept::visits::{StoredVisit, StoredVisits};
use recrawl_types::{CanonicalUrl, DatedRound, Round, url};
use serde::{Deserialize, Serialize};

/// Up to where a sink took the visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredPosition {
    /// The round that is read next.
    pub round: Round,
    /// Its pages up to this one were read; none at its beginning.
    #[serde(default, with = "url::text::option", skip_serializing_if = "Option::is_none")]
    pub after: Option<CanonicalUrl>,
    /// Rounds whose visits were removed before they were read, or were damaged.
    #[serde(default)]
    pub lost: u64,
}

impl StoredPosition {
    /// At the beginning of a round.
    pub fn before(round: Round) -> StoredPosition {
        StoredPosition { round, after: None, lost: 0 }
    }

    /// The rounds before this one are lost.
    pub fn pass_to(&mut self, round: Round) {
        self.lost += u64::from(round.since(self.round));
        (self.round, self.after) = (round, None);
    }
}

/// The next step behind a position.
#[derive(Debug, PartialEq)]
pub enum Followed {
    /// All visits of the next page of a round.
    Page(DatedRound, Vec<StoredVisit>),
    /// A round was read to its end.
    End(DatedRound),
    /// Visits of earlier rounds were removed before they were read; this one is next.
    Lost(DatedRound),
    /// Nothing is kept behind the position, up to the last round asked for.
    Nothing,
}

/// Reads kept visits from a position on, page by page. Memory: a frame and the visits of one page.
#[derive(Default)]
pub struct VisitFollower {
    reading: Option<RoundReading>,
}

/// A round that is being read.
struct RoundReading {
    round: DatedRound,
    visits: StoredVisits,
    /// The next visit, of another page than the last.
    next: Option<StoredVisit>,
}

impl VisitFollower {
    /// The next step, up to the round `until`. Moves the position behind it.
    ///
    /// # Errors
    /// When the visits cannot be read. The position stays, and the next call reads there again.
    pub fn next(
        &mut self,
        at: &mut StoredPosition,
        kept: &StoredRounds,
        until: Round,
    ) -> Result<Followed, ReadError> {
        let next = self.read(at, kept, until);
        if next.is_err() {
            self.reading = None;
        }
        next
    }

    /// Passes rounds whose visits are not kept any more. True if there were some.
    ///
    /// # Errors
    /// When it cannot be listed which are.
    pub fn pass_removed(&mut self, at: &mut StoredPosition, kept: &StoredRounds) -> Result<bool, ReadError> {
        let oldest = kept.list()?.first().copied().filter(|oldest| oldest.round > at.round);
        if let Some(oldest) = oldest {
            at.pass_to(oldest.round);
            self.reading = None;
        }
        Ok(oldest.is_some())
    }

    fn read(
        &mut self,
        at: &mut StoredPosition,
        kept: &StoredRounds,
        until: Round,
    ) -> Result<Followed, ReadError> {
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none => match open(at, kept, until)? {
                Ok(opened) => none.insert(opened),
                Err(followed) => return Ok(followed),
            },
        };
        let round = reading.round;
        let Some(first) = reading.next.take() else {
            (at.round, at.after) = (round.round.next(), None);
            self.reading = None;
            return Ok(Followed::End(round));
        };
        let page = first.url.clone();
        let mut visits = vec![first];
        loop {
            match reading.visits.next_entry()? {
                Some(visit) if visit.url == page => visits.push(visit),
                next => break reading.next = next,
            }
        }
        (at.round, at.after) = (round.round, Some(page));
        Ok(Followed::Page(round, visits))
    }
}

/// Opens the round of a position behind the pages that were read; where it is not kept, tells so.
fn open(
    at: &mut StoredPosition,
    kept: &StoredRounds,
    until: Round,
) -> Result<Result<RoundReading, Followed>, ReadError> {
    loop {
        let next = kept.list()?.into_iter().find(|kept| kept.round >= at.round);
        let Some(round) = next.filter(|next| next.round <= until) else {
            return Ok(Err(Followed::Nothing));
        };
        if round.round > at.round {
            at.pass_to(round.round);
            return Ok(Err(Followed::Lost(round)));
        }
        // A commit may have removed it just now: then the next list is without it.
        let Some(mut visits) = kept.visits(round)? else { continue };
        let next = match &at.after {
            None => visits.next_entry()?,
            Some(url) => loop {
                match visits.next_from(url.key())? {
                    Some(visit) if visit.url == *url => {}
                    next => break next,
                }
            },
        };
        return Ok(Ok(RoundReading { round, visits, next }));
    }
}

#[cfg(test)]
mod tests;
