//! The visits of committed rounds, kept as a repository of learning data: a small file a round, in the order
//! of URLs.
//!
//! A round's log is gone once the round is committed, and a page's record has sums of what was seen. These
//! files keep the visits themselves, so that histories can be rebuilt with their true gaps: a cycle in which
//! a page was not looked at has no line of it. A file is part of its round's commit, written and synced
//! before it. What a crash leaves of one before that is removed at the next start, and the merge, which the
//! log allows to run again, writes it anew.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{CommitError, ReadError, WriteError};
use crate::file::format::{FileKind, UNFINISHED};
use crate::file::frames::{FrameReader, FrameWriter};
use crate::generation::codec::{outcome, put_key, put_reason, take_reason, take_url};
use crate::kept::file::StoredKind;
use crate::storage::Storage;
use recrawl_types::{CanonicalUrl, DatedRound, Outcome, Round, Share, Standing, Visit};
use std::cmp::Ordering;

/// A frame is closed when it holds this much.
const FRAME: usize = 64 << 10;

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

/// The name of a round's file.
pub(crate) fn file(dated: DatedRound) -> String {
    StoredKind::Visits.file(dated)
}

/// Writes the visits of a round.
pub(crate) struct StoredVisitWriter {
    frames: FrameWriter,
    payload: Vec<u8>,
    last: Vec<u8>,
    /// Visits in `payload`.
    held: u64,
    total: u64,
}

impl StoredVisitWriter {
    pub fn create(storage: &dyn Storage, kept: DatedRound) -> Result<StoredVisitWriter, WriteError> {
        StoredVisitWriter::create_as(storage, &file(kept), kept.round)
    }

    pub fn create_as(
        storage: &dyn Storage,
        name: &str,
        round: Round,
    ) -> Result<StoredVisitWriter, WriteError> {
        let frames = FrameWriter::create(storage, name, FileKind::StoredVisits, round)?;
        Ok(StoredVisitWriter { frames, payload: Vec::new(), last: Vec::new(), held: 0, total: 0 })
    }

    /// Appends a visit, whose URL must not come before the last one's.
    pub fn push(&mut self, visit: &StoredVisit) -> Result<(), WriteError> {
        let key = visit.url.key();
        assert!(self.held == 0 || self.last.as_slice() <= key, "{} is out of order", visit.url);
        put_key(&mut self.payload, if self.held > 0 { &self.last } else { &[] }, key);
        self.payload.put_varint(visit.at);
        put_reason(&mut self.payload, visit.share, visit.learned.map(|learned| learned.standing));
        if let Some(VisitLesson { bytes, took, .. }) = visit.learned {
            self.payload.put_varint(bytes);
            self.payload.put_varint(took.into());
        }
        let (tag, detail) = visit.outcome.code();
        let confirmed =
            if tells_absence(visit.outcome) { u64::from(visit.confirmed) << CONFIRMED } else { 0 };
        self.payload.put_u8(tag);
        self.payload.put_varint(detail | confirmed | u64::from(visit.missed) << MISSED);
        self.last.clear();
        self.last.extend_from_slice(key);
        self.held += 1;
        if self.payload.len() >= FRAME { self.close_frame() } else { Ok(()) }
    }

    fn close_frame(&mut self) -> Result<(), WriteError> {
        self.frames.push(&self.payload)?;
        self.payload.clear();
        self.total += std::mem::take(&mut self.held);
        Ok(())
    }

    /// Durable but for its name.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        if self.held > 0 {
            self.close_frame()?;
        }
        // An empty key is no URL's: it says that this is the end, and how many visits came before it.
        put_key(&mut self.payload, &[], &[]);
        self.payload.put_varint(self.total);
        self.frames.push(&self.payload)?;
        self.frames.sync().map(|_| ())
    }
}

/// The kept visits of one round, in the order of URLs. Memory: a frame, whatever their number.
pub struct StoredVisits {
    frames: FrameReader,
    /// What is left of the frame being read.
    payload: Vec<u8>,
    taken: usize,
    offset: u64,
    key: Vec<u8>,
    /// Where reading began.
    began: u64,
    /// Visits taken; none where reading began in the midst.
    total: Option<u64>,
    ended: bool,
}

