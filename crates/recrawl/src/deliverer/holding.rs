//! How much a target holds.

use recrawl_archive::timestamp;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_delivery::{WaitingChanges, name_of};
use recrawl_repository::storage::Storage;
use recrawl_repository::{CopyReader, Held};
use serde::Serialize;

/// Figures of what a target holds, as far as it confirmed.
#[derive(Default, Serialize)]
pub struct Holding {
    pub target: String,
    /// Documents that it took.
    pub taken: u64,
    /// Documents that were sent, or are about to be, and are not confirmed.
    pub unsure: u64,
    /// Documents that it refused.
    pub refused: u64,
    /// Documents that an operator gave up.
    pub skipped: u64,
    /// The version of the last change; null before the first one.
    pub version: Option<u64>,
    /// Changes that the next delivery sends; none if they are not counted, as a daemon sends them by itself.
    pub waiting: Option<WaitingChanges>,
    /// The first refused documents.
    pub parked: Vec<ParkedDocument>,
}

/// A document that a target refused.
#[derive(Serialize)]
pub struct ParkedDocument {
    /// Its page.
    pub url: String,
    /// When, as a date.
    pub since: String,
    /// The target's answer, or the reason why there is no document.
    pub why: String,
}

impl Holding {
    /// At most so many parked documents are listed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(storage: &dyn Storage, target: &DeliverTarget, listed: usize) -> Result<Holding, Failure> {
        let mut holding = Holding { target: target.name.clone(), ..Holding::default() };
        let copy = CopyReader::open(storage, &name_of(&target.place.address)).map_err(Failure::work)?;
        let Some(mut copy) = copy else { return Ok(holding) };
        holding.version = Some(copy.head().version);
        while let Some((url, held)) = copy.next_page().map_err(Failure::work)? {
            *match held {
                Held::Taken { .. } => &mut holding.taken,
                Held::Unsure | Held::TakenDown => &mut holding.unsure,
                Held::Skipped { .. } => &mut holding.skipped,
                Held::Refused { since, why, .. } => {
                    if holding.parked.len() < listed {
                        let (url, since) = (url.to_string(), timestamp(since));
                        holding.parked.push(ParkedDocument { url, since, why });
                    }
                    &mut holding.refused
                }
            } += 1;
        }
        Ok(holding)
    }
}
