//! The visits of a host that the address guard refused.

use recrawl_crawl::failure::Failure;
use recrawl_repository::StoredRounds;
use recrawl_types::{Cycle, Origin, Outcome};

/// Rounds that are read: the newest with stored visits.
const ROUNDS: usize = 10;

/// The newest cycle that visited the origin, and how many of its visits the address guard refused;
/// none if it refused none.
///
/// # Errors
/// When the stored visits cannot be read.
pub fn refused(kept: &StoredRounds, origin: &Origin) -> Result<Option<(Cycle, u64)>, Failure> {
    for round in kept.list().map_err(Failure::work)?.into_iter().rev().take(ROUNDS) {
        // A commit may just have removed the oldest file.
        let Some(mut visits) = kept.visits(round).map_err(Failure::work)? else { continue };
        let (mut all, mut refused) = (0u64, 0u64);
        while let Some(visit) = visits.next_visit().map_err(Failure::work)? {
            if *visit.url.host() == *origin.host && Origin::from_url(&visit.url) == *origin {
                all += 1;
                refused += u64::from(visit.outcome == Outcome::RefusedAddress);
            }
        }
        if all > 0 {
            return Ok((refused > 0).then_some((round.cycle, refused)));
        }
    }
    Ok(None)
}
