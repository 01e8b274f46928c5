//! The visits of one page, out of the kept visits of all.
//!
//! A cycle's file is in the order of URLs and has no index: it is read up to the page. Who is asked again and again keeps
//! [`VisitedPages`] beside it, and reads of the cycles in which the page was visited alone, and of each a frame.

use crate::failure::Failure;
use recrawl_repository::{KeptCycles, KeptVisit, ReadError};
use recrawl_types::{CanonicalUrl, Cycle};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of kept visits that are read for the history of one page, about; of a million pages a cycle a hundred cycles take
/// more, and somebody waits.
const MAX_HISTORY_BYTES: u64 = 256 << 20;
/// Visits whose pages are remembered; the files of older cycles are read.
const MAX_REMEMBERED_VISITS: usize = 4_000_000;

/// The visits of one page.
#[derive(Debug, Default, PartialEq)]
pub struct PageHistory {
    /// In the cycles that were looked at, oldest first.
    pub visits: Vec<(Cycle, KeptVisit)>,
    /// The first of these cycles; none where no cycle's visits are kept.
    pub since: Option<Cycle>,
}

impl PageHistory {
    /// The visits of a page in the cycles whose visits are kept. Each cycle's are read up to the page, the newest first, until
    /// so much was read that older ones are left out.
    ///
    /// # Errors
    /// When they cannot be read.
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
            // None of a cycle whose file a commit removed just now, as the oldest.
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

/// What is to be read of a cycle's visits.
enum Part {
    All,
    /// From a frame on.
    From(u64),
    /// The page was not visited.
    Nothing,
}

/// Which pages were visited in which of the last cycles, and where that is written. Memory: 4 bytes a visit, up to a limit.
#[derive(Debug)]
pub struct VisitedPages {
    /// None of a cycle that there was no more room for.
    cycles: Mutex<BTreeMap<Cycle, Option<Arc<Pages>>>>,
    most: usize,
}

impl Default for VisitedPages {
    fn default() -> VisitedPages {
        VisitedPages { cycles: Mutex::default(), most: MAX_REMEMBERED_VISITS }
    }
}

impl VisitedPages {
    /// What [`PageHistory::read`] tells; of the cycles that are remembered, none is left out. Who asks while the visits of a
    /// cycle are read for the first time waits for that.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn history(&self, kept: &KeptCycles, url: &CanonicalUrl) -> Result<PageHistory, Failure> {
        let cycles = kept.list().map_err(Failure::work)?;
        let known = self.remember(kept, &cycles);
        let part = |cycle| match known.get(&cycle) {
            Some(Some(pages)) => pages.part_with(url),
            Some(None) | None => Part::All,
        };
        PageHistory::read_by(kept, url, &cycles, part)
    }

    /// The pages of the newest of these cycles, as many as are remembered.
    fn remember(&self, kept: &KeptCycles, cycles: &[Cycle]) -> BTreeMap<Cycle, Option<Arc<Pages>>> {
        let mut known = self.cycles.lock().expect("no panic under the lock");
        known.retain(|cycle, _| cycles.binary_search(cycle).is_ok());
        let (mut left, mut is_full) = (self.most, false);
        for &cycle in cycles.iter().rev() {
            let pages = match known.get(&cycle) {
                Some(pages) => pages.clone(),
                // Older ones are not read to find out whether one of them is small enough.
                None if is_full => None,
                None => match Pages::read(kept, cycle, left) {
                    Ok(Read::All(pages)) => Some(Arc::new(pages)),
                    Ok(Read::TooMany) => None,
                    // It is tried again, and what that means for a page is told by who asks for the page.
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

/// The pages that were visited in one cycle.
#[derive(Debug)]
struct Pages {
    /// A part of a digest of each, in order.
    digests: Box<[u32]>,
    /// Of each frame of the file, the key of its first visit and where it begins.
    frames: Box<[(Box<[u8]>, u64)]>,
}

/// What came of reading them.
enum Read {
    All(Pages),
    /// More than there is room for.
    TooMany,
    /// A commit removed the oldest just now.
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

    /// What is to be read for a page. That it was not visited is certain; that it was is wrong once in some thousands of
    /// millions of digests.
    fn part_with(&self, url: &CanonicalUrl) -> Part {
        if self.digests.binary_search(&digest(url.key())).is_err() {
            return Part::Nothing;
        }
        // Visits of one page may begin at the end of the frame before the first that begins with it.
        let at = self.frames.partition_point(|(first, _)| **first < *url.key()).saturating_sub(1);
        self.frames.get(at).map_or(Part::Nothing, |(_, frame)| Part::From(*frame))
    }
}

fn digest(key: &[u8]) -> u32 {
    xxh3_64(key) as u32
}

#[cfg(test)]
mod tests;
