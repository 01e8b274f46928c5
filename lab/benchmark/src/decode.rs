//! Speed of decoding and comparing known pages: a batch that touches every block, on one thread,
//! with cached files.

use crate::Failure;
use crate::ours::{NO_WAITING, rules};
use crate::outcome::median;
use crate::process::processor_seconds;
use recrawl_repository::storage::Storage;
use recrawl_repository::{Generation, Repository};
use recrawl_types::{CanonicalUrl, DatedRound, Link, LogRecord, Outcome, Skip, Visit};
use recrawl_verifier::{Batch, BatchLimits, SortedBatch, merge};
use std::sync::Arc;
use std::time::Instant;

/// Number of merges for the median; one before them fills the cache.
const TIMES: usize = 3;
const LINKS_A_VISIT: usize = 10_000;

/// Merges one link to the first page of each block, which is known. If the links are `counted`,
/// each block changes and is written; otherwise it is read and compared, but unchanged. Returns
/// known pages per CPU second.
///
/// # Errors
/// If the disk fails.
pub fn decode_and_compare(
    repository: &Repository,
    storage: Arc<dyn Storage>,
    counted: bool,
) -> Result<f64, Failure> {
    let generation = repository.current();
    let round = generation.dated().in_next_cycle();
    let mut rates = Vec::new();
    for time in 0..=TIMES {
        let batch = batch(&generation, storage.clone(), round, counted)?;
        let mut writer = repository.begin(&generation, round.cycle)?;
        let (started, processor) = (Instant::now(), processor_seconds());
        let report = merge(&generation, batch, &mut writer, &rules(round.cycle, NO_WAITING, 1))?;
        // One thread, and nothing waits for the disk: CPU time excludes other programs.
        let seconds = match (processor, processor_seconds()) {
            (Some(before), Some(after)) if after > before => after - before,
            _ => started.elapsed().as_secs_f64(),
        };
        assert_eq!((report.links_known, report.links_new), (generation.blocks() as u64, 0));
        if time > 0 {
            rates.push(generation.pages() as f64 / seconds);
        }
    }
    Ok(median(rates))
}

fn batch(
    generation: &Generation,
    storage: Arc<dyn Storage>,
    round: DatedRound,
    counted: bool,
) -> Result<SortedBatch, Failure> {
    let mut batch = Batch::new(storage, round, BatchLimits::default());
    let firsts: Vec<usize> = (0..generation.blocks()).collect();
    for part in firsts.chunks(LINKS_A_VISIT) {
        let link = |&at: &usize| {
            let url = CanonicalUrl::from_key(generation.first_key(at))?;
            Ok(Link { counted, ..Link::to(url, u16::MAX) })
        };
        let links: Vec<Link> = part.iter().map(link).collect::<Result<_, Failure>>()?;
        let url = links[0].url.clone();
        // A skipped visit, which changes nothing.
        batch.add(LogRecord::Visit(Box::new(Visit {
            links,
            ..Visit::new(url, Outcome::Skipped(Skip::Deadline))
        })))?;
    }
    Ok(batch.finish()?)
}
