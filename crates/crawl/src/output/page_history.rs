//! The visits of one page, read from the stored visits of all pages.
//!
//! A cycle's file is in URL order and has no index, so it is read up to the page. For repeated
//! queries, [`VisitedPages`] remembers which pages each cycle visited. Then only the cycles that
//! visited the page are read, and of each about one frame.

use crate::failure::Failure;
use recrawl_repository::{KeptCycles, KeptVisit, ReadError};
use recrawl_types::{CanonicalUrl, Cycle};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::xxh3_64;

/// Approximate maximum bytes of stored visits that are read for one page's history. A hundred
/// cycles of a million pages have more, and a user is waiting.
const MAX_HISTORY_BYTES: u64 = 256 << 20;
/// Maximum visits whose pages are remembered; the files of older cycles are read.
const MAX_REMEMBERED_VISITS: usize = 4_000_000;

/// The visits of one page, oldest first.
#[derive(Debug, Default, PartialEq)]
pub struct PageHistory {
    /// Visits in the cycles that were read, oldest first.
    pub visits: Vec<(Cycle, KeptVisit)>,
    /// The first of these cycles; none if no visits are stored.
    pub since: Option<Cycle>,
}

impl PageHistory {
    /// Reads the visits of a page, newest cycle first. Each cycle's file is read up to the page.
    /// Older cycles are left out once the byte limit is reached.
    ///
    /// # Errors
    /// When the visits cannot be read.
    pub fn read(kept: &KeptCycles, url: &CanonicalUrl) -> Result<PageHistory, Failure> {
        PageHistory::read_by(kept, url, &kept.list().map_err(Failure::work)?, |_| Part::All)
    }

    fn read_by(
        kept: &KeptCycles,
        url: &CanonicalUrl,
        cycles: &[Cycle],
        part: impl Fn(Cycle) -> Part,
    ) -> Result<PageHistory, Failure> {
        let (mut history, mut read) = (PageHistory::default(), 0);
        for &cycle in cycles.iter().rev() {
            let visits = match part(cycle) {
                Part::All => kept.visits(cycle),
                Part::From(frame) => kept.visits_from(cycle, frame),
                Part::Nothing => {
                    history.since = Some(cycle);
                    continue;
                }
            };
            // A commit may just have removed the oldest file.
            let Some(mut visits) = visits.map_err(Failure::work)? else { continue };
            let of_cycle = visits.visits_of(url).map_err(Failure::work)?;
            history.visits.extend(of_cycle.into_iter().rev().map(|visit| (cycle, visit)));
            history.since = Some(cycle);
            read += visits.bytes_read();
            if read >= MAX_HISTORY_BYTES {
                break;
            }
        }
        history.visits.reverse();
        Ok(history)
    }
}

/// The part of a cycle's visits to read.
enum Part {
    All,
    /// From this frame on.
    From(u64),
    /// Nothing: the page was not visited.
    Nothing,
}

/// The pages visited in the last cycles, with their frames. Memory: 4 bytes per visit, up to a
/// limit.
#[derive(Debug)]
pub struct VisitedPages {
    /// None for a cycle that exceeds the limit.
    cycles: Mutex<BTreeMap<Cycle, Option<Arc<Pages>>>>,
    most: usize,
}

impl Default for VisitedPages {
    fn default() -> VisitedPages {
        VisitedPages { cycles: Mutex::default(), most: MAX_REMEMBERED_VISITS }
    }
}

impl VisitedPages {
    /// Like [`PageHistory::read`], but leaves out no remembered cycle. Blocks while another caller
    /// reads the visits of a cycle for the first time.
    ///
    /// # Errors
    /// When the visits cannot be read.
    pub fn history(&self, kept: &KeptCycles, url: &CanonicalUrl) -> Result<PageHistory, Failure> {
        let cycles = kept.list().map_err(Failure::work)?;
        let known = self.remember(kept, &cycles);
        let part = |cycle| match known.get(&cycle) {
            Some(Some(pages)) => pages.part_with(url),
            Some(None) | None => Part::All,
        };
        PageHistory::read_by(kept, url, &cycles, part)
    }

    /// The pages of the newest of these cycles, as many as fit the limit.
    fn remember(&self, kept: &KeptCycles, cycles: &[Cycle]) -> BTreeMap<Cycle, Option<Arc<Pages>>> {
        let mut known = self.cycles.lock().expect("no panic under the lock");
        known.retain(|cycle, _| cycles.binary_search(cycle).is_ok());
        let (mut left, mut is_full) = (self.most, false);
        for &cycle in cycles.iter().rev() {
            let pages = match known.get(&cycle) {
                Some(pages) => pages.clone(),
                // Do not read older cycles to find a small one.
                None if is_full => None,
                None => match Pages::read(kept, cycle, left) {
                    Ok(Read::All(pages)) => Some(Arc::new(pages)),
                    Ok(Read::TooMany) => None,
                    // It is tried again; reading the page's visits reports the error.
                    Ok(Read::Gone) | Err(_) => continue,
                },
            };
            let pages = pages.filter(|pages| pages.digests.len() <= left);
            is_full |= pages.is_none();
            left -= pages.as_ref().map_or(0, |pages| pages.digests.len());
            known.insert(cycle, pages);
        }
        known.clone()
    }
}

/// The pages visited in one cycle.
#[derive(Debug)]
struct Pages {
    /// 32 bits of a digest of each page, sorted.
    digests: Box<[u32]>,
    /// For each frame of the file, the key of its first visit and its offset.
    frames: Box<[(Box<[u8]>, u64)]>,
}

/// Result of reading them.
enum Read {
    All(Pages),
    /// More than fit the limit.
    TooMany,
    /// A commit has just removed the oldest cycle.
    Gone,
}

impl Pages {
    fn read(kept: &KeptCycles, cycle: Cycle, most: usize) -> Result<Read, ReadError> {
        let Some(mut visits) = kept.visits(cycle)? else { return Ok(Read::Gone) };
        let mut digests = Vec::new();
        let mut frames: Vec<(Box<[u8]>, u64)> = Vec::new();
        while let Some((frame, key)) = visits.next_key()? {
            if digests.len() == most {
                return Ok(Read::TooMany);
            }
            digests.push(digest(key));
            if frames.last().is_none_or(|(_, last)| *last != frame) {
                frames.push((key.into(), frame));
            }
        }
        digests.sort_unstable();
        Ok(Read::All(Pages { digests: digests.into(), frames: frames.into() }))
    }

    /// The part to read for a page. `Nothing` is certain; otherwise the page may be another one
    /// with the same 32 bits of digest.
    fn part_with(&self, url: &CanonicalUrl) -> Part {
        if self.digests.binary_search(&digest(url.key())).is_err() {
            return Part::Nothing;
        }
        // The visits of one page may begin at the end of the previous frame.
        let at = self.frames.partition_point(|(first, _)| **first < *url.key()).saturating_sub(1);
        self.frames.get(at).map_or(Part::Nothing, |(_, frame)| Part::From(*frame))
    }
}

fn digest(key: &[u8]) -> u32 {
    xxh3_64(key) as u32
}

#[cfg(test)]
mod tests;
