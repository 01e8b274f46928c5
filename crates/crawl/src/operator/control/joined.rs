//! Requests of operators to crawls that are put together.

use super::{ASKED, CHOSEN, ChosenFormula, LIFTED, QueuedSeeds, RequestedPages, SEEDS};
use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_repository::SledTables;

/// Adds the queued seeds and page requests of another crawl, and that it lifted blocks.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn add_waiting(tables: &SledTables, other: &SledTables) -> Result<(), Failure> {
    let mut seeds: QueuedSeeds = kept(tables, SEEDS)?.unwrap_or_default();
    seeds.extend(kept::<QueuedSeeds>(other, SEEDS)?.unwrap_or_default());
    let mut asked: RequestedPages = kept(tables, ASKED)?.unwrap_or_default();
    asked.extend(kept::<RequestedPages>(other, ASKED)?.unwrap_or_default());
    let lifted = |tables| Ok::<u64, Failure>(kept(tables, LIFTED)?.unwrap_or_default());
    keep(tables, LIFTED, &lifted(tables)?.max(lifted(other)?))?;
    keep(tables, SEEDS, &seeds)?;
    keep(tables, ASKED, &asked)
}

/// The history of formulas.
///
/// # Errors
/// When the tables cannot be read.
pub fn chosen(tables: &SledTables) -> Result<Vec<ChosenFormula>, Failure> {
    Ok(kept(tables, CHOSEN)?.unwrap_or_default())
}

/// Replaces the history of formulas.
///
/// # Errors
/// When the tables cannot be written.
pub fn keep_chosen(tables: &SledTables, chosen: &[ChosenFormula]) -> Result<(), Failure> {
    keep(tables, CHOSEN, &chosen)
}
