//! Changes newest first, for people and programs that ask instead of being told.

use crate::kind::ChangeKind;
use crate::message::ChangeNotice;
use recrawl_repository::{ReadError, StoredRounds, StoredVisit, StoredVisits};
use recrawl_types::{CanonicalUrl, Round, UrlRules};
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

/// Approximate maximum bytes of kept visits that are read for one list: somebody is waiting. The rest is the next list.
const MAX_BYTES: u64 = 256 << 20;

/// A place in the list of all changes. Rounds are committed one after the other, so a later round has later visits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePlace {
    round: Round,
    time: u64,
    /// None before all changes of that second.
    url: Option<CanonicalUrl>,
}

impl ChangePlace {
    fn before_round(round: Round) -> ChangePlace {
        ChangePlace { round, time: u64::MAX, url: None }
    }

    fn is_before(&self, visit: &StoredVisit) -> bool {
        (Reverse(self.time), self.url.as_ref()) < (Reverse(visit.at), Some(&visit.url))
    }
}

impl fmt::Display for ChangePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.round.0, self.time)?;
        self.url.as_ref().map_or(Ok(()), |url| write!(f, " {url}"))
    }
}

/// Text that names no place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a place in the list of changes")]
pub struct NoPlace;

impl FromStr for ChangePlace {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<ChangePlace, NoPlace> {
        let mut parts = text.splitn(3, ' ');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).ok_or(NoPlace);
        let (round, time) = (number()?, number()?);
        let url = parts.next().map(|url| UrlRules::keep_all().canonicalize(url)).transpose();
        let round = Round(round.try_into().map_err(|_| NoPlace)?);
        Ok(ChangePlace { round, time, url: url.map_err(|_| NoPlace)? })
    }
}

/// The changes that are asked for.
pub struct Sought<'a> {
    /// Their kinds.
    pub kinds: &'a [ChangeKind],
    /// Only those of this time or later, in seconds since 1970.
    pub since: u64,
    /// Is the page asked for?
    pub wants: &'a dyn Fn(&CanonicalUrl) -> bool,
}

/// A part of the list.
#[derive(Debug, Default, PartialEq)]
pub struct Newest {
    /// Changes, newest first; those of one second by URL.
    pub changes: Vec<ChangeNotice>,
    /// The beginning of the next part. None if nothing is left.
    pub next: Option<ChangePlace>,
}

impl Sought<'_> {
    /// At most `limit` changes behind a place, or the newest. May be fewer where more are left, and none where many visits
    /// were read in vain: then `next` leads on. Memory: the changes, and a frame of visits.
    ///
    /// # Errors
    /// When the visits cannot be read.
    pub fn newest(
        &self,
        kept: &StoredRounds,
        from: Option<&ChangePlace>,
        limit: usize,
    ) -> Result<Newest, ReadError> {
        let (mut found, mut read) = (Newest::default(), 0);
        let rounds = kept.list()?.into_iter().rev();
        for round in rounds.filter(|round| from.is_none_or(|from| round.round <= from.round)) {
            if read >= MAX_BYTES {
                found.next = Some(ChangePlace::before_round(round.round));
                break;
            }
            // A commit may have removed the oldest file just now.
            let Some(mut visits) = kept.visits(round)? else { continue };
            let from = from.filter(|from| from.round == round.round);
            let left = limit - found.changes.len();
            // One more tells whether something is left.
            let OfRound { mut changes, newest } = self.of_round(&mut visits, from, left + 1)?;
            read += visits.bytes_read();
            let is_more = changes.len() > left;
            changes.truncate(left);
            let last = changes.last().map(|(_, visit)| (visit.at, visit.url.clone()));
            found
                .changes
                .extend(changes.iter().map(|(kind, visit)| ChangeNotice::new("", round, *kind, visit)));
            if is_more {
                found.next = Some(match last {
                    Some((time, url)) => ChangePlace { round: round.round, time, url: Some(url) },
                    None => ChangePlace::before_round(round.round),
                });
                break;
            }
            // Earlier rounds have earlier visits.
            if newest.is_some_and(|newest| newest < self.since) {
                break;
            }
        }
        Ok(found)
    }

    /// The first `most` changes of a round behind a place.
    fn of_round(
        &self,
        visits: &mut StoredVisits,
        from: Option<&ChangePlace>,
        most: usize,
    ) -> Result<OfRound, ReadError> {
        let mut of_round = OfRound::default();
        while let Some(visit) = visits.next_entry()? {
            of_round.newest = of_round.newest.max(Some(visit.at));
            let is_sought = visit.at >= self.since && from.is_none_or(|from| from.is_before(&visit));
            let kind =
                ChangeKind::from_visit(&visit, self.kinds).filter(|_| is_sought && (self.wants)(&visit.url));
            of_round.changes.extend(kind.map(|kind| (kind, visit)));
            if of_round.changes.len() >= 2 * most.max(512) {
                of_round.keep(most);
            }
        }
        of_round.keep(most);
        Ok(of_round)
    }
}

/// Changes of one round.
#[derive(Default)]
struct OfRound {
    changes: Vec<(ChangeKind, StoredVisit)>,
    /// The time of its last visit.
    newest: Option<u64>,
}

impl OfRound {
    fn keep(&mut self, most: usize) {
        self.changes.sort_unstable_by(|(_, a), (_, b)| (b.at, &a.url).cmp(&(a.at, &b.url)));
        self.changes.truncate(most);
    }
}

#[cfg(test)]
mod tests;