impl StoredVisits {
    /// None when the round's visits are not kept.
    pub(crate) fn open(storage: &dyn Storage, kept: DatedRound) -> Result<Option<StoredVisits>, ReadError> {
        let frames = match FrameReader::open(storage, &file(kept), FileKind::StoredVisits, kept.round) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let (payload, key) = Default::default();
        Ok(Some(StoredVisits {
            frames,
            payload,
            taken: 0,
            offset: 0,
            key,
            began: 0,
            total: Some(0),
            ended: false,
        }))
    }

    /// From a frame on that [`StoredVisits::next_key`] told of this file.
    #[must_use]
    pub(crate) fn from(self, frame: u64) -> StoredVisits {
        StoredVisits { frames: self.frames.from(frame), began: frame, total: None, ..self }
    }

    /// Bytes of the file that were read.
    pub fn bytes_read(&self) -> u64 {
        self.frames.offset() - self.began
    }

    /// The next visit; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_visit(&mut self) -> Result<Option<StoredVisit>, ReadError> {
        while !self.ended {
            if self.taken < self.payload.len() {
                let visit = self.take();
                return visit.map_err(|Malformed(what)| self.frames.damaged(self.offset, what));
            }
            self.next_frame()?;
        }
        Ok(None)
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
            match self.next_visit()? {
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
            match self.next_visit()? {
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

    /// Reads the next frame.
    fn next_frame(&mut self) -> Result<(), ReadError> {
        self.offset = self.frames.offset();
        let Some(payload) = self.frames.next_frame()? else {
            return Err(self.frames.damaged(self.offset, "it has no end"));
        };
        self.payload.clear();
        self.payload.extend_from_slice(payload);
        (self.taken, self.key) = (0, Vec::new());
        Ok(())
    }

    /// Does the file end here? An empty key is no URL's.
    fn is_at_end_mark(&self) -> bool {
        self.taken == 0 && self.payload.starts_with(&[0, 0])
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

    fn count(&mut self) {
        self.total.iter_mut().for_each(|total| *total += 1);
    }

    /// The next visit of the frame, or none where the file ends.
    fn take(&mut self) -> Result<Option<StoredVisit>, Malformed> {
        let mut take = Take(&self.payload[self.taken..]);
        if self.is_at_end_mark() {
            take.slice(2)?;
            let total = take.varint()?;
            take.end()?;
            if self.total.is_some_and(|taken| taken != total) || !self.frames.is_at_end() {
                return Err(Malformed("the number of visits does not match"));
            }
            self.ended = true;
            return Ok(None);
        }
        let visit = take_visit(&mut take, &mut self.key)?;
        self.taken = self.payload.len() - take.0.len();
        self.count();
        Ok(Some(visit))
    }
}

/// Removes the visits of a round to pages that are meant, by a file written anew and renamed over the old one; gives
/// their number. With `only_count`, nothing is written.
pub(crate) fn remove(
    storage: &dyn Storage,
    kept: DatedRound,
    is_meant: &dyn Fn(&CanonicalUrl) -> bool,
    only_count: bool,
) -> Result<u64, CommitError> {
    let (mut meant, mut total) = (0, 0);
    let Some(mut visits) = StoredVisits::open(storage, kept)? else { return Ok(0) };
    while let Some(visit) = visits.next_visit()? {
        meant += u64::from(is_meant(&visit.url));
        total += 1;
    }
    if meant == 0 || only_count {
        return Ok(meant);
    }
    let name = file(kept);
    let part = format!("{name}{UNFINISHED}");
    let mut writer = StoredVisitWriter::create_as(storage, &part, kept.round)?;
    let Some(mut visits) = StoredVisits::open(storage, kept)? else { return Ok(0) };
    while let Some(visit) = visits.next_visit()? {
        if !is_meant(&visit.url) {
            writer.push(&visit)?;
        }
    }
    writer.finish()?;
    debug_assert_eq!(writer.total, total - meant);
    drop(writer);
    storage.rename(&part, &name).map_err(WriteError::during(storage.locate(&part), "rename"))?;
    storage.sync_dir().map_err(WriteError::during(storage.locate(""), "sync"))?;
    Ok(meant)
}

/// The visits of a frame, as far as they can be read.
pub(crate) fn visits_in(payload: &[u8]) -> Vec<StoredVisit> {
    let (mut take, mut key, mut visits) = (Take(payload), Vec::new(), Vec::new());
    while let Ok(visit) = take_visit(&mut take, &mut key) {
        visits.push(visit);
    }
    visits
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

fn take_visit(take: &mut Take<'_>, key: &mut Vec<u8>) -> Result<StoredVisit, Malformed> {
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

#[cfg(test)]
mod tests;
