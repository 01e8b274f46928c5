//! The visits of committed rounds, kept as a repository of learning data: a small file a round, in the order
//! of URLs.
//!
//! A round's log is gone once the round is committed, and a page's record has sums of what was seen. These
//! files keep the visits themselves, so that histories can be rebuilt with their true gaps: a cycle in which
//! a page was not looked at has no line of it. A file is part of its round's commit, written and synced
//! before it. What a crash leaves of one before that is removed at the next start, and the merge, which the
//! log allows to run again, writes it anew.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::ReadError;
use crate::generation::codec::{outcome, put_reason, take_reason, take_url};
use crate::kept::entries::{StoredEntries, StoredEntry};
use crate::kept::file::StoredKind;
use recrawl_types::{CanonicalUrl, Outcome, Share, Standing, Visit};
use std::borrow::Cow;
use std::cmp::Ordering;

/// One visit of a committed round.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVisit {
    /// The page.
    pub url: CanonicalUrl,
    /// When the fetch ended, in seconds since 1970.
    pub at: u64,
    /// Why the page was visited.
    pub share: Share,
    /// How it ended, as the page's record was told: what the fetcher could not compare is decided.
    pub outcome: Outcome,
    /// Confirmations of the page's absence ([`Known::not_found`]): after a visit that did not find it, one more if it
    /// was confirmed to be gone before; before a visit that found it. 0 for any other visit, and where it was not written down.
    ///
    /// [`Known::not_found`]: recrawl_types::Known::not_found
    pub confirmed: u8,
    /// Tries in a row that did not get the page, from [`Known::MISSING_AFTER`] on: at that one of them, and before a visit
    /// that found the page. 0 for any other visit, and of a page that nobody awaits.
    ///
    /// [`Known::MISSING_AFTER`]: recrawl_types::Known::MISSING_AFTER
    pub missed: u8,
    /// What a crawl that learns from its visits keeps in addition.
    pub learned: Option<VisitLesson>,
}

/// What a crawl that learns from its visits keeps of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitLesson {
    /// How the page stood in the plan.
    pub standing: Standing,
    /// Bytes of the body, after decompression.
    pub bytes: u64,
    /// Milliseconds from the request to the end of the body.
    pub took: u32,
}

impl VisitLesson {
    /// What is kept of this visit; none without a standing.
    pub fn from_visit(visit: &Visit) -> Option<VisitLesson> {
        visit.standing.map(|standing| VisitLesson { standing, bytes: visit.bytes, took: visit.took })
    }
}

/// Above the rest of the detail of a visit that found the page, or that it is not there: how often its absence was
/// confirmed.
const CONFIRMED: u32 = 16;
/// Above both: how many tries in a row did not get the page.
const MISSED: u32 = 24;

/// Does a visit with this outcome tell how often the absence of the page was confirmed?
fn tells_absence(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::NotFound(_)) || outcome.change().is_some()
}

impl StoredEntry for StoredVisit {
    const KIND: StoredKind = StoredKind::Visits;
    const REPEATS: bool = true;
    const MISCOUNT: &'static str = "the number of visits does not match";

    fn url(&self) -> Cow<'_, CanonicalUrl> {
        Cow::Borrowed(&self.url)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.put_varint(self.at);
        put_reason(out, self.share, self.learned.map(|learned| learned.standing));
        if let Some(VisitLesson { bytes, took, .. }) = self.learned {
            out.put_varint(bytes);
            out.put_varint(took.into());
        }
        let (tag, detail) = self.outcome.code();
        let confirmed = if tells_absence(self.outcome) { u64::from(self.confirmed) << CONFIRMED } else { 0 };
        out.put_u8(tag);
        out.put_varint(detail | confirmed | u64::from(self.missed) << MISSED);
    }

    fn take(take: &mut Take<'_>, key: &mut Vec<u8>) -> Result<StoredVisit, Malformed> {
        let url = take_url(take, key)?;
        let Rest { at, share, learned, tag, detail } = take_rest(take)?;
        let (missed, detail) = (detail >> MISSED, detail & ((1 << MISSED) - 1));
        let missed = u8::try_from(missed).map_err(|_| Malformed("too many tries"))?;
        let (outcome, confirmed) = match outcome(tag, detail & ((1 << CONFIRMED) - 1))? {
            found if tells_absence(found) => (found, detail >> CONFIRMED),
            _ => (outcome(tag, detail)?, 0),
        };
        let confirmed = u8::try_from(confirmed).map_err(|_| Malformed("too many confirmations"))?;
        Ok(StoredVisit { url, at, share, outcome, confirmed, missed, learned })
    }
}

