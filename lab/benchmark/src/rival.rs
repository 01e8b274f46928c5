//! Other ways to tell new URLs from known ones, minimal but fair, behind one interface.

mod drum;
mod fjall_store;
mod key_file;
mod sieve;
mod sled_store;

pub use drum::Drum;
pub use fjall_store::FjallStore;
pub use sieve::Sieve;
pub use sled_store::SledStore;

use crate::Failure;
use crate::outcome::{ContenderOutcome, CycleOutcome};
use crate::process::{Moved, peak_bytes, processor_seconds, reset_peak};
use crate::size::BenchmarkSize;
use crate::web::{FIRST_CYCLE, Web};
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{LogChunk, VisitLog};
use recrawl_types::Round;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// A contender.
pub trait Rival {
    /// Loads an initially known URL. They come in order, each once.
    ///
    /// # Errors
    /// If the disk fails.
    fn load(&mut self, key: &[u8]) -> Result<(), Failure>;

    /// Makes the loaded URLs durable.
    ///
    /// # Errors
    /// If the disk fails.
    fn loaded(&mut self) -> Result<(), Failure>;

    /// Checks a URL, and makes it known if it is new, now or at the end of the cycle.
    ///
    /// # Errors
    /// If the disk fails.
    fn check(&mut self, key: &[u8]) -> Result<(), Failure>;

    /// Ends a cycle: completes all checks and makes them durable. Returns the number of new URLs
    /// since the last call.
    ///
    /// # Errors
    /// If the disk fails.
    fn settle(&mut self) -> Result<u64, Failure>;

    /// Whether each check costs the same, so that a part of them shows the speed of all.
    fn is_point_by_point(&self) -> bool;
}

/// The fingerprint of a URL for DRUM and the sieve. Of n URLs about n²/2⁶⁵ pairs share one, and one
/// of each pair is lost: 0.03 pairs in a billion URLs.
fn fingerprint(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// Number of checks between two readings of the clock.
const CHECKS_A_LOOK: u64 = 4096;

/// Runs all cycles.
///
/// # Errors
/// If the disk fails.
pub fn run(size: &BenchmarkSize, dir: &Path, rival: &mut dyn Rival) -> Result<ContenderOutcome, Failure> {
    let web = Web::new(size.pages, size.seed);
    let stream = size.stream(&web);
    let logs = dir.join("logs");
    let storage = FileStorage::create(&logs)?;
    let started = Instant::now();
    let mut text = 0;
    web.each_page(|key, _| {
        text += key.len();
        rival.load(key)
    })?;
    rival.loaded()?;
    let prepared = started.elapsed().as_secs_f64();
    let mut outcome = ContenderOutcome {
        pages: web.pages(),
        text: text as f64 / web.pages() as f64,
        prepared,
        is_peak_of_cycles: true,
        ..ContenderOutcome::default()
    };
    for turn in 0..size.cycles {
        let round = Round(FIRST_CYCLE.0 + 1 + turn as u32);
        let logged = stream.write_log(&storage, turn, round)?.links;
        let log = bytes_in(&logs)?;
        outcome.is_peak_of_cycles &= reset_peak();
        let checked = check_log(&storage, round, rival, size.seconds)?;
        outcome.cycles.push(CycleOutcome { log, logged, ..checked });
        outcome.peak = outcome.peak.max(peak_bytes());
        fs::remove_dir_all(&logs)?;
        fs::create_dir(&logs)?;
    }
    outcome.stored = bytes_in(dir)?;
    Ok(outcome)
}

/// Checks all links of a log, and ends the cycle.
fn check_log(
    storage: &FileStorage,
    round: Round,
    rival: &mut dyn Rival,
    seconds: u64,
) -> Result<CycleOutcome, Failure> {
    let limit = rival.is_point_by_point().then(|| Duration::from_secs(seconds));
    let (before, processor) = (Moved::now().unwrap_or_default(), processor_seconds().unwrap_or_default());
    let started = Instant::now();
    let mut outcome = CycleOutcome::default();
    let mut log = VisitLog::read(storage, round)?;
    let mut chunk = LogChunk::default();
    'log: while log.next_chunk(&mut chunk)? {
        for (_, links) in chunk.drain() {
            for link in links {
                if outcome.checks.is_multiple_of(CHECKS_A_LOOK)
                    && limit.is_some_and(|limit| started.elapsed() > limit)
                {
                    outcome.is_cut = true;
                    break 'log;
                }
                rival.check(link.key)?;
                outcome.checks += 1;
            }
        }
    }
    let checked = started.elapsed().as_secs_f64();
    outcome.new = rival.settle()?;
    let settled = started.elapsed().as_secs_f64() - checked;
    outcome.stages = vec![("check".to_owned(), checked), ("settle".to_owned(), settled)];
    let moved = Moved::now().unwrap_or_default() - before;
    outcome.processor = processor_seconds().unwrap_or_default() - processor;
    (outcome.read, outcome.written) = (moved.read, moved.written);
    Ok(outcome)
}

fn bytes_in(dir: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { bytes_in(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
