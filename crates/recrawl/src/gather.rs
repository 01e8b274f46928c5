//! From the cycle's log to the verifier's batch, the report's counts and the lesson about noise.

use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::report::Tally;
use crate::site_noise::NoiseLesson;
use crate::trust::TrustLesson;
use recrawl_repository::VisitLog;
use recrawl_types::{Cycle, Visit};
use recrawl_verifier::{Batch, BatchLimits, SortedBatch};

/// All that a cycle's log says.
pub struct Gathered {
    /// Visits and links, sorted.
    pub batch: SortedBatch,
    /// Counts for the report.
    pub tally: Tally,
    /// What was learned of sites.
    pub noise: NoiseLesson,
    /// What was learned of hosts' validators.
    pub trust: TrustLesson,
}

/// Reads the log once, from front to back, in bounded memory.
///
/// # Errors
/// When the log cannot be read or the batch cannot spill.
#[tracing::instrument(level = "error", name = "gather", skip_all)]
pub fn read_log(crawl: &Crawl, cycle: Cycle) -> Result<Gathered, Failure> {
    let limits = BatchLimits { memory_bytes: crawl.settings.config.storage.batch_memory.0 as usize };
    let mut batch = Batch::new(crawl.storage.clone(), cycle, limits);
    let (mut tally, mut noise, mut trust) =
        (Tally::default(), NoiseLesson::default(), TrustLesson::default());
    let log = VisitLog::read(&*crawl.storage, cycle).map_err(Failure::work)?;
    let observe = |visit: &Visit, links: usize| {
        tally.add(visit, links);
        noise.observe(visit);
        trust.observe(visit);
        crawl.live.moved();
    };
    batch.add_log(log, observe).map_err(Failure::work)?;
    let batch = batch.finish().map_err(Failure::work)?;
    Ok(Gathered { batch, tally, noise, trust })
}
