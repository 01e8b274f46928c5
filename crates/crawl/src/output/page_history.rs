//! The visits of one page, read from the stored visits of all pages.
//!
//! A round's file is in URL order and has no index, so it is read up to the page. For repeated
//! queries, [`VisitedPages`] remembers which pages each round visited. Then only the rounds that
//! visited the page are read, and of each about one frame.

use crate::failure::Failure;
use recrawl_repository::{ReadError, StoredRounds, StoredVisit};
use recrawl_types::{CanonicalUrl, Cycle, DatedRound};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::xxh3_64;

/// Approximate maximum bytes of stored visits that are read for one page's history. A hundred
/// cycles of a million pages have more, and a user is waiting.
pub const MAX_HISTORY_BYTES: u64 = 256 << 20;
/// Maximum visits whose pages are remembered; the files of older cycles are read.
const MAX_REMEMBERED_VISITS: usize = 4_000_000;

/// The visits of one page, oldest first.
#[derive(Debug, Default, PartialEq)]
pub struct PageHistory {
    /// Visits in the rounds that were read, oldest first.
    pub visits: Vec<(Cycle, StoredVisit)>,
    /// The cycle of the first of these rounds; none if no visits are stored.
    pub since: Option<Cycle>,
}

impl PageHistory {
    /// Reads the visits of a page, newest round first. Each round's file is read up to the page.
    /// Older rounds are left out once the byte limit is reached.
    ///
    /// # Errors
    /// When the visits cannot be read.
    pub fn read(kept: &StoredRounds, url: &CanonicalUrl) -> Result<PageHistory, Failure> {
        PageHistory::read_by(kept, url, &kept.list().map_err(Failure::work)?, |_| RoundPart::All)
    }

    fn read_by(
        kept: &StoredRounds,
        url: &CanonicalUrl,
        rounds: &[DatedRound],
        part: impl Fn(DatedRound) -> RoundPart,
    ) -> Result<PageHistory, Failure> {
        let (mut history, mut read) = (PageHistory::default(), 0);
        for &round in rounds.iter().rev() {
            let visits = match part(round) {
                RoundPart::All => kept.visits(round),
                RoundPart::From(frame) => kept.visits_from(round, frame),
                RoundPart::Nothing => {
                    history.since = Some(round.cycle);
                    continue;
                }
            };
            // A commit may just have removed the oldest file.
            let Some(mut visits) = visits.map_err(Failure::work)? else { continue };
            let of_round = visits.visits_of(url).map_err(Failure::work)?;
            history.visits.extend(of_round.into_iter().rev().map(|visit| (round.cycle, visit)));
            history.since = Some(round.cycle);
            read += visits.bytes_read();
            if read >= MAX_HISTORY_BYTES {
                break;
            }
        }
        history.visits.reverse();
        Ok(history)
    }
}

/// The part of a round's visits to read.
enum RoundPart {
    All,
    /// From this frame on.
    From(u64),
    /// Nothing: the page was not visited.
    Nothing,
}

/// The pages visited in the last rounds, with their frames. Memory: 4 bytes per visit, up to a
/// limit.
#[derive(Debug)]
pub struct VisitedPages {
    /// None for a round that exceeds the limit.
    rounds: Mutex<BTreeMap<DatedRound, Option<Arc<RoundPages>>>>,
    most: usize,
}

impl Default for VisitedPages {
    fn default() -> VisitedPages {
        VisitedPages { rounds: Mutex::default(), most: MAX_REMEMBERED_VISITS }
    }
}

impl VisitedPages {
    /// Like [`PageHistory::read`], but leaves out no remembered round. Blocks while another caller
    /// reads the visits of a round for the first time.
    ///
    /// # Errors
    /// When the visits cannot be read.
    pub fn history(&self, kept: &StoredRounds, url: &CanonicalUrl) -> Result<PageHistory, Failure> {
        let rounds = kept.list().map_err(Failure::work)?;
        let known = self.remember(kept, &rounds);
        let part = |round| match known.get(&round) {
            Some(Some(pages)) => pages.part_with(url),
            Some(None) | None => RoundPart::All,
        };
        PageHistory::read_by(kept, url, &rounds, part)
    }

    /// The pages of the newest of these rounds, as many as fit the limit.
    fn remember(
        &self,
        kept: &StoredRounds,
        rounds: &[DatedRound],
    ) -> BTreeMap<DatedRound, Option<Arc<RoundPages>>> {
        let mut known = self.rounds.lock().expect("no panic under the lock");
        known.retain(|round, _| rounds.binary_search(round).is_ok());
        let (mut left, mut is_full) = (self.most, false);
        for &round in rounds.iter().rev() {
            let pages = match known.get(&round) {
                Some(pages) => pages.clone(),
                // Do not read older rounds to find a small one.
                None if is_full => None,
                None => match RoundPages::read(kept, round, left) {
                    Ok(HistoryRead::All(pages)) => Some(Arc::new(pages)),
                    Ok(HistoryRead::TooMany) => None,
                    // It is tried again; reading the page's visits reports the error.
                    Ok(HistoryRead::Gone) | Err(_) => continue,
                },
            };
            let pages = pages.filter(|pages| pages.digests.len() <= left);
            is_full |= pages.is_none();
            left -= pages.as_ref().map_or(0, |pages| pages.digests.len());
            known.insert(round, pages);
        }
        known.clone()
    }
}

/// The pages visited in one round.
#[derive(Debug)]
struct RoundPages {
    /// 32 bits of a digest of each page, sorted.
    digests: Box<[u32]>,
    /// For each frame of the file, the key of its first visit and its offset.
    frames: Box<[(Box<[u8]>, u64)]>,
}

/// Result of reading them.
enum HistoryRead {
    All(RoundPages),
    /// More than fit the limit.
    TooMany,
    /// A commit has just removed the oldest round.
    Gone,
}

impl RoundPages {
    fn read(kept: &StoredRounds, round: DatedRound, most: usize) -> Result<HistoryRead, ReadError> {
        let Some(mut visits) = kept.visits(round)? else { return Ok(HistoryRead::Gone) };
        let mut digests = Vec::new();
        let mut frames: Vec<(Box<[u8]>, u64)> = Vec::new();
        while let Some((frame, key)) = visits.next_key()? {
            if digests.len() == most {
                return Ok(HistoryRead::TooMany);
            }
            digests.push(digest(key));
            if frames.last().is_none_or(|(_, last)| *last != frame) {
                frames.push((key.into(), frame));
            }
        }
        digests.sort_unstable();
        Ok(HistoryRead::All(RoundPages { digests: digests.into(), frames: frames.into() }))
    }

    /// The part to read for a page. `Nothing` is certain; otherwise the page may be another one
    /// with the same 32 bits of digest.
    fn part_with(&self, url: &CanonicalUrl) -> RoundPart {
        if self.digests.binary_search(&digest(url.key())).is_err() {
            return RoundPart::Nothing;
        }
        // The visits of one page may begin at the end of the previous frame.
        let at = self.frames.partition_point(|(first, _)| **first < *url.key()).saturating_sub(1);
        self.frames.get(at).map_or(RoundPart::Nothing, |(_, frame)| RoundPart::From(*frame))
    }
}

fn digest(key: &[u8]) -> u32 {
    xxh3_64(key) as u32
}

#[cfg(test)]
mod tests;
