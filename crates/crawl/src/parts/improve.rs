//! How a crawl improves its formula: what it measures, and the steps by which a learned formula is tried, comes into
//! force and is taken back. With `improve.mode = "off"`, none of this is done or kept.

pub mod arms;
pub mod attempt;
pub mod candidate;
pub mod found;
pub mod panel;
pub mod population;
pub mod rules;
pub mod steps;
pub mod store;

use crate::failure::Failure;
use crate::part::{InTables, Takedown};

/// Removes pages that a takedown means from the panel. They are not counted.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn forget(takedown: &Takedown<'_>, _removed: &mut InTables) -> Result<(), Failure> {
    let Takedown { tables, meant, only_count, .. } = takedown;
    if *only_count { Ok(()) } else { panel::AuditPanel::forget(tables, &|url| meant.matches(url)) }
}