/// The kept visits of one round, in the order of URLs. Memory: a frame, whatever their number.
pub type StoredVisits = StoredEntries<StoredVisit>;

impl StoredVisits {
    /// From a frame on that [`StoredVisits::next_key`] told of this file.
    #[must_use]
    pub(crate) fn from(self, frame: u64) -> StoredVisits {
        StoredVisits { frames: self.frames.from(frame), began: frame, total: None, ..self }
    }

    /// Bytes of the file that were read.
    pub fn bytes_read(&self) -> u64 {
        self.frames.offset() - self.began
    }

    /// The visits of one page among those not taken yet; all up to them, and one more, is taken. The others are passed over
    /// by their keys, some ten times as fast as they are read.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn visits_of(&mut self, url: &CanonicalUrl) -> Result<Vec<StoredVisit>, ReadError> {
        let mut found = Vec::new();
        loop {
            let passed = self.pass_to(url.key());
            passed.map_err(|Malformed(what)| self.frames.damaged(self.offset, what))?;
            match self.next_entry()? {
                Some(visit) if visit.url == *url => found.push(visit),
                Some(visit) if visit.url < *url => {}
                _ => return Ok(found),
            }
        }
    }

    /// The next visit that does not come before this key; those before are passed over.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn next_from(&mut self, key: &[u8]) -> Result<Option<StoredVisit>, ReadError> {
        loop {
            let passed = self.pass_to(key);
            passed.map_err(|Malformed(what)| self.frames.damaged(self.offset, what))?;
            match self.next_entry()? {
                Some(visit) if visit.url.key() < key => {}
                next => return Ok(next),
            }
        }
    }

    /// The frame of the next visit, by the byte at which it begins, and the key of its URL. The visit is passed over; none at
    /// the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_key(&mut self) -> Result<Option<(u64, &[u8])>, ReadError> {
        while !self.ended {
            if self.taken == self.payload.len() {
                self.next_frame()?;
            } else if self.is_at_end_mark() {
                self.take().map_err(|Malformed(what)| self.frames.damaged(self.offset, what))?;
            } else {
                self.pass().map_err(|Malformed(what)| self.frames.damaged(self.offset, what))?;
                return Ok(Some((self.offset, &self.key)));
            }
        }
        Ok(None)
    }

    /// Passes over the next visit but for its key.
    fn pass(&mut self) -> Result<(), Malformed> {
        let mut take = Take(&self.payload[self.taken..]);
        let (shared, rest): (usize, _) = (take.narrow()?, take.bytes()?);
        if shared > self.key.len() {
            return Err(Malformed("a key shares more bytes than the last one has"));
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(rest);
        take_rest(&mut take)?;
        self.taken = self.payload.len() - take.0.len();
        self.count();
        Ok(())
    }

    /// Passes over what comes before `key` in the frame being read.
    fn pass_to(&mut self, key: &[u8]) -> Result<(), Malformed> {
        while self.taken < self.payload.len() && !self.is_at_end_mark() {
            let mut take = Take(&self.payload[self.taken..]);
            // Told by a look ahead: what is passed over changes the key that the next one is told by.
            let (shared, rest): (usize, _) = (take.narrow()?, take.bytes()?);
            let start =
                self.key.get(..shared).ok_or(Malformed("a key shares more bytes than the last one has"))?;
            let order = start
                .cmp(&key[..shared.min(key.len())])
                .then_with(|| rest.cmp(&key[shared.min(key.len())..]));
            if order != Ordering::Less {
                return Ok(());
            }
            self.pass()?;
        }
        Ok(())
    }
}

/// What follows the key of a visit.
struct Rest {
    at: u64,
    share: Share,
    learned: Option<VisitLesson>,
    tag: u8,
    detail: u64,
}

fn take_rest(take: &mut Take<'_>) -> Result<Rest, Malformed> {
    let at = take.varint()?;
    let (share, standing) = take_reason(take)?;
    let learned = match standing {
        Some(standing) => Some(VisitLesson { standing, bytes: take.varint()?, took: take.narrow()? }),
        None => None,
    };
    Ok(Rest { at, share, learned, tag: take.u8()?, detail: take.varint()? })
}

#[cfg(test)]
mod tests;
